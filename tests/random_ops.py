"""The ops of the random graphs: each kind says which operands it takes, and adds a node with random parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from tests import shapes
from tests.model_builder import Value

if TYPE_CHECKING:
    from tests.random_graphs import Builder

MOST = 6000  # elements of one value: small enough for quick kernels and reference kernels
FLOATS, NUMBERS, ALL = ("float32",), ("float32", "float32", "int32"), ("float32", "float32", "int32", "bool")
EXTREMES = (np.inf, -np.inf, np.nan, 3e38)
CHANNELS = st.one_of(st.integers(1, 9), st.sampled_from([4, 8, 12, 16, 17, 32]))
ACTIVATIONS = st.sampled_from(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
PADDING = st.sampled_from(["SAME", "VALID"])


@dataclass(frozen=True)
class Kind:
    """`name` is the op, or those that it chooses from, with commas. `build(builder, x)` adds it to x and gives its result, or None where it does not fit. x is of one of the
    `dtypes`, of `rank` if that is given, else of `ranks`. `exact`: x must be the same number in every precision,
    because the op's result jumps or its rounding adds up. `special`: values it may hold in a model of this op alone."""

    name: str
    build: Callable[[Builder, Value], Value | list[Value] | None]
    dtypes: tuple[str, ...] = FLOATS
    rank: int | None = None
    ranks: tuple[int, int] = (0, 6)
    exact: bool = False
    special: tuple[float, ...] = ()


FAMILIES: dict[str, list[Kind]] = {}


def kind(family: str, name: str, **fields):
    """Registers what it decorates."""

    def register(build):
        FAMILIES.setdefault(family, []).append(Kind(name, build, **fields))
        return build

    return register


def moves(family: str, name: str, dtypes=ALL, **fields):
    """The same for an op whose results are numbers of its operands."""
    return kind(family, name, dtypes=dtypes, special=EXTREMES, **fields)


def i32(values) -> np.ndarray:
    return np.array(values, np.int32)


def shape_of(least_rank: int = 0, most_rank: int = 4) -> st.SearchStrategy:
    longest = {5: 5, 6: 3}
    return st.integers(least_rank, most_rank).flatmap(
        lambda rank: image_shape() if rank == 4 else st.tuples(*[st.integers(1, longest.get(rank, 9))] * rank)
    )


def image_shape(least: int = 1, most: int = 9) -> st.SearchStrategy:
    size = st.integers(least, most)
    return st.tuples(st.sampled_from([1, 1, 1, 2, 3]), size, size, CHANNELS)


@st.composite
def reshaped(draw, shape, rank: int):
    """Another shape with the same number of elements."""
    rest, out = prod(shape), []
    for _ in range(rank - 1):
        out.append(draw(st.sampled_from([n for n in range(1, min(rest, 64) + 1) if rest % n == 0])))
        rest //= out[-1]
    return (*out, rest) if rank else ()


def _broadcast_size(*given) -> float:
    try:
        return prod(np.broadcast_shapes(*given))
    except ValueError:
        return float("inf")


# Convolutions and windows


def some_weights(b: Builder, computed=st.sampled_from([False, False, False, True])):
    """Makes constants, or inputs of the model: weights that are computed."""
    return b.weights if b.draw(computed) else b.const


def _window(b: Builder, x: Value, padding: str) -> dict:
    """Kernel, stride and (for convolutions) dilation that leave at least one output cell."""
    most = [5, 5] if padding == "SAME" else [min(5, x.shape[1]), min(5, x.shape[2])]
    kernel = tuple(b.draw(st.integers(1, n)) for n in most)
    stride = b.draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (1, 2), (3, 1)]))
    dilation = b.draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (1, 3)])) if stride == (1, 1) else (1, 1)
    if any(shapes.window(x.shape[1 + i], kernel[i], stride[i], dilation[i], padding)[0] < 1 for i in (0, 1)):
        dilation = (1, 1)
    return {"kernel": kernel, "stride": stride, "dilation": dilation}


@kind("CONV_2D", "CONV_2D", rank=4)
def _conv2d(b, x):
    padding = b.draw(PADDING)
    w = _window(b, x, padding)
    in_c = x.shape[3]
    make = some_weights(b)
    groups = b.draw(st.sampled_from([1, 1, 1] + [n for n in (2, 3) if in_c % n == 0]))
    out_c = b.draw(CHANNELS) * groups
    scale = 1.5 / np.sqrt(prod(w["kernel"]) * in_c / groups)
    weights = make((out_c, *w["kernel"], in_c // groups), low=-scale, high=scale)
    how = {"stride": w["stride"], "dilation": w["dilation"], "padding": padding, "activation": b.draw(ACTIVATIONS)}
    return b.add("conv2d", x, weights, make((out_c,)), **how)


@kind("DEPTHWISE_CONV_2D", "DEPTHWISE_CONV_2D", rank=4)
def _depthwise(b, x):
    padding = b.draw(PADDING)
    w = _window(b, x, padding)
    out_c = x.shape[3] * b.draw(st.sampled_from([1, 1, 2, 3]))
    if prod(x.shape[:3]) * out_c > MOST:
        return None
    how = {"stride": w["stride"], "dilation": w["dilation"], "padding": padding, "activation": b.draw(ACTIVATIONS)}
    make = some_weights(b)
    return b.add("depthwise_conv2d", x, make((1, *w["kernel"], out_c)), make((out_c,)), **how)


@kind("FULLY_CONNECTED", "FULLY_CONNECTED", ranks=(1, 4))
def _fully_connected(b, x):
    keep = b.draw(st.booleans())
    sizes = [prod(x.shape[i:]) for i in range(len(x.shape)) if prod(x.shape[i:]) <= 512] or [x.shape[-1]]
    inner = x.shape[-1] if keep else b.draw(st.sampled_from(sizes))
    out_c = b.draw(CHANNELS)
    if inner > 1024 or prod(x.shape) // inner * out_c > MOST:
        return None
    scale = 1.5 / np.sqrt(inner)
    make = some_weights(b)
    weights, bias = make((out_c, inner), low=-scale, high=scale), make((out_c,)) if b.draw(st.booleans()) else None
    return b.add("fully_connected", x, weights, bias, activation=b.draw(ACTIVATIONS), keep_num_dims=keep)


@kind("window", "MAX_POOL_2D, AVERAGE_POOL_2D, L2_POOL_2D", rank=4)
def _pool(b, x):
    padding = b.draw(PADDING)
    w = _window(b, x, padding)
    how = {"stride": w["stride"], "padding": padding, "activation": b.draw(ACTIVATIONS)}
    return b.add(b.draw(st.sampled_from(["max_pool2d", "average_pool2d", "l2_pool2d"])), x, w["kernel"], **how)


def _new_size(b, x):
    size = (b.draw(st.integers(1, 12)), b.draw(st.integers(1, 12)))
    return size if x.shape[0] * x.shape[3] * prod(size) <= MOST else None


@kind("window", "RESIZE_BILINEAR", rank=4)
def _resize(b, x):
    flags = b.draw(st.sampled_from([{}, {"align_corners": True}, {"half_pixel_centers": True}]))
    size = _new_size(b, x)
    return size and b.add("resize_bilinear", x, size, **flags)


@moves("window", "RESIZE_NEAREST_NEIGHBOR", FLOATS, rank=4)
def _nearest(b, x):
    size = _new_size(b, x)
    flags = {"AlignCorners": b.draw(st.booleans()), "HalfPixelCenters": b.draw(st.booleans())}
    kind = "ResizeNearestNeighborOptions"
    return size and b.move("RESIZE_NEAREST_NEIGHBOR", [x, i32(size)], (x.shape[0], *size, x.shape[3]), kind, **flags)


@kind("channels", "SOFTMAX", ranks=(1, 6))
def _softmax(b, x):
    return b.add("softmax", x, beta=b.draw(st.sampled_from([1.0, 1.0, 0.5, 2.0])))


@kind("channels", "PRELU", ranks=(2, 4))
def _prelu(b, x):
    return b.add("prelu", x, some_weights(b)(tuple(n if b.draw(st.booleans()) else 1 for n in x.shape[1:])))


# Elementwise. What amplifies errors near 0 or far from it gets values from a domain.

_PLAIN = ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "LOGISTIC", "TANH", "SQUARE", "ELU", "HARD_SWISH", "GELU")
_OPTIONS = {
    "HARD_SWISH": ("HardSwishOptions", {}),
    "GELU": ("GeluOptions", {"Approximate": False}),
    "LEAKY_RELU": ("LeakyReluOptions", {"Alpha": 0.2}),
    "SUB": ("SubOptions", {}),
    "DIV": ("DivOptions", {}),
    "ADD": ("AddOptions", {}),
    "MUL": ("MulOptions", {}),
}


def _elementwise(b, name, *operands, **fields):
    kind, options = _OPTIONS.get(name, ("", {}))
    return b.elementwise(name, *operands, kind=kind, **options, **fields)


def _tame(b, x, name):
    """x as it is where it is alone in its model; else from -1 to 1, or from 0.5 upwards."""
    if b.alone:
        return x
    if name in ("EXP", "SIN", "COS"):
        return b.elementwise("RELU_N1_TO_1", x)
    return b.elementwise("ADD", b.elementwise("ABS", x), np.float32(0.5), kind="AddOptions")


def _unary(names, special=EXTREMES, tame=False, **fields):
    for name in names:
        kind("unary", name, special=special, **fields)(
            lambda b, x, name=name: _elementwise(b, name, _tame(b, x, name) if tame else x)
        )


_unary([name for name in _PLAIN if name not in ("HARD_SWISH", "GELU", "ELU")])
_unary(["HARD_SWISH", "GELU", "ELU", "LEAKY_RELU"], special=(np.inf, np.nan))
_unary(["ABS", "NEG"], dtypes=NUMBERS)
_unary(["SIGN"], special=(np.inf, -np.inf, 3e38), dtypes=NUMBERS, exact=True)
_unary(["CEIL", "FLOOR", "ROUND"], exact=True)
_unary(["EXP", "LOG", "SQRT", "RSQRT"], tame=True)
_unary(["SIN", "COS"], special=(np.nan,), tame=True)

_COMPARISONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
_BROADCAST_RANK = {"ADD": 6, "SUB": 6, "MUL": 6, "ATAN2": 0}


def _partner(b, x, name, exact=False, low=-2.0, high=2.0, values=True):
    """A second operand: the same tensor, another that broadcasts with it, a new input, or a constant."""
    most_rank = _BROADCAST_RANK.get(name, 4)
    if values and b.draw(st.integers(0, 3)) == 0:
        fitting = [
            v for v in b.fitting(x.dtype, exact) if v.shape == x.shape or max(len(v.shape), len(x.shape)) <= most_rank
        ]
        return b.draw(st.sampled_from([v for v in fitting if _broadcast_size(v.shape, x.shape) <= MOST] or [x]))
    shape = x.shape
    if len(shape) <= most_rank and b.draw(st.booleans()):
        kept = shape[b.draw(st.integers(0, len(shape))) :]
        shape = tuple(b.draw(st.sampled_from([n, 1] if n > 1 else [1, 2, 3])) for n in kept)
        if len(kept) == len(x.shape) < most_rank and b.draw(st.booleans()):
            shape = (2, *shape)
    if _broadcast_size(shape, x.shape) > MOST:
        shape = x.shape
    if values and x.dtype != "bool" and b.draw(st.booleans()):
        return b.const(shape, low, high, dtype=x.dtype, coarse=exact)
    return b.input(shape, x.dtype, low=low, high=high, coarse=exact) if values else b.const(shape, low, high, x.dtype)


def _pair(b, x, y):
    return (x, y) if b.draw(st.booleans()) else (y, x)


def _arithmetic(b, x, name):
    low, high = (-9, 9) if x.dtype == "int32" else (-2, 2)
    y = _partner(b, x, name, low=low, high=high)
    activation = {"FusedActivationFunction": b.draw(st.integers(0, 3))} if name in ("ADD", "SUB", "MUL") else {}
    return _elementwise(b, name, *_pair(b, x, y), **activation)


for _name in ("ADD", "SUB", "MUL", "SQUARED_DIFFERENCE"):
    kind("arithmetic", _name, dtypes=NUMBERS, special=EXTREMES)(lambda b, x, name=_name: _arithmetic(b, x, name))
for _name in ("MAXIMUM", "MINIMUM"):
    kind("arithmetic", _name, dtypes=NUMBERS, special=(np.inf, -np.inf, 3e38))(
        lambda b, x, name=_name: _arithmetic(b, x, name)
    )


@kind("arithmetic", "DIV", dtypes=NUMBERS, special=EXTREMES)
def _div(b, x):
    low, high = (1, 9) if x.dtype == "int32" else (0.5, 4)
    return _elementwise(b, "DIV", x, _partner(b, x, "DIV", low=low, high=high, values=False))


@kind("arithmetic", "POW", dtypes=NUMBERS)
def _pow(b, x):
    if x.dtype == "int32":
        return _elementwise(b, "POW", x, _partner(b, x, "POW", low=0, high=3, values=False))
    base = b.elementwise("ADD", b.elementwise("ABS", x), np.float32(0.5), kind="AddOptions")
    return _elementwise(b, "POW", base, _partner(b, x, "POW", low=-2, high=2, values=False))


@kind("arithmetic", "FLOOR_DIV, FLOOR_MOD", dtypes=NUMBERS, exact=True)
def _floored(b, x):
    name = b.draw(st.sampled_from(["FLOOR_DIV", "FLOOR_MOD"]))
    if x.dtype == "int32":
        low, high = b.draw(st.sampled_from([(1, 9), (-9, -1)]))
        return _elementwise(b, name, x, _partner(b, x, name, low=low, high=high, values=False), exact=True)
    return _elementwise(b, name, x, np.float32(b.draw(st.sampled_from([0.5, 1, 2, -0.5, -4]))), exact=True)


@kind("arithmetic", "ATAN2", exact=True)
def _atan2(b, x):
    return _elementwise(b, "ATAN2", *_pair(b, x, b.input(x.shape, low=0.5, high=4)))


# Not both infinities: the CPU's kernel cuts each sum of two off at the largest float, so that they leave a number.
@kind("join", "ADD_N", special=(np.inf, np.nan))
def _add_n(b, x):
    same = [v for v in b.fitting(x.dtype) if v.shape == x.shape]
    others = b.draw(st.lists(st.sampled_from(same), min_size=1, max_size=3))
    if b.draw(st.booleans()):
        others.append(b.input(x.shape))
    return b.op("ADD_N", [x, *others], x.shape)


@kind("logic", ", ".join(_COMPARISONS), dtypes=NUMBERS, exact=True, special=EXTREMES)
def _comparison(b, x):
    name = b.draw(st.sampled_from(_COMPARISONS))
    y = _partner(b, x, name, exact=True)
    return b.elementwise(name, *_pair(b, x, y), to_bool=True)


@kind("logic", "LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT", dtypes=("bool",), ranks=(0, 4))
def _logical(b, x):
    name = b.draw(st.sampled_from(["LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT"]))
    return b.elementwise(name, *([x] if name == "LOGICAL_NOT" else _pair(b, x, _partner(b, x, name))))


@kind("logic", "BITWISE_XOR, RIGHT_SHIFT", dtypes=("int32",))
def _bits(b, x):
    name = b.draw(st.sampled_from(["BITWISE_XOR", "RIGHT_SHIFT"]))
    return _elementwise(b, name, *_pair(b, x, _partner(b, x, name, low=-9, high=9)), exact=True)


@moves("logic", "SELECT, SELECT_V2")
def _select(b, x):
    """x and another are chosen from, by a condition."""
    name = b.draw(st.sampled_from(["SELECT", "SELECT_V2"]))
    if name == "SELECT_V2" and len(x.shape) <= 4:
        y = _partner(b, x, name)
        chosen = b.condition(x.shape, any_shape=True)
        size = _broadcast_size(x.shape, y.shape, chosen.shape)
        return None if size > MOST else b.elementwise(name, chosen, *_pair(b, x, y), exact="keeps")
    same = [v for v in b.fitting(x.dtype) if v.shape == x.shape]
    y = b.draw(st.sampled_from(same)) if b.draw(st.booleans()) else b.input(x.shape, x.dtype)
    shape = x.shape[:1] if name == "SELECT" and x.shape and b.draw(st.booleans()) else x.shape
    return b.elementwise(name, b.condition(shape), x, y, exact="keeps")


@kind("unary", "FAKE_QUANT", exact=True)
def _fake_quant(b, x):
    """Quarters lie on no border between two steps of these ranges."""
    low, high = b.draw(st.sampled_from([(-1.3, 2.1), (-0.7, 0.9), (0.0, 1.7)]))
    how = {"Min": low, "Max": high, "NumBits": b.draw(st.sampled_from([8, 4]))}
    return b.op("FAKE_QUANT", [x], x.shape, "FakeQuantOptions", **how)


@kind("logic", "CAST", dtypes=ALL, exact=True)
def _cast(b, x):
    to = b.draw(st.sampled_from([dtype for dtype in ("float32", "int32", "bool") if dtype != x.dtype]))
    return b.op("CAST", [x], x.shape, "CastOptions", dtype=to, exact=True)
