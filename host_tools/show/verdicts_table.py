"""Who runs what, for a person."""

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, number, text, word
from host_tools.base.units import counted
from host_tools.record import verdicts

_WEIGHTS = ("DEQUANTIZE", "DENSIFY")  # of constants: they cost nothing at run time
_SHOWN = 8  # kinds of reasons, in a short account
_LONG = 160
_DIGITS = "0123456789.,-"


def show(found: verdicts.Verdicts, console: Console) -> None:
    """A row per op and verdict; what stays on the CPU comes first, with its reason."""
    table = Table([text("op"), number("nodes"), word("on"), text("reason", least=24)])
    for row in found.rows:
        place = "[green]GPU[/]" if row.on == "gpu" else "[yellow]CPU[/]"
        note = escape(_short(row.reason)) or (
            "[dim]of constants: done once, when the model is loaded[/]" if row.op in _WEIGHTS else ""
        )
        table.add_row(escape(row.op), str(row.count), place, note)
    table.show(console)


def show_cpu_reasons(found: verdicts.Verdicts, console: Console) -> None:
    """Only what stays on the CPU, the most frequent first."""
    rows = [row for row in found.rows if row.on == "cpu"]
    for row in rows[:_SHOWN]:
        console.print(f"  [yellow]CPU[/] {row.count} x {escape(row.op)}: {escape(_short(row.reason))}")
    if len(rows) > _SHOWN:
        more, kinds = sum(r.count for r in rows[_SHOWN:]), counted(len(rows) - _SHOWN, "other kind")
        console.print(f"  [dim]and {counted(more, 'node')} of {kinds}: see the report[/]")


def _short(reason: str) -> str:
    """Names of tensors may be long: the middle goes, and with it a number that it would cut."""
    if len(reason) <= _LONG:
        return reason
    return f"{reason[: _LONG // 2].rstrip(_DIGITS)} … {reason[-_LONG // 2 :].lstrip(_DIGITS)}"
