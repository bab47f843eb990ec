"""Files of a host of the lab, each under its SHA-256: APKs, delegates and models come once, whoever sends them."""

import contextlib
import functools
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from host_tools.base import digests, portable, settings
from host_tools.base.errors import Misuse, TransferFailed, not_written

PIECE_BYTES = 4 << 20  # a message to a worker: small enough that its heartbeats get through
MOST_BYTES = 2 << 30  # of one file
_NAME = re.compile(r"[0-9a-f]{64}\.[a-z0-9]{1,8}")
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}")
_TOKEN = re.compile(r"[0-9a-f]{32}")
_PART = ".part-"
_PART_S, _UNUSED_S = 24 * 3600.0, 30 * 24 * 3600.0
_VARIABLE = "QUADRA_DEVICES_DIR"


def name_of(path: Path) -> str:
    """SHA256.suffix of a file here; Misuse where it cannot be read, or is larger than a host takes."""
    try:
        facts = path.stat()
    except OSError as error:
        raise Misuse(f"read {path}", error.strerror or str(error), "give a file that is there") from error
    if facts.st_size > MOST_BYTES:
        came_back = f"it has {facts.st_size >> 20} MiB; a lab takes at most {MOST_BYTES >> 20} MiB"
        raise Misuse(f"send {path}", came_back, "run it without --lab")
    suffix = path.suffix.lower()
    return _digest(path, facts.st_mtime_ns, facts.st_size) + (suffix if _SUFFIX.fullmatch(suffix) else ".bin")


@functools.lru_cache(maxsize=256)
def _digest(path: Path, mtime_ns: int, size: int) -> str:
    """Of a file as it was then: the same files go with hundreds of runs."""
    return digests.sha256_of(path)


class Contents:
    """The folder that has them. Names and pieces come from the network: names are checked, a file is taken only whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = settings.make_folder(folder, _VARIABLE)
        self._tidy()

    def missing(self, names: Sequence[str]) -> list[str]:
        """Those of the names that are not here. What is here counts as used now."""
        found = []
        for name in names:
            path = self._path(name)
            if path.is_file():
                os.utime(path)
            else:
                found.append(name)
        return found

    def path(self, name: str) -> Path:
        """Misuse where it is not here."""
        path = self._path(name)
        if not path.is_file():
            raise Misuse(f"find the file {name}", "this host does not have it", "send it first")
        return path

    def put(self, name: str, token: str, offset: int, data: bytes, last: bool) -> None:
        """The next bytes of a file; `token` keeps two senders apart. The last piece gives it its name if its SHA-256
        is right, else TransferFailed."""
        path = self._path(name)
        if not _TOKEN.fullmatch(token) or not 0 <= offset <= MOST_BYTES - len(data):
            raise Misuse(f"take bytes of {name}", "the sender's name or the offset makes no sense", "send it again")
        part = self.folder / f"{_PART}{token}"
        try:
            handle = portable.opened(part, os.O_WRONLY | os.O_CREAT, links=False)
            with os.fdopen(handle, "wb") as stream:
                stream.truncate(offset)
                stream.seek(offset)
                stream.write(data)
            if not last:
                return
            if digests.sha256_of(part) != path.stem:
                part.unlink()
                raise TransferFailed(f"take the file {name}", "it came with another SHA-256", "send it again")
            os.replace(part, path)
        except OSError as error:
            raise not_written(f"write {path}", error, _VARIABLE) from error

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise Misuse(f"find the file {name!a}", "that is no SHA-256 with a suffix", "send it again")
        return self.folder / name

    def _tidy(self) -> None:
        """Removes what was cut off a day ago, and what nobody used for a month."""
        for path in self.folder.iterdir():
            limit = _PART_S if path.name.startswith(_PART) else _UNUSED_S
            with contextlib.suppress(FileNotFoundError):  # another worker of this host tidies, too
                if path.is_file() and time.time() - path.stat().st_mtime > limit:
                    path.unlink()
