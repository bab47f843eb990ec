"""The report of a run: one HTML file that needs nothing else, to look at and to send on. Works on run folders only."""

from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

import jinja2
import numpy as np
from PIL import Image

from host_tools import charts, compare, device_account, inputs, peers, pictures, profile, run_folder, times, verdicts, views
from host_tools.errors import QuadraError
from host_tools.run_folder import RunFolder

FILE = "report.html"
TEMPLATES = Path(__file__).with_name("templates")
_LOG_LINES = 40
_STEPS = (
    ("load_delegate_us", "load"),
    ("interpreter_us", "build"),
    ("allocate_us", "prepare"),
    ("first_invoke_us", "first run"),
)
_STARTS = (
    ("quadra_cold", "Quadra, cold"),
    ("quadra_warm", "Quadra, warm"),
    *((key, label) for key, label in times.NAMES.items() if key != "quadra"),
)


def write(folder: RunFolder) -> Path:
    """Writes report.html into the run folder and returns its path. A run that failed gets a report too."""
    path = folder.path / FILE
    run_folder.write_text(path, render(folder))
    return path


def render(folder: RunFolder) -> str:
    """The report's HTML."""
    return environment().get_template("run.html").render(**content(folder))


@lru_cache(maxsize=None)  # it keeps the templates that it read
def environment() -> jinja2.Environment:
    """Everything in a run folder may be hostile: all that is not marked as markup is escaped."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(ms=times.ms, ratio=times.ratio_text, size=size_text, number=number_text)
    return found


def content(folder: RunFolder) -> Dict[str, Any]:
    """What the template shows. Parts that the run did not leave are None."""
    spec = folder.spec()
    status = folder.optional_json("status.json", {"state": run_folder.COMPLETE, "stage": ""})
    report = folder.optional_json("verdicts.json")
    timings = folder.optional_json("timings.json")
    found = verdicts.read(report) if report else None
    return {
        "spec": spec,
        "inputs": inputs.describe(spec.inputs),
        "status": status,
        "failed": status["state"] != run_folder.COMPLETE,
        "log": _log(folder) if status["state"] != run_folder.COMPLETE else "",
        "report": report,
        "verdicts": found,
        "backend": found and found.backend_sentence(spec.options.get("backend", "auto")),
        "backend_words": found and verdicts.words(found),
        "comparison": _comparison(folder),
        "reference": folder.optional_json("reference.json", {}),
        "scene": _scene(folder),
        "times": _times(timings) if timings else None,
        "peers": _peers(folder, timings) if timings else [],
        "profile": _profile(folder),
        "plan": _plan(report) if report and report["partitions"] else None,
        "environment": folder.optional_json("environment.json"),
        "device": device_account.of(folder),
        "throttled": device_account.THROTTLED,
        "files": sorted(
            p.name + ("/" if p.is_dir() else "") for p in folder.path.iterdir() if p.name[0] != "." and p.name != FILE
        ),
    }


def _comparison(folder: RunFolder) -> Optional[Dict[str, Any]]:
    if not (folder.has("outputs") and folder.has("cpu_outputs")):
        return None
    result = compare.compare(folder)
    peers = result.xnnpack_relative or (float("nan"),) * len(result.outputs)
    rows = [(o.name, o.relative, peer, o.allowed) for o, peer in zip(result.outputs, peers)]
    worst = max(result.outputs, key=lambda o: (not o.ok, o.relative), default=None)
    tolerance = compare.TOLERANCE[result.precision]
    return {
        "result": result,
        "tolerance": tolerance,
        "unsure": compare.UNSURE,
        "peers": peers,
        "chart": charts.errors(rows),
        "worst": worst,
    }


def _scene(folder: RunFolder) -> Optional[pictures.Scene]:
    """Pictures of the input and of what was found in it; None where outputs are missing or cannot be drawn."""
    if not folder.has("outputs"):
        return None
    try:
        spec, tensors = folder.spec(), folder.json("tensors.json")
        ours = folder.arrays("outputs")
        theirs = folder.arrays("cpu_outputs") if folder.has("cpu_outputs") else []
        shape = next((t["shape"] for t in tensors["inputs"] if len(t["shape"]) == 4), None)
        if shape is None:
            return None
        if folder.has("picture.png"):
            with Image.open(folder.path / "picture.png") as stored:
                base = stored.convert("RGB")
        else:
            base = _input_as_picture(folder.arrays("inputs"), shape)
        view = views.of_model(spec.model.name)
        return pictures.scene(view, base, shape, ours, theirs, tensors["outputs"][0].get("scale", 0.0))
    except (QuadraError, OSError, KeyError, ValueError, IndexError):
        return None  # a picture is the least of a report


def _input_as_picture(arrays: List[np.ndarray], shape: List[int]) -> Image.Image:
    """Random inputs as the picture they are."""
    array = next(a for a in arrays if list(a.shape) == list(shape))[0].astype(np.float64)
    low, high = float(array.min()), float(array.max())
    plane = ((array - low) / ((high - low) or 1.0) * 255).astype(np.uint8)
    plane = plane[:, :, :3] if plane.shape[2] >= 3 else np.repeat(plane[:, :, :1], 3, axis=2)
    return Image.fromarray(plane)


def _times(timings: Mapping[str, Any]) -> Dict[str, Any]:
    starts = []
    for key, label in _STARTS:
        laps = timings["init_us"].get(key)
        if laps:
            label = "Quadra" if key == "quadra_warm" and timings.get("driver_compiled") != 0 else label
            steps = [(name, laps[lap]) for lap, name in _STEPS if laps.get(lap)]
            starts.append({"label": label, "total": laps["total_us"], "steps": steps, "kind": key.split("_")[0]})
    longest = max((s["total"] for s in starts), default=1)
    return {
        "threads": timings["threads"],
        "steady": times.steady(timings),
        "ratio": times.ratio(timings),
        "strip": charts.strip(timings["samples_us"], times.NAMES),
        "starts": starts,
        "longest": longest,
        "steps": [name for _, name in _STEPS],
        "memory": timings.get("memory"),
        "cold_memory": timings.get("cold_memory"),
        "cold": timings["init_us"].get("quadra_cold"),
        "warm": timings["init_us"].get("quadra_warm"),
        "compiled": timings.get("driver_compiled"),  # None: nobody knows
        "xnnpack_error": timings.get("xnnpack_error", ""),
    }


def _peers(folder: RunFolder, timings: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """A row per peer: how far Quadra's time is from its, and what it took."""
    rows = []
    for peer in peers.read(folder):
        found = {"label": peers.label(peer.name), "sentence": peers.sentence(peer), "error": peer.error}
        rows.append({**found, "ok": peer.ok, "ratio": times.ratio(timings, peers.key(peer.name))})
    return rows


def _profile(folder: RunFolder) -> Optional[Dict[str, Any]]:
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


def _plan(report: Mapping[str, Any]) -> Dict[str, Any]:
    partitions = report["partitions"]

    def total(key: str) -> int:
        return sum(p.get(key, 0) for p in partitions)

    return {
        "partitions": partitions,
        "dispatches": sum(len(p["dispatches"]) for p in partitions),
        "programs": total("programs"),
        "activation_bytes": total("activation_bytes"),
        "lower_bound": total("activation_bytes_lower_bound"),
        "constant_bytes": total("constant_bytes"),
        "steps": ("import", "passes", "plan", "compile", "upload"),
    }


def _log(folder: RunFolder) -> str:
    file = folder.path / "log.txt"
    if not file.exists():
        return ""
    return "\n".join(file.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:])


def size_text(count: Optional[float]) -> str:
    """1.5 MiB"""
    value = float(count or 0)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def number_text(value: float) -> str:
    """Short and never empty: 0, 3.2e-07, 12.5"""
    if value == 0:
        return "0"
    return f"{value:.1e}" if abs(value) < 1e-3 or abs(value) >= 1e6 else f"{value:.4g}"
