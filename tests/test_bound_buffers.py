"""Buffers of the caller in the place of the interpreter's memory: nothing is copied, the bits are the same, and a buffer
that cannot serve is a sentence. Each test in a process of its own."""

from __future__ import annotations

import pytest

from tests.faults import compile_driver_faults
from tests.test_lifetime import run

_PRELUDE = """
import pyopencl as cl
from tests.buffers_c import GL, HOST, OPENCL, Native

native = Native(library)
said, bind = native.said, native.bind

def context_of(delegate):
    return native.contexts(delegate).cl_context

def copied(delegate):
    return [partition["copied_bytes"] for partition in report(library, delegate)["partitions"]]

interpreter, delegate = opened(backends[0])
inputs = [detail["index"] for detail in interpreter.get_input_details()]
outputs = [detail["index"] for detail in interpreter.get_output_details()]
"""


def bound(library, body: str, backend: str):
    return run(library, _PRELUDE + body, backend)


def test_kernels_work_on_opencl_buffers_of_the_caller(library):
    """The input and one output; the other output stays where it was. Then the interpreter's memory again, with other
    numbers: nothing of the buffers is used any more."""
    bound(
        library,
        """
before = right(interpreter)
assert copied(delegate) == [0]  # PoCL works on the interpreter's memory, too
context = cl.Context.from_int_ptr(context_of(delegate))
queue = cl.CommandQueue(context)
def made(array):
    return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=array)
source, result = made(FEED[0]), made(np.zeros_like(EXPECTED[0]))
assert bind(delegate, inputs[0], OPENCL, source.int_ptr, source.size), said
assert bind(delegate, outputs[0], OPENCL, result.int_ptr, result.size), said
nothing = np.zeros_like(FEED[0])
for _ in range(3):
    interpreter.set_tensor(inputs[0], nothing)
    interpreter.invoke()
    read = np.empty_like(EXPECTED[0])
    cl.enqueue_copy(queue, read, result)
    assert [read.tobytes(), interpreter.get_tensor(outputs[1]).tobytes()] == before
    assert copied(delegate) == [0]
    cl.enqueue_copy(queue, result, np.zeros_like(read))
assert bind(delegate, inputs[0]) and bind(delegate, outputs[0])
assert right(interpreter) == before
source.release(), result.release()
assert right(interpreter) == before
""",
        "opencl",
    )


_GPU = """
os.environ.update(DRIVER_FAULTS_GPU="1", DRIVER_FAULTS=faults)
interpreter, delegate = opened("opencl", opencl_library=DRIVER)
before = right(interpreter)
everything = FEED[0].nbytes + sum(output.nbytes for output in EXPECTED)
assert copied(delegate) == [everything]
context = cl.Context.from_int_ptr(context_of(delegate))
queue = cl.CommandQueue(context)
source = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=FEED[0])
results = [cl.Buffer(context, cl.mem_flags.READ_WRITE, output.nbytes) for output in EXPECTED]
for tensor, buffer in zip(inputs + outputs, [source, *results]):
    assert bind(delegate, tensor, OPENCL, buffer.int_ptr, buffer.size), said
"""


def on_gpu(library, driver, body: str, faults: str = ""):
    """On a device that calls itself a GPU, whose memory is its own."""
    begin = f"faults, DRIVER = {faults!r}, {str(driver)!r}\n"
    bound(library, begin + _GPU + body, "opencl")


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """Under the name by which the system's is found."""
    return compile_driver_faults(tmp_path_factory.mktemp("driver") / "libOpenCL.so")


def test_with_all_bound_nothing_is_copied_on_a_gpu(library, driver):
    on_gpu(
        library,
        driver,
        """
interpreter.set_tensor(inputs[0], np.zeros_like(FEED[0]))
for _ in range(2):
    interpreter.invoke()
    assert copied(delegate) == [0]
    for buffer, bits in zip(results, before):
        read = np.empty(buffer.size, np.uint8)
        cl.enqueue_copy(queue, read, buffer)
        assert read.tobytes() == bits
assert bind(delegate, inputs[0]) and bind(delegate, outputs[1])
interpreter.set_tensor(inputs[0], FEED[0])
interpreter.invoke()
assert copied(delegate) == [FEED[0].nbytes + EXPECTED[1].nbytes]
assert interpreter.get_tensor(outputs[1]).tobytes() == before[1]
assert bind(delegate, outputs[0])
assert right(interpreter) == before and copied(delegate) == [everything]
""",
    )


@pytest.mark.parametrize("code", ["-38", "-6"])
def test_a_driver_that_fails_to_tell_of_a_buffer_is_a_sentence(library, driver, code):
    on_gpu(
        library,
        driver,
        """
try:
    interpreter.invoke()
    raise AssertionError("it ran")
except RuntimeError as error:
    assert "the buffer for input 0: read what buffer it is" in str(error), error
for tensor in inputs + outputs:
    assert bind(delegate, tensor)
assert right(interpreter) == before
""",
        f"clGetMemObjectInfo@1={code}",
    )


@pytest.mark.parametrize("backend", ["opencl", "gles"])
def test_host_memory_of_the_caller(library, backend):
    bound(
        library,
        """
before = right(interpreter)
source, result = FEED[0].copy(), np.zeros_like(EXPECTED[1])
assert bind(delegate, inputs[0], HOST, source.ctypes.data, source.nbytes), said
assert bind(delegate, outputs[1], HOST, result.ctypes.data, result.nbytes), said
interpreter.set_tensor(inputs[0], np.zeros_like(source))
interpreter.invoke()
assert result.tobytes() == before[1]
sizes = source.nbytes + sum(output.nbytes for output in EXPECTED)
assert copied(delegate) == [0 if backends[0] == "opencl" else sizes]
""",
        backend,
    )


def test_a_buffer_that_cannot_serve_is_a_sentence(library):
    bound(
        library,
        """
before = right(interpreter)
context = cl.Context.from_int_ptr(context_of(delegate))
size = FEED[0].nbytes
small = cl.Buffer(context, cl.mem_flags.READ_WRITE, size - 4)
assert not bind(delegate, inputs[0], OPENCL, small.int_ptr, size - 4)
assert said.pop() == f"Quadra: bind a buffer to tensor {inputs[0]}: it has {size - 4} bytes; the tensor has {size}"
assert not bind(delegate, 999, OPENCL, small.int_ptr, size) and "no input and no output" in said.pop()
assert right(interpreter) == before

def fails(buffer, words):
    assert bind(delegate, inputs[0], OPENCL, buffer.int_ptr, size), said
    try:
        interpreter.invoke()
    except RuntimeError as error:
        assert words in str(error), error
    else:
        raise AssertionError("it ran")
    assert bind(delegate, inputs[0])
    assert right(interpreter) == before

fails(small, f"the buffer for input 0: it has {size - 4} bytes; the tensor has {size}")  # said to be larger than it is
other = cl.Context(context.devices)
fails(cl.Buffer(other, cl.mem_flags.READ_WRITE, size), "it is in another OpenCL context than the delegate's")
""",
        "opencl",
    )


def test_opengl_es_takes_no_opencl_buffers(library):
    bound(
        library,
        """
assert context_of(delegate) is None
assert not bind(delegate, inputs[0], OPENCL, 64, FEED[0].nbytes)
assert "the model runs on gles, not on OpenCL" in said.pop()
right(interpreter)
""",
        "gles",
    )


def test_before_there_is_a_model_there_is_nothing_to_bind(library):
    bound(
        library,
        """
from ai_edge_litert.interpreter import load_delegate
empty = load_delegate(library, {"backend": "opencl"})
assert not bind(empty, 0, HOST, 64, 64) and "no model has a partition on the GPU" in said.pop()
assert context_of(empty) is None and native.library.QuadraDelegateBindBuffer(None, 0, None, None) == 0
""",
        "opencl",
    )


def test_a_resize_finds_a_buffer_too_small(library):
    bound(
        library,
        """
context = cl.Context.from_int_ptr(context_of(delegate))
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, FEED[0].nbytes)
assert bind(delegate, inputs[0], OPENCL, buffer.int_ptr, buffer.size)
interpreter.resize_tensor_input(inputs[0], (1, 8, 5, 6))
interpreter.allocate_tensors()
try:
    interpreter.invoke()
    raise AssertionError("it ran")
except RuntimeError as error:
    assert "bytes; the tensor has 960" in str(error), error
""",
        "opencl",
    )


_BUFFERS = """
P, gpu_buffer = ctypes.c_void_p, native.library

def view(buffer, like, reads):
    address = gpu_buffer.QuadraGpuBufferLock(P(buffer), reads)
    return np.ctypeslib.as_array((ctypes.c_float * like.size).from_address(address)).reshape(like.shape)

def create(like, handle=None):
    return native.create(like.nbytes, handle)
"""


@pytest.mark.parametrize("gpu", [False, True])
def test_memory_that_the_delegate_makes_serves_with_a_view_on_the_host(library, driver, gpu):
    """And outlives the delegate; also where the system's OpenCL library tells of a GPU, whose memory is its own."""
    env = {"LD_LIBRARY_PATH": str(driver.parent), "DRIVER_FAULTS_GPU": "1", "DRIVER_FAULTS": ""} if gpu else {}
    run(
        library,
        _PRELUDE
        + _BUFFERS
        + """
before = right(interpreter)
assert (copied(delegate) == [0]) is not ("DRIVER_FAULTS_GPU" in os.environ)
source, result = create(FEED[0]), create(EXPECTED[0])
view(source, FEED[0], 0)[:] = FEED[0]
assert gpu_buffer.QuadraGpuBufferUnlock(P(source), 1)
assert bind(delegate, inputs[0], OPENCL, gpu_buffer.QuadraGpuBufferHandle(P(source)), FEED[0].nbytes), said
assert bind(delegate, outputs[0], OPENCL, gpu_buffer.QuadraGpuBufferHandle(P(result)), EXPECTED[0].nbytes), said
interpreter.set_tensor(inputs[0], np.zeros_like(FEED[0]))
interpreter.invoke()
imported = create(EXPECTED[0], gpu_buffer.QuadraGpuBufferHandle(P(result)))
for buffer in (result, imported):
    assert view(buffer, EXPECTED[0], 1).tobytes() == before[0]
    assert gpu_buffer.QuadraGpuBufferUnlock(P(buffer), 0)
assert interpreter.get_tensor(outputs[1]).tobytes() == before[1]
del interpreter, delegate
gc.collect()
assert view(result, EXPECTED[0], 1).tobytes() == before[0]
for buffer in (imported, result, source, None):
    gpu_buffer.QuadraGpuBufferDelete(P(buffer))
""",
        "opencl",
        env=env,
    )


def test_halfs_are_in_the_hosts_memory_only(library):
    """Kernels would take them for floats."""
    bound(
        library,
        """
from tests.test_float16_tensors import feeds, model
interpreter, delegate = opened("opencl", model())
first = interpreter.get_input_details()[0]["index"]
before = [output.tobytes() for output in invoke(interpreter, feeds())]
context = cl.Context.from_int_ptr(context_of(delegate))
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * feeds()[0].size)
assert bind(delegate, first, OPENCL, buffer.int_ptr, buffer.size), said
try:
    interpreter.invoke()
    raise AssertionError("it ran")
except RuntimeError as error:
    assert "the buffer for input 0: only float32 and int32 can be in one" in str(error), error
mine = feeds()[0].copy()
assert bind(delegate, first, HOST, mine.ctypes.data, mine.nbytes), said
interpreter.set_tensor(first, np.zeros_like(mine))
interpreter.invoke()
outputs = [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
assert [output.tobytes() for output in outputs] == before
""",
        "opencl",
    )
