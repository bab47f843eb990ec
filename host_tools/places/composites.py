"""Composites in the CPU's model that have to be what their names mean.

litert-torch 0.10 decomposes `odml.scaled_dot_product_attention` with one head of keys and values into another function:
where the keys' axes should change places it has a RESHAPE. XNNPACK and Quadra go by the name, the interpreter's own
kernels run the decomposition. So the CPU's model gets one that is right.
"""

from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers

from host_tools.request import model_tree

ATTENTION = b"odml.scaled_dot_product_attention"
_ATTRIBUTES = {"scale", "logit_cap"}


def mean_their_names(model: schema.ModelT) -> int:
    """Changes the decompositions of a tree; how many nodes that is for."""
    found = [one for graph in model.subgraphs for one in graph.operators if _is_attention(one)]
    changed = [_decompose(model, options) for options in (one.builtinOptions2 for one in found)]
    return sum(changed)


def _is_attention(operator: schema.OperatorT) -> bool:
    options = operator.builtinOptions2
    return isinstance(options, schema.StableHLOCompositeOptionsT) and bytes(options.name or b"") == ATTENTION


def _decompose(model: schema.ModelT, options: Any) -> bool:
    """False: the node has attributes, types or sizes that Quadra takes the decomposition for, too."""
    attributes = flexbuffers.Loads(bytes(bytearray(options.compositeAttributes or [])))
    graph = model.subgraphs[options.decompositionSubgraphIndex]
    tensors = [graph.tensors[i] for i in graph.inputs]
    shapes = [list(tensor.shape) for tensor in tensors]
    is_known = (
        isinstance(attributes, dict)
        and "scale" in attributes
        and set(attributes) <= _ATTRIBUTES
        and len(shapes) in (3, 4)
        and all(len(shape) == 4 for shape in shapes)
        and all(tensor.type == schema.TensorType.FLOAT32 for tensor in tensors)
        and shapes[0][2] % shapes[1][2] == 0
    )
    if is_known:
        _Writer(model, graph).attention(shapes, **attributes)
    return is_known


class _Writer:
    """Writes ops into a subgraph, in place of those that are there."""

    def __init__(self, model: schema.ModelT, graph: schema.SubGraphT) -> None:
        self.model, self.graph = model, graph
        graph.operators = []

    def attention(self, shapes: list[list[int]], scale: float, logit_cap: float = 0.0) -> None:
        (b, t, n, h), (_, s, shared, _), (_, _, _, d) = shapes[:3]
        q, k, v, *mask = self.graph.inputs
        if shared != n:  # each head of keys and values as often as it is used
            heads = self.constant(np.repeat(np.arange(shared, dtype=np.int32), n // shared))
            k, v = (self.op("GATHER", [x, heads], (b, s, n, size), "Gather", Axis=2) for x, size in ((k, h), (v, d)))
        order = self.constant(np.array([0, 2, 1, 3], np.int32))
        q, k, v = (
            self.op("TRANSPOSE", [x, order], (b, n, *size)) for x, size in ((q, (t, h)), (k, (s, h)), (v, (s, d)))
        )
        q = self.scaled(q, scale, (b, n, t, h))
        weights = self.op("BATCH_MATMUL", [q, k], (b, n, t, s), "BatchMatMul", AdjY=True)
        if logit_cap:
            bounded = self.op("TANH", [self.scaled(weights, 1 / logit_cap, (b, n, t, s))], (b, n, t, s))
            weights = self.scaled(bounded, logit_cap, (b, n, t, s))
        if mask:
            weights = self.op("ADD", [weights, mask[0]], (b, n, t, s), "Add")
        weights = self.op("SOFTMAX", [weights], (b, n, t, s), "Softmax", Beta=1.0)
        made = self.op("BATCH_MATMUL", [weights, v], (b, n, t, d), "BatchMatMul")
        self.op("TRANSPOSE", [made, order], (b, t, n, d), result=self.graph.outputs[0])

    def scaled(self, tensor: int, factor: float, shape: tuple[int, ...]) -> int:
        return self.op("MUL", [tensor, self.constant(np.array([factor], np.float32))], shape, "Mul")

    def constant(self, values: np.ndarray) -> int:
        buffer = model_tree.Buffer()
        buffer.data = values.tobytes()
        self.model.buffers.append(buffer)
        kind = schema.TensorType.INT32 if values.dtype == np.int32 else schema.TensorType.FLOAT32
        return self._tensor(values.shape, kind, len(self.model.buffers) - 1)

    def op(
        self, name: str, inputs: list[int], shape: tuple[int, ...], options: str = "", result: int = -1, **fields: Any
    ) -> int:
        operator = schema.OperatorT()
        operator.opcodeIndex = self._code(getattr(schema.BuiltinOperator, name))
        made = result if result >= 0 else self._tensor(shape, schema.TensorType.FLOAT32, 0)
        operator.inputs, operator.outputs = inputs, [made]
        if options:
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, f"{options}Options")
            operator.builtinOptions = getattr(schema, f"{options}OptionsT")()
            for field, value in fields.items():
                setattr(operator.builtinOptions, field[0].lower() + field[1:], value)
        self.graph.operators.append(operator)
        return made

    def _code(self, builtin: int) -> int:
        for index, code in enumerate(self.model.operatorCodes):
            if builtin == max(code.builtinCode, code.deprecatedBuiltinCode):
                return index
        code = schema.OperatorCodeT()
        code.builtinCode = builtin
        code.deprecatedBuiltinCode = min(builtin, schema.BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES)
        code.version = 1
        self.model.operatorCodes.append(code)
        return len(self.model.operatorCodes) - 1

    def _tensor(self, shape: tuple[int, ...], kind: int, buffer: int) -> int:
        tensor = schema.TensorT()
        tensor.shape, tensor.type, tensor.buffer = list(shape), kind, buffer
        tensor.name = b"quadra_attention"
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1
