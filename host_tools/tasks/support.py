"""Prints what `inv support` found."""

from typing import Any

from rich.console import Console
from rich.markup import escape

from host_tools.record import schema, verdicts
from host_tools.record.spec import RunSpec
from host_tools.run.node_support import api_of
from host_tools.show import verdicts_table


def to_json(spec: RunSpec, report: schema.Verdicts, found: verdicts.Verdicts) -> dict[str, Any]:
    """For --json: stable fields only."""
    rows = [{"op": r.op, "count": r.count, "on": r.on, "reason": r.reason, "nodes": list(r.nodes)} for r in found.rows]
    return {
        "schema_version": 1,
        "model": spec.model.name,
        "api": api_of(spec),
        "target": found.target,
        "precision": found.precision,
        "gpu": found.gpu,
        "cpu": found.cpu,
        "partitions": [{"id": p.id, "nodes": p.nodes} for p in report.partitions],
        "ops": rows,
    }


def show(spec: RunSpec, found: verdicts.Verdicts, console: Console) -> None:
    where = f"{verdicts.APIS.get(api_of(spec), api_of(spec))} on the target {found.target}"
    console.print(f"[bold]{escape(spec.model.name)}[/], {escape(where)}: {escape(found.sentence())}\n")
    verdicts_table.show(found, console)
