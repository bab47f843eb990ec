"""The device's files: a folder of the host, in which every path and every link of the device stays.

Paths are the device's, absolute, as str (bytes that are not UTF-8 as surrogates). Failures are OSError with the
device's path as file name and the number that Linux would give.
"""

import errno
import os
import stat as modes
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, ParamSpec, TypeVar

from host_tools.virtual_device import access

if TYPE_CHECKING:
    from host_tools.virtual_device.device import VirtualDevice

P = ParamSpec("P")
T = TypeVar("T")
ENTRY = "entry"
_MAX_LINKS = 40
_DEVICES = {"/dev/null": os.devnull, "/dev/tty": os.devnull, "/dev/zero": "/dev/zero", "/dev/urandom": "/dev/urandom"}
_MAX_PATH = 4095


class Status(NamedTuple):
    """What stat says, with the device's owners."""

    dev: int
    ino: int
    mode: int
    nlink: int
    uid: int
    gid: int
    size: int
    atime: float
    mtime: float
    ctime: float


def failure(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def normal(path: str, cwd: str = "/") -> str:
    """Absolute and without `//` and `.`; `..` stays, for links decide what it means."""
    whole = path if path.startswith("/") else f"{cwd}/{path}"
    return "/" + "/".join(part for part in whole.split("/") if part not in ("", "."))


class Files:
    """The whole tree. `made` are files whose content is made when somebody looks at them."""

    def __init__(self, root: Path, device: "VirtualDevice") -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root, self.device = os.fspath(root), device
        self.made: dict[str, Callable[[], bytes]] = {}

    def view(self, user: str) -> "View":
        return View(self, user)

    def locate(self, path: str, follow: bool = True) -> str:
        """The device's path without links in it (the last part may be one when follow is false)."""
        if "\0" in path:
            raise failure(errno.EINVAL, path)
        if len(os.fsencode(path)) > _MAX_PATH:
            raise failure(errno.ENAMETOOLONG, path)
        todo = [p for p in path.split("/") if p not in ("", ".")][::-1]
        folder = path.endswith(("/", "/.")) and bool(todo)  # then the last part must be one, and is followed
        here: list[str] = []
        links = 0
        while todo:
            part = todo.pop()
            if part == "..":
                del here[-1:]
                continue
            here.append(part)
            if not todo and not follow and not folder:
                break
            real = self._host(here)
            try:
                mode = os.lstat(real).st_mode
            except OSError as error:
                if todo or (folder and error.errno != errno.ENOENT):
                    raise failure(error.errno or errno.EIO, path) from None
                break
            if modes.S_ISLNK(mode):
                links += 1
                if links > _MAX_LINKS:
                    raise failure(errno.ELOOP, path)
                target = os.readlink(real)
                here = [] if target.startswith("/") else here[:-1]
                todo += [p for p in target.split("/") if p not in ("", ".")][::-1]
            elif (todo or folder) and not modes.S_ISDIR(mode):
                raise failure(errno.ENOTDIR, path)
        return "/" + "/".join(here)

    def host(self, located: str) -> str:
        """Where a located path lies on the host."""
        make = self.made.get(located)
        real = self.root + (located if located != "/" else "")
        if make:
            part = f"{self.root}/.made-{threading.get_ident()}"  # somebody else may read the old one just now
            with open(part, "wb") as file:
                file.write(make())
            os.replace(part, real)
        return real

    def room(self) -> None:
        """ENOSPC while the device is full."""
        if self.device.faults.lasting("full"):
            raise failure(errno.ENOSPC, "")

    def _host(self, parts: list[str]) -> str:
        return "/".join([self.root, *parts])


class View:
    """The files as one user sees them: "shell" or a package."""

    def __init__(self, files: Files, user: str) -> None:
        self.files, self.user = files, user

    def locate(self, path: str, need: str, follow: bool = True) -> str:
        """The located path, if the user may read ("r"), write ("w") or reach ("") it.

        What is made, removed or renamed needs a folder that may be written ("entry").
        """
        located = self.files.locate(path, follow)
        if need == ENTRY:
            folder = os.path.dirname(located)
            if access.read_only(folder):
                raise failure(errno.EROFS, path)
            if access.WRITE not in access.rights(folder, self.user):
                raise failure(errno.EACCES, path)
            return located
        if need == access.WRITE and access.read_only(located):
            raise failure(errno.EROFS, path)
        if need and need not in access.rights(located, self.user):
            raise failure(errno.EACCES, path)
        return located

    def real(self, path: str, need: str = "", follow: bool = True) -> str:
        """Where it lies on the host; no part of it is a link."""
        return self.files.host(self.locate(path, need, follow))

    def stat(self, path: str, follow: bool = True) -> Status:
        located = self.locate(path, "", follow)
        parent = os.path.dirname(located)
        if "r" not in access.rights(located, self.user) and "r" not in access.rights(parent, self.user):
            if access.within(parent, access.APP_DATA) and parent != access.APP_DATA:
                raise failure(errno.EACCES, path)
        found = self._do(path, os.lstat, self.files.host(located))
        uid = access.owner(located, self.files.device.apps)
        return Status(*(getattr(found, f"st_{name}") for name in Status._fields))._replace(uid=uid, gid=uid)

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except OSError:
            return False
        return True

    def is_folder(self, path: str) -> bool:
        try:
            return modes.S_ISDIR(self.stat(path).mode)
        except OSError:
            return False

    def names(self, path: str) -> list[str]:
        """Of a folder, sorted."""
        return sorted(self._do(path, os.listdir, self.real(path, access.READ)))

    def open(self, path: str, mode: str = "rb") -> BinaryIO:
        """Like open() with rb, wb, ab or xb; a folder, a pipe or a device node is refused."""
        if mode == "rb":
            flags = os.O_RDONLY
        else:
            kind = {"wb": os.O_TRUNC, "ab": os.O_APPEND, "xb": os.O_EXCL}[mode]
            flags = os.O_WRONLY | os.O_CREAT | kind
        located = self.locate(path, access.READ if mode == "rb" else access.WRITE)
        if located in _DEVICES:
            return open(_DEVICES[located], "rb" if mode == "rb" else "wb", buffering=0)
        if mode != "rb":
            self.files.room()
        real = self.files.host(located)
        descriptor = self._do(path, os.open, real, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        found = os.fstat(descriptor)
        if not modes.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise failure(errno.EISDIR if modes.S_ISDIR(found.st_mode) else errno.EACCES, path)
        if mode in ("wb", "xb", "ab") and found.st_size == 0 and modes.S_IMODE(found.st_mode) == 0o600:
            os.fchmod(descriptor, 0o660 if self.user == "shell" else 0o600)
        return os.fdopen(descriptor, "rb" if mode == "rb" else "wb", buffering=0)

    def make_folder(self, path: str, mode: int = 0o770) -> None:
        self.files.room()
        real = self.real(path, ENTRY)
        self._do(path, os.mkdir, real)
        os.chmod(real, mode)

    def make_folders(self, path: str, mode: int = 0o770) -> None:
        """With its parents; those that are there stay as they are."""
        here = ""
        for part in normal(path).strip("/").split("/"):
            here = f"{here}/{part}"
            if not self.is_folder(here):
                self.make_folder(here, mode)

    def remove(self, path: str) -> None:
        self._do(path, os.unlink, self.real(path, ENTRY, follow=False))

    def remove_folder(self, path: str) -> None:
        self._do(path, os.rmdir, self.real(path, ENTRY, follow=False))

    def rename(self, old: str, new: str) -> None:
        self._do(old, os.rename, self.real(old, ENTRY, False), self.real(new, ENTRY, False))

    def read_link(self, path: str) -> str:
        return self._do(path, os.readlink, self.real(path, access.READ, follow=False))

    def change_mode(self, path: str, mode: int) -> None:
        self._do(path, os.chmod, self.real(path, access.WRITE), mode & 0o7777)

    def set_times(self, path: str, atime: float, mtime: float) -> None:
        real = self.real(path, access.WRITE, follow=False)
        self._do(path, lambda: os.utime(real, (atime, mtime), follow_symlinks=False))

    @staticmethod
    def _do(path: str, action: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        try:
            return action(*args, **more)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None
        except ValueError:
            raise failure(errno.EINVAL, path) from None
