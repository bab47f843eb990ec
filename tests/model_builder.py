"""Writes small .tflite models from Python:

    m = Model()
    x = m.input((1, 8, 8, 4))
    y = m.conv2d(x, weights, bias, stride=(2, 2), padding="SAME", activation="RELU6")
    m.output(y)
    m.bytes()

Arrays given where a value is expected become constants. Method arguments are spelled as in `tests.reference`, so
one set of attributes makes the model and the numpy reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flatbuffers
import numpy as np
import tflite
from ai_edge_litert import schema_py_generated as schema

from tests import flat, shapes
from tests.sparse import Sparse, encode

_TYPES = {
    "float32": "FLOAT32",
    "float16": "FLOAT16",
    "int32": "INT32",
    "uint8": "UINT8",
    "int8": "INT8",
    "int64": "INT64",
    "bool": "BOOL",
    "int16": "INT16",
    "uint32": "UINT32",
    "int4": "INT4",
    "int2": "INT2",
    "float64": "FLOAT64",
    "complex64": "COMPLEX64",
    "string": "STRING",
    "resource": "RESOURCE",
}


LACKED = "STABLEHLO_ADD"  # an op that TFLite's CPU kernels have, and Quadra has not


@dataclass(frozen=True)
class Blocks:
    """Scales of a matrix, one for so many numbers of a row; indexes of the tensors that hold them, -1: none."""

    scales: int
    size: int
    zero_points: int = -1


@dataclass(frozen=True)
class Value:
    """A tensor of the model under construction."""

    index: int
    shape: tuple[int, ...]
    dtype: str
    name: str
    data: np.ndarray | None = None
    sparse: Sparse | None = None
    signature: tuple[int, ...] | None = None
    scale: float | np.ndarray | None = None  # of the tensor, or one for each place along `scale_axis`
    zero_point: int = 0
    scale_axis: int = 0
    blocks: Blocks | None = None
    variable: bool = False  # keeps its numbers from one run to the next; zeros at first


@dataclass(frozen=True)
class _Node:
    code: int
    custom: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_kind: str
    options: dict[str, Any]
    custom_options: bytes
    intermediates: tuple[int, ...] = ()


Operand = Value | np.ndarray


class Model:
    """A model with one subgraph. Values may be used any number of times."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.nodes: list[_Node] = []
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []

    # Values

    def value(self, shape: Sequence[int], dtype: str = "float32", **fields) -> Value:
        name = fields.pop("name", None) or f"t{len(self.values)}"
        new = Value(len(self.values), tuple(int(n) for n in shape), dtype, name, **fields)
        self.values.append(new)
        return new

    def input(self, shape: Sequence[int], dtype: str = "float32", **fields) -> Value:
        self.inputs.append(self.value(shape, dtype, **fields))
        return self.inputs[-1]

    def output(self, *values: Value) -> None:
        self.outputs += values

    def const(self, array: np.ndarray, **fields) -> Value:
        array = np.asarray(array)
        return self.value(array.shape, array.dtype.name, data=array, **fields)

    def const_narrow(self, array: np.ndarray, dtype: str, **fields) -> Value:
        """Integers of a type that numpy does not have: "int4" or "int2"."""
        array = np.asarray(array, np.int8)
        return self.value(array.shape, dtype, data=array, **fields)

    def const_f16(self, array: np.ndarray) -> Value:
        """A float16 constant behind DEQUANTIZE, as converters store half weights."""
        return self.op("DEQUANTIZE", [self.const(np.asarray(array, np.float16))], array.shape, version=3)

    def const_sparse(self, array: np.ndarray, **how) -> Value:
        """A sparse constant behind DENSIFY; `how` goes to `sparse.encode`. float16 gets a DEQUANTIZE behind it."""
        stored = self.value(array.shape, array.dtype.name, data=array, sparse=encode(array, **how))
        dense = self.op("DENSIFY", [stored], array.shape, output={"dtype": array.dtype.name})
        if array.dtype != np.float16:
            return dense
        return self.op("DEQUANTIZE", [dense], array.shape, version=3)

    def operand(self, value: Operand) -> Value:
        return value if isinstance(value, Value) else self.const(value)

    # Nodes

    def op(
        self,
        name: str,
        inputs: Sequence[Operand | None],
        shape: Sequence[int] | list[Sequence[int]],
        options_kind: str = "",
        version: int = 1,
        output: dict[str, Any] | None = None,
        custom_options: bytes = b"",
        intermediates: Sequence[Value] = (),
        **options,
    ) -> Any:
        """Adds any node. A list of shapes makes several outputs; a name that is no builtin makes a custom op.
        `output` holds fields of the output value: dtype, name, scale, ...; intermediates are values whose scales matter."""
        several = isinstance(shape, list)
        outputs = [self.value(one, **(output or {})) for one in (shape if several else [shape])]
        self.several(name, inputs, outputs, options_kind, version, custom_options, intermediates, **options)
        return outputs if several else outputs[0]

    def several(
        self,
        name: str,
        inputs: Sequence[Operand | None],
        outputs: Sequence[Value],
        options_kind: str = "",
        version: int = 1,
        custom_options: bytes = b"",
        intermediates: Sequence[Value] = (),
        **options,
    ) -> tuple[Value, ...]:
        """Adds a node whose outputs were made by `value`: they may differ in type."""
        operands = [-1 if value is None else self.operand(value).index for value in inputs]
        code = getattr(tflite.BuiltinOperator, name, None)
        self.nodes.append(
            _Node(
                tflite.BuiltinOperator.CUSTOM if code is None else code,
                name if code is None else "",
                version,
                tuple(operands),
                tuple(value.index for value in outputs),
                options_kind,
                options,
                custom_options,
                tuple(value.index for value in intermediates),
            )
        )
        return tuple(outputs)

    def conv2d(self, x, w, b=None, stride=(1, 1), dilation=(1, 1), padding="SAME", activation="NONE") -> Value:
        x, w = self.operand(x), self.operand(w)
        shape = shapes.conv2d(x.shape, w.shape, stride, dilation, padding)
        return self.op(
            "CONV_2D",
            [x, w] + ([] if b is None else [b]),
            shape,
            "Conv2DOptions",
            Padding=_padding(padding),
            StrideH=stride[0],
            StrideW=stride[1],
            DilationHFactor=dilation[0],
            DilationWFactor=dilation[1],
            FusedActivationFunction=_activation(activation),
        )

    def depthwise_conv2d(
        self, x, w, b=None, stride=(1, 1), dilation=(1, 1), padding="SAME", activation="NONE"
    ) -> Value:
        x, w = self.operand(x), self.operand(w)
        shape = shapes.depthwise_conv2d(x.shape, w.shape, stride, dilation, padding)
        return self.op(
            "DEPTHWISE_CONV_2D",
            [x, w] + ([] if b is None else [b]),
            shape,
            "DepthwiseConv2DOptions",
            version=2,
            Padding=_padding(padding),
            StrideH=stride[0],
            StrideW=stride[1],
            DepthMultiplier=w.shape[3] // x.shape[3],
            DilationHFactor=dilation[0],
            DilationWFactor=dilation[1],
            FusedActivationFunction=_activation(activation),
        )

    def transpose_conv_bias(self, x, w, b, stride=(2, 2), padding="SAME") -> Value:
        """The custom op Convolution2DTransposeBias; its options are the raw bytes of three C ints."""
        x, w = self.operand(x), self.operand(w)
        raw = np.array([1 + _padding(padding), stride[1], stride[0]], np.int32).tobytes()
        return self.op(
            "Convolution2DTransposeBias",
            [x, w, b],
            shapes.transpose_conv(x.shape, w.shape, stride, padding),
            custom_options=raw,
        )

    def transpose_conv(
        self, x, w, b=None, stride=(2, 2), padding="SAME", size: Sequence[int] = (), activation="NONE"
    ) -> Value:
        """`size`: height and width of the result; none: what the padding leaves."""
        x, w = self.operand(x), self.operand(w)
        shape = shapes.transpose_conv(x.shape, w.shape, stride, padding)
        shape = (shape[0], *(size or shape[1:3]), shape[3])
        return self.op(
            "TRANSPOSE_CONV",
            [np.array(shape, np.int32), w, x] + ([] if b is None else [b]),
            shape,
            "TransposeConvOptions",
            version=4 if activation != "NONE" else 1 if b is None else 3,
            Padding=_padding(padding),
            StrideH=stride[0],
            StrideW=stride[1],
            FusedActivationFunction=_activation(activation),
        )

    def add(self, a, b, activation="NONE") -> Value:
        return self._binary("ADD", "AddOptions", a, b, activation)

    def mul(self, a, b, activation="NONE") -> Value:
        return self._binary("MUL", "MulOptions", a, b, activation)

    def _binary(self, name, kind, a, b, activation) -> Value:
        return self.elementwise(name, a, b, kind=kind, FusedActivationFunction=_activation(activation))

    def elementwise(self, name: str, *operands: Operand, kind: str = "", to_bool: bool = False, **options) -> Value:
        """Any op whose result has the broadcast shape of its operands and the last one's type, or is of bools."""
        values = [self.operand(value) for value in operands]
        # A condition of SELECT may be a vector that chooses rows.
        shape = values[1].shape if name == "SELECT" else np.broadcast_shapes(*(value.shape for value in values))
        dtype = "bool" if to_bool else values[-1].dtype
        return self.op(name, values, shape, kind, output={"dtype": dtype}, **options)

    def unary(self, name: str, x: Value) -> Value:
        """RELU, RELU6, RELU_N1_TO_1, HARD_SWISH, LOGISTIC, TANH."""
        return self.op(name, [x], x.shape, "HardSwishOptions" if name == "HARD_SWISH" else "")

    def left_to_cpu(self, x: Value) -> Value:
        """A node that Quadra leaves to the CPU, for it lacks the op: x + x."""
        return self.op(LACKED, [x, x], x.shape)

    def prelu(self, x, alpha) -> Value:
        return self.op("PRELU", [x, alpha], x.shape)

    def pad(self, x, paddings) -> Value:
        shape = tuple(n + sum(p) for n, p in zip(x.shape, paddings))
        return self.op("PAD", [x, np.array(paddings, np.int32)], shape, "PadOptions")

    def max_pool2d(self, x, kernel, stride=(1, 1), padding="SAME", activation="NONE") -> Value:
        return self._pool("MAX_POOL_2D", x, kernel, stride, padding, activation)

    def average_pool2d(self, x, kernel, stride=(1, 1), padding="SAME", activation="NONE") -> Value:
        return self._pool("AVERAGE_POOL_2D", x, kernel, stride, padding, activation)

    def l2_pool2d(self, x, kernel, stride=(1, 1), padding="SAME", activation="NONE") -> Value:
        return self._pool("L2_POOL_2D", x, kernel, stride, padding, activation)

    def _pool(self, name, x, kernel, stride, padding, activation) -> Value:
        shape = shapes.pool2d(x.shape, kernel, stride, padding)
        return self.op(
            name,
            [x],
            shape,
            "Pool2DOptions",
            Padding=_padding(padding),
            StrideH=stride[0],
            StrideW=stride[1],
            FilterHeight=kernel[0],
            FilterWidth=kernel[1],
            FusedActivationFunction=_activation(activation),
        )

    def reshape(self, x, shape) -> Value:
        """`shape` may hold one -1."""
        return self.op("RESHAPE", [x, np.array(shape, np.int32)], shapes.reshape(x.shape, shape), "ReshapeOptions")

    def concatenation(self, *operands, axis=-1, activation="NONE") -> Value:
        operands = [self.operand(value) for value in operands]
        return self.op(
            "CONCATENATION",
            operands,
            shapes.concatenation([v.shape for v in operands], axis),
            "ConcatenationOptions",
            Axis=axis,
            FusedActivationFunction=_activation(activation),
        )

    def resize_bilinear(self, x, size, align_corners=False, half_pixel_centers=False) -> Value:
        return self.op(
            "RESIZE_BILINEAR",
            [x, np.array(size, np.int32)],
            (x.shape[0], *size, x.shape[3]),
            "ResizeBilinearOptions",
            version=3,
            AlignCorners=align_corners,
            HalfPixelCenters=half_pixel_centers,
        )

    def softmax(self, x, beta=1.0) -> Value:
        return self.op("SOFTMAX", [x], x.shape, "SoftmaxOptions", Beta=beta)

    def fully_connected(self, x, w, b=None, activation="NONE", keep_num_dims=False) -> Value:
        x, w = self.operand(x), self.operand(w)
        return self.op(
            "FULLY_CONNECTED",
            [x, w, b],
            shapes.fully_connected(x.shape, w.shape, keep_num_dims),
            "FullyConnectedOptions",
            version=5 if keep_num_dims else 2,
            KeepNumDims=keep_num_dims,
            FusedActivationFunction=_activation(activation),
        )

    def mean(self, x, axes, keep_dims=False) -> Value:
        return self.op(
            "MEAN",
            [x, np.array(axes, np.int32)],
            shapes.mean(x.shape, axes, keep_dims),
            "ReducerOptions",
            KeepDims=keep_dims,
        )

    def strided_slice(
        self, x, begin, end, strides, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0
    ) -> Value:
        masks = {
            "begin_mask": begin_mask,
            "end_mask": end_mask,
            "ellipsis_mask": ellipsis_mask,
            "new_axis_mask": new_axis_mask,
            "shrink_axis_mask": shrink_axis_mask,
        }
        vectors = [np.array(v, np.int32) for v in (begin, end, strides)]
        return self.op(
            "STRIDED_SLICE",
            [x, *vectors],
            shapes.strided_slice(x.shape, begin, end, strides, **masks),
            "StridedSliceOptions",
            **{_camel(name): mask for name, mask in masks.items()},
        )

    def depth_to_space(self, x, block) -> Value:
        b, h, w, c = x.shape
        return self.op(
            "DEPTH_TO_SPACE", [x], (b, h * block, w * block, c // block**2), "DepthToSpaceOptions", BlockSize=block
        )

    # The file

    def bytes(self, *others: Model) -> bytes:
        """The finished model; `others` are its further subgraphs."""
        builder = flatbuffers.Builder(1024)
        buffers = [flat.table(builder, "Buffer")]
        models = [self, *others]
        codes = sorted({(node.code, node.custom, node.version) for model in models for node in model.nodes})
        graphs = [model._write_graph(builder, buffers, codes) for model in models]
        op_codes = [
            flat.table(
                builder,
                "OperatorCode",
                DeprecatedBuiltinCode=min(code, 127),
                BuiltinCode=code,
                CustomCode=name,
                Version=version,
            )
            for code, custom, version in codes
            for name in [builder.CreateString(custom) if custom else None]
        ]
        model = flat.table(
            builder,
            "Model",
            Version=3,
            Description=builder.CreateString("quadra test"),
            OperatorCodes=flat.offsets(builder, op_codes),
            Subgraphs=flat.offsets(builder, graphs),
            Buffers=flat.offsets(builder, buffers),
        )
        builder.Finish(model, b"TFL3")
        return bytes(builder.Output())

    def _write_graph(self, builder, buffers: list[int], codes) -> int:
        tensors = [self._write_value(builder, value, buffers) for value in self.values]
        nodes = [self._write_node(builder, node, codes) for node in self.nodes]
        return flat.table(
            builder,
            "SubGraph",
            Tensors=flat.offsets(builder, tensors),
            Inputs=flat.ints(builder, [v.index for v in self.inputs]),
            Outputs=flat.ints(builder, [v.index for v in self.outputs]),
            Operators=flat.offsets(builder, nodes),
            Name=builder.CreateString("graph"),
        )

    @staticmethod
    def _write_value(builder, value: Value, buffers: list[int]) -> int:
        buffer = 0
        if value.data is not None:
            stored = value.sparse.values if value.sparse else packed(value.data, value.dtype)
            buffer = len(buffers)
            buffers.append(flat.table(builder, "Buffer", Data=flat.data(builder, stored)))
        quantization = None
        if value.scale is not None:
            scales = np.atleast_1d(np.asarray(value.scale, np.float32))
            scale = builder.CreateNumpyVector(scales)
            zero = builder.CreateNumpyVector(np.full(scales.shape, value.zero_point, np.int64))
            axis = value.scale_axis
            quantization = flat.table(
                builder, "QuantizationParameters", Scale=scale, ZeroPoint=zero, QuantizedDimension=axis
            )
        if value.blocks:
            details = flat.table(
                builder,
                "BlockwiseQuantization",
                Scales=value.blocks.scales,
                ZeroPoints=value.blocks.zero_points,
                BlockSize=value.blocks.size,
            )
            kind = schema.QuantizationDetails.BlockwiseQuantization
            quantization = flat.table(builder, "QuantizationParameters", DetailsType=kind, Details=details)
        return flat.table(
            builder,
            "Tensor",
            Shape=flat.ints(builder, value.shape),
            Buffer=buffer,
            Type=getattr(schema.TensorType, _TYPES[value.dtype]),
            Name=builder.CreateString(value.name),
            Quantization=quantization,
            IsVariable=value.variable or None,
            Sparsity=value.sparse.write(builder) if value.sparse else None,
            ShapeSignature=flat.ints(builder, value.signature) if value.signature else None,
        )

    @staticmethod
    def _write_node(builder, node: _Node, codes) -> int:
        kind = node.options_kind
        raw = builder.CreateByteVector(node.custom_options) if node.custom_options else None
        options = {name: _written(builder, value) for name, value in node.options.items()}
        return flat.table(
            builder,
            "Operator",
            OpcodeIndex=codes.index((node.code, node.custom, node.version)),
            Inputs=flat.ints(builder, node.inputs),
            Outputs=flat.ints(builder, node.outputs),
            CustomOptions=raw,
            Intermediates=flat.ints(builder, node.intermediates) if node.intermediates else None,
            **_options(builder, kind, options),
        )


def one_convolution() -> bytes:
    """A model of one convolution: all of it runs on the GPU."""
    m, generator = Model(), np.random.default_rng(0)
    weights = generator.normal(size=(8, 3, 3, 4)).astype(np.float32)
    m.output(m.conv2d(m.input((1, 8, 8, 4)), weights, generator.normal(size=8).astype(np.float32), activation="RELU6"))
    return m.bytes()


def _written(builder, value):
    """A value of a table: lists (arrays, where they are no int32), texts and bytes stand outside of it."""
    if isinstance(value, np.ndarray):
        return builder.CreateNumpyVector(value)
    if isinstance(value, bytes):
        return builder.CreateByteVector(value)
    if isinstance(value, str):
        return builder.CreateString(value)
    return flat.ints(builder, value) if isinstance(value, list) else value


def _options(builder, kind: str, options: dict) -> dict[str, Any]:
    """Of the schema's first union of options, or of its second."""
    if not kind:
        return {}
    union = "BuiltinOptions" if hasattr(tflite.BuiltinOptions, kind) else "BuiltinOptions2"
    return {f"{union}Type": getattr(getattr(tflite, union), kind), union: flat.table(builder, kind, **options)}


def packed(array: np.ndarray, dtype: str) -> np.ndarray:
    """As a file holds it: of int4 and int2 several numbers a byte, the first in the lowest bits, rows without a gap."""
    bits = {"int4": 4, "int2": 2}.get(dtype)
    if not bits:
        return array
    each = 8 // bits
    flat_array = array.reshape(-1).astype(np.uint8) & (2**bits - 1)
    rows = np.pad(flat_array, (0, -flat_array.size % each)).reshape(-1, each)
    return np.bitwise_or.reduce(rows << (bits * np.arange(each, dtype=np.uint8)), axis=1)


def _padding(name: str) -> int:
    return getattr(tflite.Padding, name)


def _activation(name: str) -> int:
    return getattr(tflite.ActivationFunctionType, name)


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
