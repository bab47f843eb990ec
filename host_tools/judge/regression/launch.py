"""What one process of one cell left: every raw sample, the facts that must be the same each time, and the conditions
under which it ran. Made from a run folder alone."""

import hashlib
import json
import shutil
from dataclasses import dataclass, field
from typing import Any

from host_tools.judge import peers
from host_tools.judge.compare import Comparison
from host_tools.judge.judged import Judged
from host_tools.record import headline, reading, schema, times, verdicts
from host_tools.record.run_folder import RunFolder

COMPLETE, FAILED, INTERRUPTED = "complete", "failed", "interrupted"
_BULKY = ("inputs", "outputs", "cpu_outputs", "float_outputs", "cpu_model.tflite", "picture.png", "driver_cache")
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
    samples: dict[str, list[float]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.state == COMPLETE


def of_run(number: int, at: float, judged: Judged) -> tuple[Launch, dict[str, Any]]:
    """The launch and its conditions."""
    folder = judged.folder
    report, timings = folder.read(schema.Verdicts), folder.read(schema.Timings)
    facts = {
        **_verdicts(report),
        "plan": _plan(folder, report),
        "outputs": _outputs(folder, judged.comparison),
        "peers": [{"name": p.name, "ok": p.ok, "error": p.error, "sentence": peers.sentence(p)} for p in judged.peers],
    }
    found = Launch(number, at, folder=folder.path.name, samples=_samples(timings, report), facts=facts)
    return found, conditions(folder, report, timings)


def _samples(timings: schema.Timings, report: schema.Verdicts) -> dict[str, list[float]]:
    """Every number of timings.json, by names such as quadra.wall_us, xnnpack.cpu_us, start.quadra_warm.allocate_us."""
    found: dict[str, list[float]] = {}
    for series, word in ((timings.samples_us, "wall_us"), (timings.cpu_us, "cpu_us")):
        for who, values in series.items():
            found[f"{who}.{word}"] = [float(v) for v in values]
    for who, laps in timings.init_us.items():
        for lap, value in laps.known().items():
            found[f"start.{who}.{lap}"] = [float(value)]
    for key in schema.Memory.__struct_fields__ if timings.memory else ():
        if (value := getattr(timings.memory, key)) is not None:
            found[f"memory.{key}"] = [float(value)]
    if (compiled := times.compiled(timings, report)) is not None:
        found["driver_compiled"] = [float(compiled)]
    return found


def _verdicts(report: schema.Verdicts) -> dict[str, Any]:
    on_cpu = [
        {"node": f"{n.subgraph}:{n.index}", "op": n.op, "reason": n.reason} for n in report.nodes if n.on != "gpu"
    ]
    summary = verdicts.read(report)
    return {
        "backend": summary.backend,
        "notes": list(report.backend_notes),
        "driver_on_cpu": headline.computes_on_cpu(report),
        "nodes": len(report.nodes),
        "on_cpu": on_cpu,
        "partitions": summary.partitions,
    }


def _plan(folder: RunFolder, report: schema.Verdicts) -> dict[str, Any]:
    """What was made of the model: the dispatches, the bytes, and digests of the kernels' texts where they were kept."""
    dispatches = [
        f"{p.id}/{d.name} {d.kernel} {_size(d.global_size)} by {_size(d.local_size)}"
        for p in report.partitions
        for d in p.dispatches
    ]
    found: dict[str, Any] = {"dispatches": dispatches}
    for key in ("programs", "activation_bytes", "constant_bytes"):
        found[key] = sum(getattr(p, key) for p in report.partitions)
    texts = sorted(p for part in folder.partitions() for p in (part / "kernels").glob("*") if p.is_file())
    found["kernels"] = {
        f"{p.parts[-3]}/{p.name}": hashlib.sha256(reading.content(p, reading.TEXT_BYTES)).hexdigest()[:16]
        for p in texts
    }
    return found


def _size(numbers: list[int]) -> str:
    return "×".join(map(str, numbers))


def _outputs(folder: RunFolder, comparison: Comparison | None) -> list[dict[str, Any]]:
    if comparison is None:
        return []
    arrays = folder.arrays("outputs")
    return [
        {
            "name": o.name,
            "ok": o.ok,
            "relative": schema.number(o.relative),
            "allowed": o.allowed,
            "problem": o.problem,
            "sha256": hashlib.sha256(array.tobytes()).hexdigest()[:16],
        }
        for o, array in zip(comparison.outputs, arrays)
    ]


def conditions(folder: RunFolder, report: schema.Verdicts, timings: schema.Timings) -> dict[str, Any]:
    """What must be alike for times to be compared, each with a name that a person understands."""
    spec, environment = folder.spec(), folder.optional(schema.Environment) or schema.Environment()
    device, machine, packages = report.device, environment.device, environment.packages
    return {
        "place": spec.place,
        "route": spec.route or environment.route,
        "model": spec.model.sha256,
        "inputs": json.dumps([spec.inputs.kind, spec.inputs.seed, spec.inputs.value_range, spec.inputs.picture_sha256]),
        "options": {k: v for k, v in sorted(spec.options.items()) if not k.endswith("_library")},
        "threads": timings.threads,
        "repetitions": spec.repetitions,
        "peers": sorted(spec.peers),
        "GPU": " ".join(filter(None, (device.name, device.vendor, device.version, device.driver))),
        "device": " ".join(filter(None, (machine.manufacturer, machine.model, machine.fingerprint))),
        "processor": " on ".join(filter(None, (environment.cpu, environment.host.cpu))),
        "processors": environment.cpus,
        "driver settings": environment.driver_settings,
        "runtimes": {k: packages[k] for k in _RUNTIMES if k in packages},
    }


def library_of(folder: RunFolder) -> str:
    """The digest of the delegate that ran."""
    return (folder.optional(schema.Environment) or schema.Environment()).library.sha256


def slim(folder: RunFolder) -> None:
    """Drops the bytes of a run whose figures are kept: hundreds of launches would fill the disk."""
    groups = [p.name for p in folder.path.glob("*_outputs")]
    for name in (*_BULKY, *groups, *(p.name for p in folder.partitions())):
        path = folder.path / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def failed(number: int, at: float, error: BaseException, state: str = FAILED) -> Launch:
    """A launch that left no figures, and why."""
    parts = (getattr(error, "tried", ""), getattr(error, "came_back", "") or str(error) or type(error).__name__)
    text = ": ".join(filter(None, (parts[0], parts[1].splitlines()[0] if parts[1] else "")))
    return Launch(number, at, state, text, getattr(error, "exit_code", 70), _kept(error))


def _kept(error: BaseException) -> str:
    """The name of the run folder that an error of a place carries."""
    kept = getattr(error, "kept", None)
    return kept.name if kept else ""
