"""Quadra's kernels beside those of TFLite's stock GPU delegate, by the same compilers: figures, ratios, tables."""

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


# What is compared, of an inference; `spills` alone is of the texts: instructions that spill and fill.
_EXECUTED = ("slots", "reads", "writes", "spilled")
_COUNTS: dict[str, Callable[[Figures], int]] = {
    "programs": lambda found: len(found.kernels),
    "dispatches": lambda found: sum(len(kernel.dispatches) for kernel in found.kernels),
    "work_items": lambda found: sum(one.items for kernel in found.kernels for one in kernel.dispatches),
    **{what: (lambda found, what=what: found.work(what)) for what in _EXECUTED},  # type: ignore[misc]
    "spills": _spills,
}
_IN_MILLIONS = ("work_items", *_EXECUTED)
_TITLES = {"spills": "spills+fills", **{what: f"{what.replace('_', '-')} M" for what in _IN_MILLIONS}}

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

    @property
    def ratios(self) -> "Ratios":
        if self.nodes < self.all_nodes:
            bound = UNKNOWN
        elif self.ours.is_complete:
            bound = COMPLETE if self.peer.is_complete else AT_MOST
        else:
            bound = AT_LEAST if self.peer.is_complete else UNKNOWN
        both = {what: (count(self.ours), count(self.peer)) for what, count in _COUNTS.items()}
        known = bound != UNKNOWN
        return Ratios(bound, {what: ours / peer if known and peer else None for what, (ours, peer) in both.items()})


@dataclass(frozen=True)
class Ratios:
    """Ours over the peer's. None: the peer has none, or it is not known. bound: of what is executed."""

    bound: str
    of: dict[str, float | None]

    def to_json(self) -> dict[str, Any]:
        return {"are": _IN_WORDS[self.bound], **self.of}


def mean(pairs: Sequence[Pair]) -> Ratios:
    """Geometric, without models of which the peer runs a part. None: one of the others has no ratio, or it is 0."""
    whole = [pair.ratios for pair in pairs if pair.nodes == pair.all_nodes]
    bounds = {ratios.bound for ratios in whole} - {COMPLETE}
    bound = UNKNOWN if len(bounds) > 1 else bounds.pop() if bounds else COMPLETE
    known = {what: _mean([ratios.of[what] for ratios in whole]) for what in _COUNTS}
    return Ratios(bound, known if bound != UNKNOWN else dict.fromkeys(_COUNTS))


def _mean(ratios: Sequence[float | None]) -> float | None:
    known = [ratio for ratio in ratios if ratio]
    return math.exp(math.fsum(map(math.log, known)) / len(known)) if known and len(known) == len(ratios) else None


def show(pairs: Sequence[Pair], console: Console) -> None:
    """A table of each GPU. The models of a GPU follow each other."""
    for gpu in dict.fromkeys(pair.ours.gpu for pair in pairs):
        _show([pair for pair in pairs if pair.ours.gpu == gpu], console)
    if any(pair.nodes < pair.all_nodes for pair in pairs):
        console.print(
            "The stock delegate leaves nodes to the CPU: these are in none of its figures, so there is no ratio."
        )
    if not all(pair.ours.is_complete and pair.peer.is_complete for pair in pairs):
        console.print("≥, ≤: a loop's trips are not known, and count as one; or a kernel has no machine code.")
    if any(pair.ours.gpu.kind == "adreno" and pair.ours.precision != "f32" for pair in pairs):
        console.print(f"[dim]{figures_table.HALVES}[/]")
    console.print(f"[dim]{figures_table.WHAT_THEY_ARE}[/]")


def _show(pairs: Sequence[Pair], console: Console) -> None:
    first = pairs[0].ours
    title = f"{first.gpu.name}, OpenGL ES, {first.precision}, Mesa {first.mesa}"
    console.print(f"[bold]{escape(title)}[/]")
    counts = [
        number(_TITLES.get(what, what), 0 if what == "slots" else 1 if what in _EXECUTED else 2) for what in _COUNTS
    ]
    table = Table([text("model"), text("kernels of"), *counts])
    for pair in pairs:
        nodes = "" if pair.nodes == pair.all_nodes else f", {pair.nodes} of {pair.all_nodes} nodes"
        table.add_row(escape(pair.model), "Quadra", *_cells(pair.ours))
        table.add_row("", f"stock delegate{nodes}", *_cells(pair.peer))
        table.add_row("", "ratio", *_ratio_cells(pair.ratios))
    if len(pairs) > 1:
        table.add_row("geometric mean", "ratio", *_ratio_cells(mean(pairs)))
    table.show(console)
    for name, found in (("Quadra", [p.ours for p in pairs]), ("stock delegate", [p.peer for p in pairs])):
        for kernel in (kernel for one in found for kernel in one.kernels if kernel.failure):
            console.print(f"{name}: {escape(kernel.entry)}: [red]{escape(kernel.failure)}[/]")


def _cells(found: Figures) -> list[str]:
    cells = []
    for what, count in _COUNTS.items():
        least = AT_LEAST if what in _EXECUTED and not found.is_complete else COMPLETE
        value = count(found)
        cells.append(f"{least}{value / _MILLION:.2f}" if what in _IN_MILLIONS else str(value))
    return cells


def _ratio_cells(ratios: Ratios) -> list[str]:
    bounds = {what: ratios.bound if what in _EXECUTED else COMPLETE for what in _COUNTS}
    return ["" if (ratio := ratios.of[what]) is None else f"{bounds[what]}{ratio:.2f}" for what in _COUNTS]


def to_json(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """For --json: ours as without a peer, and beside it the peer's."""
    rows = []
    for pair in pairs:
        peer = {"nodes": pair.nodes, "all_nodes": pair.all_nodes, **figures.to_json(pair.peer)}
        of_gpu = mean([one for one in pairs if one.ours.gpu == pair.ours.gpu])
        ratios = {"ratios": pair.ratios.to_json(), "mean_ratios_of_gpu": of_gpu.to_json()}
        rows.append(figures.to_json(pair.ours) | {"model": pair.model, "peer": peer} | ratios)
    return rows
