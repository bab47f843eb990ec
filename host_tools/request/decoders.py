"""Decoders of language models, as litert-torch exports them: signatures `prefill_N` and `decode`, with tokens, their positions,
perhaps a mask, and the caches of keys and values as inputs and outputs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import tflite

from host_tools.base.errors import Misuse
from host_tools.request import model_tree, signatures

TOKENS, POSITIONS, MASK, LOGITS = "tokens", "input_pos", "mask", "logits"
_DECODE = "decode"
_PREFILL = re.compile(r"prefill(_\w+)?")
_TYPES = {tflite.TensorType.FLOAT32: "float32", tflite.TensorType.FLOAT16: "float16",
          tflite.TensorType.INT8: "int8", tflite.TensorType.BOOL: "bool", tflite.TensorType.INT32: "int32"}  # fmt: skip
_MOST_NUMBERS = 1 << 40  # of a tensor


@dataclass(frozen=True)
class Tensor:
    shape: tuple[int, ...]
    dtype: str

    @property
    def numbers(self) -> int:
        found = 1
        for size in self.shape:
            found *= size
        return found

    @property
    def bytes(self) -> int:
        return self.numbers * {"float16": 2, "int8": 1, "bool": 1}.get(self.dtype, 4)


@dataclass(frozen=True)
class Signature:
    """inputs, outputs: by name."""

    key: str
    tokens: int  # that one call takes
    subgraph: int
    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Tensor]


@dataclass(frozen=True)
class Decoder:
    """prefills: the shortest first. caches: names, the same as inputs and outputs of each signature. positions: how many tokens
    the caches have room for."""

    prefills: tuple[Signature, ...]
    decode: Signature
    caches: tuple[str, ...]
    positions: int

    @property
    def vocabulary(self) -> int:
        return self.decode.outputs[LOGITS].shape[-1]

    @property
    def cache_bytes(self) -> int:
        return sum(self.decode.inputs[name].bytes for name in self.caches)

    def chunks(self, tokens: int) -> list[tuple[Signature, int, int]]:
        """How the first `tokens` of a prompt get into the caches: signature, first position, count. A call is filled up where
        the caches have room for it; what is left is for single steps of `decode`."""
        found, at = [], 0
        while at < tokens:
            room, left = self.positions - at, tokens - at
            fits = [one for one in self.prefills if one.tokens <= room]
            whole = [one for one in fits if one.tokens >= left]
            chosen = whole[0] if whole else fits[-1] if fits else self.decode
            count = min(left, chosen.tokens)
            found.append((chosen, at, count))
            at += count
        return found


def read(content: bytes, model: str) -> Decoder:
    """Misuse where the model is none of this form, with what it lacks."""
    keys = signatures.names(content)
    if _DECODE not in keys:
        there = f"its signatures are {', '.join(keys)}" if keys else "it has no signatures"
        raise _no_decoder(model, f"{there}; a decoder has `decode`, and `prefill` or `prefill_N`")
    found = {key: _signature(content, key, model) for key in keys if key == _DECODE or _PREFILL.fullmatch(key)}
    decode = found.pop(_DECODE)
    caches = tuple(name for name in decode.inputs if name in decode.outputs)
    if not caches:
        raise _no_decoder(model, "`decode` has no cache: a tensor that is an input and an output")
    if decode.tokens != 1:
        raise _no_decoder(model, f"`decode` takes {decode.tokens} tokens, not one")
    logits = [name for name in decode.outputs if name not in caches]
    if len(logits) != 1 or decode.outputs[logits[0]].dtype != "float32":
        raise _no_decoder(model, f"`decode` gives {', '.join(logits) or 'nothing'} beside its caches, not logits alone")
    renamed = {LOGITS if name == logits[0] else name: tensor for name, tensor in decode.outputs.items()}
    decode = Signature(decode.key, 1, decode.subgraph, decode.inputs, renamed)
    for one in (decode, *found.values()):
        _check(one, decode, caches, model)
    positions = _positions(content, decode, caches)
    if not positions:
        raise _no_decoder(model, "nothing tells how many tokens its caches hold: no mask, and no DYNAMIC_UPDATE_SLICE")
    return Decoder(tuple(sorted(found.values(), key=lambda one: one.tokens)), decode, caches, positions)


def logits_name(content: bytes, decoder: Decoder) -> str:
    """The model's own name of the output that is LOGITS here."""
    outputs = signatures.entry(content, decoder.decode.key).outputs
    return next(name for name, _ in outputs if name not in decoder.caches)


def has_integer_weights(content: bytes) -> bool:
    """Whether a tensor has a scale, or scales for blocks of it."""
    root = tflite.Model.GetRootAs(content, 0)
    graphs = [root.Subgraphs(i) for i in range(root.SubgraphsLength())]
    grids = (graph.Tensors(i).Quantization() for graph in graphs for i in range(graph.TensorsLength()))
    return any(grid is not None and (grid.ScaleLength() > 0 or grid.DetailsType() > 0) for grid in grids)


def _check(one: Signature, decode: Signature, caches: tuple[str, ...], model: str) -> None:
    known = {TOKENS, POSITIONS, MASK, *caches}
    strange = [name for name in one.inputs if name not in known]
    if strange:
        raise _no_decoder(model, f"`{one.key}` has an input '{strange[0]}': not tokens, input_pos, mask or a cache")
    missing = [name for name in (TOKENS, POSITIONS, *caches) if name not in one.inputs]
    missing += [name for name in caches if name not in one.outputs]
    if missing:
        raise _no_decoder(model, f"`{one.key}` has no '{missing[0]}'")
    for name in (TOKENS, POSITIONS):
        if one.inputs[name].dtype != "int32" or one.inputs[name].numbers != one.tokens:
            raise _no_decoder(model, f"`{one.key}` has a '{name}' that is not one int32 for each token")
    for name in caches:
        if not one.inputs[name] == one.outputs[name] == decode.inputs[name]:
            raise _no_decoder(model, f"the cache '{name}' has another shape or type in `{one.key}`")
    mask = one.inputs.get(MASK)
    if mask and (mask.dtype not in ("float32", "bool") or mask.shape[-2:-1] != (one.tokens,)):
        raise _no_decoder(model, f"the mask of `{one.key}` is not [1, 1, tokens, positions] of float32 or bool")


def _signature(content: bytes, key: str, model: str) -> Signature:
    entry = signatures.entry(content, key)
    try:
        graph = tflite.Model.GetRootAs(content, 0).Subgraphs(entry.subgraph)
        inputs, outputs = (
            {name: _tensor(graph.Tensors(i)) for name, i in end} for end in (entry.inputs, entry.outputs)
        )
    except Exception as error:  # flatbuffers raises whatever a bad offset leads to
        raise model_tree.damaged(model, content, error) from error
    for name, tensor in {**inputs, **outputs}.items():
        if not tensor.dtype or min(tensor.shape, default=1) < 1 or tensor.numbers > _MOST_NUMBERS:
            raise _no_decoder(model, f"'{name}' of `{key}` has sizes that are not known, or another type")
    tokens = inputs.get(TOKENS)
    return Signature(key, tokens.numbers if tokens else 0, entry.subgraph, inputs, outputs)


def _tensor(tensor: tflite.Tensor) -> Tensor:
    free = tensor.ShapeSignatureLength() and -1 in tensor.ShapeSignatureAsNumpy().tolist()
    shape = (0,) if free else tuple(tensor.Shape(i) for i in range(tensor.ShapeLength()))
    return Tensor(shape, _TYPES.get(tensor.Type(), ""))


def _positions(content: bytes, decode: Signature, caches: tuple[str, ...]) -> int:
    """The mask's last axis, or that of a cache which its update is shorter along; 0: neither is there."""
    if MASK in decode.inputs:
        return decode.inputs[MASK].shape[-1]
    root = tflite.Model.GetRootAs(content, 0)
    graph = root.Subgraphs(decode.subgraph)
    ends = {tensor for name, tensor in signatures.entry(content, decode.key).outputs if name in caches}
    for index in range(graph.OperatorsLength()):
        one = graph.Operators(index)
        code = root.OperatorCodes(one.OpcodeIndex()).BuiltinCode()
        if code != tflite.BuiltinOperator.DYNAMIC_UPDATE_SLICE or not ends & set(one.OutputsAsNumpy().tolist()):
            continue
        whole, update = (_tensor(graph.Tensors(one.Inputs(i))).shape for i in range(2))
        shorter = [a for a, b in zip(whole, update) if b == 1 < a]
        if len(shorter) == 1:
            return shorter[0]
    return 0


def _no_decoder(model: str, came_back: str) -> Misuse:
    return Misuse(f"generate with {model}", came_back, "give a decoder as litert-torch exports it: docs/generate.md")
