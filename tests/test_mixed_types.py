"""Nodes whose computed operands are of several types that stand for floats: float32, float16, integers with a scale. TFLite's kernels
convert nothing: they compute with weights of int8 (rounding the floats beside them to 8 bits), and refuse others or read their
bits as floats."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import options
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.vectors.case import constant, generator

on_both = pytest.mark.parametrize("backend", BACKENDS)
IMAGE, SCALE = (1, 5, 6, 4), 0.02
TYPES = {  # of computed operands beside floats
    "int8": {"dtype": "int8", "scale": SCALE},
    "int8 with a zero point": {"dtype": "int8", "scale": SCALE, "zero_point": 5},
    "uint8": {"dtype": "uint8", "scale": SCALE, "zero_point": 128},
    "int16": {"dtype": "int16", "scale": SCALE / 256},
    "float16": {"dtype": "float16"},
}


def _matmul(m: Model, w, adj_y: bool):
    return m.op("BATCH_MATMUL", [m.input((2, 3, 8)), w], (2, 3, 5), "BatchMatMulOptions", version=4, AdjY=adj_y)


_SHARP = constant("mixed/w", (3, 3, 3, 4))
WEIGHTS = {
    "CONV_2D": ((3, 3, 3, 4), lambda m, w: m.conv2d(m.input(IMAGE), w, np.zeros(3, np.float32))),
    "CONV_2D in groups": ((4, 3, 3, 2), lambda m, w: m.conv2d(m.input(IMAGE), w, np.zeros(4, np.float32))),
    "DEPTHWISE_CONV_2D": ((1, 3, 3, 4), lambda m, w: m.depthwise_conv2d(m.input(IMAGE), w, np.zeros(4, np.float32))),
    "TRANSPOSE_CONV": ((3, 3, 3, 4), lambda m, w: m.transpose_conv(m.input(IMAGE), w)),
    "FULLY_CONNECTED": ((5, 8), lambda m, w: m.fully_connected(m.input((2, 8)), w)),
    "BATCH_MATMUL": ((2, 8, 5), lambda m, w: _matmul(m, w, False)),
    "BATCH_MATMUL of columns": ((2, 5, 8), lambda m, w: _matmul(m, w, True)),
    "EMBEDDING_LOOKUP": ((5, 8), lambda m, w: m.op("EMBEDDING_LOOKUP", [np.int32([3, 0, 3]), w], (3, 8))),
}
OTHERS = {  # no kernel takes these beside floats
    "PRELU": ((1, 1, 4), lambda m, w: m.prelu(m.input(IMAGE), w)),
    "ADD": ((4,), lambda m, w: m.add(m.input(IMAGE), w)),
    "CONCATENATION": (IMAGE, lambda m, w: m.concatenation(m.input(IMAGE), w)),
    "CONV_2D's bias": ((3,), lambda m, w: m.conv2d(m.input(IMAGE), _SHARP, w)),
    "FULLY_CONNECTED's bias": ((5,), lambda m, w: m.fully_connected(m.input((2, 8)), constant("mixed/f", (5, 8)), w)),
    "TRANSPOSE_CONV's bias": ((3,), lambda m, w: m.transpose_conv(m.input(IMAGE), _SHARP, w)),
    "DYNAMIC_UPDATE_SLICE": (
        (2, 3),
        lambda m, w: m.op("DYNAMIC_UPDATE_SLICE", [m.input((5, 6)), w, np.int32([1, 1])], (5, 6)),
    ),
}
RESULTS = {  # of floats, where the only operand is of another type
    "RELU": lambda m, w: m.unary("RELU", w),
    "RESHAPE": lambda m, w: m.reshape(w, (5, 24)),
    "MEAN": lambda m, w: m.mean(w, [1, 2]),
    "GATHER": lambda m, w: m.op("GATHER", [w, np.int32([0, 0])], (2, 5, 6, 4), "GatherOptions", version=5),
}


def model(shape, build, dtype: str, **fields) -> Model:
    m = Model()
    m.output(build(m, m.input(shape, dtype, **fields)))
    return m


def feeds(m: Model) -> list[np.ndarray]:
    numbers = generator("mixed types")
    makers = {
        "int8": lambda shape: numbers.integers(-127, 128, shape),
        "uint8": lambda shape: numbers.integers(0, 256, shape),
    }
    makers["int16"] = lambda shape: numbers.integers(-9999, 9999, shape)
    return [makers.get(x.dtype, lambda shape: numbers.uniform(-2, 2, shape))(x.shape).astype(x.dtype) for x in m.inputs]


@on_both
@pytest.mark.parametrize("op", [op for op in WEIGHTS if "DEPTHWISE" not in op and "groups" not in op])
def test_weights_of_int8_are_the_floats_that_they_stand_for(quadra, op, backend):
    """The CPU's kernels round the floats beside them, too, but for a table."""
    m = model(*WEIGHTS[op], **TYPES["int8"])
    fed = feeds(m)
    outcome = quadra.run(m.bytes(), fed, **options(backend=backend))
    outcome.check(cpu.run(m.bytes(), fed), 1e-6 if op == "EMBEDDING_LOOKUP" else 1e-2)
    as_floats = model(*WEIGHTS[op], "float32")
    whole = [np.float32(SCALE) * x.astype(np.float32) if x.dtype == np.int8 else x for x in fed]
    outcome.check(cpu.run(as_floats.bytes(), whole), 1e-5)


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind != "int8"])
@pytest.mark.parametrize("op", WEIGHTS)
def test_other_weights_beside_floats_stay_on_the_cpu(quadra, op, kind):
    outcome = quadra.run(model(*WEIGHTS[op], **TYPES[kind]).bytes(), **options("generic", backend="null"))
    reason = outcome.nodes[0]["reason"]
    assert (
        ("with the zero point 5" in reason) if "zero" in kind and "DEPTHWISE" not in op else ("for floats" in reason)
    ), reason


def test_depthwise_weights_of_int8_stay_on_the_cpu(quadra):
    """Its kernel reads a scale for each channel, and beyond the end of the only one."""
    outcome = quadra.run(
        model(*WEIGHTS["DEPTHWISE_CONV_2D"], **TYPES["int8"]).bytes(), **options("generic", backend="null")
    )
    assert "a scale for each channel" in outcome.nodes[0]["reason"], outcome.nodes


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("op", OTHERS)
def test_other_operands_beside_floats_stay_on_the_cpu(quadra, op, kind):
    outcome = quadra.run(model(*OTHERS[op], **TYPES[kind]).bytes(), **options("generic", backend="null"))
    assert "TFLite's kernel takes one type" in outcome.nodes[0]["reason"], outcome.nodes


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("op", RESULTS)
def test_results_of_another_type_stay_on_the_cpu(quadra, op, kind):
    outcome = quadra.run(model(IMAGE, RESULTS[op], **TYPES[kind]).bytes(), **options("generic", backend="null"))
    assert "TFLite's kernel converts nothing" in outcome.nodes[0]["reason"], outcome.nodes


@on_both
def test_activations_of_int16_beside_computed_weights_of_int8(quadra, backend):
    """Which TFLite's kernels take: no mixture of floats."""
    m = Model()
    x = m.input((2, 8), "int16", scale=0.001, zero_point=0)
    w = m.input((5, 8), "int8", scale=SCALE, zero_point=0)
    y = m.op(
        "FULLY_CONNECTED", [x, w, None], (2, 5), "FullyConnectedOptions", version=7,
        output={"dtype": "int16", "scale": 0.002, "zero_point": 0},
    )  # fmt: skip
    m.output(y)
    fed = feeds(m)
    outcome = quadra.run(m.bytes(), fed, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    difference = outcome.outputs[-1][0].astype(int) - cpu.run(m.bytes(), fed)[0].astype(int)
    assert np.abs(difference).max() <= 1
