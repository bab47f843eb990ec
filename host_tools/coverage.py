"""Which nodes of a model the delegate would take, and why not the others. Nothing is run on a GPU."""

import tempfile
from pathlib import Path
from typing import Any, Dict, Tuple

from rich.console import Console
from rich.markup import escape

from host_tools import run, verdicts
from host_tools.place import host
from host_tools.spec import RunSpec


def make_spec(model: str, target: str = "", precision: str = "f32") -> RunSpec:
    return run.make_spec(model, backend="null", precision=precision, target=target, deadline_s=120.0)


def ask(spec: RunSpec, library: Path) -> Tuple[Dict[str, Any], verdicts.Verdicts]:
    """The delegate's report by the null backend, and what it says."""
    with tempfile.TemporaryDirectory(prefix="quadra-coverage-") as folder:
        report = host.verdicts(spec, library, Path(folder))
    return report, verdicts.read(report)


def to_json(model: str, report: Dict[str, Any], found: verdicts.Verdicts) -> Dict[str, Any]:
    """For --json: stable fields only."""
    rows = [{"op": r.op, "count": r.count, "on": r.on, "reason": r.reason, "nodes": list(r.nodes)} for r in found.rows]
    return {
        "schema_version": 1,
        "model": model,
        "target": found.target,
        "precision": found.precision,
        "gpu": found.gpu,
        "cpu": found.cpu,
        "partitions": [{"id": p["id"], "nodes": p["nodes"]} for p in report["partitions"]],
        "ops": rows,
    }


def show(model: str, found: verdicts.Verdicts, console: Console) -> None:
    console.print(f"[bold]{escape(model)}[/] on the target {escape(found.target)}: {escape(found.sentence())}\n")
    verdicts.show(found, console)
