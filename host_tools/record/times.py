"""What the samples of timings.json mean: medians, minima, and ratios to other runtimes."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, number, word
from host_tools.base.units import counted, ms, ratio_text
from host_tools.record import headline, peer_names
from host_tools.record.headline import Headline, Samples
from host_tools.record.schema import Timings, Verdicts

NAMES = {
    "quadra": "Quadra",
    "xnnpack": "XNNPACK",
    **{peer_names.key(name): peer_names.label(name) for name in (*peer_names.SHIPPED, peer_names.LITERT)},
}


@dataclass(frozen=True)
class Steady:
    """Steady inference times of one runner, in us. processor: NaN where processor time was not measured."""

    median: float
    minimum: float
    runs: int
    processor: float = math.nan

    def by(self, clock: headline.Clock) -> float:
        """The median by a clock."""
        return self.processor if clock == "processor" else self.median


def steady(timings: Timings) -> dict[str, Steady]:
    """Per runner; those without samples are left out."""
    found = {}
    for who, samples in timings.samples_us.items():
        cpu = timings.cpu_us.get(who)
        if samples:
            processor = statistics.median(cpu) if cpu else math.nan
            found[who] = Steady(statistics.median(samples), min(samples), len(samples), processor)
    return found


def ratio(timings: Timings, report: Verdicts, peer: str = "xnnpack") -> Headline | None:
    """Quadra's time over a peer's, by its key, as the headline has it; None where one of the two did not run."""
    ratios = headline.ratios_of(_samples(timings, "quadra"), _samples(timings, peer))
    if not ratios:
        return None
    ratios = replace(ratios, wait_us=wait_us(timings, report))
    like_threads = peer != peer_names.key(peer_names.LITERT)
    on_cpu = headline.computes_on_cpu(report)
    return headline.decide(on_cpu, timings.threads, ratios, like_threads=like_threads)


def wait_us(timings: Timings, report: Verdicts) -> float:
    """How long each inference of Quadra's waits without computing, at least, where the headline is processor time, which does not
    show it. Where XNNPACK's inferences are longer on the wall, too, each of them, by a share of their time, the machine was busy;
    so it was where waits differ."""
    if clock(timings, report) != "processor":
        return 0.0
    return headline.like_wait_us(_samples(timings, "quadra"), headline.least_share(_samples(timings, "xnnpack")))


def _samples(timings: Timings, who: str) -> Samples:
    return Samples(timings.samples_us.get(who, []), timings.cpu_us.get(who, []))


def clock(timings: Timings, report: Verdicts) -> headline.Clock:
    """The headline's clock, also where no peer ran."""
    return headline.clock_of(headline.computes_on_cpu(report), timings.threads, bool(timings.cpu_us.get("quadra")))


def compiled(timings: Timings, report: Verdicts) -> int | None:
    """How much the driver compiled in Quadra's start; None: not known.

    The cache of compiled models has OpenCL programs as machine code. PoCL unpacks them into its own cache, where they
    look like programs that it compiled.
    """
    hit = report.backend == "opencl" and all(partition.cache.startswith("hit") for partition in report.partitions)
    return 0 if timings.driver_compiled and report.partitions and hit else timings.driver_compiled


def headline_words(found: Headline, label: str, threads: int) -> str:
    """What the headline says of Quadra's time relative to that of a peer with this label."""
    theirs = f"that of the {label}" if label.startswith("stock ") else f"{label}'s"
    if not found.reliable:
        return f"Quadra's time relative to {theirs} is not reliable: {found.doubt}"
    said = f"Quadra's {found.words} is {ratio_text(found.ratio)} × {theirs} (medians; {found.others})"
    return said + ("; other work on the machine changes it" if threads > 1 else "")


def geometric_mean(values: Iterable[float]) -> float:
    """NaN for no values."""
    logs = [math.log(v) for v in values if v > 0]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def summary(timings: Timings, report: Verdicts, console: Console) -> None:
    """Init, first and steady times beside the peers'."""
    ranks = {"init": 1, "first run": 1, "total": 1, "steady median": 0, "min": 0, "processor": 0, "runs": 2}
    head = word(f"ms, {counted(timings.threads, 'thread')}")
    table = Table([head, *(number(name, rank) for name, rank in ranks.items())])
    found = steady(timings)
    started = "Quadra, driver compiled" if compiled(timings, report) else "Quadra"
    rows = (
        ("quadra_cold", "Quadra, cold", None),
        ("quadra_warm", started, "quadra"),
        *(row for key, label in NAMES.items() if key != "quadra" for row in _start_rows(key, label)),
    )
    for key, label, who in rows:
        init = timings.init_us.get(key)
        if not init:
            continue
        first, total = init.first_invoke_us, init.total_us
        measured = found.get(who) if who else None
        table.add_row(label, ms(total - first), ms(first), ms(total), *_steady_cells(measured))
    table.show(console)
    for key, label in NAMES.items():
        if timings.error_of(key):
            console.print(f"[yellow]{label} did not run[/]: {escape(timings.error_of(key))}")
        relation = None if key == "quadra" else ratio(timings, report, key)
        if relation:
            style = "" if relation.reliable else "[yellow]"
            console.print(f"{style}{headline_words(relation, label, timings.threads)}")


def _steady_cells(found: Steady | None) -> list[str]:
    if not found:
        return [""] * 4
    processor = "–" if math.isnan(found.processor) else ms(found.processor)
    return [ms(found.median), ms(found.minimum), processor, str(found.runs)]


def _start_rows(key: str, label: str) -> Iterable[tuple[str, str, str | None]]:
    return (f"{key}_cold", f"{label}, cold", None), (key, label, key)
