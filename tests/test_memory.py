"""Weights lie in the host's memory no more often than they must: beside what the CPU interpreter alone takes for the
same model, a plan holds them once, and nobody else keeps them as floats."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from host_tools.base import settings
from host_tools.request import decoder_sizes, make_decoder
from tests.delegate import environment
from tests.model_builder import Model
from tests.vectors.integer_weights import Integers

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


_PAGES = """
import re, sys
from pathlib import Path
import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate
from tests.delegate_worker import report
path, library, backend, cache, is_buffer = sys.argv[1:]
options = {"backend": backend, "small_partitions_allowed": "1"} | ({"serialization_dir": cache} if cache else {})
delegate = load_delegate(library, options)
content = Path(path).read_bytes()
want = np.load(path + ".npy")
given = {"model_content": content} if is_buffer else {"model_path": path}
interpreter = Interpreter(**given, experimental_delegates=[delegate])
for rows in (1, 3, 1):  # the plan is made again: what went is read again
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], (rows, want.shape[-1]))
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.ones((rows, want.shape[-1]), np.float32))
    interpreter.invoke()
    got = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert np.abs(got - want).max() <= 1e-5 * np.ptp(want), np.abs(got - want).max()
assert all(node["on"] == "gpu" for node in report(library, delegate)["nodes"])
assert not is_buffer or Path(path).read_bytes() == content
mapped = Path("/proc/self/smaps").read_text().split(path + "\\n")[1:]
print(sum(int(re.search(r"^Rss: +(\\d+)", one, re.M)[1]) for one in mapped) * 1024, len(mapped))
"""


@pytest.fixture(scope="module")
def kinds_of_weights(tmp_path_factory):
    """A model of each kind of weights, with its output for ones: a name, and the file."""
    side, folder = 2048, tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    for kind in ("f32", "f16", "int8"):
        model, floats = Model(), rng.uniform(-1, 1, (side, side)).astype(np.float16).astype(np.float32)
        x = model.input((1, side))
        if kind == "int8":
            weights = Integers("pages", (side, side), kind, "channel")
            floats = weights.floats
            y = model.op("FULLY_CONNECTED", [x, weights.add(model), None], (1, side), "FullyConnectedOptions", 12)
        else:
            matrix = floats if kind == "f32" else model.const_f16(floats.astype(np.float16))
            y = model.fully_connected(x, matrix, np.zeros(side, np.float32))
        model.output(y)
        (folder / kind).write_bytes(model.bytes())
        np.save(folder / kind, floats.sum(axis=1, dtype=np.float64))
    return folder


@pytest.mark.parametrize("backend", ["opencl", "gles"])
@pytest.mark.parametrize("kind", ["f32", "f16", "int8"])
@pytest.mark.parametrize("is_buffer", ["", "buffer"])
def test_pages_of_the_model_s_file_go_once_its_weights_were_read(
    library, kinds_of_weights, tmp_path, backend, kind, is_buffer
):
    """Hashed and packed, cold and from the cache. Of a model in a buffer, whose pages no file has, they stay as they are."""
    path = kinds_of_weights / kind
    for cache in ("", str(tmp_path), str(tmp_path)):
        done = subprocess.run(
            [sys.executable, "-c", _PAGES, str(path), str(library), backend, cache, is_buffer],
            cwd=settings.ROOT,
            env=os.environ | environment(library) | {"PYTHONPATH": str(settings.ROOT)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        resident, mappings = map(int, done.stdout.split())
        assert mappings == (0 if is_buffer else 1)
        # The system maps pages around each place that is read, up to a huge one.
        assert resident <= (2 << 20) + 0.2 * path.stat().st_size, resident


_DECODER = """
import re, sys
from pathlib import Path
import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate
from host_tools.places.worker import resident
from tests.delegate_worker import report
path, library, backend = sys.argv[1:]
options = {"backend": backend} | ({"states": "kv_cache_"} if backend != "null" else {})
delegate = load_delegate(library, options)
interpreter = Interpreter(model_path=path, experimental_delegates=[delegate])
for key in interpreter.get_signature_list():
    runner = interpreter.get_signature_runner(key)
    wrapper, subgraph = runner._interpreter_wrapper, runner._subgraph_index
    wrapper.AllocateTensors(subgraph)
    for name, one in runner.get_input_details().items():
        if "kv_cache" not in name:  # these are the delegate's
            wrapper.SetTensor(one["index"], np.zeros(one["shape"], one["dtype"]), subgraph)
    if backend != "null":
        wrapper.Invoke(subgraph)
assert all(node["on"] == "gpu" for node in report(library, delegate)["nodes"])
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]  # ru_maxrss has the parent's
print(int(peak) * 1024, resident()["rss_bytes"])
"""


@pytest.fixture(scope="module")
def decoders(tmp_path_factory):
    """Decoders that differ by their vocabulary or the length of their states, by how their weights are stored."""
    folder = tmp_path_factory.mktemp("decoders")

    def made(kind: str, vocabulary: int, positions: int = 32):
        path = folder / f"{kind}_{vocabulary}_{positions}.tflite"
        if not path.exists():
            sizes = f"qwen3-0.6b,layers=1,width=512,vocabulary={vocabulary},positions={positions},prefill=16"
            make_decoder.write(decoder_sizes.chosen(f"{sizes},weights={kind}"), path)
        return path

    return made


def measure_decoder(path, library, backend: str) -> np.ndarray:
    done = subprocess.run(
        [sys.executable, "-c", _DECODER, str(path), str(library), backend],
        cwd=settings.ROOT,
        # What is freed is the system's again, and not the C library's.
        env=os.environ | environment(library) | {"PYTHONPATH": str(settings.ROOT), "MALLOC_MMAP_THRESHOLD_": "131072"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return np.array([int(number) for number in done.stdout.split()])


@pytest.mark.parametrize("backend", ["null", "opencl"])
@pytest.mark.parametrize("kind", ["int8", "int4", "f16"])
def test_small_weights_of_two_signatures_are_in_memory_once(library, decoders, backend, kind):
    """A table that both look up, and one multiplies by, beside the same decoder with a small one: what memory grows by, in
    units of what the file grows by. The table is packed once:
    for the others it is known by what it is made of."""
    small, large = decoders(kind, 512), decoders(kind, 131072)
    # A driver's compiler takes memory of its own: now its work is in the cache.
    measure_decoder(small, library, backend)
    grown = measure_decoder(large, library, backend) - measure_decoder(small, library, backend)
    peak, steady = grown / (large.stat().st_size - small.stat().st_size)
    # Of int4 and packed for each reader the peak was 2.0, of halfs that become floats 5.0.
    assert steady < (0.3 if backend == "null" else 1.1) and peak < 1.4, (peak, steady)


def test_states_of_two_signatures_are_in_memory_once(library, decoders):
    """What memory grows by with longer states, in units of these: no signature has buffers of its own beside them. In
    OpenGL ES, whose driver here fills what it allocates."""
    short, long = decoders("int8", 512), decoders("int8", 512, 4096)
    measure_decoder(short, library, "gles")
    measure_decoder(long, library, "gles")
    _, steady = measure_decoder(long, library, "gles") - measure_decoder(short, library, "gles")
    states = 2 * (4096 - 32) * 8 * 128 * np.dtype(np.float32).itemsize
    # 3.0 where each of both had its own.
    assert steady / states < 1.5, steady / states
