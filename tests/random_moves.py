"""The ops of the random graphs that move, join, take apart, reduce and look up: see `random_ops`."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import strategies as st

from tests import shapes
from tests.random_ops import ALL, EXTREMES, NUMBERS, i32, kind, moves, reshaped
from tests.vectors.movement import batch_to_space, space_to_batch, space_to_depth

# Borders, joins and parts


@kind("border", "PAD", ranks=(1, 5), special=EXTREMES)
def _pad(b, x):
    paddings = [(b.draw(st.integers(0, 2)), b.draw(st.integers(0, 3))) for _ in x.shape]
    shape = [n + sum(p) for n, p in zip(x.shape, paddings)]
    return b.move("PAD", [x, i32(paddings)], shape, "PadOptions")


@moves("border", "PADV2", NUMBERS, ranks=(1, 5))
def _pad_v2(b, x):
    paddings = [(b.draw(st.integers(0, 2)), b.draw(st.integers(0, 3))) for _ in x.shape]
    shape = [n + sum(p) for n, p in zip(x.shape, paddings)]
    value = b.draw(st.sampled_from([0, 1, -2, np.inf if x.dtype == "float32" and b.alone else 7]))
    return b.move("PADV2", [x, i32(paddings), np.array(value, x.dtype)], shape)


@moves("border", "MIRROR_PAD", NUMBERS, ranks=(1, 6))
def _mirror_pad(b, x):
    mode = b.draw(st.integers(0, 1))  # 0 reflects: the border itself is left out
    paddings = [tuple(b.draw(st.integers(0, min(n - 1 + mode, 3))) for _ in "ba") for n in x.shape]
    shape = [n + sum(p) for n, p in zip(x.shape, paddings)]
    return b.move("MIRROR_PAD", [x, i32(paddings)], shape, "MirrorPadOptions", Mode=mode)


@moves("border", "DILATE", NUMBERS, ranks=(1, 6))
def _dilate(b, x):
    steps = [b.draw(st.sampled_from([1, 1, 2, 3])) for _ in x.shape]
    shape = [(n - 1) * step + 1 for n, step in zip(x.shape, steps)]
    return b.move(
        "DILATE", [x, i32(steps), np.array([b.draw(st.sampled_from([0, 3]))], x.dtype)], shape, "DilateOptions"
    )


@moves("border", "STABLEHLO_PAD", NUMBERS, ranks=(1, 6))
def _stablehlo_pad(b, x):
    numbers = [
        (b.draw(st.integers(0, 2)), b.draw(st.integers(0, 2)), b.draw(st.sampled_from([0, 0, 1, 2]))) for _ in x.shape
    ]
    # Cut off where a number stays.
    numbers = [
        (-before if n > 4 and b.draw(st.booleans()) else before, *rest) for n, (before, *rest) in zip(x.shape, numbers)
    ]
    shape = [before + (n - 1) * (between + 1) + 1 + after for n, (before, after, between) in zip(x.shape, numbers)]
    low, high, interior = (np.int64(one) for one in zip(*numbers))
    value = np.array(b.draw(st.sampled_from([0, 1])), x.dtype)
    return b.move("STABLEHLO_PAD", [x, value], shape, "StablehloPadOptions",
                  EdgePaddingLow=low, EdgePaddingHigh=high, InteriorPadding=interior)  # fmt: skip


@moves("join", "CONCATENATION", ranks=(1, 6))
def _concatenation(b, x):
    axis = b.draw(st.integers(-len(x.shape), len(x.shape) - 1))

    def fits(v) -> bool:
        return len(v.shape) == len(x.shape) and all(
            n == m for i, (n, m) in enumerate(zip(v.shape, x.shape)) if i != axis % len(x.shape)
        )

    parts = [x, *b.draw(st.lists(st.sampled_from([v for v in b.fitting(x.dtype) if fits(v)]), max_size=3))]
    if b.draw(st.booleans()):
        extra = list(x.shape)
        extra[axis] = b.draw(st.integers(1, 5))
        more = b.input if x.dtype == "bool" or b.draw(st.booleans()) else b.const
        parts.append(more(tuple(extra), dtype=x.dtype))
    shape = shapes.concatenation([v.shape for v in parts], axis)
    return b.move("CONCATENATION", b.draw(st.permutations(parts)), shape, "ConcatenationOptions", Axis=axis)


@moves("join", "PACK", NUMBERS, ranks=(0, 5))
def _pack(b, x):
    same = [v for v in b.fitting(x.dtype) if v.shape == x.shape]
    parts = [x, *b.draw(st.lists(st.sampled_from(same), max_size=3))]
    if b.draw(st.booleans()):
        parts.append(b.const(x.shape, dtype=x.dtype))
    axis = b.draw(st.integers(-len(x.shape) - 1, len(x.shape)))
    shape = np.stack([np.empty(x.shape)] * len(parts), axis).shape
    return b.move("PACK", parts, shape, "PackOptions", ValuesCount=len(parts), Axis=axis)


@kind("part", "STRIDED_SLICE", ranks=(1, 5), special=EXTREMES)
def _strided_slice(b, x):
    begin, end, strides, shrink = [], [], [], 0
    for axis, n in enumerate(x.shape):
        low = b.draw(st.integers(0, n - 1))
        high = b.draw(st.integers(low + 1, n))
        stride = b.draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2]))
        if stride > 0 and b.draw(st.integers(0, 5)) == 0:
            shrink, stride, high = shrink | 1 << axis, 1, low + 1
        if stride < 0:
            low, high = high - 1, low - 1 if low else -n - 1
        begin.append(low)
        end.append(high)
        strides.append(stride)
    return b.add("strided_slice", x, begin, end, strides, shrink_axis_mask=shrink, exact="keeps")


@moves("part", "SLICE", ranks=(1, 5))
def _slice(b, x):
    begin = [b.draw(st.integers(0, n - 1)) for n in x.shape]
    taken = [b.draw(st.integers(1, n - at)) for n, at in zip(x.shape, begin)]
    size = [-1 if n == at + m and b.draw(st.booleans()) else m for n, at, m in zip(x.shape, begin, taken)]
    return b.move("SLICE", [x, i32(begin), i32(size)], taken)


def _axis(b, x):
    return b.draw(st.integers(-len(x.shape), len(x.shape) - 1))


def _with(shape, axis, n):
    changed = list(shape)
    changed[axis] = n
    return tuple(changed)


@moves("part", "SPLIT", NUMBERS, ranks=(1, 6))
def _split(b, x):
    axis = _axis(b, x)
    count = b.draw(st.sampled_from([n for n in range(1, 5) if x.shape[axis] % n == 0]))
    part = _with(x.shape, axis, x.shape[axis] // count)
    return b.move("SPLIT", [i32(axis), x], [part] * count, "SplitOptions", NumSplits=count)


@moves("part", "SPLIT_V", NUMBERS, ranks=(1, 6))
def _split_v(b, x):
    axis = _axis(b, x)
    cuts = sorted(b.draw(st.sets(st.integers(1, max(x.shape[axis] - 1, 1)), max_size=min(3, x.shape[axis] - 1))))
    sizes = np.diff([0, *cuts, x.shape[axis]])
    given = [int(n) for n in sizes]
    if b.draw(st.booleans()):
        given[b.draw(st.integers(0, len(given) - 1))] = -1
    parts = [_with(x.shape, axis, n) for n in sizes]
    return b.move("SPLIT_V", [x, i32(given), i32(axis)], parts, "SplitVOptions", NumSplits=len(parts))


@moves("part", "UNPACK", ranks=(1, 6))
def _unpack(b, x):
    axis = _axis(b, x)
    part = tuple(np.delete(x.shape, axis))
    return b.move("UNPACK", [x], [part] * x.shape[axis], "UnpackOptions", Num=x.shape[axis], Axis=axis)


# Shapes, orders and blocks


@moves("shape", "RESHAPE")
def _reshape(b, x):
    shape = b.draw(reshaped(x.shape, b.draw(st.integers(1, 6))))
    given = _with(shape, b.draw(st.integers(0, len(shape) - 1)), -1) if b.draw(st.booleans()) else shape
    return b.move("RESHAPE", [x, i32(given)], shape, "ReshapeOptions")


@moves("shape", "EXPAND_DIMS", ranks=(0, 5))
def _expand_dims(b, x):
    axis = b.draw(st.integers(-len(x.shape) - 1, len(x.shape)))
    return b.move("EXPAND_DIMS", [x, i32(axis)], np.expand_dims(np.empty(x.shape), axis).shape)


@moves("shape", "SQUEEZE", ranks=(1, 6))
def _squeeze(b, x):
    ones = [axis for axis, n in enumerate(x.shape) if n == 1]
    axes = b.draw(st.sets(st.sampled_from(ones))) if ones else set()
    named = [axis - b.draw(st.sampled_from([0, len(x.shape)])) for axis in axes]
    shape = np.squeeze(np.empty(x.shape), tuple(axes) or None).shape
    return b.move("SQUEEZE", [x], shape, "SqueezeOptions", SqueezeDims=named)


def _in_order(b, x, order):
    return b.op("TRANSPOSE", [x, i32(order)], [x.shape[i] for i in order], dtype=x.dtype)


def _merged(b, y):
    """Two axes side by side become one."""
    at = b.draw(st.integers(0, len(y.shape) - 2))
    return (*y.shape[:at], y.shape[at] * y.shape[at + 1], *y.shape[at + 2 :])


def _parted(b, y):
    """One axis becomes two."""
    at = _axis(b, y) % len(y.shape)
    part = b.draw(st.sampled_from([n for n in range(1, y.shape[at] + 1) if y.shape[at] % n == 0]))
    return (*y.shape[:at], part, y.shape[at] // part, *y.shape[at + 1 :])


def _between(b, x, y, order):
    """One of what stands between a model's transposes, of y; x lies as before the first of them, by `order`."""
    step = b.draw(st.sampled_from(["unary", "number", "const", "other", "mean", "concat", "cumsum", "shape", "order"]))
    if step == "unary":
        return b.elementwise(b.draw(st.sampled_from(["TANH", "RELU", "ABS"])), y)
    if step == "number":
        return b.elementwise("MUL", y, np.float32(0.5), kind="MulOptions")
    if step == "const":
        first = b.draw(st.integers(0, len(y.shape) - 1))
        shape = [b.draw(st.sampled_from([n, 1])) for n in y.shape[first:]]
        return b.elementwise("ADD", y, b.const(tuple(shape)), kind="AddOptions")
    if step == "other" and [x.shape[i] for i in order] == list(y.shape):
        return b.elementwise("ADD", _in_order(b, b.input(x.shape), order), y, kind="AddOptions")
    if step == "mean":
        axes, shape = _axes(b, y), list(y.shape)
        for axis in axes:
            shape[axis] = 1
        mean = b.op("MEAN", [y, i32(axes)], shape, "ReducerOptions", KeepDims=True)
        return b.elementwise("MUL", y, mean, kind="MulOptions")
    if step == "concat" and prod(y.shape) < 500:
        axis = _axis(b, y)
        shape = shapes.concatenation([y.shape, y.shape], axis)
        return b.op("CONCATENATION", [y, b.elementwise("ABS", y)], shape, "ConcatenationOptions", Axis=axis)
    if step == "cumsum" and prod(y.shape) < 500:
        return b.op("CUMSUM", [y, i32(_axis(b, y))], y.shape, "CumsumOptions", Exclusive=False, Reverse=False)
    if step == "shape" and 1 < len(y.shape) < 5:
        shape = (_merged if b.draw(st.booleans()) else _parted)(b, y)
        return b.op("RESHAPE", [y, i32(shape)], shape, "ReshapeOptions")
    return _in_order(b, y, b.draw(st.permutations(range(len(y.shape))))) if step == "order" else y


@kind("order", "TRANSPOSE", ranks=(2, 4))
def _between_transposes(b, x):
    order = b.draw(st.permutations(range(len(x.shape))))
    y = _in_order(b, x, order)
    for _ in range(b.draw(st.integers(1, 5))):
        y = _between(b, x, y, order)
    back = np.argsort(order).tolist() if len(y.shape) == len(order) else []
    return _in_order(b, y, back or b.draw(st.permutations(range(len(y.shape)))))


@moves("order", "TRANSPOSE", ranks=(1, 6))
def _transpose(b, x):
    order = b.draw(st.permutations(range(len(x.shape))))
    return b.move("TRANSPOSE", [x, i32(order)], [x.shape[i] for i in order])


@moves("order", "REVERSE_V2", ranks=(1, 6))
def _reverse(b, x):
    first = b.draw(st.integers(0, len(x.shape) - 1))
    last = b.draw(st.integers(first, len(x.shape) - 1))  # TFLite takes neighbouring axes only
    return b.move("REVERSE_V2", [x, i32(range(first, last + 1))], x.shape)


@moves("order", "REVERSE_SEQUENCE", NUMBERS, ranks=(2, 6))
def _reverse_sequence(b, x):
    seq, batch = b.draw(st.permutations(range(len(x.shape))))[:2]
    lengths = b.some(st.booleans())((x.shape[batch],), dtype="int32", low=0, high=x.shape[seq])
    return b.move("REVERSE_SEQUENCE", [x, lengths], x.shape, "ReverseSequenceOptions", SeqDim=seq, BatchDim=batch)


@moves("order", "MATRIX_DIAG", NUMBERS, ranks=(1, 5))
def _matrix_diag(b, x):
    return b.move("MATRIX_DIAG", [x], (*x.shape, x.shape[-1]), "MatrixDiagOptions")


@moves("order", "TILE", ranks=(1, 6))
def _tile(b, x):
    counts = [b.draw(st.sampled_from([1, 1, 2, 3])) for _ in x.shape]
    return b.move("TILE", [x, i32(counts)], np.multiply(x.shape, counts))


@moves("order", "BROADCAST_TO")
def _broadcast_to(b, x):
    shape = [b.draw(st.integers(1, 4)) if n == 1 else n for n in x.shape]
    shape = [b.draw(st.integers(1, 3)) for _ in range(b.draw(st.integers(0, 6 - len(shape))))] + shape
    return b.move("BROADCAST_TO", [x, i32(shape)], shape, version=2) if shape else None


@kind("block", "DEPTH_TO_SPACE", rank=4)
def _depth_to_space(b, x):
    blocks = [n for n in (1, 2, 3) if x.shape[3] % n**2 == 0]
    return b.add("depth_to_space", x, b.draw(st.sampled_from(blocks)), exact="keeps")


def _blocks(b, x, axes):
    return [b.draw(st.sampled_from([n for n in (1, 2, 3) if x.shape[axis] % n == 0])) for axis in axes]


@moves("block", "SPACE_TO_DEPTH", NUMBERS, rank=4)
def _space_to_depth(b, x):
    block = b.draw(st.sampled_from([n for n in (1, 2, 3) if x.shape[1] % n == 0 and x.shape[2] % n == 0]))
    shape = space_to_depth(np.empty(x.shape), block).shape
    return b.move("SPACE_TO_DEPTH", [x], shape, "SpaceToDepthOptions", BlockSize=block)


@moves("block", "SPACE_TO_BATCH_ND", NUMBERS, ranks=(3, 4))
def _space_to_batch(b, x):
    pads = [(b.draw(st.integers(0, 2)), b.draw(st.integers(0, 2))) for _ in x.shape[1:-1]]
    block = [
        b.draw(st.sampled_from([n for n in (1, 2, 3) if (m + sum(p)) % n == 0])) for m, p in zip(x.shape[1:], pads)
    ]
    return b.move("SPACE_TO_BATCH_ND", [x, i32(block), i32(pads)], space_to_batch(np.empty(x.shape), block, pads).shape)


@moves("block", "BATCH_TO_SPACE_ND", NUMBERS, ranks=(3, 4))
def _batch_to_space(b, x):
    counts = [n for n in (1, 2, 3, 4, 6) if x.shape[0] % n == 0]
    block = [b.draw(st.sampled_from(counts))]
    if len(x.shape) == 4:
        block.append(b.draw(st.sampled_from([n for n in (1, 2, 3) if x.shape[0] % (n * block[0]) == 0])))
    crops = []
    for n, k in zip(x.shape[1:], block):
        before = b.draw(st.integers(0, min(n * k - 1, 2)))
        crops.append((before, b.draw(st.integers(0, min(n * k - 1 - before, 2)))))
    return b.move(
        "BATCH_TO_SPACE_ND", [x, i32(block), i32(crops)], batch_to_space(np.empty(x.shape), block, crops).shape
    )


# Reductions and lookups


def _axes(b, x):
    rank = len(x.shape)
    return b.draw(st.lists(st.integers(-rank, rank - 1), min_size=1, max_size=rank, unique_by=lambda a: a % rank))


def _reduce(b, x, name, **fields):
    axes, keep = _axes(b, x), b.draw(st.booleans())
    if name == "REDUCE_PROD" and prod(x.shape[a] for a in axes) > 8:
        return None
    shape = shapes.mean(x.shape, axes, keep)
    return b.op(name, [x, i32(axes)], shape, "ReducerOptions", dtype=x.dtype, KeepDims=keep, **fields)


kind("reduction", "MEAN", ranks=(1, 6))(lambda b, x: _reduce(b, x, "MEAN"))
for _name in ("SUM", "REDUCE_PROD"):
    kind("reduction", _name, dtypes=NUMBERS, ranks=(1, 6), exact=True)(lambda b, x, name=_name: _reduce(b, x, name))
for _name in ("REDUCE_MAX", "REDUCE_MIN"):
    kind("reduction", _name, dtypes=NUMBERS, ranks=(1, 6), special=(np.inf, -np.inf, 3e38))(
        lambda b, x, name=_name: _reduce(b, x, name, exact="keeps")
    )
for _name in ("REDUCE_ANY", "REDUCE_ALL"):
    kind("reduction", _name, dtypes=("bool",), ranks=(1, 6))(lambda b, x, name=_name: _reduce(b, x, name))


@kind("scan", "ARG_MAX, ARG_MIN", dtypes=NUMBERS, ranks=(1, 6), exact=True, special=(np.inf, -np.inf))
def _arg(b, x):
    name, axis = b.draw(st.sampled_from(["ARG_MAX", "ARG_MIN"])), _axis(b, x)
    kind = f"Arg{name[4:].title()}Options"
    return b.op(name, [x, i32(axis)], np.delete(x.shape, axis), kind, dtype="int32", exact=True, OutputType=2)


@kind("scan", "CUMSUM", dtypes=NUMBERS, ranks=(1, 6), exact=True)
def _cumsum(b, x):
    how = {"Exclusive": b.draw(st.booleans()), "Reverse": b.draw(st.booleans())}
    return b.op("CUMSUM", [x, i32(_axis(b, x))], x.shape, "CumsumOptions", dtype=x.dtype, **how)


@moves("lookup", "GATHER", ranks=(1, 6))
def _gather(b, x):
    axis = b.draw(st.integers(0, len(x.shape) - 1))
    batches = b.draw(st.integers(0, min(axis, 2))) if b.draw(st.booleans()) else 0
    inner = tuple(b.draw(st.lists(st.integers(1, 5), max_size=min(2, 7 - len(x.shape)))))
    shape = (*x.shape[:axis], *inner, *x.shape[axis + 1 :])
    indices = b.some(st.booleans())((*x.shape[:batches], *inner), dtype="int32", low=0, high=x.shape[axis] - 1)
    return b.move("GATHER", [x, indices], shape, "GatherOptions", Axis=axis, BatchDims=batches)


@kind("lookup", "EMBEDDING_LOOKUP", dtypes=("int32",), exact=True)
def _embedding_lookup(b, x):
    table = b.const(b.draw(st.tuples(st.integers(1, 20), st.integers(1, 9))))
    ids = b.input((b.draw(st.integers(1, 9)),), "int32", low=0, high=table.shape[0] - 1)
    return b.op("EMBEDDING_LOOKUP", [ids, table], (ids.shape[0], table.shape[1]))


@kind("lookup", "ONE_HOT", dtypes=("int32",), ranks=(0, 3))
def _one_hot(b, x):
    axis, depth = b.draw(st.integers(-1, len(x.shape))), b.draw(st.integers(1, 6))
    place = axis if axis >= 0 else len(x.shape)
    dtype = b.draw(st.sampled_from(ALL))
    on, off = (np.array(n, dtype) for n in (b.draw(st.sampled_from([1, 3])), 0))
    shape = (*x.shape[:place], depth, *x.shape[place:])
    return b.op("ONE_HOT", [x, i32(depth), on, off], shape, "OneHotOptions", dtype=dtype, exact=True, Axis=axis)
