"""Random edits of a model: in the schema's tree, where each field gets what it must not have, and in the bytes."""

import random
from collections.abc import Callable, Sequence

from ai_edge_litert import schema_py_generated as schema

from host_tools.dev.fuzz.edits import Edit, Key, at, children

_INT32 = [0, 1, -1, 2, 3, 7, 17, 64, 255, 4096, 65536, 1 << 20, (1 << 30) + 1, (1 << 31) - 1, -(1 << 31)]
_FLOATS = [0.0, -1.0, 1e-38, 1e38, float("inf"), float("-inf"), float("nan"), 0.5]
_WORDS = [b"", b"\x00", b"\xff\xfe", b"%s%n", b"a" * 5000, b"Convolution2DTransposeBias", b"../../x"]
_CONSTANTS = [b"\x00\x00\x80\x7f", b"\x00\x00\xc0\x7f", b"\xff\xff\x7f\x7f", b"\x00\x00\x00\x00", b"\xff\xff\xff\xff",
              b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\x01\x00\x00\x00"]  # fmt: skip
_TYPES = 26  # tensor types of the schema, and a few more
_OPERATORS = 215  # builtin operators, and a few more

Place = tuple[Key, ...]


def some(model: schema.ModelT, raw: bytes, chosen: random.Random) -> list[Edit]:
    """One to a few edits of `model`, whose file is `raw`."""
    if chosen.random() < 0.2:
        return [_byte(raw, chosen) for _ in range(chosen.choice([1, 1, 2, 4, 8]))]
    count = chosen.choice([1, 1, 1, 2, 2, 3, 5])
    weights = [weight for weight, _ in _MUTATIONS]
    picked = chosen.choices([mutation for _, mutation in _MUTATIONS], weights, k=count)
    return [edit for mutation in picked for edit in mutation(model, chosen)]


def _byte(raw: bytes, chosen: random.Random) -> Edit:
    offset = chosen.randrange(8, len(raw))
    return Edit("byte", (offset,), chosen.choice([0, 1, 0x7F, 0x80, 0xFF, raw[offset] ^ 1 << chosen.randrange(8)]))


# --- tensors


def _shape(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    tensor = _any_of(model, "tensors", chosen)
    name = chosen.choice(["shape", "shape", "shape", "shapeSignature"])
    return _vector(model, (*tensor, name), chosen, lambda old: _size(old, chosen))


def _type(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    return [Edit("set", (*_any_of(model, "tensors", chosen), "type"), chosen.randrange(_TYPES))]


def _buffer_of_tensor(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    count = len(model.buffers or [])
    number = chosen.choice([0, chosen.randrange(count + 1), count, (1 << 32) - 1])
    return [Edit("set", (*_any_of(model, "tensors", chosen), "buffer"), number)]


def _flag_of_tensor(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    name = chosen.choice(["isVariable", "hasRank"])
    return [Edit("set", (*_any_of(model, "tensors", chosen), name), chosen.random() < 0.7)]


def _quantization(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    tensor = _any_of(model, "tensors", chosen)
    if chosen.random() < 0.2:
        return [Edit("delete", (*tensor, "quantization"))]
    made = schema.QuantizationParametersT()
    made.scale = [chosen.choice([*_FLOATS, 0.5, 0.1]) for _ in range(chosen.choice([0, 1, 1, 2, 8]))]
    made.zeroPoint = [chosen.choice(_INT32) for _ in range(chosen.choice([0, 1, 1, 2, 8]))]
    made.quantizedDimension = chosen.choice([0, 0, 1, 3, -1, 1 << 20])
    return [Edit("set", (*tensor, "quantization"), made)]


def _sparsity(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    sparse = [place for place in _all_of(model, "tensors") if at(model, place).sparsity is not None]
    if sparse and chosen.random() < 0.8:
        return [_leaf(model, (*chosen.choice(sparse), "sparsity"), chosen)]
    made = schema.SparsityParametersT()
    made.traversalOrder = [chosen.choice([0, 1, 2, 3, -1, 7]) for _ in range(chosen.randrange(5))]
    made.blockMap = chosen.choice([None, [0], [1, 1]])
    level = schema.DimensionMetadataT()
    level.denseSize = chosen.choice(_INT32)
    made.dimMetadata = [level] * chosen.randrange(4)
    return [Edit("set", (*_any_of(model, "tensors", chosen), "sparsity"), made)]


# --- nodes


def _operand(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    place = (*_any_of(model, "operators", chosen), chosen.choice(["inputs", "inputs", "outputs", "intermediates"]))
    return _vector(model, place, chosen, lambda old: _index(model, place, chosen))


def _ends(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    place = ("subgraphs", _subgraph(model, chosen), chosen.choice(["inputs", "outputs"]))
    return _vector(model, place, chosen, lambda old: _index(model, place, chosen))


def _option(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    node = _any_of(model, "operators", chosen)
    kind = chosen.randrange(10)
    if kind == 0:
        return [Edit("set", (*node, "builtinOptionsType"), chosen.randrange(130))]
    if kind == 1:
        return [Edit("delete", (*node, "builtinOptions")), Edit("set", (*node, "builtinOptionsType"), 0)]
    if kind == 2:
        return [Edit("set", (*node, "customOptions"), list(chosen.choice(_CONSTANTS) * chosen.randrange(5)))]
    return [_leaf(model, (*node, "builtinOptions"), chosen)]


def _nodes(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    node = _any_of(model, "operators", chosen)
    if chosen.random() < 0.4:
        return [Edit("delete", node)]
    other = _any_of(model, "operators", chosen)
    return [Edit("insert", other, at(model, node))]


def _code(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    count = len(model.operatorCodes or [])
    if not count or chosen.random() < 0.3:
        number = chosen.choice([0, chosen.randrange(count + 1), count, (1 << 32) - 1])
        return [Edit("set", (*_any_of(model, "operators", chosen), "opcodeIndex"), number)]
    place = ("operatorCodes", chosen.randrange(count))
    kind = chosen.randrange(4)
    if kind == 0:
        return [Edit("set", (*place, "version"), chosen.choice([0, 1, 2, 3, 5, 9, 100, -1, (1 << 31) - 1]))]
    if kind == 1:
        return [Edit("set", (*place, "customCode"), chosen.choice(_WORDS))]
    code = chosen.randrange(_OPERATORS)
    return [Edit("set", (*place, "builtinCode"), code), Edit("set", (*place, "deprecatedBuiltinCode"), min(code, 127))]


# --- constants, and whatever else there is


def _constant(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    filled = [i for i, buffer in enumerate(model.buffers or []) if buffer.data]
    if not filled:
        return []
    place = ("buffers", chosen.choice(filled), "data")
    data = bytearray(at(model, place))
    kind = chosen.randrange(4)
    if kind == 0:
        data = data[: chosen.randrange(len(data))]
    elif kind == 1:
        data += data[: chosen.randrange(len(data)) + 1]
    else:
        word, cell = chosen.choice(_CONSTANTS), 4 * chosen.randrange(max(1, len(data) // 4))
        data[cell : cell + 4] = word
    return [Edit("set", place, bytes(data))]


def _stored_elsewhere(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    place = ("buffers", chosen.randrange(len(model.buffers or [0])))
    return [Edit("set", (*place, chosen.choice(["offset", "size"])), chosen.choice([0, 1, 8, 1 << 32, (1 << 64) - 1]))]


def _anything(model: schema.ModelT, chosen: random.Random) -> list[Edit]:
    return [_leaf(model, (chosen.choice(["subgraphs", "subgraphs", "operatorCodes", "signatureDefs"]),), chosen)]


_MUTATIONS: Sequence[tuple[int, Callable[[schema.ModelT, random.Random], list[Edit]]]] = (
    (5, _shape),
    (3, _type),
    (2, _buffer_of_tensor),
    (1, _flag_of_tensor),
    (2, _quantization),
    (2, _sparsity),
    (6, _operand),
    (2, _ends),
    (6, _option),
    (3, _nodes),
    (3, _code),
    (3, _constant),
    (1, _stored_elsewhere),
    (2, _anything),
)


# --- parts


def _leaf(model: schema.ModelT, place: Place, chosen: random.Random) -> Edit:
    """An edit of some number, word or table below a place."""
    try:
        node = at(model, place)
    except LookupError:
        return Edit("delete", place)
    while True:
        below = children(node)
        if not below or chosen.random() < 0.03:
            break
        key, node = chosen.choice(below)
        place = (*place, key)
    if isinstance(node, bool):
        return Edit("set", place, not node)
    if isinstance(node, int):
        return Edit("set", place, _number(node, chosen))
    if isinstance(node, float):
        return Edit("set", place, chosen.choice(_FLOATS))
    if isinstance(node, (bytes, str)):
        return Edit("set", place, chosen.choice(_WORDS))
    return Edit("delete", place)


def _vector(model: schema.ModelT, place: Place, chosen: random.Random, value: Callable[[int], int]) -> list[Edit]:
    """An element set, left out, or put in; or the vector taken away."""
    try:
        cells = at(model, place)
    except LookupError:
        return []
    if not cells or chosen.random() < 0.05:
        return [Edit("set", place, chosen.choice([None, [], [value(1)], [value(1)] * 9]))]
    cell, kind = chosen.randrange(len(cells)), chosen.choice(["set", "set", "set", "delete", "insert"])
    return [Edit(kind, (*place, cell), None if kind == "delete" else value(cells[cell]))]


def _number(old: int, chosen: random.Random) -> int:
    """Small ones first: fields have as few as eight bits."""
    return chosen.choice([0, 1, -1, 2, 3, 5, 9, 100, 127, old + 1, old - 1, -old, *_INT32])


def _size(old: int, chosen: random.Random) -> int:
    return chosen.choice([0, 1, old + 1, old - 1, 2 * old, old, 5, 33, chosen.choice(_INT32)])


def _index(model: schema.ModelT, place: Place, chosen: random.Random) -> int:
    count = len(model.subgraphs[place[1]].tensors or [])
    far = [-1, -2, count, count + 1000, (1 << 31) - 1, -(1 << 31)]
    return chosen.choice(far) if chosen.random() < 0.3 else chosen.randrange(max(1, count))


def _subgraph(model: schema.ModelT, chosen: random.Random) -> int:
    return chosen.randrange(max(1, len(model.subgraphs or [])))


def _all_of(model: schema.ModelT, what: str) -> list[Place]:
    graphs = enumerate(model.subgraphs or [])
    return [("subgraphs", g, what, i) for g, graph in graphs for i in range(len(getattr(graph, what) or []))]


def _any_of(model: schema.ModelT, what: str, chosen: random.Random) -> Place:
    return chosen.choice(_all_of(model, what) or [("subgraphs", 0, what, 0)])
