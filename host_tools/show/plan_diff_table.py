"""Two plans' differences as tables."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, identifier, text
from host_tools.judge.plan_diff import KernelDiff, Line, PlanDiff

_MOST_LINES = 4000


def show(found: PlanDiff, console: Console, top: int = 20, texts: bool = False) -> None:
    """top: at most so many rows of each kind (0: all). texts: also the lines that differ in kernels."""
    if found.equal:
        console.print(f"equal: {found.same_kernels} kernels, dispatches, tensors, memory and metadata")
        return
    lines("properties", found.words, console, 0)
    lines("memory", found.memory, console, 0)
    _kernels(found, console, texts)
    lines("dispatches", found.dispatches, console, top)
    lines("tensors", found.tensors, console, top)


def lines(title: str, rows: Sequence[Line], console: Console, top: int) -> None:
    """A row per difference, at most `top` (0: all)."""
    if not rows:
        return
    table = Table([identifier(title), text("A"), text("B")])  # tensors have names of hundreds of letters
    for line in rows[: top or None]:
        table.add_row(escape(line.what), escape(line.a or "–"), escape(line.b or "–"))
    table.show(console)
    if top and len(rows) > top:
        console.print(f"[dim]… {len(rows) - top} more: --top 0 shows all[/]")
    console.print()


def _kernels(found: PlanDiff, console: Console, texts: bool) -> None:
    if not found.kernels:
        return
    names = (f"kernels ({found.same_kernels} are the same)", "A", "B", "lines")
    table = Table([text(name) for name in names])
    for kernel in found.kernels:
        table.add_row(escape(kernel.name), escape(kernel.a or "–"), escape(kernel.b or "–"), _counts(kernel))
    table.show(console)
    console.print()
    for kernel in found.kernels if texts else ():
        for line in kernel.lines[:_MOST_LINES]:
            style = {"+": "green", "-": "red"}.get(line[:1], "dim")
            console.print(f"[{style}]{escape(line)}[/]")


def _counts(kernel: KernelDiff) -> str:
    if not (kernel.a and kernel.b):
        return "only in " + ("A" if kernel.a else "B")
    return f"+{kernel.added} −{kernel.removed}" if kernel.added + kernel.removed else kernel.lines[0]
