"""Launches, suites and sessions for tests of `inv regress`, made of numbers instead of runs."""

import copy
from pathlib import Path

import numpy as np

from host_tools.judge.regression import cell_verdicts, suite as suites
from host_tools.judge.regression.cell_verdicts import Case
from host_tools.judge.regression.history import History
from host_tools.judge.regression.launch import Launch
from host_tools.judge.regression.session import Session

FACTS = {
    "backend": "opencl",
    "notes": [],
    "nodes": 3,
    "on_cpu": [{"node": "0:2", "op": "ARG_MAX", "reason": "ARG_MAX is not supported"}],
    "partitions": 1,
    "plan": {
        "dispatches": ["0/000_conv2d conv2d 8×8×1 by 8×1×1", "0/001_relu relu 64×1×1 by 64×1×1"],
        "programs": 2,
        "activation_bytes": 4096,
        "constant_bytes": 100,
        "kernels": {"partition_0/000_conv2d.cl": "aa", "partition_0/001_relu.cl": "bb"},
    },
    "outputs": [{"name": "out", "ok": True, "relative": 1e-6, "allowed": 1e-4, "problem": "", "sha256": "00"}],
    "peers": [{"name": "xnnpack", "ok": True, "error": "", "sentence": "ran"}],
}
CONDITIONS = {"place": "host", "model": "0" * 64, "GPU": "a GPU", "processors": 2, "runtimes": {"litert": "2.3"}}
SUITE = suites.Suite("a suite", (suites.Cell("a_model", "opencl"),), launches=5, more=5)


def facts(**changes):
    """FACTS with some values replaced; `plan` and `outputs` by key."""
    found = copy.deepcopy(FACTS)
    for key, value in changes.items():
        if key == "plan":
            found["plan"].update(value)
        elif key == "outputs":
            found["outputs"][0].update(value)
        else:
            found[key] = value
    return found


def launch(number, steady_us=3000.0, *, xnnpack_us=3000.0, on_cpu=True, start_us=60000.0, memory=1e8, known=FACTS):
    """A launch whose driver computes on the CPU, or waits for a GPU."""
    walls = [steady_us * f for f in (1.3, 1.0, 1.01, 0.99, 1.0)]
    cpus = [steady_us if on_cpu else steady_us / 10] * 5
    samples = {"quadra.wall_us": walls, "quadra.cpu_us": cpus}
    samples |= {"xnnpack.wall_us": [xnnpack_us] * 5, "xnnpack.cpu_us": [xnnpack_us] * 5}
    start = {"total_us": start_us, "first_invoke_us": 5000.0, "cpu_us": start_us, "first_invoke_cpu_us": 5000.0}
    samples |= {f"start.quadra_warm.{key}": [value] for key, value in start.items()}
    samples |= {"memory.peak_rss_bytes": [memory + 5e7], "memory.baseline_rss_bytes": [5e7]}
    return Launch(number, 1.7e9 + number, folder=f"run-{number}", samples=samples, facts=copy.deepcopy(known))


def launches(seed, count=10, factor=1.0, spread=0.02, **more):
    """Launches whose steady times vary by `spread`."""
    noise = np.exp(np.random.default_rng(seed).normal(0, spread, (count, 3)))
    return [
        launch(i, 3000 * factor * a, start_us=60000 * b, memory=1e8 * (1 + (c - 1) / 50), **more)
        for i, (a, b, c) in enumerate(noise)
    ]


def case(history: History, before, now, *, device="host", key="a_model/opencl/f32", **changes) -> Case:
    """A cell with a baseline in the history, examined but not decided. changes: of the conditions now."""
    session = history.begin("a suite", Path("/nowhere"))
    row = history.cell(session, key, device)
    history.describe(row, "library 1", CONDITIONS)
    for one in before:
        history.add(row, one)
    history.end(session, "complete")
    found = Case(key, device, launches=list(now), conditions={**CONDITIONS, **changes}, library="library 2")
    found.baseline = history.stored(row)
    found.past = history.past(key, device, session + 1)
    found.findings = cell_verdicts.examine(found, SUITE)
    return found


def session(folder: Path, cases, **more) -> Session:
    """A decided session."""
    found = Session(SUITE, folder, 2, "base", cases=list(cases), started=1.7e9, ended=1.7e9 + 60, **more)
    cell_verdicts.decide(found.cases, SUITE)
    return found
