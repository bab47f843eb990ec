"""`inv overflow`: which of a model's numbers half precision has no room for. Nothing is run on a GPU."""

import shlex
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, identifier, number, text, word
from host_tools.judge.tensor_errors import HALF_MAX
from host_tools.places import on_host
from host_tools.places.attempt import Attempt
from host_tools.places.place import Show, quiet
from host_tools.record import run_folder, schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import models
from host_tools.tasks import float32_nodes

_NEAR = 8  # so many times below the end of half, other inputs may reach it


def ask(spec: RunSpec, show: Show = quiet) -> schema.Ranges:
    """The ranges of the model's tensors on the inputs of `spec`."""
    with tempfile.TemporaryDirectory(prefix="quadra-overflow-") as work:
        folder = Path(work)
        run_folder.write_json(folder / "spec.json", spec.to_json())
        argv, env = on_host.python_command("host_tools.places.cpu_ranges", folder)
        Attempt(folder, spec, show).start("cpu_ranges", argv, env)
        return RunFolder(folder).read(schema.Ranges)


def beyond(row: schema.Range) -> bool:
    """Whether half has no number for the largest one."""
    return float(row.largest) > HALF_MAX or row.inf > 0 or row.nan > 0


def at_risk(found: schema.Ranges) -> list[int]:
    """Nodes that make or read a tensor that half cannot hold, in the model's order: what needs float32."""
    return sorted({node for row in found.tensors if beyond(row) for node in (row.node, *row.readers) if node >= 0})


def first_not_finite(found: schema.Ranges) -> schema.Range | None:
    """With floats already; None: all is finite."""
    return next((row for row in found.tensors if row.nan or row.inf), None)


def to_json(spec: RunSpec, found: schema.Ranges, searched: float32_nodes.Found | None = None) -> dict[str, Any]:
    """For --json."""
    told = asdict(searched) if searched else {}
    search = {key: schema.number(value) if isinstance(value, float) else value for key, value in told.items()}
    return {
        **({"search": search} if search else {}),
        "schema_version": 1,
        "model": spec.model.name,
        "at_risk": at_risk(found),
        "tensors": schema.plain(found.tensors),
    }


def show(spec: RunSpec, found: schema.Ranges, console: Console, top: int) -> None:
    """The largest numbers, what overflows and the ops concerned."""
    rows = sorted(found.tensors, key=lambda row: (not (row.nan or row.inf), -float(row.largest)))
    console.print(f"[bold]{escape(spec.model.name)}[/]: the largest magnitudes; half ends at {HALF_MAX:g}\n")
    table = Table([identifier("tensor"), text("made by"), number("largest"), word("")])
    for row in rows[: top or None]:
        table.add_row(escape(row.name), escape(maker(found, row)), f"{float(row.largest):.6g}", _verdict(row))
    table.show(console)
    strange = first_not_finite(found)
    if strange:
        words = f"{strange.nan} NaN and {strange.inf} infinite numbers in '{strange.name}' ({maker(found, strange)})"
        console.print(f"\n[red]not finite with floats already[/]: first {escape(words)}: the model or its inputs")
    risk = at_risk(found)
    if not risk:
        console.print("\n[green]nothing overflows half[/] with these inputs")
        return
    named = ", ".join(f"{node} {found.ops[node] if node < len(found.ops) else ''}" for node in risk)
    console.print(f"\n[red]{len(risk)} ops make or read what half cannot hold[/]: {escape(named)}")
    console.print(
        f"leave these nodes in float32 (float32_nodes={float32_nodes.words(risk)}; --error 0.01 tries it), or scale the tensors down"
    )


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
            f"[green]{len(found.nodes)} nodes in float32 bring it to {found.error:.2g}[/] ({found.runs} runs; {few}):"
        )
        console.print(f"  float32_nodes={option}", highlight=False, soft_wrap=True)
        words = ["./inv", "run", name if name in models.catalogue() else spec.model.path, "--precision", precision]
        console.print(f"  {shlex.join([*words, '--float32-nodes', option])}", highlight=False, soft_wrap=True)


def maker(found: schema.Ranges, row: schema.Range) -> str:
    """Who made a tensor, in words."""
    if row.node < 0:
        return "constant" if row.constant else "input"
    return f"{row.node} {found.ops[row.node] if row.node < len(found.ops) else ''}"


def _verdict(row: schema.Range) -> str:
    if row.nan or row.inf:
        return "[red]not finite[/]"
    if beyond(row):
        return "[red]overflows half[/]"
    return "[yellow]near[/]" if float(row.largest) * _NEAR > HALF_MAX else ""
