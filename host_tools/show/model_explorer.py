"""Overlays for Model Explorer: what a run says of each node, as node data that it lays over the model's graph.

One file per figure, each for the main graph; nodes are known by their numbers, as Model Explorer knows those of a
.tflite file. A figure that the run has not gets no file.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from host_tools.base.errors import not_written
from host_tools.record import profile, run_folder, schema
from host_tools.record.run_folder import RunFolder

_COLOURS = {"gpu": "#b7e1cd", "cpu": "#fce8b2"}
_WRONG, _OFF = "#f4a7a0", "#fce8b2"
_GRADIENT = [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#f4a7a0"}]
NOT_FINITE = 1e308  # stands for an error that is infinite or no number, which JSON has not


def write(folder: RunFolder, to: Path) -> list[Path]:
    """Writes verdict.json, and error.json and time_us.json as far as the run has them, into the folder `to`."""
    found = {"verdict": _verdicts(folder), "error": _errors(folder), "time_us": _times(folder)}
    written = []
    try:
        to.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_written(f"make the folder {to}", error) from error
    for name, value in found.items():
        if value:
            written.append(to / f"{name}.json")
            run_folder.write_json(written[-1], value)
    return written


def _verdicts(folder: RunFolder) -> dict[str, Any]:
    nodes = [node for node in folder.read(schema.Verdicts).nodes if node.subgraph == folder.subgraph()]
    results = {str(node.index): {"value": _word(node), "bgColor": _COLOURS[node.on]} for node in nodes}
    return {"results": results} if results else {}


def _word(node: schema.Node) -> str:
    return f"GPU, partition {node.partition}" if node.on == "gpu" else f"CPU: {node.reason}"


def _errors(folder: RunFolder) -> dict[str, Any]:
    """The error of each compared op, of its tensor's range: of ops that are one kernel, at the last."""
    found = folder.optional(schema.Bisect)
    results: dict[str, dict[str, Any]] = {}
    for row in found.rows if found else []:
        if row.compared and row.nodes:
            value = float(row.relative)
            results[str(max(row.nodes))] = {
                "value": value if math.isfinite(value) else NOT_FINITE,
                **({"bgColor": _WRONG if row.alone_problem else _OFF} if row.problem else {}),
            }
    return {"results": results} if results else {}


def _times(folder: RunFolder) -> dict[str, Any]:
    """Microseconds. Ops that are one kernel share its time equally: nobody can tell more."""
    if not folder.has(schema.Profile.FILE):
        return {}
    main = {p.id for p in folder.read(schema.Verdicts).partitions if p.subgraph == folder.subgraph()}
    times: dict[int, float] = {}
    for dispatch in profile.read(folder).dispatches:
        for node in dispatch.nodes if dispatch.partition in main else ():
            times[node] = times.get(node, 0.0) + dispatch.time_us / len(dispatch.nodes)
    results: Mapping[str, Any] = {str(node): {"value": round(time, 3)} for node, time in sorted(times.items())}
    return {"results": results, "gradient": _GRADIENT} if results else {}
