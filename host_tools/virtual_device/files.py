"""The device's files: a folder of the host, in which every path and every link of the device stays.

Paths are the device's, absolute, as str (bytes that are not UTF-8 as surrogates). Failures are OSError with the
device's path as file name and the number that Linux would give.
"""

import contextlib
import errno
import io
import os
import stat as modes
from collections.abc import Iterator
from typing import BinaryIO

from host_tools.virtual_device import layout
from host_tools.virtual_device.state import State

ENTRY = "entry"
_MAX_LINKS = 40
_DEVICES = {"/dev/null": os.devnull, "/dev/zero": "/dev/zero", "/dev/urandom": "/dev/urandom"}


def failure(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def normal(path: str, cwd: str = "/") -> str:
    """Absolute and without `//` and `.`; `..` stays, for links decide what it means."""
    whole = path if path.startswith("/") else f"{cwd}/{path}"
    return "/" + "/".join(_parts(whole))


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """What the host's file system refuses is said of the device's path."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    except ValueError:
        raise failure(errno.EINVAL, path) from None


def write_all(file: BinaryIO, data: bytes) -> None:
    """Writes to a file that is not buffered: the system may take less at once."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


class Files:
    """The whole tree as one user sees it: "shell" or a package."""

    def __init__(self, device: State, user: str = "shell") -> None:
        self.device, self.user, self.root = device, user, os.fspath(device.root)

    def locate(self, path: str, need: str = "", follow: bool = True) -> str:
        """The device's path without links in it (the last part may be one when follow is false), if the user may read
        ("r"), write ("w") or reach ("") it.

        What is made, removed or renamed needs a folder that may be written ("entry").
        """
        located = self._without_links(path, follow or path.endswith("/"))
        place = os.path.dirname(located) if need == ENTRY else located
        need = layout.WRITE if need == ENTRY else need
        if need == layout.WRITE and layout.read_only(place):
            raise failure(errno.EROFS, path)
        if need and need not in layout.rights(place, self.user):
            raise failure(errno.EACCES, path)
        return located

    def _without_links(self, path: str, follow: bool) -> str:
        if "\0" in path:
            raise failure(errno.EINVAL, path)
        todo = _parts(path)[::-1]
        here: list[str] = []
        links = 0
        while todo:
            part = todo.pop()
            if part == "..":
                del here[-1:]
                continue
            here.append(part)
            if not (todo or follow):
                break
            try:
                target = os.readlink("/".join([self.root, *here]))
            except OSError as error:
                if error.errno == errno.EINVAL or (error.errno == errno.ENOENT and not todo):
                    continue  # no link, or to be made
                raise failure(error.errno or errno.EIO, path) from None
            links += 1
            if links > _MAX_LINKS:
                raise failure(errno.ELOOP, path)
            here = [] if target.startswith("/") else here[:-1]
            todo += _parts(target)[::-1]
        return "/" + "/".join(here)

    def real(self, path: str, need: str = "", follow: bool = True) -> str:
        """Where it lies on the host; no part of it is a link."""
        return self.root + self.locate(path, need, follow).rstrip("/")

    def for_process(self, word: str, cwd: str = "/") -> str:
        """A word of a command line: the path where a process of the host finds what the device has there. Other words stay."""
        if "/" not in word and word != "..":
            return word
        try:
            return self.real(normal(word, cwd))
        except OSError:
            return os.devnull + "/" + os.path.basename(word)  # nothing is there, as on the device

    def stat(self, path: str, follow: bool = True) -> os.stat_result:
        """With the device's owners."""
        located = self.locate(path, "", follow)
        parent = os.path.dirname(located)
        seen = "r" in layout.rights(located, self.user) + layout.rights(parent, self.user)
        if not seen and layout.within(parent, layout.APP_DATA) and parent != layout.APP_DATA:
            raise failure(errno.EACCES, path)
        with _named(path):
            found = os.lstat(self.root + located)
        uid = layout.owner(located, self.device.apps)
        return os.stat_result((*found[:4], uid, uid, *found[6:10]))

    def exists(self, path: str) -> bool:
        with contextlib.suppress(OSError):
            return bool(self.stat(path))
        return False

    def is_folder(self, path: str, follow: bool = True) -> bool:
        with contextlib.suppress(OSError):
            return modes.S_ISDIR(self.stat(path, follow).st_mode)
        return False

    def names(self, path: str) -> list[str]:
        """Of a folder, sorted."""
        with _named(path):
            return sorted(os.listdir(self.real(path, layout.READ)))

    def open(self, path: str, mode: str = "rb") -> BinaryIO:
        """Like open() with rb, wb, ab or xb; a folder, a pipe or a device node is refused."""
        reads = mode == "rb"
        located = self.locate(path, layout.READ if reads else layout.WRITE)
        if located in _DEVICES:
            return open(_DEVICES[located], "rb" if reads else "wb", buffering=0)
        if located in layout.GENERATED:
            return io.BytesIO(layout.GENERATED[located](self.device))
        flags = {"rb": os.O_RDONLY, "wb": os.O_TRUNC, "ab": os.O_APPEND, "xb": os.O_EXCL}[mode]
        if not reads:
            self.device.room()
            flags |= os.O_WRONLY | os.O_CREAT
        with _named(path):
            descriptor = os.open(self.root + located, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        found = os.fstat(descriptor)
        if not modes.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise failure(errno.EISDIR if modes.S_ISDIR(found.st_mode) else errno.EACCES, path)
        if not reads and found.st_size == 0 and modes.S_IMODE(found.st_mode) == 0o600 and self.user == "shell":
            os.fchmod(descriptor, 0o660)
        return os.fdopen(descriptor, "rb" if reads else "wb", buffering=0)

    def make_folder(self, path: str, mode: int = 0o770) -> None:
        self.device.room()
        real = self.real(path, ENTRY)
        with _named(path):
            os.mkdir(real)
        os.chmod(real, mode)

    def make_folders(self, path: str, mode: int = 0o770) -> None:
        """With its parents; those that are there stay as they are."""
        here = ""
        for part in _parts(path):
            here = f"{here}/{part}"
            if not self.is_folder(here):
                self.make_folder(here, mode)

    def remove(self, path: str) -> None:
        """A file, a link or an empty folder."""
        real = self.real(path, ENTRY, follow=False)
        with _named(path):
            os.rmdir(real) if modes.S_ISDIR(os.lstat(real).st_mode) else os.unlink(real)

    def rename(self, old: str, new: str) -> None:
        with _named(old):
            os.rename(self.real(old, ENTRY, False), self.real(new, ENTRY, False))

    def read_link(self, path: str) -> str:
        with _named(path):
            return os.readlink(self.real(path, layout.READ, follow=False))

    def change_mode(self, path: str, mode: int) -> None:
        with _named(path):
            os.chmod(self.real(path, layout.WRITE), mode & 0o7777)
