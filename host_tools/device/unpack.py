"""Unpacks a tar stream of a device, of which nothing is believed: only files that were asked for, below one folder,
with the digest that was announced, no larger than allowed. Links, devices and owners are not for us."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, List, Mapping, Optional, Tuple

from host_tools.device import names
from host_tools.errors import FolderNotWritable, ReplyNotUnderstood, TransferFailed

BLOCK = 512
PART = ".quadra-part-"
_LONG_NAME_LIMIT_BYTES = 4096
_FILE, _FILE_OLD, _FOLDER, _LONG_NAME = b"0", b"\0", b"5", b"L"


@dataclass(frozen=True)
class Limits:
    """How much one pull may bring."""

    file_bytes: int = 512 << 20
    total_bytes: int = 2 << 30
    files: int = 5000


@dataclass
class Unpacker:
    """A stream to write a tar into. `wanted` has the SHA-256 by relative name; `done` what came whole."""

    folder: Path
    wanted: Mapping[str, str]
    limits: Limits
    done: List[Path] = field(default_factory=list)
    bytes_done: int = 0
    _buffer: bytearray = field(default_factory=bytearray)
    _long_name: Optional[str] = None
    _file: Optional["_File"] = None
    _collect: int = 0  # bytes of a long name that are still to come
    _skip: int = 0  # bytes of padding
    _ended: bool = False

    def write(self, data: bytes) -> int:
        self._buffer += data
        while self._step():
            pass
        return len(data)

    def close(self) -> None:
        """Takes away what did not come to its end."""
        if self._file:
            self._file.abort()
            self._file = None

    def _step(self) -> bool:
        """Takes one thing off the buffer; False where more must come first."""
        if self._ended or not self._buffer:
            self._buffer.clear()
            return False
        if self._file:
            return self._more_of_file()
        if self._skip:
            taken = min(self._skip, len(self._buffer))
            del self._buffer[:taken]
            self._skip -= taken
            return True
        if self._collect:
            return self._name()
        if len(self._buffer) < BLOCK:
            return False
        head = bytes(self._buffer[:BLOCK])
        del self._buffer[:BLOCK]
        self._header(head)
        return True

    def _header(self, head: bytes) -> None:
        if not any(head):
            self._ended = True
            return
        name, size, kind = read_header(head)
        if kind == _LONG_NAME:
            if not 0 < size <= _LONG_NAME_LIMIT_BYTES:
                raise _damaged(f"a name of {size} bytes")
            self._collect = size
            return
        name, self._long_name = self._long_name or name, None
        if kind == _FOLDER:
            names.relative(name.removesuffix("/"))
            if size:
                raise _damaged("a folder with bytes")
            return
        if kind not in (_FILE, _FILE_OLD):
            raise _damaged(f"{names.shown(name)} is neither a file nor a folder")
        self._open(name, size)

    def _name(self) -> bool:
        padded = -(-self._collect // BLOCK) * BLOCK
        if len(self._buffer) < padded:
            return False
        self._long_name = os.fsdecode(bytes(self._buffer[: self._collect]).rstrip(b"\0"))
        del self._buffer[:padded]
        self._collect = 0
        return True

    def _open(self, name: str, size: int) -> None:
        path = names.inside(self.folder, name)
        relative = path.relative_to(self.folder).as_posix()
        if relative not in self.wanted or path in self.done:
            raise _damaged(f"{names.shown(name)} was not asked for, or comes twice")
        if size > self.limits.file_bytes or self.bytes_done + size > self.limits.total_bytes:
            raise _damaged(f"{names.shown(name)} has {size} bytes, more than is allowed")
        self._file = _File(self.folder, path, self.wanted[relative], size)
        if not size:
            self._end_of_file()

    def _more_of_file(self) -> bool:
        taken = bytes(self._buffer[: self._file.left])
        del self._buffer[: len(taken)]
        self._file.write(taken)
        if not self._file.left:
            self._end_of_file()
        return True

    def _end_of_file(self) -> None:
        file = self._file
        file.end()
        self._file = None
        self.done.append(file.path)
        self.bytes_done += file.size
        self._skip = -file.size % BLOCK


class _File:
    """A file that is being written, under another name until its digest is right."""

    def __init__(self, folder: Path, path: Path, digest: str, size: int) -> None:
        self.path, self.size, self.left = path, size, size
        self._digest, self._hash = digest, hashlib.sha256()
        self._part = path.with_name(f"{PART}{os.getpid()}-{hashlib.sha256(path.name.encode()).hexdigest()[:16]}")
        try:
            make_parents(folder, path)
            self._part.unlink(missing_ok=True)
            handle = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise _not_written(path, error) from error
        self._stream: BinaryIO = os.fdopen(handle, "wb")

    def write(self, data: bytes) -> None:
        try:
            self._stream.write(data)
        except OSError as error:
            raise _not_written(self.path, error) from error
        self._hash.update(data)
        self.left -= len(data)

    def end(self) -> None:
        if self._hash.hexdigest() != self._digest:
            self.abort()
            came_back = f"{self.path.name} came with another SHA-256 than the file there"
            raise TransferFailed("bring files from the device", came_back, "try again", step="pull")
        try:
            self._stream.close()
            os.replace(self._part, self.path)
        except OSError as error:
            self.abort()
            raise _not_written(self.path, error) from error

    def abort(self) -> None:
        try:
            self._stream.close()
        except OSError:
            pass  # the disk is full: the file goes anyway
        self._part.unlink(missing_ok=True)


def make_parents(folder: Path, path: Path) -> None:
    """Makes the folders between `folder` and `path`. OSError where one of them is a link: it may lead elsewhere."""
    made = folder
    for part in path.relative_to(folder).parts[:-1]:
        made = made / part
        made.mkdir(exist_ok=True)
        if made.is_symlink():
            raise NotADirectoryError(20, f"{made} is a link")


def read_header(head: bytes) -> Tuple[str, int, bytes]:
    """Name, size and kind of a tar's header (POSIX ustar). ReplyNotUnderstood where its check sum is wrong."""
    counted = sum(head) - sum(head[148:156]) + 8 * 0x20
    if _number(head[148:156]) != counted:
        raise _damaged("a header's check sum is wrong")
    name = head[:100].split(b"\0", 1)[0]
    prefix = head[345:500].split(b"\0", 1)[0] if head[257:262] == b"ustar" and head[263:265] == b"00" else b""
    return os.fsdecode(prefix + b"/" + name if prefix else name), _number(head[124:136]), head[156:157]


def _number(field_: bytes) -> int:
    digits = field_.strip(b" \0")
    if field_[:1] == b"\x80":  # GNU's form for what eleven octal digits cannot hold
        return int.from_bytes(field_[1:], "big")
    if not digits or digits.strip(b"01234567"):
        raise _damaged("a number of a header is none")
    return int(digits, 8)


def _damaged(why: str) -> ReplyNotUnderstood:
    return ReplyNotUnderstood("unpack what came from the device", why, "nothing of it was kept", step="pull")


def _not_written(path: Path, error: OSError) -> FolderNotWritable:
    return FolderNotWritable(f"write {path}", error.strerror or str(error), "free space there, or see to that path")

