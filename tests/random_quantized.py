"""Hypothesis strategies that make models of quantised tensors: single ops with random parameters and grids, and graphs of
several of them, with parts in floats between a DEQUANTIZE and a QUANTIZE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

import numpy as np
from hypothesis import strategies as st

from tests import shapes
from tests.model_builder import Model, Value, _activation, _padding
from tests.quantized import KINDS, Kind, Quantized
from tests.random_ops import MOST, PADDING, i32, image_shape, shape_of
from tests.vectors.case import constant

FLOATS = (-1.5, 1.5)  # what is fed where an input is of floats
_ACTIVATIONS = st.sampled_from(["NONE", "NONE", "RELU", "RELU6"])


@dataclass
class Graph:
    """A finished model; prints as the list of its nodes. `exact`: numbers only move, so that the integers are equal."""

    model: Model
    seed: int
    trace: list[str]
    exact: bool

    def feeds(self) -> list[np.ndarray]:
        numbers = np.random.default_rng(self.seed)
        return [
            numbers.uniform(*FLOATS, v.shape).astype(np.float32)
            if v.dtype == "float32"
            else numbers.integers(*_ends(v.dtype), v.shape, v.dtype, endpoint=True)
            for v in self.model.inputs
        ]

    def near(self, feeds: list[np.ndarray], steps: Callable[[tuple[int, ...]], np.ndarray]) -> list[np.ndarray]:
        """The feeds so many quanta further."""
        return [
            feed + np.float32(FLOATS[1] / 127.5) * steps(feed.shape).astype(np.float32)
            if feed.dtype == np.float32
            else np.clip(feed + steps(feed.shape), *_ends(feed.dtype)).astype(feed.dtype)
            for feed in feeds
        ]

    def __repr__(self) -> str:
        return "\n".join(["Graph:", *self.trace, f"outputs {[v.index for v in self.model.outputs]} seed {self.seed}"])


@dataclass(frozen=True)
class QuantizedOp:
    """`build(builder, x)` adds the op to x of a rank, and gives the results, or None where it does not fit."""

    name: str
    build: Callable
    ranks: tuple[int, int]
    exact: bool
    kinds: tuple[str, ...]


OPS: list[QuantizedOp] = []
# Of 16 bits the interpreter has no such op, or one that is further than a quantum from what it means.
_BYTES = ("int8", "uint8")


def _op(name: str, ranks=(1, 4), exact=False, kinds=("int8", "uint8", "int16")):
    def register(build):
        OPS.append(QuantizedOp(name, build, ranks, exact, kinds))
        return build

    return register


def _ends(dtype) -> tuple[int, int]:
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def reach(v: Value) -> tuple[float, float]:
    """The numbers at the ends of its grid."""
    low, high = _ends(v.dtype)
    return (low - v.zero_point) * v.scale, (high - v.zero_point) * v.scale


@dataclass
class Builder:
    draw: Callable
    kind: Kind
    alone: bool = False  # the model is one op
    values: list[Value] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.q = Quantized(self.kind)

    def grid(self, low: float, high: float) -> dict:
        """One that holds most of the range."""
        part = self.draw(st.sampled_from([1.0, 1.0, 0.7, 1.3]))
        return self.kind.grid(low * part, high * part)

    def input(self, shape, grid: dict | None = None) -> Value:
        low, high = self.draw(st.sampled_from([(-2.0, 2.0), (0.0, 1.0), (-1.0, 3.0), (-4.0, 0.5)]))
        value = self.q.model.input(shape, **(grid or self.kind.grid(low, high)))
        self.values.append(value)
        self.trace.append(f"{_shown(value)} = input")
        return value

    def add(self, name: str, inputs, shape, grid: dict, kind: str = "", version: int = 2, **options):
        """A node; a list of shapes makes several results. None where one would be too big."""
        each = shape if isinstance(shape, list) else [shape]
        if max(prod(one) for one in each) > 2 * MOST or min(prod(one) for one in each) < 1:
            return None
        outputs = [self.q.model.value(one, **grid) for one in each]
        self.q.model.several(name, inputs, outputs, kind, version, **options)
        told = [_shown(v) if isinstance(v, Value) else repr(v) for v in inputs]
        told += [f"{word}={what}" for word, what in options.items()]
        self.trace.append(f"{', '.join(map(_shown, outputs))} = {name}({', '.join(told)})")
        self.values += [v for v in outputs if v.dtype == self.kind.dtype]
        return outputs if isinstance(shape, list) else outputs[0]

    def move(self, name: str, inputs, shape, kind: str = "", version: int = 2, **options):
        """The result has the first operand's grid."""
        like = self.q.like(next(v for v in inputs if isinstance(v, Value)))
        shape = shape if isinstance(shape, list) and isinstance(shape[0], tuple) else tuple(int(n) for n in shape)
        return self.add(name, inputs, shape, like, kind, version, **options)

    def pick(self, ranks: tuple[int, int]) -> Value:
        fitting = [v for v in self.values if ranks[0] <= len(v.shape) <= ranks[1]]
        return self.draw(st.sampled_from(fitting)) if fitting else self.input(self.draw(shape_of(*ranks)))

    def finish(self, exact: bool = False) -> Graph:
        model = self.q.model
        used = {index for node in model.nodes for index in node.inputs}
        made = {index for node in model.nodes for index in node.outputs}
        model.output(*[v for v in model.values if v.index in made - used])
        return Graph(model, self.draw(st.integers(0, 999)), self.trace, exact)


def _shown(v: Value) -> str:
    grid = f" {v.scale:.5g}@{v.zero_point}" if isinstance(v.scale, float) else ""
    return f"t{v.index}{v.shape} {v.dtype}{grid}"


@st.composite
def single_ops(draw) -> Graph:
    kind = draw(st.sampled_from(KINDS))
    op = draw(st.sampled_from([op for op in OPS if kind.dtype in op.kinds]))
    b = Builder(draw, kind, alone=True)
    done = op.build(b, b.input(draw(shape_of(*op.ranks)) if op.ranks != (4, 4) else draw(image_shape(2))))
    if done is None:
        b.add("RELU", [b.values[0]], b.values[0].shape, b.q.like(b.values[0]))
    return b.finish(op.exact and done is not None)


@st.composite
def graphs(draw, most_nodes: int = 7) -> Graph:
    """Several ops in a row and beside each other, behind an input of integers or of floats."""
    kind = draw(st.sampled_from(KINDS))
    b = Builder(draw, kind)
    shape = draw(image_shape(2))
    if draw(st.booleans()):
        x = b.q.model.input(shape)
        b.trace.append(f"{_shown(x)} = input")
        b.add("QUANTIZE", [x], shape, kind.grid(*FLOATS), "QuantizeOptions", 1)
    else:
        b.input(shape)
    for _ in range(draw(st.integers(2, most_nodes))):
        op = draw(st.sampled_from([op for op in OPS if kind.dtype in op.kinds]))
        op.build(b, b.pick(op.ranks))
    if not b.q.model.nodes:
        b.add("RELU", [b.values[0]], b.values[0].shape, b.q.like(b.values[0]))
    return b.finish()


# Products


def _window(b: Builder, x: Value) -> dict:
    padding = b.draw(PADDING)
    most = [3, 3] if padding == "SAME" else [min(3, n) for n in x.shape[1:3]]
    kernel = tuple(b.draw(st.integers(1, n)) for n in most)
    return {"kernel": kernel, "stride": b.draw(st.sampled_from([(1, 1), (2, 2), (1, 2)])), "padding": padding}


def _strides(w: dict) -> dict:
    return {"Padding": _padding(w["padding"]), "StrideH": w["stride"][0], "StrideW": w["stride"][1]}


def _sums(b: Builder, x: Value, terms: int, activation: str) -> dict:
    """The grid of sums of products with weights up to 1, of both signs."""
    high = max(map(abs, reach(x))) * np.sqrt(terms)
    return b.grid(0 if activation != "NONE" else -high, min(high, 6) if activation == "RELU6" else high)


def _name(b: Builder) -> str:
    return f"random {b.draw(st.integers(0, 99))}"


@_op("CONV_2D", (4, 4))
def _conv(b, x):
    w, out_c, activation = _window(b, x), b.draw(st.integers(1, 9)), b.draw(_ACTIVATIONS)
    weights = b.q.weights(_name(b), (out_c, *w["kernel"], x.shape[3]))
    shape = shapes.conv2d(x.shape, weights.shape, w["stride"], (1, 1), w["padding"])
    grid = _sums(b, x, prod(weights.shape[1:]), activation)
    return b.add("CONV_2D", [x, weights, b.q.bias("b", x, weights)], shape, grid, "Conv2DOptions", 3, DilationHFactor=1,
                 DilationWFactor=1, FusedActivationFunction=_activation(activation), **_strides(w))  # fmt: skip


@_op("DEPTHWISE_CONV_2D", (4, 4))
def _depthwise(b, x):
    w, many, activation = _window(b, x), b.draw(st.integers(1, 2)), b.draw(_ACTIVATIONS)
    weights = b.q.weights(_name(b), (1, *w["kernel"], x.shape[3] * many), 3)
    shape = shapes.depthwise_conv2d(x.shape, weights.shape, w["stride"], (1, 1), w["padding"])
    grid = _sums(b, x, prod(w["kernel"]), activation)
    return b.add("DEPTHWISE_CONV_2D", [x, weights, b.q.bias("b", x, weights)], shape, grid, "DepthwiseConv2DOptions", 3,
                 DilationHFactor=1, DilationWFactor=1, DepthMultiplier=many,
                 FusedActivationFunction=_activation(activation), **_strides(w))  # fmt: skip


@_op("TRANSPOSE_CONV", (4, 4))
def _transposed(b, x):
    weights = b.q.weights(_name(b), (b.draw(st.integers(1, 6)), 3, 2, x.shape[3]))
    shape = (x.shape[0], 2 * x.shape[1], 2 * x.shape[2], weights.shape[0])
    if prod(shape) > MOST:
        return None
    return b.add("TRANSPOSE_CONV", [i32(shape), weights, x, b.q.bias("b", x, weights)], shape,
                 _sums(b, x, 2 * x.shape[3], "NONE"), "TransposeConvOptions", 3, Padding=0, StrideH=2, StrideW=2)  # fmt: skip


@_op("FULLY_CONNECTED", (2, 2))
def _dense(b, x):
    weights, activation = b.q.weights(_name(b), (b.draw(st.integers(1, 9)), x.shape[1])), b.draw(_ACTIVATIONS)
    shape, grid = (x.shape[0], weights.shape[0]), _sums(b, x, x.shape[1], activation)
    return b.add("FULLY_CONNECTED", [x, weights, b.q.bias("b", x, weights)], shape, grid, "FullyConnectedOptions", 4,
                 FusedActivationFunction=_activation(activation))  # fmt: skip


@_op("FULLY_CONNECTED of narrow weights", (2, 2), kinds=("int8",))
def _dense_narrow(b, x):
    dtype = b.draw(st.sampled_from(["int4", "int2"]))
    weights = b.q.narrow(_name(b), (b.draw(st.integers(1, 9)), x.shape[1]), dtype)
    shape, grid = (x.shape[0], weights.shape[0]), _sums(b, x, x.shape[1], "NONE")
    version = 10 if dtype == "int4" else 14
    inputs = [x, weights, b.q.bias("b", x, weights)]
    return b.add("FULLY_CONNECTED", inputs, shape, grid, "FullyConnectedOptions", version)


@_op("BATCH_MATMUL", (2, 4), kinds=("int8", "int16"))
def _matmul(b, x):
    other = b.input((*x.shape[:-2], x.shape[-1], b.draw(st.integers(1, 6))))
    high = max(map(abs, reach(x))) * max(map(abs, reach(other))) * np.sqrt(x.shape[-1])
    shape = (*x.shape[:-1], other.shape[-1])
    return b.add("BATCH_MATMUL", [x, other], shape, b.grid(-high, high), "BatchMatMulOptions")


# Elementwise


def _other(b: Builder, x: Value) -> Value:
    same = [v for v in b.values if v.shape == x.shape]
    return (
        b.draw(st.sampled_from(same)) if b.draw(st.booleans()) else b.input(x.shape[b.draw(st.sampled_from([0, -1])) :])
    )


def _arithmetic(b: Builder, x: Value, name: str):
    y = _other(b, x)
    ends = [getattr(np, {"ADD": "add", "SUB": "subtract", "MUL": "multiply"}[name])(m, n)
            for m in reach(x) for n in reach(y)]  # fmt: skip
    activation = b.draw(_ACTIVATIONS)
    low, high = min(ends), max(ends)
    low, high = (0, max(high, 0.5)) if activation != "NONE" else (low, high)
    return b.add(name, [x, y], np.broadcast_shapes(x.shape, y.shape), b.grid(low, min(high, 8)),
                 f"{name.title()}Options", FusedActivationFunction=_activation(activation))  # fmt: skip


for _word in ("ADD", "SUB", "MUL"):
    _op(_word)(lambda b, x, name=_word: _arithmetic(b, x, name))


@_op("SQUARED_DIFFERENCE", kinds=("int8",))
def _squared_difference(b, x):
    y = _other(b, x)
    most = max(abs(m - n) for m in reach(x) for n in reach(y)) ** 2
    shape = np.broadcast_shapes(x.shape, y.shape)
    return b.add("SQUARED_DIFFERENCE", [x, y], shape, b.grid(0, most), "SquaredDifferenceOptions")


@_op("MAXIMUM", exact=True)
def _maximum(b, x):
    y = b.input(x.shape, b.q.like(x))
    return b.move(b.draw(st.sampled_from(["MAXIMUM", "MINIMUM"])), [x, y], x.shape, "MaximumMinimumOptions")


def _unary(name: str, grid: Callable, options: str = "", version: int = 2, slope: float = 0, **fields) -> None:
    """`slope`: the steepest, where a quantum of x may be many of the result. Such an op is in no graph: it would make
    much of what an op before it rounded to the neighbour."""
    how = {word: fields.pop(word) for word in list(fields) if word[0].isupper()}

    def build(b, x):
        made = grid(b, *reach(x))
        if not b.alone and slope * x.scale > made["scale"]:
            return None
        return b.add(name, [x], x.shape, made, options, version, **how)

    _op(name, **fields)(build)


_unary("RELU", lambda b, low, high: b.grid(0, max(high, 0.1)))
_unary("RELU6", lambda b, low, high: b.grid(0, min(max(high, 0.1), 6)))
_unary("LEAKY_RELU", lambda b, low, high: b.grid(0.3 * low, high), "LeakyReluOptions", Alpha=0.3)
_unary("LOGISTIC", lambda b, low, high: b.kind.fixed(1 / 256, 0), slope=0.25, kinds=_BYTES)
_unary("TANH", lambda b, low, high: b.kind.fixed(1 / 128, 128), slope=1, kinds=_BYTES)
_unary("HARD_SWISH", lambda b, low, high: b.grid(-0.4, max(high, 0.5)), "HardSwishOptions", 1, kinds=_BYTES)
_unary("SOFTMAX", lambda b, low, high: b.kind.fixed(1 / 256, 0), "SoftmaxOptions", slope=0.5, kinds=_BYTES, Beta=1.0)
_unary("L2_NORMALIZATION", lambda b, low, high: b.kind.fixed(1 / 128, 128), "L2NormOptions", slope=np.inf, ranks=(2, 4),
       kinds=_BYTES)  # fmt: skip
_unary("QUANTIZE", lambda b, low, high: b.grid(low, high), "QuantizeOptions", 1)
_unary("ELU", lambda b, low, high: b.grid(-1, max(high, 0.5)), kinds=("int8",), version=1)
_unary("GELU", lambda b, low, high: b.grid(-0.2, max(high, 0.5)), "GeluOptions", 2, kinds=("int8",))
_unary("ABS", lambda b, low, high: b.grid(0, max(-low, high)), kinds=("int8",))
_unary("EXP", lambda b, low, high: b.grid(0, float(np.exp(min(high, 3)))), "ExpOptions", slope=20, kinds=("int8",))


@_op("PRELU", (4, 4))
def _prelu(b, x):
    slopes = b.q.weights(_name(b), (1, 1, x.shape[3]), one_scale=True)
    return b.add("PRELU", [x, slopes], x.shape, b.grid(*reach(x)), version=1)


@_op("DEQUANTIZE")
def _in_floats(b, x):
    """A part in floats."""
    m = b.q.model
    y = m.op("DEQUANTIZE", [x], x.shape, "DequantizeOptions", 2)
    y = m.unary(b.draw(st.sampled_from(["TANH", "RELU", "HARD_SWISH"])), y)
    y = m.mul(y, constant(_name(b), x.shape[-1:]))
    b.trace.append(f"t{y.index} = DEQUANTIZE, something of floats, times constants")
    return b.add("QUANTIZE", [y], x.shape, b.grid(*reach(x)), "QuantizeOptions", 1)


# What moves, joins and reduces


@_op("AVERAGE_POOL_2D", (4, 4))
def _average_pool(b, x):
    return _pool(b, x, "AVERAGE_POOL_2D")


@_op("MAX_POOL_2D", (4, 4), exact=True)
def _max_pool(b, x):
    return _pool(b, x, "MAX_POOL_2D")


def _pool(b, x, name):
    w = _window(b, x)
    shape = shapes.pool2d(x.shape, w["kernel"], w["stride"], w["padding"])
    activation = _activation(b.draw(st.sampled_from(["NONE", "NONE", "RELU"])))
    return b.move(name, [x], shape, "Pool2DOptions", FilterHeight=w["kernel"][0], FilterWidth=w["kernel"][1],
                  FusedActivationFunction=activation, **_strides(w))  # fmt: skip


def _axis(b: Builder, x: Value) -> int:
    return b.draw(st.integers(0, len(x.shape) - 1))


@_op("CONCATENATION", exact=True)
def _concatenation(b, x):
    axis = _axis(b, x)
    extra = b.input((*x.shape[:axis], b.draw(st.integers(1, 4)), *x.shape[axis + 1 :]), b.q.like(x))
    parts = b.draw(st.permutations([x, extra]))
    shape = shapes.concatenation([v.shape for v in parts], axis)
    return b.move("CONCATENATION", parts, shape, "ConcatenationOptions", Axis=axis)


@_op("PAD", exact=True)
def _pad(b, x):
    amounts = [(b.draw(st.integers(0, 2)), b.draw(st.integers(0, 2))) for _ in x.shape]
    return b.move("PAD", [x, i32(amounts)], [n + sum(k) for n, k in zip(x.shape, amounts)], "PadOptions")


@_op("RESHAPE", exact=True)
def _reshape(b, x):
    shape = (x.shape[0], prod(x.shape[1:])) if b.draw(st.booleans()) else (prod(x.shape[:-1]), x.shape[-1])
    return b.move("RESHAPE", [x, i32(shape)], shape, "ReshapeOptions", 1)


@_op("TRANSPOSE", exact=True)
def _transpose(b, x):
    order = b.draw(st.permutations(range(len(x.shape))))
    return b.move("TRANSPOSE", [x, i32(order)], [x.shape[i] for i in order], "TransposeOptions")


@_op("SLICE", exact=True)
def _slice(b, x):
    begin = [b.draw(st.integers(0, n - 1)) for n in x.shape]
    size = [b.draw(st.integers(1, n - at)) for n, at in zip(x.shape, begin)]
    return b.move("SLICE", [x, i32(begin), i32(size)], size, "SliceOptions")


@_op("STRIDED_SLICE", exact=True)
def _strided_slice(b, x):
    steps = [b.draw(st.sampled_from([1, 1, 2])) for _ in x.shape]
    shape = [-(-n // k) for n, k in zip(x.shape, steps)]
    bounds = [i32([0] * len(steps)), i32(x.shape), i32(steps)]
    masks = {f"{word}Mask": 0 for word in ("Begin", "End", "Ellipsis", "NewAxis", "ShrinkAxis")}
    return b.move("STRIDED_SLICE", [x, *bounds], shape, "StridedSliceOptions", **masks)


@_op("SPLIT", exact=True)
def _split(b, x):
    axis = _axis(b, x)
    count = b.draw(st.sampled_from([n for n in (1, 2, 3) if x.shape[axis] % n == 0]))
    part = (*x.shape[:axis], x.shape[axis] // count, *x.shape[axis + 1 :])
    return b.move("SPLIT", [i32(axis), x], [part] * count, "SplitOptions", NumSplits=count)


@_op("GATHER", exact=True)
def _gather(b, x):
    axis = _axis(b, x)
    places = i32([b.draw(st.integers(0, x.shape[axis] - 1)) for _ in range(b.draw(st.integers(1, 4)))])
    shape = (*x.shape[:axis], len(places), *x.shape[axis + 1 :])
    return b.move("GATHER", [x, places], shape, "GatherOptions", Axis=axis, BatchDims=0)


@_op("RESIZE_BILINEAR", (4, 4), kinds=_BYTES)
def _resize(b, x):
    return _resized(b, x, "RESIZE_BILINEAR", "ResizeBilinearOptions")


@_op("RESIZE_NEAREST_NEIGHBOR", (4, 4), exact=True)
def _nearest(b, x):
    return _resized(b, x, "RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions")


def _resized(b, x, name, options):
    size = [b.draw(st.integers(1, 9)) for _ in "hw"]
    how = b.draw(st.sampled_from([{}, {"AlignCorners": True}, {"HalfPixelCenters": True}]))
    return b.move(name, [x, i32(size)], (x.shape[0], *size, x.shape[3]), options, 3, **how)


@_op("SPACE_TO_DEPTH", (4, 4), exact=True, kinds=_BYTES)
def _space_to_depth(b, x):
    n, h, w, c = x.shape
    if h % 2 or w % 2:
        return None
    return b.move("SPACE_TO_DEPTH", [x], (n, h // 2, w // 2, 4 * c), "SpaceToDepthOptions", BlockSize=2)


def _reduced(b: Builder, x: Value, name: str, grid: Callable | None = None):
    axes = sorted(b.draw(st.sets(st.integers(0, len(x.shape) - 1), min_size=1)))
    keep = b.draw(st.booleans())
    shape = shapes.mean(x.shape, axes, keep)
    like = grid(*reach(x), prod(x.shape[a] for a in axes)) if grid else b.q.like(x)
    return b.add(name, [x, i32(axes)], shape, like, "ReducerOptions", KeepDims=keep) if shape else None


_op("MEAN")(lambda b, x: _reduced(b, x, "MEAN", lambda low, high, n: b.grid(low, high)))
_op("SUM")(lambda b, x: _reduced(b, x, "SUM", lambda low, high, n: b.grid(low * n**0.7, high * n**0.7)))
_op("REDUCE_MAX", exact=True)(lambda b, x: _reduced(b, x, "REDUCE_MAX"))
