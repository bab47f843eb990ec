"""Buffers of OpenGL ES as memory of kernels, in a context that shares objects with an app's; each test in a process of its
own."""

from __future__ import annotations

import pytest

from tests.faults import (
    compile_driver_faults,
    egl,  # noqa: F401 (a fixture, which skips where there is no driver)
)
from tests.test_lifetime import run

_PRELUDE = """
from ai_edge_litert.interpreter import load_delegate
from host_tools.drivers import gpus
from host_tools.replay.gl_functions import Gl
from tests.buffers_c import GL, HOST, OPENCL, Native, Source, refuses
from tests.cpu import reference_interpreter
from tests.model_builder import Model as Builder

native = Native(library)
gl = Gl()  # of the app, current in this thread
egl = gpus.load_egl()
egl.eglGetCurrentDisplay.restype = egl.eglGetCurrentContext.restype = ctypes.c_void_p
HANDLES = {"egl_display": egl.eglGetCurrentDisplay(), "egl_context": egl.eglGetCurrentContext()}
SSBO, DYNAMIC_COPY, READ = 0x90D2, 0x88EA, 1

def made(array):
    name = gl.made("Buffers")
    gl.BindBuffer(SSBO, name)
    gl.BufferData(SSBO, array.nbytes, array.ctypes.data, DYNAMIC_COPY)
    gl.check("make a buffer")
    return name

def read(name, like):
    got = np.empty_like(like)
    gl.BindBuffer(SSBO, name)
    ctypes.memmove(got.ctypes.data, gl.MapBufferRange(SSBO, 0, like.nbytes, READ), like.nbytes)
    gl.UnmapBuffer(SSBO)
    return got

class Model:
    def __init__(self, model=MODEL, handles=HANDLES, **options):
        self.delegate = load_delegate(library, {"backend": "gles", **options})
        if handles:
            native.use_contexts(self.delegate, **handles)
        self.source = Source(native, self.delegate)
        self.interpreter = reference_interpreter(model, experimental_delegates=[self.delegate])
        self.interpreter.allocate_tensors()
        self.input = self.interpreter.get_input_details()[0]["index"]
        self.outputs = [detail["index"] for detail in self.interpreter.get_output_details()]

    def bind(self, *buffers):
        for tensor, (name, like) in zip([self.input, *self.outputs], buffers):
            assert native.bind(self.delegate, tensor, GL, name, like.nbytes), native.said

    def report(self):
        return report(library, self.delegate)

    def copied(self):
        return [partition["copied_bytes"] for partition in self.report()["partitions"]]

    def refuses(self, *words):
        refuses(self.interpreter, *words)

EVERYTHING = FEED[0].nbytes + sum(one.nbytes for one in EXPECTED)
"""


def on_gl(library, body: str, **env: str):
    return run(library, _PRELUDE + body, "gles", env=env)


def test_kernels_work_on_an_apps_buffers_and_a_chain_passes_them_on(library, egl):
    """Written by the app's context right before, read by it right after. With a target that reads through textures, too."""
    on_gl(
        library,
        """
m = Builder()
m.output(m.elementwise("TANH", m.input(EXPECTED[0].shape)))
model, following = Model(), Model(m.bytes())
assert model.source.offers == {model.input: (FEED[0].nbytes, GL)} | {
    tensor: (one.nbytes, GL) for tensor, one in zip(model.outputs, EXPECTED)}
before = right(model.interpreter)
assert model.copied() == [EVERYTHING]
source, results = made(FEED[0] * 0), [made(one * 0) for one in EXPECTED]
last = made(EXPECTED[0] * 0)
model.bind((source, FEED[0]), *zip(results, EXPECTED))
following.bind((results[0], EXPECTED[0]), (last, EXPECTED[0]))
model.interpreter.set_tensor(model.input, FEED[0] * 0)
for factor in (1, 0.5):
    feed = np.ascontiguousarray(FEED[0] * np.float32(factor))
    gl.BindBuffer(SSBO, source)
    gl.BufferData(SSBO, feed.nbytes, feed.ctypes.data, DYNAMIC_COPY)
    model.interpreter.invoke()
    following.interpreter.invoke()
    want = cpu.run(MODEL, [feed])
    for name, one in zip([*results, last], [*want, np.tanh(want[0])]):
        assert np.allclose(read(name, one), one, atol=1e-5)
    assert model.copied() == following.copied() == [0]
assert native.bind(model.delegate, model.outputs[1])
model.interpreter.invoke()
assert model.copied() == [EXPECTED[1].nbytes]
assert np.allclose(model.interpreter.get_tensor(model.outputs[1]), cpu.run(MODEL, [feed])[1], atol=1e-5)
for tensor in (model.input, model.outputs[0]):
    assert native.bind(model.delegate, tensor)
assert right(model.interpreter) == before and model.copied() == [EVERYTHING]

phone = Model(target=os.path.join("host_tools", "request", "targets", "adreno-640.json"))
phone.bind((made(FEED[0]), FEED[0]), *zip(results, EXPECTED))
phone.interpreter.invoke()
for name, one in zip(results, EXPECTED):
    assert np.allclose(read(name, one), one, atol=1e-5)
assert phone.copied() == [0]
""",
    )


def test_a_buffer_or_context_that_cannot_serve_is_a_sentence(library, egl):
    on_gl(
        library,
        """
model, size = Model(), FEED[0].nbytes
before = right(model.interpreter)
small = made(FEED[0].ravel()[1:].copy())
def fails(name, *words):
    assert native.bind(model.delegate, model.input, GL, name, size), native.said
    model.refuses(*words)
    assert native.bind(model.delegate, model.input)
    assert right(model.interpreter) == before
assert not native.bind(model.delegate, model.input, GL, small, size - 4)
assert native.said.pop().endswith(f"it has {size - 4} bytes; the tensor has {size}")
fails(small, f"the buffer for input 0: it has {size - 4} bytes; the tensor has {size}")
fails(4711, "the buffer for input 0: there is no buffer 4711")
assert not native.bind(model.delegate, model.input, OPENCL, 64, size)
assert "the model runs on gles, not on OpenCL" in native.said.pop()
alone = Model(handles=None)
right(alone.interpreter)
assert alone.source.offers == {}
assert not native.bind(alone.delegate, alone.input, GL, small, size)
assert "the model runs on gles, in a context that shares no buffers" in native.said.pop()

wrong = Model(handles={**HANDLES, "egl_context": 64})
[note] = wrong.report()["backend_notes"]
assert note.startswith("gles: open an OpenGL ES 3.1 context: app's display: eglCreateContext(OpenGL ES 3.1): EGL_BAD_"), note
assert "next: give a context of OpenGL ES 3.1 with its display" in note
right(wrong.interpreter)
""",
    )


def test_an_apps_context_is_not_known_by_its_address(library, egl):
    """Another one may have it when the first has gone: each delegate makes a context that shares with what is there now."""
    on_gl(
        library,
        """
models = [Model(), Model()]
for model in models:
    right(model.interpreter)
assert len({native.contexts(model.delegate).egl_context for model in models}) == 2
alone = [Model(handles=None), Model(handles=None)]
assert len({native.contexts(model.delegate).egl_context for model in alone}) == 1
""",
    )


@pytest.mark.parametrize("fault", ["glDispatchCompute@*=lost", "glGetBufferParameteri64v@1=lost"])
def test_a_lost_device_is_a_sentence(library, egl, tmp_path, fault):
    driver = compile_driver_faults(tmp_path / "libEGL_faults.so")
    on_gl(
        library,
        f"""
model = Model(egl_library={str(driver)!r})
source, results = made(FEED[0]), [made(one * 0) for one in EXPECTED]
model.bind((source, FEED[0]), *zip(results, EXPECTED))
os.environ["DRIVER_FAULTS"] = {fault!r}
model.refuses("GL_CONTEXT_LOST", "next: make the delegate and its interpreter anew")
os.environ["DRIVER_FAULTS"] = ""
fresh = Model(egl_library={str(driver)!r})
fresh.bind((source, FEED[0]), *zip(results, EXPECTED))
fresh.interpreter.invoke()
for name, one in zip(results, EXPECTED):
    assert np.allclose(read(name, one), one, atol=1e-5)
""",
    )
