"""Small models of quantised tensors: a builder of every op that has an integer form in the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.model_builder import Model, Value, _activation, _padding
from tests.vectors.case import constant


@dataclass(frozen=True)
class Kind:
    """Integers of a type, for tensors and for weights."""

    dtype: str
    per_channel: bool

    @property
    def least(self) -> int:
        return np.iinfo(self.dtype).min

    def grid(self, low: float, high: float) -> dict:
        """A scale and a zero point that hold the range, and 0; of 16 bits the zero point is 0."""
        low, high = min(low, 0.0), max(high, 0.0)
        if self.dtype == "int16":
            return {"dtype": self.dtype, "scale": max(-low, high) / 32767, "zero_point": 0}
        scale = (high - low) / 255
        return {"dtype": self.dtype, "scale": scale, "zero_point": round(-low / scale) + self.least}

    def fixed(self, scale: float, steps: int) -> dict:
        """The grid that the interpreter's kernel wants: `steps` of it below 0; of 16 bits one for -1 to 1."""
        if self.dtype == "int16":
            return {"dtype": self.dtype, "scale": 2.0**-15, "zero_point": 0}
        return {"dtype": self.dtype, "scale": scale, "zero_point": self.least + steps}


KINDS = [Kind("int8", True), Kind("int8", False), Kind("uint8", False), Kind("int16", True)]


class Quantized:
    """Values of one kind in a model."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.model = kind, Model()

    def input(self, shape, low: float = -2.0, high: float = 2.0) -> Value:
        grid = self.kind.grid(low, high)
        return self.model.input(shape, **grid)

    def weights(self, name: str, shape, axis: int = 0, one_scale: bool = False) -> Value:
        """Between -1 and 1, channels along `axis`: of different sizes where each has a scale of its own."""
        floats = constant(f"quantized/{name}", shape)
        if self.kind.dtype == "uint8":
            grid = self.kind.grid(-1, 1)
            stored = np.clip(np.round(floats / grid["scale"]) + grid["zero_point"], 0, 255).astype(np.uint8)
            return self.model.const(stored, scale=grid["scale"], zero_point=grid["zero_point"], scale_axis=axis)
        scale: float | np.ndarray = 1 / 127
        if self.kind.per_channel and not one_scale:
            scale = np.linspace(0.25, 1, shape[axis]) / 127
        return self.model.const(np.round(floats * 127).astype(np.int8), scale=scale, scale_axis=axis)

    def narrow(self, name: str, shape, dtype: str = "int4") -> Value:
        """Weights of int4 or int2 with a scale for each channel, the first axis."""
        most = 7 if dtype == "int4" else 1
        scale = np.linspace(0.25, 1, shape[0]) / most
        return self.model.const_narrow(np.round(constant(f"quantized/{name}", shape) * most), dtype, scale=scale)

    def bias(self, name: str, x: Value, w: Value) -> Value:
        scale = x.scale * np.asarray(w.scale)
        stored = np.round(constant(f"quantized/{name} bias", (w.shape[w.scale_axis],)) / scale)
        return self.model.const(stored.astype(np.int64 if x.dtype == "int16" else np.int32), scale=scale)

    def like(self, x: Value) -> dict:
        return {"dtype": x.dtype, "scale": x.scale, "zero_point": x.zero_point}

    def op(self, name: str, inputs, shape, grid: dict, kind: str = "", version: int = 2, **options) -> Value:
        return self.model.op(name, inputs, shape, kind, version, output=grid, **options)

    def __getattr__(self, name: str):
        """`grid` and `fixed` of the kind."""
        return getattr(self.kind, name)


def _conv(activation: str, narrow: bool = False) -> Callable:
    def build(q: Quantized):
        x = q.input((2, 5, 6, 3))
        w = (q.narrow if narrow else q.weights)("conv", (6, 3, 3, 3))
        how = {"Padding": _padding("SAME"), "StrideH": 1, "StrideW": 2, "DilationHFactor": 1, "DilationWFactor": 1}
        return q.op("CONV_2D", [x, w, q.bias("conv", x, w)], (2, 5, 3, 6), q.grid(-4, 4), "Conv2DOptions", 3,
                    FusedActivationFunction=_activation(activation), **how)  # fmt: skip

    return build


def _depthwise(q: Quantized):
    x = q.input((1, 6, 5, 6))
    w = q.weights("depthwise", (1, 3, 3, 6), 3)
    how = {"Padding": _padding("SAME"), "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1, "DilationHFactor": 1,
           "DilationWFactor": 1, "FusedActivationFunction": _activation("RELU6")}  # fmt: skip
    return q.op("DEPTHWISE_CONV_2D", [x, w, q.bias("depthwise", x, w)], x.shape, q.grid(-4, 6),
                "DepthwiseConv2DOptions", 3, **how)  # fmt: skip


def _dense(q: Quantized):
    x, w = q.input((3, 9)), q.weights("fully", (5, 9))
    return q.op("FULLY_CONNECTED", [x, w, q.bias("fully", x, w)], (3, 5), q.grid(-5, 5), "FullyConnectedOptions", 4)


def _dense_narrow(dtype: str, version: int) -> Callable:
    def build(q: Quantized):
        x, w = q.input((3, 32)), q.narrow("narrow", (5, 32), dtype)
        inputs = [x, w, q.bias("narrow", x, w)]
        return q.op("FULLY_CONNECTED", inputs, (3, 5), q.grid(-8, 8), "FullyConnectedOptions", version)

    return build


def _transpose_conv(q: Quantized):
    x, w = q.input((1, 3, 4, 5)), q.weights("transposed", (6, 3, 3, 5))
    return q.op("TRANSPOSE_CONV", [np.int32([1, 6, 8, 6]), w, x, q.bias("transposed", x, w)], (1, 6, 8, 6),
                q.grid(-5, 5), "TransposeConvOptions", 3, Padding=_padding("SAME"), StrideH=2, StrideW=2)  # fmt: skip


def _binary(name: str, options: str, low: float, high: float, activation: str = "NONE", same: bool = False) -> Callable:
    def build(q: Quantized):
        a = q.input((2, 3, 4, 6))
        b = q.input((6,)) if same else q.input((6,), -1.0, 3.0)
        how = {"FusedActivationFunction": _activation(activation)} if options in _ACTIVATING else {}
        return q.op(name, [a, b], a.shape, q.like(a) if same else q.grid(low, high), options, **how)

    return build


_ACTIVATING = ("AddOptions", "SubOptions", "MulOptions")


def _unary(
    name: str, grid: Callable, options: str = "", low: float = -3.0, high: float = 3.0, version: int = 2, **how
) -> Callable:
    def build(q: Quantized):
        x = q.input((2, 3, 4, 7), low, high)
        return q.op(name, [x], x.shape, grid(q, x), options, version, **how)

    return build


def _moved(name: str, arguments, shape, options: str = "", **how) -> Callable:
    """An op that only moves numbers: the grid stays."""

    def build(q: Quantized):
        x = q.input((2, 4, 6, 8))
        return q.op(name, [x, *arguments], shape, q.like(x), options, **how)

    return build


def _pool(name: str) -> Callable:
    how = {"Padding": _padding("SAME"), "StrideH": 2, "StrideW": 1, "FilterHeight": 2, "FilterWidth": 3,
           "FusedActivationFunction": _activation("NONE")}  # fmt: skip
    return _moved(name, [], (2, 2, 6, 8), "Pool2DOptions", **how)


def _concat(q: Quantized):
    a, b = q.input((2, 3, 5)), q.input((2, 3, 2), -2.0, 2.0)
    return q.op("CONCATENATION", [a, b], (2, 3, 7), q.like(a), "ConcatenationOptions", Axis=2)


def _parts(name: str, options: str, inputs: Callable, shapes: list, **how) -> Callable:
    def build(q: Quantized):
        x = q.input((2, 4, 6, 8))
        outputs = [q.model.value(shape, **q.like(x)) for shape in shapes]
        return q.model.several(name, inputs(x), outputs, options, 2 if name == "SPLIT" else 1, **how)

    return build


def _reduced(name: str, low: float, high: float, same: bool = False) -> Callable:
    def build(q: Quantized):
        x = q.input((2, 4, 6, 5))
        grid = q.like(x) if same else q.grid(low, high)
        return q.op(name, [x, np.int32([1, 2])], (2, 1, 1, 5), grid, "ReducerOptions", KeepDims=True)

    return build


def _matmul(q: Quantized):
    a, b = q.input((2, 3, 5)), q.input((2, 5, 4), -1, 1)
    return q.op("BATCH_MATMUL", [a, b], (2, 3, 4), q.grid(-6, 6), "BatchMatMulOptions", 2)


def _prelu(q: Quantized):
    x = q.input((1, 3, 4, 6))
    return q.op("PRELU", [x, q.weights("prelu", (1, 1, 6), one_scale=True)], x.shape, q.grid(-2, 2), version=1)


def _compared(q: Quantized):
    a, b = q.input((2, 3, 4, 6)), q.input((6,))
    return q.model.op("GREATER", [a, b], a.shape, "GreaterOptions", 2, output={"dtype": "bool"})


def _best(q: Quantized):
    x = q.input((2, 3, 7))
    return q.model.op("ARG_MAX", [x, np.int32(2)], (2, 3), "ArgMaxOptions", 2, OutputType=2, output={"dtype": "int32"})


def _there_and_back(q: Quantized):
    x = q.model.input((2, 3, 5))
    y = q.op("QUANTIZE", [x], x.shape, q.grid(-1, 1), "QuantizeOptions", 1)
    return q.model.op("DEQUANTIZE", [y], x.shape, "DequantizeOptions", 2)


def _again(q: Quantized):
    x = q.input((2, 3, 5))
    return q.op("QUANTIZE", [x], x.shape, q.grid(-1, 4), "QuantizeOptions", 1)


_BLOCK = {"BlockSize": 2}
_SLICE = {"BeginMask": 0, "EndMask": 0, "EllipsisMask": 0, "NewAxisMask": 0, "ShrinkAxisMask": 0}
BUILDERS: dict[str, Callable] = {
    "CONV_2D": _conv("NONE"),
    "CONV_2D relu6": _conv("RELU6"),
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _dense,
    "CONV_2D int4": _conv("RELU", narrow=True),
    "FULLY_CONNECTED int4": _dense_narrow("int4", 10),
    "FULLY_CONNECTED int2": _dense_narrow("int2", 14),
    "TRANSPOSE_CONV": _transpose_conv,
    "BATCH_MATMUL": _matmul,
    "ADD": _binary("ADD", "AddOptions", -3, 5),
    "ADD relu": _binary("ADD", "AddOptions", 0, 4, "RELU"),
    "SUB": _binary("SUB", "SubOptions", -4, 3),
    "MUL": _binary("MUL", "MulOptions", -5, 5),
    "SQUARED_DIFFERENCE": _binary("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", 0, 20),
    "MAXIMUM": _binary("MAXIMUM", "MaximumMinimumOptions", 0, 0, same=True),
    "MINIMUM": _binary("MINIMUM", "MaximumMinimumOptions", 0, 0, same=True),
    "RELU": _unary("RELU", lambda q, x: q.grid(-3, 3)),
    "RELU6": _unary("RELU6", lambda q, x: q.grid(0, 3)),
    "LEAKY_RELU": _unary("LEAKY_RELU", lambda q, x: q.grid(-1, 3), "LeakyReluOptions", Alpha=0.3),
    "LOGISTIC": _unary("LOGISTIC", lambda q, x: q.fixed(1 / 256, 0)),
    "TANH": _unary("TANH", lambda q, x: q.fixed(1 / 128, 128)),
    "SOFTMAX": _unary("SOFTMAX", lambda q, x: q.fixed(1 / 256, 0), "SoftmaxOptions", Beta=1.0),
    "LOG_SOFTMAX": _unary("LOG_SOFTMAX", lambda q, x: q.fixed(1 / 16, 255), "LogSoftmaxOptions"),
    "HARD_SWISH": _unary("HARD_SWISH", lambda q, x: q.grid(-0.4, 3), "HardSwishOptions", version=1),
    "L2_NORMALIZATION": _unary("L2_NORMALIZATION", lambda q, x: q.fixed(1 / 128, 128), "L2NormOptions"),
    "AVERAGE_POOL_2D": _pool("AVERAGE_POOL_2D"),
    "MAX_POOL_2D": _pool("MAX_POOL_2D"),
    "CONCATENATION": _concat,
    "PAD": _moved("PAD", [np.int32([[0, 0], [1, 0], [2, 1], [0, 0]])], (2, 5, 9, 8), "PadOptions"),
    "RESHAPE": _moved("RESHAPE", [np.int32([4, 96])], (4, 96), "ReshapeOptions", version=1),
    "TRANSPOSE": _moved("TRANSPOSE", [np.int32([0, 3, 1, 2])], (2, 8, 4, 6), "TransposeOptions"),
    "STRIDED_SLICE": _moved("STRIDED_SLICE", [np.int32([0, 1, 0, 1]), np.int32([2, 4, 5, 8]), np.int32([1, 2, 2, 3])],
                            (2, 2, 3, 3), "StridedSliceOptions", **_SLICE),
    "SLICE": _moved("SLICE", [np.int32([0, 1, 2, 3]), np.int32([2, 2, 3, 4])], (2, 2, 3, 4), "SliceOptions"),
    "GATHER": _moved("GATHER", [np.int32([3, 0, 0])], (2, 3, 6, 8), "GatherOptions", Axis=1, BatchDims=0),
    "MIRROR_PAD": _moved("MIRROR_PAD", [np.int32([[0, 0], [1, 1], [2, 2], [0, 0]])], (2, 6, 10, 8), "MirrorPadOptions",
                         Mode=0),
    "RESIZE_BILINEAR": _moved("RESIZE_BILINEAR", [np.int32([7, 9])], (2, 7, 9, 8), "ResizeBilinearOptions"),
    "RESIZE_NEAREST_NEIGHBOR": _moved("RESIZE_NEAREST_NEIGHBOR", [np.int32([7, 9])], (2, 7, 9, 8),
                                      "ResizeNearestNeighborOptions"),
    "SPACE_TO_DEPTH": _moved("SPACE_TO_DEPTH", [], (2, 2, 3, 32), "SpaceToDepthOptions", **_BLOCK),
    "DEPTH_TO_SPACE": _moved("DEPTH_TO_SPACE", [], (2, 8, 12, 2), "DepthToSpaceOptions", **_BLOCK),
    "EXPAND_DIMS": _moved("EXPAND_DIMS", [np.int32(1)], (2, 1, 4, 6, 8), "ExpandDimsOptions", version=1),
    "SPLIT": _parts("SPLIT", "SplitOptions", lambda x: [np.int32(3), x], [(2, 4, 6, 4)] * 2, NumSplits=2),
    "UNPACK": _parts("UNPACK", "UnpackOptions", lambda x: [x], [(4, 6, 8)] * 2, Num=2, Axis=0),
    "MEAN": _reduced("MEAN", -2, 2, same=True),
    "MEAN to another grid": _reduced("MEAN", -1, 1),
    "SUM": _reduced("SUM", -30, 30),
    "REDUCE_MAX": _reduced("REDUCE_MAX", 0, 0, same=True),
    "GREATER": _compared,
    "ARG_MAX": _best,
    "QUANTIZE and back": _there_and_back,
    "QUANTIZE of integers": _again,
}  # fmt: skip


def model(name: str, kind: Kind) -> bytes:
    q = Quantized(kind)
    made = BUILDERS[name](q)
    q.model.output(*(made if isinstance(made, tuple) else (made,)))
    return q.model.bytes()
