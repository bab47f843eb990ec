"""Ops that move numbers without changing them: every axis, ranks 1 to 6, floats and ints."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed


def _i32(values) -> np.ndarray:
    return np.array(values, np.int32)


def _case(op, name, feeds, build, reference, **fields) -> Case:
    return Case(op, name, feeds, build, reference, **fields)


def _ints(shape, low=-1000, high=100000) -> Feed:
    return Feed(shape, low, high, dtype="int32")


def _like(x, array) -> dict:
    return {"dtype": x.dtype}


def _transpose(name, shape, order, feed=None, **fields) -> Case:
    return _case(
        "TRANSPOSE",
        name,
        [feed or shape],
        lambda m, x: m.op(
            "TRANSPOSE", [x, _i32(order)], np.transpose(np.empty(shape), order).shape, output=_like(x, x)
        ),
        lambda x: np.transpose(x, order),
        **fields,
    )


def _reverse(name, shape, axes, feed=None) -> Case:
    return _case(
        "REVERSE_V2",
        name,
        [feed or shape],
        lambda m, x: m.op("REVERSE_V2", [x, _i32(axes)], shape, output=_like(x, x)),
        lambda x: np.flip(x, axes),
    )


def _reverse_sequence(name, shape, seq, batch, lengths, feed=None, **fields) -> Case:
    """`lengths`: constants, or what is fed."""

    def reference(x, at=lengths):
        y = x.copy()
        rows = np.moveaxis(y, (batch, seq), (0, 1))
        for row, n in zip(rows, np.maximum(at, 0)):
            row[:n] = row[:n][::-1].copy()
        return y

    return _case(
        "REVERSE_SEQUENCE",
        name,
        [feed or shape] + ([lengths] if isinstance(lengths, Feed) else []),
        lambda m, x, at=lengths: m.op(
            "REVERSE_SEQUENCE", [x, at], shape, "ReverseSequenceOptions", SeqDim=seq, BatchDim=batch, output=_like(x, x)
        ),
        reference,
        **fields,
    )


def _matrix_diag(name, shape, feed=None, **fields) -> Case:
    return _case(
        "MATRIX_DIAG",
        name,
        [feed or shape],
        lambda m, x: m.op("MATRIX_DIAG", [x], (*shape, shape[-1]), "MatrixDiagOptions", output=_like(x, x)),
        lambda x: x[..., None] * np.eye(shape[-1], dtype=x.dtype),
        **fields,
    )


def _tile(name, shape, counts, feed=None) -> Case:
    return _case(
        "TILE",
        name,
        [feed or shape],
        lambda m, x: m.op("TILE", [x, _i32(counts)], np.multiply(shape, counts), output=_like(x, x)),
        lambda x: np.tile(x, counts),
    )


def _broadcast_to(name, shape, to, feed=None) -> Case:
    return _case(
        "BROADCAST_TO",
        name,
        [feed or shape],
        lambda m, x: m.op("BROADCAST_TO", [x, _i32(to)], to, version=2, output=_like(x, x)),
        lambda x: np.broadcast_to(x, to),
    )


def _slice(name, shape, begin, size, feed=None) -> Case:
    taken = tuple(slice(b, None if n < 0 else b + n) for b, n in zip(begin, size))
    return _case(
        "SLICE",
        name,
        [feed or shape],
        lambda m, x: m.op("SLICE", [x, _i32(begin), _i32(size)], np.empty(shape)[taken].shape, output=_like(x, x)),
        lambda x: x[taken],
    )


def _split(name, shape, axis, count, feed=None) -> Case:
    parts = np.split(np.empty(shape), count, axis)
    return _case(
        "SPLIT",
        name,
        [feed or shape],
        lambda m, x: tuple(
            m.op(
                "SPLIT", [_i32(axis), x], [p.shape for p in parts], "SplitOptions", NumSplits=count, output=_like(x, x)
            )
        ),
        lambda x: tuple(np.split(x, count, axis)),
    )


def _split_v(name, shape, axis, sizes, given=None) -> Case:
    at = np.cumsum(sizes)[:-1]
    parts = np.split(np.empty(shape), at, axis)
    return _case(
        "SPLIT_V",
        name,
        [shape],
        lambda m, x: tuple(
            m.op("SPLIT_V", [x, _i32(given or sizes), _i32(axis)], [p.shape for p in parts], "SplitVOptions", NumSplits=len(sizes))
        ),
        lambda x: tuple(np.split(x, at, axis)),
    )  # fmt: skip


def _unpack(name, shape, axis, feed=None) -> Case:
    part = tuple(np.delete(shape, axis))
    return _case(
        "UNPACK",
        name,
        [feed or shape],
        lambda m, x: tuple(
            m.op("UNPACK", [x], [part] * shape[axis], "UnpackOptions", Num=shape[axis], Axis=axis, output=_like(x, x))
        ),
        lambda x: tuple(np.moveaxis(x, axis, 0)),
    )


def _pack(name, shape, axis, count, dtype="float32") -> Case:
    feeds = [Feed(shape, -9, 9, dtype=dtype)] * count
    return _case(
        "PACK",
        name,
        feeds,
        lambda m, *x: m.op(
            "PACK",
            x,
            np.stack([np.empty(shape)] * count, axis).shape,
            "PackOptions",
            ValuesCount=count,
            Axis=axis,
            output={"dtype": dtype},
        ),
        lambda *x: np.stack(x, axis),
    )


def _expand(name, shape, axis) -> Case:
    return _case(
        "EXPAND_DIMS",
        name,
        [shape],
        lambda m, x: m.op("EXPAND_DIMS", [x, _i32(axis)], np.expand_dims(np.empty(shape), axis).shape),
        lambda x: np.expand_dims(x, axis),
    )


def _squeeze(name, shape, axes) -> Case:
    def squeezed(x):
        return np.squeeze(x, tuple(axes) if axes else None)

    return _case(
        "SQUEEZE",
        name,
        [shape],
        lambda m, x: m.op("SQUEEZE", [x], squeezed(np.empty(shape)).shape, "SqueezeOptions", SqueezeDims=list(axes)),
        squeezed,
    )


def _gather(name, shape, indices, axis, batch_dims=0, computed=False, feed=None, dtype="int32") -> Case:
    indices = np.array(indices, dtype)

    def reference(x, at=indices):
        if not batch_dims:
            return np.take(x, at, axis)
        flat = [
            np.take(part, i, axis - batch_dims)
            for part, i in zip(x.reshape(-1, *shape[batch_dims:]), at.reshape(-1, *at.shape[batch_dims:]))
        ]
        return np.stack(flat).reshape(*shape[:batch_dims], *flat[0].shape)  # fmt: skip

    feeds = [feed or shape]
    if computed:
        feeds.append(Feed(indices.shape, 0, shape[axis] - 1, dtype=dtype))
    return _case(
        "GATHER",
        name,
        feeds,
        lambda m, x, at=None: m.op(
            "GATHER",
            [x, indices if at is None else at],
            reference(np.empty(shape)).shape,
            "GatherOptions",
            Axis=axis,
            BatchDims=batch_dims,
            output=_like(x, x),
        ),
        reference,
    )


def _lookup(name, ids, table) -> Case:
    rows = np.arange(np.prod(table), dtype=np.float32).reshape(table) / 7
    return _case(
        "EMBEDDING_LOOKUP",
        name,
        [Feed(ids, 0, table[0] - 1, dtype="int32")],
        lambda m, x: m.op("EMBEDDING_LOOKUP", [x, rows], (*ids, *table[1:])),
        lambda x: rows[x],
    )


def _mirror(name, shape, amounts, reflect, feed=None) -> Case:
    def padded(x):
        return np.pad(x, amounts, "reflect" if reflect else "symmetric")

    return _case(
        "MIRROR_PAD",
        name,
        [feed or shape],
        lambda m, x: m.op("MIRROR_PAD", [x, _i32(amounts)], padded(np.empty(shape)).shape, "MirrorPadOptions", Mode=0 if reflect else 1, output=_like(x, x)),
        padded,
    )  # fmt: skip


def _pad_v2(name, shape, amounts, value, feed=None) -> Case:
    def padded(x):
        return np.pad(x, amounts, constant_values=value)

    return _case(
        "PADV2",
        name,
        [feed or shape],
        lambda m, x: m.op("PADV2", [x, _i32(amounts), np.array(value, x.dtype)], padded(np.empty(shape)).shape, output=_like(x, x)),
        padded,
    )  # fmt: skip


def space_to_depth(x, block):
    b, h, w, c = x.shape
    y = x.reshape(b, h // block, block, w // block, block, c).transpose(0, 1, 3, 2, 4, 5)
    return y.reshape(b, h // block, w // block, block * block * c)


def _space_to_depth(name, shape, block, feed=None) -> Case:
    return _case(
        "SPACE_TO_DEPTH",
        name,
        [feed or shape],
        lambda m, x: m.op("SPACE_TO_DEPTH", [x], space_to_depth(np.empty(shape), block).shape, "SpaceToDepthOptions", BlockSize=block, output=_like(x, x)),
        lambda x: space_to_depth(x, block),
    )  # fmt: skip


def space_to_batch(x, block, pads):
    x = np.pad(x, [(0, 0), *pads, (0, 0)])
    spatial = [n for size, k in zip(x.shape[1:-1], block) for n in (size // k, k)]
    y = x.reshape(x.shape[0], *spatial, x.shape[-1])
    count = len(block)
    order = [2 * i + 2 for i in range(count)] + [0] + [2 * i + 1 for i in range(count)] + [2 * count + 1]
    sizes = [size // k for size, k in zip(x.shape[1:-1], block)]
    return y.transpose(order).reshape(-1, *sizes, x.shape[-1])


def batch_to_space(x, block, crops):
    count = len(block)
    y = x.reshape(*block, -1, *x.shape[1:])
    order = [count] + [n for i in range(count) for n in (count + 1 + i, i)] + [2 * count + 1]
    sizes = [size * k for size, k in zip(x.shape[1:-1], block)]
    y = y.transpose(order).reshape(-1, *sizes, x.shape[-1])
    return y[(slice(None), *(slice(a, n - b) for (a, b), n in zip(crops, sizes)))]


def _batches(op, name, shape, block, borders) -> Case:
    function = space_to_batch if op == "SPACE_TO_BATCH_ND" else batch_to_space
    return _case(
        op,
        name,
        [shape],
        lambda m, x: m.op(op, [x, _i32(block), _i32(borders)], function(np.empty(shape), block, borders).shape),
        lambda x: function(x, block, borders),
    )


def _nearest(name, shape, size, corners=False, half=False) -> Case:
    def places(count, n):
        scale = np.float32((n - 1) / (count - 1)) if corners and count > 1 else np.float32(n) / np.float32(count)
        at = (np.arange(count, dtype=np.float32) + np.float32(0.5 if half else 0)) * scale
        return np.minimum(np.floor(at + np.float32(0.5 if corners else 0)).astype(int), n - 1)

    return _case(
        "RESIZE_NEAREST_NEIGHBOR",
        name,
        [shape],
        lambda m, x: m.op("RESIZE_NEAREST_NEIGHBOR", [x, _i32(size)], (shape[0], *size, shape[3]), "ResizeNearestNeighborOptions", version=3, AlignCorners=corners, HalfPixelCenters=half),
        lambda x: x[:, places(size[0], shape[1])[:, None], places(size[1], shape[2])[None]],
    )  # fmt: skip


def _rank(name, shape, build, reference, op="RESHAPE") -> Case:
    return _case(op, name, [shape], build, reference)


def channel_shuffle(m, x, groups):
    b, h, w, c = x.shape
    y = m.reshape(x, (b, h, w, groups, c // groups))
    y = m.op("TRANSPOSE", [y, _i32([0, 1, 2, 4, 3])], (b, h, w, c // groups, groups))
    return m.reshape(y, (b, h, w, c))


def pixel_shuffle(m, x, r):
    b, h, w, c = x.shape
    y = m.reshape(x, (b, h, w, r, r, c // r // r))
    y = m.op("TRANSPOSE", [y, _i32([0, 1, 3, 2, 4, 5])], (b, h, r, w, r, c // r // r), version=6)
    return m.reshape(y, (b, h * r, w * r, c // r // r))


def windows(m, x, n):
    """Cuts an image into windows, as window attention does."""
    b, h, w, c = x.shape
    y = m.reshape(x, (b, h // n, n, w // n, n, c))
    y = m.op("TRANSPOSE", [y, _i32([0, 1, 3, 2, 4, 5])], (b, h // n, w // n, n, n, c), version=6)
    return m.reshape(y, (-1, n * n, c))


def _of_its_shape(m, x):
    sizes = m.op("SHAPE", [x], (len(x.shape),), "ShapeOptions", OutType=2, output={"dtype": "int32"})
    return m.add(x, m.op("FILL", [sizes, np.float32(0.5)], x.shape))


def _as_long_as_its_rank(m, x):
    rank = m.op("RANK", [x], (), "RankOptions", output={"dtype": "int32"})
    sizes = m.op("PACK", [rank], (1,), "PackOptions", ValuesCount=1, Axis=0, output={"dtype": "int32"})
    return m.add(x, m.op("FILL", [sizes, np.float32(0.5)], (len(x.shape),)))


def _to_the_shape_of_both(m, x, y):
    """As converters write a sum of more than four axes."""
    shapes = [
        m.op("SHAPE", [one], (len(one.shape),), "ShapeOptions", OutType=2, output={"dtype": "int32"}) for one in (x, y)
    ]
    shape = np.broadcast_shapes(x.shape, y.shape)
    both = m.op("BROADCAST_ARGS", shapes, (len(shape),), output={"dtype": "int32"})
    return m.add(*(m.op("BROADCAST_TO", [one, both], shape, "BroadcastToOptions", 2) for one in (x, y)))


CASES = [
    Case("BROADCAST_ARGS", "of_one_rank", [(2, 1, 3, 5), (1, 4, 3, 1)], _to_the_shape_of_both, np.add),
    Case("BROADCAST_ARGS", "of_rank_5_and_2", [(2, 1, 3, 1, 5), (4, 5)], _to_the_shape_of_both, np.add),
    Case("BROADCAST_ARGS", "of_rank_1_and_4", [(1,), (2, 1, 3, 5)], _to_the_shape_of_both, np.add),
    Case("SHAPE", "of_a_sum", [(2, 3, 4, 5)], _of_its_shape, lambda x: x + 0.5),
    Case("SHAPE", "of_rank_6", [(2, 1, 3, 2, 2, 5)], _of_its_shape, lambda x: x + 0.5),
    Case("RANK", "of_rank_3", [(2, 4, 3)], _as_long_as_its_rank, lambda x: x + 0.5),
    _transpose("height_and_width", (1, 4, 5, 6), (0, 2, 1, 3)), _transpose("to_channels_first", (2, 3, 4, 5), (0, 3, 1, 2)),
    _transpose("to_channels_last", (2, 5, 3, 4), (0, 2, 3, 1)), _transpose("all_axes", (2, 3, 4, 5), (3, 2, 1, 0)),
    _transpose("matrix", (3, 7), (1, 0)), _transpose("rank_3", (2, 3, 5), (2, 0, 1)), _transpose("batch_and_height", (2, 3, 4, 8), (1, 0, 2, 3)),
    _transpose("int32", (2, 3, 4, 5), (0, 3, 2, 1), _ints((2, 3, 4, 5)), half=False),
    _transpose("rank_5", (2, 3, 2, 4, 5), (0, 3, 1, 4, 2)), _transpose("rank_5_channels_stay", (1, 2, 3, 4, 5), (2, 1, 0, 3, 4)),
    _transpose("rank_6", (2, 3, 2, 2, 3, 5), (0, 1, 3, 5, 2, 4)),
    _matrix_diag("vector", (6,)), _matrix_diag("rows", (5, 9)), _matrix_diag("images", (2, 3, 7)), _matrix_diag("rank_4", (2, 3, 2, 5)),
    _matrix_diag("rank_5", (2, 3, 2, 2, 5)), _matrix_diag("one", (2, 1)),
    *(_matrix_diag(dtype, (3, 5), Feed((3, 5), 0, 100, dtype=dtype)) for dtype in ("int32", "int16", "int8", "uint8")),
    _reverse("height", (2, 3, 4, 5), (1,)), _reverse("channels", (2, 3, 4, 7), (3,)), _reverse("width", (2, 3, 4, 5), (2,)),
    _reverse("vector", (9,), (0,)), _reverse("batch_int32", (3, 2, 5), (0,), _ints((3, 2, 5))),
    _reverse_sequence("steps", (3, 5, 6), 1, 0, _i32([5, 3, 1])), _reverse_sequence("rows", (5, 7), 1, 0, _i32([0, 1, 2, 6, 7])),
    _reverse_sequence("steps_first", (5, 3, 6), 0, 1, Feed((3,), 0, 5, dtype="int64")),
    _reverse_sequence("height_of_batch", (2, 6, 4, 5), 1, 0, Feed((2,), 1, 6, dtype="int32")),
    _reverse_sequence("batch_of_channels", (4, 2, 3, 7), 0, 3, Feed((7,), -2, 4, dtype="int32")),
    _reverse_sequence("channels_of_width", (2, 3, 4, 9), 3, 2, Feed((4,), 0, 9, dtype="int64")),
    _reverse_sequence("rank_5", (2, 3, 4, 2, 5), 2, 0, _i32([4, 3])), _reverse_sequence("rank_6", (2, 3, 2, 2, 3, 5), 1, 4, Feed((3,), 0, 3, dtype="int32")),
    *(_reverse_sequence(dtype, (3, 4, 5), 1, 2, Feed((5,), 0, 4, dtype="int32"), Feed((3, 4, 5), 0, 255, dtype=dtype)) for dtype in ("int32", "int16", "uint8")),
    # The CPU fails there.
    _reverse_sequence("beyond", (3, 4, 5), 1, 0, Feed((3,), 3, 9, dtype="int32"), on_cpu=False),
    _tile("every_axis", (1, 2, 3, 5), (2, 2, 3, 2)), _tile("channels", (1, 3, 4, 3), (1, 1, 1, 3)), _tile("rank_2", (3, 4), (2, 1)), _tile("int32", (2, 3), (2, 3), _ints((2, 3))),
    _broadcast_to("channels", (1, 4, 5, 1), (2, 4, 5, 6)), _broadcast_to("new_axes", (6,), (2, 4, 5, 6)), _broadcast_to("rank_5", (3, 1, 5), (2, 2, 3, 4, 5)),
    _slice("middle", (2, 5, 6, 7), (1, 1, 2, 3), (1, 3, 4, 4)), _slice("to_the_end", (1, 4, 5, 8), (0, 2, 0, 4), (-1, -1, 5, -1)),
    _slice("rank_3", (3, 5, 7), (0, 1, 2), (2, 3, 5)), _slice("vector_int32", (9,), (2,), (5,), _ints((9,))), _slice("rank_5", (2, 3, 4, 5, 6), (1, 0, 1, 2, 3), (1, 2, 3, 3, 3)),
    _split("channels", (1, 4, 5, 12), 3, 3), _split("odd_channels", (2, 3, 4, 6), -1, 2), _split("height", (1, 6, 4, 5), 1, 3), _split("batch", (4, 3, 2, 5), 0, 2),
    _split("rank_2", (3, 8), 1, 4), _split("rank_5", (2, 2, 4, 3, 5), 2, 2), _split("int32", (2, 6), 1, 2, _ints((2, 6))),
    _split_v("channels", (1, 3, 4, 11), 3, (4, 2, 5)), _split_v("rest", (1, 7, 4, 5), 1, (2, 4, 1), (2, -1, 1)), _split_v("rank_2", (5, 6), 0, (1, 4)),
    _unpack("channels", (2, 3, 4, 3), 3), _unpack("first", (3, 4, 5), 0), _unpack("rank_5", (2, 3, 2, 4, 5), 1), _unpack("vector_int32", (4,), 0, _ints((4,))),
    _pack("first", (3, 4, 5), 0, 2), _pack("last", (2, 3, 4), -1, 3), _pack("middle", (2, 5), 1, 3), _pack("to_rank_5", (2, 3, 4, 5), 1, 2), _pack("scalars", (), 0, 3), _pack("int32", (3, 5), 1, 2, "int32"),
    _expand("first", (3, 4, 5), 0), _expand("last", (3, 4, 5), -1), _expand("to_rank_5", (2, 3, 4, 5), 2),
    _squeeze("all", (1, 4, 1, 5), ()), _squeeze("one", (1, 4, 1, 5), (2,)), _squeeze("rank_5", (1, 2, 1, 3, 5), (0, 2)),
    _gather("rows", (5, 6), [3, 0, 3, 1], 0), _gather("channels", (2, 3, 4, 7), [6, 0, 2, 2, 5], 3), _gather("height", (2, 5, 4, 6), [4, 0], 1),
    _gather("matrix_of_indices", (6, 5), [[0, 5, 2], [1, 1, 4]], 0), _gather("computed", (7, 3, 5), [0, 0, 0, 0], 0, computed=True), _gather("scalar", (2, 4, 5), 3, 1),
    _gather("computed_int64", (4, 9), [0, 0, 0], 1, computed=True, dtype="int64"), _gather("batch_dims", (2, 5, 6), [[4, 0, 1], [2, 2, 3]], 1, batch_dims=1),
    _gather("int32", (6, 4), [5, 1], 0, feed=_ints((6, 4))), _gather("to_rank_5", (2, 4, 3, 5), [[0, 3], [1, 2]], 1),
    _lookup("rows", (5,), (9, 7)), _lookup("one_id", (1,), (6, 3, 5)),
    _mirror("reflect", (1, 4, 5, 6), ((0, 0), (1, 2), (3, 1), (0, 0)), True), _mirror("symmetric", (2, 4, 5, 7), ((0, 0), (2, 2), (1, 3), (0, 0)), False),
    _mirror("channels", (1, 2, 3, 5), ((0, 0), (0, 0), (0, 0), (2, 4)), True), _mirror("rank_2_int32", (4, 6), ((1, 1), (2, 2)), False, _ints((4, 6))),
    _pad_v2("value", (1, 3, 4, 5), ((0, 0), (1, 2), (0, 1), (0, 0)), -2.5), _pad_v2("channels", (2, 3, 4, 6), ((0, 0), (0, 0), (0, 0), (1, 2)), 7.0),
    _mirror("rank_5", (2, 3, 2, 4, 5), ((1, 0), (0, 2), (1, 1), (0, 0), (2, 1)), False), _mirror("rank_6_int32", (3, 2, 2, 3, 2, 2), ((2, 1), (0, 0), (0, 1), (1, 1), (0, 0), (1, 0)), True, _ints((3, 2, 2, 3, 2, 2))),
    _pad_v2("rank_5", (2, 3, 2, 2, 4), ((0, 1), (1, 0), (0, 0), (2, 1), (0, 0)), -2.5), _pad_v2("rank_5_int32", (2, 2, 1, 2, 3), ((1, 0), (0, 0), (0, 2), (0, 0), (1, 3)), 70000, _ints((2, 2, 1, 2, 3))),
    _pad_v2("int32", (2, 3, 5), ((1, 0), (0, 2), (1, 1)), 70000, _ints((2, 3, 5))),
    _space_to_depth("two", (1, 4, 6, 3), 2), _space_to_depth("three_batch_2", (2, 6, 3, 4), 3), _space_to_depth("int32", (1, 4, 4, 1), 2, _ints((1, 4, 4, 1))),
    _batches("SPACE_TO_BATCH_ND", "pads", (1, 5, 6, 5), (2, 3), ((1, 2), (0, 3))), _batches("SPACE_TO_BATCH_ND", "batch_2", (2, 4, 6, 4), (2, 2), ((0, 0), (0, 0))),
    _batches("SPACE_TO_BATCH_ND", "rank_3", (2, 5, 6), (3,), ((1, 0),)),
    _batches("BATCH_TO_SPACE_ND", "crops", (6, 3, 4, 5), (2, 3), ((1, 0), (2, 3))), _batches("BATCH_TO_SPACE_ND", "batch_2", (8, 2, 3, 4), (2, 2), ((0, 0), (0, 0))),
    _batches("BATCH_TO_SPACE_ND", "rank_3", (6, 4, 5), (3,), ((1, 1),)),
    _nearest("up", (1, 3, 4, 5), (6, 9)), _nearest("down", (2, 8, 9, 4), (3, 5)), _nearest("half_pixel", (1, 5, 4, 6), (8, 7), half=True),
    _nearest("corners", (1, 5, 4, 6), (9, 7), corners=True), _nearest("both", (1, 5, 4, 6), (7, 3), corners=True, half=True),
    _rank("rank_5_and_back", (2, 3, 4, 6), lambda m, x: m.reshape(m.unary("RELU", m.reshape(x, (2, 3, 2, 2, 6))), (6, 4, 6)), lambda x: np.maximum(x, 0).reshape(6, 4, 6)),
    _rank("to_rank_6", (2, 3, 4, 6), lambda m, x: m.reshape(x, (2, 1, 3, 2, 2, 6)), lambda x: x.reshape(2, 1, 3, 2, 2, 6)),
    _rank("to_open_rank_5", (2, 3, 4, 6), lambda m, x: m.reshape(x, (-1, 3, 2, 2, 6)), lambda x: x.reshape(-1, 3, 2, 2, 6)),
    _rank("to_open_rank_6", (2, 3, 4, 6), lambda m, x: m.reshape(x, (-1, 2, 3, 2, 1, 6)), lambda x: x.reshape(-1, 2, 3, 2, 1, 6)),
    _rank("channel_shuffle", (2, 3, 4, 6), lambda m, x: channel_shuffle(m, x, 2), lambda x: x.reshape(2, 3, 4, 2, 3).swapaxes(3, 4).reshape(2, 3, 4, 6), "TRANSPOSE"),
    _rank("pixel_shuffle", (1, 3, 4, 12), lambda m, x: pixel_shuffle(m, x, 2), lambda x: x.reshape(1, 3, 4, 2, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(1, 6, 8, 3), "TRANSPOSE"),
    _rank("windows", (2, 4, 6, 5), lambda m, x: windows(m, x, 2), lambda x: x.reshape(2, 2, 2, 3, 2, 5).transpose(0, 1, 3, 2, 4, 5).reshape(-1, 4, 5), "TRANSPOSE"),
    Case("ADD", "rank_5", [(2, 1, 3, 4, 5), (3, 1, 1, 5)], lambda m, a, b: m.add(a, b), np.add),
    Case("ADD", "rank_6_both_sides", [(2, 1, 3, 1, 2, 5), (1, 2, 1, 3, 1, 5)], lambda m, a, b: m.add(a, b), np.add),
    Case("MUL", "rank_5_one_channel", [(2, 3, 2, 2, 5), (2, 1, 2, 1, 1)], lambda m, a, b: m.mul(a, b), np.multiply),
    Case("RELU", "rank_5", [(1, 2, 3, 2, 2)], lambda m, x: m.unary("RELU", x), lambda x: np.maximum(x, 0)),
    Case("SOFTMAX", "rank_5", [(2, 1, 3, 2, 5)], lambda m, x: m.softmax(x), lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    Case("CONCATENATION", "rank_5_outer", [(1, 3, 2, 4, 5), (2, 3, 2, 4, 5)], lambda m, a, b: m.concatenation(a, b, axis=0), lambda a, b: np.concatenate([a, b], 0)),
    Case("CONCATENATION", "rank_5_middle", [(2, 1, 2, 4, 5), (2, 3, 2, 4, 5)], lambda m, a, b: m.concatenation(a, b, axis=1), lambda a, b: np.concatenate([a, b], 1)),
    Case("CONCATENATION", "int32", [_ints((2, 3, 5)), _ints((2, 3, 2))], lambda m, a, b: m.op("CONCATENATION", [a, b], (2, 3, 7), "ConcatenationOptions", Axis=2, output={"dtype": "int32"}), lambda a, b: np.concatenate([a, b], 2)),
    Case("DEPTH_TO_SPACE", "int32", [_ints((1, 2, 3, 8))], lambda m, x: m.op("DEPTH_TO_SPACE", [x], (1, 4, 6, 2), "DepthToSpaceOptions", BlockSize=2, output={"dtype": "int32"}), lambda x: x.reshape(1, 2, 3, 2, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(1, 4, 6, 2)),
    Case("STRIDED_SLICE", "rank_5", [(2, 3, 4, 5, 6)], lambda m, x: m.strided_slice(x, (0, 2, 1, 0, 1), (2, 0, 4, 5, 6), (1, -1, 2, 2, 1)), lambda x: x[0:2, 2:0:-1, 1:4:2, 0:5:2, 1:6]),
]  # fmt: skip
