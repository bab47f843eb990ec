"""Whether two sets of launches differ, by how much at least and at most. Ranks only: no distribution is assumed.

The unit is a launch, one process from start to end: runs inside one process share its luck (addresses, clocks,
neighbours) and prove little. The test is Mann and Whitney's, exact, ties included; the size of the difference is the
estimate of Hodges and Lehmann with the interval that belongs to the test. All on logarithms: a shift is a factor.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

CONFIDENCE = 0.95  # of each end of an interval


@dataclass(frozen=True)
class Shift:
    """How far `now` lies from the baseline, in logarithms of factors; below low one time in twenty, so above high."""

    effect: float
    low: float
    high: float
    p: float  # that the ranks fall so far apart by chance, in either direction

    @property
    def percent(self) -> float:
        return 100 * math.expm1(self.effect)


def shift(baseline: Sequence[float], now: Sequence[float]) -> Shift:
    """Both must be positive and not empty."""
    a, b = np.log(np.asarray(baseline, float)), np.log(np.asarray(now, float))
    differences = np.sort((b[:, None] - a[None, :]).ravel())
    low, high = _interval(len(a), len(b))
    ends = (differences[low], differences[high]) if low <= high else (-math.inf, math.inf)
    return Shift(float(np.median(differences)), float(ends[0]), float(ends[1]), rank_sum_p(a, b))


def rank_sum_p(a: Sequence[float], b: Sequence[float]) -> float:
    """The exact two-sided p of the rank sum of b among both."""
    ranks = doubled_ranks(np.concatenate([a, b]))
    chances = _sums(tuple(sorted(ranks.tolist())), len(b))
    at = int(ranks[len(a) :].sum())
    tail = min(float(chances[: at + 1].sum()), float(chances[at:].sum()))
    return min(1.0, 2 * tail)


def least_p(first: int, second: int) -> float:
    """The p of so many launches that do not overlap at all: less there cannot be."""
    return min(1.0, 2 / math.comb(first + second, second))


def doubled_ranks(values: np.ndarray) -> np.ndarray:
    """Twice the rank of each value: whole numbers, also where equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (2 * ends - counts + 1)[inverse]


@lru_cache(maxsize=256)
def _sums(ranks: tuple[int, ...], chosen: int) -> np.ndarray:
    """The chance of each sum, when `chosen` of `ranks` are drawn: counted, one rank after the other."""
    total = sum(ranks)
    ways = np.zeros((chosen + 1, total + 1))
    ways[0, 0] = 1.0
    for rank in ranks:
        for count in range(chosen, 0, -1):
            ways[count, rank:] += ways[count - 1, : total + 1 - rank]
    chances: np.ndarray = ways[chosen] / ways[chosen].sum()
    return chances


@lru_cache(maxsize=256)
def _interval(first: int, second: int) -> tuple[int, int]:
    """Which of the sorted differences bound the shift: (low, high), low > high where there are too few of them."""
    chances = _sums(tuple(range(2, 2 * (first + second) + 1, 2)), second)
    below = np.cumsum(chances[second * (second + 1) :: 2])  # of 0, 1, 2, … pairs in the wrong order
    cut = int(np.searchsorted(below, 1 - CONFIDENCE, side="right"))
    return (cut - 1, first * second - cut) if cut else (1, 0)


def discovery_rates(ps: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's: taking all results up to one with rate q, at most a share q of them is chance."""
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    rates, least = [1.0] * len(ps), 1.0
    for place in range(len(order) - 1, -1, -1):
        least = min(least, ps[order[place]] * len(ps) / (place + 1))
        rates[order[place]] = least
    return rates


def trend(values: Sequence[float]) -> float:
    """How surely a series rises (positive) or falls with its number, in standard deviations of chance."""
    if len(values) < 4:
        return 0.0
    ranks, numbers = doubled_ranks(np.asarray(values, float)), np.arange(len(values))
    if ranks.std() == 0:
        return 0.0
    return float(np.corrcoef(ranks, numbers)[0, 1]) * math.sqrt(len(values) - 1)


def spread(values: Sequence[float]) -> float:
    """The standard deviation of the logarithms, of the middle: a single outlier does not move it."""
    logs = np.log(np.asarray(values, float))
    return float(1.4826 * np.median(np.abs(logs - np.median(logs))))
