"""Prints what `inv overflow` found."""

import shlex
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.markup import escape

from host_tools.base.short_names import short
from host_tools.base.text_table import Table, identifier, number, text, word
from host_tools.base.units import counted, ranges_text
from host_tools.debug import float32_search
from host_tools.debug.half_ranges import at_risk, beyond, first_not_finite, maker, outside, to_name, too_small
from host_tools.judge.tensor_errors import HALF_MAX
from host_tools.record import schema
from host_tools.record.spec import RunSpec
from host_tools.request import models

_NEAR = 8  # so many times below the end of half, other inputs may reach it


def show(spec: RunSpec, found: schema.Ranges, console: Console, top: int) -> None:
    """The largest numbers, what overflows and the ops concerned."""
    rows = sorted(found.tensors, key=lambda row: (not outside(row), not (row.nan or row.inf), -float(row.largest)))
    console.print(f"[bold]{escape(spec.label)}[/]: the largest magnitudes; float16's maximum is {HALF_MAX:g}\n")
    table = Table([identifier("tensor"), text("made by"), number("largest"), word(""), word("Quadra")])
    for row in rows[: top or None]:
        cells = [escape(row.name), escape(maker(found, row)), f"{float(row.largest):.6g}", _verdict(row), _kept(row)]
        table.add_row(*cells)
    table.show(console)
    strange = first_not_finite(found)
    if strange:
        words = (
            f"{strange.nan} NaN and {strange.inf} infinite numbers in '{short(strange.name)}' ({maker(found, strange)})"
        )
        console.print(f"\n[red]not finite with floats already[/]: first {escape(words)}: the model or its inputs")
    _show_risk(spec, found, console)
    if found.closed:
        console.print(
            f"\n[yellow]not looked at[/]: what these ops run, other graphs: {escape(_named(found, found.closed))}"
        )


def _show_risk(spec: RunSpec, found: schema.Ranges, console: Console) -> None:
    risk, rest = at_risk(found), to_name(found)
    if not risk:
        console.print("\n[green]nothing overflows half[/] with these inputs")
        return
    ops = f"{counted(len(risk), 'op')} {'makes or reads' if len(risk) == 1 else 'make or read'}"
    console.print(f"\n[red]{ops} what half cannot hold[/]: {escape(_named(found, risk))}")
    if not rest:
        precision = spec.options.get("precision", "f16")
        console.print(f"[green]Quadra keeps these tensors in float32 by itself[/] with precision={precision}")
        return
    others = " The others stay in float32 by themselves." if len(rest) < len(risk) else ""
    console.print(
        f"leave these nodes in float32 (float32_nodes={ranges_text(rest)}; --error 0.01 tries it), or scale the tensors down.{others}"
    )


def _named(found: schema.Ranges, nodes: Sequence[int]) -> str:
    return ", ".join(f"{node} {found.ops[node] if node < len(found.ops) else ''}" for node in nodes)


def show_search(spec: RunSpec, found: float32_search.Found, wanted: float, console: Console) -> None:
    """The nodes to leave in float32, and what they bring."""
    precision, name = spec.options["precision"], spec.model.name
    console.print(f"\nlargest error with {precision}: {found.half_error:.2g} of an output's range; wanted {wanted:g}")
    if found.nodes is None:
        console.print(f"[red]not even with all nodes in float32[/]: {found.error:.2g}")
    elif not found.nodes:
        console.print(f"[green]{precision} is enough as it is[/]")
    else:
        option = ranges_text(found.nodes)
        few = "each of them is needed" if found.smallest else "the limit of runs or time was reached: fewer may suffice"
        console.print(
            f"[green]{counted(len(found.nodes), 'node')} in float32 bring{'s' if len(found.nodes) == 1 else ''} it to {found.error:.2g}[/] ({counted(found.runs, 'run')}; {few}):"
        )
        console.print(f"  float32_nodes={option}", highlight=False, soft_wrap=True)
        words = ["./inv", "run", name if name in models.catalogue() else spec.model.path, "--precision", precision]
        console.print(f"  {shlex.join([*words, '--float32-nodes', option])}", highlight=False, soft_wrap=True)


def _kept(row: schema.Range) -> str:
    if row.kept is None:
        return ""
    if row.kept:
        return "[green]keeps float32[/]"
    return f"[yellow]stores {HALF_MAX:g}[/]" if row.constant and beyond(row) else "[red]stores half[/]"


def _verdict(row: schema.Range) -> str:
    if beyond(row):
        return "[red]overflows half[/]"
    if row.nan or row.inf:
        return "[red]not finite[/]"
    if too_small(row):
        return "[red]few digits in half[/]" if np.float16(row.largest) else "[red]0 in half[/]"
    return "[yellow]near[/]" if float(row.largest) * _NEAR > HALF_MAX else ""
