"""Unpacks a tar stream of a device, of which nothing is believed: only files that were asked for, below one folder,
with the digest that was announced, no larger than allowed. Links, devices and owners are not for us."""

import hashlib
import io
import os
import shutil
import tarfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from host_tools.base import portable
from host_tools.base.errors import FolderNotWritable, ReplyNotUnderstood, TransferFailed, not_written
from host_tools.phone.files import safe_names

BLOCK = tarfile.BLOCKSIZE
PART = ".quadra-part-"
_LONG_NAME_LIMIT_BYTES = 4096
_PIECE = 1 << 18


@dataclass(frozen=True)
class Limits:
    """How much one pull may bring."""

    file_bytes: int = 512 << 20
    total_bytes: int = 2 << 30
    files: int = 5000


class _Entry(tarfile.TarInfo):
    """A header, refused before tarfile believes it: what it may be, and how much it may make tarfile read at once."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type == tarfile.GNUTYPE_LONGNAME:
            if not 0 < self.size <= _LONG_NAME_LIMIT_BYTES:
                raise _damaged(f"a name of {self.size} bytes")
        elif self.type == tarfile.DIRTYPE:
            if self.size:
                raise _damaged("a folder with bytes")
        elif self.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise _damaged(f"{safe_names.shown(self.name)} is neither a file nor a folder")
        # tarfile says that subclasses may extend it; typeshed leaves it out
        return super()._proc_member(archive)  # type: ignore[misc, no-any-return]


class _Source(io.BufferedIOBase):
    """The reading end of a pipe; knows whether all was read."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe, self.ended = pipe, False

    def read(self, size: int | None = -1) -> bytes:
        data = self._pipe.read(-1 if size is None else size)
        self.ended = size is None or len(data) < size
        return data


@dataclass
class Unpacker:
    """A stream to write a tar into; a thread reads it. `wanted` has the SHA-256 by relative name; `done` what came whole.

    write() or close() raises what is wrong with it. That it ends early is no error: files that came whole stay.
    """

    folder: Path
    wanted: Mapping[str, str]
    limits: Limits
    done: list[Path] = field(default_factory=list)
    bytes_done: int = 0

    def __post_init__(self) -> None:
        reader, self._writer = os.pipe()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._read, args=(reader,), daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> int:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._writer, left) :]
        except BrokenPipeError:
            self.close()
        return len(data)

    def close(self) -> None:
        """Waits for what is still to be unpacked, and takes away what did not finish."""
        if self._writer >= 0:
            os.close(self._writer)
            self._writer = -1
            self._thread.join()
        error, self._error = self._error, None
        if error:
            raise error

    def _read(self, reader: int) -> None:
        with os.fdopen(reader, "rb") as pipe:
            source = _Source(pipe)
            try:
                self._unpack(source)
                while source.read(_PIECE):
                    pass  # padding
            except (tarfile.TarError, RecursionError) as error:
                if not source.ended:
                    self._error = _damaged(str(error))
            except BaseException as error:
                self._error = error

    def _unpack(self, source: _Source) -> None:
        with tarfile.open(
            fileobj=source, mode="r|", tarinfo=_Entry, encoding="utf-8", errors="surrogateescape"
        ) as archive:
            for count, entry in enumerate(archive):
                if count > 2 * self.limits.files:
                    raise _damaged(f"more than {count} files and folders")
                if entry.isdir():
                    safe_names.relative(entry.name)
                else:
                    self._file(archive, entry)

    def _file(self, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
        path = safe_names.inside(self.folder, entry.name)
        relative = path.relative_to(self.folder).as_posix()
        if relative not in self.wanted or path in self.done:
            raise _damaged(f"{safe_names.shown(entry.name)} was not asked for, or comes twice")
        if not 0 <= entry.size <= min(self.limits.file_bytes, self.limits.total_bytes - self.bytes_done):
            raise _damaged(f"{safe_names.shown(entry.name)} has {entry.size} bytes, more than is allowed")
        content = archive.extractfile(entry)
        if content is None:
            raise _damaged(f"{safe_names.shown(entry.name)} has no content")
        part = path.with_name(f"{PART}{os.getpid()}-{hashlib.sha256(path.name.encode()).hexdigest()[:16]}")
        try:
            make_parents(self.folder, path)
            part.unlink(missing_ok=True)
            handle = portable.opened(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644, links=False)
            with os.fdopen(handle, "w+b") as to:
                shutil.copyfileobj(content, to, _PIECE)
                to.seek(0)
                digest = hashlib.file_digest(to, "sha256").hexdigest()
            if digest != self.wanted[relative]:
                came_back = f"{path.name} came with another SHA-256 than the file there"
                raise TransferFailed("bring files from the device", came_back, "try again", step="pull")
            os.replace(part, path)
        except OSError as error:
            raise _not_written(path, error) from error
        finally:
            part.unlink(missing_ok=True)
        self.done.append(path)
        self.bytes_done += entry.size


def make_parents(folder: Path, path: Path) -> None:
    """Makes the folders between `folder` and `path`. OSError where one of them is a link: it may lead elsewhere."""
    made = folder
    for part in path.relative_to(folder).parts[:-1]:
        made = made / part
        made.mkdir(exist_ok=True)
        if made.is_symlink():
            raise NotADirectoryError(20, f"{made} is a link")


def _damaged(why: str) -> ReplyNotUnderstood:
    return ReplyNotUnderstood("unpack what came from the device", why, "nothing of it was kept", step="pull")


def _not_written(path: Path, error: OSError) -> FolderNotWritable:
    return not_written(f"write {path}", error)
