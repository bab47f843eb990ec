"""What keeping every number in half costs a model, whatever the driver: the CPU interpreter runs it with each float tensor
rounded to float16, weights too, and computes in floats between."""

from __future__ import annotations

import copy
import hashlib
import json
import os
from pathlib import Path

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from tests.judge import errors

TRIED = 25  # inputs: of masks that noise leaves a few numbers in, the largest of nine is still small by chance
_FLOAT, _HALF = schema.TensorType.FLOAT32, schema.TensorType.FLOAT16


def with_half_tensors(raw: bytes) -> bytes:
    """The model with a CAST to float16 and one back behind each input and each node that makes floats, and with the
    constants that float16 has."""
    model = schema.ModelT.InitFromPackedBuf(raw, 0)
    cast = schema.OperatorCodeT()
    cast.builtinCode = cast.deprecatedBuiltinCode = schema.BuiltinOperator.CAST
    cast.version = 1
    model.operatorCodes.append(cast)
    constants = set[int]()
    for graph in model.subgraphs:
        constants |= {t.buffer for t in graph.tensors if t.type == _FLOAT and model.buffers[t.buffer].data is not None}
        _round_tensors(model, graph, len(model.operatorCodes) - 1)
    for index in constants:
        floats = np.frombuffer(bytes(model.buffers[index].data), np.float32)
        model.buffers[index].data = np.frombuffer(_rounded(floats).tobytes(), np.uint8)
    builder = flatbuffers.Builder(len(raw) + (1 << 20))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _round_tensors(model: schema.ModelT, graph: schema.SubGraphT, cast: int) -> None:
    def is_rounded(tensor: int) -> bool:
        return tensor >= 0 and graph.tensors[tensor].type == _FLOAT and not graph.tensors[tensor].isVariable

    def like(tensor: int, kind: int) -> int:
        new = copy.copy(graph.tensors[tensor])
        new.name, new.type, new.buffer = f"half {len(graph.tensors)}".encode(), kind, 0
        graph.tensors.append(new)
        return len(graph.tensors) - 1

    def casts(source: int, target: int) -> list[schema.OperatorT]:
        half = like(target, _HALF)
        return [_cast(cast, source, half, _FLOAT, _HALF), _cast(cast, half, target, _HALF, _FLOAT)]

    made: list[schema.OperatorT] = []
    fed = {i: like(i, _FLOAT) for i in graph.inputs if is_rounded(i)}
    for tensor, rounded in fed.items():
        made += casts(tensor, rounded)
    for node in graph.operators:
        if node.inputs is not None:
            node.inputs = np.array([fed.get(int(i), int(i)) for i in node.inputs], np.int32)
        outputs = [int(i) for i in node.outputs]
        exact = {i: like(i, _FLOAT) for i in outputs if is_rounded(i)}
        node.outputs = np.array([exact.get(i, i) for i in outputs], np.int32)
        made.append(node)
        for tensor, unrounded in exact.items():
            made += casts(unrounded, tensor)
    graph.operators = made


def _cast(code: int, source: int, target: int, before: int, after: int) -> schema.OperatorT:
    node = schema.OperatorT()
    node.opcodeIndex = code
    node.inputs, node.outputs = np.array([source], np.int32), np.array([target], np.int32)
    node.builtinOptionsType = schema.BuiltinOptions.CastOptions
    node.builtinOptions = schema.CastOptionsT()
    node.builtinOptions.inDataType, node.builtinOptions.outDataType = before, after
    return node


def _rounded(floats: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return floats.astype(np.float16).astype(np.float32)


def cost(raw: bytes, feeds: list[np.ndarray], kept: Path) -> list[float]:
    """For each output how far half storage moves it, as a part of its range: the largest for these inputs and others
    that are a thousandth beside them. One alone may be small by chance: where rounding moves a model much, it moves it by
    another amount for each. Kept in a file per model and inputs."""
    digest = hashlib.sha256(bytes([TRIED]) + raw + b"".join(feed.tobytes() for feed in feeds)).hexdigest()
    path = kept / f"{digest[:24]}.json"
    if path.exists():
        return json.loads(path.read_text())
    exact, rounded = _opened(raw), _opened(with_half_tensors(raw))
    tried = []
    for turn in range(TRIED):
        fed = [_beside(feed, turn) for feed in feeds]
        pairs = zip(_run(rounded, fed), _run(exact, fed), strict=True)
        tried.append([float(errors(got, want)[0].max()) for got, want in pairs])
    found = [max(column) for column in zip(*tried)]
    kept.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(found))
    new.replace(path)
    return found


def _opened(raw: bytes) -> Interpreter:
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=raw, num_threads=2, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    return interpreter


def _run(interpreter: Interpreter, feeds: list[np.ndarray]) -> list[np.ndarray]:
    for detail, feed in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(detail["index"], feed)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def _beside(feed: np.ndarray, turn: int) -> np.ndarray:
    """Turn 0: the feed itself."""
    if turn == 0 or feed.dtype != np.float32:
        return feed
    return feed * (1 + np.float32(1e-3) * np.random.default_rng(turn).standard_normal(feed.shape, np.float32))
