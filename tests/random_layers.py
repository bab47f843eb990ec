"""The ops of the random graphs with weights of their own kinds, products, norms, layers with a state, and ops that place
parts or follow from shapes: see `random_ops`."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import strategies as st

from tests.random_ops import (
    ACTIVATIONS,
    CHANNELS,
    EXTREMES,
    MOST,
    NUMBERS,
    PADDING,
    i32,
    kind,
    moves,
    some_weights,
)
from tests.vectors import hadamard_rotation
from tests.vectors.case import sparse_constant
from tests.vectors.conv_3d import options_3d, window_3d
from tests.vectors.recurrent import Both, Layer, Svdf

# Convolutions: transposed ones, and those of planes


def _transposed_size(b, n: int, reach: int, stride: int, padding: str) -> int:
    """One of those that a convolution would make n of."""
    extra = b.draw(st.integers(0, stride - 1))
    return max(n * stride - extra, 1) if padding == "SAME" else (n - 1) * stride + reach + extra


def _kernel(b, most) -> tuple[int, ...]:
    return tuple(b.draw(st.integers(1, n)) for n in most)


@kind("transposed", "TRANSPOSE_CONV", rank=4)
def _transpose_conv(b, x):
    kernel, padding = _kernel(b, (5, 5)), b.draw(PADDING)
    stride = b.draw(st.sampled_from([(1, 1), (2, 2), (2, 2), (3, 1), (2, 3), (4, 4)]))
    size = [_transposed_size(b, x.shape[1 + i], kernel[i], stride[i], padding) for i in (0, 1)]
    out_c = b.draw(CHANNELS)
    if x.shape[0] * prod(size) * out_c > MOST:
        return None
    scale = 1.5 / np.sqrt(prod(kernel) * x.shape[3])
    weights = some_weights(b)((out_c, *kernel, x.shape[3]), low=-scale, high=scale)
    bias = some_weights(b)((out_c,)) if b.draw(st.booleans()) else None
    activation = b.draw(ACTIVATIONS) if bias else "NONE"
    return b.add("transpose_conv", x, weights, bias, stride=stride, padding=padding, size=size, activation=activation)


def _how_3d(b) -> dict:
    stride = b.draw(st.sampled_from([(1, 1, 1), (1, 1, 1), (2, 2, 2), (1, 2, 3), (3, 1, 2)]))
    dilation = b.draw(st.sampled_from([(1, 1, 1), (1, 2, 3), (2, 1, 2)])) if max(stride) == 1 else (1, 1, 1)
    return {"stride": stride, "dilation": dilation, "padding": b.draw(PADDING), "activation": b.draw(ACTIVATIONS)}


@kind("planes", "CONV_3D", rank=5)
def _conv_3d(b, x):
    how = _how_3d(b)
    reach = x.shape[1:4] if how["padding"] == "VALID" else (9, 9, 9)
    kernel = _kernel(b, [min(3, (n - 1) // d + 1) for n, d in zip(reach, how["dilation"])])
    out_c = b.draw(CHANNELS)
    sizes = [n for n, _ in window_3d(x.shape, kernel, how["stride"], how["dilation"], how["padding"])]
    scale = 1.5 / np.sqrt(prod(kernel) * x.shape[4])
    weights = b.const((*kernel, x.shape[4], out_c), -scale, scale)
    bias = [b.const((out_c,))] if b.draw(st.booleans()) else []
    return b.op("CONV_3D", [x, weights, *bias], [x.shape[0], *sizes, out_c], "Conv3DOptions", **options_3d(**how))


@kind("planes", "CONV_3D_TRANSPOSE", rank=5)
def _conv_3d_transpose(b, x):
    how, kernel, out_c = _how_3d(b), _kernel(b, (3, 3, 3)), b.draw(CHANNELS)
    sizes = [
        _transposed_size(b, x.shape[1 + i], (kernel[i] - 1) * how["dilation"][i] + 1, how["stride"][i], how["padding"])
        for i in range(3)
    ]
    shape = [x.shape[0], *sizes, out_c]
    scale = 1.5 / np.sqrt(prod(kernel) * x.shape[4])
    if max(prod(shape), prod(kernel) * out_c * x.shape[4]) > MOST:
        return None
    weights = b.const((*kernel, out_c, x.shape[4]), -scale, scale)
    bias = [b.const((out_c,))] if b.draw(st.booleans()) else []
    return b.op("CONV_3D_TRANSPOSE", [i32(shape), weights, x, *bias], shape, "Conv3DOptions", **options_3d(**how))


# Products and norms


@kind("product", "BATCH_MATMUL", ranks=(2, 5))
def _batch_matmul(b, x):
    flipped, adj_x, adj_y = (b.draw(st.booleans()) for _ in range(3))
    # What is summed over: x's columns as the left operand, its rows as the right one; adjoint, the other.
    inner = x.shape[-2] if flipped != (adj_y if flipped else adj_x) else x.shape[-1]
    batch = tuple(n if b.draw(st.booleans()) else 1 for n in x.shape[:-2])[b.draw(st.integers(0, len(x.shape) - 2)) :]
    n = b.draw(CHANNELS)
    rows_first = not adj_x if flipped else adj_y  # the other's shape ends in n, inner
    other = some_weights(b, st.booleans())((*batch, n, inner) if rows_first else (*batch, inner, n))
    left, right = (other, x) if flipped else (x, other)
    rows = left.shape[-1 if adj_x else -2]
    columns = right.shape[-2 if adj_y else -1]
    shape = (*np.broadcast_shapes(left.shape[:-2], right.shape[:-2]), rows, columns)
    return b.op("BATCH_MATMUL", [left, right], list(shape), "BatchMatMulOptions", AdjX=adj_x, AdjY=adj_y)


kind("norm", "L2_NORMALIZATION", ranks=(1, 4))(lambda b, x: b.op("L2_NORMALIZATION", [x], x.shape, "L2NormOptions"))
kind("norm", "LOG_SOFTMAX", ranks=(1, 6))(lambda b, x: b.op("LOG_SOFTMAX", [x], x.shape, "LogSoftmaxOptions"))


@kind("norm", "LOCAL_RESPONSE_NORMALIZATION", rank=4)
def _local_response(b, x):
    how = {"Radius": b.draw(st.integers(0, 5)), "Bias": b.draw(st.sampled_from([1.0, 2.0, 0.5]))}
    how |= {"Alpha": b.draw(st.sampled_from([0.5, 1.0, 0.01])), "Beta": b.draw(st.sampled_from([0.5, 0.75, 1.0]))}
    return b.op("LOCAL_RESPONSE_NORMALIZATION", [x], x.shape, "LocalResponseNormalizationOptions", **how)


@kind("norm", "RFFT2D, COMPLEX_ABS, REAL, IMAG", ranks=(2, 6))
def _spectrum(b, x):
    length = b.draw(st.sampled_from([2, 4, 8, 16, 32, 64]))
    shape = (*x.shape[:-2], 1, length // 2 + 1)
    if prod(shape) > MOST:
        return None
    made = b.op("RFFT2D", [x, i32([1, length])], shape, "Rfft2dOptions", dtype="complex64")
    return b.op(b.draw(st.sampled_from(["COMPLEX_ABS", "REAL", "IMAG"])), [made], shape)


@kind("norm", "aeq.hadamard_rotation", ranks=(2, 3))
def _hadamard(b, x):
    common = x.shape[-1] & -x.shape[-1]  # the largest power of two that divides it
    size = b.draw(st.sampled_from([1 << n for n in range(common.bit_length())]))
    return b.op("aeq.hadamard_rotation", [x], x.shape, custom_options=hadamard_rotation.options(size))


# Layers with a state


def _layer(b, x, op: str):
    steps = "SEQUENCE" in op
    time_major = not steps or b.draw(st.booleans())
    how = {"units": b.draw(CHANNELS), "time_major": time_major, "depth": x.shape[-1], "float16": b.draw(st.booleans())}
    if steps:
        how |= dict(zip(("steps", "batch") if time_major else ("batch", "steps"), x.shape[:2]))
    else:
        how["batch"] = x.shape[0]
    name = f"random {b.draw(st.integers(0, 99))}"
    if op == "LSTM" and b.draw(st.integers(0, 3)) == 0:
        name = "basic " + name
        how["float16"] = False
    elif "LSTM" in op:
        how |= {word: b.draw(st.booleans()) for word in ("cifg", "peephole", "flat_state")}
        how["norm"] = how["units"] > 3 and b.draw(st.booleans())  # of few, the differences are mostly rounding
        how |= {"outputs": b.draw(st.sampled_from([0, 0, 3, 9]))}
        how["projection_bias"] = bool(how["outputs"]) and b.draw(st.booleans())
        how |= {word: b.draw(st.sampled_from([0.0, 0.0, 0.3])) for word in ("cell_clip", "projection_clip")}
    how["activation"] = "TANH" if name.startswith("basic") else b.draw(st.sampled_from(["TANH", "TANH", "RELU6"]))
    return b.made(Layer(op, name, **how).build(b.model, x), op, [x], {"name": name, **how})


for _name in ("LSTM", "RNN"):
    # The state carries errors from step to step, and what a large number saturates jumps: exact operands.
    kind("state", _name, rank=2, exact=True)(lambda b, x, name=_name: _layer(b, x, name))
    kind("state", f"UNIDIRECTIONAL_SEQUENCE_{_name}", rank=3, exact=True)(
        lambda b, x, name=_name: _layer(b, x, f"UNIDIRECTIONAL_SEQUENCE_{name}")
    )


def _both(b, x, op: str):
    how = {"units": b.draw(CHANNELS), "time_major": b.draw(st.booleans()), "depth": x.shape[-1]}
    how |= dict(zip(("steps", "batch") if how["time_major"] else ("batch", "steps"), x.shape[:2]))
    if op == "LSTM":
        how |= {word: b.draw(st.booleans()) for word in ("cifg", "peephole")}
        how |= {"outputs": b.draw(st.sampled_from([0, 0, 3])), "cell_clip": b.draw(st.sampled_from([0.0, 0.3]))}
    name, op = f"random {b.draw(st.integers(0, 99))}", f"UNIDIRECTIONAL_SEQUENCE_{op}"
    # The CPU's LSTM does not merge what is not time-major without reading memory that nobody has written.
    merges = (how["time_major"] or "LSTM" not in op) and b.draw(st.booleans())
    # The same tensor as the auxiliary input.
    reads = b.draw(st.sampled_from(["one", "one", "auxiliary", "crosses"]))
    if reads == "auxiliary":
        how["depth"] *= 2
    layers = (Layer(op, name + direction, **how) for direction in ("/f", "/b"))
    made = Both(name, *layers, merges, 0 if reads == "one" else x.shape[-1], reads == "crosses")
    inputs = [x] if reads == "one" else [x, x]
    return b.made(
        made.build(b.model, *inputs), made.op, inputs, {"name": name, "merges": merges, "reads": reads, **how}
    )


for _name in ("LSTM", "RNN"):
    kind("state", f"BIDIRECTIONAL_SEQUENCE_{_name}", rank=3, exact=True)(lambda b, x, name=_name: _both(b, x, name))


@kind("state", "SVDF", rank=2, exact=True)
def _svdf(b, x):
    how = {"batch": x.shape[0], "depth": x.shape[1], "units": b.draw(CHANNELS), "rank": b.draw(st.integers(1, 3))}
    how |= {"memory": b.draw(st.integers(1, 10)), "bias": b.draw(st.booleans()), "float16": b.draw(st.booleans())}
    how |= {"activation": b.draw(st.sampled_from(["NONE", "RELU"]))}
    name = f"random {b.draw(st.integers(0, 99))}"
    return b.made(Svdf(name, **how).build(b.model, x), "SVDF", [x], {"name": name, **how})


# Parts that are placed or chosen by indices


@moves("places", "GATHER_ND", ranks=(1, 6))
def _gather_nd(b, x):
    depth = b.draw(st.integers(1, len(x.shape)))
    rest = x.shape[depth:]
    inner = tuple(b.draw(st.lists(st.integers(1, 5), max_size=min(2, 6 - len(rest)))))
    make = b.some(st.booleans())
    indices = make((*inner, depth), dtype="int32", low=0, high=min(x.shape[:depth]) - 1)
    return b.move("GATHER_ND", [x, indices], [*inner, *rest])


@kind("places", "SCATTER_ND", dtypes=NUMBERS, ranks=(1, 6))
def _scatter_nd(b, x):
    lead = b.draw(st.integers(1, min(5, len(x.shape))))  # the indices have an axis more
    rest = x.shape[lead:]
    rows = tuple(b.draw(st.integers(1, 5)) for _ in range(b.draw(st.integers(1, min(3, 6 - len(rest))))))
    make = b.some(st.booleans())
    indices = make((*x.shape[:lead], len(rows)), dtype="int32", low=0, high=min(rows) - 1)
    shape = [*rows, *rest]
    return b.op("SCATTER_ND", [indices, x, i32(shape)], shape, dtype=x.dtype)


@kind("places", "UNSORTED_SEGMENT_SUM, UNSORTED_SEGMENT_MAX, UNSORTED_SEGMENT_MIN", dtypes=NUMBERS, ranks=(1, 6))
def _segments(b, x):
    axes, count = b.draw(st.integers(1, len(x.shape))), b.draw(st.integers(1, 5))
    how = b.draw(st.sampled_from(["SUM", "MAX", "MIN"]))
    if how == "SUM":
        ids = b.some(st.booleans())(x.shape[:axes], dtype="int32", low=-1, high=count - 1)
    else:  # each segment has a part: the largest number of none is one that no other op would take
        ids = i32(np.resize(np.arange(count), x.shape[:axes]))
        count = min(count, ids.size)
    kind = f"UnsortedSegment{how.title()}Options"
    return b.op(f"UNSORTED_SEGMENT_{how}", [x, ids, i32(count)], [count, *x.shape[axes:]], kind, dtype=x.dtype)


@kind("places", "BUCKETIZE", dtypes=NUMBERS, ranks=(1, 6), exact=True, special=(np.inf, -np.inf))
def _bucketize(b, x):
    boundaries = sorted(b.draw(st.lists(st.integers(-8, 8), min_size=1, max_size=5)))
    options = {"Boundaries": np.float32(boundaries) / 4}
    return b.op("BUCKETIZE", [x], x.shape, "BucketizeOptions", dtype="int32", exact=True, **options)


@moves("places", "DYNAMIC_UPDATE_SLICE", NUMBERS, ranks=(1, 4))
def _update(b, x):
    part = tuple(b.draw(st.integers(1, n)) for n in x.shape)
    make = b.some(st.booleans())
    start = make((len(x.shape),), dtype="int32", low=-2, high=max(x.shape) + 1)  # the CPU moves it in, too
    return b.move("DYNAMIC_UPDATE_SLICE", [x, b.some(st.booleans())(part, dtype=x.dtype), start], x.shape)


@kind("places", "TOPK_V2", dtypes=NUMBERS, ranks=(1, 6), exact=True, special=(np.inf, -np.inf))
def _top_k(b, x):
    k = b.draw(st.integers(1, x.shape[-1]))
    shape = (*x.shape[:-1], k)
    outputs = [b.model.value(shape, x.dtype), b.model.value(shape, "int32")]
    made = b.model.several("TOPK_V2", [x, i32(k)], outputs, "TopKV2Options")
    return b.made(list(made), "TOPK_V2", [x, k], {}, exact=True)


# What follows from shapes, and constants in other forms


@kind("filled", "FILL", dtypes=NUMBERS)
def _fill(b, x):
    value = b.some(st.booleans())((), dtype=x.dtype)
    return b.elementwise("ADD", x, b.move("FILL", [i32(x.shape), value], x.shape), kind="AddOptions")


@kind("filled", "RANGE", dtypes=NUMBERS, ranks=(1, 6))
def _range(b, x):
    step = b.draw(st.sampled_from([1, 2, -3] if x.dtype == "int32" else [0.5, 1, -0.25]))
    start = b.draw(st.integers(-9, 9))
    numbers = [np.array(n, x.dtype) for n in (start, start + step * x.shape[-1], step)]
    row = b.model.op("RANGE", numbers, (x.shape[-1],), "RangeOptions", output={"dtype": x.dtype})
    return b.elementwise("ADD", x, row, kind="AddOptions")


@moves("filled", "SHAPE", ranks=(1, 6))
def _shape(b, x):
    """Back to the shape that x has, from a vector."""
    sizes = b.model.op("SHAPE", [x], (len(x.shape),), "ShapeOptions", OutType=2, output={"dtype": "int32"})
    return b.move("RESHAPE", [b.move("RESHAPE", [x, i32([-1])], (prod(x.shape),)), sizes], x.shape)


@moves("filled", "BROADCAST_ARGS", ranks=(1, 5))
def _both_shapes(b, x):
    """As often as a new first axis is long."""
    n = b.draw(st.integers(1, 3))
    sizes = b.model.op("SHAPE", [x], (len(x.shape),), "ShapeOptions", OutType=2, output={"dtype": "int32"})
    other = i32([n, *(1 for _ in x.shape)])
    both = b.model.op("BROADCAST_ARGS", [sizes, other], (len(x.shape) + 1,), output={"dtype": "int32"})
    return b.move("BROADCAST_TO", [x, both], (n, *x.shape), version=2)


@moves("filled", "RANK", ranks=(1, 6))
def _rank(b, x):
    """Rows as long as x has axes."""
    if prod(x.shape) % len(x.shape):
        return None
    rank = b.model.op("RANK", [x], (), "RankOptions", output={"dtype": "int32"})
    sizes = b.model.op("PACK", [i32(-1), rank], (2,), "PackOptions", ValuesCount=2, Axis=0, output={"dtype": "int32"})
    return b.move("RESHAPE", [x, sizes], (prod(x.shape) // len(x.shape), len(x.shape)))


kind("filled", "ZEROS_LIKE", dtypes=NUMBERS, special=EXTREMES)(
    lambda b, x: b.op("ZEROS_LIKE", [x], x.shape, dtype=x.dtype, exact=True)
)


@kind("filled", "DENSIFY", ranks=(1, 4))
def _densify(b, x):
    block = {axis: b.draw(st.sampled_from([k for k in (1, 2, 4) if n % k == 0])) for axis, n in enumerate(x.shape)}
    block = {axis: k for axis, k in block.items() if k > 1}
    order = tuple(b.draw(st.permutations(range(len(x.shape)))))
    csr = tuple(sorted(b.draw(st.sets(st.integers(0, len(x.shape) - 1), min_size=1))))
    stored = sparse_constant(
        f"random {b.draw(st.integers(0, 99))}", x.shape, block, b.draw(st.sampled_from([0.3, 1.0]))
    )
    dtype = b.draw(st.sampled_from([np.float32, np.float16]))
    dense = b.model.const_sparse(stored.astype(dtype), csr=csr, block=block, order=order)
    return b.elementwise("ADD", x, dense, kind="AddOptions")
