"""Edits of a .tflite file, each a plain value: a list of them and the file they start from say what a mutated model is.

Most edits name a place in the schema's own tree (subgraphs/0/tensors/3/shape/1) and what happens there; those of kind
`byte` change the finished file. Edits whose place an earlier one took away do nothing, so that any of them can be left out.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

Key = str | int

_IDENTIFIER = b"TFL3"
_ALIGNMENT = 16  # of constants, as the format wants it


@dataclass(frozen=True)
class Edit:
    """What happens at a place. kind: set, delete, insert (before the place), or byte (at an offset of the file)."""

    kind: str
    place: tuple[Key, ...]
    value: Any = None

    def __str__(self) -> str:
        shown = "/".join(map(str, self.place))
        return f"delete {shown}" if self.kind == "delete" else f"{self.kind} {shown} {_short(self.value)}"


class CannotPack(Exception):
    """The edits made something that the format has no room for: a number too large for its field."""


class _Buffer(schema.BufferT):  # type: ignore[misc]  # ai-edge-litert has no types
    """A constant that is written with the alignment that kernels count on."""

    def Pack(self, builder: flatbuffers.Builder) -> Any:
        data = None
        if self.data is not None and len(self.data):
            raw = bytes(self.data)
            builder.StartVector(1, len(raw), _ALIGNMENT)
            builder.head -= len(raw)
            builder.Bytes[builder.head : builder.head + len(raw)] = raw
            data = builder.EndVector()
        schema.BufferStart(builder)
        if data is not None:
            schema.BufferAddData(builder, data)
        schema.BufferAddOffset(builder, self.offset)
        schema.BufferAddSize(builder, self.size)
        return schema.BufferEnd(builder)


def unpack(raw: bytes) -> schema.ModelT:
    """The tree of a file that is whole. Vectors of numbers are lists, constants are bytes."""
    model = schema.ModelT.InitFromPackedBuf(raw)
    for buffer in model.buffers or []:
        buffer.__class__ = _Buffer
        buffer.data = None if buffer.data is None else bytes(buffer.data)
    return _listed(model)


def pack(model: schema.ModelT) -> bytes:
    """The file of a tree."""
    builder = flatbuffers.Builder(4096)
    try:
        builder.Finish(model.Pack(builder), file_identifier=_IDENTIFIER)
    except Exception as error:  # each type of the generated code complains in its own way
        raise CannotPack(f"{type(error).__name__}: {error}") from error
    return bytes(builder.Output())


def apply(raw: bytes, edits: Iterable[Edit]) -> bytes:
    """The file with all edits made, in their order; those of bytes come last."""
    edits = list(edits)
    in_tree = [edit for edit in edits if edit.kind != "byte"]
    if in_tree:
        model = unpack(raw)
        for edit in in_tree:
            _edit(model, edit)
        raw = pack(model)
    data = bytearray(raw)
    for edit in edits:
        offset = edit.place[0]
        if edit.kind == "byte" and isinstance(offset, int) and offset < len(data):
            data[offset] = edit.value
    return bytes(data)


def children(node: Any) -> list[tuple[Key, Any]]:
    """What is below a node of the tree, by its keys."""
    if isinstance(node, list):
        return list(enumerate(node))
    return list(vars(node).items()) if hasattr(node, "Pack") else []


def at(node: Any, place: Iterable[Key]) -> Any:
    """What lies at a place; raises LookupError where there is nothing."""
    for key in place:
        node = node[key] if isinstance(node, list) and isinstance(key, int) else dict(children(node))[key]
    return node


def _edit(model: schema.ModelT, edit: Edit) -> None:
    try:
        parent, key = at(model, edit.place[:-1]), edit.place[-1]
        if edit.kind == "insert":
            parent.insert(key, copy.deepcopy(edit.value))
        elif isinstance(parent, list) and isinstance(key, int):
            if edit.kind == "delete":
                del parent[key]
            else:
                parent[key] = copy.deepcopy(edit.value)
        elif isinstance(key, str) and hasattr(parent, key):
            setattr(parent, key, copy.deepcopy(edit.value) if edit.kind == "set" else None)
    except (LookupError, AttributeError, TypeError):
        pass  # an earlier edit took the place away


def _listed(node: Any) -> Any:
    if isinstance(node, np.ndarray):
        return node.tolist()
    if isinstance(node, list):
        return [_listed(one) for one in node]
    if hasattr(node, "Pack"):
        for name, value in vars(node).items():
            setattr(node, name, _listed(value))
    return node


def _short(value: Any) -> str:
    text = repr(value) if not hasattr(value, "Pack") else f"a {type(value).__name__.removesuffix('T')}"
    return text if len(text) <= 60 else text[:57] + "..."
