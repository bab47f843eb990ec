"""The numbers of a launch that are compared: one per metric and launch, from its raw samples.

How steady inference is measured (`measure`):
  wall             the median time of an inference, as a user waits for it
  processor        the same of processor time
  ratio            Quadra's median over XNNPACK's of the same process, interleaved: what slows the machine slows both
  processor_ratio  the same of processor time
`auto` takes the clock of the headline (record/headline.py): processor_ratio where the driver computes on the CPU with one
thread, ratio there with more threads, wall elsewhere. Starts are measured in the same way. As a ratio to one inference of
XNNPACK they would have a unit that nobody knows: they are that ratio times XNNPACK's inference in the baseline, in us.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from host_tools.judge.regression.launch import Launch
from host_tools.record import headline
from host_tools.record.headline import Samples

TIMED = ("init", "cold", "first", "steady", "memory")
STARTS = ("init", "cold", "first")
EXACT = ("error", "verdicts", "plan")
METRICS = (*TIMED, *EXACT)
PEER = "xnnpack"
_ON_CPU = 0.9  # of the time on the wall: then the driver computed, and did not wait for a GPU


@dataclass(frozen=True)
class Series:
    """One number per launch. unit: us, us of processor time, bytes, or what it is a multiple of."""

    values: tuple[float, ...]
    unit: str
    scale: float = 1.0  # us that one unit is, about: for limits in us
    peer_us: float = 1.0  # the median of XNNPACK's inference, where the numbers are relative to it


def measure_of(asked: str, threads: int, *sides: Sequence[Launch]) -> str:
    """The measure that all sides can give."""
    if asked != "auto":
        return asked
    if not all(map(computes_on_cpu, sides)):
        return "wall"
    word, alone = ("cpu_us", "processor") if headline.clock_of(True, threads) == "processor" else ("wall_us", "wall")
    every = [launch for side in sides for launch in side]
    with_peer = all(launch.samples.get(f"{PEER}.{word}") for launch in every)
    return _RELATIVE[alone] if with_peer else alone


def computes_on_cpu(launches: Sequence[Launch]) -> bool:
    """Whether the driver computes in the process: then its processor time is the work. Of a driver that is not known,
    the least disturbed inference of each launch says it."""
    if launches and all(launch.facts.get("driver_on_cpu") for launch in launches if launch.ok):
        return True
    shares = []
    for launch in launches:
        walls, cpus = launch.samples.get("quadra.wall_us", []), launch.samples.get("quadra.cpu_us", [])
        shares += [max(c / max(w, 1.0) for w, c in zip(walls, cpus))] if walls and cpus else []
    return bool(shares) and statistics.median(shares) >= _ON_CPU


def series(launches: Sequence[Launch], metric: str, measure: str, peer_us: float | None = None) -> Series | None:
    """None where the launches have not what the metric needs. peer_us: an inference of XNNPACK in the baseline; none: in
    these launches."""
    found = [launch for launch in launches if launch.ok]
    if metric in ("init", "first", "memory"):
        found = _warm(found)
    give = _GIVERS[metric](measure)
    unit = "bytes" if metric == "memory" else _UNITS[measure]
    by_peer = metric != "memory" and measure.endswith("ratio")
    word = "cpu_us" if "processor" in measure else "wall_us"
    values, peers = [], []
    for launch in found:
        value, beside = give(launch), _median(launch, f"{PEER}.{word}")
        if value and value > 0 and (beside or not by_peer):
            values.append(value / beside if by_peer and beside else value)
            peers.append(beside or 1.0)
    if not values:
        return None
    if not by_peer:
        return Series(tuple(values), unit)
    usual = statistics.median(peers)
    if metric not in STARTS:
        return Series(tuple(values), unit, usual, usual)
    return Series(tuple(value * (peer_us or usual) for value in values), _SCALED[measure], 1.0, usual)


def _warm(launches: Sequence[Launch]) -> list[Launch]:
    """Without those whose driver compiled more than it always does: the first, mostly."""
    compiled = [launch.samples.get("driver_compiled", [0.0])[0] for launch in launches]
    usual = statistics.median_low(compiled) if compiled else 0.0
    return [launch for launch, count in zip(launches, compiled) if count <= 2 * usual]


_FIRST = ("start.quadra_warm.total_us", "start.quadra_warm.first_invoke_us")
_FIRST_CPU = ("start.quadra_warm.cpu_us", "start.quadra_warm.first_invoke_cpu_us")
_UNITS = {
    "wall": "us",
    "processor": "us of processor time",
    "ratio": "× XNNPACK's time",
    "processor_ratio": "× XNNPACK's processor time",
}
_RELATIVE = {"wall": "ratio", "processor": "processor_ratio"}
_SCALED = {  # of starts
    "ratio": "us scaled by XNNPACK's time",
    "processor_ratio": "us of processor time, scaled by XNNPACK's",
}
Giver = Callable[[Launch], float | None]


def unit_of(measure: str) -> str:
    """What a measure's numbers are of."""
    return _UNITS[measure]


def measure_with(unit: str) -> str:
    """The measure that has this unit."""
    return next(measure for measure, its in _UNITS.items() if its == unit)


def _init(measure: str) -> Giver:
    """A start without its first inference."""
    whole, first = _FIRST_CPU if "processor" in measure else _FIRST

    def give(launch: Launch) -> float | None:
        total, last = _one(launch, whole), _one(launch, first)
        return total - last if total and last is not None else None

    return give


def _cold(measure: str) -> Giver:
    name = "cpu_us" if "processor" in measure else "total_us"
    return lambda launch: _one(launch, f"start.quadra_cold.{name}")


def _first(measure: str) -> Giver:
    _, first = _FIRST_CPU if "processor" in measure else _FIRST
    return lambda launch: _one(launch, first)


def _memory(measure: str) -> Giver:
    def give(launch: Launch) -> float | None:
        peak, before = _one(launch, "memory.peak_rss_bytes"), _one(launch, "memory.baseline_rss_bytes")
        return peak - (before or 0) if peak else None

    return give


def _steady(measure: str) -> Giver:
    word = "cpu_us" if "processor" in measure else "wall_us"
    return lambda launch: _median(launch, f"quadra.{word}")


def least_wait_us(launches: Sequence[Launch]) -> float:
    """How long each inference of these launches waits without computing, at least; 0 where that differs within most launches: the
    machine had very much other work."""
    ours = [_samples(one, "quadra") for one in launches]
    shares = [headline.least_share(_samples(one, PEER)) for one in launches]
    alike = [headline.like_wait_us(one, share) > 0 for one, share in zip(ours, shares)]
    return headline.least_wait_us(ours) if 2 * sum(alike) >= len(alike) else 0.0


def _samples(launch: Launch, who: str) -> Samples:
    return Samples(launch.samples.get(f"{who}.wall_us", []), launch.samples.get(f"{who}.cpu_us", []))


def peer(launches: Sequence[Launch]) -> list[float]:
    """XNNPACK's median time on the wall, per launch."""
    found = (_median(launch, f"{PEER}.wall_us") for launch in launches if launch.ok)
    return [value for value in found if value]


def _median(launch: Launch, name: str) -> float | None:
    values = launch.samples.get(name)
    return statistics.median(values) if values else None


def _one(launch: Launch, name: str) -> float | None:
    return launch.samples.get(name, [None])[0]


_GIVERS: dict[str, Callable[[str], Giver]] = {
    "init": _init,
    "cold": _cold,
    "first": _first,
    "steady": _steady,
    "memory": _memory,
}


def per_unit(unit: str) -> tuple[float, str]:
    """How much of a unit is one of what people read, and its name: (1000, ms), (2**20, MiB), (1, "")."""
    if unit == "bytes":
        return float(2**20), "MiB"
    return (1e3, "ms") if unit.startswith("us") else (1.0, "")


def number(value: float, unit: str) -> str:
    """3.07 ms, 91.8 MiB, 1.072"""
    if unit == "bytes":
        return f"{value / 2**20:.1f} MiB"
    if unit.startswith("us"):
        return f"{value / 1e3:.{3 if value < 1e3 else 2 if value < 1e4 else 1}f} ms"
    return f"{value:.{3 if value < 10 else 2 if value < 100 else 1}f}"


def text(value: float, unit: str) -> str:
    """3.07 ms of processor time, 91.8 MiB, 1.072 × XNNPACK's processor time"""
    tail = unit.removeprefix("us").removeprefix("bytes").strip()
    return f"{number(value, unit)} {tail}".strip()
