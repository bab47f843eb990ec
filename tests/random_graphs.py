"""Hypothesis strategies that make models: single ops with random parameters, and graphs of several ops with
branches, residuals, constants, several outputs and outputs that are used inside."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np
from hypothesis import strategies as st

from tests import shapes
from tests.model_builder import Model, Value

_MOST = 6000  # elements of one value: small enough for quick kernels and reference kernels
_ACTIVATIONS = st.sampled_from(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
_PADDING = st.sampled_from(["SAME", "VALID"])
_CHANNELS = st.one_of(st.integers(1, 9), st.sampled_from([4, 8, 12, 16, 17, 32]))


@dataclass
class Graph:
    """A finished model with its inputs; prints as the list of its nodes."""

    model: Model
    seed: int
    trace: list[str] = field(default_factory=list)

    def feeds(self) -> list[np.ndarray]:
        generator = np.random.default_rng(self.seed)
        return [generator.uniform(-2, 2, value.shape).astype(np.float32) for value in self.model.inputs]

    def __repr__(self) -> str:
        lines = [f"t{value.index} = input {value.shape}" for value in self.model.inputs] + self.trace
        return "\n".join(["Graph:", *lines, f"outputs {[f't{value.index}' for value in self.model.outputs]}"])


class _Builder:
    """Adds random nodes to a model; operands come from the values made so far."""

    def __init__(self, draw) -> None:
        self.draw, self.model, self.values = draw, Model(), []
        self.generator = np.random.default_rng(draw(st.integers(0, 999)))
        self.trace: list[str] = []

    def input(self, shape) -> Value:
        self.values.append(self.model.input(shape))
        return self.values[-1]

    def const(self, shape, low=-1.0, high=1.0) -> Value:
        array = self.generator.uniform(low, high, shape).astype(np.float32)
        kind = self.draw(st.sampled_from(["float32", "float32", "float16"]))
        return self.model.const(array) if kind == "float32" else self.model.const_f16(array)

    def pick(self, *, rank: int | None = None) -> Value:
        """A value made before; of the rank wanted, by a reshape where there is none."""
        fitting = [v for v in self.values if rank is None or len(v.shape) == rank]
        if fitting:
            return self.draw(st.sampled_from(fitting))
        value = self.draw(st.sampled_from(self.values))
        return self.add("reshape", value, self.draw(_reshaped(value.shape, rank)))

    def add(self, method: str, *arguments, **attributes) -> Value:
        value = getattr(self.model, method)(*arguments, **attributes)
        shown = [f"t{a.index}{a.shape}" if isinstance(a, Value) else repr(a) for a in arguments]
        shown += [f"{name}={what!r}" for name, what in attributes.items()]
        self.trace.append(f"t{value.index}{value.shape} = {method}({', '.join(shown)})")
        self.values.append(value)
        return value

    def step(self, kinds: list[str] | None = None) -> None:
        kind = self.draw(st.sampled_from(kinds or sorted(OPS)))
        if not OPS[kind](self):
            self.add("unary", "RELU6", self.pick())  # the op does not fit this value

    def finish(self) -> Graph:
        used = {index for node in self.model.nodes for index in node.inputs}
        made = [v for v in self.values if v not in self.model.inputs]
        ends = [v for v in made if v.index not in used]
        inner = [v for v in made if v.index in used]
        if inner and self.draw(st.booleans()):
            ends.append(self.draw(st.sampled_from(inner)))
        self.model.output(*ends)
        return Graph(self.model, self.draw(st.integers(0, 999)), self.trace)


def _image_shape(least: int = 1, most: int = 9) -> st.SearchStrategy:
    size = st.integers(least, most)
    return st.tuples(st.sampled_from([1, 1, 1, 2, 3]), size, size, _CHANNELS)


def _shape(most_rank: int = 4) -> st.SearchStrategy:
    return st.integers(0, most_rank).flatmap(
        lambda rank: _image_shape() if rank == 4 else st.tuples(*[st.integers(1, 9)] * rank)
    )


@st.composite
def _reshaped(draw, shape, rank: int | None = None):
    """Another shape with the same number of elements."""
    rest, out = prod(shape), []
    rank = draw(st.integers(1, 4)) if rank is None else rank
    for _ in range(rank - 1):
        out.append(draw(st.sampled_from([n for n in range(1, min(rest, 64) + 1) if rest % n == 0])))
        rest //= out[-1]
    return (*out, rest)


def _window(b: _Builder, x: Value, padding: str) -> dict:
    """Kernel, stride and (for convolutions) dilation that leave at least one output cell."""
    most = [5, 5] if padding == "SAME" else [min(5, x.shape[1]), min(5, x.shape[2])]
    kernel = tuple(b.draw(st.integers(1, n)) for n in most)
    stride = b.draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (1, 2), (3, 1)]))
    dilation = b.draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (1, 3)])) if stride == (1, 1) else (1, 1)
    if any(shapes.window(x.shape[1 + i], kernel[i], stride[i], dilation[i], padding)[0] < 1 for i in (0, 1)):
        dilation = (1, 1)
    return {"kernel": kernel, "stride": stride, "dilation": dilation}


def _conv2d(b: _Builder) -> bool:
    x, padding = b.pick(rank=4), b.draw(_PADDING)
    w = _window(b, x, padding)
    in_c = x.shape[3]
    groups = b.draw(st.sampled_from([1, 1, 1] + [n for n in (2, 3) if in_c % n == 0]))
    out_c = b.draw(_CHANNELS) * groups if groups > 1 else b.draw(_CHANNELS)
    scale = 1.5 / np.sqrt(prod(w["kernel"]) * in_c / groups)
    weights = b.const((out_c, *w["kernel"], in_c // groups), -scale, scale)
    b.add(
        "conv2d",
        x,
        weights,
        b.const((out_c,)),
        stride=w["stride"],
        dilation=w["dilation"],
        padding=padding,
        activation=b.draw(_ACTIVATIONS),
    )
    return True


def _depthwise(b: _Builder) -> bool:
    x, padding = b.pick(rank=4), b.draw(_PADDING)
    w = _window(b, x, padding)
    out_c = x.shape[3] * b.draw(st.sampled_from([1, 1, 2, 3]))
    if prod(x.shape[:3]) * out_c > _MOST:
        return False
    b.add(
        "depthwise_conv2d",
        x,
        b.const((1, *w["kernel"], out_c)),
        b.const((out_c,)),
        stride=w["stride"],
        dilation=w["dilation"],
        padding=padding,
        activation=b.draw(_ACTIVATIONS),
    )
    return True


def _binary(b: _Builder) -> bool:
    x = b.pick()
    partners = [v for v in b.values if _broadcast_size(v.shape, x.shape) <= _MOST]
    if b.draw(st.booleans()) and partners:
        y = b.draw(st.sampled_from(partners))
    else:
        cut = b.draw(st.integers(0, len(x.shape)))
        y = b.const(tuple(n if b.draw(st.booleans()) else 1 for n in x.shape[cut:]), -2, 2)
    pair = (x, y) if b.draw(st.booleans()) else (y, x)
    b.add(b.draw(st.sampled_from(["add", "mul"])), *pair, activation=b.draw(_ACTIVATIONS))
    return True


def _broadcast_size(a, b) -> float:
    try:
        return prod(np.broadcast_shapes(a, b))
    except ValueError:
        return float("inf")


def _unary(b: _Builder) -> bool:
    name = b.draw(st.sampled_from(["RELU", "RELU6", "RELU_N1_TO_1", "HARD_SWISH", "LOGISTIC", "TANH"]))
    b.add("unary", name, b.pick())
    return True


def _prelu(b: _Builder) -> bool:
    x = b.pick()
    if len(x.shape) < 2:
        return False
    b.add("prelu", x, b.const(tuple(n if b.draw(st.booleans()) else 1 for n in x.shape[1:])))
    return True


def _pad(b: _Builder) -> bool:
    x = b.pick()
    if not x.shape:
        return False
    paddings = [(b.draw(st.integers(0, 2)), b.draw(st.integers(0, 3))) for _ in x.shape]
    if prod(n + sum(p) for n, p in zip(x.shape, paddings)) > _MOST:
        return False
    b.add("pad", x, paddings)
    return True


def _pool(b: _Builder) -> bool:
    x, padding = b.pick(rank=4), b.draw(_PADDING)
    w = _window(b, x, padding)
    b.add(
        b.draw(st.sampled_from(["max_pool2d", "average_pool2d"])),
        x,
        w["kernel"],
        stride=w["stride"],
        padding=padding,
        activation=b.draw(_ACTIVATIONS),
    )
    return True


def _reshape(b: _Builder) -> bool:
    x = b.pick()
    b.add("reshape", x, b.draw(_reshaped(x.shape)))
    return True


def _concatenation(b: _Builder) -> bool:
    x = b.pick()
    if not x.shape:
        return False
    axis = b.draw(st.integers(-len(x.shape), len(x.shape) - 1))

    def fits(v) -> bool:
        return len(v.shape) == len(x.shape) and all(
            n == m for i, (n, m) in enumerate(zip(v.shape, x.shape)) if i != axis % len(x.shape)
        )

    parts = [x, *b.draw(st.lists(st.sampled_from([v for v in b.values if fits(v)]), max_size=3))]
    if sum(prod(v.shape) for v in parts) > _MOST:
        return False
    if b.draw(st.booleans()):
        extra = list(x.shape)
        extra[axis] = b.draw(st.integers(1, 5))
        parts.append(b.const(tuple(extra)))
    b.add("concatenation", *b.draw(st.permutations(parts)), axis=axis)
    return True


def _resize(b: _Builder) -> bool:
    x = b.pick(rank=4)
    size = (b.draw(st.integers(1, 12)), b.draw(st.integers(1, 12)))
    flags = b.draw(st.sampled_from([{}, {"align_corners": True}, {"half_pixel_centers": True}]))
    if x.shape[0] * x.shape[3] * prod(size) > _MOST:
        return False
    b.add("resize_bilinear", x, size, **flags)
    return True


def _softmax(b: _Builder) -> bool:
    x = b.pick()
    if not x.shape:
        return False
    b.add("softmax", x, beta=b.draw(st.sampled_from([1.0, 1.0, 0.5, 2.0])))
    return True


def _fully_connected(b: _Builder) -> bool:
    x = b.pick()
    if not x.shape:
        return False
    keep = b.draw(st.booleans())
    inner = (
        x.shape[-1]
        if keep
        else b.draw(
            st.sampled_from(
                [prod(x.shape[i:]) for i in range(len(x.shape)) if prod(x.shape[i:]) <= 512] or [x.shape[-1]]
            )
        )
    )
    out_c = b.draw(_CHANNELS)
    if inner > 1024 or prod(x.shape) // inner * out_c > _MOST:
        return False
    scale = 1.5 / np.sqrt(inner)
    bias = b.const((out_c,)) if b.draw(st.booleans()) else None
    b.add(
        "fully_connected",
        x,
        b.const((out_c, inner), -scale, scale),
        bias,
        activation=b.draw(_ACTIVATIONS),
        keep_num_dims=keep,
    )
    return True


def _mean(b: _Builder) -> bool:
    x = b.pick()
    if not x.shape:
        return False
    rank = len(x.shape)
    axes = b.draw(st.lists(st.integers(-rank, rank - 1), min_size=1, max_size=rank, unique_by=lambda a: a % rank))
    b.add("mean", x, tuple(axes), keep_dims=b.draw(st.booleans()))
    return True


def _strided_slice(b: _Builder) -> bool:
    x = b.pick()
    if not x.shape:
        return False
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
    b.add("strided_slice", x, begin, end, strides, shrink_axis_mask=shrink)
    return True


def _depth_to_space(b: _Builder) -> bool:
    x = b.pick(rank=4)
    blocks = [n for n in (2, 3) if x.shape[3] % n**2 == 0]
    if not blocks:
        return False
    b.add("depth_to_space", x, b.draw(st.sampled_from(blocks)))
    return True


OPS = {
    "CONV_2D": _conv2d,
    "DEPTHWISE_CONV_2D": _depthwise,
    "binary": _binary,
    "unary": _unary,
    "PRELU": _prelu,
    "PAD": _pad,
    "pool": _pool,
    "RESHAPE": _reshape,
    "CONCATENATION": _concatenation,
    "RESIZE_BILINEAR": _resize,
    "SOFTMAX": _softmax,
    "FULLY_CONNECTED": _fully_connected,
    "MEAN": _mean,
    "STRIDED_SLICE": _strided_slice,
    "DEPTH_TO_SPACE": _depth_to_space,
}


@st.composite
def single_ops(draw, kind: str) -> Graph:
    """One op (and what carries its constants), with inputs of any rank that it takes."""
    b = _Builder(draw)
    image = kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "pool", "RESIZE_BILINEAR", "DEPTH_TO_SPACE")
    shape = draw(_image_shape() if image else _shape())
    if kind == "DEPTH_TO_SPACE":
        shape = (*shape[:3], draw(st.sampled_from([4, 8, 9, 12, 16, 18])))
    b.input(shape)
    if kind in ("binary", "CONCATENATION") and draw(st.booleans()):
        b.input(tuple(n if draw(st.booleans()) else 1 for n in shape))
    b.step([kind])
    return b.finish()


@st.composite
def graphs(draw, most_nodes: int = 10) -> Graph:
    """A graph of several ops on one to three inputs, mostly images."""
    b = _Builder(draw)
    first = draw(_image_shape(2))
    b.input(first)
    for _ in range(draw(st.integers(0, 2))):
        b.input(draw(st.one_of(st.just(first), st.just((first[3],)), _shape())))
    for _ in range(draw(st.integers(2, most_nodes))):
        b.step()
    return b.finish()
