"""The process of one named device: `python -m host_tools.virtual_device.daemon FOLDER`.

It holds a lock on FOLDER/lock for as long as it lives, and ends when it is asked to, when its folder is taken
away, or when nobody has asked it anything for half a day.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from host_tools.base import file_lock
from host_tools.virtual_device.control import Control
from host_tools.virtual_device.device import Note, VirtualDevice

RECORD, LOCK, LOG, ROOT, ASKED = "device.json", "lock", "log.txt", "root", "asked.json"

_LOOK_S = 0.5
_IDLE_S = 12 * 3600.0
_MAX_LOG = 32 << 20


def main(folder: Path) -> int:
    if file_lock.acquire(folder / LOCK) is None:  # until this process ends
        print("another process is this device already", flush=True)
        return 1
    asked = json.loads((folder / ASKED).read_text())
    log = _Log(folder / LOG)
    device = VirtualDevice(
        folder / ROOT,
        name=folder.name,
        properties=asked["properties"],
        faults=asked["faults"],
        on_note=log.write,
    )
    _listen(device, asked["port"])
    ended = threading.Event()
    control = Control(device, ended.set)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    record = {
        "name": device.name,
        "serial": device.serial,
        "pid": os.getpid(),
        "port": device.port,
        "control": control.port,
        "token": control.token,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    _write(folder / RECORD, json.dumps(record, indent=1))
    while not ended.wait(_LOOK_S):
        if not _ours(folder, control.token) or time.monotonic() - device.last_asked > _IDLE_S:
            break
    device.stop()
    control.close()
    if _ours(folder, control.token):
        (folder / RECORD).unlink(missing_ok=True)
    return 0


def _listen(device: VirtualDevice, port: int) -> None:
    """On the port that is wished for, if it is free."""
    try:
        device.port = port
        device.start()
    except OSError:
        device.port = 0
        device.start()


def _ours(folder: Path, token: str) -> bool:
    try:
        record = json.loads((folder / RECORD).read_text())
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and record.get("token") == token


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    os.replace(part, path)


class _Log:
    """One line per note; a log that has grown too long begins anew."""

    def __init__(self, path: Path) -> None:
        self._lock, self._path = threading.Lock(), path
        self._file = open(path, "ab")  # noqa: SIM115 (for as long as the device lives)

    def write(self, note: Note) -> None:
        with self._lock:
            if self._file.tell() > _MAX_LOG:
                self._file.truncate(0)
            self._file.write(os.fsencode(f"{note}\n"))
            self._file.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
