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
from host_tools.places.worker import resident
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
held = resident()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, held["rss_bytes"], held["private_bytes"])
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


def measure(path, library, backend: str, cache: str = "", said: str = "off") -> tuple[float, ...]:
    """Peak, steady and private memory of a process that runs the model once, in units of its weights as floats. Private is
    what is no page of a file: the rest of the steady memory is the system's to take back."""
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
    return tuple(int(number) / FLOAT_BYTES for number in numbers.split())


@pytest.mark.parametrize(
    ("backend", "more_at_peak", "more_steadily"),
    [
        ("null", 2, 0.5),  # 3.0 and 1.0 where everybody held a copy
        ("opencl", 2.3, 0.9),  # 3.4 and 1.4; the driver keeps some of what it compiled
        ("gles", 2.3, 0.9),  # 3.3 and 2.5; the driver's copy is the only one
    ],
)
def test_weights_are_held_once(library, path, backend, more_at_peak, more_steadily):
    cpu_peak, cpu_steady, _ = measure(path, library, "cpu")
    measure(path, library, backend)  # a driver's compiler takes memory of its own: now its work is in the cache
    peak, steady, _ = measure(path, library, backend)
    assert peak < cpu_peak + more_at_peak and steady < cpu_steady + more_steadily


@pytest.mark.parametrize("backend", ["opencl", "gles"])
def test_a_start_from_the_cache_reads_weights_where_the_file_is_mapped(library, path, tmp_path, backend):
    cpu_peak, cpu_steady, _ = measure(path, library, "cpu")
    folder = str(tmp_path / "kept")
    _, first_steady, _ = measure(path, library, backend, folder, "miss: none is kept; saved")
    peak, steady, private = measure(path, library, backend, folder, "hit")
    assert first_steady < cpu_steady + 0.9
    assert peak < cpu_peak + 0.9 and steady < cpu_steady + 0.9
    # Beside the process's own: nothing where the file serves, and the driver's copy where it does not. The clean pages of
    # the model and of the plan, half and once the weights, are none of it.
    _, _, idle = measure(path, library, "null")
    assert private < idle + (0.3 if backend == "opencl" else 1.3), (peak, steady, private, idle)
