"""Reads a FlatBuffers value by its schema as flatc compiles it (.bfbs), with flatbuffers' own Table. Code that flatc generates
would be longer, and checks no lengths: a damaged value could keep it busy for hours.

Knows what plan.fbs uses: tables, structs, enums, scalars, strings, and vectors of all these.
"""

import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from flatbuffers import number_types
from flatbuffers.table import Table

_SCALARS = {
    "bool": number_types.BoolFlags, "byte": number_types.Int8Flags, "ubyte": number_types.Uint8Flags,
    "short": number_types.Int16Flags, "ushort": number_types.Uint16Flags, "int": number_types.Int32Flags,
    "uint": number_types.Uint32Flags, "long": number_types.Int64Flags, "ulong": number_types.Uint64Flags,
    "float": number_types.Float32Flags, "double": number_types.Float64Flags,
}  # fmt: skip


class Field(NamedTuple):
    """offset: a table's, of its entry in the vtable; a struct's, in bytes. kind: "[int]" is a vector."""

    name: str
    kind: str
    offset: int
    default: int = 0


@dataclass(frozen=True)
class Type:
    """A table or, with its size in bytes, a struct."""

    fields: list[Field]
    struct_bytes: int = 0


@dataclass(frozen=True)
class Schema:
    """Types by name. An enum has its numbers' kind and their words."""

    root: str
    identifier: bytes
    types: dict[str, Type]
    enums: dict[str, tuple[str, dict[int, str]]]


# Of reflection.fbs, which is part of FlatBuffers, as much as is read here: how flatc compiles schemas.
_COMPILED = Schema(
    "Schema",
    b"BFBS",
    {
        "Schema": Type([Field("types", "[Type]", 4), Field("enums", "[Enum]", 6), Field("identifier", "string", 8), Field("root", "Type", 12)]),
        "Type": Type([Field("name", "string", 4), Field("fields", "[Field]", 6), Field("is_struct", "bool", 8), Field("bytes", "int", 12)]),
        "Field": Type([Field("name", "string", 4), Field("kind", "Kind", 6), Field("id", "ushort", 8), Field("offset", "ushort", 10), Field("default", "long", 12)]),
        "Kind": Type([Field("base", "Base", 4), Field("element", "Base", 6), Field("index", "int", 8, -1)]),
        "Enum": Type([Field("name", "string", 4), Field("values", "[Value]", 6), Field("kind", "Kind", 10)]),
        "Value": Type([Field("name", "string", 4), Field("value", "long", 6)]),
    },
    {"Base": ("byte", dict(enumerate(("none", "union_type", *_SCALARS, "string", "vector", "type"))))},
)  # fmt: skip


@cache
def read_schema(path: Path) -> Schema:
    """The Schema in a file that `flatc --schema --binary` made."""
    found = decode(path.read_bytes(), _COMPILED)
    types, enums = ([row["name"].rpartition(".")[2] for row in found[key]] for key in ("types", "enums"))

    def kind(row: dict[str, Any], base: str) -> str:
        if base == "vector":
            return f"[{kind(row, row['element'])}]"
        return base if row["index"] < 0 else (types if base == "type" else enums)[row["index"]]

    def fields(rows: list[dict[str, Any]]) -> list[Field]:
        rows = sorted(rows, key=lambda row: int(row["id"]))
        return [
            Field(row["name"], kind(row["kind"], row["kind"]["base"]), row["offset"], row["default"]) for row in rows
        ]

    return Schema(
        found["root"]["name"].rpartition(".")[2],
        found["identifier"].encode(),
        {
            name: Type(fields(row["fields"]), row["bytes"] * row["is_struct"])
            for name, row in zip(types, found["types"])
        },
        {
            name: (row["kind"]["base"], {value["value"]: value["name"] for value in row["values"]})
            for name, row in zip(enums, found["enums"])
        },
    )


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
        for field in self.schema.types[name].fields:
            offset = table.Offset(field.offset)
            result[field.name] = self.value(field.kind, at + offset if offset else None, field.default)
        return result

    def value(self, kind: str, at: int | None, default: int = 0) -> Any:
        self._left -= 1
        if self._left < 0:
            raise IndexError("more values than the data can hold")
        if kind.startswith("["):
            return self.vector(kind[1:-1], at)
        if kind in _SCALARS:
            return self._all.Get(_SCALARS[kind], at) if at is not None else _SCALARS[kind].py_type(default)
        if kind in self.schema.enums:
            base, words = self.schema.enums[kind]
            number = self.value(base, at, default)
            return words.get(number, f"{kind} {number}")
        if at is None:
            return "" if kind == "string" else None
        if kind != "string" and self.schema.types[kind].struct_bytes:
            return {field.name: self.value(field.kind, at + field.offset) for field in self.schema.types[kind].fields}
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
        return 4 if kind[0] == "[" or kind == "string" else self.schema.types[kind].struct_bytes or 4
