"""CompiledModel's asynchronous runs on OpenCL, in Quadra's context and in an app's own; in processes of their own."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from host_tools.build import bazel
from tests.faults import opencl  # noqa: F401 (a fixture, which skips where there is no driver)
from tests.test_accelerator_buffers import run

_PRELUDE = """
import ctypes
import pyopencl as cl
from tests.buffers_c import Native
from tests.litert_c import CL_CONTEXT, CL_DEVICE, CL_PLATFORM, HOST, OPENCL, LiteRt
from tests.model_builder import Model

m = Model()
m.output(m.elementwise("TANH", m.input(EXPECTED[0].shape)))
NEXT = m.bytes()
LAST = np.tanh(EXPECTED[0])
native = Native(os.path.join(os.path.dirname(library), "libquadra.so"))
held = native.create(64)
device = cl.MemoryObject.from_int_ptr(native.library.QuadraGpuBufferHandle(ctypes.c_void_p(held))).context.devices[0]

def correct(litert, buffers, arrays):
    for buffer, want in zip(buffers, arrays, strict=True):
        assert np.allclose(litert.read(buffer, want), want, atol=1e-5)

def state(event):
    return cl.Event.from_int_ptr(event).command_execution_status

def own():
    context = cl.Context([device])
    return context, {CL_DEVICE: device.int_ptr, CL_PLATFORM: device.platform.int_ptr, CL_CONTEXT: context.int_ptr}
"""


@pytest.fixture(scope="module")
def accelerator() -> Path:
    return bazel.accelerator()


@pytest.fixture(scope="module")
def found(tmp_path_factory, opencl) -> dict[str, str]:
    """Variables with which LiteRT finds OpenCL: by a name that Debian has in a package for developers."""
    ctypes.CDLL("libOpenCL.so.1")
    [path] = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libOpenCL.so" in line}
    folder = tmp_path_factory.mktemp("opencl")
    (folder / "libOpenCL.so").symlink_to(path)
    # PoCL 3.1's `basic` locks up where a command that waits for an event of the user's can begin.
    return {"LD_LIBRARY_PATH": str(folder), "POCL_DEVICES": "pthread"}


def test_runs_go_on_and_a_chain_of_models_passes_buffers_on(accelerator, found):
    """In Quadra's context and in an app's: behind the event of an input, two models, the second on the first one's output;
    the host is not asked before it reads. Then buffers and models go while they are at work."""
    run(
        accelerator,
        _PRELUDE
        + """
for context, handles in ((None, None), own()):
    litert = LiteRt(library, MODEL, handles, quadra_options="backend = opencl")
    following = litert.compile(NEXT)
    source, last = litert.buffer(OPENCL, FEED[0]), litert.buffer(OPENCL, LAST)
    results = [litert.buffer(OPENCL, one) for one in EXPECTED]
    made = cl.MemoryObject.from_int_ptr(litert.cl_mem(source)).context
    assert context in (None, made)
    for _ in range(3):
        litert.write(source, FEED[0])
        assert litert.run([source], results, is_async=True)
        assert len({litert.event_of(buffer) for buffer in results}) == 1
        assert litert.run([results[0]], [last], is_async=True, compiled=following)
        correct(litert, [last, *results], [LAST, *EXPECTED])
        assert copied() == [0]
        litert.clear(last, *results)
    start = cl.UserEvent(made)
    litert.set_event(source, start.int_ptr)
    assert litert.run([source], results, is_async=True)
    assert litert.run([results[0]], [last], is_async=True, compiled=following)
    time.sleep(0.05)
    end = cl.Event.from_int_ptr(litert.event_of(last))
    assert end.command_execution_status != cl.command_execution_status.COMPLETE
    start.set_status(cl.command_execution_status.COMPLETE)
    correct(litert, [last, *results], [LAST, *EXPECTED])
    litert.clear(source, last, *results)
    assert not litert.run([source], results)
    assert litert.event_of(results[0]) is None
    start = cl.UserEvent(made)
    litert.set_event(source, start.int_ptr)
    assert litert.run([source], results, is_async=True)
    threading.Timer(0.1, start.set_status, [cl.command_execution_status.COMPLETE]).start()
    litert.free(source, last, *results)
""",
        "opencl",
        **found,
    )


def test_a_run_has_ended_when_litert_cannot_wait_for_events(accelerator, opencl):
    """It has not found OpenCL; or a buffer is the host's; or the model is on OpenGL ES, and LiteRT opens no OpenCL for it."""
    run(
        accelerator,
        _PRELUDE
        + """
litert = LiteRt(library, MODEL, quadra_options="backend = opencl")
source, results = litert.buffer(OPENCL, FEED[0]), [litert.buffer(OPENCL, one) for one in EXPECTED]
on_host = litert.buffer(HOST, EXPECTED[1])
for outputs in (results, [results[0], on_host]):
    litert.write(source, FEED[0])
    assert not litert.run([source], outputs, is_async=True)
    correct(litert, outputs, EXPECTED)
litert.free(source, on_host, *results)

litert = LiteRt(library, MODEL, quadra_options="backend = gles")
source, results = litert.buffer(HOST, FEED[0]), [litert.buffer(HOST, one) for one in EXPECTED]
litert.write(source, FEED[0])
assert not litert.run([source], results, is_async=True) and not litert.has_gpu()
correct(litert, results, EXPECTED)
litert.free(source, *results)
""",
        "opencl",
    )


def test_an_apps_own_context_takes_its_buffers_and_no_others(accelerator, opencl):
    run(
        accelerator,
        _PRELUDE
        + """
context, handles = own()
litert = LiteRt(library, MODEL, handles, quadra_options="backend = opencl")
def imported(context):
    memory = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=FEED[0])
    return memory, litert.buffer(OPENCL, FEED[0], memory.int_ptr)
mine, source = imported(context)
foreign, refused = imported(cl.Context([device]))
results = [litert.buffer(OPENCL, one) for one in EXPECTED]
litert.run([source], results)
correct(litert, results, EXPECTED)
assert copied() == [0]
try:
    litert.run([refused], results)
    raise AssertionError("it ran")
except RuntimeError as error:
    assert "RunCompiledModel" in str(error), error
litert.run([source], results)
correct(litert, results, EXPECTED)
litert.free(source, refused, *results)
""",
        "opencl",
    )


_STATES = """
from tests.compiled_worker import Newest
from tests.signature_models import with_signatures
from tests.test_kept_states import CACHE, PART, States, gone_on, of_size

MODEL = with_signatures(gone_on(), gone_on(), ("prefill", "decode"), ("cache", "part", "at"), made_names=("cache", "y"))
litert = LiteRt(library, MODEL, quadra_options="backend = opencl\\nstates = cache")
states = States(os.path.join(os.path.dirname(library), "libquadra.so"), Newest(library))
cache = np.zeros(CACHE, np.float32)
ends = [litert.buffer(HOST, cache) for _ in range(2)]
context = cl.MemoryObject.from_int_ptr(native.library.QuadraGpuBufferHandle(ctypes.c_void_p(held))).context
made = []
for turn in range(6):
    row = constant(f"states/async{turn}", PART)
    at = np.int32([0, turn, 0, 0])
    part, where, row_twice = litert.buffer(OPENCL, row), litert.buffer(OPENCL, at), litert.buffer(OPENCL, row)
    made += [part, where, row_twice]
    litert.write(part, row)
    litert.write(where, at)
    if turn:  # LiteRT has no context before
        start = cl.UserEvent(context)
        litert.set_event(part, start.int_ptr)
        threading.Timer(0.3, start.set_status, [cl.command_execution_status.COMPLETE]).start()
    assert litert.run([ends[0], part, where], [ends[1], row_twice], is_async=True, signature=turn // 2 % 2), turn
    cache[:, turn] = row[:, 0]
    if turn == 3:
        assert np.array_equal(states.read("cache", cache), cache), states.said
assert np.array_equal(states.read("cache", cache), cache)
assert np.array_equal(litert.read(row_twice, row), 2 * row)
litert.clear(part, row_twice)
went_on = litert.run([ends[0], part, where], [ends[1], row_twice])
assert not went_on and states.write(None) and not states.read("cache", cache).any()
litert.free(*made, *ends)
"""


def test_runs_with_states_go_on_and_signatures_and_the_host_wait_for_each_other(accelerator, found):
    """Each run but the first begins 0.3 s after LiteRT returned. Two in turn of each signature; the state is read while one is under way."""
    run(accelerator, _PRELUDE + _STATES, "opencl", **found)
