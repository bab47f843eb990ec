"""Models that were written with channels first, as PyTorch's converter exports them: transposes stand before and after
each convolution, with reshapes, elementwise nodes and norms between them. A case reads and writes channels last, as
convolutions do, so that nothing has to be transposed on the GPU, unless its name says so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.model_builder import Model, Value
from tests.vectors.case import Case, Feed, constant
from tests.vectors.fused import layer_norm, transpose

_FACTOR, _TERM, _EPSILON = "channels_first/factor", "channels_first/term", np.float32(1e-5)


def _factor(*shape: int) -> np.ndarray:
    return constant(_FACTOR, shape, 0.5, 1.5)


def _term(*shape: int) -> np.ndarray:
    return constant(_TERM, shape)


def _group_norm(m: Model, x: Value, groups: int, has_factor: bool = True) -> Value:
    """x * s + (term - mean * s) where s = factor / sqrt(variance + epsilon), of rows that a reshape makes."""
    n, c, *pixels = x.shape
    size, ones = c // groups, (1,) * len(pixels)
    rows = m.reshape(x, (n, groups, size, int(np.prod(pixels))))
    mean = m.mean(rows, (2, 3), True)
    centered = m.elementwise("SUB", rows, mean, kind="SubOptions")
    variance = m.add(m.mean(m.mul(centered, centered), (2, 3)), _EPSILON)
    root = m.elementwise("RSQRT", m.reshape(variance, (n, groups, 1, 1)))
    shape = (n, groups, size, 1)
    if has_factor:
        scale = m.mul(root, _factor(1, groups, size, 1))
    else:
        scale = m.op("BROADCAST_TO", [root, np.int32(shape)], shape, version=2)
    shift = m.mul(m.mul(mean, np.float32(-1)), scale if has_factor else root)
    shift = m.add(shift, _term(1, groups, size, 1))
    scaled = m.mul(x, m.reshape(scale, (n, c, *ones)))
    return m.add(scaled, m.reshape(shift, (n, c, *ones)))


def _instance_norm(m: Model, x: Value) -> Value:
    c = x.shape[1]
    mean = m.mean(x, (2, 3), True)
    centered = m.elementwise("SUB", x, mean, kind="SubOptions")
    variance = m.add(m.mean(m.mul(centered, centered), (2, 3)), _EPSILON)
    root = m.elementwise("RSQRT", m.reshape(variance, (*x.shape[:2], 1, 1)))
    return m.add(m.mul(m.mul(centered, root), _factor(1, c, 1, 1)), _term(1, c, 1, 1))


def _normed(x: np.ndarray, groups: int, has_factor: bool = True) -> np.ndarray:
    """Of [n, pixels, c]."""
    n, c = x.shape[0], x.shape[-1]
    parts = np.moveaxis(x.astype(np.float64), -1, 1).reshape(n, groups, -1)
    parts = parts - parts.mean(-1, keepdims=True)
    parts = parts / np.sqrt((parts**2).mean(-1, keepdims=True) + 1e-5)
    y = np.moveaxis(parts.reshape(n, c, *x.shape[1:-1]), 1, -1)
    return y * (_factor(c) if has_factor else 1) + _term(c)


def _norm(name: str, shape: tuple[int, ...], groups: int, most: float = 2.0, **how) -> Case:
    """GroupNorm between transposes."""
    rank = len(shape)
    first, last = (0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)
    return Case(
        "channels_first",
        name,
        [Feed(shape, -most, most)],
        lambda m, x: transpose(m, _group_norm(m, transpose(m, x, *first), groups, **how), *last),
        lambda x: _normed(x, groups, **how),
    )


def _between(m: Model, x: Value, build: Callable[[Model, Value], Value]) -> Value:
    """What `build` makes of x with channels first, with channels last."""
    return transpose(m, build(m, transpose(m, x, 0, 3, 1, 2)), 0, 2, 3, 1)


def _residual(m: Model, x: Value, y: Value) -> Value:
    """Of two tensors, a small one that is computed, and constants of lower rank and of one number."""
    a, b = transpose(m, x, 0, 3, 1, 2), transpose(m, y, 0, 3, 1, 2)
    gate = m.unary("LOGISTIC", m.mean(a, (2, 3), True))
    total = m.mul(m.add(a, m.elementwise("MAXIMUM", b, _term(x.shape[3], 1, 1))), gate)
    return transpose(m, m.mul(total, np.float32(0.5)), 0, 2, 3, 1)


def _residual_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    gate = 1 / (1 + np.exp(-x.astype(np.float64).mean((1, 2), keepdims=True)))
    return (x + np.maximum(y, _term(x.shape[3]))) * gate * 0.5


def _one_axis(m: Model, x: Value) -> Value:
    """Convolutions of one axis are those of two with a height of 1; between them tensors have rank 3."""
    n, _, length, c = x.shape
    y = m.unary("TANH", m.reshape(transpose(m, x, 0, 3, 1, 2), (n, c, length)))
    y = m.mul(y, _factor(1, c, 1))
    return transpose(m, m.reshape(y, (n, c, 1, length)), 0, 2, 3, 1)


def _patches(m: Model, x: Value) -> Value:
    """A vision transformer's: pixels in a row."""
    n, h, w, c = x.shape
    return m.mul(transpose(m, m.reshape(transpose(m, x, 0, 3, 1, 2), (n, c, h * w)), 0, 2, 1), _factor(c))


def _heads(m: Model, x: Value, heads: int) -> Value:
    n, h, w, c = x.shape
    y = m.reshape(transpose(m, x, 0, 3, 1, 2), (n, heads, c // heads, h * w))
    return m.mul(transpose(m, y, 0, 1, 3, 2), _factor(c // heads))


def _heads_of(x: np.ndarray, heads: int) -> np.ndarray:
    n, h, w, c = x.shape
    return x.reshape(n, h * w, heads, c // heads).transpose(0, 2, 1, 3) * _factor(c // heads)


def _read_before(m: Model, x: Value) -> tuple[Value, Value]:
    """The value between two transposes is an output, too."""
    y = m.unary("TANH", transpose(m, x, 0, 3, 1, 2))
    return y, m.mul(transpose(m, y, 0, 2, 3, 1), _factor(x.shape[3]))


def _norm_of_pixels(m: Model, x: Value) -> Value:
    """LayerNorm of an image's channels and a product, of its pixels in a row."""
    n, h, w, c = x.shape
    y = m.mul(layer_norm(m, m.reshape(x, (n, h * w, c)), 1e-5), _factor(c))
    return m.reshape(m.fully_connected(y, constant(_TERM, (5, c)), keep_num_dims=True), (n, h, w, 5))


def _normed_pixels(x: np.ndarray) -> np.ndarray:
    y = x.astype(np.float64) - x.mean(-1, keepdims=True, dtype=np.float64)
    y = y / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-5) * _factor(x.shape[-1])
    return y @ constant(_TERM, (5, x.shape[-1])).T


CASES = [
    _norm("group_norm", (1, 6, 5, 8), 2),
    _norm("group_norm_of_two_batches", (2, 4, 7, 12), 3),
    _norm("group_norm_without_factors", (1, 5, 6, 8), 4, has_factor=False),
    _norm("group_norm_of_one_axis", (2, 19, 8), 2),
    _norm("group_norm_of_one_group", (1, 23, 6), 1, most=900),
    _norm("group_norm_of_three_axes", (1, 3, 4, 5, 8), 2),
    _norm("group_norm_of_uneven_groups", (1, 5, 4, 18), 6),
    Case(
        "channels_first",
        "instance_norm",
        [Feed((2, 6, 5, 8))],
        lambda m, x: _between(m, x, _instance_norm),
        lambda x: _normed(x, x.shape[-1]),
    ),
    Case("channels_first", "sums", [(1, 5, 6, 7), (1, 5, 6, 7)], _residual, _residual_of),
    Case("channels_first", "sums_of_two_batches", [(2, 3, 4, 9), (2, 3, 4, 9)], _residual, _residual_of),
    Case(
        "channels_first", "one_axis", [(2, 1, 13, 6)], _one_axis, lambda x: np.tanh(x.astype(np.float64)) * _factor(6)
    ),
    Case("channels_first", "patches", [(2, 4, 3, 10)], _patches, lambda x: x.reshape(2, 12, 10) * _factor(10)),
    Case("channels_first", "pixels_in_a_row", [(2, 4, 3, 11)], _norm_of_pixels, _normed_pixels),
    Case(
        "channels_first",
        "heads_with_one_transpose",
        [(2, 3, 4, 18)],
        lambda m, x: _heads(m, x, 3),
        lambda x: _heads_of(x, 3),
    ),
    Case(
        "channels_first",
        "an_output_with_one_transpose",
        [(1, 3, 5, 6)],
        _read_before,
        lambda x: (np.tanh(x).transpose(0, 3, 1, 2), np.tanh(x) * _factor(6)),
    ),
]
