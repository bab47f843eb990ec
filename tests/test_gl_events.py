"""Inferences on buffers of OpenGL ES that go on when the interpreter returns, EGL's sync objects and sync fences (stand-ins:
tests/egl/fences.c) that they wait for and leave. Each test in a process of its own."""

from __future__ import annotations

from tests.faults import (
    compile_driver_faults,
    compile_egl_fences,
    egl,  # noqa: F401 (a fixture, which skips where there is no driver)
    opencl,  # noqa: F401
)
from tests.test_gl_buffers import on_gl
from tests.test_lifetime import run

_PRELUDE = """
import select
from tests.buffers_c import FENCE_FD, GPU_EVENT
egl = ctypes.CDLL("libEGL.so.1")
P = ctypes.c_void_p
egl.eglGetProcAddress.restype = P
def extension(name, result, *parameters):
    return ctypes.CFUNCTYPE(result, *parameters)(egl.eglGetProcAddress(name.encode()))
client_wait = extension("eglClientWaitSyncKHR", ctypes.c_int, P, P, ctypes.c_int, ctypes.c_uint64)
create = extension("eglCreateSyncKHR", P, P, ctypes.c_int, P)
signal_sync = extension("eglSignalSyncKHR", ctypes.c_int, P, P, ctypes.c_int)
DISPLAY, FENCE, REUSABLE, SIGNALED, COME = HANDLES["egl_display"], 0x30F9, 0x30FA, 0x30F2, 0x30F6

def on_buffers(model, *arrays):
    model.source.buffers = {tensor: (GL, made(array), array.nbytes)
                            for tensor, array in zip([model.input, *model.outputs], arrays)}
    return [name for _, name, _ in model.source.buffers.values()]

def check(names, wanted):
    for name, one in zip(names, wanted):
        assert np.allclose(read(name, one), one, atol=1e-5)
        gl.BindBuffer(SSBO, name)
        nothing = one * np.float32(np.nan)
        gl.BufferData(SSBO, nothing.nbytes, nothing.ctypes.data, DYNAMIC_COPY)

def new(driver, model=MODEL, deadline_ms=100, **options):
    fresh = Model(model, egl_library=driver, **options)
    fresh.source._struct.deadline_ms = deadline_ms
    native.library.QuadraDelegateSetBufferSource(P(fresh.delegate._get_native_delegate_pointer()), ctypes.byref(fresh.source._struct))
    return fresh
"""


def test_runs_go_on_behind_syncs_of_egl_and_a_chain_passes_them_on(library, egl, tmp_path):
    """The host waits for nothing before it reads; then for what goes on, for a profile, and where nobody takes the event."""
    driver = compile_driver_faults(tmp_path / "libEGL_faults.so")
    on_gl(
        library,
        _PRELUDE
        + f"""
DRIVER = {str(driver)!r}
faults = ctypes.CDLL(DRIVER)
faults.QuadraFaultsReport.restype = ctypes.c_char_p
calls = lambda name: json.loads(faults.QuadraFaultsReport())["calls"][name]
m = Builder()
m.output(m.elementwise("TANH", m.input(EXPECTED[0].shape)))
model, following = new(DRIVER), new(DRIVER, m.bytes())
source, *results = on_buffers(model, FEED[0], *EXPECTED)
last, = on_buffers(following, EXPECTED[0], EXPECTED[0])[1:]
following.source.buffers[following.input] = model.source.buffers[model.outputs[0]]
model.source.goes_on = following.source.goes_on = GPU_EVENT
model.interpreter.invoke()
waits = calls("glClientWaitSync")
for _ in range(3):
    model.interpreter.invoke()
    following.source.events[following.input] = model.source.done[-1]
    following.interpreter.invoke()
    assert calls("glClientWaitSync") == waits and calls("eglClientWaitSyncKHR") == 0
    assert client_wait(DISPLAY, following.source.done[-1], 1, 10**10) == COME
    check([*results, last], [*EXPECTED, np.tanh(EXPECTED[0])])
assert model.copied() == following.copied() == [0]
model.source.takes = False
model.interpreter.invoke()
assert calls("glClientWaitSync") == waits + 1
model.source.takes, model.source.goes_on = True, 0
model.interpreter.invoke()
assert model.source.done[-1] is None and calls("glClientWaitSync") == waits + 2
model.source.goes_on = FENCE_FD  # which this driver has none of
model.interpreter.invoke()
assert model.source.done[-1] is None
check(results, EXPECTED)
os.environ["DRIVER_FAULTS"] = "eglCreateSyncKHR@*=0x3003"
model.source.goes_on = GPU_EVENT
model.interpreter.invoke()
assert model.source.done[-1] is None
check(results, EXPECTED)
os.environ["DRIVER_FAULTS"] = "eglWaitSyncKHR@*=0x300c"
model.source.events[model.input] = create(DISPLAY, FENCE, None)
model.refuses("wait for an input: EGL_BAD_PARAMETER")
os.environ["DRIVER_FAULTS"] = ""
model.interpreter.invoke()
del model, following
gc.collect()
live = json.loads(faults.QuadraFaultsReport())["live"]
assert live["glSync"] == 0, live
""",
    )


def test_a_sync_that_does_not_come_is_a_sentence(library, egl):
    on_gl(
        library,
        _PRELUDE
        + """
model = new("")
results = on_buffers(model, FEED[0], *EXPECTED)[1:]
event = create(DISPLAY, REUSABLE, None)
model.source.events[model.input] = event
model.refuses("wait for an input: its event did not come within 100 ms", "who is to complete it")
assert signal_sync(DISPLAY, event, SIGNALED)
model.interpreter.invoke()
check(results, EXPECTED)
""",
    )


def test_other_models_run_while_one_waits_for_a_sync(library, egl, tmp_path):
    """Without an app's context all models of the process share a thread."""
    driver = compile_driver_faults(tmp_path / "libEGL_faults.so")
    on_gl(
        library,
        _PRELUDE
        + f"""
import contextlib
DRIVER = {str(driver)!r}
faults = ctypes.CDLL(DRIVER)
faults.QuadraFaultsReport.restype = ctypes.c_char_p
model, other = [new(DRIVER, deadline_ms=20000, handles=None) for _ in range(2)]
display = native.contexts(model.delegate).egl_display
egl.eglCreateContext.restype = P
version = (ctypes.c_int * 3)(0x3098, 3, 0x3038)
# Mesa makes no sync for another display than that of the context.
app = egl.eglCreateContext(P(display), None, None, version)
assert egl.eglMakeCurrent(P(display), None, None, P(app))
event = create(display, REUSABLE, None)
feed = FEED[0].copy()
model.source.buffers[model.input] = (HOST, feed.ctypes.data, feed.nbytes)
model.source.events[model.input] = event
def wait():
    with contextlib.suppress(RuntimeError):  # Mesa says nothing to who waited until the signal
        model.interpreter.invoke()
waiting = threading.Thread(target=wait)
waiting.start()
while json.loads(faults.QuadraFaultsReport())["calls"]["eglClientWaitSyncKHR"] == 0:
    assert waiting.is_alive()
    time.sleep(0.01)
right(other.interpreter)
assert waiting.is_alive()
assert signal_sync(display, event, SIGNALED)
waiting.join()
model.interpreter.invoke()
for tensor, want in zip(model.outputs, EXPECTED):
    assert np.allclose(model.interpreter.get_tensor(tensor), want, atol=1e-5)
""",
    )


_FENCES = """
import signal
from tests.buffers_c import refuses

def fences_that_do_not_come(model):
    model.source.goes_on, model.source.event_kind = 0, FENCE_FD
    fence = model.source.events[model.input] = os.eventfd(0)
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)  # the deadline does not begin anew
    refuses(model.interpreter, "wait for an input: its event did not come within 100 ms", "who is to complete it")
    signal.setitimer(signal.ITIMER_REAL, 0)
    model.source.events[model.input] = 4711
    refuses(model.interpreter, "wait for an input: the file descriptor 4711 is no sync fence")
    model.source.events[model.input] = fence
    threading.Timer(0.05, os.eventfd_write, [fence, 1]).start()
    model.interpreter.invoke()
    return fence
"""


def test_sync_fences_are_waited_for_by_the_context_and_come_at_the_end(library, egl, tmp_path):
    """Where the driver has them; else the host waits for an input's."""
    driver = compile_egl_fences(tmp_path / "libEGL_fences.so")
    on_gl(
        library,
        _PRELUDE
        + _FENCES
        + f"""
DRIVER = {str(driver)!r}
fences = ctypes.CDLL(DRIVER)
def counts():
    found = (ctypes.c_int * 2)()
    fences.FencesReport(found)
    return list(found)  # waits of contexts, fences alive
def has_come(fd):
    return bool(select.select([fd], [], [], 0)[0])

os.environ["FENCES_DELAY_MS"] = "200"
model = new(DRIVER)
results = on_buffers(model, FEED[0], *EXPECTED)[1:]
fences_that_do_not_come(model)
check(results, EXPECTED)
assert counts() == [0, 0]
fence = model.source.events[model.input] = os.eventfd(0)
model.source.goes_on = FENCE_FD
threading.Timer(0.05, os.eventfd_write, [fence, 1]).start()
model.interpreter.invoke()
done = os.dup(model.source.done[-1])
assert has_come(fence) and not has_come(done) and counts() == [1, 1], counts()
assert select.select([done], [], [], 10)[0]
check(results, EXPECTED)
model.source.events[model.input] = 4711
refuses(model.interpreter, "wait for an input: the file descriptor 4711 is no sync fence")
del model.source.events[model.input]
for _ in range(3):
    model.interpreter.invoke()
assert counts() == [1, 1], counts()
del model
gc.collect()
assert counts() == [1, 0], counts()

plain = new("")
results = on_buffers(plain, FEED[0], *EXPECTED)[1:]
fences_that_do_not_come(plain)
check(results, EXPECTED)
""",
    )


def test_on_opencl_the_host_waits_for_sync_fences(library, opencl):
    run(
        library,
        """
import pyopencl as cl
from tests.buffers_c import FENCE_FD, Native, Source
native = Native(library)
class Model:
    pass
model = Model()
model.interpreter, model.delegate = opened("opencl")
model.source = Source(native, model.delegate, 100)
model.interpreter.allocate_tensors()
model.input = model.interpreter.get_input_details()[0]["index"]
source = FEED[0].copy()
model.source.buffers[model.input] = (0, source.ctypes.data, source.nbytes)
"""
        + _FENCES
        + """
model.source.goes_on = FENCE_FD
fences_that_do_not_come(model)
assert model.source.done[-1] is None
for i, detail in enumerate(model.interpreter.get_output_details()):
    assert np.allclose(model.interpreter.get_tensor(detail["index"]), EXPECTED[i], atol=1e-5)
""",
        "opencl",
    )


_STATES = """
from tests.signature_models import with_signatures
from tests.test_kept_states import CACHE, PART, States, gone_on
built = with_signatures(gone_on(), gone_on(), ("prefill", "decode"), ("cache", "part", "at"), made_names=("cache", "y"))
model = new(DRIVER, built, deadline_ms=5000, states="cache")
states, cache = States(library, model.delegate), np.zeros(CACHE, np.float32)
part_tensor, at_tensor = [detail["index"] for detail in model.interpreter.get_input_details()[1:]]
runners = [model.interpreter.get_signature_runner(key) for key in ("prefill", "decode")]
model.source.goes_on = GPU_EVENT
for turn in range(6):
    row, at = constant(f"states/turn{turn}", PART), np.int32([0, turn, 0, 0])
    part, where, twice = made(row), made(at), made(row * 0)
    model.source.buffers = {part_tensor: (GL, part, row.nbytes), at_tensor: (GL, where, at.nbytes),
                            model.outputs[1]: (GL, twice, row.nbytes)}
    # The first run of each signature compiles. The others begin behind an event, and nobody waits for it here.
    model.source.events = {} if turn in (0, 2) else {part_tensor: create(DISPLAY, FENCE, None)}
    runner = runners[turn // 2 % 2]
    runner._interpreter_wrapper.AllocateTensors(runner._subgraph_index)
    runner._interpreter_wrapper.Invoke(runner._subgraph_index)
    assert model.source.done[-1] is not None, turn
    cache[:, turn] = row[:, 0]
    if turn == 3:
        assert np.array_equal(states.read("cache", cache), cache), states.said
assert client_wait(DISPLAY, model.source.done[-1], 1, 10**10) == COME
assert np.array_equal(states.read("cache", cache), cache), states.said
assert np.allclose(read(twice, row), 2 * row, atol=1e-5)
one, other = model.report()["partitions"]
assert one["copied_bytes"] == other["copied_bytes"] == 0, (one, other)
runner._interpreter_wrapper.Invoke(runner._subgraph_index)
assert model.source.done[-1] is not None
assert states.write(None) and not states.read("cache", cache).any(), states.said
model.source.goes_on = 0
runner._interpreter_wrapper.Invoke(runner._subgraph_index)
only = np.zeros_like(cache)
only[:, turn] = row[:, 0]
assert model.source.done[-1] is None and np.array_equal(states.read("cache", cache), only)
"""


def test_runs_with_states_go_on_and_signatures_and_the_host_wait_for_each_other(library, egl, tmp_path):
    """Two in turn of each signature, which share the state; it is read and cleared while a run is under way."""
    driver = compile_driver_faults(tmp_path / "libEGL_faults.so")
    on_gl(library, _PRELUDE + f"DRIVER = {str(driver)!r}\n" + _STATES)
