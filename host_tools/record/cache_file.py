"""The files of the cache of compiled models (the option `serialization_dir`), which delegate_native/cache writes.

    header | key | zeros up to a multiple of 64 | weights | zeros up to one | plan | zeros up to one | binaries

`weights`: parts of the plan that are in files of their own beside this one, named by the hash of their content, so that
plans share them: offset and size in the plan, and that hash. `plan` is the rest, joined.
A file of verdicts has the table Verdicts of plan/plan.fbs instead of a plan, no weights and no binaries. The file of hashes
has records of 80 bytes there: a part of a file of a model or of weights, and the hash of its content
(delegate_native/base/known_hashes.h).
The header: `_HEADER`, then the 128-bit hashes (low, high) of the four parts, and last the hash of all that is before it.
"""

import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from host_tools.base.errors import Misuse
from host_tools.record import flatbuffer_reader, plan_view, reading
from host_tools.record.content_hash import content_hash

MAGIC = b"QUADRAP\n"
ENDING, VERDICTS, WEIGHTS, HASHES, UNFINISHED = ".quadra", ".verdicts", ".weights", ".hashes", ".unfinished"
MOST_BYTES = 1 << 31
# magic, format, byte order, bytes of a pointer, bytes of the key, of the weights, of the plan, of the binaries
_HEADER = struct.Struct("<8sIIIIQQQ")
_HASH = struct.Struct("<QQ")
_OWN_AT = _HEADER.size + 4 * _HASH.size
HEADER_BYTES = _OWN_AT + _HASH.size
_WEIGHTS = struct.Struct("<QQQQ")
# device, inode, size, when its content and the inode were changed (ns); offset, size; hash of a sample; hash
KNOWN_HASH = struct.Struct("<QQQqqQQQQQ")
_FORMAT, _BYTE_ORDER, _ALIGNMENT = 4, 0x01020304, 64
_MOST_KEY, _MOST_PART = 1 << 20, (1 << 31) - 1
_REMOVE = "remove it: the next start of its model makes another"


@dataclass(frozen=True)
class WeightsAt:
    """A part of a plan that is in a file of its own."""

    offset: int
    size: int
    hash: tuple[int, int]  # low, high

    def path(self, plan: Path) -> Path:
        """Beside the plan's file, with the same token."""
        low, high = self.hash
        return plan.with_name(f"{plan.name.rpartition('_')[0]}_{high:016x}{low:016x}{WEIGHTS}")

    def read(self, plan: Path) -> bytes:
        """ValueError: it is not there, or another one."""
        try:
            data = reading.content(self.path(plan), self.size)
        except Misuse as error:
            raise ValueError(f"a file of its weights: {error.came_back}") from error
        if len(data) != self.size or content_hash(data) != self.hash:
            raise ValueError("a file of its weights: it is damaged")
        return data


@dataclass(frozen=True)
class Parts:
    """The key that a plan was kept under, the plan and its programs' binaries (FlatBuffers); `plan` lacks what
    `weights` tells of."""

    key: bytes
    plan: bytes
    binaries: bytes
    fixed: tuple[bytes, int, int, int] = (MAGIC, _FORMAT, _BYTE_ORDER, 8)  # how the header begins
    weights: bytes = b""

    def listed(self) -> list[WeightsAt]:
        """ValueError: no list of weights."""
        if len(self.weights) % _WEIGHTS.size:
            raise ValueError("its list of weights is damaged")
        found = [WeightsAt(at, size, (low, high)) for at, size, low, high in _WEIGHTS.iter_unpack(self.weights)]
        end = rest = 0
        for one in found:
            if one.offset < end or not one.size:
                raise ValueError("its list of weights is damaged")
            rest += one.offset - end
            end = one.offset + one.size
        if rest > len(self.plan) or end > _MOST_PART:
            raise ValueError("its list of weights is damaged")
        return found

    @classmethod
    def parse(cls, data: bytes) -> "Parts":
        """By the header's sizes, without a look at the hashes. ValueError: they do not fit the file."""
        if len(data) < HEADER_BYTES:
            raise ValueError("it ends in its header")
        magic, version, order, pointer, *sizes = _HEADER.unpack_from(data)
        parts, at = list[bytes](), HEADER_BYTES
        for size in sizes:
            gap = -at % _ALIGNMENT if parts else 0
            if any(data[at : at + gap]):
                raise ValueError("there is something between its parts")
            parts.append(data[at + gap : at + gap + size])
            at += gap + size
        if at != len(data):
            raise ValueError(f"it has {len(data)} bytes, its header tells of {at}")
        key, weights, plan, binaries = parts
        return cls(key, plan, binaries, (magic, version, order, pointer), weights)

    def pack(self) -> bytes:
        """The file, every hash that of what is there."""
        parts = (self.key, self.weights, self.plan, self.binaries)
        data = _HEADER.pack(*self.fixed, *map(len, parts)) + b"".join(_HASH.pack(*content_hash(part)) for part in parts)
        data += _HASH.pack(*content_hash(data)) + self.key
        for part in parts[1:]:
            data += bytes(-len(data) % _ALIGNMENT) + part
        return data


@dataclass(frozen=True)
class Verdicts:
    """What the delegate made of a model's nodes, in the order of their execution."""

    taken: list[bool]  # by the GPU
    reasons: list[str]  # why not
    partitions: list[tuple[list[int], str]]  # nodes, and the hash of the graph that the plan is kept under
    untrusted: str  # why a program of the driver is not trusted; empty: all are

    @classmethod
    def decode(cls, data: bytes) -> "Verdicts":
        """ValueError: it is damaged."""
        found = flatbuffer_reader.decode(data, _schema("Verdicts"))
        taken, reasons = [where != "Cpu" for where in found["placements"]], found["reasons"]
        if len(taken) != len(reasons):
            raise ValueError(f"they have {len(reasons)} reasons for {len(taken)} nodes")
        partitions = [(partition["nodes"], partition["graph_hash"]) for partition in found["partitions"]]
        return cls(taken, reasons, partitions, found["miscompiled"])


@dataclass(frozen=True)
class CacheFile:
    """A file whose header is whole and has the right sizes. Its parts' hashes are not looked at before verify()."""

    path: Path
    parts: Parts
    hashes: tuple[tuple[int, int], ...]  # of key, weights, plan and binaries

    def plan(self) -> bytes:
        """With its weights. Misuse: one of their files is damaged, or not there."""
        try:
            return self._plan()
        except ValueError as error:
            raise Misuse(f"read {self.path}", str(error), _REMOVE) from error

    def plan_bytes(self) -> int:
        return len(self.parts.plan) + sum(one.size for one in self.parts.listed())

    def _plan(self) -> bytes:
        pieces, done, rest = list[bytes](), 0, 0
        for one in self.parts.listed():
            between = one.offset - done
            pieces += [self.parts.plan[rest : rest + between], one.read(self.path)]
            done, rest = one.offset + one.size, rest + between
        return b"".join([*pieces, self.parts.plan[rest:]])

    @property
    def key(self) -> str:
        """What the plan was kept under, as a text."""
        return self.parts.key.decode("utf-8", "replace")

    def said(self) -> dict[str, Any]:
        """The key by line: `library`, `precision`, `graph`, `target`, `device`; JSON as its value."""
        found: dict[str, Any] = {}
        for line in self.key.splitlines():
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
        """What programs_of says of its binaries."""
        return programs_of(self.parts.binaries)

    @property
    def holds_verdicts(self) -> bool:
        """Instead of a plan: what the delegate made of a model's nodes."""
        return "model" in self.said()

    def verdicts(self) -> "Verdicts":
        """Of a file that holds them. ValueError: damaged."""
        return Verdicts.decode(self.parts.plan)

    @property
    def holds_hashes(self) -> bool:
        """Instead of a plan: what processes found of files of models and of weights."""
        return "hashes" in self.said()

    def known_hashes(self) -> list[dict[str, int | str]]:
        """Of a file that holds them: parts of files, the oldest record first."""
        whole = len(self.parts.plan) // KNOWN_HASH.size * KNOWN_HASH.size
        return [
            {"inode": inode, "offset": offset, "bytes": size, "hash": f"{high:016x}{low:016x}"}
            for _, inode, _, _, _, offset, size, _, low, high in KNOWN_HASH.iter_unpack(self.parts.plan[:whole])
        ]

    def verify(self) -> str:
        """What is wrong with its parts; empty: nothing."""
        named = {
            "key is": self.parts.key,
            "list of weights is": self.parts.weights,
            "plan is": self.parts.plan,
            "binaries are": self.parts.binaries,
        }
        for (name, data), written in zip(named.items(), self.hashes):
            if content_hash(data) != written:
                return f"its {name} damaged"
        if self.holds_hashes:
            return "its hashes are damaged" if len(self.parts.plan) % KNOWN_HASH.size else ""
        try:
            self._plan()
        except ValueError as error:
            return str(error)
        what = "verdicts" if self.holds_verdicts else "binaries"
        try:
            self.verdicts() if self.holds_verdicts else self.binaries()
        except ValueError as error:
            return f"its {what} are damaged: {error}"
        return ""


def _value(text: str) -> Any:
    if not text.startswith("{"):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def programs_of(binaries: bytes) -> list[dict[str, Any]]:
    """fingerprint, format and bytes of each program that the driver compiled. ValueError: damaged."""
    found = flatbuffer_reader.decode(binaries, _schema("Binaries")) if binaries else {"programs": []}
    programs: list[dict[str, Any]] = found["programs"]
    return programs


def _schema(root: str) -> flatbuffer_reader.Schema:
    """Of a value beside the plan."""
    return replace(flatbuffer_reader.read_schema(plan_view.SCHEMA), root=root, identifier=b"")


def file_name(token: str, key: bytes) -> str:
    """Under which the library looks for this key."""
    low, high = content_hash(key)
    return f"{token}_{high:016x}{low:016x}{ENDING}"


def wrong_weights(path: Path) -> str:
    """What is wrong with a file of weights; empty: nothing. Its name has the hash of what it holds."""
    low, high = content_hash(reading.content(path, MOST_BYTES))
    return "" if path.stem.rpartition("_")[2] == f"{high:016x}{low:016x}" else "it is damaged"


def is_one(path: Path) -> bool:
    """Whether a file begins as one of these. Misuse: it cannot be read."""
    return reading.beginning(path, len(MAGIC)) == MAGIC


def read(path: Path) -> CacheFile:
    """Misuse: it is none, or its header is damaged."""
    data = reading.content(path, MOST_BYTES)
    try:
        return _parsed(path, data)
    except (ValueError, struct.error) as error:
        raise Misuse(f"read {path}", str(error), _REMOVE) from error


def _parsed(path: Path, data: bytes) -> CacheFile:
    if data[: len(MAGIC)] != MAGIC:
        raise ValueError("it is no file of the cache of compiled models")
    if len(data) < HEADER_BYTES:
        raise ValueError("it ends in its header")
    _, version, order, pointer, *sizes = _HEADER.unpack_from(data)
    if version != _FORMAT or order != _BYTE_ORDER or pointer not in (4, 8):
        raise ValueError(f"it has the format {version}, this Quadra reads {_FORMAT}; or it is of another processor")
    if content_hash(data[:_OWN_AT]) != _HASH.unpack_from(data, _OWN_AT):
        raise ValueError("its header is damaged")
    if sizes[0] > _MOST_KEY or max(sizes) > _MOST_PART:
        raise ValueError("its header tells of parts that no file has")
    hashes = tuple(_HASH.unpack_from(data, _HEADER.size + _HASH.size * i) for i in range(len(sizes)))
    return CacheFile(path, Parts.parse(data), hashes)
