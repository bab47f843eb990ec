"""Tensors of float16: models' inputs and outputs, and what lies between. Quadra computes them in its own precision; the CPU, where
it knows the type at all, rounds each."""

from __future__ import annotations

import numpy as np

from tests.model_builder import Model, Value
from tests.vectors.case import Case, Feed, constant

HALF = "float16"
SHAPE = (2, 3, 5, 6)
# Beyond the range of halfs that are whole, the least of the normal ones, and of all.
EDGES = (65504.0, -65504.0, 6.104e-5, 5.97e-8, -5.97e-8, np.inf, -np.inf, np.nan)


def half(shape=SHAPE, **special) -> Feed:
    return Feed(shape, dtype=HALF, **special)


def makes_half(m: Model, op: str, inputs: list, shape=SHAPE, options: str | None = None, version: int = 1, **fields):
    return m.op(op, inputs, shape, options, version, output={"dtype": HALF}, **fields)


def to_half(m: Model, x: Value) -> Value:
    return makes_half(m, "CAST", [x], x.shape, "CastOptions", 5)


def to_float(m: Model, x: Value) -> Value:
    return m.op("CAST", [x], x.shape, "CastOptions", 5)


def _dense(m: Model, x: Value) -> Value:
    weights = m.const(_WEIGHTS.astype(np.float16))
    return to_float(m, makes_half(m, "FULLY_CONNECTED", [x, weights, None], (7, 9), "FullyConnectedOptions"))


_WEIGHTS = constant("float16/weights", (9, 12))
_FACTOR = (np.round(8 * constant("float16/factor", SHAPE[-1:])) / 8).astype(np.float16)
_ORDER = [0, 2, 3, 1]


def _moved(m: Model, x: Value, y: Value) -> Value:
    rows = makes_half(m, "TRANSPOSE", [x, np.int32(_ORDER)], (2, 5, 6, 3))
    pair = makes_half(m, "CONCATENATION", [rows, y], (2, 5, 6, 7), "ConcatenationOptions", Axis=3)
    padded = makes_half(m, "PAD", [pair, np.int32([[0, 0], [1, 0], [0, 2], [0, 0]])], (2, 6, 8, 7))
    return makes_half(m, "SLICE", [padded, np.int32([1, 0, 2, 1]), np.int32([1, 6, 5, 5])], (1, 6, 5, 5))


def _moved_by_numpy(x, y):
    pair = np.concatenate([x.transpose(_ORDER), y], 3)
    return np.pad(pair, ((0, 0), (1, 0), (0, 2), (0, 0)))[1:2, 0:6, 2:7, 1:6]


CASES = [
    Case("DEQUANTIZE", "of_half", [half(special=EDGES)], lambda m, x: m.op("DEQUANTIZE", [x], SHAPE, version=3),
         lambda x: x.astype(np.float32), half=False),
    Case("CAST", "from_half", [half()], lambda m, x: m.unary("ABS", to_float(m, x)), np.abs),
    Case("CAST", "to_half", [Feed(SHAPE, special=EDGES)], to_half, lambda x: x.astype(np.float16), half=False),
    Case("CAST", "to_half_and_integers", [half((3, 7))],
         lambda m, x: (m.op("CAST", [x], (3, 7), "CastOptions", 5, output={"dtype": "int32"}),
                       to_half(m, m.op("CAST", [x], (3, 7), "CastOptions", 5))),
         lambda x: (x.astype(np.int32), x)),
    Case("MUL", "half_by_a_constant", [half(step=0.0625)],
         lambda m, x: makes_half(m, "MUL", [m.const(_FACTOR), makes_half(m, "ADD", [x, x], options="AddOptions")], options="MulOptions"),
         lambda x: (x.astype(np.float64) * 2 * _FACTOR)),
    Case("TRANSPOSE", "half_moved", [half(), half((2, 5, 6, 4))], _moved, _moved_by_numpy),
    Case("SOFTMAX", "half", [half()],
         lambda m, x: to_float(m, makes_half(m, "SOFTMAX", [x], options="SoftmaxOptions", Beta=1.0)),
         lambda x: np.exp(x.astype(np.float64)) / np.exp(x.astype(np.float64)).sum(-1, keepdims=True), on_cpu=False),
    Case("FULLY_CONNECTED", "half", [half((7, 12))], _dense, lambda x: x.astype(np.float64) @ _WEIGHTS.astype(np.float16).T, on_cpu=False),
]  # fmt: skip
