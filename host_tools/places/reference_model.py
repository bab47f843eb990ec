"""A model that the CPU interpreter can run: custom ops that only the delegate knows become builtin ones, and composites
become what their names mean (composites.py).

Convolution2DTransposeBias(input, weights OHWI, bias) is TRANSPOSE_CONV(output_shape, weights, input, bias) of
version 3. Its custom options are the first fields of TfLiteTransposeConvParams, little-endian int32:
padding (1 SAME, 2 VALID), stride_width, stride_height.
"""

import struct
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from host_tools.base.errors import Misuse
from host_tools.base.units import counted
from host_tools.places import composites
from host_tools.request import float_twins, model_facts, model_tree

TRANSPOSE_CONV_BIAS = b"Convolution2DTransposeBias"
# What the pose and face models of MediaPipe need more is rewritten here when the delegate learns it.
_PADDING = {1: schema.Padding.SAME, 2: schema.Padding.VALID}


def for_cpu(model_path: Path) -> tuple[bytes, list[str]]:
    """The model's bytes, rewritten where that is needed, and a sentence per kind of rewrite.

    A model that needs no rewrite comes back byte for byte. Custom ops that nobody can rewrite stay;
    `unknown_custom_ops` names them.
    """
    content = Path(model_path).read_bytes()
    if composites.ATTENTION in content:
        content, notes = _with_composites(content, Path(model_path))
        return content, notes  # no model has both
    if TRANSPOSE_CONV_BIAS not in content:
        return content, []
    model = _unpack(content, model_path)
    codes = [i for i, code in enumerate(model.operatorCodes) if code.customCode == TRANSPOSE_CONV_BIAS]
    count = 0
    for graph in model.subgraphs:
        for operator in graph.operators:
            if operator.opcodeIndex in codes:
                _to_transpose_conv(model, graph, operator)
                count += 1
    for index in codes:
        _make_builtin(model.operatorCodes[index])
    builder = flatbuffers.Builder(len(content) + 4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    name = TRANSPOSE_CONV_BIAS.decode()
    return bytes(builder.Output()), [f"{count} x {name} given to the CPU as TRANSPOSE_CONV with bias"]


def _with_composites(content: bytes, path: Path) -> tuple[bytes, list[str]]:
    try:
        model = model_tree.unpack(content)
        count = composites.mean_their_names(model)
        made = model_tree.pack(model) if count else content
    except model_tree.CannotPack as error:
        return content, [f"{composites.ATTENTION.decode()} runs as its decomposition on the CPU: {error}"]
    except Exception as error:  # flatbuffers raises whatever a bad offset leads to
        raise model_tree.damaged(str(path), content, error) from error
    return made, [f"{count} x {composites.ATTENTION.decode()}: the CPU computes what the name means"] if count else []


@dataclass(frozen=True)
class Exact:
    """A model for the reference kernels, which rounds no more than it says itself."""

    content: bytes
    quantised: bool  # its kernels round what they compute
    float_weights: tuple[tuple[int, int], ...] = ()  # nodes whose integer weights became floats: subgraph and index

    def rewrites(self) -> list[str]:
        """A sentence per kind of rewrite."""
        if not self.float_weights:
            return []
        return [
            f"the reference has floats instead of the integer weights of {counted(len(self.float_weights), 'node')}: it rounds no activations"
        ]


def exact(content: bytes) -> Exact:
    """With floats instead of integer weights where those meet float activations: the kernels for these round the activations,
    by a few per cent of an output's range. A model that needs no change, or cannot have it, comes back as it is."""
    try:
        made = float_twins.with_float_weights(content)
    except (model_tree.CannotPack, ValueError, LookupError, TypeError, AttributeError):
        return Exact(content, quantised=True)
    if made is None:
        return Exact(content, model_facts.is_quantised(content))
    return Exact(made[0], model_facts.is_quantised(made[0]), tuple(made[1]))


def for_reference(content: bytes, on_cpu: Collection[tuple[int, int]]) -> list[Exact]:
    """What the reference kernels get, in the order of choice. on_cpu: nodes (subgraph and index) that the judged run left to the
    CPU; if integer weights meet activations there, the run itself rounds these, and so does the reference."""
    found, as_it_is = exact(content), Exact(content, quantised=True)
    if not found.float_weights:
        return [found]
    return [as_it_is] if set(on_cpu) & set(found.float_weights) else [found, as_it_is]


def custom_ops(content: bytes) -> dict[str, int]:
    """Custom ops of a model and how often each occurs."""
    model = schema.Model.GetRootAs(content, 0)
    names = [model.OperatorCodes(i).CustomCode() for i in range(model.OperatorCodesLength())]
    counts: dict[str, int] = {}
    for g in range(model.SubgraphsLength()):
        graph = model.Subgraphs(g)
        for i in range(graph.OperatorsLength()):
            name = names[graph.Operators(i).OpcodeIndex()]
            if name:
                text = name.decode("utf-8", "replace")
                counts[text] = counts.get(text, 0) + 1
    return counts


def _unpack(content: bytes, path: Path) -> schema.ModelT:
    try:
        return schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    except Exception as error:  # flatbuffers raises whatever a bad offset leads to
        raise model_tree.damaged(str(path), content, error) from error


def _to_transpose_conv(model: schema.ModelT, graph: schema.SubGraphT, operator: schema.OperatorT) -> None:
    source, weights, *bias = (int(i) for i in operator.inputs)
    padding, stride_w, stride_h = _params(operator.customOptions)
    shape = _output_shape(graph, source, weights, padding, stride_h, stride_w)
    operator.inputs = np.array([_add_int32_constant(model, graph, shape), weights, source, *bias], np.int32)
    options = schema.TransposeConvOptionsT()
    options.padding, options.strideW, options.strideH = _PADDING[padding], stride_w, stride_h
    operator.builtinOptionsType = schema.BuiltinOptions.TransposeConvOptions
    operator.builtinOptions, operator.customOptions = options, None


def _params(options: Iterable[int] | None) -> tuple[int, int, int]:
    data = bytes(bytearray(options)) if options is not None else b""
    if len(data) < 12:
        raise Misuse(
            "rewrite Convolution2DTransposeBias for the CPU",
            f"its options have {len(data)} bytes, at least 12 are needed",
            "the model is damaged: fetch it again",
        )
    padding, stride_w, stride_h = struct.unpack_from("<3i", data)
    if padding not in _PADDING or stride_w < 1 or stride_h < 1:
        raise Misuse(
            "rewrite Convolution2DTransposeBias for the CPU",
            f"its options say padding {padding}, strides {stride_h} x {stride_w}",
            "the model is damaged: fetch it again",
        )
    return padding, stride_w, stride_h


def _output_shape(
    graph: schema.SubGraphT, source: int, weights: int, padding: int, stride_h: int, stride_w: int
) -> list[int]:
    b, h, w, _ = (int(n) for n in graph.tensors[source].shape)
    o, kernel_h, kernel_w, _ = (int(n) for n in graph.tensors[weights].shape)
    return [b, _output_size(h, kernel_h, stride_h, padding), _output_size(w, kernel_w, stride_w, padding), o]


def _output_size(size: int, kernel: int, stride: int, padding: int) -> int:
    """As MediaPipe's own kernel has it: what SAME cuts off follows from the input's size."""
    cut = max(0, kernel - (size - 1) % stride - 1) if padding == 1 else 0
    return (size - 1) * stride + kernel - cut


def _add_int32_constant(model: schema.ModelT, graph: schema.SubGraphT, values: list[int]) -> int:
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(np.array(values, "<i4").tobytes(), np.uint8)
    model.buffers.append(buffer)
    tensor = schema.TensorT()
    tensor.shape = np.array([len(values)], np.int32)
    tensor.type = schema.TensorType.INT32
    tensor.buffer = len(model.buffers) - 1
    tensor.name = b"quadra_output_shape"
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1


def _make_builtin(code: schema.OperatorCodeT) -> None:
    code.customCode = None
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.TRANSPOSE_CONV
    code.version = 3
