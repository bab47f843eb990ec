"""Who works with a device: one process at a time. The system frees the lock when its owner ends, however it ends."""

import hashlib
import json
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from host_tools.base import file_lock, settings
from host_tools.base.errors import DeviceBusy


@contextmanager
def lease(serial: str, what: str, wait_s: float = 0.0) -> Iterator[None]:
    """Holds the device for `what`, e.g. "run selfie_segmentation". Raises DeviceBusy, which says who has it."""
    with _held(_file(serial, "lock"), serial, what, wait_s):
        yield


@contextmanager
def store(serial: str, wait_s: float) -> Iterator[None]:
    """Holds the device's store of files, so that nobody's half file is taken for a forgotten one."""
    with _held(_file(serial, "store"), serial, "push", wait_s):
        yield


def holder(serial: str) -> str:
    """Who has the device, as a sentence; empty: nobody."""
    path = _file(serial, "lock")
    return _owner(path) if file_lock.is_held(path) else ""


@contextmanager
def _held(path: Path, serial: str, what: str, wait_s: float) -> Iterator[None]:
    handle = file_lock.acquire(path, wait_s=wait_s)
    if handle is None:
        raise DeviceBusy(
            what, _owner(path), "wait for it, or take another device: `--on any`", serial=serial, step="lock"
        )
    try:
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "what": what, "since": time.time()}
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, json.dumps(owner).encode())
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _owner(path: Path) -> str:
    try:
        owner = json.loads(path.read_text(encoding="utf-8"))
        minutes = max(0.0, time.time() - owner["since"]) / 60
        return f"process {owner['pid']} on {owner['host']} has the device for {minutes:.0f} min: {owner['what']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process has the device"


def _file(serial: str, kind: str) -> Path:
    folder = settings.make_folder(settings.read().devices_dir / ".locks", "QUADRA_DEVICES_DIR")
    return folder / f"{file_name(serial)}.{kind}"


def file_name(serial: str) -> str:
    """A file's name for a serial, another one for every serial."""
    text = re.sub(r"[^A-Za-z0-9-]", lambda m: f"_{ord(m[0]):x}_", serial)
    return text if len(text) <= 150 else hashlib.sha256(text.encode()).hexdigest()
