"""What the samples of timings.json mean: medians, minima, and ratios to XNNPACK."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, number, word
from host_tools.base.units import ms
from host_tools.record import peer_names
from host_tools.record.schema import Timings

NAMES = {
    "quadra": "Quadra",
    "xnnpack": "XNNPACK",
    **{peer_names.key(name): peer_names.label(name) for name in (*peer_names.SHIPPED, peer_names.LITERT)},
}


@dataclass(frozen=True)
class Steady:
    """Steady inference times of one runner, in us."""

    median: float
    minimum: float
    runs: int


@dataclass(frozen=True)
class Ratio:
    """Quadra over a peer: below 1 Quadra is faster. processor: of processor time, which other work leaves alone."""

    median: float
    minimum: float
    processor: float


def steady(timings: Timings) -> dict[str, Steady]:
    """Per runner; those without samples are left out."""
    return {who: Steady(statistics.median(s), min(s), len(s)) for who, s in timings.samples_us.items() if s}


def ratio(timings: Timings, peer: str = "xnnpack") -> Ratio | None:
    """Quadra over a peer, by its key; None where one of the two did not run."""
    found = steady(timings)
    if not {"quadra", peer} <= found.keys():
        return None
    ours, theirs = found["quadra"], found[peer]
    cpu = timings.cpu_us
    processor = math.nan
    if cpu.get("quadra") and cpu.get(peer):
        processor = statistics.median(cpu["quadra"]) / max(statistics.median(cpu[peer]), 1)
    return Ratio(ours.median / max(theirs.median, 1), ours.minimum / max(theirs.minimum, 1), processor)


def geometric_mean(values: Iterable[float]) -> float:
    """NaN for no values."""
    logs = [math.log(v) for v in values if v > 0]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def summary(timings: Timings, console: Console) -> None:
    """Init, first and steady times beside the peers'."""
    ranks = {"init": 1, "first run": 1, "total": 1, "steady median": 0, "min": 0, "runs": 2}
    head = word(f"ms, {timings.threads} thread{'s' if timings.threads > 1 else ''}")
    table = Table([head, *(number(name, rank) for name, rank in ranks.items())])
    found = steady(timings)
    started = "Quadra, driver compiled" if timings.driver_compiled else "Quadra"
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
        steady_cells = [ms(measured.median), ms(measured.minimum), str(measured.runs)] if measured else ["", "", ""]
        table.add_row(label, ms(total - first), ms(first), ms(total), *steady_cells)
    table.show(console)
    for key, label in NAMES.items():
        if timings.error_of(key):
            console.print(f"[yellow]{label} did not run[/]: {escape(timings.error_of(key))}")
        relation = None if key == "quadra" else ratio(timings, key)
        if not relation:
            continue
        console.print(
            f"Quadra's time is {relation.median:.2f} × {label}'s (medians; minima {relation.minimum:.2f}, "
            f"processor time {relation.processor:.2f})"
        )


def _start_rows(key: str, label: str) -> Iterable[tuple[str, str, str | None]]:
    return (f"{key}_cold", f"{label}, cold", None), (key, label, key)
