"""Quadra's kernels beside those of another, such as TFLite's stock GPU delegate, by the same compilers: figures, ratios, tables."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape

from host_tools.analyse import figures, figures_table
from host_tools.analyse.figures import Figures
from host_tools.base.text_table import Table, number, text

_MILLION = 1e6


def _spills(found: Figures) -> int:
    codes = [kernel.compiled for kernel in found.kernels]
    return sum(code.spills + code.fills for code in codes if code)


def _memory(found: Figures) -> int | None:
    return found.memory.intermediates if found.memory else None


# What is compared, of an inference; `spills` alone is of the texts: instructions that spill and fill.
_COUNTS: dict[str, Callable[[Figures], int | None]] = {
    "programs": lambda found: len(found.kernels),
    "dispatches": lambda found: sum(len(kernel.dispatches) for kernel in found.kernels),
    "work_items": lambda found: sum(one.items for kernel in found.kernels for one in kernel.dispatches),
    "slots": lambda found: found.work("slots"),
    "wave_slots": lambda found: found.work("wave_slots"),
    "half_rate_slots": lambda found: found.work("half_rate_slots"),
    "reads": lambda found: found.work("reads"),
    "writes": lambda found: found.work("writes"),
    "spilled": lambda found: found.work("spilled"),
    "read_bytes": lambda found: found.bytes("read"),
    "written_bytes": lambda found: found.bytes("written"),
    "memory": _memory,
    "spills": _spills,
}
_WHOLE = ("programs", "dispatches", "work_items", "memory", "spills")  # known even where trips are not
_EXECUTED = tuple(what for what in _COUNTS if what not in _WHOLE)
_IN_UNITS = ("programs", "dispatches", "spills")
_TITLES = {
    "work_items": "work-items M",
    "slots": "slots M",
    "wave_slots": "by waves M",
    "half_rate_slots": "half at its rate M",
    "reads": "reads M",
    "writes": "writes M",
    "spilled": "spilled M",
    "read_bytes": "read MB",
    "written_bytes": "written MB",
    "memory": "memory MB",
    "spills": "spills+fills",
}
_FIRST_TO_STAY = ("slots", "wave_slots", "half_rate_slots", "read_bytes", "memory")
_MUCH = 0.05  # of the slots: whose registers and waves are shown
_OF_CONSTANTS = (
    "What flatters Quadra: Mesa's compiler for Adreno lays the stock delegate's constant weights where registers are spilled,"
    " which the phone's does not: all that it has under `spilled`, and the slots for it."
)
_OF_SAMPLERS = (
    " And it converts behind each read of a half through a sampler, which the hardware does not need. The rows without"
    " samplers have neither those conversions nor those of coordinates: what is fair lies between the two."
)

STOCK_DELEGATE, ML_DRIFT = "stock delegate", "ML Drift"
COMPLETE, AT_LEAST, AT_MOST, UNKNOWN = "", "≥", "≤", "?"  # what a ratio of two counts is, where one may be too low
_IN_WORDS = {COMPLETE: "complete", AT_LEAST: "at_least", AT_MOST: "at_most", UNKNOWN: "unknown"}


@dataclass(frozen=True)
class Pair:
    """A model on a GPU. nodes: those that the peer took, of all_nodes; the others are in none of its figures."""

    model: str
    ours: Figures
    peer: Figures
    nodes: int
    all_nodes: int
    refused: tuple[str, ...] = ()  # what the peer asked its driver for, and did not get
    direct: Figures | None = None  # the peer's texts with reads without samplers, where Mesa makes too much of those
    peer_is: str = STOCK_DELEGATE

    @property
    def ratios(self) -> "Ratios":
        return self._over(self.peer)

    @property
    def direct_ratios(self) -> "Ratios":
        """Over `direct`; without it as `ratios`."""
        return self._over(self.direct or self.peer)

    def _over(self, peer: Figures) -> "Ratios":
        if self.nodes < self.all_nodes:
            bound = UNKNOWN
        elif self.ours.is_complete:
            bound = COMPLETE if peer.is_complete else AT_MOST
        else:
            bound = AT_LEAST if peer.is_complete else UNKNOWN
        both = {what: (count(self.ours), count(peer)) for what, count in _COUNTS.items()}
        known = bound != UNKNOWN
        return Ratios(
            bound,
            {what: ours / peer if known and ours is not None and peer else None for what, (ours, peer) in both.items()},
        )


@dataclass(frozen=True)
class Ratios:
    """Ours over the peer's. None: the peer has none, or it is not known. bound: of what is executed."""

    bound: str
    of: dict[str, float | None]

    def to_json(self) -> dict[str, Any]:
        return {"are": _IN_WORDS[self.bound], **self.of}


def mean(pairs: Sequence[Pair], direct: bool = False) -> Ratios:
    """Geometric, without models of which the peer runs a part. None: one of the others has no ratio, or it is 0."""
    whole = [pair.direct_ratios if direct else pair.ratios for pair in pairs if pair.nodes == pair.all_nodes]
    bounds = {ratios.bound for ratios in whole} - {COMPLETE}
    bound = UNKNOWN if len(bounds) > 1 else bounds.pop() if bounds else COMPLETE
    known = {what: _mean([ratios.of[what] for ratios in whole]) for what in _COUNTS}
    return Ratios(bound, known if bound != UNKNOWN else dict.fromkeys(_COUNTS))


def _mean(ratios: Sequence[float | None]) -> float | None:
    known = [ratio for ratio in ratios if ratio]
    return math.exp(math.fsum(map(math.log, known)) / len(known)) if known and len(known) == len(ratios) else None


def show(pairs: Sequence[Pair], console: Console) -> None:
    """A table of each GPU, behind what flatters. The models of a GPU follow each other."""
    if any(pair.peer.api == "opencl" and pair.peer.gpu.kind == "adreno" for pair in pairs):
        console.print(_OF_CONSTANTS + (_OF_SAMPLERS if any(pair.direct for pair in pairs) else ""))
    for gpu in dict.fromkeys(pair.ours.gpu for pair in pairs):
        _show([pair for pair in pairs if pair.ours.gpu == gpu], console)
    if any(pair.nodes < pair.all_nodes for pair in pairs):
        name = pairs[0].peer_is
        who = name if name[0].isupper() else f"The {name}"
        console.print(f"{who} leaves nodes to the CPU: these are in none of its figures, so there is no ratio.")
    if not all(pair.ours.is_complete and pair.peer.is_complete for pair in pairs):
        console.print("≥, ≤: a loop's trips are not known, and count as one; or a kernel has no machine code.")
    if any(pair.ours.gpu.kind == "adreno" and pair.ours.precision != "f32" for pair in pairs):
        console.print(f"[dim]{figures_table.HALVES}[/]")
    for asked in dict.fromkeys(asked for pair in pairs for asked in pair.refused):
        console.print(f"[dim]The stock delegate asked the pretended phone for {escape(asked)}, and got nothing.[/]")
    console.print(f"[dim]{figures_table.WHAT_THEY_ARE}[/]")


def _show(pairs: Sequence[Pair], console: Console) -> None:
    first = pairs[0].ours
    apis = dict.fromkeys(figures_table.API_TITLES[one.api] for one in (first, pairs[0].peer))
    title = f"{first.gpu.name}, {' beside '.join(apis)}, {first.precision}, Mesa {first.mesa}"
    console.print(f"[bold]{escape(title)}[/]")
    counts = [
        number(_TITLES.get(what, what), 0 if what in _FIRST_TO_STAY else 1 if what in _EXECUTED else 2)
        for what in _COUNTS
    ]
    occupancy = "waves" if first.gpu.kind == "adreno" else "threads"
    table = Table([text("model"), text("kernels of"), *counts, number("regs", 2), number(occupancy, 2)])
    for pair in pairs:
        nodes = "" if pair.nodes == pair.all_nodes else f", {pair.nodes} of {pair.all_nodes} nodes"
        table.add_row(escape(pair.model), "Quadra", *_cells(pair.ours))
        table.add_row("", f"{pair.peer_is}{nodes}", *_cells(pair.peer))
        table.add_row("", "ratio", *_ratio_cells(pair.ratios))
        if pair.direct:
            table.add_row("", f"{pair.peer_is} without samplers", *_cells(pair.direct))
            table.add_row("", "ratio without samplers", *_ratio_cells(pair.direct_ratios))
    if len(pairs) > 1:
        table.add_row("geometric mean", "ratio", *_ratio_cells(mean(pairs)))
        if any(pair.direct for pair in pairs):
            table.add_row("", "ratio without samplers", *_ratio_cells(mean(pairs, direct=True)))
    table.show(console)
    for name, found in (("Quadra", [p.ours for p in pairs]), (pairs[0].peer_is, [p.peer for p in pairs])):
        for kernel in (kernel for one in found for kernel in one.failed):
            count = len(kernel.dispatches)
            console.print(f"{name}: {escape(kernel.entry)}, {count} runs: [red]{escape(kernel.failure)}[/]")


def _cells(found: Figures) -> list[str]:
    cells = []
    for what, count in _COUNTS.items():
        least = AT_LEAST if what in _EXECUTED and not found.is_complete else COMPLETE
        value = count(found)
        cells.append("" if value is None else str(value) if what in _IN_UNITS else f"{least}{value / _MILLION:.2f}")
    slots = found.work("slots")
    large = [kernel.compiled for kernel in found.kernels if kernel.compiled and kernel.work("slots") > _MUCH * slots]
    return [*cells, _range([one.registers for one in large]), _range([one.threads for one in large])]


def _range(values: Sequence[int]) -> str:
    if not values:
        return ""
    return str(min(values)) if min(values) == max(values) else f"{min(values)}-{max(values)}"


def _ratio_cells(ratios: Ratios) -> list[str]:
    bounds = {what: ratios.bound if what in _EXECUTED else COMPLETE for what in _COUNTS}
    cells = ["" if (ratio := ratios.of[what]) is None else f"{bounds[what]}{ratio:.2f}" for what in _COUNTS]
    return [*cells, "", ""]


def to_json(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """For --json: ours as without a peer, and beside it the peer's."""
    rows = []
    for pair in pairs:
        peer = {"nodes": pair.nodes, "all_nodes": pair.all_nodes, "refused": list(pair.refused)}
        of_gpu = [one for one in pairs if one.ours.gpu == pair.ours.gpu]
        row = figures.to_json(pair.ours) | {"model": pair.model, "peer": peer | figures.to_json(pair.peer)}
        row |= {"ratios": pair.ratios.to_json(), "mean_ratios_of_gpu": mean(of_gpu).to_json()}
        if pair.direct:
            row |= {
                "peer_without_samplers": figures.to_json(pair.direct),
                "ratios_without_samplers": pair.direct_ratios.to_json(),
                "mean_ratios_of_gpu_without_samplers": mean(of_gpu, direct=True).to_json(),
            }
        rows.append(row)
    return rows
