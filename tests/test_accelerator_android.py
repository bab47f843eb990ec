"""What LiteRT has on Android alone, by a stand-in between its runtime and the accelerator (tests/litert_android.cc): buffers that
are memory of the system. And environments whose OpenCL fails, or is lost. Each test in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from host_tools.build import bazel
from tests.faults import (
    compile_driver_faults,
    compile_litert_android,
    compile_opencl_imports,
    opencl,  # noqa: F401 (a fixture, which skips where there is no driver)
)
from tests.test_accelerator_buffers import run
from tests.test_imported_buffers import ARM

_PRELUDE = """
import ctypes, mmap
from tests.litert_c import HOST, OPENCL, LiteRt
SHIM = os.environ["SHIM"]
shim = ctypes.CDLL(SHIM)
shim.AskedTypes.restype = ctypes.c_char_p
P = ctypes.c_void_p
AHARDWAREBUFFER, DMA_BUF = 2, 4

def correct(litert, buffers, arrays=EXPECTED):
    for buffer, want in zip(buffers, arrays, strict=True):
        assert np.allclose(litert.read(buffer, want), want, atol=1e-5)
"""


@pytest.fixture(scope="module")
def accelerator() -> Path:
    return bazel.accelerator()


def on_android(accelerator: Path, folder: Path, body: str, driver: Path, **env: str) -> None:
    (folder / "shim").mkdir()
    shim = compile_litert_android(folder / "shim")
    variables = {"SHIM": str(shim), "ACCELERATOR": str(accelerator), "LD_LIBRARY_PATH": str(driver.parent)}
    run(accelerator, _PRELUDE + body, "opencl", **{**variables, **env})


_IMPORTED = """
android = ctypes.CDLL("libnativewindow.so")
android.MakeHardwareBuffer.restype = P
litert = LiteRt(SHIM, MODEL, quadra_options="backend = opencl")
first, then = ("2,4,1,5", "") if IMPORTS else ("1,2,4,5", "")
assert shim.AskedTypes().decode().split()[-3:] == 3 * ["10," + first], shim.AskedTypes()

def shared(kind, like, size=None):
    fd = os.memfd_create("dma-buf")
    os.truncate(fd, 4096)
    view = np.frombuffer(mmap.mmap(fd, 4096), like.dtype, like.size)
    view[:] = like.ravel()
    handle = fd if kind == DMA_BUF else android.MakeHardwareBuffer(fd, size or like.nbytes, 0x21)
    shim.NameMemory(P(view.ctypes.data), kind, P(handle))
    return view, litert.over(view.ctypes.data, like)

for kind in (DMA_BUF, AHARDWAREBUFFER):
    (feed, source), *outputs = [shared(kind, one) for one in (FEED[0], *[one * 0 for one in EXPECTED])]
    for _ in range(2):
        litert.run([source], [buffer for _, buffer in outputs])
        for (view, _), want in zip(outputs, EXPECTED):
            assert np.allclose(view, want.ravel(), atol=1e-5)
            view[:] = np.nan
        assert copied() == [0 if IMPORTS else EVERYTHING], copied()
    fence = os.eventfd(0)
    litert.set_fence(source, fence)
    start = time.monotonic()
    threading.Timer(0.1, os.eventfd_write, [fence, 1]).start()
    litert.run([source], [buffer for _, buffer in outputs])
    assert time.monotonic() - start > 0.09
    assert np.allclose(outputs[0][0], EXPECTED[0].ravel(), atol=1e-5)
feed, small = shared(AHARDWAREBUFFER, FEED[0], 4)
litert.run([small], [buffer for _, buffer in outputs])
assert copied() == [FEED[0].nbytes if IMPORTS else EVERYTHING]
assert np.allclose(outputs[0][0], EXPECTED[0].ravel(), atol=1e-5)
"""


@pytest.mark.parametrize("extensions", [ARM, ""], ids=["imports", "copies"])
def test_memory_of_the_system_is_imported_or_copied(accelerator, tmp_path, opencl, extensions):
    """Its types are asked for before the host's where the driver imports it. What it refuses is copied, as ever."""
    driver = compile_opencl_imports(tmp_path)
    everything = "EVERYTHING = FEED[0].nbytes + sum(one.nbytes for one in EXPECTED)\n"
    body = f"IMPORTS = {bool(extensions)}\n{everything}{_IMPORTED}"
    on_android(accelerator, tmp_path, body, driver, IMPORTS=extensions)


def test_an_environment_that_fails_to_get_opencl_keeps_no_context_that_is_gone(accelerator, tmp_path, opencl):
    """Its options have Quadra's context, and it holds no reference. The models that follow have another, or the same. And
    where the device was lost, the same environment keeps working, with a new context of Quadra's."""
    driver = compile_driver_faults(tmp_path / "libOpenCL.so")
    on_android(
        accelerator,
        tmp_path,
        """
def buffers():
    return litert.buffer(OPENCL, FEED[0]), [litert.buffer(OPENCL, one) for one in EXPECTED]

def runs(compiled, is_async):
    source, results = buffers()
    litert.write(source, FEED[0])
    assert not litert.run([source], results, is_async=is_async, compiled=compiled)
    correct(litert, results)
    assert copied() == [0]
    for buffer in (source, *results):
        litert.destroy(buffer)

shim.RefuseOpenCl(1)
litert = LiteRt(SHIM, MODEL, quadra_options="backend = opencl")
runs(litert.compiled, True)
litert.destroy_models()
for _ in range(3):
    model = litert.compile(MODEL)
    runs(model, True)
    litert.destroy_models()

model = litert.compile(MODEL)
os.environ["DRIVER_FAULTS"] = "clFinish@*=lost"
try:
    runs(model, False)
    raise AssertionError("it ran")
except RuntimeError as error:
    assert "LiteRt" in str(error), error
os.environ["DRIVER_FAULTS"] = ""
litert.destroy_models()
model = litert.compile(MODEL)
runs(model, False)
""",
        driver,
        DRIVER_FAULTS_GPU="1",
        DRIVER_FAULTS="",
    )
