"""Files to a device, by content: each lies in one store under its SHA-256, and is sent once.

A file is sent under another name, its digest is compared by the device, then it is renamed: under its own name it is
whole. What lies there already is known by name, size and time as this machine wrote them down when the digest was
last compared; a file of which nothing is written down is compared again, by the device.
"""

import hashlib
import json
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from host_tools.base import settings
from host_tools.base.errors import DeviceError, DeviceRefused, Misuse, TransferFailed
from host_tools.phone.adb import lock
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.adb.retry import tried
from host_tools.phone.adb.server_connection import Deadline
from host_tools.phone.adb.sync_client import FileInfo
from host_tools.phone.files import safe_names

HOME = "/data/local/tmp/quadra"
STORE = f"{HOME}/store"
PART = ".part-"
_SLOWEST_BYTES_PER_S = 1 << 20
_CLEANING_S = 1.5


@dataclass
class Pushed:
    """Where files lie on a device now, and what it took."""

    serial: str
    remote: dict[Path, str] = field(default_factory=dict)
    sent_bytes: int = 0
    kept_bytes: int = 0
    retries: int = 0
    wall_s: float = 0.0


Show = Callable[[str, int, int], None]  # what is being done, bytes done, bytes in all


def quiet(what: str, done: int, total: int) -> None:
    """Shows nothing."""


def push(
    device: Device, files: Sequence[Path], show: Show = quiet, *, timeout_s: float = 0.0, mode: int = 0o644
) -> Pushed:
    """Puts files into the device's store, those that are not there yet. timeout_s: of all; 0: by their size.

    They are for reading: adbd gives everybody the rights of the owner, so the owner may not write either.
    """
    started = time.monotonic()
    paths = list(dict.fromkeys(Path(file) for file in files))
    sizes = {path: _size(path) for path in paths}
    total = sum(sizes.values())
    deadline = Deadline(timeout_s or 60 + total / _SLOWEST_BYTES_PER_S, device.idle_s)
    pushed, events = Pushed(device.serial), len(device.events)
    with lock.store(device.serial, wait_s=deadline.left()):
        there = _look(device, deadline)
        known = _Known(device.serial)
        done = 0
        for path in paths:
            digest = sha256(path)
            name = digest + safe_names.suffix(path)
            if _lies_there(device, known, there.get(name), digest, sizes[path], deadline):
                pushed.kept_bytes += sizes[path]
            else:
                _send(device, path, name, digest, mode, _counting(show, path.name, done, total), deadline)
                known.write(name, device.stat(f"{STORE}/{name}", max(0.1, deadline.left())))
                pushed.sent_bytes += sizes[path]
            done += sizes[path]
            pushed.remote[path] = f"{STORE}/{name}"
            show(path.name, done, total)
    pushed.retries = sum(event.step != "adb" for event in device.events[events:])
    pushed.wall_s = time.monotonic() - started
    return pushed


def _counting(show: Show, name: str, done: int, total: int) -> Callable[[int], None]:
    return lambda count: show(name, min(done + count, total), total)


def clear(device: Device, timeout_s: float = 60.0) -> None:
    """Empties the store."""
    with lock.store(device.serial, wait_s=timeout_s):
        device.shell(["rm", "-rf", STORE], timeout_s=timeout_s, step="clear", repeatable=True)


def sha256(path: Path) -> str:
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise Misuse(f"read {path}", error.strerror or str(error), "check that file") from error


def _size(path: Path) -> int:
    if not path.is_file():
        raise Misuse(f"push {path}", "there is no such file", "`./inv models` lists models")
    return path.stat().st_size


def _look(device: Device, deadline: Deadline) -> dict[str, FileInfo]:
    """What the store holds, after half files of broken-off pushes are gone."""
    found = device.list(STORE, max(0.1, deadline.left()))
    if not found:
        device.shell(
            ["mkdir", "-p", "-m", "755", STORE], timeout_s=max(0.1, deadline.left()), step="push", repeatable=True
        )
        device.shell(["chmod", "755", HOME, STORE], timeout_s=max(0.1, deadline.left()), step="push", repeatable=True)
    parts = [f"{STORE}/{file.name}" for file in found if file.name.startswith(PART) and file.name.isascii()]
    if parts:
        argv = ["rm", "-f", *parts[:200]]
        device.shell(argv, timeout_s=max(0.1, deadline.left()), step="push", repeatable=True)
    return {file.name: file for file in found if file.is_file}


def _lies_there(
    device: Device, known: "_Known", there: FileInfo | None, digest: str, size: int, deadline: Deadline
) -> bool:
    if there is None or there.size != size:
        return False
    if known.has(there):
        return True
    path = f"{STORE}/{there.name}"
    if device.digests([path], max(0.1, deadline.left())).get(path) != digest:
        return False
    known.write(there.name, there)
    return True


def _send(
    device: Device, path: Path, name: str, digest: str, mode: int, show: Callable[[int], None], deadline: Deadline
) -> None:
    def once() -> None:
        part, sent = f"{STORE}/{PART}{secrets.token_hex(8)}", [0]

        def step(count: int) -> None:
            sent[0] += count
            show(sent[0])

        try:
            device.send(path, part, mode & 0o555, max(0.1, deadline.left()), show=step, attempts=1)
            came = device.digests([part], max(0.1, deadline.left())).get(part)
            if came != digest:
                raise _damaged(device, path, came)
            argv = ["mv", "-f", part, f"{STORE}/{name}"]
            device.shell(argv, timeout_s=max(0.1, deadline.left()), step="push")
        except BaseException:
            _remove(device, part)
            raise

    tried(once, device.events, "push", deadline)


def _damaged(device: Device, path: Path, came: object) -> DeviceError:
    what = f"push {path.name} to {device.serial}"
    kind: type[DeviceError]
    if came is None:
        came_back, kind = "the file that was sent is not there", DeviceRefused
    else:
        came_back, kind = "the file on the device has another SHA-256 than the one sent", TransferFailed
    return kind(what, came_back, "try again", serial=device.serial, step="push")


def _remove(device: Device, part: str) -> None:
    """Best effort, quickly: the next push removes it otherwise."""
    twin, deadline = device.twin(), Deadline(_CLEANING_S)
    try:
        for pause in (0.0, 0.1):  # what was on its way may still become a file after the first time
            time.sleep(pause)
            twin.shell(["rm", "-f", part], timeout_s=max(0.1, deadline.left()), check=False, step="clean")
    except DeviceError:
        pass


class _Known:
    """What this machine knows of a device's store: size and time of files whose digest was compared."""

    def __init__(self, serial: str) -> None:
        folder = settings.make_folder(settings.read().devices_dir / ".stores", "QUADRA_DEVICES_DIR")
        self._path = folder / f"{lock.file_name(serial)}.json"
        self._files: dict[str, list[int]] = {}
        try:
            read = json.loads(self._path.read_text(encoding="utf-8"))
            if isinstance(read, dict):
                self._files = read
        except (OSError, ValueError):
            pass  # nothing is known, then

    def has(self, file: FileInfo) -> bool:
        return self._files.get(file.name) == [file.size, file.mtime]

    def write(self, name: str, file: FileInfo | None) -> None:
        if file is None:
            return
        self._files[name] = [file.size, file.mtime]
        handle, temporary = tempfile.mkstemp(dir=self._path.parent, prefix=".known-")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(self._files, stream)
        os.replace(temporary, self._path)
