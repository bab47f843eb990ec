"""A trace of one run for ui.perfetto.dev and chrome://tracing: starts step by step, every inference of every runner in
its turn, and, where the run has a profile, the dispatches of one inference by their median times."""

from pathlib import Path
from typing import Any

from host_tools.record import profile, run_folder, schema, times
from host_tools.record.run_folder import RunFolder

FILE = "trace.json"
_STEPS = ("load_delegate_us", "interpreter_us", "allocate_us", "first_invoke_us")
_STARTS, _INFERENCES, _DISPATCHES = 1, 2, 3
_GAP_US = 1000.0


def write(folder: RunFolder) -> Path:
    """Writes trace.json into the run folder; returns its path."""
    timings = folder.optional(schema.Timings)
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": f"Quadra: {folder.spec().model.name}"}},
        *(
            {"ph": "M", "pid": 1, "tid": thread, "name": "thread_name", "args": {"name": name}}
            for thread, name in ((_STARTS, "starts"), (_INFERENCES, "inferences"), (_DISPATCHES, "dispatches of one"))
        ),
    ]
    first = _inferences(events, timings, _starts(events, timings)) if timings else 0.0
    if folder.has("profile.json"):
        _dispatches(events, profile.read(folder), first)
    run_folder.write_json(folder.path / FILE, {"traceEvents": events, "displayTimeUnit": "ms"})
    return folder.path / FILE


def _starts(events: list[dict[str, Any]], timings: schema.Timings) -> float:
    now = 0.0
    for who, laps in timings.init_us.items():
        steps = [(step, us) for step in _STEPS if (us := getattr(laps, step))]
        whole = sum(us for _, us in steps)
        events.append(_slice(_STARTS, f"start of {who}", now, whole, {"cpu_us": laps.cpu_us}))
        for step, us in steps:
            events.append(_slice(_STARTS, step[:-3].replace("_", " "), now, us, {}))
            now += us
        now += _GAP_US
    return now


def _inferences(events: list[dict[str, Any]], timings: schema.Timings, now: float) -> float:
    """In the order in which they ran: interleaved, in reversed order each time. Returns when Quadra's first began."""
    samples, cpu = timings.samples_us, timings.cpu_us
    first, names = now, list(samples)
    for number in range(max(map(len, samples.values()), default=0)):
        for who in names if number % 2 == 0 else reversed(names):
            if number >= len(samples[who]):
                continue
            if who == "quadra" and not number:
                first = now
            spent = {"run": number + 1, "processor_us": cpu[who][number] if number < len(cpu.get(who, ())) else None}
            events.append(_slice(_INFERENCES, times.NAMES.get(who, who), now, samples[who][number], spent))
            now += samples[who][number]
    return first


def _dispatches(events: list[dict[str, Any]], found: profile.Profile, now: float) -> None:
    for d in found.dispatches:
        details = {
            "kernel": d.kernel,
            "ops": d.ops,
            "nodes": list(d.nodes),
            "global": list(d.global_size),
            "local": list(d.local_size),
            "gflops_per_s": round(d.gflops_per_s, 2),
            "partition": d.partition,
        }
        events.append(_slice(_DISPATCHES, d.name, now, d.time_us, details))
        now += d.time_us


def _slice(thread: int, name: str, start_us: float, length_us: float, details: dict[str, Any]) -> dict[str, Any]:
    told = {key: value for key, value in details.items() if value is not None}
    where = {"pid": 1, "tid": thread, "cat": "run"}
    return {"ph": "X", **where, "name": name, "ts": start_us, "dur": length_us, "args": told}
