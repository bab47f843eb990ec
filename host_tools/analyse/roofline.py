"""A bound for each dispatch, from published rates of its GPU: arithmetic, bytes or launches, and shares of them.

Each bound is a least time in the model of the roofline, in clocks of the GPU. Only ratios of them leave this file: caches,
latencies and other users of the memory are not in the model, so a time would mislead.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from host_tools.analyse.figures import DispatchFigures, Figures
from host_tools.analyse.gpu_rates import Rates

ARITHMETIC, BYTES, LAUNCHES = "arithmetic", "bytes", "launches"
BOUNDS = (ARITHMETIC, BYTES, LAUNCHES)


@dataclass(frozen=True)
class _Speed:
    """One choice of the published numbers. Per clock of the GPU; launch: clocks, 0: not published."""

    lanes: float
    bytes: float
    launch: float


@dataclass(frozen=True)
class Row:
    """One dispatch. clocks: at the least, by bound. is_sure: other published numbers give the same bound."""

    dispatch: DispatchFigures
    clocks: dict[str, float]
    uncached: float  # clocks of all bytes that its instructions move, if no cache held any
    is_sure: bool

    @property
    def bound(self) -> str:
        return _largest(self.clocks)

    @property
    def least(self) -> float:
        return self.clocks[self.bound]

    def part(self, bound: str) -> float:
        """A bound relative to the one that decides."""
        return self.clocks[bound] / self.least


@dataclass(frozen=True)
class Roofline:
    """Of a model. rows: the largest first. without: dispatches of which too little is known."""

    rates: Rates
    rows: list[Row]
    without: int
    own_arithmetic: float  # clocks of the model's own products, at full rate; 0: not known
    own_bytes: float  # of its weights, inputs and outputs, each once

    @property
    def sum(self) -> float:
        """The dispatches run one after the other."""
        return sum(row.least for row in self.rows)

    def share(self, row: Row) -> float:
        return row.least / self.sum

    def bounded_by(self, bound: str) -> list[Row]:
        return [row for row in self.rows if row.bound == bound]

    def share_bounded_by(self, bound: str) -> float:
        return sum(row.least for row in self.bounded_by(bound)) / self.sum

    def share_of_all(self, bound: str) -> float:
        """All dispatches' arithmetic, bytes or launches alone, relative to the sum of what bounds each."""
        return sum(row.clocks[bound] for row in self.rows) / self.sum


def of(found: Figures, rates: Rates) -> Roofline | None:
    """None: nothing is known of what its dispatches read and write, as of a peer's."""
    speed, *others = _speeds(rates)
    texel = found.texel_bytes
    known = [one for kernel in found.kernels for one in kernel.dispatches if kernel.compiled and one.once]
    if not known:
        return None
    rows = [_row(one, texel, speed, others) for one in known]
    rows.sort(key=lambda row: -row.least)
    lanes = speed.lanes
    if found.precision == "f16":
        lanes = rates.half_multiply_adds_per_clock.value
    own_bytes = (found.memory.weights if found.memory else 0) + found.outside_bytes
    without = sum(len(kernel.dispatches) for kernel in found.kernels) - len(rows)
    return Roofline(rates, rows, without, found.own_multiply_adds / lanes, own_bytes / speed.bytes)


def _speeds(rates: Rates) -> list[_Speed]:
    """All combinations of published numbers, the preferred one first."""
    launch_us = rates.launch_us.value if rates.launch_us else 0.0
    return [
        _Speed(lanes, bandwidth * 1e3 / clock, launch_us * clock)
        for clock, lanes, bandwidth in itertools.product(
            rates.clock_mhz.range, rates.multiply_adds_per_clock.range, rates.bandwidth_gb_s.range
        )
    ]


def _row(dispatch: DispatchFigures, texel: int, speed: _Speed, others: Sequence[_Speed]) -> Row:
    clocks = _clocks(dispatch, texel, speed)
    is_sure = all(_largest(_clocks(dispatch, texel, other)) == _largest(clocks) for other in others)
    return Row(dispatch, clocks, dispatch.moved_bytes(texel) / speed.bytes, is_sure)


def _clocks(dispatch: DispatchFigures, texel: int, speed: _Speed) -> dict[str, float]:
    return {
        ARITHMETIC: dispatch.work["half_rate_slots"] / speed.lanes,
        BYTES: dispatch.least_bytes(texel) / speed.bytes,
        LAUNCHES: speed.launch,
    }


def _largest(clocks: dict[str, float]) -> str:
    return max(BOUNDS, key=lambda bound: clocks[bound])


def to_json(found: Roofline) -> dict[str, Any]:
    """For --json: stable fields only."""
    rates = found.rates
    launch = rates.launch_us.value if rates.launch_us else None
    return {
        "chip": rates.chip,
        "clock_mhz": rates.clock_mhz.value,
        "multiply_adds_per_clock": rates.multiply_adds_per_clock.value,
        "half_multiply_adds_per_clock": rates.half_multiply_adds_per_clock.value,
        "bandwidth_gb_s": rates.bandwidth_gb_s.value,
        "launch_us_at_most": launch,
        "shares_bounded_by": {bound: _rounded(found.share_bounded_by(bound)) for bound in BOUNDS},
        "shares_of_all": {bound: _rounded(found.share_of_all(bound)) for bound in BOUNDS},
        "share_of_own_multiply_adds": _rounded(found.own_arithmetic / found.sum) if found.own_arithmetic else None,
        "share_of_own_bytes": _rounded(found.own_bytes / found.sum),
        "dispatches_without": found.without,
        "dispatches": [_row_json(found, row) for row in found.rows],
    }


def _row_json(found: Roofline, row: Row) -> dict[str, Any]:
    once = row.dispatch.once
    assert once
    return {
        "name": row.dispatch.name,
        "bound": row.bound,
        "sure": row.is_sure,
        "share": _rounded(found.share(row)),
        **{f"{bound}_of_bound": _rounded(row.part(bound)) for bound in BOUNDS},
        "uncached_of_bound": _rounded(row.uncached / row.least),
        "weights_bytes": once.weights,
        "read_bytes": once.read,
        "written_bytes": once.written,
    }


def _rounded(value: float) -> float:
    return round(value, 4)
