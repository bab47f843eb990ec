"""Judges a finished run again, with other tolerances and metrics."""

from collections.abc import Sequence
from typing import Any

from host_tools.base.errors import Misuse
from host_tools.judge import judged, own_metrics
from host_tools.judge.judged import Judged
from host_tools.judge.own_metrics import Metric
from host_tools.record import schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import tolerances_of


def again(folder: RunFolder, tolerances: Sequence[str] = (), wanted: Sequence[str | Metric] = ()) -> Judged:
    """tolerances: NAME=ABS,REL; none: those of the run. wanted: metrics; none: what metrics.json has stays."""
    names = [tensor.name for tensor in folder.tensors("outputs")]
    limits = tolerances_of(tolerances)
    for name in limits:
        if name and name not in names:
            raise Misuse(f"give the output '{name}' a tolerance", "the model has no such output", ", ".join(names))
    measured = own_metrics.checked([own_metrics.parse(one) if isinstance(one, str) else one for one in wanted], names)
    found = judged.judge(folder, limits or None)
    if not found.comparison:
        reference = folder.optional(schema.Reference) or schema.Reference()
        came_back = f"there is no CPU result to compare with: {reference.error}"
        raise Misuse(
            f"compare the run {folder.path.name}", came_back, "choose a model that the CPU interpreter can run"
        )
    if measured:
        own_metrics.measure(folder, measured)
    return found


def to_json(found: Judged) -> dict[str, Any]:
    """compare.json with the folder, and what there is of many inputs and metrics."""
    value = {"folder": found.folder.path, **(found.comparison.to_json() if found.comparison else {})}
    more = {"over_inputs": found.over, "metrics": found.metrics}
    return {**value, "ok": found.ok, **{name: schema.plain(one) for name, one in more.items() if one}}
