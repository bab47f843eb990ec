"""The float twin of a quantised model: the same nodes, with the floats that its integers stand for.

It is for comparing times and errors. The numbers are those of the quantised model's constants, not what the weights were
before they were quantised, and activations are no longer rounded to their grids.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from host_tools.base import settings
from host_tools.base.errors import Misuse
from host_tools.record import run_folder
from host_tools.request import model_tree, models

_FLOAT32 = schema.TensorType.FLOAT32
_INTEGERS: dict[int, np.dtype[Any]] = {
    schema.TensorType.INT8: np.dtype("i1"),
    schema.TensorType.UINT8: np.dtype("u1"),
    schema.TensorType.INT16: np.dtype("<i2"),
    schema.TensorType.INT32: np.dtype("<i4"),  # biases; others have no scale
}
_CONVERSIONS = (schema.BuiltinOperator.QUANTIZE, schema.BuiltinOperator.DEQUANTIZE)


def make(name: str) -> Path | None:
    """Makes the twin of a model where `models.float_twin` finds it; its path. None: nothing in it is quantised. Misuse: it cannot
    be made."""
    model = models.find(name)
    path = models.made_twin(model)
    raw = model.path.read_bytes()
    try:
        content = twin(raw)
    except struct.error as error:
        raise model_tree.damaged(name, raw, error) from error
    except (model_tree.CannotPack, ValueError, LookupError, TypeError, AttributeError) as error:
        found = f"{type(error).__name__}: {error}"
        raise Misuse(f"make a float twin of {name}", found, "measure it without --twins") from error
    if content is None:
        return None
    settings.make_folder(path.parent, "QUADRA_DOWNLOADS_DIR")
    run_folder.write_bytes(path, content, "QUADRA_DOWNLOADS_DIR")
    return path


def twin(raw: bytes) -> bytes | None:
    """The file of the twin. None: nothing in the model is quantised; ValueError: something is in a way that this does not know."""
    model = model_tree.unpack(raw)
    count = 0
    for graph in model.subgraphs:
        was = [_make_float(model, tensor) for tensor in graph.tensors]
        count += sum(was)
        _drop_conversions(model, graph, was)
    if not count:
        return None
    used = {tensor.buffer for graph in model.subgraphs for tensor in graph.tensors}
    used |= {entry.buffer for entry in model.metadata or []}
    for index, buffer in enumerate(model.buffers):
        if index not in used:
            buffer.data = None
    return model_tree.pack(model)


def _make_float(model: Any, tensor: Any) -> bool:
    """Whether the tensor was quantised, and is now of floats."""
    quantization = tensor.quantization
    if quantization is None or quantization.scale is None or not len(quantization.scale):
        return False
    if tensor.type not in _INTEGERS:
        if tensor.type == _FLOAT32:
            return False
        raise ValueError(f"{tensor.name!r} is quantised, of type {tensor.type}")
    data = model.buffers[tensor.buffer].data
    if data is not None and len(data):
        values = np.frombuffer(data, _INTEGERS[tensor.type]).reshape(tensor.shape)
        floats = (
            (values - _along(quantization, quantization.zeroPoint or [0], values.ndim))
            * _along(quantization, quantization.scale, values.ndim)
        ).astype("<f4")
        buffer = type(model.buffers[0])()
        buffer.data = floats.tobytes()
        tensor.buffer = len(model.buffers)
        model.buffers.append(buffer)
    tensor.type, tensor.quantization = _FLOAT32, None
    return True


def _along(quantization: Any, numbers: list[float], rank: int) -> np.ndarray:
    """One number, or one for each index of the quantised dimension, so that it meets a tensor of `rank` dimensions."""
    if len(numbers) == 1:
        return np.array(numbers, np.float64)
    sides = [1] * rank
    sides[quantization.quantizedDimension] = -1
    return np.array(numbers, np.float64).reshape(sides)


def _drop_conversions(model: Any, graph: Any, was: list[bool]) -> None:
    """Takes out the nodes between integers and floats: whoever reads what one made reads what it read."""
    renamed: dict[int, int] = {}
    kept = []
    for node in graph.operators:
        node.inputs = [renamed.get(i, i) for i in node.inputs]
        code = model.operatorCodes[node.opcodeIndex]
        converts = max(code.builtinCode, code.deprecatedBuiltinCode) in _CONVERSIONS
        if converts and (was[node.inputs[0]] or was[node.outputs[0]]):
            renamed[node.outputs[0]] = node.inputs[0]
        else:
            kept.append(node)
    graph.operators = kept
    graph.outputs = [renamed.get(i, i) for i in graph.outputs]
    for signature in model.signatureDefs or []:
        for output in signature.outputs or []:
            if model.subgraphs[signature.subgraphIndex] is graph:
                output.tensorIndex = renamed.get(output.tensorIndex, output.tensorIndex)
