"""Who works with a device: one process at a time. The system frees the lock when its owner ends, however it ends."""

import fcntl
import hashlib
import json
import os
import re
import socket
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Optional

from host_tools import settings
from host_tools.device.connection import Deadline
from host_tools.errors import DeviceBusy

_POLL_S = 0.05


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
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return ""
    except BlockingIOError:
        return _owner(path)
    finally:
        os.close(handle)


@contextmanager
def _held(path: Path, serial: str, what: str, wait_s: float) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    deadline = Deadline(wait_s)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if deadline.left() <= 0:
                    do_next = "wait for it, or take another device: `--on any`"
                    raise DeviceBusy(what, _owner(path), do_next, serial=serial, step="lock") from None
                time.sleep(min(_POLL_S, deadline.left()))
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "what": what, "since": time.time()}
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(owner).encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _owner(path: Path) -> str:
    owner: Optional[dict] = None
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
