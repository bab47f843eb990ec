"""Reads the files of the cache of compiled models (the option `serialization_dir`). Written by delegate_native/cache.

    header | words | zeros up to a multiple of 64 | plan | zeros up to a multiple of 64 | binaries

The header: `_HEADER`, then the sizes and then the 128-bit hashes (low, high) of the parts, in their order, and last the
hash of all that is before it. Format 1, of older builds, has no binaries: they were in the plan.
"""

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from host_tools.base.errors import Misuse
from host_tools.record import flatbuffer_reader, reading
from host_tools.record.content_hash import content_hash

MAGIC = b"QUADRAP\n"
ENDING, UNFINISHED = ".quadra", ".unfinished"
MOST_BYTES = 1 << 31
_HEADER = struct.Struct("<8sIIII")  # magic, format, byte order, bytes of a pointer, bytes of the words
_SIZE, _HASH = struct.Struct("<Q"), struct.Struct("<QQ")
_PARTS = {1: ("words", "plan"), 2: ("words", "plan", "binaries")}
_BYTE_ORDER, _ALIGNMENT = 0x01020304, 64
_MOST_WORDS, _MOST_PART = 1 << 20, (1 << 31) - 1
_BINARIES = flatbuffer_reader.parse_schema(
    "table ProgramBinary { fingerprint:ulong; format:uint; bytes:[ubyte]; } "
    "table Binaries { programs:[ProgramBinary]; } root_type Binaries;"
)


@dataclass(frozen=True)
class CacheFile:
    """A file whose header is whole and has the right sizes. Its parts' hashes are not looked at before verify()."""

    path: Path
    format: int
    pointer_bytes: int
    parts: dict[str, bytes]
    hashes: dict[str, tuple[int, int]] = field(repr=False)

    @property
    def plan(self) -> bytes:
        return self.parts["plan"]

    @property
    def words(self) -> str:
        """What the plan was kept under."""
        return self.parts["words"].decode("utf-8", "replace")

    def said(self) -> dict[str, Any]:
        """The words by line: `library`, `precision`, `graph`, `target`, `device`; JSON as its value."""
        found: dict[str, Any] = {}
        for line in self.words.splitlines():
            name, _, rest = line.partition(" ")
            found[name] = _value(rest)
        return found

    def name_of(self, what: str) -> str:
        """Of the target or the device."""
        value = self.said().get(what)
        names = [value.get(key) for key in ("device_name", "name")] if isinstance(value, dict) else [value]
        names = names if what == "device" else names[::-1]
        return next((str(name) for name in names if name), "")

    def binaries(self) -> list[dict[str, Any]]:
        """fingerprint, format and bytes of each program that the driver compiled. ValueError: damaged."""
        data = self.parts.get("binaries", b"")
        programs: list[dict[str, Any]] = flatbuffer_reader.decode(data, _BINARIES)["programs"] if data else []
        return programs

    def verify(self) -> str:
        """What is wrong with its parts; empty: nothing."""
        for name, data in self.parts.items():
            if content_hash(data) != self.hashes[name]:
                return f"its {name} {'is' if name == 'plan' else 'are'} damaged"
        try:
            self.binaries()
        except ValueError as error:
            return f"its binaries are damaged: {error}"
        return ""


def _value(text: str) -> Any:
    if not text.startswith("{"):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def is_one(path: Path) -> bool:
    """Whether a file begins as one of these. Misuse: it cannot be read."""
    return reading.beginning(path, len(MAGIC)) == MAGIC


def read(path: Path) -> CacheFile:
    """Misuse: it is none, or its header is damaged."""
    data = reading.content(path, MOST_BYTES)
    try:
        return _parsed(path, data)
    except (ValueError, struct.error) as error:
        raise Misuse(f"read {path}", str(error), "remove it: the next start of its model makes another") from error


def _parsed(path: Path, data: bytes) -> CacheFile:
    if data[: len(MAGIC)] != MAGIC:
        raise ValueError("it is no file of the cache of compiled models")
    if len(data) < _HEADER.size:
        raise ValueError("it ends in its header")
    _, version, order, pointer, words_bytes = _HEADER.unpack_from(data)
    if version not in _PARTS or order != _BYTE_ORDER or pointer not in (4, 8):
        raise ValueError(
            f"it has the format {version}, this Quadra reads 1 and 2; or it is of another kind of processor"
        )
    names = _PARTS[version]
    hashes_at = _HEADER.size + _SIZE.size * (len(names) - 1)
    own_at = hashes_at + _HASH.size * len(names)
    begin = own_at + _HASH.size
    if len(data) < begin:
        raise ValueError("it ends in its header")
    if content_hash(data[:own_at]) != _HASH.unpack_from(data, own_at):
        raise ValueError("its header is damaged")
    sizes = [words_bytes, *(_SIZE.unpack_from(data, _HEADER.size + _SIZE.size * i)[0] for i in range(len(names) - 1))]
    if words_bytes > _MOST_WORDS or max(sizes) > _MOST_PART:
        raise ValueError("its header tells of parts that no file has")
    parts, at = {}, begin
    for name, size in zip(names, sizes):
        gap = -at % _ALIGNMENT if name != "words" else 0
        if any(data[at : at + gap]):
            raise ValueError(f"there is something between its parts, before its {name}")
        parts[name] = data[at + gap : at + gap + size]
        at += gap + size
    if at != len(data):
        raise ValueError(f"it has {len(data)} bytes, its header tells of {at}")
    hashes = {name: _HASH.unpack_from(data, hashes_at + _HASH.size * i) for i, name in enumerate(names)}
    return CacheFile(path, version, pointer, parts, {name: (low, high) for name, (low, high) in hashes.items()})
