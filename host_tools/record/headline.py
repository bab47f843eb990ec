"""Which time is the headline: one rule for terminal, pages and JSON documents, of run, bench and regression runs.

- A driver that computes on the CPU, with one thread: processor time, which other work on the machine hardly changes.
- The same with more threads: wall-clock time. Processor time adds the threads up, so it does not show whether they run
  at the same time.
- A GPU, or no processor time measured: wall-clock time. A process that waits for a GPU uses little processor time.

A ratio of such times is checked by another one: that of the other clock, and where wall-clock time is the headline,
that of the minima. Where they disagree, the machine was busy, or every inference waits, and the headline is not reliable.
"""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from host_tools.base import cpu_drivers
from host_tools.base.units import ms, ratio_text
from host_tools.record import schema

Clock = Literal["processor", "wall"]
CLOCKS: dict[Clock, str] = {"processor": "processor time", "wall": "wall-clock time"}
_SHORT_US = 50.0  # the clocks count whole microseconds, and a call's own work is of that length
_AGREE = 1.1  # ratios whose quotient is larger disagree
_ENOUGH = 5  # inferences of a run, for their least wait
_ALIKE = 1.05  # waits for one thing are within this factor
_JITTER_US = 100.0  # or within this, as sleeps are


@dataclass(frozen=True)
class Samples:
    """Inference times of one runtime, in us. processor: empty where it was not measured."""

    wall: Sequence[float]
    processor: Sequence[float] = ()


@dataclass(frozen=True)
class Ratios:
    """Quadra's time over a peer's: below 1 Quadra is faster. NaN: not known."""

    median: float  # of wall-clock time
    minimum: float  # of wall-clock time
    processor: float = math.nan  # of the medians of processor time
    least_us: float = math.inf  # the shorter of the two medians
    wait_us: float = 0.0  # how long each inference of Quadra's waits at least, where its headline is processor time

    @property
    def waits(self) -> bool:
        """Whether that alone makes the two clocks disagree."""
        return self.wait_us > (_AGREE - 1) * self.least_us


@dataclass(frozen=True)
class Headline:
    """A ratio to show first. doubt: why it is not reliable, as a sentence's end; empty: it is."""

    clock: Clock
    ratios: Ratios
    doubt: str = ""

    @property
    def ratio(self) -> float:
        return self.ratios.processor if self.clock == "processor" else self.ratios.median

    @property
    def reliable(self) -> bool:
        return not self.doubt

    @property
    def words(self) -> str:
        """`processor time`, or `wall-clock time`."""
        return CLOCKS[self.clock]

    @property
    def others(self) -> str:
        """The other ratios, in words."""
        median, minimum, processor = map(ratio_text, (self.ratios.median, self.ratios.minimum, self.ratios.processor))
        if self.clock == "processor":
            return f"wall-clock {median}, its minima {minimum}"
        known = "" if math.isnan(self.ratios.processor) else f", processor time {processor}"
        return f"minima {minimum}{known}"


def computes_on_cpu(report: schema.Verdicts) -> bool:
    """Whether what ran computed on the CPU: by its driver, or because no backend ran anything."""
    return cpu_drivers.on_cpu(report.device) or report.backend == "none"


def clock_of(on_cpu: bool, threads: int, measured: bool = True) -> Clock:
    """The headline's clock. measured: processor time was."""
    return "processor" if on_cpu and threads == 1 and measured else "wall"


def ratios_of(ours: Samples, theirs: Samples) -> Ratios | None:
    """None where one of the two has no samples."""
    if not ours.wall or not theirs.wall:
        return None
    median = statistics.median(ours.wall) / max(statistics.median(theirs.wall), 1)
    minimum = min(ours.wall) / max(min(theirs.wall), 1)
    least_us = min(statistics.median(ours.wall), statistics.median(theirs.wall))
    if not ours.processor or not theirs.processor:
        return Ratios(median, minimum, least_us=least_us)
    processor = statistics.median(ours.processor) / max(statistics.median(theirs.processor), 1)
    return Ratios(median, minimum, processor, least_us)


def least_wait_us(runs: Iterable[Samples]) -> float:
    """By how much the wall clock goes on before the processor's, at least, in each inference of these runs. Other work on the
    machine makes some inferences wait, and a sleep all of them; runs of a few inferences do not tell these apart."""
    return max(0.0, min((wait for run in runs for wait in _waits(run)), default=0.0))


def like_wait_us(run: Samples, busy: float) -> float:
    """The same of one run alone, if half of its inferences wait about as long: on a machine with very much other work each waits
    for a processor, and each for another time. busy: the share of its time that other work makes any inference longer by."""
    waits = _waits(run, busy)
    least = min(waits, default=0.0)
    alike = waits and statistics.median(waits) <= max(_ALIKE * least, least + _JITTER_US)
    return max(0.0, least) if alike else 0.0


def _waits(run: Samples, busy: float = 0.0) -> list[float]:
    """None where they are too few."""
    pairs = list(zip(run.wall, run.processor))
    return [wall - (1 + busy) * cpu for wall, cpu in pairs] if len(pairs) >= _ENOUGH else []


def least_share(run: Samples) -> float:
    """By which share of its processor time each inference of a run is longer on the wall, at least."""
    pairs = [(wall, cpu) for wall, cpu in zip(run.wall, run.processor) if cpu]
    return max(0.0, min((wall / cpu - 1 for wall, cpu in pairs), default=0.0))


def waits(us: float) -> str:
    """The sentence for a wait in every inference, as in a sleep or at a lock: no processor time tells it."""
    return f"every inference waits {ms(us)} ms or longer without computing"


def decide(
    on_cpu: bool, threads: int, ratios: Ratios, limits: Iterable[float] = (), *, like_threads: bool = True
) -> Headline:
    """The headline of ratios, and whether it can be relied on.

    on_cpu: the driver computes on the CPU. threads: of each runtime. limits: ratios that matter to the user: where the
    checks lie on the other side of one, the headline is not reliable either. like_threads: the peer takes as many
    threads as Quadra; of one that does not, the two clocks need not agree.
    """
    clock = clock_of(on_cpu, threads, not math.isnan(ratios.processor))
    found = Headline(clock, ratios)
    short = ratios.least_us < _SHORT_US
    cause = f"an inference of {ratios.least_us:g} us is too short for the clocks" if short else "the machine was busy"
    cause += ", or threads waited for each other" if on_cpu and threads > 1 else ""
    if ratios.waits:
        cause = waits(ratios.wait_us)
    for name, other in _checks(found, on_cpu and like_threads):
        said = f"{found.words} gives {ratio_text(found.ratio)} ×, {name} {ratio_text(other)} ×"
        if _disagree(found.ratio, other):
            return Headline(clock, ratios, f"{cause}: {said}")
        for limit in limits:
            if (found.ratio <= limit) != (other <= limit):
                return Headline(
                    clock, ratios, f"the machine was too busy to tell on which side of {limit:g} it is: {said}"
                )
    return found


def _checks(found: Headline, comparable: bool) -> Iterator[tuple[str, float]]:
    """Ratios that an undisturbed headline is close to. comparable: processor time counts the work of both."""
    ratios = found.ratios
    if found.clock == "processor":
        if comparable:
            yield "wall-clock time", ratios.median
        return
    if comparable and not math.isnan(ratios.processor):
        yield "processor time", ratios.processor
    if not math.isnan(ratios.minimum):
        yield "its minima", ratios.minimum


def _disagree(one: float, other: float) -> bool:
    low, high = sorted((one, other))
    return high > _AGREE * low
