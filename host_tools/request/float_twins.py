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
    schema.TensorType.INT64: np.dtype("<i8"),  # biases next to activations of 16 bits
}
_BITS = {schema.TensorType.INT4: 4, schema.TensorType.INT2: 2}  # several numbers a byte, the first in the lowest bits
_SCALES = {schema.TensorType.FLOAT16: "<f2", schema.TensorType.FLOAT32: "<f4"}  # of blocks
_MOST_BYTES = 2**31 - 1  # of a file
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
        was = [_make_float(model, graph, tensor) for tensor in graph.tensors]
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


def with_float_weights(raw: bytes) -> tuple[bytes, list[tuple[int, int]]] | None:
    """The file, with floats instead of the integer weights of nodes that read float activations, and which nodes these are:
    subgraph and index.

    TFLite's kernels round the activations of such nodes (dynamic-range quantisation) to 8 bits, the CPU's own error; with the
    same weights as floats they do not. Tensors and nodes keep their numbers. None: the model has no such node; ValueError or
    LookupError: something is in a way that this does not know; CannotPack: the file would be too large.
    """
    model = model_tree.unpack(raw)
    made: dict[Any, int] = {}  # buffers, by what they are made of: signatures share weights
    found = []
    for number, graph in enumerate(model.subgraphs):
        twins: dict[int, int] = {}
        for index, node in enumerate(graph.operators):
            weights = _integer_weights(model, graph, node)
            found += [(number, index)] if weights else []
            for place in weights:
                tensor = node.inputs[place]
                if tensor not in twins:
                    twins[tensor] = _float_twin(model, graph, graph.tensors[tensor], made)
                node.inputs[place] = twins[tensor]
    return (model_tree.pack(model), found) if found else None


def _integer_weights(model: Any, graph: Any, node: Any) -> list[int]:
    """Which inputs of the node are weights of integers that meet float activations."""
    code = model.operatorCodes[node.opcodeIndex]
    if code.customCode or model_tree.calls(node):
        return []
    read = [(place, graph.tensors[i]) for place, i in enumerate(node.inputs) if i >= 0]
    if not any(tensor.type == _FLOAT32 and not _stored(model, tensor) for _, tensor in read):
        return []
    return [
        place
        for place, tensor in read
        if tensor.type in {*_INTEGERS, *_BITS} and _has_grid(tensor) and _stored(model, tensor)
    ]


def stored_floats(model: Any, graph: Any, tensor: Any) -> np.ndarray | None:
    """What a constant's integers stand for; None: they stand for nothing else. ValueError or LookupError: in a way that this
    does not know."""
    return _floats(model, graph, tensor) if _has_grid(tensor) and tensor.type in {*_INTEGERS, *_BITS} else None


def _stored(model: Any, tensor: Any) -> bool:
    return bool(model.buffers[tensor.buffer].data)


def _has_grid(tensor: Any) -> bool:
    quantization = tensor.quantization
    return quantization is not None and bool(quantization.scale or quantization.details is not None)


def _float_twin(model: Any, graph: Any, tensor: Any, made: dict[Any, int]) -> int:
    """The number of a new tensor with the floats that this one's integers stand for."""
    grid = tensor.quantization
    scales = graph.tensors[grid.details.scales].buffer if hasattr(grid.details, "scales") else 0
    key = (tensor.buffer, str(grid.scale), str(grid.zeroPoint), scales)
    if key not in made:
        made[key] = _add_buffer(model, _floats(model, graph, tensor))
        if sum(len(buffer.data or b"") for buffer in model.buffers) > _MOST_BYTES:
            raise model_tree.CannotPack("with floats as its weights the model is larger than a file can be")
    twin = schema.TensorT()
    twin.shape, twin.type, twin.buffer, twin.name = tensor.shape, _FLOAT32, made[key], tensor.name
    graph.tensors.append(twin)
    return len(graph.tensors) - 1


def _floats(model: Any, graph: Any, tensor: Any) -> np.ndarray:
    """What a stored tensor's integers stand for."""
    grid, data = tensor.quantization, model.buffers[tensor.buffer].data
    if tensor.sparsity is not None:
        raise ValueError(f"{tensor.name!r} is stored sparsely")
    values = _integers(data, tensor)
    if grid.details is None:
        zeros = _along(grid, grid.zeroPoint or [0], values.ndim)
        floats: np.ndarray = ((values - zeros) * _along(grid, grid.scale, values.ndim)).astype("<f4")
        return floats
    if not isinstance(grid.details, schema.BlockwiseQuantizationT) or grid.details.zeroPoints > 0:
        raise ValueError(f"{tensor.name!r} has a grid of a kind that is not known here")
    kept = graph.tensors[grid.details.scales]
    if kept.type not in _SCALES:
        raise ValueError(f"the scales of {tensor.name!r} are of type {kept.type}")
    scales = np.frombuffer(model.buffers[kept.buffer].data, _SCALES[kept.type]).reshape(kept.shape)
    floats = values * np.repeat(scales.astype("f8"), grid.details.blockSize, axis=-1)
    return floats.astype("<f4")


def _integers(data: bytes, tensor: Any) -> np.ndarray:
    bits = _BITS.get(tensor.type)
    if not bits:
        return np.frombuffer(data, _INTEGERS[tensor.type]).reshape(tensor.shape)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    packed = (np.frombuffer(data, np.uint8)[:, None] >> shifts).astype(np.uint8).reshape(-1)
    signed = (packed << (8 - bits)).astype(np.int8) >> (8 - bits)
    return signed[: int(np.prod(tensor.shape))].reshape(tensor.shape)


def _add_buffer(model: Any, floats: np.ndarray) -> int:
    buffer = type(model.buffers[0])()
    buffer.data = floats.tobytes()
    model.buffers.append(buffer)
    return len(model.buffers) - 1


def _make_float(model: Any, graph: Any, tensor: Any) -> bool:
    """Whether the tensor was quantised, and is now of floats."""
    if not _has_grid(tensor) or tensor.type == _FLOAT32:
        return False
    if tensor.type not in {*_INTEGERS, *_BITS}:
        raise ValueError(f"{tensor.name!r} is quantised, of type {tensor.type}")
    if _stored(model, tensor):
        tensor.buffer = _add_buffer(model, _floats(model, graph, tensor))
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
