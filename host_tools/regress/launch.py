"""What one process of one cell left: every raw sample, the facts that must be the same each time, and the conditions
under which it ran. Made from a run folder alone."""

import hashlib
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

from host_tools import compare, peers, verdicts
from host_tools.place import drivers
from host_tools.run_folder import RunFolder

COMPLETE, FAILED, INTERRUPTED = "complete", "failed", "interrupted"
_BULKY = ("inputs", "outputs", "cpu_outputs", "cpu_model.tflite", "picture.png", "driver_cache")
# What decides how fast a driver on this machine's CPU is, beside the CPU: conditions, where they are known.
_RUNTIMES = ("ai-edge-litert", "tensorflow-lite", "litert")


@dataclass
class Launch:
    """One process. samples: series by name, in order; facts: what is compared exactly."""

    number: int
    at: float  # seconds since 1970
    state: str = COMPLETE
    error: str = ""
    exit_code: int = 0
    folder: str = ""
    samples: Dict[str, List[float]] = field(default_factory=dict)
    facts: Dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.state == COMPLETE


def of_folder(number: int, at: float, folder: RunFolder) -> Tuple[Launch, Dict[str, Any]]:
    """The launch and its conditions, judged against the CPU where the run has a reference."""
    judged = compare.compare(folder) if folder.has("cpu_outputs") else None
    beside = peers.judge(folder, judged)
    report, timings = folder.json("verdicts.json"), folder.json("timings.json")
    facts = {
        **_verdicts(report),
        "plan": _plan(folder, report),
        "outputs": _outputs(folder, judged),
        "peers": [{"name": p.name, "ok": p.ok, "error": p.error, "sentence": peers.sentence(p)} for p in beside],
    }
    found = Launch(number, at, folder=folder.path.name, samples=_samples(timings), facts=facts)
    return found, conditions(folder, report, timings)


def _samples(timings: Mapping[str, Any]) -> Dict[str, List[float]]:
    """Every number of timings.json, by names such as quadra.wall_us, xnnpack.cpu_us, start.quadra_warm.allocate_us."""
    found: Dict[str, List[float]] = {}
    for key, word in (("samples_us", "wall_us"), ("cpu_us", "cpu_us")):
        for who, values in timings.get(key, {}).items():
            found[f"{who}.{word}"] = [float(v) for v in values]
    for who, laps in timings.get("init_us", {}).items():
        for lap, value in laps.items():
            found[f"start.{who}.{lap}"] = [float(value)]
    for key, value in timings.get("memory", {}).items():
        found[f"memory.{key}"] = [float(value)]
    if "driver_compiled" in timings:
        found["driver_compiled"] = [float(timings["driver_compiled"])]
    return found


def _verdicts(report: Mapping[str, Any]) -> Dict[str, Any]:
    on_cpu = [
        {"node": f"{n.get('subgraph', 0)}:{n['index']}", "op": n["op"], "reason": n.get("reason", "")}
        for n in report["nodes"]
        if n["on"] != "gpu"
    ]
    summary = verdicts.read(report)
    return {
        "backend": summary.backend,
        "notes": list(report.get("backend_notes", ())),
        "driver_on_cpu": drivers.on_cpu(report.get("device", {})),
        "nodes": len(report["nodes"]),
        "on_cpu": on_cpu,
        "partitions": summary.partitions,
    }


def _plan(folder: RunFolder, report: Mapping[str, Any]) -> Dict[str, Any]:
    """What was made of the model: the dispatches, the bytes, and digests of the kernels' texts where they were kept."""
    dispatches = [
        f"{p['id']}/{d['name']} {d['kernel']} {_size(d['global'])} by {_size(d['local'])}"
        for p in report["partitions"]
        for d in p["dispatches"]
    ]
    found: Dict[str, Any] = {"dispatches": dispatches}
    for key in ("programs", "activation_bytes", "constant_bytes"):
        found[key] = sum(p.get(key, 0) for p in report["partitions"])
    texts = sorted(p for part in folder.partitions() for p in (part / "kernels").glob("*") if p.is_file())
    found["kernels"] = {f"{p.parts[-3]}/{p.name}": hashlib.sha256(p.read_bytes()).hexdigest()[:16] for p in texts}
    return found


def _size(numbers: List[int]) -> str:
    return "×".join(map(str, numbers))


def _outputs(folder: RunFolder, judged: Optional[compare.Comparison]) -> List[Dict[str, Any]]:
    if judged is None:
        return []
    arrays = folder.arrays("outputs")
    return [
        {
            "name": o.name,
            "ok": o.ok,
            "relative": compare.number(o.relative),
            "allowed": o.allowed,
            "problem": o.problem,
            "sha256": hashlib.sha256(array.tobytes()).hexdigest()[:16],
        }
        for o, array in zip(judged.outputs, arrays)
    ]


def conditions(folder: RunFolder, report: Mapping[str, Any], timings: Mapping[str, Any]) -> Dict[str, Any]:
    """What must be alike for times to be compared, each with a name that a person understands."""
    spec, environment = folder.spec(), folder.optional_json("environment.json", {})
    device, machine = report.get("device", {}), environment.get("device", {})
    packages = environment.get("packages", {})
    return {
        "place": spec.place,
        "route": getattr(spec, "route", "") or environment.get("route", ""),
        "model": spec.model.sha256,
        "inputs": json.dumps([spec.inputs.kind, spec.inputs.seed, spec.inputs.value_range, spec.inputs.picture_sha256]),
        "options": {k: v for k, v in sorted(spec.options.items()) if not k.endswith("_library")},
        "threads": timings.get("threads", spec.threads),
        "repetitions": spec.repetitions,
        "peers": sorted(spec.peers),
        "GPU": " ".join(filter(None, (device.get(k, "") for k in ("name", "vendor", "version", "driver")))),
        "device": " ".join(filter(None, (str(machine.get(k, "")) for k in ("manufacturer", "model", "fingerprint")))),
        "processor": " on ".join(filter(None, (environment.get("cpu"), environment.get("host", {}).get("cpu")))),
        "processors": environment.get("cpus", 0),
        "driver settings": environment.get("driver_settings", {}),
        "runtimes": {k: packages[k] for k in _RUNTIMES if k in packages},
    }


def library_of(folder: RunFolder) -> str:
    """The digest of the delegate that ran."""
    return folder.optional_json("environment.json", {}).get("library", {}).get("sha256", "")


def slim(folder: RunFolder) -> None:
    """Drops the bytes of a run whose figures are kept: hundreds of launches would fill the disk."""
    groups = [p.name for p in folder.path.glob("*_outputs")]
    for name in (*_BULKY, *groups, *(p.name for p in folder.partitions())):
        path = folder.path / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def failed(number: int, at: float, error: Exception, state: str = FAILED) -> Launch:
    """A launch that left no figures, and why."""
    parts = (getattr(error, "tried", ""), getattr(error, "came_back", "") or str(error) or type(error).__name__)
    text = ": ".join(filter(None, (parts[0], parts[1].splitlines()[0] if parts[1] else "")))
    return Launch(number, at, state, text, getattr(error, "exit_code", 70), _kept(error))


def _kept(error: Exception) -> str:
    """The run folder that an error of a place names in its last line."""
    last = getattr(error, "do_next", "").rsplit("kept: ", 1)
    return Path(last[1].strip()).name if len(last) == 2 else ""
