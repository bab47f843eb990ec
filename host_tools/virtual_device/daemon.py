"""The process of one named device: `python -m host_tools.virtual_device.daemon FOLDER`.

It holds a lock on FOLDER/lock for as long as it lives, and ends with a signal, when its folder is taken away, or when
nobody has asked it anything for half a day. `inv device` asks it about its faults, with one line of JSON each way.
"""

import json
import logging
import logging.handlers
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from host_tools.base import file_lock
from host_tools.base.errors import Misuse
from host_tools.virtual_device.device import VirtualDevice
from host_tools.virtual_device.listener import Listener, allowed

RECORD, LOCK, LOG, ROOT = "device.json", "lock", "log.txt", "root"

_LOOK_S = 0.5
_IDLE_S = 12 * 3600.0
_MAX_LOG_BYTES = 32 << 20
_MAX_LINE_BYTES = 1 << 20
_ASK_S = 3.0


def main(folder: Path) -> int:
    if file_lock.acquire(folder / LOCK) is None:  # until this process ends
        print("another process is this device already", flush=True)
        return 1
    log = logging.getLogger("virtual device")
    log.setLevel(logging.INFO)
    log.addHandler(
        logging.handlers.RotatingFileHandler(folder / LOG, maxBytes=_MAX_LOG_BYTES, backupCount=1, errors="replace")
    )
    port = int(_record(folder).get("port", 0))  # the one that it had before, if that is free
    device = VirtualDevice(folder / ROOT, name=folder.name, port=port, on_note=lambda note: log.info("%s", note))
    try:
        device.start()
    except OSError:
        device.port = 0
        device.start()
    control = Listener(lambda peer: _serve(device, peer), name="control")
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    record = {
        "serial": device.serial,
        "port": device.port,
        "pid": os.getpid(),
        "control": control.port,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    (folder / f"{RECORD}.part").write_text(json.dumps(record, indent=1))
    (folder / f"{RECORD}.part").replace(folder / RECORD)
    while not ended.wait(_LOOK_S):
        if _record(folder).get("pid") != os.getpid() or time.monotonic() - device.last_asked > _IDLE_S:
            break
    device.stop()
    control.close()
    return 0


def _record(folder: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / RECORD).read_text()))
    except (OSError, ValueError, TypeError):
        return {}


def _serve(device: VirtualDevice, peer: socket.socket) -> None:
    """Adds the fault `add`, or takes all away with `clear`; answers which there are, or with an error."""
    with peer:
        if not allowed(peer):
            return
        peer.settimeout(_ASK_S)
        try:
            request = json.loads(peer.makefile("rb").readline(_MAX_LINE_BYTES))
            if "add" in request:
                device.faults.add(request["add"])
            if "clear" in request:
                device.faults.clear()
            reply = {"faults": [f"{one} (met {one.met}, done {one.done})" for one in device.faults.all()]}
        except (OSError, ValueError, TypeError, Misuse) as error:
            reply = {"error": [str(error)]}
        try:
            peer.sendall(json.dumps(reply).encode() + b"\n")
        except OSError:
            pass


def ask(port: int, **request: str) -> dict[str, list[str]]:
    """The device's answer; OSError when there is none."""
    with socket.create_connection(("127.0.0.1", port), _ASK_S) as connection:
        connection.sendall(json.dumps(request).encode() + b"\n")
        line = connection.makefile("rb").readline(_MAX_LINE_BYTES)
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError) as error:
        raise OSError(0, "no answer") from error


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
