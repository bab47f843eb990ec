"""Resource variables (VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE): a step finds what the one before left, begins with what
CALL_ONCE says, and shares it with nodes on the CPU and other subgraphs."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu, variable_models as models
from tests.delegate import TOLERANCE, UNOPTIMISED, Quadra, options
from tests.faults import compile_driver_faults
from tests.model_builder import Model
from tests.runs import BACKENDS, PRECISIONS
from tests.test_lifetime import run
from tests.test_state import check_rounds
from tests.vectors.case import constant

on_both = pytest.mark.parametrize("backend", BACKENDS)
STEPS = 100


def inputs_of(name: str, shape=models.STATE, steps: int = STEPS) -> list[list[np.ndarray]]:
    return [[constant(f"variables/{name}/{i}", shape, -1, 1)] for i in range(steps)]


def rows(steps: int) -> list[list[np.ndarray]]:
    return [
        [constant(f"variables/rows/{i}", models.ROW, -1, 1), np.int32([0, i % models.CACHE[1], 0, 0])] for i in range(steps)
    ]  # fmt: skip


def check_on_gpu(outcome, left: tuple[str, ...] = ("CALL_ONCE",)) -> None:
    """All of the main graph but these ops; the interpreter runs the first numbers' subgraph, once."""
    on_cpu = [node["op"] for node in outcome.nodes if node["subgraph"] == 0 and node["on"] != "gpu"]
    assert on_cpu == [*left], outcome.on_cpu()


MODELS = {
    "smoothed": (models.started({"s": models.FIRST}, models.smoothed), inputs_of("smoothed")),
    "streaming": (
        models.started(models.STREAMING, models.streaming),
        inputs_of("streaming", (1, 1, 1, models.CHANNELS)),
    ),
    "difference": (models.started({"before": models.FIRST}, models.difference), inputs_of("difference")),
    "assigned_twice": (
        models.started({"a": models.FIRST, "b": -models.FIRST}, models.assigned_twice),
        inputs_of("twice"),
    ),
    "cached_rows": (models.started({"rows": np.zeros(models.CACHE, np.float32)}, models.cached_rows), rows(STEPS)),
}


@on_both
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", MODELS)
def test_a_hundred_steps_are_the_cpus(quadra: Quadra, backend, precision, name):
    model, rounds = MODELS[name]
    outcome = quadra.run(model, *rounds, **options(backend=backend, precision=precision))
    check_on_gpu(outcome)
    check_rounds(outcome, cpu.rounds(model, rounds), TOLERANCE[precision], everything_on_gpu=False)


@on_both
def test_a_node_on_the_cpu_between_reading_and_assigning(quadra: Quadra, backend):
    model = models.started({"s": models.FIRST}, lambda m: models.smoothed(m, lambda m, x: m.left_to_cpu(x)))
    rounds = inputs_of("between")
    outcome = quadra.run(model, *rounds, **options(backend=backend))
    check_on_gpu(outcome, ("CALL_ONCE", "STABLEHLO_ADD"))
    assert len(outcome.report["partitions"]) == 2
    check_rounds(outcome, cpu.rounds(model, rounds), everything_on_gpu=False)


@on_both
def test_a_size_that_is_a_variables(quadra: Quadra, backend):
    """Its node is in the first partition, and the second one reads it."""

    def build(m: Model) -> None:
        x, at = m.input((3, 2)), models.handle(m, "s")
        old = models.read(m, at, models.STATE)
        flat = m.op("RESHAPE", [x, np.int32([1, 6])], models.STATE, "ReshapeOptions")
        models.assign(m, at, m.add(old, flat))
        size = m.op("SHAPE", [old], (2,), "ShapeOptions", OutType=2, output={"dtype": "int32"})
        m.output(
            m.mul(
                m.op("RESHAPE", [m.left_to_cpu(m.unary("TANH", x)), size], models.STATE, "ReshapeOptions"),
                np.float32([2]),
            )
        )

    model, rounds = models.started({"s": models.FIRST}, build), inputs_of("size", (3, 2), 5)
    outcome = quadra.run(model, *rounds, **options(backend=backend))
    check_on_gpu(outcome, ("CALL_ONCE", "STABLEHLO_ADD"))
    check_rounds(outcome, cpu.rounds(model, rounds), everything_on_gpu=False)


@on_both
@pytest.mark.parametrize("is_read", [True, False], ids=["read_on_the_cpu", "assigned_on_the_cpu"])
def test_a_variable_of_the_gpu_and_the_cpu(quadra: Quadra, backend, is_read):
    """The CPU reads what the GPU assigned a step before, or the other way round."""

    def build(m: Model) -> None:
        x, at = m.input(models.STATE), models.handle(m, "s")
        old = models.read(m, at, models.STATE)
        new = m.add(m.mul(m.unary("TANH", m.add(x, np.float32([0.25]))), np.float32([3])), np.float32([1]))
        if is_read:
            m.output(m.left_to_cpu(old), m.mul(old, x))
        else:
            new = m.left_to_cpu(new)
            m.output(m.mul(old, x))
        models.assign(m, at, new)

    model, rounds = models.started({"s": models.FIRST}, build), inputs_of("mixed", steps=20)
    outcome = quadra.run(model, *rounds, **options(backend=backend))
    assert {node["op"] for node in outcome.nodes if node["on"] == "gpu"} >= {"READ_VARIABLE", "TANH", "MUL"}
    check_rounds(outcome, cpu.rounds(model, rounds), everything_on_gpu=False)


@on_both
@pytest.mark.parametrize("dtype", ["int32", "int64", "bool", "int8"])
def test_other_numbers(quadra: Quadra, backend, dtype):
    """int8 with a scale; bools that flip."""
    scale = {"scale": 0.05, "zero_point": 3} if dtype == "int8" else {}

    def build(m: Model) -> None:
        x, at = m.input(models.STATE, dtype, **scale), models.handle(m, "s")
        old = models.read(m, at, models.STATE, dtype, **scale)
        if dtype == "bool":
            new = m.elementwise("LOGICAL_AND", m.op("LOGICAL_NOT", [old], old.shape, output={"dtype": "bool"}), x)
        elif dtype == "int8":
            new = m.op("ADD", [old, x], old.shape, "AddOptions", version=2, output={"dtype": dtype, **scale})
        elif dtype == "int64":
            new = m.elementwise("SELECT_V2", m.elementwise("GREATER", x, old, to_bool=True), x, old)
        else:
            new = m.add(old, x)
        models.assign(m, at, new)
        m.output(new, m.op("RESHAPE", [old, np.int32([3, 2])], (3, 2), output={"dtype": dtype, **scale}))

    first = (models.FIRST * 2).astype(dtype)
    model = models.started({"s": first}, build, **scale)
    rounds = [[(feed * 6).astype(dtype)] for (feed,) in inputs_of(dtype, steps=20)]
    outcome = quadra.run(model, *rounds, **options(backend=backend))
    check_on_gpu(outcome)
    for got, want in zip(outcome.outputs, cpu.rounds(model, rounds), strict=True):
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)
    assert not outcome.error


@on_both
def test_a_second_start_from_the_cache_and_a_resize(library, tmp_path, backend):
    """Verdicts and plans of the first start; the batch of what is no state may change meanwhile."""

    def build(m: Model) -> None:
        x, at = m.input((1, 6), signature=(-1, 6)), models.handle(m, "s")
        old = models.read(m, at, models.STATE)
        new = m.add(m.mul(old, np.float32([0.5])), np.float32([0.25]))
        models.assign(m, at, new)
        m.output(m.add(x, new))

    model = models.started({"s": models.FIRST}, build)
    sizes = (1, 1, 3, 3, 2, 1)
    rounds = [[constant(f"variables/resize/{i}", (n, 6), -1, 1)] for i, n in enumerate(sizes)]
    given = options(backend=backend, serialization_dir=str(tmp_path))
    for how, steps in (("saved", 2), ("hit", len(rounds))):
        worker = Quadra(library, **UNOPTIMISED)
        try:
            outcome = worker.run(model, *rounds[:steps], **given)
        finally:
            worker.close()
        check_on_gpu(outcome)
        state = models.FIRST
        expected = []
        for (feed,) in rounds[:steps]:
            state = state * np.float32(0.5) + np.float32(0.25)
            expected.append([feed + state])
        check_rounds(outcome, expected, everything_on_gpu=False)
        assert outcome.report["partitions"][0]["cache"].endswith(how)


@on_both
def test_a_variable_without_numbers_is_an_error_as_on_the_cpu(quadra: Quadra, backend):
    m = Model()
    models.smoothed(m)
    feed = inputs_of("none", steps=1)[0]
    with pytest.raises(RuntimeError, match="READ_VARIABLE"):
        cpu.run(m.bytes(), feed)
    outcome = quadra.run(m.bytes(), feed, **options(backend=backend))
    assert not outcome.on_cpu()
    assert "could not read the variable" in outcome.error, outcome.error


@on_both
def test_a_variable_of_another_size_is_an_error(quadra: Quadra, backend):
    model = models.started({"s": np.zeros((2, 6), np.float32)}, models.smoothed)
    outcome = quadra.run(model, *inputs_of("size", steps=1), **options(backend=backend))
    assert "has another size than the model says" in outcome.error, outcome.error


@on_both
def test_a_handle_from_outside_stays_on_the_cpu(quadra: Quadra, backend):
    """A loop's body gets the handle as an input."""
    m, condition, body = Model(), Model(), Model()
    i, at = m.input((1,), "int32"), models.handle(m, "s")
    models.assign(m, at, m.input(models.STATE))
    loop = [m.value((1,), "int32"), m.value((1,), "resource")]
    m.several("WHILE", [i, at], loop, "WhileOptions", CondSubgraphIndex=1, BodySubgraphIndex=2)
    m.output(m.add(models.read(m, at, models.STATE), np.float32([1])))
    j, _ = condition.input((1,), "int32"), condition.input((1,), "resource")
    condition.output(condition.elementwise("LESS", j, np.int32([3]), to_bool=True))
    j, inner = body.input((1,), "int32"), body.input((1,), "resource")
    old = models.read(body, inner, models.STATE)
    models.assign(body, inner, body.mul(old, np.float32([2])))
    body.output(body.add(j, np.int32([1])), inner)
    model = m.bytes(condition, body)
    rounds = [[np.zeros(1, np.int32), feed] for (feed,) in inputs_of("loop", steps=3)]
    outcome = quadra.run(model, *rounds, **options(backend=backend))
    check_rounds(outcome, cpu.rounds(model, rounds), everything_on_gpu=False)
    reasons = [node["reason"] for node in outcome.nodes if node["subgraph"] == 2 and node["op"] == "READ_VARIABLE"]
    assert reasons and all("of no VAR_HANDLE" in reason for reason in reasons), reasons


_TWO = """
from ai_edge_litert.interpreter import load_delegate
from tests import variable_models as models
from tests.model_builder import Model
from tests.signature_models import with_signatures
from tests.test_variables import MODELS, inputs_of
(backend,) = backends
words = {"backend": backend, "small_partitions_allowed": "1", **options}

def with_delegate(model):
    return open_model(library, model, words)

def step(interpreter, feeds):
    for detail, feed in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(detail["index"], feed)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]

def check(got, want):
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
"""


@on_both
def test_two_interpreters_keep_their_own(library, backend):
    """Of one delegate, and of another one; a new interpreter begins anew."""
    run(
        library,
        _TWO
        + """
model, rounds = MODELS["streaming"]
want = cpu.rounds(model, rounds)
delegate = load_delegate(library, words)
made = [cpu.reference_interpreter(model, experimental_delegates=[one]) for one in (delegate, delegate, load_delegate(library, words))]
for one in made: one.allocate_tensors()
at = [0, 0, 0]
for which in (0, 0, 1, 2, 0, 1, 1, 0, 2, 2, 2, 1, 0):
    check(step(made[which], rounds[at[which]]), want[at[which]])
    at[which] += 1
made[0].reset_all_variables()  # no variable tensors: the CPU keeps these, too
check(step(made[0], rounds[at[0]]), want[at[0]])
del made
fresh = cpu.reference_interpreter(model, experimental_delegates=[delegate])
fresh.allocate_tensors()
check(step(fresh, rounds[0]), want[0])
""",
        backend,
    )


@on_both
def test_two_delegates_share_an_interpreters(library, backend):
    """The first takes what comes before the node on the CPU, the second the rest."""
    run(
        library,
        _TWO
        + """
model = models.started({"s": models.FIRST}, lambda m: models.smoothed(m, lambda m, x: m.left_to_cpu(x)))
rounds = inputs_of("delegates")
want = cpu.rounds(model, rounds)
first = load_delegate(library, {**words, "last_delegate_node_index": "3"})
second = load_delegate(library, {**words, "first_delegate_node_index": "4"})
interpreter = cpu.reference_interpreter(model, experimental_delegates=[first, second])
interpreter.allocate_tensors()
for delegate, op in ((first, "READ_VARIABLE"), (second, "ASSIGN_VARIABLE")):
    on_gpu = [node["op"] for node in report(library, delegate)["nodes"] if node["on"] == "gpu"]
    assert op in on_gpu, on_gpu
for feeds, outputs in zip(rounds, want): check(step(interpreter, feeds), outputs)
""",
        backend,
    )


@on_both
def test_two_signatures_share_a_variable(library, backend):
    """One begins it, the other goes on."""
    run(
        library,
        _TWO
        + """
begin, go_on = Model(), Model()
x = begin.input(models.STATE)
first = begin.unary("TANH", x)
models.assign(begin, models.handle(begin, "s"), first)
begin.output(begin.mul(first, np.float32([2])))
models.smoothed(go_on)
model = with_signatures(begin, go_on, ("begin", "go_on"))
ours, delegate = with_delegate(model)
theirs = cpu.reference_interpreter(model)
feeds = inputs_of("signatures", steps=30)
for i, (feed,) in enumerate(feeds):
    name = "begin" if i % 7 == 0 else "go_on"
    got, want = (one.get_signature_runner(name)(x=feed) for one in (ours, theirs))
    check(list(got.values()), list(want.values()))
told = report(library, delegate)
left = [node for node in told["nodes"] if node["on"] != "gpu"]
assert not left, left
# So it comes and goes in each step.
moved = sum(part["copied_inputs_bytes"] for part in told["partitions"] if backend == "gles")
assert moved == (3 * feeds[0][0].nbytes if backend == "gles" else 0), moved
""",
        backend,
    )


_UNDO = """
Prepare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
class Other(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("prepare", Prepare), ("unused", ctypes.c_void_p * 3), ("flags", ctypes.c_int64),
                ("builder", ctypes.c_void_p)]

applied = []
other = Other(prepare=Prepare(lambda context, delegate: applied.append(context) or 0))
"""


@on_both
def test_a_resize_that_undoes_all_delegates_keeps_a_variable(library, backend):
    """Another delegate makes the graph immutable: a resize undoes it and ours, and applies both again."""
    run(
        library,
        _TWO
        + _UNDO
        + """
def build(m):
    x, at = m.input((1, 6), signature=(-1, 6)), models.handle(m, "s")
    new = m.add(m.mul(models.read(m, at, models.STATE), np.float32([0.5])), np.float32([0.25]))
    models.assign(m, at, new)
    m.output(m.add(x, new))

interpreter, delegate = with_delegate(models.started({"s": models.FIRST}, build))
interpreter._interpreter.ModifyGraphWithDelegate(ctypes.addressof(other))
state, last = models.FIRST, 1
for batch in (1, 1, 3, 3, 2, 1):
    before = len(applied)
    x = np.ones((batch, 6), np.float32)
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], x.shape)
    interpreter.allocate_tensors()
    assert (len(applied) > before) == (batch != last), "nothing was undone"
    last = batch
    state = state * np.float32(0.5) + np.float32(0.25)
    check(step(interpreter, [x]), [x + state])
    left = [node["op"] for node in report(library, delegate)["nodes"] if node["on"] != "gpu" and node["subgraph"] == 0]
    assert left == ["CALL_ONCE"], left
""",
        backend,
    )


@on_both
@pytest.mark.parametrize("target", ["adreno-640", "mali-g76-buffers"])
def test_kernels_of_phones(quadra: Quadra, backend, target):
    model, rounds = MODELS["streaming"]
    outcome = quadra.run(model, *rounds[:20], **options(target, backend))
    check_on_gpu(outcome)
    check_rounds(outcome, cpu.rounds(model, rounds[:20]), everything_on_gpu=False)


def copied(outcome) -> dict[str, int]:
    """Bytes that the last step moved, by cause."""
    parts = outcome.report["partitions"]
    return {cause: sum(part[f"copied_{cause}_bytes"] for part in parts) for cause in ("inputs", "outputs", "states")}


@pytest.fixture(scope="module")
def unshared(library, tmp_path_factory):
    """Runs on PoCL as if its memory were a GPU's own."""
    driver = compile_driver_faults(tmp_path_factory.mktemp("driver") / "libOpenCL.so")
    worker = Quadra(library, DRIVER_FAULTS_GPU="1", DRIVER_FAULTS="")
    yield lambda model, *rounds, **given: worker.run(model, *rounds, opencl_library=str(driver), **given)
    worker.close()


@on_both
@pytest.mark.parametrize("name", ["smoothed", "streaming", "difference", "cached_rows", "assigned_twice"])
def test_what_nobody_else_uses_stays_on_the_device(quadra: Quadra, unshared, backend, name):
    """Where memory is not shared a step moves the model's inputs and outputs alone."""
    model, rounds = MODELS[name]
    run_it = unshared if backend == "opencl" else quadra.run
    outcome = run_it(model, *rounds[:5], **options(backend=backend))
    bytes_of = lambda arrays: sum(np.asarray(one).nbytes for one in arrays)  # noqa: E731
    assert copied(outcome) == {"inputs": bytes_of(rounds[4]), "outputs": bytes_of(outcome.outputs[4]), "states": 0}
    check_rounds(outcome, cpu.rounds(model, rounds[:5]), everything_on_gpu=False)


@pytest.mark.parametrize("call", ["clEnqueueMapBuffer@1=null", "clEnqueueUnmapMemObject@1=-5"])
def test_where_the_device_cannot_keep_a_variable_the_interpreter_does(library, tmp_path, call):
    driver = compile_driver_faults(tmp_path / "libOpenCL.so")
    worker = Quadra(library, DRIVER_FAULTS_GPU="1", DRIVER_FAULTS=call)
    model, rounds = MODELS["smoothed"]
    try:
        outcome = worker.run(model, *rounds[:5], **options(opencl_library=str(driver)))
    finally:
        worker.close()
    check_on_gpu(outcome)
    size = models.FIRST.nbytes
    assert copied(outcome) == {"inputs": 2 * size, "outputs": 2 * size, "states": 0}
    check_rounds(outcome, cpu.rounds(model, rounds[:5]), everything_on_gpu=False)
