"""Weights lie in the host's memory no more often than they must: beside what the CPU interpreter alone takes for the
same model, a plan holds them once, and nobody else keeps them as floats."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from host_tools.base import settings
from tests.delegate import environment
from tests.model_builder import Model

SIDE = 7168
FLOAT_BYTES = SIDE * SIDE * 4

_MEASURE = """
import resource, sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate
from tests.delegate_worker import report
path, library, backend = sys.argv[1:]
delegates = [load_delegate(library, {"backend": backend})] if backend != "cpu" else []
interpreter = Interpreter(model_path=path, experimental_delegates=delegates)
interpreter.allocate_tensors()
if backend != "null":
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.ones((1, SIDE), np.float32))
    interpreter.invoke()
assert all(node["on"] == "gpu" for delegate in delegates for node in report(library, delegate)["nodes"])
steady = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, steady)
""".replace("SIDE", str(SIDE))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    model = Model()
    weights = np.full((SIDE, SIDE), 0.01, np.float16)
    model.output(model.fully_connected(model.input((1, SIDE)), model.const_f16(weights), np.zeros(SIDE, np.float32)))
    path = tmp_path_factory.mktemp("memory") / "weights.tflite"
    path.write_bytes(model.bytes())
    return path


def measure(path, library, backend: str) -> tuple[float, float]:
    """Peak and steady memory of a process that runs the model once, in units of its weights as floats."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(path), str(library), backend],
        cwd=settings.ROOT,
        env=os.environ | environment(library) | {"PYTHONPATH": str(settings.ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    peak, steady = map(int, done.stdout.split())
    return peak / FLOAT_BYTES, steady / FLOAT_BYTES


@pytest.mark.parametrize(
    ("backend", "more_at_peak", "more_steadily"),
    [
        ("null", 2, 0.5),  # 3.0 and 1.0 where everybody held a copy
        ("opencl", 2.3, 0.9),  # 3.4 and 1.4; the driver keeps some of what it compiled
        ("gles", 2.3, 2.0),
    ],
)  # 3.3 and 2.5; the driver holds a copy of its own
def test_weights_are_held_once(library, path, backend, more_at_peak, more_steadily):
    cpu_peak, cpu_steady = measure(path, library, "cpu")
    measure(path, library, backend)  # a driver's compiler takes memory of its own: now its work is in the cache
    peak, steady = measure(path, library, backend)
    assert peak < cpu_peak + more_at_peak and steady < cpu_steady + more_steadily
