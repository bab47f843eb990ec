"""The process of a virtual device: `python -m host_tools.virtual_device.serve FOLDER`, started by registry.py."""

import contextlib
import logging
import logging.handlers
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import msgspec

from host_tools.base import file_lock
from host_tools.base.errors import Misuse
from host_tools.virtual_device import registry
from host_tools.virtual_device.device import VirtualDevice
from host_tools.virtual_device.listener import Listener

_ROOT = "root"
_NO_FAULTS = "none"
_LOOK_S = 0.5
_IDLE_S = 12 * 3600.0
_MAX_LOG_BYTES = 32 << 20


def main(folder: Path) -> int:
    """Is the device of this folder until it is to end."""
    if file_lock.acquire(folder / registry.LOCK) is None:  # until this process ends
        print("another process is this device already", flush=True)
        return 1
    log = logging.handlers.RotatingFileHandler(
        folder / registry.LOG, maxBytes=_MAX_LOG_BYTES, backupCount=1, errors="replace"
    )
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[log])
    before = registry.recorded(folder)
    device = VirtualDevice(folder / _ROOT, name=folder.name, on_note=lambda note: logging.info("%s", note))
    try:
        device.port = before.port if before else 0  # the one that it had before, if that is free
        device.start()
    except (OSError, OverflowError):
        device.port = 0
        device.start()
    control = Listener(lambda peer: _answer(device, peer))
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    part, record = (
        folder / f"{registry.RECORD}.part",
        registry.Record(folder.name, device.port, os.getpid(), control.port),
    )
    part.write_bytes(msgspec.json.encode(record))
    part.replace(folder / registry.RECORD)
    while not ended.wait(_LOOK_S):
        if registry.recorded(folder) != record or time.monotonic() - device.last_asked > _IDLE_S:
            break
    device.stop()
    control.close()
    return 0


def _answer(device: VirtualDevice, peer: socket.socket) -> None:
    """Does what a line asks for (see Record.ask). Who asks for what there is not gets no answer."""
    peer.settimeout(registry.ASK_S)
    with contextlib.suppress(OSError, Misuse):
        asked = peer.makefile("rb").readline(registry.MOST_LINE_BYTES).decode("utf-8", "replace").strip()
        if asked == _NO_FAULTS:
            device.faults.clear()
        elif asked:
            device.faults.add(asked)
        peer.sendall(msgspec.json.encode([fault.sentence() for fault in device.faults.all()]) + b"\n")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
