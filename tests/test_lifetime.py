"""Threads, and the life of delegates, on both backends; each test in a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from host_tools.base import child_process, settings
from host_tools.base.errors import CommandFailed
from host_tools.dev import sanitize
from host_tools.drivers import gpus
from tests import on_driver
from tests.delegate import Refused, environment
from tests.faults import egl  # noqa: F401 (a fixture)
from tests.model_builder import Model
from tests.vectors.case import constant

IMAGE = (1, 4, 5, 6)
BACKENDS = ("opencl", "gles")


def small_model() -> bytes:
    model = Model()
    y = model.conv2d(
        model.input(IMAGE),
        constant("lifetime/w", (8, 3, 3, 6)),
        constant("lifetime/b", (8,)),
        stride=(2, 2),
        activation="RELU",
    )
    model.output(model.add(y, y), model.softmax(y))
    return model.bytes()


def long_model(size: int = 96) -> bytes:
    """Long enough to be interrupted; a small one where each work-item is interpreted."""
    model = Model()
    y = model.input((1, size, size, 64))
    for i in range(3):
        y = model.conv2d(y, constant(f"lifetime/long{i}", (64, 3, 3, 64)) * 0.05)
    model.output(y)
    return model.bytes()


_PRELUDE = """
import ctypes, gc, json, os, signal, sys, threading, time
import numpy as np
from tests import cpu
from tests.delegate_worker import invoke, open_model, report
from tests.test_lifetime import IMAGE, constant, long_model, small_model
library, options, backends = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
MODEL, FEED = small_model(), [constant("lifetime/feed", IMAGE)]
EXPECTED = cpu.run(MODEL, FEED)

def opened(backend, model=MODEL, **given):
    interpreter, delegate = open_model(library, model, {"backend": backend, **options, **given})
    told = report(library, delegate)
    on_cpu = [node for node in told["nodes"] if node["on"] != "gpu"]
    assert told["backend"] == backend and not on_cpu, ("REFUSED", told["backend_notes"], on_cpu)
    return interpreter, delegate

def right(interpreter):
    outputs = invoke(interpreter, FEED)
    for got, want in zip(outputs, EXPECTED, strict=True):
        assert np.allclose(got, want, atol=1e-5), np.abs(got - want).max()
    return [output.tobytes() for output in outputs]

failures = []
def in_thread(work, *args):
    def guarded():
        try:
            work(*args)
        except BaseException as error:
            failures.append(error)
    thread = threading.Thread(target=guarded)
    thread.start()
    return thread

def join(*threads):
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive(), "hangs"
    assert not failures, failures
"""


def run(library: Path, body: str, *backends: str, timeout_s: float = 120, env: dict[str, str] | None = None) -> Any:
    """What the script prints in its last line, as JSON; None if that is nothing."""
    missing = [f"{name}: {error}" for name in backends if not on_driver.session() and (error := _error_of(name))]
    if missing:
        pytest.skip(f"not on this machine: {'; '.join(missing)}")
    entry = on_driver.entry()
    script = [sys.executable, "-X", "faulthandler", "-c", _PRELUDE + body, library, json.dumps(dict(entry.options))]
    try:
        done = child_process.run(
            entry.command([*script, *backends]),
            cwd=settings.ROOT,
            env={**environment(library), **(env or {}), **entry.env},
            timeout_s=timeout_s * sanitize.slower(library),
        )
    except CommandFailed as error:
        raise (Refused if "('REFUSED'" in str(error) else AssertionError)(error.came_back) from error
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else None


@pytest.fixture
def backends():
    """Those of tests that use all at once; the row's alone on a row of the table of drivers."""
    return on_driver.backends(BACKENDS)


_errors: dict[str, str] = {}


def _error_of(backend: str) -> str:
    if backend not in _errors:
        _errors[backend] = getattr(gpus, backend)()[0].get("error", "")
    return _errors[backend]


def test_both_apis_from_two_threads_each_give_the_same_bits_a_thousand_times(library, backends):
    """An interpreter is not reentrant: a lock for each."""
    run(
        library,
        """
made = [opened(backend) for backend in backends]
locks = [threading.Lock() for _ in made]
first = [right(interpreter) for interpreter, _ in made]
def work(i):
    for _ in range(249):
        with locks[i]:
            assert right(made[i][0]) == first[i]
join(*[in_thread(work, i) for i in (0, -1, 0, -1)])
""",
        *backends,
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_made_invoked_and_destroyed_on_three_threads(library, backend):
    run(
        library,
        """
held = []
join(in_thread(lambda: held.append(opened(backends[0]))))
join(in_thread(lambda: right(held[0][0])))
join(in_thread(held.clear))
join(in_thread(lambda: right(opened(backends[0])[0])))
""",
        backend,
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_hundred_lives_leave_nothing_behind(library, backend):
    grown = run(
        library,
        """
def owned():
    pages = int(open("/proc/self/statm").read().split()[1])
    return [pages * 4, len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))]
for life in range(200):
    interpreter, delegate = opened(backends[0])
    right(interpreter)
    del interpreter, delegate
    if life == 60:
        before = owned()
def grown():
    return [now - then for now, then in zip(owned(), before)]
end = time.monotonic() + 10
while grown()[1] > 0 and time.monotonic() < end:  # a thread that was told to end leaves the list when it is scheduled
    time.sleep(0.05)
print(json.dumps(grown()))
""",
        backend,
    )
    kib, threads, files = grown
    more = f"after 140 lives: {kib} KiB, {threads} threads, {files} files more"
    assert (kib < 3000 or sanitize.is_sanitized(library)) and threads == 0 and files == 0, more


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_delegates_at_once_and_the_first_goes_first(library, backend):
    run(
        library,
        """
one, two = opened(backends[0]), opened(backends[0])
for _ in range(3):
    assert right(one[0]) == right(two[0])
del one
right(two[0])
three = opened(backends[0])
del two
right(three[0])
""",
        backend,
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_interpreter_outlives_its_delegate_object(library, backend):
    """TFLite forbids it; applications do it at exit."""
    run(
        library,
        """
interpreter, delegate = opened(backends[0])
first = right(interpreter)
ctypes.PyDLL(library).tflite_plugin_destroy_delegate(ctypes.c_void_p(delegate._get_native_delegate_pointer()))
delegate._library = None  # it is destroyed
assert right(interpreter) == first
del interpreter, delegate
right(opened(backends[0])[0])
""",
        backend,
    )


@pytest.mark.parametrize("ending", ["pass", "sys.exit()", "os._exit(0)", "gc.collect(); kept.reverse()"])
def test_a_process_ends_with_live_delegates(library, backends, ending):
    run(
        library,
        f"""
kept = [opened(backend) for backend in backends]
for interpreter, _ in kept: right(interpreter)
sys.modules["kept"] = kept
{ending}
""",
        *backends,
        timeout_s=30,
    )


@pytest.mark.parametrize("backend", ["gles"])
def test_after_a_lost_context_new_delegates_work_beside_the_old(library, egl, backend):
    if "egl_library" in on_driver.entry().options:
        pytest.skip("the library that loses contexts is one around the system's EGL")
    run(
        library,
        f"""
os.environ["EGL_FAULTS"] = "lost_after=12"
one, delegate = opened("gles", egl_library="{egl}")
right(one)
def fails():
    try:
        invoke(one, FEED)
    except RuntimeError as error:
        assert "GL_CONTEXT_LOST" in str(error), error
        return True
assert fails()
os.environ["EGL_FAULTS"] = ""
two, other = opened("gles", egl_library="{egl}")
right(two)
assert fails()
from ai_edge_litert.interpreter import Interpreter
three = Interpreter(model_content=MODEL, experimental_delegates=[delegate])
[note] = report(library, delegate)["backend_notes"]
assert "make the delegate and its interpreter anew" in note, note
right(three)  # on the CPU
del one, delegate, three
right(two)
""",
        backend,
    )


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_process_ends_while_a_model_runs(library, backend):
    run(
        library,
        """
interpreter, delegate = opened(backends[0], long_model())
feed = [constant("lifetime/long", (1, 96, 96, 64))]
invoke(interpreter, feed)
def work():
    while True: invoke(interpreter, feed)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.5)
""",
        backend,
        timeout_s=60,
    )


@pytest.mark.parametrize("backend", ["gles"])
def test_the_applications_context_stays_current_and_as_it_was(library, backend):
    run(
        library,
        """
egl = ctypes.CDLL(options.get("egl_library", "libEGL.so.1"))
egl.eglGetProcAddress.restype, egl.eglGetProcAddress.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
def function(name, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)(egl.eglGetProcAddress(name.encode()))
void, number, real = ctypes.c_void_p, ctypes.c_uint, ctypes.c_float
display = function("eglGetPlatformDisplayEXT", void, number, void, void)(0x31DD, None, None)
assert function("eglInitialize", number, void, void, void)(display, None, None)
function("eglBindAPI", number, number)(0x30A0)
context = function("eglCreateContext", void, void, void, void, void)(
    display, None, None, (ctypes.c_int * 5)(0x3098, 3, 0x30FB, 1, 0x3038))
assert function("eglMakeCurrent", number, void, void, void, void)(display, None, None, context)
current = function("eglGetCurrentContext", void)
get_error = function("glGetError", number)
get = function("glGetIntegerv", None, number, void)
buffers = (ctypes.c_uint * 2)()
function("glGenBuffers", None, ctypes.c_int, void)(2, buffers)
bind = function("glBindBuffer", None, number, number)
data = function("glBufferData", None, number, ctypes.c_ssize_t, void, number)
bind(0x90D2, buffers[0]); data(0x90D2, 16, (real * 4)(1, 2, 3, 4), 0x88E4)
bind(0x8A11, buffers[1])
function("glViewport", None, *[ctypes.c_int] * 4)(1, 2, 3, 4)
function("glActiveTexture", None, number)(0x84C3)
function("glEnable", None, number)(0x0C11)
def state():
    # storage and uniform buffers, program, viewport, active texture, bound texture, scissor test
    values = (ctypes.c_int * 4)()
    found = []
    for what in (0x90D3, 0x8A28, 0x8B8D, 0x0BA2, 0x84E0, 0x8069, 0x0C11):
        get(what, values)
        found += list(values)
    return found
before = state()
interpreter, delegate = opened("gles")
for _ in range(3):
    assert current() == context
    right(interpreter)
assert current() == context and state() == before and get_error() == 0
del interpreter, delegate
assert current() == context and state() == before and get_error() == 0
mapped = function("glMapBufferRange", void, number, ctypes.c_ssize_t, ctypes.c_ssize_t, number)(0x90D2, 0, 16, 1)
assert list((real * 4).from_address(mapped)) == [1, 2, 3, 4]
# And the other way round: it ends what it shares with us.
interpreter, delegate = opened("gles")
function("eglTerminate", number, void)(display)
right(interpreter)
del interpreter, delegate
right(opened("gles")[0])
""",
        backend,
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_ctrl_c_while_it_runs(library, backend):
    """Python's handler runs on the main thread, when the invocation is over; the model goes on afterwards."""
    size = 8 if on_driver.sample_only() else 96
    run(
        library,
        f"""
interpreter, delegate = opened(backends[0], long_model({size}))
feed = [constant("lifetime/long", (1, {size}, {size}, 64))]
first = invoke(interpreter, feed)[0]
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        invoke(interpreter, feed)
    raise AssertionError("no KeyboardInterrupt")
except KeyboardInterrupt:
    pass
assert np.array_equal(invoke(interpreter, feed)[0], first)
""",
        backend,
    )


@pytest.mark.parametrize("backend", ["gles"])
def test_signals_are_not_for_our_thread(library, backend):
    run(
        library,
        """
interpreter, delegate = opened("gles")
threads = {}
for task in os.listdir("/proc/self/task"):
    status = dict(line.split(":", 1) for line in open(f"/proc/self/task/{task}/status"))
    threads.setdefault(status["Name"].strip(), int(status["SigBlk"], 16))
for name in ("SIGINT", "SIGTERM", "SIGCHLD", "SIGUSR1", "SIGPROF"):
    assert threads["quadra-gles"] >> (getattr(signal, name) - 1) & 1, name
assert not threads["quadra-gles"] >> (signal.SIGSEGV - 1) & 1
assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])
""",
        backend,
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_forked_child_is_refused_and_its_parent_goes_on(library, backend):
    run(
        library,
        """
interpreter, delegate = opened(backends[0])
first = right(interpreter)
child = os.fork()
if child == 0:
    signal.alarm(20)  # a hang ends here
    try:
        invoke(interpreter, FEED)
        os._exit(1)
    except Exception as error:
        if "fork" not in str(error): os._exit(2)
    made, other = open_model(library, MODEL, {"backend": backends[0]})
    told = report(library, other)
    if told["backend"] != "none" or "fork" not in told["backend_notes"][0]: os._exit(3)
    right(made)
    del made, other, interpreter, delegate
    os._exit(0)  # what a driver does when a forked child exits is its own affair: some wait for threads that are gone
assert os.waitpid(child, 0)[1] == 0, "the child ended otherwise"
assert right(interpreter) == first
""",
        backend,
    )
