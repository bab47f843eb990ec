"""`inv overflow`: which of a model's numbers half precision has no room for. Nothing is run on a GPU."""

import shlex
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs
from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, identifier, number, text, word
from host_tools.base.units import counted
from host_tools.judge.tensor_errors import HALF_MAX, HALF_MIN
from host_tools.places import cpu_ranges, on_host
from host_tools.places.attempt import Attempt
from host_tools.places.place import Show, quiet
from host_tools.record import plan_view, run_folder, schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import models, signatures
from host_tools.tasks import float32_nodes

_NEAR = 8  # so many times below the end of half, other inputs may reach it


def ask(spec: RunSpec, library: Callable[[], Path] | None = None, show: Show = quiet) -> schema.Ranges:
    """The ranges of the tensors on the inputs of `spec`, of its signature or the main graph. library: gives
    the delegate that is asked what it keeps in float32, where half cannot hold a tensor; None: it is not asked."""
    with tempfile.TemporaryDirectory(prefix="quadra-overflow-") as work:
        folder = Path(work)
        run_folder.write_json(folder / "spec.json", spec.to_json())
        argv, env = on_host.python_command("host_tools.places.cpu_ranges", folder)
        Attempt(folder, spec, show).start("cpu_ranges", argv, env)
        found = RunFolder(folder).read(schema.Ranges)
        risky = [row for row in found.tensors if outside(row)]
        if risky and library:
            half = _half_steps(spec, folder, library(), found, show)
            for row in risky:
                row.kept = half.isdisjoint(row.steps)
    return found


def _half_steps(spec: RunSpec, folder: Path, library: Path, found: schema.Ranges, show: Show) -> set[int]:
    """Ops of the opened model whose results a plan in half precision stores in half."""
    precision = spec.options.get("precision", "f32")
    asked = {"precision": precision if precision != "f32" else "f16", "target": spec.options.get("target", "")}
    options = {**asked, "backend": "null", "dump_dir": str(folder)}
    model = structs.replace(spec.model, path=str(folder / cpu_ranges.OPENED))
    report = on_host.verdicts(structs.replace(spec, model=model, options=options), library, folder, show)
    entered = signatures.entry(Path(spec.model.path).read_bytes(), spec.signature).subgraph
    stored = {node.index: False for node in report.nodes if node.subgraph == entered and node.on == "cpu"}
    for partition in report.partitions:
        plan = folder / f"partition_{partition.id}" / plan_view.FILE
        if partition.subgraph == entered and plan.exists():
            stored.update(plan_view.storage(plan_view.read(plan)))
    half, growing = {step for step, is_half in stored.items() if is_half}, True
    while growing:  # an op without a kernel, as a reshape that was removed, has its neighbours' numbers
        count = len(half)
        for row in found.tensors:
            if not half.isdisjoint(row.steps):
                half.update(step for step in row.steps if step not in stored)
        growing = len(half) > count
    return half


def beyond(row: schema.Range) -> bool:
    """Whether half has no number for the largest finite one. It has infinities and NaN as floats have them."""
    return float(row.largest) > HALF_MAX


def too_small(row: schema.Range) -> bool:
    """Whether half has only a few digits, or 0, for all numbers of a constant: an epsilon."""
    return row.constant and 0 < float(row.largest) < HALF_MIN


def outside(row: schema.Range) -> bool:
    """Whether half cannot hold it."""
    return beyond(row) or too_small(row)


def at_risk(found: schema.Ranges) -> list[int]:
    """Nodes that make or read a tensor that half cannot hold, in the model's order: what needs float32."""
    return _nodes(row for row in found.tensors if outside(row))


def to_name(found: schema.Ranges) -> list[int]:
    """Those of them that the delegate does not keep in float32 by itself."""
    return _nodes(row for row in found.tensors if outside(row) and not row.kept)


def _nodes(rows: Iterable[schema.Range]) -> list[int]:
    return sorted({node for row in rows for node in (row.node, *row.readers) if node >= 0})


def first_not_finite(found: schema.Ranges) -> schema.Range | None:
    """Of those that are computed or given, with floats already; None: all is finite. Constants may be meant so: masks have
    infinities, and what out-of-bounds indices read is NaN."""
    return next((row for row in found.tensors if (row.nan or row.inf) and not row.constant), None)


@dataclass(frozen=True)
class Asked:
    """What was found of one signature, or of the main graph."""

    spec: RunSpec
    ranges: schema.Ranges
    searched: float32_nodes.Found | None = None

    def to_json(self) -> dict[str, Any]:
        """Its part of what --json prints."""
        told = asdict(self.searched) if self.searched else {}
        search = {key: schema.number(value) if isinstance(value, float) else value for key, value in told.items()}
        return {
            "signature": self.spec.signature,
            **({"search": search} if search else {}),
            "at_risk": at_risk(self.ranges),
            "to_name": to_name(self.ranges),
            "not_opened": self.ranges.closed,
            "tensors": schema.plain(self.ranges.tensors),
        }


def to_json(asked: Sequence[Asked]) -> dict[str, Any]:
    """For --json."""
    return {"schema_version": 1, "model": asked[0].spec.model.name, "signatures": [one.to_json() for one in asked]}


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
        words = f"{strange.nan} NaN and {strange.inf} infinite numbers in '{strange.name}' ({maker(found, strange)})"
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
        f"leave these nodes in float32 (float32_nodes={float32_nodes.words(rest)}; --error 0.01 tries it), or scale the tensors down.{others}"
    )


def _named(found: schema.Ranges, nodes: Sequence[int]) -> str:
    return ", ".join(f"{node} {found.ops[node] if node < len(found.ops) else ''}" for node in nodes)


def show_search(spec: RunSpec, found: float32_nodes.Found, wanted: float, console: Console) -> None:
    """The nodes to leave in float32, and what they bring."""
    precision, name = spec.options["precision"], spec.model.name
    console.print(f"\nlargest error with {precision}: {found.half_error:.2g} of an output's range; wanted {wanted:g}")
    if found.nodes is None:
        console.print(f"[red]not even with all nodes in float32[/]: {found.error:.2g}")
    elif not found.nodes:
        console.print(f"[green]{precision} is enough as it is[/]")
    else:
        option = float32_nodes.words(found.nodes)
        few = "each of them is needed" if found.smallest else "the limit of runs was reached: fewer may suffice"
        console.print(
            f"[green]{counted(len(found.nodes), 'node')} in float32 bring{'s' if len(found.nodes) == 1 else ''} it to {found.error:.2g}[/] ({counted(found.runs, 'run')}; {few}):"
        )
        console.print(f"  float32_nodes={option}", highlight=False, soft_wrap=True)
        words = ["./inv", "run", name if name in models.catalogue() else spec.model.path, "--precision", precision]
        console.print(f"  {shlex.join([*words, '--float32-nodes', option])}", highlight=False, soft_wrap=True)


def maker(found: schema.Ranges, row: schema.Range) -> str:
    """Who made a tensor, in words."""
    if row.node < 0:
        return "constant" if row.constant else "input"
    op = found.ops[row.node] if row.node < len(found.ops) else ""
    return f"{row.node} {op}" if row.op in ("", op) else f"{row.node} {op}: {row.op}"


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
