"""Reads a FlatBuffers value by its schema text: no generated code that could fall behind the schema.

Knows what plan.fbs uses: tables, structs, enums, scalars, strings, and vectors of all these.
"""

import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

_SCALARS = {
    "bool": "?", "byte": "b", "ubyte": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I",
    "long": "q", "ulong": "Q", "float": "f", "double": "d",
}  # fmt: skip
_DEFINITION = re.compile(r"\b(table|struct|enum)\s+(\w+)\s*(?::\s*(\w+))?\s*\{([^}]*)\}")
_FIELD = re.compile(r"(\w+)\s*:\s*(\[?\w+\]?)\s*(?:=\s*[^;(]+)?(?:\([^)]*\))?\s*;")


@dataclass
class Schema:
    """Types by name. Fields are (name, type) in the order of their slots; '[int]' is a vector."""

    root: str = ""
    identifier: bytes = b""
    tables: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    structs: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    enums: dict[str, tuple[str, list[str]]] = field(default_factory=dict)


def parse_schema(text: str) -> Schema:
    """The Schema of an .fbs text."""
    text = re.sub(r"//[^\n]*", "", text)
    schema = Schema()
    for kind, name, base, body in _DEFINITION.findall(text):
        if kind == "enum":
            schema.enums[name] = (base, [word.strip() for word in body.split(",") if word.strip()])
        else:
            (schema.tables if kind == "table" else schema.structs)[name] = _FIELD.findall(body)
    root = re.search(r"root_type\s+(\w+)\s*;", text)
    identifier = re.search(r'file_identifier\s+"(....)"', text)
    schema.root = root.group(1) if root else ""
    schema.identifier = identifier.group(1).encode() if identifier else b""
    return schema


def read_schema(path: Path) -> Schema:
    return parse_schema(path.read_text(encoding="utf-8"))


def decode(data: bytes, schema: Schema) -> dict[str, Any]:
    """The root table as nested dicts; vectors of bytes as numpy arrays. ValueError on damaged data."""
    if schema.identifier and data[4:8] != schema.identifier:
        raise ValueError(f"does not start as a {schema.identifier.decode()} value does")
    try:
        return _Decoder(data, schema).table(schema.root, _u32(data, 0))
    except (struct.error, IndexError, RecursionError, OverflowError) as error:
        raise ValueError(f"an offset points outside of its {len(data)} bytes ({error})") from error


class _Decoder:
    def __init__(self, data: bytes, schema: Schema) -> None:
        self.data, self.schema = data, schema
        self._left = 64 * len(data) + 1024  # values: damaged offsets could else go round for ever

    def table(self, name: str, at: int) -> dict[str, Any]:
        vtable = at - struct.unpack_from("<i", self.data, at)[0]
        if vtable < 0:
            raise IndexError("a table's layout lies before the data")
        size = struct.unpack_from("<H", self.data, vtable)[0]
        result = {}
        for slot, (field_name, kind) in enumerate(self.schema.tables[name]):
            place = 4 + 2 * slot
            offset = struct.unpack_from("<H", self.data, vtable + place)[0] if place < size else 0
            result[field_name] = self.value(kind, at + offset if offset else None)
        return result

    def value(self, kind: str, at: int | None) -> Any:
        self._left -= 1
        if self._left < 0:
            raise IndexError("more values than the data can hold")
        if kind.startswith("["):
            return self.vector(kind[1:-1], at)
        if kind in _SCALARS:
            return struct.unpack_from("<" + _SCALARS[kind], self.data, at)[0] if at is not None else _zero(kind)
        if kind in self.schema.enums:
            base, words = self.schema.enums[kind]
            number = self.value(base, at)
            return words[number] if number < len(words) else f"{kind} {number}"
        if at is None:
            return "" if kind == "string" else None
        if kind in self.schema.structs:
            return self.struct(kind, at)
        there = at + _u32(self.data, at)
        return self.string(there) if kind == "string" else self.table(kind, there)

    def vector(self, kind: str, at: int | None) -> Any:
        if at is None:
            return np.empty(0, np.uint8) if kind == "ubyte" else []
        start = at + _u32(self.data, at)
        count, first = _u32(self.data, start), start + 4
        step = self.step(kind)
        if first + count * step > len(self.data):
            raise IndexError("a vector is longer than the data")
        if kind == "ubyte":
            return np.frombuffer(self.data, np.uint8, count, first)
        return [self.value(kind, first + i * step) for i in range(count)]

    def step(self, kind: str) -> int:
        if kind in _SCALARS:
            return struct.calcsize(_SCALARS[kind])
        if kind in self.schema.enums:
            return self.step(self.schema.enums[kind][0])
        return self.layout(kind)[1] if kind in self.schema.structs else 4

    def struct(self, name: str, at: int) -> dict[str, Any]:
        offsets, _ = self.layout(name)
        return {
            field: self.value(kind, at + offset) for (field, kind), offset in zip(self.schema.structs[name], offsets)
        }

    def layout(self, name: str) -> tuple[list[int], int]:
        """Offsets of a struct's fields, and its size: as C lays it out."""
        offsets, end, widest = [], 0, 1
        for _, kind in self.schema.structs[name]:
            size = self.step(kind)
            end += -end % size
            offsets.append(end)
            end, widest = end + size, max(widest, size)
        return offsets, end + -end % widest

    def string(self, at: int) -> str:
        count = _u32(self.data, at)
        if at + 4 + count > len(self.data):
            raise IndexError("a string is longer than the data")
        return self.data[at + 4 : at + 4 + count].decode("utf-8", "replace")


def _u32(data: bytes, at: int) -> int:
    value: int = struct.unpack_from("<I", data, at)[0]
    return value


def _zero(kind: str) -> Any:
    return False if kind == "bool" else 0.0 if kind in ("float", "double") else 0
