"""What a replay found, as tables."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape

from host_tools.base.short_names import short
from host_tools.base.text_table import Table, identifier, number, text, word
from host_tools.base.units import counted, ranges_text
from host_tools.judge.compare import OutputError
from host_tools.record.replayed import DispatchFacts, Replayed, TensorFacts

_AROUND = 4  # rows before the first that differs
_NAME_LETTERS = 120


def tensors(result: Replayed, against: str, console: Console, everything: bool = False) -> None:
    """Each compared tensor, or those around the first that differs; then the sentence that names it."""
    rows = [(dispatch, tensor) for dispatch in result.dispatches for tensor in dispatch.tensors if tensor.compared]
    first = next((i for i, (_, tensor) in enumerate(rows) if tensor.problem), -1)
    begin, end = (0, len(rows)) if everything else (max(0, first - _AROUND), first + 2) if first >= 0 else (0, 0)
    table = Table([
        text("dispatch"), text("nodes", 2, least=8), identifier("tensor", 1), number("shape", 3), number("largest error"),
        number("relative"), word(""),
    ])  # fmt: skip
    for index, (dispatch, tensor) in list(enumerate(rows))[begin:end]:
        verdict = (
            "[red]DIFFERS[/] ← first" if index == first else "[red]differs[/]" if tensor.problem else "[green]right[/]"
        )
        table.add_row(
            escape(dispatch.name), _nodes(dispatch), escape(tensor.name), "×".join(map(str, tensor.shape)),
            f"{tensor.max_error:.2e}", f"{tensor.relative:.1e}", verdict,
        )  # fmt: skip
    if table.rows:
        table.show(console)
    total = sum(len(dispatch.tensors) for dispatch in result.dispatches)
    if first < 0:
        exact = sum(1 for _, tensor in rows if not tensor.different)
        console.print(
            f"{len(rows)} of {counted(total, 'tensor')} compared with {escape(against)}: none differs, {exact} are equal bit by bit"
        )
        return
    console.print(f"[red]{escape(sentence(*rows[first]))}[/]")
    console.print(
        f"[dim]{len(rows)} of {counted(total, 'tensor')} compared with {escape(against)}; {sum(1 for _, t in rows if t.problem)} differ[/]"
    )


@dataclass(frozen=True)
class PartitionRow:
    """One of several partitions. wrong: what is, in words; empty: nothing."""

    partition: int
    nodes: Sequence[int]
    result: Replayed
    wrong: str
    compared: bool = True


def partitions(rows: Sequence[PartitionRow], console: Console) -> None:
    """All partitions of a model, and what their dispatches take together."""
    timed = any(dispatch.us for row in rows for dispatch in row.result.dispatches)
    median = [number("median ms")] if timed else []
    table = Table([word("partition"), word("nodes"), number("dispatches"), *median, text("")])
    total = 0.0
    for row in rows:
        us = sum(statistics.median(dispatch.us) for dispatch in row.result.dispatches if dispatch.us)
        total += us
        right = "[green]nothing differs[/]" if row.compared else "[dim]not compared[/]"
        verdict = f"[red]{escape(row.wrong)}[/]" if row.wrong else right
        count = str(len(row.result.dispatches))
        table.add_row(str(row.partition), _span(row.nodes), count, *([f"{us / 1000:.3f}"] if timed else []), verdict)
    table.show(console)
    if timed:
        console.print(f"sum of the medians of all {len(rows)} partitions {total / 1000:.3f} ms")


def _span(nodes: Sequence[int]) -> str:
    """The first and the last; between them there may be constants, and nodes of others."""
    return "–".join(dict.fromkeys(str(node) for node in (*nodes[:1], *nodes[-1:])))


def sentence(dispatch: DispatchFacts, tensor: TensorFacts) -> str:
    """What differs first, and where."""
    nodes = f"nodes {_nodes(dispatch)}" if dispatch.nodes else "no node"
    off = tensor.read_relative
    read = (
        f"; what it reads is off by {off:.2g} of its range"
        if off > 0
        else "; what it reads is right to the last bit"
        if not off
        else ""
    )
    return (
        f"{dispatch.name} (kernel {dispatch.entry}, {nodes}) makes '{short(tensor.name, _NAME_LETTERS)}', which {tensor.problem}; largest error "
        f"{tensor.max_error:.3g} at {tensor.worst_at}: {tensor.worst_value:.6g}, expected {tensor.worst_expected:.6g}{read}"
    )


def times(result: Replayed, console: Console, top: int = 20) -> None:
    """The slowest dispatches: median of the runs, and share of the sum."""
    medians = [(statistics.median(dispatch.us), dispatch) for dispatch in result.dispatches if dispatch.us]
    total = sum(us for us, _ in medians) or 1.0
    figures = [number("median µs"), number("least"), number("share")]
    table = Table([text("dispatch"), text("kernel"), text("nodes", 1, least=8), *figures])
    ordered = sorted(medians, key=lambda row: -row[0])
    for us, dispatch in ordered[: top or None]:
        table.add_row(
            escape(dispatch.name), escape(dispatch.kernel), _nodes(dispatch), f"{us:.1f}", f"{min(dispatch.us):.1f}", f"{us / total:.1%}"
        )  # fmt: skip
    rest = [us for us, _ in ordered[top:]] if top else []
    if rest:
        table.add_row(f"{len(rest)} more", "", "", f"{sum(rest):.1f}", "", f"{sum(rest) / total:.1%}")
    table.show(console)
    runs = len(medians[0][1].us) if medians else 0
    console.print(f"sum of the medians {total / 1000:.3f} ms, {counted(runs, 'run')}")


def findings(result: Replayed, console: Console) -> None:
    """What Oclgrind reported, by dispatch."""
    found = [dispatch for dispatch in result.dispatches if dispatch.findings]
    for dispatch in found:
        console.print(f"[red]{escape(dispatch.name)}[/] (kernel {escape(dispatch.entry)})")
        console.print(dispatch.findings, markup=False)
    if not found:
        console.print(f"Oclgrind found nothing in {counted(len(result.dispatches), 'dispatch')}")


def outputs(rows: Sequence[tuple[str, str, OutputError | None]], console: Console) -> None:
    """(name, what it was compared with, error) of each output."""
    figures = [number("shape", 1), number("largest error"), number("relative")]
    table = Table([identifier("output"), *figures, text("against"), word("")])
    for name, against, error in rows:
        if error is None:
            table.add_row(escape(name), "", "", "", "", "[dim]not compared[/]")
            continue
        verdict = (
            "[red]DIFFERS[/]" if error.problem else "equal bit by bit" if not error.different else "[green]right[/]"
        )
        table.add_row(
            escape(name), "×".join(map(str, error.shape)), f"{error.max_error:.2e}", f"{error.relative:.1e}", against, verdict
        )  # fmt: skip
    table.show(console)


def _nodes(dispatch: DispatchFacts) -> str:
    return ranges_text(dispatch.nodes)
