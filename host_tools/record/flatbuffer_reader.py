"""Reads a FlatBuffers value by its schema text, with flatbuffers' own Table: no generated code that could fall behind
the schema, and that would have to be built before a run of last week can be read.

Knows what plan.fbs uses: tables, structs, enums, scalars, strings, and vectors of all these.
"""

import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from flatbuffers import number_types
from flatbuffers.table import Table

_SCALARS = {
    "bool": number_types.BoolFlags, "byte": number_types.Int8Flags, "ubyte": number_types.Uint8Flags,
    "short": number_types.Int16Flags, "ushort": number_types.Uint16Flags, "int": number_types.Int32Flags,
    "uint": number_types.Uint32Flags, "long": number_types.Int64Flags, "ulong": number_types.Uint64Flags,
    "float": number_types.Float32Flags, "double": number_types.Float64Flags,
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
        return _Decoder(data, schema).root()
    except (struct.error, IndexError, RecursionError, TypeError) as error:  # TypeError: an offset below 0
        raise ValueError(f"an offset points outside of its {len(data)} bytes ({error})") from error


class _Decoder:
    """Does what flatc's code for the schema would do. What that does not check is checked here: lengths, and that it ends."""

    def __init__(self, data: bytes, schema: Schema) -> None:
        self.data, self.schema = data, schema
        self._all = Table(data, 0)
        self._left = 64 * len(data) + 1024  # values: damaged offsets could else go round for ever

    def root(self) -> dict[str, Any]:
        return self.table(self.schema.root, self._all.Indirect(0))

    def table(self, name: str, at: int) -> dict[str, Any]:
        table, result = Table(self.data, at), {}
        for slot, (field_name, kind) in enumerate(self.schema.tables[name]):
            offset = table.Offset(4 + 2 * slot)
            result[field_name] = self.value(kind, at + offset if offset else None)
        return result

    def value(self, kind: str, at: int | None) -> Any:
        self._left -= 1
        if self._left < 0:
            raise IndexError("more values than the data can hold")
        if kind.startswith("["):
            return self.vector(kind[1:-1], at)
        if kind in _SCALARS:
            return self._all.Get(_SCALARS[kind], at) if at is not None else _SCALARS[kind].py_type(0)
        if kind in self.schema.enums:
            base, words = self.schema.enums[kind]
            number = self.value(base, at)
            return words[number] if number < len(words) else f"{kind} {number}"
        if at is None:
            return "" if kind == "string" else None
        if kind in self.schema.structs:
            return self.struct(kind, at)
        return self.string(at) if kind == "string" else self.table(kind, self._all.Indirect(at))

    def vector(self, kind: str, at: int | None) -> Any:
        if at is None:
            return np.empty(0, np.uint8) if kind == "ubyte" else []
        step = self.step(kind)
        first, count = self.bounded(at, step)
        if kind == "ubyte":
            return np.frombuffer(self.data, np.uint8, count, first)
        return [self.value(kind, first + i * step) for i in range(count)]

    def bounded(self, at: int, step: int) -> tuple[int, int]:
        """Where the elements of the vector begin whose offset is at `at`, and how many there are."""
        first, count = self._all.Vector(at), self._all.VectorLen(at)
        if first + count * step > len(self.data):
            raise IndexError("a vector or a string is longer than the data")
        return first, count

    def string(self, at: int) -> str:
        first, count = self.bounded(at, 1)
        return self.data[first : first + count].decode("utf-8", "replace")

    def step(self, kind: str) -> int:
        if kind in _SCALARS:
            return int(_SCALARS[kind].bytewidth)
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
