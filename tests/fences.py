"""Puts nodes that Quadra leaves to the CPU between the nodes of any model, so that it runs in several partitions."""

from __future__ import annotations

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

_FLOAT32, _INT32 = schema.TensorType.FLOAT32, schema.TensorType.INT32


def fenced(model: bytes, every: int) -> bytes:
    """The model with a BITCAST to int32 and one back behind each `every`-th node that computes floats: the same
    numbers to the last bit. Nodes that make constants (DEQUANTIZE, DENSIFY) do not count."""
    root = schema.ModelT.InitFromPackedBuf(model, 0)
    graph = root.subgraphs[0]
    code = schema.OperatorCodeT()
    code.builtinCode, code.deprecatedBuiltinCode, code.version = schema.BuiltinOperator.BITCAST, 127, 1
    root.operatorCodes.append(code)
    nodes, seen = [], 0
    renamed: dict[int, int] = {}  # a fenced tensor -> what its later readers read
    for node in graph.operators:
        node.inputs = [renamed.get(int(i), int(i)) for i in node.inputs]
        nodes.append(node)
        output = int(node.outputs[0])
        if not _computes(root, graph, node) or output in map(int, graph.outputs):
            continue
        seen += 1
        if seen % every == 0:
            bits, back = _like(graph, output, _INT32), _like(graph, output, _FLOAT32)
            nodes += [_bitcast(root, output, bits), _bitcast(root, bits, back)]
            renamed[output] = back
    graph.operators = nodes
    builder = flatbuffers.Builder(len(model))
    builder.Finish(root.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _computes(root, graph, node) -> bool:
    code = root.operatorCodes[node.opcodeIndex]
    constant = max(code.builtinCode, code.deprecatedBuiltinCode) in (
        schema.BuiltinOperator.DEQUANTIZE,
        schema.BuiltinOperator.DENSIFY,
    )
    return not constant and len(node.outputs) == 1 and graph.tensors[int(node.outputs[0])].type == _FLOAT32


def _like(graph, tensor: int, kind: int) -> int:
    old, new = graph.tensors[tensor], schema.TensorT()
    new.shape, new.type, new.buffer = old.shape, kind, 0
    new.name = f"fence_{len(graph.tensors)}"
    graph.tensors.append(new)
    return len(graph.tensors) - 1


def _bitcast(root, source: int, to: int):
    node = schema.OperatorT()
    node.opcodeIndex, node.inputs, node.outputs = len(root.operatorCodes) - 1, [source], [to]
    return node
