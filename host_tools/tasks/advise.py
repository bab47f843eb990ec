"""Prints the advice of `inv advise`."""

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, identifier, number, text
from host_tools.debug.model_advice import Advice
from host_tools.record.spec import RunSpec

_TITLES = {
    "split": "Splits between GPU and CPU",
    "move": "Kernels that only move numbers",
    "lanes": "Channel counts that waste lanes of four",
    "op": "Ops with a cheaper equivalent",
    "half": "Numbers that half precision cannot hold",
}


def to_json(spec: RunSpec, found: list[Advice], note: str) -> dict[str, Any]:
    """For --json."""
    return {"schema_version": 1, "model": spec.model.name, "note": note, "advice": [asdict(one) for one in found]}


def show(spec: RunSpec, found: list[Advice], note: str, console: Console) -> None:
    """A table per kind, with the signatures where there are several."""
    count = "1 piece" if len(found) == 1 else f"{len(found)} pieces"
    console.print(f"[bold]{escape(spec.model.name)}[/]: {count} of advice\n")
    for kind, title in _TITLES.items():
        rows = [one for one in found if one.kind == kind]
        if not rows:
            continue
        table = Table(
            [number("node"), text("op"), identifier("tensor", 1), number("bytes"), text("why"), text("instead")], title
        )
        for one in rows:
            node = f"{one.signature} {one.node}".strip()
            table.add_row(*map(escape, (node, one.op, one.tensor, f"{one.share:.1%}", one.reason, one.rewrite)))
        table.show(console)
        console.print()
    if found:
        console.print("[dim]bytes: the node's part of what all nodes read and write, as float32[/]")
    if note:
        console.print(f"[yellow]{escape(note)}[/]")
    if not found and not note:
        console.print("[green]nothing to say[/]")
