"""States in place: where an input and the output that DYNAMIC_UPDATE_SLICE makes of it are one memory, an inference writes
the new part and nothing else; where they are two, the old numbers are copied first. Numbers are those of the CPU's kernels
on both APIs, and the report says how many bytes moved for it."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import TOLERANCE, Quadra, options
from tests.faults import compile_driver_faults
from tests.model_builder import Model
from tests.runs import BACKENDS, PRECISIONS
from tests.state_models import both, one_cache, product, transposed, updated
from tests.test_lifetime import run
from tests.vectors.case import constant

on_both = pytest.mark.parametrize("backend", BACKENDS)
CASES = {
    "unread": {},
    "transposed": {"reads": transposed},
    "product": {"reads": product},
    "old_and_new": {"reads": both},
    "two_updates": {"reads": both, "updates": 2},
    # Four neighbours are not of one pixel: what reads the state reads a copy in slices.
    "odd_channels": {"reads": transposed, "cache": (1, 6, 2, 5), "part": (1, 2, 2, 3)},
    "batches": {"reads": both, "cache": (3, 6, 2, 8), "part": (2, 2, 1, 4)},
    "ints": {"cache": (1, 6, 2, 8), "part": (1, 2, 2, 8), "dtype": "int32"},
}


def feeds(model, name: str, at: int = 3) -> list[np.ndarray]:
    made = []
    for i, value in enumerate(model.inputs):
        if len(value.shape) == 1:
            made.append(np.full(value.shape, at + i, np.int32))
        else:
            made.append(
                (constant(f"states/{name}/{i}", value.shape, -2, 2) * (10 if value.dtype == "int32" else 1)).astype(
                    value.dtype
                )
            )
    return made


def in_place(outcome) -> int:
    """How many updates write their part alone."""
    kernels = [dispatch["kernel"] for part in outcome.report["partitions"] for dispatch in part["dispatches"]]
    return kernels.count("update_in_place")


@on_both
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_an_updated_input_is_what_the_cpu_makes_of_it(quadra: Quadra, backend, precision, name):
    """In the interpreter's memory, where both are apart. Parts that would end behind the end are moved back."""
    built = one_cache(**CASES[name])
    rounds = [feeds(built, name, at) for at in (0, 1, -5, 100)]
    model = built.bytes()
    outcome = quadra.run(model, *rounds, **options(backend=backend, precision=precision))
    assert not outcome.error and not outcome.on_cpu(), outcome.error or outcome.on_cpu()
    assert in_place(outcome) == CASES[name].get("updates", 1)
    for got, given in zip(outcome.outputs, rounds, strict=True):
        outcome.outputs = [got]
        outcome.check(cpu.run(model, given), TOLERANCE[precision])
    (part,) = outcome.report["partitions"]
    size = rounds[0][0].nbytes
    assert part["copied_states_bytes"] == (size if backend == "opencl" else 2 * size)
    assert part["copied_bytes"] == sum(part[f"copied_{what}_bytes"] for what in ("inputs", "outputs", "states"))


@on_both
def test_only_copies_that_something_reads_are_made(quadra: Quadra, backend):
    """What reads the new state reads it where it is, unless its kernel for CPUs addresses single lanes of slices."""

    def dispatches(name: str) -> list[str]:
        model = one_cache(**CASES[name])
        outcome = quadra.run(model.bytes(), feeds(model, name), **options("adreno-640", "opencl"))
        return [dispatch["kernel"] for dispatch in outcome.report["partitions"][0]["dispatches"]]

    # The part and its place.
    assert dispatches("unread") == ["to_slices", "to_slices", "update_in_place"]
    assert dispatches("product").count("to_slices") == 2
    assert dispatches("transposed").count("to_slices") == 2
    assert dispatches("odd_channels").count("to_slices") == 3
    assert dispatches("two_updates").count("to_slices") > 4


@pytest.mark.parametrize("target", ["adreno-740-gles", "mali-g76-gles", "adreno-640-gles"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_states_that_opengl_es_reads_as_phones_do(quadra: Quadra, target, precision):
    """Through texel buffers and images, with few storage blocks."""
    built = one_cache(lambda m, old, new: [*both(m, old, new), *product(m, old, new)])
    given = feeds(built, "phones")
    outcome = quadra.run(built.bytes(), given, **options(target, "gles", precision=precision))
    outcome.check(cpu.run(built.bytes(), given), TOLERANCE[precision])
    assert in_place(outcome) == 1


@on_both
@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_numbers_of_a_state_that_half_does_not_hold(quadra: Quadra, backend, precision):
    """Finite ones are finite where they are read, as those of any input are: a mask of them makes no NaN."""
    built = one_cache(transposed)
    given = feeds(built, "large")
    given[0][:, 7] = -1e9
    outcome = quadra.run(built.bytes(), given, **options(backend=backend, precision=precision))
    state, read = outcome.outputs[-1]
    assert (state[:, 7] == -1e9).all()
    assert (read[:, :, 7] == (-1e9 if precision == "f32" else -65504)).all() and in_place(outcome) == 1


@on_both
def test_tensors_of_a_plan_with_states_are_dumped(quadra: Quadra, backend, tmp_path):
    built = one_cache(both)
    given = feeds(built, "dumped")
    more = options(backend=backend, dump_tensors="1", dump_dir=str(tmp_path))
    outcome = quadra.run(built.bytes(), given, **more)
    want = cpu.run(built.bytes(), given)
    outcome.check(want)
    dumped = [np.fromfile(path, np.float32) for path in sorted(tmp_path.rglob("tensor_*.bin"))]
    assert in_place(outcome) == 1 and len(dumped) >= len(want)
    for one in want:
        assert any(other.size == one.size and np.allclose(other, one.ravel(), atol=1e-5) for other in dumped)


@on_both
def test_a_resized_state(quadra: Quadra, backend):
    built = one_cache(transposed, signature=(1, -1, 2, 8))
    given = feeds(built, "resized")
    longer = [constant("states/longer", (1, 40, 2, 8)), *given[1:]]
    longer[2] = np.int32([0, 37, 0, 0])
    outcome = quadra.run(built.bytes(), given, longer, given, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu() and in_place(outcome) == 1
    for got, want in zip(outcome.outputs, (given, longer, given), strict=True):
        for one, other in zip(got, cpu.run(built.bytes(), want), strict=True):
            np.testing.assert_array_equal(one, other)


@on_both
def test_a_state_of_a_plan_that_the_cache_keeps(quadra: Quadra, backend, tmp_path):
    built = one_cache(both, updates=2)
    given = feeds(built, "kept")
    for found in ("miss", "hit"):
        outcome = quadra.run(built.bytes(), given, **options(backend=backend, serialization_dir=str(tmp_path)))
        outcome.check(cpu.run(built.bytes(), given))
        assert outcome.report["partitions"][0]["cache"].startswith(found) and in_place(outcome) == 2


@pytest.mark.parametrize("target", ["", "mali-g76-buffers", "adreno-740-gles"])
@pytest.mark.parametrize("precision", PRECISIONS)
@on_both
def test_a_transposed_cache_takes_a_product_as_it_is(quadra: Quadra, backend, precision, target):
    """Its numbers become pixels of one channel each, which nothing has to make first."""
    m = Model()
    cache, x, at = m.input((1, 3, 10, 6)), m.input((1, 1, 1, 8)), m.input((4,), "int32")
    weights = constant("states/weights", (30, 8), -1, 1)
    part = m.reshape(m.fully_connected(x, weights, keep_num_dims=True), (1, 3, 10, 1))
    m.output(updated(m, cache, part, at))
    old, new = constant("states/turned", cache.shape, -2, 2), constant("states/x", x.shape, -1, 1)
    rounds = [[old, new, np.int32([0, 0, 0, place])] for place in (0, 4, 5, 9)]
    outcome = quadra.run(m.bytes(), *rounds, **options(target, backend, precision=precision))
    assert not outcome.error and in_place(outcome) == 1, outcome.error
    kernels = [dispatch["kernel"] for part in outcome.report["partitions"] for dispatch in part["dispatches"]]
    assert "reshape" not in kernels, kernels
    for got, given in zip(outcome.outputs, rounds, strict=True):
        outcome.outputs = [got]
        outcome.check(cpu.run(m.bytes(), given), TOLERANCE[precision])


@on_both
def test_programs_of_states_are_checked(quadra: Quadra, backend):
    built = one_cache(both, updates=2)
    given = feeds(built, "checked")
    outcome = quadra.run(built.bytes(), given, **options(backend=backend, self_check="1"))
    outcome.check(cpu.run(built.bytes(), given))
    assert in_place(outcome) == 2 and not outcome.report["partitions"][0]["notes"]


_STEPS = """
from tests.buffers_c import GL, HOST, OPENCL, Native
from tests.state_models import CACHE, PART, both, one_cache
native = Native(library)
BUILT = one_cache(both)
interpreter, delegate = opened(backends[0], BUILT.bytes())
interpreter.allocate_tensors()
CPU = cpu.reference_interpreter(BUILT.bytes())
CPU.allocate_tensors()
state, part, at = [detail["index"] for detail in interpreter.get_input_details()]
out, *others = [detail["index"] for detail in interpreter.get_output_details()]
SIZE = 4 * int(np.prod(CACHE))
cache = constant("states/cache", CACHE)

def copied():
    (one,) = report(library, delegate)["partitions"]
    assert [dispatch["kernel"] for dispatch in one["dispatches"]].count("update_in_place") == 1
    return one["copied_states_bytes"]

def step(position, given=None):
    '''The new cache by the CPU, after one inference of both on the same numbers.'''
    global cache
    row = constant(f"states/row{position}", PART)
    where = np.int32([0, position, 0, 0])
    for one, old in ((CPU, cache), (interpreter, given)):
        if old is not None:
            one.set_tensor(state, old)
        one.set_tensor(part, row)
        one.set_tensor(at, where)
        one.invoke()
    for tensor in others:
        assert np.allclose(interpreter.get_tensor(tensor), CPU.get_tensor(tensor), atol=1e-5), tensor
    cache = CPU.get_tensor(out)
    return cache
"""


def steps(library, body: str, backend: str, prelude: str = "") -> None:
    run(library, prelude + _STEPS + body, backend)


@on_both
def test_memory_of_the_host_that_is_both(library, backend):
    """On PoCL kernels work on it. On OpenGL ES it goes in and out, as ever."""
    steps(
        library,
        """
room = np.empty(SIZE + 64, np.uint8)
def memory(begin):
    return room[(-room.ctypes.data) % 64 + begin :][:SIZE].view(np.float32).reshape(CACHE)
# Kernels read four numbers at once: memory that does not begin at a multiple of sixteen bytes is copied.
for begin in (0, 4):
    one = memory(begin)
    one[:] = cache
    for tensor in (state, out):
        assert native.bind(delegate, tensor, HOST, one.ctypes.data, SIZE), native.said
    for position in (0, 1, 5, 40, 1):
        assert np.array_equal(one, cache)
        assert np.allclose(step(position), one, atol=1e-6)
        assert copied() == (0 if backends[0] == "opencl" and begin == 0 else 2 * SIZE)
# Two that change places, of which the older is left as it is.
two = [np.ascontiguousarray(cache), np.zeros(CACHE, np.float32)]
for position in (2, 3, 4):
    before = two[0].copy()
    assert native.bind(delegate, state, HOST, two[0].ctypes.data, SIZE), native.said
    assert native.bind(delegate, out, HOST, two[1].ctypes.data, SIZE), native.said
    assert np.allclose(step(position), two[1], atol=1e-6) and np.array_equal(two[0], before)
    assert copied() == (SIZE if backends[0] == "opencl" else 2 * SIZE)
    two.reverse()
""",
        backend,
    )


# Buffers of the GPU API that the app has: `made` of an array, `handle` as Native.bind takes it, `read` as one like it.
APP_OPENCL = """
import pyopencl as cl
context = cl.Context.from_int_ptr(native.contexts(delegate).cl_context)
queue = cl.CommandQueue(context)
def made(array):
    return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=array)
def handle(buffer):
    return OPENCL, buffer.int_ptr
def read(buffer, like):
    got = np.empty_like(like)
    cl.enqueue_copy(queue, got, buffer)
    return got
"""
APP_GL = """
from host_tools.drivers import gpus
from host_tools.replay.gl_functions import Gl
from tests import delegate_worker
from tests.buffers_c import GL, Native
gl = Gl()  # of the app, current in this thread
egl = gpus.load_egl()
egl.eglGetCurrentDisplay.restype = egl.eglGetCurrentContext.restype = ctypes.c_void_p
SSBO = 0x90D2
load = delegate_worker.load_delegate
def load_delegate(library, options):
    delegate = load(library, options)
    handles = {"egl_display": egl.eglGetCurrentDisplay(), "egl_context": egl.eglGetCurrentContext()}
    Native(library).use_contexts(delegate, **handles)
    return delegate
delegate_worker.load_delegate = load_delegate
def made(array):
    name = gl.made("Buffers")
    gl.BindBuffer(SSBO, name)
    gl.BufferData(SSBO, array.nbytes, array.ctypes.data, 0x88EA)
    gl.check("make a buffer")
    return name
def handle(name):
    return GL, name
def read(name, like):
    got = np.empty_like(like)
    gl.BindBuffer(SSBO, name)
    ctypes.memmove(got.ctypes.data, gl.MapBufferRange(SSBO, 0, like.nbytes, 1), like.nbytes)
    gl.UnmapBuffer(SSBO)
    return got
"""
_BOUND = """
def bind(tensor, buffer):
    return native.bind(delegate, tensor, *handle(buffer), SIZE) if buffer else native.bind(delegate, tensor)
one, two = made(cache), made(cache * 0)
assert bind(state, one) and bind(out, one), native.said
for position in (0, 1, 5, 40, 1):
    assert np.allclose(step(position), read(one, cache), atol=1e-6) and copied() == 0
# Two that change places: the device copies.
pair = [one, two]
for position in (2, 3, 4):
    before = read(pair[0], cache)
    assert bind(state, pair[0]) and bind(out, pair[1]), native.said
    assert np.allclose(step(position), read(pair[1], cache), atol=1e-6) and copied() == SIZE
    assert np.array_equal(read(pair[0], cache), before)
    pair.reverse()
# One of them alone.
assert bind(state, None) and bind(out, one)
assert np.allclose(step(6, cache), read(one, cache), atol=1e-6) and copied() == SIZE
assert bind(state, one) and bind(out, None)
before = read(one, cache)
assert np.allclose(step(7), interpreter.get_tensor(out), atol=1e-6) and copied() == ALONE * SIZE
assert np.array_equal(read(one, cache), before)
# And none.
assert bind(state, None)
assert np.allclose(step(8, cache), interpreter.get_tensor(out), atol=1e-6) and copied() == NONE * SIZE
"""


# All of its inputs and outputs are bound, so that it goes on when the interpreter returns; then it is waited for.
_ASYNC = """
from tests.buffers_c import Source
source = Source(native, delegate)
source.goes_on, source.takes = KIND, False
for tensor in (part, at, *others):
    like = interpreter.get_tensor(tensor)
    objects = made(like), like
    kind, name = handle(objects[0])
    source.buffers[tensor] = (kind, name, like.nbytes)
    kept.append(objects)
for turn, (before, after) in enumerate([(one, one), (one, two), (two, two), (two, one)]):
    for tensor, buffer in ((state, before), (out, after)):
        kind, name = handle(buffer)
        source.buffers[tensor] = (kind, name, SIZE)
    row, where = constant(f"states/async{turn}", PART), np.int32([0, turn, 0, 0])
    for (buffer, _), array in zip(kept, (row, where)):
        write(buffer, array)
    interpreter.invoke()
    assert source.done[-1] is not None, "it does not go on"
    cache = cache.copy()
    cache[:, turn] = row[:, 0]
    assert np.array_equal(read(after, cache), cache), turn
    assert copied() == (0 if before is after else SIZE)
    (told,) = report(library, delegate)["partitions"]
    assert told["copied_bytes"] == told["copied_states_bytes"]
"""


def test_a_state_of_an_inference_that_goes_on(library):
    write = "def write(buffer, array):\n    cl.enqueue_copy(queue, buffer, array)\n    queue.finish()\n"
    begin = "KIND, kept = 1, []\none, two = made(cache), made(cache * 0)\n"
    run(library, _STEPS + APP_OPENCL + write + begin + _ASYNC, "opencl", env={"POCL_DEVICES": "pthread"})


def test_a_state_of_an_inference_that_goes_on_on_opengl_es(library):
    write = (
        "def write(buffer, array):\n    gl.BindBuffer(SSBO, buffer)\n"
        "    gl.BufferData(SSBO, array.nbytes, array.ctypes.data, 0x88EA)\n"
    )
    begin = "KIND, kept = 1, []\none, two = made(cache), made(cache * 0)\n"
    run(library, APP_GL + _STEPS + write + begin + _ASYNC, "gles")


def test_bound_opencl_buffers(library):
    """PoCL writes the output where the interpreter wants it."""
    steps(library, APP_OPENCL + "ALONE = NONE = 1\n" + _BOUND, "opencl")


def test_bound_opencl_buffers_of_a_gpu(library, tmp_path):
    """A device that calls itself a GPU, whose memory is its own."""
    driver = compile_driver_faults(tmp_path / "libOpenCL.so")
    prelude = (
        f"os.environ.update(DRIVER_FAULTS_GPU='1', DRIVER_FAULTS='')\noptions['opencl_library'] = {str(driver)!r}\n"
    )
    steps(library, APP_OPENCL + "ALONE = NONE = 2\n" + _BOUND, "opencl", prelude)


def test_bound_buffers_of_opengl_es(library):
    steps(library, "ALONE = NONE = 2\n" + _BOUND, "gles", APP_GL)


def test_memory_for_tensors_of_another_subgraph(library):
    """Two signatures with one cache: by the number of the subgraph and of its tensor."""
    run(
        library,
        """
from tests.buffers_c import HOST, Native
from tests.signature_models import with_signatures
from tests.state_models import CACHE, PART, one_cache
native = Native(library)
model = with_signatures(one_cache(), one_cache(updates=1), ("first", "second"), ("cache", "part", "at"))
interpreter, delegate = opened("opencl", model)
runners = [interpreter.get_signature_runner(key) for key in ("first", "second")]
for runner in runners:
    runner(cache=np.zeros(CACHE, np.float32), part=np.zeros(PART, np.float32), at=np.zeros(4, np.int32))
room = np.zeros(4 * int(np.prod(CACHE)) + 64, np.uint8)
cache = room[-room.ctypes.data % 64 :][: room.size - 64].view(np.float32).reshape(CACHE)
for subgraph, runner in enumerate(runners):
    for side in (runner.get_input_details()["cache"], runner.get_output_details()["y"]):
        assert native.bind(delegate, side["index"], HOST, cache.ctypes.data, cache.nbytes, subgraph), native.said
want = cache.copy()
for turn in range(4):
    row = constant(f"states/turn{turn}", PART)
    want[:, turn] = row[:, 0]
    runners[turn % 2](cache=np.ones(CACHE, np.float32), part=row, at=np.int32([0, turn, 0, 0]))
    assert np.array_equal(cache, want)
told = report(library, delegate)["partitions"]
assert [one["subgraph"] for one in told] == [0, 1]
assert [one["copied_bytes"] for one in told] == [0, 0]
assert not native.bind(delegate, 0, HOST, cache.ctypes.data, cache.nbytes, 7) and "tensor 0" in native.said[-1]
assert not native.bind(delegate, 0, HOST, cache.ctypes.data, 4, 1) and "4 bytes" in native.said[-1]
# The main subgraph's alone are the interpreter's again.
for side in (runners[0].get_input_details()["cache"], runners[0].get_output_details()["y"]):
    assert native.bind(delegate, side["index"])
made = runners[0](cache=np.ones(CACHE, np.float32), part=row, at=np.int32([0, 9, 0, 0]))["y"]
assert made[0, 8, 0, 0] == 1 and np.array_equal(made[:, 9], row[:, 0]) and np.array_equal(cache, want)
""",
        "opencl",
    )
