"""The sync protocol (AOSP adb/docs/dev/sync.md): look at files of a device, send and receive them.

Each function speaks over one open `sync:` stream. What the device says is checked before it is used: ValueError says
what was of another form, SyncFailed holds the device's own refusal.
"""

import errno
import os
import stat
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from host_tools.phone.adb.server_connection import Connection

_CHUNK_BYTES = 64 * 1024  # the protocol's largest
_BATCH_CHUNKS = 16
_PATH_LIMIT_BYTES = 1024
_NAME_LIMIT_BYTES = 255
_ENTRIES_LIMIT = 100_000
_TEXT_LIMIT_BYTES = 1 << 16
_HEAD = struct.Struct("<4sI")
_STAT_1 = struct.Struct("<III")
_STAT_2 = struct.Struct("<IQQIIIIQqqq")


class SyncFailed(Exception):
    """The device's own words of why it does not."""


@dataclass(frozen=True)
class FileInfo:
    """A file of a device. The name is the device's, with odd bytes as surrogates: see names before it is used."""

    name: str
    mode: int
    size: int
    mtime: int

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)


def look(connection: Connection, path: str, *, v2: bool, follow: bool = False) -> FileInfo | None:
    """What is at the path; None: nothing. Links are not followed, unless asked to (v2)."""
    word = (b"STA2" if follow else b"LST2") if v2 else b"STAT"
    _ask(connection, word, path)
    name = path.rsplit("/", 1)[-1]
    _expect(connection, word)
    if v2:
        return _of_v2(connection.exact(_STAT_2.size), name)
    mode, size, mtime = _STAT_1.unpack(connection.exact(_STAT_1.size))
    return FileInfo(name, mode, size, mtime) if mode or size or mtime else None


def entries(connection: Connection, path: str, *, v2: bool) -> list[FileInfo]:
    """What a folder holds, without . and .. ; a folder that is not there holds nothing."""
    _ask(connection, b"LIS2" if v2 else b"LIST", path)
    word, size = (b"DNT2", _STAT_2.size) if v2 else (b"DENT", _STAT_1.size)
    found: list[FileInfo] = []
    while True:
        head = connection.exact(4)
        if head == b"FAIL":
            raise SyncFailed(_text(connection))
        body = connection.exact(size)
        length = int.from_bytes(connection.exact(4), "little")
        if head == b"DONE":
            return found
        if head != word or not 0 < length <= _NAME_LIMIT_BYTES or len(found) >= _ENTRIES_LIMIT:
            raise ValueError(f"{head!r} with a name of {length} bytes, after {len(found)} entries")
        name = os.fsdecode(connection.exact(length))
        if "/" in name or "\0" in name:
            raise ValueError(f"an entry's name is {name!r}: a name holds no '/' and no NUL")
        if name not in (".", ".."):
            found.append(_entry_v2(body, name) if v2 else FileInfo(name, *_STAT_1.unpack(body)))


def send(
    connection: Connection, source: BinaryIO, path: str, mode: int, mtime: int, show: Callable[[int], None]
) -> int:
    """Sends what `source` holds; returns the bytes. The device's refusal ends it early."""
    _ask(connection, b"SEND", f"{path},{stat.S_IFREG | mode}")
    sent = 0
    try:
        while batch := source.read(_CHUNK_BYTES * _BATCH_CHUNKS):
            if connection.has_answer():
                _end_of_send(connection)
                raise ValueError("it said OKAY before it had everything")
            connection.send_all(_chunks(batch))
            sent += len(batch)
            show(len(batch))
        connection.send_all(_HEAD.pack(b"DONE", mtime & 0xFFFFFFFF))
    except ConnectionError:
        _end_of_send(connection)  # who refuses closes the stream, too: its words may be here already
        raise
    _end_of_send(connection)
    return sent


def receive(connection: Connection, path: str, to: BinaryIO, limit_bytes: int, show: Callable[[int], None]) -> int:
    """Writes the file's bytes into `to`; returns how many. ValueError where they are more than the limit."""
    _ask(connection, b"RECV", path)
    got = 0
    while True:
        word, length = _HEAD.unpack(connection.exact(_HEAD.size))
        if word == b"DONE":
            return got
        if word == b"FAIL":
            raise SyncFailed(_fail_text(connection, length))
        if word != b"DATA" or length > _CHUNK_BYTES:
            raise ValueError(f"{word!r} of {length} bytes where DATA, DONE or FAIL must come")
        got += length
        if got > limit_bytes:
            raise ValueError(f"more than {limit_bytes} bytes came")
        to.write(connection.exact(length))
        show(length)


def _ask(connection: Connection, word: bytes, path: str) -> None:
    name = os.fsencode(path)
    if len(name) > _PATH_LIMIT_BYTES:
        raise ValueError(f"a path of {len(name)} bytes is longer than the protocol allows")
    connection.send_all(_HEAD.pack(word, len(name)) + name)


def _expect(connection: Connection, word: bytes) -> None:
    got = connection.exact(4)
    if got == b"FAIL":
        raise SyncFailed(_text(connection))
    if got != word:
        raise ValueError(f"{got!r} where {word!r} must come")


def _of_v2(body: bytes, name: str) -> FileInfo | None:
    error, _, _, mode, _, _, _, size, _, mtime, _ = _STAT_2.unpack(body)
    if error == errno.ENOENT:
        return None
    if error:
        raise SyncFailed(f"{name}: {os.strerror(error) if 0 < error < 134 else f'error {error}'}")
    return FileInfo(name, mode, size, mtime)


def _entry_v2(body: bytes, name: str) -> FileInfo:
    """An entry that the daemon may not look at is neither file nor folder."""
    error, _, _, mode, _, _, _, size, _, mtime, _ = _STAT_2.unpack(body)
    return FileInfo(name, 0, 0, 0) if error else FileInfo(name, mode, size, mtime)


def _chunks(batch: bytes) -> bytes:
    pieces = []
    for start in range(0, len(batch), _CHUNK_BYTES):
        chunk = batch[start : start + _CHUNK_BYTES]
        pieces += [_HEAD.pack(b"DATA", len(chunk)), chunk]
    return b"".join(pieces)


def _end_of_send(connection: Connection) -> None:
    word, length = _HEAD.unpack(connection.exact(_HEAD.size))
    if word == b"FAIL":
        raise SyncFailed(_fail_text(connection, length))
    if word != b"OKAY":
        raise ValueError(f"{word!r} where OKAY or FAIL must come")


def _text(connection: Connection) -> str:
    return _fail_text(connection, int.from_bytes(connection.exact(4), "little"))


def _fail_text(connection: Connection, length: int) -> str:
    if length > _TEXT_LIMIT_BYTES:
        raise ValueError(f"a refusal of {length} bytes")
    return connection.exact(length).decode("utf-8", "replace")
