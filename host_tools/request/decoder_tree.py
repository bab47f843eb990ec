"""The tree of a model under construction, with weights behind it in the file, as converters write large models."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers

from host_tools.request import model_tree

_ALIGNMENT = 64
_FAR = 1 << 40  # an offset in the file that is not known yet
_LARGE = 1 << 12  # bytes of a constant that lies behind the tree
_TYPES = {"float32": schema.TensorType.FLOAT32, "float16": schema.TensorType.FLOAT16, "int32": schema.TensorType.INT32,
          "bool": schema.TensorType.BOOL, "int8": schema.TensorType.INT8, "int4": schema.TensorType.INT4}  # fmt: skip


@dataclass(frozen=True)
class Value:
    """A tensor of a graph."""

    index: int
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Weights:
    """Constants that graphs share. make: their bytes, made when the file is written. scales: of int8, one for each row. blocks: of int4,
    the buffer of their scales and how many numbers share one."""

    shape: tuple[int, ...]
    dtype: str
    buffer: int
    scales: np.ndarray | None = None
    blocks: tuple[int, int] = (0, 0)


class Tree:
    def __init__(self) -> None:
        self.model = schema.ModelT()
        self.model.version, self.model.description = 3, b"Made by inv models --make decoder."
        self.model.buffers, self.model.subgraphs = [model_tree.Buffer()], []
        self.model.operatorCodes, self.model.signatureDefs, self.model.metadata = [], [], []
        self._codes: dict[tuple[str, int], int] = {}
        self._small: dict[bytes, int] = {}
        self._behind: list[tuple[int, Callable[[], bytes]]] = []

    def constant(self, raw: bytes) -> int:
        """The buffer of these bytes; equal small ones share one."""
        if raw not in self._small:
            if len(raw) >= _LARGE:
                return self.behind(len(raw), lambda: raw)
            self._small[raw] = self._buffer()
            self.model.buffers[-1].data = raw
        return self._small[raw]

    def behind(self, size: int, make: Callable[[], bytes]) -> int:
        """A buffer whose bytes are made when the file is written."""
        index = self._buffer()
        self.model.buffers[index].offset, self.model.buffers[index].size = _FAR, size
        self._behind.append((index, make))
        return index

    def _buffer(self) -> int:
        self.model.buffers.append(model_tree.Buffer())
        return len(self.model.buffers) - 1

    def code(self, op: str, version: int) -> int:
        if (op, version) not in self._codes:
            made = schema.OperatorCodeT()
            made.builtinCode, made.version = getattr(schema.BuiltinOperator, op), version
            made.deprecatedBuiltinCode = min(made.builtinCode, 127)
            self._codes[op, version] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(made)
        return self._codes[op, version]

    def graph(self, name: str) -> "Graph":
        return Graph(self, name)

    def signature(self, graph: "Graph", inputs: dict[str, Value], outputs: dict[str, Value]) -> None:
        made = schema.SignatureDefT()
        made.signatureKey, made.subgraphIndex = graph.tree.name, graph.number
        made.inputs, made.outputs = ([_end(*one) for one in sorted(ends.items())] for ends in (inputs, outputs))
        self.model.signatureDefs.append(made)

    def write(self, path: Path) -> None:
        """Numbers of a fixed width stand for places in the file: so the tree is packed once to know its size."""
        at = len(model_tree.pack(self.model))
        for index, _ in self._behind:
            at = -(-at // _ALIGNMENT) * _ALIGNMENT
            self.model.buffers[index].offset = at
            at += self.model.buffers[index].size
        with path.open("wb") as file:
            file.write(model_tree.pack(self.model))
            for index, make in self._behind:
                file.seek(self.model.buffers[index].offset)
                file.write(make())


def _end(name: str, value: Value) -> schema.TensorMapT:
    made = schema.TensorMapT()
    made.name, made.tensorIndex = name, value.index
    return made


class Graph:
    """A subgraph. Constants are tensors of it, of the tree's buffers."""

    def __init__(self, tree: Tree, name: str) -> None:
        self._tree, self.tree = tree, schema.SubGraphT()
        self.tree.name, self.tree.tensors, self.tree.operators = name, [], []
        self.tree.inputs, self.tree.outputs = [], []
        self.number = len(tree.model.subgraphs)
        self._known: dict[tuple[int, tuple[int, ...]], Value] = {}
        self._floats: dict[int, Value] = {}
        tree.model.subgraphs.append(self.tree)

    def value(self, name: str, shape: Sequence[int], dtype: str = "float32", buffer: int = 0) -> Value:
        made = schema.TensorT()
        made.name, made.shape = f"{self.tree.name}/{name}", np.array(shape, np.int32)
        made.type, made.buffer, made.hasRank = _TYPES[dtype], buffer, True
        self.tree.tensors.append(made)
        return Value(len(self.tree.tensors) - 1, tuple(shape), dtype)

    def input(self, name: str, shape: Sequence[int], dtype: str = "float32") -> Value:
        made = self.value(name, shape, dtype)
        self.tree.inputs.append(made.index)
        return made

    def output(self, *values: Value) -> None:
        self.tree.outputs += [value.index for value in values]

    def const(self, numbers: Any, dtype: str = "int32") -> Value:
        array = np.asarray(numbers, dtype)
        key = self._tree.constant(array.tobytes()), array.shape
        if key not in self._known or self._known[key].dtype != dtype:
            self._known[key] = self.value(f"constant_{len(self.tree.tensors)}", array.shape, dtype, key[0])
        return self._known[key]

    def weights(self, name: str, found: Weights) -> Value:
        key = found.buffer, found.shape
        if key in self._known:
            return self._known[key]
        made = self._known[key] = self.value(name, found.shape, found.dtype, found.buffer)
        if found.scales is not None:
            quantization = schema.QuantizationParametersT()
            quantization.scale = found.scales
            quantization.zeroPoint = np.zeros(len(found.scales), np.int64)
            self.tree.tensors[made.index].quantization = quantization
        if found.blocks[1]:
            rows, numbers = found.shape
            scales = self.value(f"{name}_scales", (rows, numbers // found.blocks[1]), "float16", found.blocks[0])
            details = schema.BlockwiseQuantizationT()
            details.scales, details.zeroPoints, details.blockSize = scales.index, -1, found.blocks[1]
            quantization = schema.QuantizationParametersT()
            quantization.detailsType, quantization.details = schema.QuantizationDetails.BlockwiseQuantization, details
            self.tree.tensors[made.index].quantization = quantization
        return made

    def as_floats(self, weights: Value) -> Value:
        """Weights of float16 as ops take them: by one DEQUANTIZE for all readers."""
        if weights.dtype != "float16":
            return weights
        if weights.index not in self._floats:
            self._floats[weights.index] = self.op("DEQUANTIZE", [weights], weights.shape, dtype="float32")
        return self._floats[weights.index]

    def op(
        self, op: str, inputs: Sequence[Value | None], shape: Sequence[int], options: str = "", *, version: int = 1,
        dtype: str = "", **fields: Any,
    ) -> Value:  # fmt: skip
        """One node with one output. dtype: its type (default: the first input's). options: the type of its options."""
        first = next(one for one in inputs if one)
        made = self.value(f"{op.lower()}_{len(self.tree.operators)}", shape, dtype or first.dtype)
        node = schema.OperatorT()
        node.opcodeIndex = self._tree.code(op, version)
        node.inputs = np.array([one.index if one else -1 for one in inputs], np.int32)
        node.outputs = np.array([made.index], np.int32)
        if options:
            table = getattr(schema, f"{options}T")()
            for name, value in fields.items():
                setattr(table, name, value)
            second = options == "StableHLOCompositeOptions"
            kind = getattr(schema.BuiltinOptions2 if second else schema.BuiltinOptions, options)
            if second:
                node.builtinOptions2Type, node.builtinOptions2 = kind, table
            else:
                node.builtinOptionsType, node.builtinOptions = kind, table
        self.tree.operators.append(node)
        return made

    def composite(
        self, name: str, inputs: Sequence[Value], shape: Sequence[int], body: "Graph", **attributes: float
    ) -> Value:
        builder = flexbuffers.Builder()
        with builder.Map():
            for key, number in attributes.items():
                builder.Float(key, number, 4)
        raw = np.frombuffer(bytes(builder.Finish()), np.uint8)
        return self.op(
            "STABLEHLO_COMPOSITE", inputs, shape, "StableHLOCompositeOptions", name=name,
            decompositionSubgraphIndex=body.number, compositeAttributes=raw,
        )  # fmt: skip

    def on_grid(self, value: Value, scale: float) -> Value:
        """Its integers are so many steps."""
        made = schema.QuantizationParametersT()
        made.scale, made.zeroPoint = np.array([scale], np.float32), np.zeros(1, np.int64)
        self.tree.tensors[value.index].quantization = made
        return value

    # What exports consist of.

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        return self.op("RESHAPE", [x, self.const(shape)], shape)

    def swap(self, x: Value) -> Value:
        """Axes 1 and 2 change places: with one of them 1 the converter makes a RESHAPE of it."""
        shape = (x.shape[0], x.shape[2], x.shape[1], x.shape[3])
        if 1 in x.shape[1:3]:
            return self.reshape(x, shape)
        return self.op("TRANSPOSE", [x, self.const([0, 2, 1, 3])], shape)

    def arithmetic(self, op: str, a: Value, b: Value, dtype: str = "") -> Value:
        shape = np.broadcast_shapes(a.shape, b.shape)
        options = {"MUL": "MulOptions", "ADD": "AddOptions", "SUB": "SubOptions"}.get(op, "")
        return self.op(op, [a, b], shape, options, dtype=dtype)

    def mul(self, a: Value, b: Value) -> Value:
        return self.arithmetic("MUL", a, b)

    def add(self, a: Value, b: Value) -> Value:
        return self.arithmetic("ADD", a, b)

    def slice(self, x: Value, begin: Sequence[int], size: Sequence[int]) -> Value:
        return self.op("SLICE", [x, self.const(begin), self.const(size)], size)

    def concat(self, parts: Sequence[Value], axis: int) -> Value:
        shape = list(parts[0].shape)
        shape[axis] = sum(part.shape[axis] for part in parts)
        return self.op("CONCATENATION", parts, shape, "ConcatenationOptions", axis=axis)

    def fully_connected(self, x: Value, weights: Value) -> Value:
        shape = (*x.shape[:-1], weights.shape[0])
        return self.op(
            "FULLY_CONNECTED", [x, weights, None], shape, "FullyConnectedOptions", version=5, keepNumDims=True
        )

    def matmul(self, a: Value, b: Value, *, transposed: bool) -> Value:
        columns = b.shape[-2] if transposed else b.shape[-1]
        return self.op("BATCH_MATMUL", [a, b], (*a.shape[:-1], columns), "BatchMatMulOptions", adjY=transposed)


def numbers(shape: Sequence[int]) -> int:
    return math.prod(shape)
