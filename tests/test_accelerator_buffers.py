"""Buffers of LiteRT's CompiledModel as memory of Quadra's kernels, and the life of compiled models; in processes of their own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from host_tools.base import child_process, settings
from host_tools.build import bazel
from tests.compiled import Compiled, variables
from tests.delegate import environment
from tests.faults import compile_driver_faults
from tests.runs import BACKENDS
from tests.test_lifetime import IMAGE, small_model
from tests.test_models import random_feeds
from tests.vectors.case import constant

_PRELUDE = """
import gc, json, os, sys, threading, time
import numpy as np
from ai_edge_litert.tensor_buffer import TensorBuffer
from tests import cpu
from tests.compiled_worker import details, invoke, make_environment, open_model, report
from tests.test_lifetime import IMAGE, constant, small_model
library = sys.argv[1]
MODEL, FEED = small_model(), [constant("lifetime/feed", IMAGE)]
EXPECTED = cpu.run(MODEL, FEED)

def right(model, buffers=None):
    for got, want in zip(invoke(model, FEED, buffers), EXPECTED, strict=True):
        assert np.allclose(got, want, atol=1e-5), np.abs(got - want).max()

def copied():
    told = report(library)
    assert all(node["on"] == "gpu" for node in told["nodes"])
    return [partition["copied_bytes"] for partition in told["partitions"]]

def owned():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
"""
EVERYTHING = sum(
    array.nbytes for array in [constant("lifetime/feed", IMAGE), *[np.zeros((1, 2, 3, 8), np.float32)] * 2]
)
on_both = pytest.mark.parametrize("backend", BACKENDS)


@pytest.fixture(scope="module")
def accelerator() -> Path:
    return bazel.accelerator()


@pytest.fixture(scope="module")
def gpu(tmp_path_factory) -> dict[str, str]:
    """Variables with which the system's OpenCL library tells of a GPU, whose memory is its own."""
    driver = compile_driver_faults(tmp_path_factory.mktemp("driver") / "libOpenCL.so")
    return {"LD_LIBRARY_PATH": str(driver.parent), "DRIVER_FAULTS_GPU": "1", "DRIVER_FAULTS": ""}


def run(accelerator: Path, body: str, backend: str, **env: str) -> Any:
    """What the script prints last, as JSON."""
    done = child_process.run(
        [sys.executable, "-X", "faulthandler", "-c", _PRELUDE + body, accelerator],
        cwd=settings.ROOT,
        env={**environment(accelerator), **variables(backend), **env},
        timeout_s=200,
    )
    said = [line for line in done.stdout.splitlines() if not line.startswith("INFO: ")]  # LiteRT's
    return json.loads(said[-1]) if said else None


_REQUIREMENTS = """
model = open_model(library, MODEL)
asked = [model.get_input_buffer_requirements(0), *(model.get_output_buffer_requirements(i) for i in range(2))]
sizes = [array.nbytes for array in [*FEED, *EXPECTED]]
assert [one["buffer_size"] for one in asked] == sizes, asked
buffers = model.create_input_buffers(0), model.create_output_buffers(0)
for _ in range(3):
    right(model, buffers)
print(json.dumps([asked[0]["supported_types"][:2], copied()]))
"""


def test_on_opencl_litert_makes_opencl_buffers_and_nothing_is_copied(accelerator, gpu):
    """Types 10 and 1: OpenCL, host. A GPU's memory is its own; PoCL's is the host's."""
    for env in ({}, gpu):
        assert run(accelerator, _REQUIREMENTS, "opencl", **env) == [[10, 1], [0]]


def test_on_opengl_es_buffers_are_the_hosts(accelerator):
    assert run(accelerator, _REQUIREMENTS, "gles") == [[1], [EVERYTHING]]


@on_both
def test_memory_of_the_host_serves_as_it_is(accelerator, gpu, backend):
    """Alone, and beside OpenCL buffers that LiteRT made; one after the other, with the same model. Python's buffers over
    memory have one dimension, so has the model."""
    copied = run(
        accelerator,
        """
from tests.model_builder import Model
m = Model()
y = m.add(m.input((96,)), constant("flat", (96,)))
m.output(m.elementwise("TANH", y), y)
MODEL, FEED = m.bytes(), [constant("flat/feed", (96,))]
EXPECTED = cpu.run(MODEL, FEED)
model = open_model(library, MODEL)
source = [TensorBuffer.create_from_host_memory(FEED[0])]
results = [TensorBuffer.create_from_host_memory(np.zeros_like(one)) for one in EXPECTED]
made = model.create_input_buffers(0), model.create_output_buffers(0)
told = []
for inputs, outputs in ((source, results), made, (source, made[1]), (made[0], results), (source, results)):
    right(model, (inputs, outputs))
    told.append(copied()[0])
print(json.dumps(told))
""",
        backend,
        **gpu,
    )
    assert copied == ([1152, 0, 384, 768, 1152] if backend == "opencl" else [1152] * 5)


@on_both
def test_buffers_outlive_their_model_and_a_model_its_buffers(accelerator, backend):
    run(
        accelerator,
        """
environment = make_environment(library)
model = open_model(library, MODEL, environment=environment)
buffers = model.create_input_buffers(0), model.create_output_buffers(0)
right(model, buffers)
del model
gc.collect()
assert report(library) == {}
read = buffers[1][0].read(EXPECTED[0].size, np.float32)
assert np.allclose(read, EXPECTED[0].ravel(), atol=1e-5)
other = open_model(library, MODEL, environment=environment)
right(other, buffers)
del buffers
gc.collect()
right(other)
""",
        backend,
    )


@on_both
def test_lives_leave_nothing_behind(accelerator, backend):
    grown = run(
        accelerator,
        """
def live(times):
    for _ in range(times):
        right(open_model(library, MODEL))
    gc.collect()
live(10)
before = owned()
live(60)
print(json.dumps(owned() - before))
""",
        backend,
    )
    assert grown < 60 * 100_000, grown  # what a context or a plan takes is far more


@on_both
def test_models_on_several_threads(accelerator, backend):
    """Each thread makes, runs and destroys its own, beside one that all take turns with."""
    run(
        accelerator,
        """
shared, lock, failures = open_model(library, MODEL), threading.Lock(), []

def work():
    try:
        for _ in range(4):
            mine = open_model(library, MODEL)
            for _ in range(5):
                right(mine)
                with lock:
                    right(shared)
    except BaseException as error:
        failures.append(error)

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(150)
    assert not thread.is_alive(), "hangs"
assert not failures, failures
right(shared)
""",
        backend,
    )


@on_both
def test_one_environment_has_several_models(accelerator, backend):
    """They share the context: buffers of one serve the others."""
    run(
        accelerator,
        """
environment = make_environment(library)
models = [open_model(library, MODEL, environment=environment) for _ in range(3)]
buffers = models[0].create_input_buffers(0), models[0].create_output_buffers(0)
for model in models:
    right(model, buffers)
del models[0]
gc.collect()
right(models[0], buffers)
""",
        backend,
    )


@on_both
def test_a_resized_input_gets_buffers_of_its_size(accelerator, backend):
    run(
        accelerator,
        """
model = open_model(library, MODEL)
right(model)
model.resize_input_tensor(0, (1, 8, 5, 6), strict=False)
feed = [constant("larger", (1, 8, 5, 6))]
for got, want in zip(invoke(model, feed), cpu.run(MODEL, feed), strict=True):
    assert got.shape == want.shape and np.allclose(got, want, atol=1e-5)
""",
        backend,
    )


@on_both
def test_an_output_without_a_size_gets_a_buffer_of_the_size_that_it_will_have(accelerator, model_path, backend):
    """LiteRT alone makes one of four bytes for it, and writes beyond. Its Python API reads no more than these."""
    raw = model_path("style_transfer_quantized_dynamic").read_bytes()
    feeds = random_feeds(Interpreter(model_content=raw))
    worker = Compiled(accelerator)
    try:
        outcome = worker.run(raw, feeds, env=variables(backend), timeout_s=300)
    finally:
        worker.close()
    assert "destination buffer is larger than the tensor buffer" in outcome.error and not outcome.on_cpu()


@pytest.mark.parametrize("damage", [slice(0), slice(4), slice(100), slice(1000)])
def test_a_damaged_model_is_an_error(accelerator, damage):
    worker = Compiled(accelerator)
    try:
        assert "Failed to load model" in worker.run(small_model()[damage], env=variables("null")).error
    finally:
        worker.close()


@pytest.mark.parametrize("fault", ["clCreateContext@1=-6", "clBuildProgram@*=-11", "clEnqueueNDRangeKernel@3=-54"])
def test_a_driver_that_fails_leaves_right_numbers_or_an_error(accelerator, gpu, fault):
    run(
        accelerator,
        """
try:
    model = open_model(library, MODEL)
    right(model)
except RuntimeError as error:
    assert "Failed to invoke the compiled model" in str(error), error
os.environ["DRIVER_FAULTS"] = ""
right(open_model(library, MODEL))
""",
        "opencl",
        **{**gpu, "DRIVER_FAULTS": fault},
    )


# ---- through the C API ----

_C = """
import ctypes
from tests.litert_c import HOST, OPENCL, LiteRt
litert = LiteRt(library, MODEL, quadra_options="backend = opencl\\nprofile = true")
source, results = litert.buffer(OPENCL, FEED[0]), [litert.buffer(OPENCL, one) for one in EXPECTED]

def correct(outputs):
    for buffer, want in zip(outputs, EXPECTED, strict=True):
        assert np.allclose(litert.read(buffer, want), want, atol=1e-5)
"""


def test_an_apps_own_options_reach_the_delegate(accelerator):
    """quadra_options go before the environment's: this one names OpenGL ES."""
    told = run(
        accelerator,
        _C
        + """
litert.write(source, FEED[0])
litert.run([source], results)
correct(results)
print(json.dumps([report(library)["backend"], len(report(library)["profile"]), copied()]))
litert.free(source, *results)
""",
        "gles",
    )
    assert told == ["opencl", 1, [0]]


_CL_MEM = """
import pyopencl as cl
native = ctypes.CDLL(os.path.join(os.path.dirname(library), "libquadra.so"))
native.QuadraGpuBufferCreate.restype = native.QuadraGpuBufferHandle.restype = ctypes.c_void_p
shared = ctypes.c_void_p(native.QuadraGpuBufferCreate(None, None, ctypes.c_size_t(64), None))
context = cl.MemoryObject.from_int_ptr(native.QuadraGpuBufferHandle(shared)).context
"""


def test_an_apps_own_opencl_buffers_serve_if_they_are_of_quadras_context(accelerator, gpu):
    for env in ({}, gpu):
        run(
            accelerator,
            _C
            + _CL_MEM
            + """
flags = cl.mem_flags
mine = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=FEED[0])
imported = litert.buffer(OPENCL, FEED[0], mine.int_ptr)
litert.run([imported], results)
correct(results)
assert copied() == [0]
other = cl.Context(context.devices)
foreign = cl.Buffer(other, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=FEED[0])
refused = litert.buffer(OPENCL, FEED[0], foreign.int_ptr)
try:
    litert.run([refused], results)
    raise AssertionError("it ran")
except RuntimeError as error:
    assert "RunCompiledModel" in str(error), error
litert.run([imported], results)
correct(results)
litert.free(imported, refused, source, *results)
""",
            "opencl",
            **env,
        )


_STATES = """
from tests.signature_models import with_signatures
from tests.state_models import CACHE, PART, one_cache
MODEL = with_signatures(one_cache(), one_cache(updates=1), ("first", "second"), ("cache", "part", "at"))
model = open_model(library, MODEL, cpu=False)
size, told = 4 * int(np.prod(CACHE)), []
for signature in (0, 1):
    inputs, outputs = model.create_input_buffers(signature), model.create_output_buffers(signature)
    cache = constant("states/compiled", CACHE)
    inputs[0].write(cache)
    places = [inputs[0], inputs[0], inputs[0], outputs[0], inputs[0]]
    for turn in range(4):
        row = constant(f"states/turn{turn}", PART)
        inputs[1].write(row)
        inputs[2].write(np.int32([0, turn, 0, 0]))
        model.run_by_index(signature, [places[turn], *inputs[1:]], [places[turn + 1]])
        cache[:, turn] = row[:, 0]
        got = places[turn + 1].read(cache.size, np.float32)
        assert np.array_equal(got.reshape(CACHE), cache), (signature, turn)
        found = report(library)["partitions"][signature]
        assert [one["kernel"] for one in found["dispatches"]].count("update_in_place") == 1
        told.append(found["copied_states_bytes"] / size)
print(json.dumps([told, report(library)["partitions"][1]["copied_inputs_bytes"]]))
"""


@on_both
def test_a_buffer_that_is_input_and_output_is_written_in_place(accelerator, gpu, backend):
    """In each signature: twice in one buffer, then in two that change places, from which a device copies. On OpenGL ES
    LiteRT's are the host's, from and to which all goes."""
    for env in ({}, gpu):
        states, inputs = run(accelerator, _STATES, backend, **env)
        assert states == ([0, 0, 1, 1] if backend == "opencl" else [2, 2, 2, 2]) * 2
        assert (inputs == 0) == (backend == "opencl")


_KEPT = """
from tests.compiled_worker import Newest
from tests.signature_models import with_signatures
from tests.test_kept_states import CACHE, PART, States, of_size
MODEL = with_signatures(of_size(CACHE[1]), of_size(CACHE[1]), ("prefill", "decode"), ("cache", "part", "at"))
small = open_model(library, small_model(), cpu=False)
os.environ["QUADRA_STATES"] = "cache"
model = open_model(library, MODEL, cpu=False)
delegate, before = Newest(library), Newest(library, 1)
assert delegate.pointer and before.pointer and len({delegate.pointer, before.pointer}) == 2
assert Newest(library, 2).pointer is None
states = States(os.path.join(os.path.dirname(library), "libquadra.so"), delegate)
others = States(os.path.join(os.path.dirname(library), "libquadra.so"), before)
cache = np.zeros(CACHE, np.float32)
ends = [(model.create_input_buffers(i), model.create_output_buffers(i)) for i in (0, 1)]
told = []
for turn in range(4):
    inputs, outputs = ends[turn % 2]
    row = constant(f"states/turn{turn}", PART)
    inputs[0].write(np.full_like(cache, np.nan))
    inputs[1].write(row)
    inputs[2].write(np.int32([0, turn, 0, 0]))
    model.run_by_index(turn % 2, inputs, outputs)
    cache[:, turn] = row[:, 0]
    assert np.array_equal(states.read("cache", cache), cache), (turn, states.said)
    found = report(library)["partitions"][turn % 2]
    told.append([found["copied_inputs_bytes"], found["copied_outputs_bytes"], found["copied_states_bytes"]])
    if turn == 2:
        cache = constant("states/written", CACHE)
        assert states.write("cache", cache), states.said
assert states.write(None) and not states.read("cache", cache).any()
assert report(library)["states"] == [
    {"name": "cache", "element": "float32", "shape": list(CACHE), "device_bytes": cache.nbytes}]
assert others.read("cache", cache) is None and others.said == ["Quadra: option states: 'cache' is no state"]
types = [model.get_input_buffer_requirements(i)["supported_types"] for i in (0, 1)]
del model, ends, inputs, outputs
gc.collect()
assert Newest(library).pointer == before.pointer and Newest(library, 1).pointer is None
print(json.dumps([told, types]))
"""


@on_both
def test_states_stay_on_the_gpu_and_are_reached_by_the_models_delegate(accelerator, gpu, backend):
    """Both signatures write into one memory, whatever their buffers hold, for which LiteRT makes the host's memory alone."""
    for env in ({}, gpu):
        moved, (state, part) = run(accelerator, _KEPT, backend, **env)
        assert moved == [[0 if backend == "opencl" else 16 * 4 + 4 * 4, 0, 0]] * 4
        assert 10 not in state and (10 in part) == (backend == "opencl")
