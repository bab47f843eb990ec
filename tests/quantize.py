"""A float model of convolutions as one of int8, quantised after training as converters do: the ranges of its tensors are
measured with the interpreter, weights have a scale for each channel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from host_tools.request import model_tree

_OPS = schema.BuiltinOperator
# The version that takes int8; those that only move numbers keep their scale.
_VERSIONS = {_OPS.CONV_2D: 3, _OPS.DEPTHWISE_CONV_2D: 3, _OPS.ADD: 2, _OPS.RELU: 2, _OPS.PAD: 2, _OPS.MAX_POOL_2D: 2,
             _OPS.RESHAPE: 1, _OPS.CONCATENATION: 2}  # fmt: skip
_MOVES = (_OPS.PAD, _OPS.MAX_POOL_2D, _OPS.RESHAPE, _OPS.CONCATENATION)
_AXES = {_OPS.CONV_2D: 0, _OPS.DEPTHWISE_CONV_2D: 3}  # of the weights' channels


def to_int8(raw: bytes, feeds: Sequence[np.ndarray]) -> bytes:
    """Inputs and outputs too. feeds: what the model's only input may be."""
    model = model_tree.unpack(raw)
    [graph] = model.subgraphs
    ranges = _ranges(raw, feeds)
    _join(model, graph, ranges)
    quantised = set()
    for code in model.operatorCodes:
        builtin = max(code.builtinCode, code.deprecatedBuiltinCode)
        code.version = max(code.version, _VERSIONS[builtin])
    for node in graph.operators:
        for i in (*node.inputs[:1], *node.outputs, *(node.inputs[1:] if _code(model, node) not in _AXES else ())):
            tensor = graph.tensors[i]
            if int(i) not in quantised and tensor.type == schema.TensorType.FLOAT32:
                quantised.add(int(i))
                _as_activation(model, tensor, *ranges[int(i)])
    for node in graph.operators:
        if _code(model, node) in _AXES:
            _weights(model, *(graph.tensors[i] for i in node.inputs), _AXES[_code(model, node)])
    return model_tree.pack(model)


def _code(model, node) -> int:
    code = model.operatorCodes[node.opcodeIndex]
    return max(code.builtinCode, code.deprecatedBuiltinCode)


def _ranges(raw: bytes, feeds: Sequence[np.ndarray]) -> dict[int, list[float]]:
    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    made = Interpreter(model_content=raw, experimental_op_resolver_type=plain, experimental_preserve_all_tensors=True)
    made.allocate_tensors()
    ranges: dict[int, list[float]] = {}
    for feed in feeds:
        made.set_tensor(made.get_input_details()[0]["index"], feed)
        made.invoke()
        for detail in made.get_tensor_details():
            if detail["dtype"] == np.float32:
                numbers = made.get_tensor(detail["index"])
                low, high = ranges.get(detail["index"], [0.0, 0.0])
                ranges[detail["index"]] = [min(low, float(numbers.min())), max(high, float(numbers.max()))]
    return ranges


def _join(model, graph, ranges: dict[int, list[float]]) -> None:
    """One range for all that nodes which only move numbers connect."""
    changed = True
    while changed:
        changed = False
        for node in graph.operators:
            moved = [int(i) for i in (*node.inputs, *node.outputs) if int(i) in ranges]
            whole = [min(ranges[i][0] for i in moved), max(ranges[i][1] for i in moved)]
            if _code(model, node) in _MOVES and any(ranges[i] != whole for i in moved):
                ranges.update(dict.fromkeys(moved, whole))
                changed = True


def _as_activation(model, tensor, low: float, high: float) -> None:
    scale = (high - low) / 255 or 1.0
    zero = round(-128 - low / scale)
    _set(model, tensor, schema.TensorType.INT8, [scale], zero)


def _weights(model, x, weights, bias, axis: int) -> None:
    floats = np.frombuffer(model.buffers[weights.buffer].data, np.float32).reshape(weights.shape)
    scales = np.abs(floats).max(tuple(i for i in range(4) if i != axis)) / 127
    scales = np.where(scales > 0, scales, 1.0)
    along = scales.reshape([-1 if i == axis else 1 for i in range(4)])
    model.buffers[weights.buffer].data = np.round(floats / along).astype(np.int8).tobytes()
    _set(model, weights, schema.TensorType.INT8, scales.tolist(), 0, axis)
    scales = scales * x.quantization.scale[0]
    floats = np.frombuffer(model.buffers[bias.buffer].data, np.float32)
    model.buffers[bias.buffer].data = np.round(floats / scales).astype(np.int32).tobytes()
    _set(model, bias, schema.TensorType.INT32, scales.tolist(), 0)


def _set(model, tensor, kind: int, scales: list[float], zero: int, axis: int = 0) -> None:
    tensor.type = kind
    tensor.quantization = schema.QuantizationParametersT()
    tensor.quantization.scale, tensor.quantization.zeroPoint = scales, [zero] * len(scales)
    tensor.quantization.quantizedDimension = axis
