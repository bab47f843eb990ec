"""Norms, rotary embeddings and attentions as converters write them: several nodes that are one on the GPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.model_builder import Model, Value
from tests.vectors.case import Case, Feed, constant
from tests.vectors.composites import attention


def _sub(m: Model, a, b) -> Value:
    return m.elementwise("SUB", a, b, kind="SubOptions")


def _div(m: Model, a, b) -> Value:
    return m.elementwise("DIV", a, b, kind="DivOptions")


def transpose(m: Model, x: Value, *order: int) -> Value:
    return m.op("TRANSPOSE", [x, np.int32(order)], tuple(x.shape[i] for i in order), "TransposeOptions")


def _mean(m: Model, x: Value, keeps: bool = True) -> Value:
    """Of each pixel's channels; `keeps`: with a last axis of one, which else a reshape brings back."""
    mean = m.mean(x, (-1,), keeps)
    return mean if keeps else m.reshape(mean, (*x.shape[:-1], 1))


def _variance(m: Model, centered: Value, epsilon: float, keeps: bool = True) -> Value:
    return m.add(_mean(m, m.mul(centered, centered), keeps), np.float32(epsilon))


def _scaled(m: Model, x: Value, channels: int) -> Value:
    return m.mul(x, constant("fused/scale", (channels,), 0.5, 1.5))


def rms_norm(m: Model, x: Value, epsilon: float) -> Value:
    return m.mul(x, m.elementwise("RSQRT", _variance(m, x, epsilon)))


def _rms_norm_reshaped(m: Model, x: Value, epsilon: float) -> Value:
    """As PyTorch's composites have it: the mean drops its axis, and epsilon is added before it comes back."""
    squares = m.elementwise("SQUARE", x)
    mean = m.add(np.float32(epsilon), m.mean(squares, (-1,)))
    return m.mul(m.elementwise("RSQRT", m.reshape(mean, (*x.shape[:-1], 1))), x)


def _rms_norm_by_a_root(m: Model, x: Value, epsilon: float) -> Value:
    return _div(m, x, m.elementwise("SQRT", _variance(m, x, epsilon)))


def _rms_norm_scaled_first(m: Model, x: Value, epsilon: float) -> Value:
    """The factor of a channel is at the root."""
    return m.mul(_scaled(m, m.elementwise("RSQRT", _variance(m, x, epsilon)), x.shape[-1]), x)


def layer_norm(m: Model, x: Value, epsilon: float) -> Value:
    centered = _sub(m, x, _mean(m, x))
    return m.mul(centered, m.elementwise("RSQRT", _variance(m, centered, epsilon)))


def _layer_norm_by_a_root(m: Model, x: Value, epsilon: float) -> Value:
    mean = _mean(m, x)
    variance = m.add(_mean(m, m.elementwise("SQUARED_DIFFERENCE", x, mean)), np.float32(epsilon))
    return _div(m, _sub(m, x, mean), m.elementwise("SQRT", variance))


def _layer_norm_of_pytorch(m: Model, x: Value, epsilon: float) -> Value:
    """As a batch normalization of one vector of pixels: x * inverse + (0 - mean * inverse)."""
    rows, shape = int(np.prod(x.shape[:-1])), (*x.shape[:-1], 1)
    flat = m.reshape(x, (1, rows, x.shape[-1]))
    mean = m.mean(flat, (0, 2))
    squares = m.elementwise("SQUARED_DIFFERENCE", flat, m.reshape(mean, (1, rows, 1)))
    inverse = m.elementwise("RSQRT", m.add(m.mean(squares, (0, 2)), np.float32(epsilon)))
    shift = _sub(m, np.float32(0), m.mul(inverse, mean))
    y = m.add(m.mul(flat, m.reshape(inverse, (1, rows, 1))), m.reshape(shift, (1, rows, 1)))
    return m.reshape(y, (*shape[:-1], x.shape[-1]))


_TERM = "fused/term"


def _layer_norm_of_keras(m: Model, x: Value, epsilon: float) -> Value:
    """x * (inverse * scale) + (term - mean * (inverse * scale))"""
    mean = _mean(m, x)
    variance = m.add(_mean(m, m.elementwise("SQUARED_DIFFERENCE", x, mean)), np.float32(epsilon))
    inverse = _scaled(m, m.elementwise("RSQRT", variance), x.shape[-1])
    return m.add(m.mul(x, inverse), _sub(m, constant(_TERM, x.shape[-1:]), m.mul(mean, inverse)))


def _over(m: Model, x: Value, axes: tuple[int, ...]) -> Value:
    """LayerNorm over several axes."""
    centered = _sub(m, x, m.mean(x, axes, True))
    variance = m.add(m.mean(m.mul(centered, centered), axes, True), np.float32(1e-5))
    return m.mul(centered, m.elementwise("RSQRT", variance))


def _instance_norm(m: Model, x: Value) -> Value:
    """As TF-Slim writes it: x * inverse + (term - mean * inverse), of each channel."""
    mean = m.mean(x, (1, 2), True)
    variance = m.mean(m.elementwise("SQUARED_DIFFERENCE", x, mean), (1, 2), True)
    inverse = _scaled(m, m.elementwise("RSQRT", m.add(variance, np.float32(1e-5))), x.shape[-1])
    return m.add(m.mul(x, inverse), _sub(m, constant(_TERM, x.shape[-1:]), m.mul(mean, inverse)))


def _over_axes(x: np.ndarray, *axes: int) -> np.ndarray:
    x = x.astype(np.float64)
    x = x - x.mean(axes, keepdims=True)
    return x / np.sqrt((x * x).mean(axes, keepdims=True) + 1e-5)


def _channels_first(name: str, shape, groups: int, most: float = 2.0) -> Case:
    """GroupNorm as PyTorch decomposes it, of [n, c, h, w]: groups of channels are rows of rows."""
    n, c, h, w = shape
    rows = (n, groups, c // groups, h * w)
    scale, term = constant("fused/scale", (c, 1, 1), 0.5, 1.5), constant(_TERM, (c, 1, 1))
    return Case(
        "group_norm",
        name,
        [Feed(shape, -most, most)],
        lambda m, x: m.add(m.mul(m.reshape(_over(m, m.reshape(x, rows), (2, 3)), shape), scale), term),
        lambda x: _over_axes(x.reshape(rows), 2, 3).reshape(shape) * scale + term,
    )


def _by_channels(name: str, shape, axes: tuple[int, ...] = (), most: float = 2.0) -> Case:
    """Of [n, h, w, c]: over the axes, or InstanceNorm with factors and terms."""
    scale, term = constant("fused/scale", shape[-1:], 0.5, 1.5), constant(_TERM, shape[-1:])
    return Case(
        "group_norm",
        name,
        [Feed(shape, -most, most)],
        lambda m, x: _over(m, x, axes) if axes else _instance_norm(m, x),
        lambda x: _over_axes(x, *axes) if axes else _over_axes(x, 1, 2) * scale + term,
    )


def _normed(x: np.ndarray, epsilon: float, centered: bool) -> np.ndarray:
    x = x.astype(np.float64)
    x = x - x.mean(-1, keepdims=True) if centered else x
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)


def _norm(
    name: str, shape, build: Callable, centered: bool, most: float = 2.0, epsilon: float = 1e-5, **affine
) -> Case:
    """affine: which factors and terms the norm itself has; one without any gets a factor behind it."""
    scale, term = (constant(seed, shape[-1:], *ends) for seed, *ends in (("fused/scale", 0.5, 1.5), (_TERM,)))

    def reference(x):
        y = _normed(x, epsilon, centered) * scale
        return y + term if affine.get("term") else y

    def built(m, x):
        y = build(m, x, epsilon)
        return y if affine else _scaled(m, y, shape[-1])

    return Case("norm", name, [Feed(shape, -most, most)], built, reference)


def rotated(x: np.ndarray, cosines: np.ndarray, sines: np.ndarray) -> np.ndarray:
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return x * cosines + np.concatenate([-b, a], -1) * sines


def _halves(m: Model, x: Value) -> list[Value]:
    half = x.shape[-1] // 2
    shape = (*x.shape[:-1], half)
    return [m.op("SLICE", [x, np.int32([0, 0, 0, at]), np.int32(shape)], shape, "SliceOptions") for at in (0, half)]


def _rope_of_halves(m: Model, x: Value, cosines: Value, sines: Value) -> Value:
    a, b = _halves(m, x)
    return m.concatenation(_sub(m, m.mul(a, cosines), m.mul(b, sines)), m.add(m.mul(b, cosines), m.mul(a, sines)))


def _rope_of_whole(m: Model, x: Value, cosines: Value, sines: Value) -> Value:
    a, b = _halves(m, x)
    return m.add(m.mul(x, cosines), m.mul(m.concatenation(m.mul(b, np.float32(-1)), a), sines))


def _rope(name: str, shape, angles, build: Callable) -> Case:
    def reference(x, cosines, sines):
        if cosines.shape[-1] < x.shape[-1]:
            cosines, sines = (np.concatenate([angle, angle], -1) for angle in (cosines, sines))
        return rotated(x.astype(np.float64), cosines, sines)

    return Case("rope", name, [shape, Feed(angles, -1, 1), Feed(angles, -1, 1)], build, reference)


def _rope_of_norm(name: str, shape, turned, angles, build: Callable, most: float) -> Case:
    """As heads of a step are: normed, with a factor of each channel, and brought into the shape `turned`."""

    def built(m: Model, x: Value, cosines: Value, sines: Value) -> Value:
        normed = _scaled(m, rms_norm(m, x, 1e-5), shape[-1])
        return build(m, normed if turned == shape else m.reshape(normed, turned), cosines, sines)

    def reference(x, cosines, sines):
        if cosines.shape[-1] < x.shape[-1]:
            cosines, sines = (np.concatenate([angle, angle], -1) for angle in (cosines, sines))
        normed = _normed(x, 1e-5, centered=False) * constant("fused/scale", shape[-1:], 0.5, 1.5)
        return rotated(normed.reshape(turned), cosines, sines)

    inputs = [Feed(shape, -most, most), Feed(angles, -1, 1), Feed(angles, -1, 1)]
    return Case("rope", name, inputs, built, reference)


def _product(m: Model, a: Value, b: Value, columns: bool) -> Value:
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-2 if columns else -1])
    return m.op("BATCH_MATMUL", [a, b], shape, "BatchMatMulOptions", AdjY=columns)


def attends_to_transposed_cache(m: Model, q: Value, k: Value, v: Value, mask: Value) -> Value:
    """As transformers are exported: k [b, heads, places, depth], v [b, heads, depth, places], and the rows of the heads
    of q that share them below each other."""
    b, heads, rows, depth = q.shape
    shared = heads // k.shape[1]
    stacked = m.reshape(m.mul(q, np.float32(depth**-0.5)), (b, k.shape[1], shared * rows, depth))
    scores = m.add(_product(m, stacked, k, True), m.concatenation(*[mask] * shared, axis=2))
    return m.reshape(_product(m, m.softmax(scores), v, True), (b, heads, rows, v.shape[2]))


def _attends_to_rows(m: Model, q: Value, k: Value, v: Value) -> Value:
    """As encoders are exported: all transposed, k to columns, and scores divided by a number."""
    scores = _div(m, _product(m, transpose(m, q, 0, 2, 1, 3), transpose(m, k, 0, 2, 3, 1), False), np.float32(2.5))
    return transpose(m, _product(m, m.softmax(scores), transpose(m, v, 0, 2, 1, 3), False), 0, 2, 1, 3)


def _cached(name: str, heads: int, groups: int, rows: int, places: int, depth: int, low: float, hidden: int) -> Case:
    """A mask hides the last places, by `low`."""

    def reference(q, k, v, mask):
        # [b, heads, rows, depth] -> [b, rows, heads, depth]
        y = attention(
            q.transpose(0, 2, 1, 3), k.transpose(0, 2, 1, 3), v.transpose(0, 3, 1, 2), mask, scale=depth**-0.5
        )
        return y.transpose(0, 2, 1, 3)

    mask = np.zeros((1, 1, rows, places), np.float32)
    mask[..., places - hidden :] = low
    return Case(
        "attention",
        name,
        [(1, heads, rows, depth), (1, groups, places, depth), (1, groups, depth, places)],
        lambda m, q, k, v: attends_to_transposed_cache(m, q, k, v, m.operand(mask)),
        lambda q, k, v: reference(q, k, v, mask),
    )


def _silu(name: str, x: Feed, build: Callable) -> Case:
    """x * logistic(x) of what `build` makes of x in the model; of numpy's arrays, numpy."""

    def built(m, x):
        y = build(m, x)
        return m.mul(y, m.unary("LOGISTIC", y)) if name != "of_the_other_order" else m.mul(m.unary("LOGISTIC", y), y)

    def reference(x):
        y = build(None, x.astype(np.float64))
        return y / (1 + np.exp(-y))

    return Case("silu", name, [x], built, reference)


_MATRIX = constant("fused/matrix", (9, 6))


def _rows_times_matrix(m: Model | None, x):
    if m is None:
        return x @ _MATRIX.T
    return m.op("FULLY_CONNECTED", [x, _MATRIX], (*x.shape[:-1], 9), "FullyConnectedOptions", KeepNumDims=True)


CASES = [
    _silu("of_an_input", Feed((2, 3, 5, 6)), lambda m, x: x),
    _silu("of_large_numbers", Feed((4, 33), -120, 120, special=(-90.0, 90.0, 0.0)), lambda m, x: x),
    _silu("of_the_other_order", Feed((1, 4, 3, 7), -9, 9), lambda m, x: x),
    _silu("of_a_product", Feed((1, 5, 6), -9, 9), _rows_times_matrix),
    _channels_first("of_rows", (2, 6, 4, 5), 3),
    _channels_first("of_many_numbers", (1, 8, 13, 11), 2, most=900),
    _by_channels("of_instances", (2, 5, 7, 6)),
    _by_channels("of_instances_by_a_root", (1, 9, 8, 34), (1, 2)),
    _by_channels("of_large_instances", (1, 67, 65, 6)),
    _by_channels("of_all", (2, 3, 5, 6), (1, 2, 3)),
    _by_channels("of_instances_of_rank_3", (3, 19, 6), (1,)),
    _by_channels("of_instances_of_rank_5", (2, 3, 5, 4, 6), (1, 2, 3)),
    _by_channels("of_all_of_rank_5", (2, 3, 5, 4, 6), (1, 2, 3, 4)),
    _by_channels("of_rank_6", (2, 2, 3, 5, 4, 6), (2, 3, 4), most=900),
    _by_channels("of_a_batch", (4, 3, 5, 6), (0, 1, 2)),
    _by_channels("of_planes", (2, 6, 3, 5, 4), (2, 3, 4)),
    _by_channels("of_rows_of_planes", (2, 6, 3, 5, 4), (3, 4)),
    _norm("rms", (2, 3, 5, 6), rms_norm, False),
    _norm("rms_reshaped", (2, 3, 40), _rms_norm_reshaped, False),
    _norm("rms_by_a_root", (1, 7, 130), _rms_norm_by_a_root, False, epsilon=1e-12),
    _norm("rms_scaled_first", (2, 5, 6), _rms_norm_scaled_first, False, scale=True),
    _norm("rms_of_many_channels", (1, 3, 642), rms_norm, False, most=5000),
    _norm("layer", (2, 3, 5, 6), layer_norm, True),
    _norm("layer_by_a_root", (1, 7, 130), _layer_norm_by_a_root, True),
    _norm("layer_of_pytorch", (1, 9, 23), _layer_norm_of_pytorch, True),
    _norm("layer_of_keras", (2, 5, 11), _layer_norm_of_keras, True, scale=True, term=True),
    _norm("layer_of_many_channels", (1, 3, 1030), layer_norm, True, most=5000),
    _rope("of_halves", (1, 3, 5, 16), (1, 1, 5, 8), _rope_of_halves),
    _rope("of_one_row", (2, 4, 1, 24), (1, 1, 1, 12), _rope_of_halves),
    _rope("of_whole", (2, 3, 5, 16), (2, 1, 5, 16), _rope_of_whole),
    _rope_of_norm("of_a_norm", (1, 1, 5, 128), (1, 5, 1, 128), (1, 1, 1, 128), _rope_of_whole, 5000),
    _rope_of_norm("of_a_norm_of_halves", (1, 3, 2, 136), (1, 3, 2, 136), (1, 1, 2, 68), _rope_of_halves, 2),
    _rope_of_norm("of_a_norm_of_few_channels", (2, 3, 1, 24), (2, 3, 1, 24), (1, 1, 1, 12), _rope_of_halves, 5000),
    _cached("of_one_token", 6, 2, 1, 37, 12, -np.inf, 9),
    _cached("of_one_token_and_many_places", 4, 1, 1, 300, 20, -3e38, 200),
    _cached("of_many_tokens", 4, 2, 7, 30, 8, -1e9, 5),
    _cached("of_nothing_but_hidden_places", 2, 2, 1, 12, 8, -3e38, 12),
    Case(
        "attention",
        "of_rows",
        [(2, 9, 3, 8), (2, 11, 3, 8), (2, 11, 3, 10)],
        _attends_to_rows,
        lambda q, k, v: attention(q, k, v, scale=0.4),
    ),
    _cached("tiles_of_columns", 4, 2, 9, 71, 64, -1e9, 8),
    _cached("tiles_of_lowest_scores", 6, 3, 16, 40, 20, -3.4e38, 40),
    Case(
        "attention",
        "tiles_of_rows",
        [(2, 19, 3, 64), (2, 37, 3, 64), (2, 37, 3, 80)],
        _attends_to_rows,
        lambda q, k, v: attention(q, k, v, scale=0.4),
    ),
]
