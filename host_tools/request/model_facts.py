"""Reads what a model is made of: ops, shapes, arithmetic work. For model.json of a run folder."""

import math
import mmap
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tflite

from host_tools.base.errors import Misuse
from host_tools.request import model_tree, signatures

_MOST_FLOPS = 1 << 53


def read(content: bytes, model: str, signature: str = "") -> dict[str, Any]:
    """Bytes of the constants; nodes of the signature's graph (default: the main one) in order: op, name and shape of the first
    output, flops (0: not counted); the subgraph, and those that it calls."""
    subgraph = signatures.entry(content, signature).subgraph if signature else 0
    try:
        root = tflite.Model.GetRootAs(content, 0)
        graph = root.Subgraphs(subgraph)
        nodes = [_node(root, graph, graph.Operators(i), i) for i in range(graph.OperatorsLength())]
        tensors = graph.TensorsLength()
        constants = _constant_bytes(root)
        ends = [graph.Inputs(i) for i in range(graph.InputsLength())] + [
            graph.Outputs(i) for i in range(graph.OutputsLength())
        ]
        names = [graph.Tensors(i).Name() or b"" for i in ends if 0 <= i < tensors]
        reached = sorted(signatures.reached(content, subgraph))
        free = _free_sizes(graph, signatures.entry(content, signature))
    except Exception as error:  # flatbuffers raises whatever a bad offset leads to
        raise model_tree.damaged(model, content, error) from error
    _require_names(names, model)
    return {
        "schema_version": 1,
        "name": model,
        "bytes": len(content),
        "constant_bytes": constants,
        "tensors": tensors,
        "subgraph": subgraph,
        "subgraphs": reached,
        "free_sizes": free,
        "nodes": nodes,
    }


def of_file(path: Path, model: str, signature: str = "") -> dict[str, Any]:
    """The same of a file, which is mapped: of weights behind the tree no byte is read."""
    with open(path, "rb") as file:
        try:
            content: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # an empty file
            content = b""
        return read(content, model, signature)


def _free_sizes(graph: tflite.SubGraph, entry: signatures.Entry) -> dict[str, list[int]]:
    """By input, the declared shape of those with a -1 in it."""
    found = {}
    for name, tensor in entry.inputs:
        of = graph.Tensors(tensor)
        shape = [int(of.ShapeSignature(i)) for i in range(of.ShapeSignatureLength())]
        if -1 in shape:
            found[name] = shape
    return found


def _constant_bytes(root: tflite.Model) -> int:
    """Of the buffers that tensors have, each once; in a file beyond 2 GB they lie behind the tree, with a size. ValueError or
    struct.error: one reaches beyond the end of the file."""
    graphs = [root.Subgraphs(i) for i in range(root.SubgraphsLength())]
    used = {graph.Tensors(i).Buffer() for graph in graphs for i in range(graph.TensorsLength())}
    buffers = [root.Buffers(i) for i in used if i < root.BuffersLength()]
    return sum(_bytes_of(buffer) for buffer in buffers)


def _bytes_of(buffer: tflite.Buffer) -> int:
    length: int = buffer.DataLength()
    if length:
        buffer.DataAsNumpy()  # raises where the file ends before it does
        return length
    end, size = buffer.Offset() + buffer.Size(), len(buffer._tab.Bytes)
    if buffer.Size() and end > size:
        raise ValueError(f"a buffer ends at byte {end} of {size}")
    return int(buffer.Size())


def _require_names(names: list[bytes], model: str) -> None:
    """Misuse where an input or output has a name that is no text: no interpreter could say it."""
    for name in names:
        try:
            name.decode("utf-8")
        except UnicodeDecodeError as error:
            found = f"the name of an input or output is not UTF-8: '{name.decode('utf-8', 'backslashreplace')}'"
            raise Misuse(f"read the model {model}", found, "rename it where the model is made") from error


def variables(content: bytes, signature: str = "") -> list[int]:
    """Tensors of the signature's graph (default: the main one) that keep their numbers from one run to the next. Of a model that an interpreter took."""
    graph = tflite.Model.GetRootAs(content, 0).Subgraphs(signatures.entry(content, signature).subgraph)
    return [i for i in range(graph.TensorsLength()) if graph.Tensors(i).IsVariable()]


def is_quantised(content: bytes) -> bool:
    """Whether nodes round what they compute: a tensor that is not stored holds integers of 4 to 16 bits and has a scale."""
    root = tflite.Model.GetRootAs(content, 0)
    graphs = [root.Subgraphs(i) for i in range(root.SubgraphsLength())]
    return any(_is_rounded(root, graph.Tensors(i)) for graph in graphs for i in range(graph.TensorsLength()))


def _is_rounded(root: tflite.Model, tensor: tflite.Tensor) -> bool:
    grid, buffer = tensor.Quantization(), root.Buffers(tensor.Buffer())
    kinds = (tflite.TensorType.INT8, tflite.TensorType.UINT8, tflite.TensorType.INT16, tflite.TensorType.INT4)
    stored = buffer.DataLength() or buffer.Size()
    return tensor.Type() in kinds and not stored and grid is not None and bool(grid.ScaleLength())


def _node(root: tflite.Model, graph: tflite.SubGraph, operator: tflite.Operator, index: int) -> dict[str, Any]:
    code = root.OperatorCodes(operator.OpcodeIndex())
    op = _op_name(code)
    shapes = [_shape(graph, i) for i in operator.InputsAsNumpy()] if operator.InputsLength() else []
    first = graph.Tensors(operator.Outputs(0)) if operator.OutputsLength() else None
    shape = _shape(graph, operator.Outputs(0)) if first is not None else []
    name = (first.Name() or b"").decode("utf-8", "replace") if first is not None else ""
    return {"index": index, "op": op, "name": name, "shape": shape, "flops": flops(op, shapes, shape)}


def _op_name(code: tflite.OperatorCode) -> str:
    custom: bytes | None = code.CustomCode()
    if custom:
        return custom.decode("utf-8", "replace")
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    return _builtin_names().get(number, f"BUILTIN_{number}")


@cache
def _builtin_names() -> dict[int, str]:
    return {v: k for k, v in vars(tflite.BuiltinOperator).items() if isinstance(v, int)}


def _shape(graph: tflite.SubGraph, index: int) -> list[int]:
    if index < 0:
        return []
    shape = graph.Tensors(int(index)).ShapeAsNumpy()
    return [int(n) for n in shape] if isinstance(shape, np.ndarray) else []


def flops(op: str, inputs: list[list[int]], output: list[int]) -> int:
    """Two per multiply-add of the ops that do most of the work; others, and what a file cannot mean, count 0."""
    count = _flops(op, inputs, output)
    return count if 0 <= count <= _MOST_FLOPS else 0


def _flops(op: str, inputs: list[list[int]], output: list[int]) -> int:
    size = math.prod(output) if output else 0
    weights = inputs[1] if len(inputs) > 1 else []
    if op == "CONV_2D" and len(weights) == 4:
        return 2 * size * math.prod(weights[1:])
    if op == "DEPTHWISE_CONV_2D" and len(weights) == 4:
        return 2 * size * weights[1] * weights[2]
    if op == "FULLY_CONNECTED" and len(weights) == 2:
        return 2 * size * weights[1]
    if op == "Convolution2DTransposeBias" and len(weights) == 4:
        return 2 * math.prod(inputs[0]) * math.prod(weights[:3])
    if op == "TRANSPOSE_CONV" and len(inputs) > 2 and len(weights) == 4:
        return 2 * math.prod(inputs[2]) * math.prod(weights[:3])
    return 0
