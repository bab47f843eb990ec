"""Edits of a .tflite file, each a plain value: a list of them and the file they start from say what a mutated model is.

Most edits name a place in the schema's own tree (subgraphs/0/tensors/3/shape/1) and what happens there; those of kind
`byte` change the finished file. Edits whose place an earlier one took away do nothing, so that any of them can be left out.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ai_edge_litert import schema_py_generated as schema

from host_tools.request.model_tree import pack, unpack

Key = str | int


@dataclass(frozen=True)
class Edit:
    """What happens at a place. kind: set, delete, insert (before the place), or byte (at an offset of the file)."""

    kind: str
    place: tuple[Key, ...]
    value: Any = None

    def __str__(self) -> str:
        shown = "/".join(map(str, self.place))
        return f"delete {shown}" if self.kind == "delete" else f"{self.kind} {shown} {_short(self.value)}"


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


def _short(value: Any) -> str:
    text = repr(value) if not hasattr(value, "Pack") else f"a {type(value).__name__.removesuffix('T')}"
    return text if len(text) <= 60 else text[:57] + "..."
