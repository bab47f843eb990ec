"""Models of several subgraphs: each has its partitions, and one report tells of all."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from host_tools.base import child_process, settings
from host_tools.request import model_tree
from tests import cpu
from tests.delegate import environment, options
from tests.model_builder import LACKED, Model, Value
from tests.runs import BACKENDS
from tests.vectors.case import constant

SHAPE = (1, 4, 5, 8)


def if_model() -> bytes:
    """TANH, then one of two subgraphs, then RELU of what has an unknown size."""
    model, convolve, exp = Model(), Model(), Model()
    condition, x = model.input((1,), "bool"), model.input(SHAPE)
    (y,) = model.op(
        "IF", [condition, model.unary("TANH", x)], [SHAPE], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2
    )
    model.output(model.unary("RELU", y))
    convolve.output(convolve.conv2d(convolve.input(SHAPE), constant("if/w", (8, 3, 3, 8)), constant("if/b", (8,))))
    z = exp.left_to_cpu(exp.input(SHAPE))
    exp.output(exp.unary("LOGISTIC", z))
    return model.bytes(convolve, exp)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("taken", [True, False])
def test_branches(quadra, tmp_path, taken, backend):
    feeds = [np.array([taken]), constant("if/x", SHAPE)]
    outcome = quadra.run(if_model(), feeds, **options(backend=backend, dump_dir=str(tmp_path)))
    outcome.check(cpu.run(if_model(), feeds), everything_on_gpu=False)
    told = {(node["subgraph"], node["index"], node["op"]): node["partition"] for node in outcome.nodes}
    assert set(told) == {
        (0, 0, "TANH"),
        (0, 1, "IF"),
        (0, 2, "RELU"),
        (1, 0, "CONV_2D"),
        (2, 0, LACKED),
        (2, 1, "LOGISTIC"),
    }
    partitions = {p["id"]: (p["subgraph"], p["nodes"]) for p in outcome.report["partitions"]}
    assert partitions == {told[node]: (node[0], [node[1]]) for node in told if node[2] not in ("IF", LACKED, "RELU")}
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f"partition_{id}" for id in partitions)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("taken", [True, False])
def test_small_branches_are_a_part_of_their_partition_at_any_size(quadra, tmp_path, taken, backend):
    model, yes, no = Model(), Model(), Model()
    condition, x = model.input((1,), "bool"), model.input(SHAPE)
    (y,) = model.op(
        "IF", [condition, model.unary("TANH", x)], [SHAPE], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2
    )
    model.output(model.unary("RELU", y))
    yes.output(yes.unary("ABS", yes.input(SHAPE)))
    no.output(no.mul(no.input(SHAPE), np.float32(3)))
    raw = model.bytes(yes, no)
    rounds = [[np.array([taken]), constant(f"branches/{b}", (b, *SHAPE[1:]))] for b in (1, 3, 1)]
    for _ in range(2):  # the second time from the cache
        outcome = quadra.run(raw, *rounds, **options(backend=backend, serialization_dir=str(tmp_path)))
        assert not outcome.error and {node["subgraph"] for node in outcome.nodes} == {0}, (outcome.error, outcome.nodes)
        assert {node["partition"] for node in outcome.nodes} == {0}
        for got, feeds in zip(outcome.outputs, rounds, strict=True):
            outcome.outputs = [got]
            outcome.check(cpu.run(raw, feeds))


def loop(shape: tuple[int, ...], turn: Callable[[Model, Value], Value]) -> bytes:
    """What `turn` makes of a tensor, and of that again, as often as the first input says; the condition compares
    integers."""
    model, until, body = Model(), Model(), Model()
    i, x = model.input((1,), "int32"), model.input(shape)
    made = model.value((1,), "int32"), model.value(shape)
    model.several("WHILE", [i, x], made, "WhileOptions", CondSubgraphIndex=1, BodySubgraphIndex=2)
    model.output(made[1])
    left, _ = until.input((1,), "int32"), until.input(shape)
    until.output(until.elementwise("GREATER", left, np.array([0], np.int32), to_bool=True))
    left, y = body.input((1,), "int32"), body.input(shape)
    body.output(body.elementwise("SUB", left, np.array([1], np.int32), kind="SubOptions"), turn(body, y))
    return model.bytes(until, body)


def small_turn(body: Model, y: Value) -> Value:
    y = body.conv2d(y, constant("while/w", (8, 3, 3, 8)), constant("while/b", (8,)))
    return body.unary("TANH", body.add(y, y))


def large_turn(body: Model, y: Value) -> Value:
    for layer in range(3):
        y = body.conv2d(y, constant(f"loop/{layer}", (32, 3, 3, 32), -0.1, 0.1), constant("loop/b", (32,)))
    return y


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("trips", [0, 1, 5])
def test_a_loops_body_runs_on_the_gpu(quadra, trips, backend):
    feeds = [np.array([trips], np.int32), constant("while/x", SHAPE)]
    raw = loop(SHAPE, small_turn)
    outcome = quadra.run(raw, feeds, **options(backend=backend))
    outcome.check(cpu.run(raw, feeds), everything_on_gpu=False)
    on_gpu = {node["op"] for node in outcome.nodes if node["subgraph"] == 2 and node["partition"] is not None}
    assert {"CONV_2D", "TANH"} <= on_gpu, outcome.nodes


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_small_loop_stays_on_the_cpu(quadra, backend):
    """Each turn would be two round trips to the GPU, however few partitions there are."""
    feeds = [np.array([5], np.int32), constant("while/x", SHAPE)]
    raw = loop(SHAPE, small_turn)
    outcome = quadra.run(raw, feeds, backend=backend)
    outcome.check(cpu.run(raw, feeds), everything_on_gpu=False)
    reasons = {node["op"]: node["reason"] for node in outcome.nodes if node["subgraph"] > 0}
    assert set(reasons) == {"GREATER", "CONV_2D", "SUB", "ADD", "TANH"}
    assert all("too small" in reason for reason in reasons.values()), reasons


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_large_body_of_a_loop_runs_on_the_gpu(quadra, backend):
    shape = (1, 60, 60, 32)
    raw, feeds = loop(shape, large_turn), [np.array([2], np.int32), constant("loop/x", shape)]
    outcome = quadra.run(raw, feeds, backend=backend)
    outcome.check(cpu.run(raw, feeds), everything_on_gpu=False)
    assert {node["op"] for node in outcome.nodes if node["on"] == "gpu"} >= {"CONV_2D"}, outcome.nodes
    assert {node["op"] for node in outcome.nodes if node["subgraph"] == 1 and node["on"] != "gpu"} == {"GREATER"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_of_two_signatures_has_its_own_number_of_partitions(quadra, backend):
    outcome = quadra.run(model_of_signatures(), **options(backend=backend, max_delegated_partitions="1"))
    assert [(node["op"], node["on"]) for node in outcome.nodes] == [
        ("CONV_2D", "gpu"),
        ("TANH", "gpu"),
        ("FULLY_CONNECTED", "gpu"),
    ]


def model_of_signatures() -> bytes:
    """Two signatures, each a subgraph of its own with its own weights."""
    convolve, dense = Model(), Model()
    convolve.output(
        convolve.unary(
            "TANH", convolve.conv2d(convolve.input(SHAPE), constant("sig/w", (6, 3, 3, 8)), constant("sig/b", (6,)))
        )
    )
    dense.output(dense.fully_connected(dense.input((3, 8)), constant("sig/d", (5, 8)), constant("sig/e", (5,))))
    model = model_tree.unpack(convolve.bytes(dense))
    model.signatureDefs = []
    for number, key in enumerate(["convolve", "dense"]):
        graph, made = model.subgraphs[number], schema.SignatureDefT()
        made.signatureKey, made.subgraphIndex = key, number
        made.inputs, made.outputs = schema.TensorMapT(), schema.TensorMapT()
        made.inputs.name, made.inputs.tensorIndex = "x", graph.inputs[0]
        made.outputs.name, made.outputs.tensorIndex = "y", graph.outputs[0]
        made.inputs, made.outputs = [made.inputs], [made.outputs]
        model.signatureDefs.append(made)
    return model_tree.pack(model)


_SIGNATURES = """
import json, sys
import numpy as np
from tests.cpu import reference_interpreter
from tests.delegate_worker import open_model, report
from tests.test_subgraphs import SHAPE, constant, model_of_signatures

library, backend = sys.argv[1:]
interpreter, delegate = open_model(library, model_of_signatures(), {"backend": backend, "small_partitions_allowed": "1"})
cpu = reference_interpreter(model_of_signatures())
feeds = {"convolve": [constant(f"sig/x{i}", SHAPE) for i in range(2)], "dense": [constant(f"sig/y{i}", (3, 8)) for i in range(2)]}
runs = {key: (interpreter.get_signature_runner(key), cpu.get_signature_runner(key)) for key in feeds}
worst = 0.0
for i in range(2):
    for key, (gpu, reference) in runs.items():
        got, want = gpu(x=feeds[key][i])["y"], reference(x=feeds[key][i])["y"]
        worst = max(worst, float(np.abs(got - want).max() / np.ptp(want)))
nodes = report(library, delegate)["nodes"]
print(json.dumps({"worst": worst, "nodes": [[n["subgraph"], n["op"], n["on"]] for n in nodes]}))
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_signature_runs_on_the_gpu_in_turn(library, backend):
    told = child_process.run(
        [sys.executable, "-c", _SIGNATURES, library, backend],
        env=environment(library),
        cwd=settings.ROOT,
        timeout_s=100,
    )
    found = json.loads(told.stdout.splitlines()[-1])
    assert found["worst"] < 1e-5, found
    assert sorted(found["nodes"]) == [[0, "CONV_2D", "gpu"], [0, "TANH", "gpu"], [1, "FULLY_CONNECTED", "gpu"]], found


_UNRUN = """
import ctypes, json, sys
import numpy as np
from tests import cpu
from tests.delegate_worker import invoke, open_model, report
from tests.signature_models import with_signatures
from tests.model_builder import Model
from tests.vectors.composites import SHAPE, composite, constant, rms_norm
library, backend = sys.argv[1:]
SCALE = constant("unrun/scale", SHAPE[-1:])

def opened(model):
    return open_model(library, model, {"backend": backend, "small_partitions_allowed": "1"})
"""


def unrun(library, script: str, backend: str) -> str:
    """What the delegate says meanwhile."""
    done = child_process.run(
        [sys.executable, "-c", _UNRUN + script, library, backend],
        cwd=settings.ROOT,
        env={**environment(library), "QUADRA_DEBUG": "2"},
        timeout_s=120,
    )
    return done.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_decomposition_is_imported_again_where_another_delegate_has_a_resize_undo_all(library, backend):
    """Its nodes are the delegate's by then. The other delegate takes no node, and makes the graph immutable."""
    unrun(
        library,
        """
m, middle = Model(), Model()
y = composite(m, [m.input(SHAPE), SCALE], SHAPE, 1, "outer")
m.output(m.unary("RELU", y), m.unary("TANH", m.input(SHAPE)))
x, scale = middle.input(SHAPE), middle.input(SHAPE[-1:])
middle.output(middle.unary("TANH", composite(middle, [x, scale], SHAPE, 2)))
model = m.bytes(middle, rms_norm())

Prepare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
class Other(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("prepare", Prepare), ("unused", ctypes.c_void_p * 3), ("flags", ctypes.c_int64),
                ("builder", ctypes.c_void_p)]

applied = []
other = Other(prepare=Prepare(lambda context, delegate: applied.append(context) or 0))
interpreter, delegate = opened(model)
interpreter._interpreter.ModifyGraphWithDelegate(ctypes.addressof(other))
for batch in (4, 2, 4):
    before = len(applied)
    feeds = [constant("unrun/x", SHAPE), constant("unrun/y", (batch, *SHAPE[1:]))]
    for got, want in zip(invoke(interpreter, feeds), cpu.run(model, feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    nodes = report(library, delegate)["nodes"]
    assert [node["on"] for node in nodes] == ["gpu"] * 3, nodes
    assert len(applied) > before, "nothing was undone"
""",
        backend,
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_decomposition_that_is_run_all_the_same_runs_on_the_gpu(library, backend):
    """A signature of its own; in it is another composite, whose decomposition nobody else runs."""
    said = unrun(
        library,
        """
m, middle = Model(), Model()
m.output(m.unary("RELU", composite(m, [m.input(SHAPE), SCALE], SHAPE, 1, "outer")))
x, scale = middle.input(SHAPE), middle.input(SHAPE[-1:])
middle.output(middle.unary("TANH", composite(middle, [x, scale], SHAPE, 2)))
model = with_signatures(m, middle, ("outer", "inner"), ("x", "scale"), (rms_norm(),))
interpreter, delegate = opened(model)
feed = constant("unrun/x", SHAPE)
for key, feeds in (("inner", {"scale": 2 * SCALE}), ("outer", {}), ("inner", {"scale": SCALE})):
    got, want = (i.get_signature_runner(key)(x=feed, **feeds)["y"] for i in (interpreter, cpu.reference_interpreter(model)))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
nodes = [(node["subgraph"], node["on"]) for node in report(library, delegate)["nodes"]]
assert nodes == [(0, "gpu"), (0, "gpu")], nodes
""",
        backend,
    )
    assert said.count("quadra: prepared") == 2, said


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loops_body_that_nobody_runs_is_not_prepared_for_another_delegate(library, backend):
    """It could not be: a step of the loop ends where a number of it says. TFLite gives XNNPACK each subgraph."""
    said = unrun(
        library,
        """
from tests.vectors.recurrent_loops import CASES
case = next(case for case in CASES if case.name == "lstm_all")
Prepare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
class Other(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("prepare", Prepare), ("unused", ctypes.c_void_p * 3), ("flags", ctypes.c_int64),
                ("builder", ctypes.c_void_p)]

other = Other(prepare=Prepare(lambda context, delegate: 0))
interpreter, delegate = opened(case.model())
interpreter._interpreter.ModifyGraphWithDelegate(ctypes.addressof(other))
for got, want in zip(invoke(interpreter, case.feeds()), cpu.run(case.model(), case.feeds()), strict=True):
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
assert [node["on"] for node in report(library, delegate)["nodes"]] == ["gpu"]
""",
        backend,
    )
    assert said.count("quadra: prepared") == 1, said


@pytest.mark.parametrize("backend", BACKENDS)
def test_looking_for_subgraphs_reports_no_error(quadra, backend):
    """The CPU refuses the model; the interpreter's message holds every error that was reported until then."""
    model = Model()
    model.output(model.op("BROADCAST_TO", [model.input((1, 9, 1)), np.int32([1, 11, 2])], (1, 11, 2), version=2))
    outcome = quadra.run(model.bytes(), [constant("refused/x", (1, 9, 1))], **options(backend=backend))
    assert "broadcastable" in outcome.error and "subgraph_index" not in outcome.error, outcome.error
