"""Reshapes, transposes and slices after each other, as windows of images and fused products of q, k and v have them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.model_builder import Model, Value
from tests.vectors.case import Case, constant


def _windows_of(x: np.ndarray, size: Sequence[int]) -> np.ndarray:
    b, h, w, c = x.shape
    p, q = size
    parts = x.reshape(b, h // p, p, w // q, q, c).transpose(0, 1, 3, 2, 4, 5)
    return parts.reshape(-1, p * q, c)


def _transposed(m: Model, x: Value, order: Sequence[int], dtype: str = "float32") -> Value:
    shape = tuple(x.shape[axis] for axis in order)
    return m.op("TRANSPOSE", [x, np.int32(order)], shape, "TransposeOptions", output={"dtype": dtype})


def _windows(name: str, shape: Sequence[int], size: Sequence[int], channels: int) -> Case:
    """A product in windows: its bias is another for each place of a window."""
    b, h, w, c = shape
    p, q = size
    weights = constant(f"moves/{name}", (channels, c))
    bias = constant(f"moves/{name}", (p * q, channels))

    def build(m: Model, x: Value) -> Value:
        x = m.unary("TANH", x)
        parts = _transposed(m, m.reshape(x, (b, h // p, p, w // q, q, c)), (0, 1, 3, 2, 4, 5))
        made = m.fully_connected(m.reshape(parts, (-1, p * q, c)), weights, keep_num_dims=True)
        made = m.reshape(m.add(made, bias), (b, h // p, w // q, p, q, channels))
        return m.unary("TANH", m.reshape(_transposed(m, made, (0, 1, 3, 2, 4, 5)), (b, h, w, channels)))

    def reference(x: np.ndarray) -> np.ndarray:
        made = _windows_of(np.tanh(x), size) @ weights.T + bias
        made = made.reshape(b, h // p, w // q, p, q, channels).transpose(0, 1, 3, 2, 4, 5)
        return np.tanh(made.reshape(b, h, w, channels))

    return Case("TRANSPOSE", f"windows_{name}", [tuple(shape)], build, reference)


def _heads(name: str, windows: int, rows: int, heads: int, depth: int) -> Case:
    """Attention in windows by bmm, of q, k and v that one product made, with a bias for each head."""
    channels = heads * depth
    weights = constant(f"moves/{name}", (3 * channels, 8))
    bias = constant(f"moves/{name}", (1, heads, rows, rows))

    def build(m: Model, x: Value) -> Value:
        made = m.fully_connected(x, weights, keep_num_dims=True)
        made = _transposed(m, m.reshape(made, (windows, rows, 3, heads, depth)), (2, 0, 3, 1, 4))
        one = (1, windows, heads, rows, depth)
        parts = []
        for i in range(3):
            part = m.op("SLICE", [made, np.int32([i, 0, 0, 0, 0]), np.int32(one)], one, "SliceOptions")
            parts.append(m.reshape(part, one[1:]))
        q, k, v = m.mul(parts[0], np.float32(depth**-0.5)), _transposed(m, parts[1], (0, 1, 3, 2)), parts[2]
        count = windows * heads
        q, v = m.reshape(q, (count, rows, depth)), m.reshape(v, (count, rows, depth))
        k = m.reshape(k, (count, depth, rows))
        scores = m.op("BATCH_MATMUL", [q, k], (count, rows, rows), "BatchMatMulOptions")
        scores = m.softmax(m.add(m.reshape(scores, (windows, heads, rows, rows)), bias))
        scores = m.reshape(scores, (count, rows, rows))
        out = m.op("BATCH_MATMUL", [scores, v], (count, rows, depth), "BatchMatMulOptions")
        out = _transposed(m, m.reshape(out, (windows, heads, rows, depth)), (0, 2, 1, 3))
        return m.reshape(out, (windows, rows, channels))

    def reference(x: np.ndarray) -> np.ndarray:
        made = (x.astype(np.float64) @ weights.T.astype(np.float64)).reshape(windows, rows, 3, heads, depth)
        q, k, v = made.transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) * depth**-0.5 + bias
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        out = scores / scores.sum(-1, keepdims=True) @ v
        return out.transpose(0, 2, 1, 3).reshape(windows, rows, channels)

    return Case("BATCH_MATMUL", f"heads_{name}", [(windows, rows, 8)], build, reference)


def _strided(name: str, dtype: str = "float32") -> Case:
    """Every second row from the second on, of what was transposed, in another shape."""
    ints = dtype != "float32"

    def build(m: Model, x: Value) -> Value:
        if ints:
            x = m.op("CAST", [x], x.shape, "CastOptions", output={"dtype": dtype})
        moved = _transposed(m, x, (0, 2, 1), dtype)
        ends = [np.int32(n) for n in ((0, 1, 0), (2, 8, 9), (1, 2, 3))]
        moved = m.op("STRIDED_SLICE", [moved, *ends], (2, 4, 3), "StridedSliceOptions", output={"dtype": dtype})
        moved = m.op("RESHAPE", [moved, np.int32([4, 6])], (4, 6), "ReshapeOptions", output={"dtype": dtype})
        return m.op("CAST", [moved], (4, 6), "CastOptions") if ints else m.unary("TANH", moved)

    def reference(x: np.ndarray) -> np.ndarray:
        moved = np.trunc(x) if ints else np.tanh(x)
        return moved.transpose(0, 2, 1)[:, 1::2, ::3].reshape(4, 6)

    return Case("STRIDED_SLICE", f"moved_{name}", [(2, 9, 8)], build, reference)


def _rolled(m: Model, x: Value, shifts: Sequence[int], dtype: str = "float32") -> Value:
    """As np.roll does from axis 1 on: two slices and a concatenation for each axis."""
    for axis, shift in enumerate(shifts, 1):
        if shift == 0:
            continue
        parts = []
        for begin, end in ((-shift % x.shape[axis], x.shape[axis]), (0, -shift % x.shape[axis])):
            first, shape = [0] * len(x.shape), list(x.shape)
            first[axis], shape[axis] = begin, end - begin
            ends = [np.int32(first), np.int32(shape)]
            parts.append(m.op("SLICE", [x, *ends], tuple(shape), "SliceOptions", output={"dtype": dtype}))
        x = m.op("CONCATENATION", parts, x.shape, "ConcatenationOptions", output={"dtype": dtype}, Axis=axis)
    return x


def _shifted(name: str, shape: Sequence[int], size: Sequence[int], heads: int, *, kept: int = 0) -> Case:
    """Attention in shifted windows, with a bias for each head and a mask for each window, which is added twice."""
    b, h, w, c = shape
    p, q = size
    rows, windows, depth = p * q, h // p * (w // q), c // heads
    bias = constant(f"moves/{name}", (heads, rows, rows))
    mask = np.where(constant(f"moves/mask_{name}", (windows, 1, rows, rows)) > 0.2, np.float32(-100), np.float32(0))
    kept = kept or h

    def split(m: Model, x: Value) -> Value:
        return _transposed(m, m.reshape(x, (windows, rows, heads, depth)), (0, 2, 1, 3))

    def build(m: Model, x: Value) -> Value:
        x = _rolled(m, m.unary("TANH", x), (-(p // 2), -(q // 2)))
        x = _transposed(m, m.reshape(x, (b, h // p, p, w // q, q, c)), (0, 1, 3, 2, 4, 5))
        x = m.unary("TANH", m.reshape(x, (windows, rows, c)))
        one = (windows, heads, rows, rows)
        scores = m.op("BATCH_MATMUL", [split(m, x), split(m, x)], one, "BatchMatMulOptions", AdjY=True)
        scores = m.reshape(m.add(scores, bias), (1, windows, heads, rows, rows))
        scores = m.add(m.add(scores, mask[None]), mask[None])
        scores = m.softmax(m.reshape(scores, (windows, heads, rows, rows)))
        out = m.op("BATCH_MATMUL", [scores, split(m, x)], (windows, heads, rows, depth), "BatchMatMulOptions")
        out = m.unary("TANH", m.reshape(_transposed(m, out, (0, 2, 1, 3)), (windows, rows, c)))
        out = _transposed(m, m.reshape(out, (b, h // p, w // q, p, q, c)), (0, 1, 3, 2, 4, 5))
        out = _rolled(m, m.reshape(out, (b, h, w, c)), (p // 2, q // 2))
        if kept < h:
            out = m.op("SLICE", [out, np.int32([0] * 4), np.int32([b, kept, w, c])], (b, kept, w, c), "SliceOptions")
        return m.unary("TANH", out)

    def reference(x: np.ndarray) -> np.ndarray:
        x = np.roll(np.tanh(x.astype(np.float64)), (-(p // 2), -(q // 2)), (1, 2))
        parts = np.tanh(_windows_of(x, size)).reshape(windows, rows, heads, depth).transpose(0, 2, 1, 3)
        scores = parts @ parts.swapaxes(-1, -2) + bias + 2 * mask
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        out = np.tanh((scores / scores.sum(-1, keepdims=True) @ parts).transpose(0, 2, 1, 3))
        out = out.reshape(b, h // p, w // q, p, q, c).transpose(0, 1, 3, 2, 4, 5).reshape(shape)
        return np.tanh(np.roll(out, (p // 2, q // 2), (1, 2))[:, :kept])

    return Case("BATCH_MATMUL", f"shifted_{name}", [tuple(shape)], build, reference)


def _rolls(name: str, shape: Sequence[int], shifts: Sequence[int], dtype: str = "float32") -> Case:
    """Rolled, and windows that are cut where the image ends."""
    b, h, w, c = shape

    def build(m: Model, x: Value) -> Value:
        if dtype != "float32":
            x = m.op("CAST", [x], x.shape, "CastOptions", output={"dtype": dtype})
        x = _rolled(m, x, shifts, dtype)
        sizes = (b, h // 2, w // 3, 2, 3, c)
        x = m.op("RESHAPE", [x, np.int32(sizes)], sizes, "ReshapeOptions", output={"dtype": dtype})
        x = _transposed(m, x, (0, 1, 3, 2, 4, 5), dtype)
        x = m.op("RESHAPE", [x, np.int32(shape)], shape, "ReshapeOptions", output={"dtype": dtype})
        ends = [np.int32([0, 1, 0, 0]), np.int32([b, h - 2, w - 1, c])]
        x = m.op("SLICE", [x, *ends], (b, h - 2, w - 1, c), "SliceOptions", output={"dtype": dtype})
        return m.op("CAST", [x], x.shape, "CastOptions") if dtype != "float32" else m.unary("TANH", x)

    def reference(x: np.ndarray) -> np.ndarray:
        x = np.trunc(x) if dtype != "float32" else x
        for axis, shift in enumerate(shifts, 1):
            x = np.roll(x, shift, axis)
        x = x.reshape(b, h // 2, w // 3, 2, 3, c).transpose(0, 1, 3, 2, 4, 5).reshape(shape)[:, 1 : h - 1, : w - 1]
        return x if dtype != "float32" else np.tanh(x)

    return Case("CONCATENATION", f"rolled_{name}", [tuple(shape)], build, reference)


CASES = [
    _windows("of_pixels", (1, 6, 8, 8), (3, 4), 8),
    _windows("of_odd_channels", (2, 4, 6, 5), (2, 3), 7),
    _heads("of_slices", 4, 9, 2, 8),
    _heads("of_numbers", 3, 6, 2, 5),
    _heads("of_one_image", 1, 10, 3, 4),
    _strided("floats"),
    _strided("ints", "int32"),
    _shifted("windows", (1, 6, 8, 8), (3, 4), 2),
    _shifted("windows_of_odd_depth", (1, 4, 8, 6), (4, 4), 2, kept=3),
    _rolls("pixels", (2, 6, 9, 8), (1, -2)),
    _rolls("channels", (1, 4, 6, 5), (2, 4, 2)),
    _rolls("ints", (1, 4, 6, 4), (0, 1, 3), "int32"),
]
