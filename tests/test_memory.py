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
path, library, backend, cache = sys.argv[1:]
options = {"backend": backend, "serialization_dir": cache} if cache else {"backend": backend}
delegates = [load_delegate(library, options)] if backend != "cpu" else []
interpreter = Interpreter(model_path=path, experimental_delegates=delegates)
interpreter.allocate_tensors()
if backend != "null":
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.ones((1, SIDE), np.float32))
    interpreter.invoke()
reports = [report(library, delegate) for delegate in delegates]
assert all(node["on"] == "gpu" for one in reports for node in one["nodes"])
steady = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, steady)
print(*(partition["cache"] for one in reports for partition in one["partitions"]))
""".replace("SIDE", str(SIDE))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    model = Model()
    weights = np.full((SIDE, SIDE), 0.01, np.float16)
    model.output(model.fully_connected(model.input((1, SIDE)), model.const_f16(weights), np.zeros(SIDE, np.float32)))
    path = tmp_path_factory.mktemp("memory") / "weights.tflite"
    path.write_bytes(model.bytes())
    return path


def measure(path, library, backend: str, cache: str = "", said: str = "off") -> tuple[float, float]:
    """Peak and steady memory of a process that runs the model once, in units of its weights as floats."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(path), str(library), backend, cache],
        cwd=settings.ROOT,
        env=os.environ | environment(library) | {"PYTHONPATH": str(settings.ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    numbers, told = done.stdout.splitlines()
    assert told == (said if backend != "cpu" else ""), told
    peak, steady = map(int, numbers.split())
    return peak / FLOAT_BYTES, steady / FLOAT_BYTES


@pytest.mark.parametrize(
    ("backend", "more_at_peak", "more_steadily"),
    [
        ("null", 2, 0.5),  # 3.0 and 1.0 where everybody held a copy
        ("opencl", 2.3, 0.9),  # 3.4 and 1.4; the driver keeps some of what it compiled
        ("gles", 2.3, 0.9),  # 3.3 and 2.5; the driver's copy is the only one
    ],
)
def test_weights_are_held_once(library, path, backend, more_at_peak, more_steadily):
    cpu_peak, cpu_steady = measure(path, library, "cpu")
    measure(path, library, backend)  # a driver's compiler takes memory of its own: now its work is in the cache
    peak, steady = measure(path, library, backend)
    assert peak < cpu_peak + more_at_peak and steady < cpu_steady + more_steadily


@pytest.mark.parametrize("backend", ["opencl", "gles"])
def test_a_start_from_the_cache_reads_weights_where_the_file_is_mapped(library, path, tmp_path, backend):
    cpu_peak, cpu_steady = measure(path, library, "cpu")
    folder = str(tmp_path / "kept")
    _, first_steady = measure(path, library, backend, folder, "miss: none is kept; saved")
    peak, steady = measure(path, library, backend, folder, "hit")
    assert first_steady < cpu_steady + 0.9
    assert peak < cpu_peak + 0.9 and steady < cpu_steady + 0.9
