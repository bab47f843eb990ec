"""Memory of the system (dma-bufs, AHardwareBuffers) in the place of the interpreter's: drivers import it by each of their
extensions, nothing is copied, and what cannot serve is a sentence. Drivers, dma-bufs and Android's library are stand-ins
(tests/opencl_imports.c, tests/nativewindow.c). Each test in a process of its own."""

from __future__ import annotations

import pytest

from tests.faults import (
    compile_opencl_imports,
    opencl,  # noqa: F401 (a fixture, which skips where there is no driver)
)
from tests.test_lifetime import run

ARM = "cl_arm_import_memory cl_arm_import_memory_dma_buf cl_arm_import_memory_android_hardware_buffer"
KHR = "cl_khr_external_memory cl_khr_external_memory_dma_buf cl_khr_external_memory_android_hardware_buffer"
QCOM = "cl_qcom_android_ahardwarebuffer_host_ptr"

_PRELUDE = """
import mmap
from tests.buffers_c import AHARDWAREBUFFER, DMA_BUF, HOST, Native, Source, refuses

native = Native(library)
driver = ctypes.CDLL(DRIVER)
android = ctypes.CDLL("libnativewindow.so")
android.MakeHardwareBuffer.restype = ctypes.c_void_p
BLOB = 0x21

def counts():
    found = (ctypes.c_int * 3)()
    driver.ImportsReport(found)
    return list(found)  # made, alive, kernels that had memory without acquiring it

class Memory:
    '''Of the system, with an array's bytes.'''
    def __init__(self, like, size=None):
        self.like, self.size = like, size or like.nbytes
        self.fd = os.memfd_create("dma-buf")
        os.truncate(self.fd, self.size)
        self.view = np.frombuffer(mmap.mmap(self.fd, self.size), like.dtype, min(like.size, self.size // 4))
        self.view[:] = like.ravel()[:self.view.size]

    def handle(self, kind, format=BLOB):
        return self.fd if kind == DMA_BUF else android.MakeHardwareBuffer(self.fd, self.size, format)

class Model:
    def __init__(self, backend="opencl", **options):
        given = {"opencl_library": DRIVER} if backend == "opencl" else {}
        self.interpreter, self.delegate = opened(backend, **given, **options)
        self.interpreter.allocate_tensors()
        self.input = self.interpreter.get_input_details()[0]["index"]
        self.outputs = [detail["index"] for detail in self.interpreter.get_output_details()]

    def bind(self, tensor, kind, handle, size):
        return native.bind(self.delegate, tensor, kind, handle, size)

    def copied(self):
        return [partition["copied_bytes"] for partition in report(library, self.delegate)["partitions"]]

    def refuses(self, *words):
        refuses(self.interpreter, *words)

def memories():
    return Memory(FEED[0]), [Memory(one * 0) for one in EXPECTED]
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory, opencl):
    return compile_opencl_imports(tmp_path_factory.mktemp("driver"))


def imported(library, driver, body: str, extensions: str, **env: str):
    run(
        library,
        f"DRIVER = {str(driver)!r}\n{_PRELUDE}{body}",
        "opencl",
        # PoCL 3.1's `basic` locks up where a command that waits for an event of the user's can begin.
        env={"POCL_DEVICES": "pthread", "LD_LIBRARY_PATH": str(driver.parent), "IMPORTS": extensions, **env},
    )


_RUNS = """
kinds = [DMA_BUF, AHARDWAREBUFFER] if "dma_buf" in os.environ["IMPORTS"] else [AHARDWAREBUFFER]
model = Model()
before = right(model.interpreter)
assert model.copied() == [FEED[0].nbytes + sum(one.nbytes for one in EXPECTED)]
for kind in kinds:
    source, results = memories()
    handles = [memory.handle(kind) for memory in (source, *results)]
    for tensor, handle, memory in zip([model.input, *model.outputs], handles, [source, *results]):
        assert model.bind(tensor, kind, handle, memory.size), native.said
    model.interpreter.set_tensor(model.input, FEED[0] * 0)
    for _ in range(3):
        model.interpreter.invoke()
        assert [one.view.tobytes() for one in results] == before and model.copied() == [0]
        for one in results:
            one.view[:] = np.nan
    if kind == AHARDWAREBUFFER:
        assert [android.ReferencesTo(ctypes.c_void_p(handle)) for handle in handles] == [2, 2, 2]
    source.view[:] *= 0.5
    model.interpreter.invoke()
    for one, want in zip(results, cpu.run(MODEL, [FEED[0] * np.float32(0.5)])):
        assert np.allclose(one.view, want.ravel(), atol=1e-5)
    for tensor in (model.input, *model.outputs):
        assert native.bind(model.delegate, tensor)
    assert right(model.interpreter) == before
assert counts() == [3 * len(kinds), 3 * len(kinds), 0], counts()
del model
gc.collect()
assert counts() == [3 * len(kinds), 0, 0], counts()
if kinds[-1] == AHARDWAREBUFFER:
    assert android.ReferencesTo(ctypes.c_void_p(handles[0])) == 1
"""


@pytest.mark.parametrize("extensions", [ARM, KHR, QCOM], ids=["arm", "khr", "qcom"])
def test_kernels_work_on_memory_that_the_driver_imports(library, driver, extensions):
    """Imported once, however often it runs; let go of with the model; acquired and released where the extension asks it."""
    imported(library, driver, _RUNS, extensions)


def test_a_source_may_take_turns_with_a_few(library, driver):
    """Asynchronous runs, too. A file descriptor that is another memory's now is imported anew; of more than four times as many as
    tensors the one that was used least recently goes."""
    imported(
        library,
        driver,
        """
import pyopencl as cl
model = Model()
source = Source(native, model.delegate)
source.goes_on = True
feed, results = memories()
for tensor, memory in zip(model.outputs, results):
    source.buffers[tensor] = (DMA_BUF, memory.fd, memory.size)
ring = [Memory(FEED[0] * np.float32(factor)) for factor in (1, 2, 3, 4)]

def runs(memory, fd=None):
    source.buffers[model.input] = (DMA_BUF, fd or memory.fd, memory.size)
    model.interpreter.invoke()
    cl.wait_for_events([cl.Event.from_int_ptr(source.done[-1])])
    want = cpu.run(MODEL, [np.ascontiguousarray(memory.view).reshape(FEED[0].shape)])
    for one, want in zip(results, want):
        assert np.allclose(one.view, want.ravel(), atol=1e-4)

for memory in 3 * ring:
    runs(memory)
assert counts() == [6, 6, 0], counts()
other = Memory(FEED[0] * np.float32(-1))
reused = ring[0].fd
os.dup2(other.fd, reused)
runs(other, reused)
assert counts() == [7, 7, 0], counts()
assert model.copied() == [0]
many = [Memory(FEED[0]) for _ in range(9)]
for memory in many:
    runs(memory)
assert counts() == [16, 12, 0], counts()
runs(many[0])
assert counts() == [16, 12, 0], counts()
runs(ring[1])
assert counts() == [17, 12, 0], counts()
""",
        KHR,
    )


def test_memory_that_an_inference_still_works_on_stays(library, driver):
    """Where another one would take its place among those that are kept: that waits for the inference."""
    imported(
        library,
        driver,
        """
import pyopencl as cl
model = Model()
source = Source(native, model.delegate, 100)
source.goes_on = True
for tensor, one in zip(model.outputs, EXPECTED):
    memory = Memory(one)
    source.buffers[tensor] = (DMA_BUF, memory.fd, memory.size)
context = cl.Context.from_int_ptr(native.contexts(model.delegate).cl_context)
event = cl.UserEvent(context)
source.events[model.input] = event.int_ptr
many = [Memory(FEED[0]) for _ in range(11)]
def invoke(memory):
    source.buffers[model.input] = (DMA_BUF, memory.fd, memory.size)
    model.interpreter.invoke()
for memory in many[:10]:  # with the outputs' four times as many as tensors
    invoke(memory)
try:
    invoke(many[10])
except RuntimeError as error:
    assert "wait for the inference that goes on: its event did not come within 100 ms" in str(error), error
else:
    raise AssertionError("it took the place of memory that is used")
assert counts() == [12, 12, 0], counts()
event.set_status(cl.command_execution_status.COMPLETE)
invoke(many[10])
assert counts() == [13, 12, 0], counts()
cl.wait_for_events([cl.Event.from_int_ptr(source.done[-1])])
""",
        ARM,
    )


def test_what_cannot_be_imported_is_a_sentence(library, driver):
    """When it is bound, or when a source gives it; the interpreter's memory keeps working. Nothing is left behind."""
    imported(
        library,
        driver,
        """
model, size = Model(), FEED[0].nbytes
before = right(model.interpreter)
def refused(kind, handle, size, *words):
    assert not model.bind(model.input, kind, handle, size)
    said = native.said.pop()
    assert said.startswith(f"Quadra: bind a buffer to tensor {model.input}: ") and all(word in said for word in words), said
    assert right(model.interpreter) == before

small, whole = Memory(FEED[0], size - 4), Memory(FEED[0])
reading, writing = os.pipe()
refused(DMA_BUF, 4711, size, "use the file descriptor 4711: Bad file descriptor")
refused(DMA_BUF, reading, size, f"use the file descriptor {reading}: Illegal seek")
refused(DMA_BUF, small.fd, size, f"it has {size - 4} bytes; {size} are needed")
refused(DMA_BUF, whole.fd, size - 4, f"it has {size - 4} bytes; the tensor has {size}")
refused(AHARDWAREBUFFER, small.handle(AHARDWAREBUFFER), size, f"it has {size - 4} bytes; {size} are needed")
refused(AHARDWAREBUFFER, whole.handle(AHARDWAREBUFFER, 1), size, "has the format 1; next: give one of the format BLOB")
for code, name in (("-30", "CL_INVALID_VALUE"), ("-6", "CL_OUT_OF_HOST_MEMORY")):
    os.environ["IMPORTS_REFUSE"] = code
    refused(DMA_BUF, whole.fd, size, f"cl_khr_external_memory_dma_buf: {name}")
    ours = whole.handle(AHARDWAREBUFFER)
    refused(AHARDWAREBUFFER, ours, size, f"cl_khr_external_memory_android_hardware_buffer: {name}")
    assert android.ReferencesTo(ctypes.c_void_p(ours)) == 1
os.environ["IMPORTS_REFUSE"] = ""
open_files = len(os.listdir("/proc/self/fd"))
source = Source(native, model.delegate)
source.buffers[model.input] = (DMA_BUF, small.fd, size)
model.refuses("the buffer for", f"it has {size - 4} bytes; {size} are needed")
source.buffers.clear()
assert right(model.interpreter) == before and len(os.listdir("/proc/self/fd")) == open_files
assert counts() == [0, 0, 0]

os.environ["IMPORTS"] = "cl_khr_external_memory"
del source, model
gc.collect()
for backend in ("opencl", "gles"):
    model = Model(backend)
    for kind in (DMA_BUF, AHARDWAREBUFFER):
        assert not model.bind(model.input, kind, whole.handle(kind), size)
        why = "gles imports no memory" if backend == "gles" else "the OpenCL driver has no extension that imports it"
        assert native.said.pop().endswith(why), native.said
    right(model.interpreter)
""",
        KHR,
    )
