"""`inv overflow`: which of a model's numbers half precision has no room for. Nothing is run on a GPU."""

import functools
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from host_tools.base.progress import progress
from host_tools.debug import float32_search
from host_tools.judge.tensor_errors import HALF_MAX, HALF_MIN
from host_tools.places import cpu_ranges, on_host
from host_tools.places.attempt import Attempt
from host_tools.places.place import Show, quiet
from host_tools.record import plan_view, run_folder, schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import from_arguments, signatures
from host_tools.request.run_options import RunOptions
from host_tools.run import requested


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
    searched: float32_search.Found | None = None

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


def find(options: RunOptions, error: float) -> list[Asked]:
    """Of each signature. error: also looks for the nodes to leave in float32 for this one; 0: does not."""
    asked, library = [], functools.partial(requested.library, options)
    for one in from_arguments.each(replace(options, peer="")):
        spec = from_arguments.spec_of(one)
        found, searched = ask(spec, library), None
        if error:
            with progress(f"overflow {spec.label}") as show:
                (place,) = requested.places(options)
                searched = float32_search.find(spec, place, to_name(found), error, show)
        asked.append(Asked(spec, found, searched))
    return asked


def to_json(asked: Sequence[Asked]) -> dict[str, Any]:
    """For --json."""
    return {"schema_version": 1, "model": asked[0].spec.model.name, "signatures": [one.to_json() for one in asked]}


def maker(found: schema.Ranges, row: schema.Range) -> str:
    """Who made a tensor, in words."""
    if row.node < 0:
        return "constant" if row.constant else "input"
    op = found.ops[row.node] if row.node < len(found.ops) else ""
    return f"{row.node} {op}" if row.op in ("", op) else f"{row.node} {op}: {row.op}"
