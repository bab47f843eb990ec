"""The report of a run: one HTML file that needs nothing else, to look at and to send on. Works on run folders only."""

import io
import re
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup, escape
from msgspec import structs
from PIL import Image

from host_tools.base import installed, units  # fmt: skip
from host_tools.base.errors import QuadraError
from host_tools.base.units import number_text, size_text
from host_tools.judge import compare, peers  # fmt: skip
from host_tools.judge.compare import Comparison
from host_tools.judge.judged import Judged
from host_tools.judge.peers import Peer
from host_tools.record import (  # fmt: skip
    device_condition,
    headline,
    peer_names,
    profile,
    reading,
    run_folder,
    schema,
    spec as specs,
    sustained,
    times,
    verdicts,
)
from host_tools.record.run_folder import RunFolder
from host_tools.request import as_command, inputs, views  # fmt: skip
from host_tools.show import charts, determinism_table, over_inputs_table, pictures  # fmt: skip

FILE = "report.html"
TRACE, MEMORY_MAP = "trace.pftrace", "memory.html"  # linked where they are in the run folder
TEMPLATES = Path(__file__).with_name("templates")
_LOG_LINES, _LOG_BYTES = 40, 1 << 18
_PICTURE_BYTES = 1 << 26
_WORD = 28  # letters of a name's part that stay in one line
_STEPS = (
    ("load_delegate_us", "load"),
    ("interpreter_us", "build"),
    ("allocate_us", "prepare"),
    ("first_invoke_us", "first run"),
)
_BUILD_STEPS = ("import", "passes", "plan", "compile", "upload", "first_launch", "tune", "check")
_STARTS = (
    ("quadra_cold", "Quadra, cold"),
    ("quadra_warm", "Quadra, warm"),
    *((key, label) for key, label in times.NAMES.items() if key != "quadra"),
)


def write(judged: Judged) -> Path:
    """Writes report.html into the run folder and returns its path. A run that failed gets a report too."""
    path = judged.folder.path / FILE
    run_folder.write_text(path, render(judged))
    return path


def render(judged: Judged) -> str:
    """The report's HTML."""
    return environment().get_template("run.html").render(**content(judged))


@cache  # it keeps the templates that it read
def environment() -> jinja2.Environment:
    """Everything in a run folder may be hostile: all that is not marked as markup is escaped."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        counted=units.counted,
        ms=units.ms,
        ratio=units.ratio_text,
        size=size_text,
        number=number_text,
        breakable=_breakable,
        with_code=_with_code,
    )
    return found


def _with_code(text: str) -> Markup:
    """A sentence, whose commands in `…` are set as code."""
    parts = re.split(r"`([^`\n]+)`", str(text))
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else escape(p) for i, p in enumerate(parts))


def _breakable(name: str) -> Markup:
    """A name, which may go on in a new line after its dashes, dots and slashes, as a text does between words; and within a
    part that is longer than words are, so that one name does not push all else out of a table."""
    parts = re.split(r"(?<=[_/.:;-])(?=\w)", str(name))
    return Markup("<wbr>").join(piece for part in parts for piece in re.findall(rf".{{1,{_WORD}}}", part, re.DOTALL))


def content(judged: Judged) -> dict[str, Any]:
    """What the template shows. Parts that the run did not leave are None."""
    folder = judged.folder
    spec = folder.spec()
    status = folder.optional(schema.Status) or schema.Status(state=run_folder.COMPLETE)
    report = folder.optional(schema.Verdicts)
    timings = folder.optional(schema.Timings)
    found = verdicts.read(report) if report else None
    known = report or schema.Verdicts(nodes=[], partitions=[])
    return {
        "spec": spec,
        "inputs": inputs.describe(spec.inputs, (folder.optional(schema.Tensors) or schema.Tensors()).inputs),
        "many": len(judged.over.names) if judged.over else 0,
        "free_sizes": _free_sizes(folder),
        "command": as_command.run(_with_its_inputs(spec, folder)),
        "show_plan": f"{installed.COMMAND} plan show {shlex.quote(spec.run_id)}" if folder.partitions() else "",
        "runtimes": ["Quadra", *map(peer_names.label, spec.peers)],
        "status": status,
        "failed": status.state != run_folder.COMPLETE,
        "log": _log(folder) if status.state != run_folder.COMPLETE else "",
        "report": report,
        "verdicts": found,
        "backend": found and found.backend_sentence(spec.options.get("backend", "auto")),
        "backend_words": found and verdicts.words(found),
        "comparison": _comparison(judged.comparison),
        "over": _over_inputs(judged.over) if judged.over else None,
        "metrics": _metrics(judged.metrics) if judged.metrics else None,
        "determinism": judged.determinism,
        "sustained": _sustained(folder),
        "difference_cells": determinism_table.cells,
        "reference": folder.optional(schema.Reference) or schema.Reference(),
        "scene": _scene(folder),
        "times": _times(timings, known) if timings else None,
        "peers": _peers(judged.peers, timings, known) if timings else [],
        "profile": _profile(folder),
        "plan": _plan(report) if report and report.partitions else None,
        "environment": folder.optional(schema.Environment),
        "device": device_condition.of(folder),
        "throttled": device_condition.THROTTLED,
        "links": [(text, name) for text, name in _links(folder) if folder.has(name)],
        "files": sorted(
            p.name + ("/" if p.is_dir() else "") for p in folder.path.iterdir() if p.name[0] != "." and p.name != FILE
        ),
    }


def _sustained(folder: RunFolder) -> dict[str, Any] | None:
    found = sustained.of(folder)
    if not found:
        return None
    times_ms = [(at, window.median_us / 1000) for at, window in found.windows]
    rows = [("median of one inference, ms", f"{units.ms(found.first_us)} → {units.ms(found.last_us)}", times_ms, 0.0)]
    for name, values in found.series():
        is_clock = "MHz" in name
        rows.append((name, sustained.spread(values), values, 0.0 if is_clock else min(value for _, value in values)))
    return {"sentence": found.sentence(), "chart": charts.over_time(rows)}


def _with_its_inputs(spec: specs.RunSpec, folder: RunFolder) -> specs.RunSpec:
    """The spec with the run's own copy of its arrays, where those that it was given are gone."""
    if spec.input_set and spec.inputs.arrays and not Path(spec.input_set).is_dir():
        return structs.replace(spec, input_set=str(folder.path))
    if Path(spec.inputs.arrays).is_file():
        return spec
    if not spec.inputs.arrays or Path(spec.inputs.arrays).is_dir():
        return spec
    return structs.replace(spec, inputs=structs.replace(spec.inputs, arrays=str(folder.path / "inputs")))


def _links(folder: RunFolder) -> list[tuple[str, str]]:
    """What there may be to look at besides the report, and its file."""
    partitions = [path.name for path in folder.partitions()]
    plans = [
        (f"plan {index}" if len(partitions) > 1 else "plan", f"{name}/plan.quadra")
        for index, name in enumerate(partitions)
    ]
    return [("memory over time", MEMORY_MAP), ("timeline, for ui.perfetto.dev", TRACE), *plans]


def _free_sizes(folder: RunFolder) -> list[str]:
    model = folder.optional(schema.Model)
    tensors = folder.optional(schema.Tensors)
    return inputs.free_sizes(model.free_sizes, tensors.inputs) if model and tensors else []


def _comparison(result: Comparison | None) -> dict[str, Any] | None:
    if not result:
        return None
    peers = result.xnnpack_relative or (float("nan"),) * len(result.outputs)
    rows = [(o.name, o.relative, peer, o.allowed) for o, peer in zip(result.outputs, peers)]
    worst = max(result.outputs, key=lambda o: (not o.ok, o.relative), default=None)
    tolerance = result.limit or compare.TOLERANCE[result.precision]
    return {
        "result": result,
        "tolerance": tolerance,
        "unsure": compare.UNSURE,
        "peers": peers,
        "chart": charts.errors(rows),
        "worst": worst,
    }


def _over_inputs(found: schema.OverInputs) -> dict[str, Any]:
    """A row per output over all inputs, and where each input's error is."""
    outputs: list[dict[str, Any]] = []
    dots = []
    for row in found.outputs:
        largest, name = over_inputs_table.worst(found, row)
        outputs.append(
            {"row": row, "cells": list(over_inputs_table.cells(row, largest)), "name": name, "largest": largest}
        )
        limit = min((float(one) for one in row.allowed), default=0.0)
        dots.append((row.name, [float(one) for one in row.relative], row.wrong, limit))
    return {
        "names": found.names,
        "outputs": outputs,
        "ok": found.ok,
        "largest": max((one["largest"] for one in outputs), default=0.0),
        "chart": charts.errors_of_inputs(dots, found.names),
    }


def _metrics(found: schema.Metrics) -> list[tuple[schema.MetricRow, list[str]]]:
    return [(row, list(over_inputs_table.metric_cells(found, row))) for row in found.metrics]


def _scene(folder: RunFolder) -> pictures.Scene | None:
    """Pictures of the input and of what was found in it; None where outputs are missing or cannot be drawn, or the input is
    noise, in which there is nothing to find."""
    pictured = folder.has("picture.png")
    if not folder.has("outputs") or not (pictured or folder.spec().inputs.kind == "arrays"):
        return None
    try:
        spec, tensors = folder.spec(), folder.read(schema.Tensors)
        ours = folder.arrays("outputs")
        theirs = folder.arrays("cpu_outputs") if folder.has("cpu_outputs") else []
        shape = next((t.shape for t in tensors.inputs if len(t.shape) == 4), None)
        if shape is None:
            return None
        if pictured:
            stored = reading.content(folder.path / "picture.png", _PICTURE_BYTES)
            base = inputs.open_picture(io.BytesIO(stored)).convert("RGB")
        else:
            base = _as_picture(folder.arrays("inputs"), shape)
        view = views.of_model(spec.model.name, spec.model.sha256)
        return pictures.scene(view, base, shape, ours, theirs, tensors.outputs[0].scale)
    except (QuadraError, OSError, KeyError, ValueError, IndexError, StopIteration):
        return None  # a picture is the least of a report


def _as_picture(arrays: list[np.ndarray], shape: list[int]) -> Image.Image:
    """Arrays that somebody gave as the picture they are."""
    array = next(a for a in arrays if list(a.shape) == list(shape))[0].astype(np.float64)
    low, high = float(array.min()), float(array.max())
    plane = ((array - low) / ((high - low) or 1.0) * 255).astype(np.uint8)
    plane = plane[:, :, :3] if plane.shape[2] >= 3 else np.repeat(plane[:, :, :1], 3, axis=2)
    return Image.fromarray(plane)


def _times(timings: schema.Timings, report: schema.Verdicts) -> dict[str, Any]:
    starts: list[dict[str, Any]] = []
    compiled = times.compiled(timings, report)
    for key, label in _STARTS:
        laps = timings.init_us.get(key)
        if laps:
            label = "Quadra" if key == "quadra_warm" and compiled != 0 else label
            steps = [(name, us) for lap, name in _STEPS if (us := getattr(laps, lap))]
            starts.append({"label": label, "total": max(1, laps.total_us), "steps": steps, "kind": key.split("_")[0]})
    longest = max((s["total"] for s in starts), default=1)
    return {
        "threads": timings.threads,
        "steady": times.steady(timings),
        "clock": times.clock(timings, report),
        "clocks": headline.CLOCKS,
        "ratio": times.ratio(timings, report),
        "strip": charts.strip(timings.samples_us, times.NAMES),
        "starts": starts,
        "longest": longest,
        "steps": [name for _, name in _STEPS],
        "taken": {name for start in starts for name, _ in start["steps"]},
        "memory": timings.memory,
        "cold_memory": timings.cold_memory,
        "cold": timings.init_us.get("quadra_cold"),
        "warm": timings.init_us.get("quadra_warm"),
        "compiled": compiled,  # None: nobody knows
        "xnnpack_error": timings.xnnpack_error,
    }


def _peers(found_peers: Sequence[Peer], timings: schema.Timings, report: schema.Verdicts) -> list[dict[str, Any]]:
    """A row per peer: how far Quadra's time is from its, and what it took."""
    rows = []
    for peer in found_peers:
        label = peer_names.label(peer.name)
        ratio = times.ratio(timings, report, peer_names.key(peer.name))
        words = times.headline_words(ratio, label, timings.threads) if ratio else ""
        rows.append({"label": label, "sentence": peers.sentence(peer), "error": peer.error, "words": words})
    return rows


def _profile(folder: RunFolder) -> dict[str, Any] | None:
    if not folder.has("profile.json"):
        return None
    found = profile.read(folder)
    if not found.dispatches:
        return None
    slowest = sorted(found.dispatches, key=lambda d: -d.time_us)
    return {
        "profile": found,
        "slowest": slowest,
        "kernels": found.by_kernel(),
        "total": found.dispatch_us or 1.0,
        "highest": slowest[0].time_us or 1.0,
    }


def _plan(report: schema.Verdicts) -> dict[str, Any]:
    partitions = report.partitions

    def total(key: str) -> int:
        return sum(getattr(p, key) for p in partitions)

    return {
        "partitions": partitions,
        "dispatches": sum(len(p.dispatches) for p in partitions),
        "programs": total("programs"),
        "activation_bytes": total("activation_bytes"),
        "lower_bound": total("activation_bytes_lower_bound"),
        "constant_bytes": total("constant_bytes"),
        "cache": verdicts.cache_sentences(report),
        "steps": [step for step in _BUILD_STEPS if any(p.timings_us.get(step) for p in partitions)],
    }


def _log(folder: RunFolder) -> str:
    return "\n".join(folder.log(_LOG_BYTES).splitlines()[-_LOG_LINES:])
