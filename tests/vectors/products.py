"""Products of computed tensors, norms over channels, and ops that place parts by computed indices."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed, constant
from tests.vectors.conv_2d import conv2d
from tests.vectors.depthwise_conv_2d import depthwise_conv2d


def _product(a, b, adj_x=False, adj_y=False):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return (np.swapaxes(a, -1, -2) if adj_x else a) @ (np.swapaxes(b, -1, -2) if adj_y else b)


def _matmul(name, a, b, adj_x=False, adj_y=False, fixed="", **fields) -> Case:
    """`fixed`: the operand that is a constant, "a" or "b"."""
    table = constant(f"matmul {name}", a if fixed == "a" else b)
    shape = _product(np.zeros(a), np.zeros(b), adj_x, adj_y).shape

    def operands(given):
        return [table, *given] if fixed == "a" else [*given, table] if fixed else list(given)

    return Case(
        "BATCH_MATMUL",
        name,
        [f for f, operand in ((a, "a"), (b, "b")) if operand != fixed],
        lambda m, *x: m.op("BATCH_MATMUL", operands(x), shape, "BatchMatMulOptions", AdjX=adj_x, AdjY=adj_y),
        lambda *x: _product(*operands(x), adj_x, adj_y),
        **fields,
    )


def _matmul_of_int8() -> Case:
    """As converters write it for weights of int8; the CPU rounds the other operand, too."""
    table = (constant("matmul int8", (6, 5)) * 127).astype(np.int8)
    scale = np.float32(0.02)
    return Case(
        "BATCH_MATMUL",
        "int8_version_4",
        [(2, 3, 6)],
        lambda m, x: m.op(
            "BATCH_MATMUL", [x, m.const(table, scale=scale, zero_point=0)], (2, 3, 5), "BatchMatMulOptions", version=4
        ),
        lambda x: _product(x, table * scale),
        on_cpu=False,
    )


def _fully_connected(name, x, weights, bias=True, keep=False, activation="NONE") -> Case:
    feeds = [x, weights, *([(weights[0],)] if bias else [])]

    def reference(x, w, b=0):
        y = x.astype(np.float64) @ w.T.astype(np.float64) + b
        y = np.maximum(y, 0) if activation == "RELU" else y
        return y if keep else y.reshape(-1, w.shape[0])

    return Case(
        "FULLY_CONNECTED",
        name,
        feeds,
        lambda m, x, w, b=None: m.fully_connected(x, w, b, activation=activation, keep_num_dims=keep),
        reference,
    )


def _conv(name, x, weights, bias=True, **how) -> Case:
    feeds = [x, weights, *([(weights[0],)] if bias else [])]
    return Case("CONV_2D", name, feeds, lambda m, *v: m.conv2d(*v, **how), lambda *v: conv2d(*v, **how), on_cpu=bias)


def _depthwise(name, x, weights, **how) -> Case:
    return Case(
        "DEPTHWISE_CONV_2D",
        name,
        [x, weights],
        lambda m, *v: m.depthwise_conv2d(*v, **how),
        lambda *v: depthwise_conv2d(*v, **how),
    )


def top_k(name, feed, k) -> Case:
    feed = feed if isinstance(feed, Feed) else Feed(feed)
    shape = (*feed.shape[:-1], k)

    def build(m, x):
        values = m.value(shape, x.dtype)
        places = m.value(shape, "int32")
        return m.several("TOPK_V2", [x, np.array(k, np.int32)], [values, places])

    def reference(x):
        places = np.argsort(-x, axis=-1, kind="stable")[..., :k].astype(np.int32)
        return np.take_along_axis(x, places, -1), places

    return Case("TOPK_V2", name, [feed], build, reference, half=feed.step > 0)


def _gather_nd(name, shape, indices, computed=False, dtype="float32") -> Case:
    indices = np.array(indices, np.int32)
    depth = indices.shape[-1]

    def reference(x, at=indices):
        return x[tuple(np.moveaxis(at, -1, 0))]

    feeds = [Feed(shape, -9, 9, dtype=dtype)]
    if computed:
        feeds.append(Feed(indices.shape, 0, min(shape[:depth]) - 1, dtype="int32"))
    return Case(
        "GATHER_ND",
        name,
        feeds,
        lambda m, x, at=None: m.op(
            "GATHER_ND",
            [x, indices if at is None else at],
            (*indices.shape[:-1], *shape[depth:]),
            output={"dtype": dtype},
        ),
        reference,
    )


def _scatter_nd(name, indices, shape, dtype="float32") -> Case:
    indices = np.array(indices, np.int32)
    part = (*indices.shape[:-1], *shape[indices.shape[-1] :])

    def reference(updates):
        made = np.zeros(shape, dtype)
        np.add.at(made, tuple(np.moveaxis(indices, -1, 0)), updates)
        return made

    return Case(
        "SCATTER_ND",
        name,
        [Feed(part, -9, 9, dtype=dtype)],
        lambda m, x: m.op("SCATTER_ND", [indices, x, np.array(shape, np.int32)], shape, output={"dtype": dtype}),
        reference,
    )


def _update(name, whole, part, low, high, dtype="float32", computed=False) -> Case:
    """Starts may lie outside, where the CPU moves them in, too. computed: the whole is no input, which would be a state."""

    def reference(x, y, start):
        x = x + x if computed else x
        at = [min(max(int(s), 0), n - k) for s, n, k in zip(start, whole, part)]
        made = x.copy()
        made[tuple(slice(a, a + k) for a, k in zip(at, part))] = y
        return made

    return Case(
        "DYNAMIC_UPDATE_SLICE",
        name,
        [
            Feed(whole, -9, 9, dtype=dtype),
            Feed(part, -9, 9, dtype=dtype),
            Feed((len(whole),), low, high, dtype="int32"),
        ],
        lambda m, x, *y: m.op(
            "DYNAMIC_UPDATE_SLICE", [m.add(x, x) if computed else x, *y], whole, output={"dtype": dtype}
        ),
        reference,
    )


def _slice_from(name, whole, size, dtype="float32", begin="int32") -> Case:
    """From a computed place on, which lies inside: the CPU takes no other."""
    room = min(n - k for n, k in zip(whole, size))
    return Case(
        "SLICE",
        name,
        [Feed(whole, -9, 9, dtype=dtype), Feed((len(whole),), 0, room, dtype=begin)],
        lambda m, x, at: m.op("SLICE", [x, at, np.asarray(size, begin)], size, "SliceOptions", output={"dtype": dtype}),
        lambda x, at: x[tuple(slice(int(a), int(a) + k) for a, k in zip(at, size))],
    )


def _log_softmax(x):
    shifted = x.astype(np.float64) - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def _l2(x):
    return x / np.maximum(np.sqrt(np.square(x.astype(np.float64)).sum(-1, keepdims=True)), 1e-6)


def _response(x, radius, bias, alpha, beta):
    """As TensorFlow and the kernel that applications get; TFLite's reference leaves out the window's last channel."""
    power = np.square(x.astype(np.float64))
    padded = np.pad(power, [(0, 0)] * 3 + [(radius, radius)])
    near = sum(padded[..., i : i + x.shape[-1]] for i in range(2 * radius + 1))
    return x * (bias + alpha * near) ** -beta


def _norm(op, name, feed, function, kind="", half=True, **options) -> Case:
    feed = feed if isinstance(feed, Feed) else Feed(feed)
    return Case(op, name, [feed], lambda m, x: m.op(op, [x], x.shape, kind, **options), function, half=half)


def _response_case(name, shape, radius, bias, alpha, beta) -> Case:
    return _norm("LOCAL_RESPONSE_NORMALIZATION", name, shape, lambda x: _response(x, radius, bias, alpha, beta),
                 "LocalResponseNormalizationOptions", Radius=radius, Bias=bias, Alpha=alpha, Beta=beta)  # fmt: skip


def _zeros_like(dtype) -> Case:
    return Case("ZEROS_LIKE", dtype, [Feed((2, 3, 5), -9, 9, dtype=dtype)],
                lambda m, x: m.op("ZEROS_LIKE", [x], x.shape, output={"dtype": dtype}), np.zeros_like)  # fmt: skip


def _fill(name, shape) -> Case:
    return Case("FILL", name, [()], lambda m, x: m.op("FILL", [np.array(shape, np.int32), x], shape),
                lambda x: np.full(shape, x))  # fmt: skip


def _range(name, numbers, dtype) -> Case:
    start, limit, step = (np.array(n, dtype) for n in numbers)
    row = np.arange(*numbers, dtype=dtype)
    return Case("RANGE", name, [Feed((2, len(row)), -9, 9, dtype=dtype)],
                lambda m, x: m.add(x, m.op("RANGE", [start, limit, step], row.shape, output={"dtype": dtype})),
                lambda x: x + row)  # fmt: skip


CASES = [
    _matmul("matrices", (3, 5), (5, 7)), _matmul("rank_3", (2, 5, 6), (2, 6, 4)), _matmul("rank_4", (2, 3, 4, 9), (2, 3, 9, 5)),
    _matmul("adj_x", (2, 6, 5), (2, 6, 4), adj_x=True), _matmul("adj_y", (2, 5, 6), (2, 7, 6), adj_y=True), _matmul("both", (1, 2, 6, 5), (1, 2, 7, 6), adj_x=True, adj_y=True),
    _matmul("broadcast", (2, 1, 4, 6), (3, 6, 5)), _matmul("broadcast_first", (5, 6), (2, 2, 6, 3), on_cpu=True), _matmul("one_row", (2, 1, 8), (2, 8, 3)),
    _matmul("constant_second", (2, 5, 6), (6, 4), fixed="b"), _matmul("constant_second_adj_y", (2, 3, 5, 6), (1, 1, 4, 6), adj_y=True, fixed="b"), _matmul("constant_first", (4, 5), (3, 5, 6), fixed="a"),
    _matmul_of_int8(), _matmul("rank_5", (2, 1, 2, 3, 5), (1, 3, 2, 5, 4)), _matmul("wide", (2, 33, 40), (2, 40, 35)),
    _fully_connected("computed_weights", (3, 10), (7, 10)), _fully_connected("computed_weights_keeps_dims", (2, 3, 10), (6, 10), keep=True, bias=False),
    _fully_connected("computed_weights_vector", (7,), (8, 7), keep=True), _fully_connected("computed_weights_flattens", (2, 3, 10), (6, 10), activation="RELU"),
    _conv("computed_weights", (2, 5, 6, 5), (7, 3, 3, 5)), _conv("computed_weights_strides", (1, 7, 8, 6), (4, 3, 2, 6), stride=(2, 1), dilation=(1, 2), bias=False, activation="RELU6"),
    _conv("computed_weights_groups", (2, 5, 4, 6), (10, 3, 2, 3)), _conv("computed_weights_groups_of_slices", (1, 5, 5, 24), (8, 3, 3, 12), stride=(2, 2), activation="RELU"),
    _conv("computed_weights_groups_of_channels", (1, 4, 5, 7), (14, 2, 2, 1), padding="VALID"), _conv("computed_weights_groups_of_5", (2, 4, 4, 15), (6, 1, 1, 5), bias=False),
    _depthwise("computed_weights", (1, 6, 5, 6), (1, 3, 3, 6)), _depthwise("computed_weights_multiplier", (2, 5, 6, 3), (1, 3, 3, 6), stride=(2, 2)),
    top_k("rows", (3, 11), 4), top_k("vector", (9,), 9), top_k("ties", Feed((2, 3, 4, 7), -2, 2, dtype="int32"), 5), top_k("one", (2, 5), 1),
    top_k("vocabulary", Feed((2, 3003), step=0.25), 9),
    top_k("int8", Feed((3, 11), -99, 99, dtype="int8"), 4),
    top_k("steps", Feed((3, 11), step=0.25), 4),
    _gather_nd("rows", (5, 6), [[3], [0], [3]]), _gather_nd("pixels", (2, 4, 5, 6), [[[0, 3], [1, 2]], [[1, 0], [0, 0]]]), _gather_nd("numbers", (3, 4, 5), [[0, 1, 4], [2, 3, 0]]), _gather_nd("parts", (3, 4, 5), [[2], [0]]),
    _gather_nd("batch_numbers", (2, 3, 4, 5), [[1, 2, 3, 4], [0, 1, 2, 3], [1, 0, 0, 2]]), _gather_nd("vector", (7,), [[3], [6], [0]]),
    _gather_nd("pixels_of_rank_5", (2, 3, 4, 3, 5), [[1, 2, 3, 0], [0, 1, 2, 2], [1, 0, 0, 1]]), _gather_nd("numbers_of_rank_6", (2, 3, 2, 3, 2, 5), [[1, 2, 1, 0, 1, 4], [0, 1, 0, 2, 0, 3]]),
    _gather_nd("computed", (4, 5, 6), [[0, 0], [0, 0], [0, 0]], computed=True), _gather_nd("int32", (4, 5), [[1, 2], [3, 4]], dtype="int32"),
    _scatter_nd("rows", [[3], [0], [5]], (6, 5)), _scatter_nd("that_meet", [[1, 2], [0, 0], [1, 2]], (2, 3, 4)), _scatter_nd("int32", [[4], [1]], (7,), "int32"), _scatter_nd("int8", [[4], [1]], (7, 3), "int8"),
    _slice_from("computed_rank_4", (4, 6, 5, 9), (2, 3, 1, 6)), _slice_from("computed_rank_3", (7, 8, 9), (4, 5, 6), begin="int64"), _slice_from("computed_vector_int16", (19,), (5,), "int16"),
    Case("SLICE", "computed_to_the_end", [(4, 5), Feed((2,), 0, 0, dtype="int32")], lambda m, x, at: m.op("SLICE", [x, at, np.int32([-1, -1])], (4, 5), "SliceOptions"),
         lambda x, at: x, place="cpu", reason="from a computed place on"),
    _update("rank_4", (1, 6, 5, 7), (1, 3, 2, 4), -1, 3), _update("rank_3", (4, 8, 5), (1, 3, 5), 0, 4), _update("vector_int32", (9,), (4,), 2, 9, "int32"),
    _update("computed_rank_4", (2, 6, 5, 7), (1, 3, 2, 4), -1, 3, computed=True), _update("computed_rank_3", (4, 8, 5), (1, 3, 5), 0, 4, computed=True),
    _norm("LOG_SOFTMAX", "rank_4", (2, 3, 4, 5), _log_softmax), _norm("LOG_SOFTMAX", "rank_2_long", (3, 130), _log_softmax), _norm("LOG_SOFTMAX", "large", Feed((2, 7), -1000, 1000), _log_softmax, half=False),
    _norm("L2_NORMALIZATION", "rank_4", (2, 3, 4, 6), _l2, "L2NormOptions"), _norm("L2_NORMALIZATION", "rank_2", (3, 7), _l2, "L2NormOptions"),
    _norm("L2_NORMALIZATION", "beyond_half", Feed((2, 3, 4, 6), -3e4, 3e4), _l2, "L2NormOptions"),
    _norm("L2_NORMALIZATION", "not_finite", Feed((9, 6), special=(np.inf, np.nan, -np.inf)), _l2, "L2NormOptions"),
    _response_case("near", (1, 3, 4, 11), 2, 1.0, 0.5, 0.75), _response_case("own_channel", (1, 2, 2, 6), 0, 1.0, 0.5, 0.5), _response_case("wider_than_all", (2, 2, 2, 5), 9, 2.0, 1.0, 0.5),
    _zeros_like("float32"), _zeros_like("int32"), _fill("rank_4", (2, 3, 4, 5)), _fill("vector", (7,)),
    _range("floats", (0.5, 4.0, 0.5), "float32"), _range("ints_down", (9, -3, -2), "int32"),
]  # fmt: skip
