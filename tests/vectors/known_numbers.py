"""Nodes whose operands are constants, as models compute tables of positions, masks and biases anew each time: their
results are constants, too. x is added, so that the numbers show."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.model_builder import Model
from tests.vectors.case import Case, constant


def _added(op: str, name: str, shape: tuple[int, ...], make: Callable, known: Callable, half: bool = True) -> Case:
    """`make` adds the nodes that nobody has to compute, `known` says their numbers."""
    return Case(op, name, [shape], lambda m, x: m.add(x, make(m)), lambda x: x + known().astype(np.float32), half=half)


_TABLE = "known_numbers/table"


def _sines(m: Model):
    """Sines and cosines of places, of frequencies that are powers: a table of positions."""
    half = m.elementwise("FLOOR_DIV", m.const(np.arange(8, dtype=np.float32)), np.float32(2), kind="FloorDivOptions")
    powers = m.elementwise("POW", np.float32(100), m.mul(half, np.float32(0.25)), kind="PowOptions")
    angles = m.elementwise("DIV", m.const(np.arange(5, dtype=np.float32).reshape(5, 1)), powers, kind="DivOptions")
    even = m.strided_slice(angles, (0, 0), (5, 8), (1, 2))
    odd = m.strided_slice(angles, (0, 1), (5, 8), (1, 2))
    parts = [m.reshape(m.elementwise(op, part), (5, 4, 1)) for op, part in (("SIN", even), ("COS", odd))]
    return m.reshape(m.concatenation(*parts, axis=2), (5, 8))


def _sines_known() -> np.ndarray:
    angles = np.arange(5)[:, None] / 100.0 ** (np.arange(8) // 2 * 0.25)
    return np.where(np.arange(8) % 2, np.cos(angles), np.sin(angles))


def _bias(m: Model):
    """A bias of relative positions, which a layer learned: a product, a lookup, a function, an order."""
    layer = m.fully_connected(m.const(constant(_TABLE, (9, 6))), constant(_TABLE, (2, 6)))
    places = np.int32(np.arange(16).reshape(16, 1) * 5 % 9)
    rows = m.op("GATHER_ND", [layer, places], (16, 2), "GatherNdOptions")
    scaled = m.mul(m.elementwise("LOGISTIC", rows), np.float32(16))
    return m.op("TRANSPOSE", [m.reshape(scaled, (4, 4, 2)), np.int32([2, 0, 1])], (2, 4, 4), "TransposeOptions")


def _bias_known() -> np.ndarray:
    layer = constant(_TABLE, (9, 6)).astype(np.float64) @ constant(_TABLE, (2, 6)).T.astype(np.float64)
    rows = 16 / (1 + np.exp(-layer[np.arange(16) * 5 % 9]))
    return rows.reshape(4, 4, 2).transpose(2, 0, 1)


def _mask(m: Model):
    """What two places of a window may see of each other."""
    groups = m.pad(m.const(np.float32([[1, 2], [3, 4]])), ((1, 0), (0, 1)))
    row, column = m.reshape(groups, (1, 9)), m.reshape(groups, (9, 1))
    difference = m.elementwise("SUB", row, column, kind="SubOptions")
    differs = m.elementwise("NOT_EQUAL", difference, np.float32(0), kind="NotEqualOptions", to_bool=True)
    return m.elementwise("SELECT_V2", differs, np.float32(-100), np.float32(0), kind="SelectV2Options")


def _mask_known() -> np.ndarray:
    groups = np.float32([[0, 0, 0], [1, 2, 0], [3, 4, 0]]).reshape(-1)
    return np.where(groups[None] != groups[:, None], -100, 0)


def _buckets(m: Model):
    """T5's buckets of distances: casts between ints and floats, a logarithm of 0 among them."""
    far = m.const(np.int32(np.abs(np.arange(6)[None] - np.arange(6)[:, None])))
    logs = m.elementwise("LOG", m.op("CAST", [far], (6, 6), "CastOptions"))
    large = m.op("CAST", [m.mul(logs, np.float32(2))], (6, 6), "CastOptions", output={"dtype": "int32"})
    large = m.elementwise("MINIMUM", large, np.int32(3), kind="MaximumMinimumOptions")
    near = m.elementwise("LESS", far, np.int32(2), kind="LessOptions", to_bool=True)
    bucket = m.elementwise("SELECT", near, far, large, kind="SelectOptions")
    table = constant(_TABLE, (4, 3))
    at = m.op("RESHAPE", [bucket, np.int32([36])], (36,), output={"dtype": "int32"})
    return m.op("GATHER", [table, at], (36, 3), "GatherOptions", Axis=0)


def _buckets_known() -> np.ndarray:
    far = np.abs(np.arange(6)[None] - np.arange(6)[:, None])
    large = np.minimum(np.trunc(2 * np.log(np.maximum(far, 1))), 3).astype(int)
    return constant(_TABLE, (4, 3))[np.where(far < 2, far, large).reshape(-1)]


def _pixels(m: Model):
    table = m.const(constant(_TABLE, (1, 4, 5, 6)))
    return m.conv2d(table, constant(_TABLE, (7, 1, 1, 6)), constant(_TABLE, (7,)), activation="RELU")


def _pixels_known() -> np.ndarray:
    sums = constant(_TABLE, (1, 4, 5, 6)).astype(np.float64) @ constant(_TABLE, (7, 6)).T + constant(_TABLE, (7,))
    return np.maximum(sums, 0)


def _too_large(m: Model):
    """A result that would take more memory than it is worth: the GPU computes it."""
    return m.elementwise(
        "SUB", m.const(constant(_TABLE, (260, 1))), m.const(constant(_TABLE, (1, 256))), kind="SubOptions"
    )


def _too_large_known() -> np.ndarray:
    return constant(_TABLE, (260, 1)) - constant(_TABLE, (1, 256))


CASES = [
    _added("SIN", "known_positions", (5, 8), _sines, _sines_known),
    _added("TRANSPOSE", "known_bias", (2, 4, 4), _bias, _bias_known),
    _added("SELECT_V2", "known_mask", (9, 9), _mask, _mask_known),
    _added("GATHER", "known_buckets", (36, 3), _buckets, _buckets_known),
    _added("CONV_2D", "known_pixels", (1, 4, 5, 7), _pixels, _pixels_known),
    _added("SUB", "known_and_large", (260, 256), _too_large, _too_large_known),
    Case(
        "MUL",
        "known_output",
        [(2, 3)],
        lambda m, x: (m.add(x, np.float32(1)), m.mul(m.const(constant(_TABLE, (2, 3))), np.float32(3))),
        lambda x: (x + np.float32(1), constant(_TABLE, (2, 3)) * np.float32(3)),
        place="any",
    ),
]
