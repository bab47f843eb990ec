"""Models of several subgraphs: each has its partitions, and one report tells of all."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import options
from tests.model_builder import Model
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
        (2, 0, "REVERSE_SEQUENCE"),
        (2, 1, "LOGISTIC"),
    }
    partitions = {p["id"]: (p["subgraph"], p["nodes"]) for p in outcome.report["partitions"]}
    assert partitions == {
        told[node]: (node[0], [node[1]]) for node in told if node[2] not in ("IF", "REVERSE_SEQUENCE", "RELU")
    }
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f"partition_{id}" for id in partitions)


def while_model() -> bytes:
    """A body of convolutions that runs as often as the input says; its condition compares integers."""
    model, until, body = Model(), Model(), Model()
    i, x = model.input((1,), "int32"), model.input(SHAPE)
    made = model.value((1,), "int32"), model.value(SHAPE)
    model.several("WHILE", [i, x], made, "WhileOptions", CondSubgraphIndex=1, BodySubgraphIndex=2)
    model.output(made[1])
    left, _ = until.input((1,), "int32"), until.input(SHAPE)
    until.output(until.elementwise("GREATER", left, np.array([0], np.int32), to_bool=True))
    left, y = body.input((1,), "int32"), body.input(SHAPE)
    y = body.conv2d(y, constant("while/w", (8, 3, 3, 8)), constant("while/b", (8,)))
    body.output(
        body.elementwise("SUB", left, np.array([1], np.int32), kind="SubOptions"), body.unary("TANH", body.add(y, y))
    )
    return model.bytes(until, body)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("trips", [0, 1, 5])
def test_a_loops_body_runs_on_the_gpu(quadra, trips, backend):
    feeds = [np.array([trips], np.int32), constant("while/x", SHAPE)]
    outcome = quadra.run(while_model(), feeds, **options(backend=backend))
    outcome.check(cpu.run(while_model(), feeds), everything_on_gpu=False)
    on_gpu = {node["op"] for node in outcome.nodes if node["subgraph"] == 2 and node["partition"] is not None}
    assert {"CONV_2D", "TANH"} <= on_gpu, outcome.nodes
