"""Named virtual devices: one folder and one process each.

A device lives exactly as long as its process holds the lock on its folder, so a record of a process that has died
is never taken for a device.
"""

import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import child_process, file_lock, settings
from host_tools.base.errors import DeviceError, DeviceNotFound, Misuse
from host_tools.virtual_device import daemon, faults

DEFAULT = "virtual"
_TURN = ".lock"  # who has it starts or stops a device: two starts of one name at once are one device
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_START_S = 20.0
_STOP_S = 3.0
_POLL_S = 0.02


@dataclass(frozen=True)
class Record:
    """A device that was started and not stopped. `alive`: its process is there."""

    name: str
    serial: str
    pid: int
    control: int
    started: str
    alive: bool

    def ask(self, **request: str) -> list[str]:
        """The device's faults, after it did what the request says."""
        try:
            reply = daemon.ask(self.control, **request)
        except OSError as error:
            raise DeviceError(
                f"talk to the virtual device {self.name}",
                f"its process {self.pid} does not answer: {error}",
                f"`./inv device stop --name {self.name}`, then start it again",
                serial=self.serial,
                step="control",
            ) from error
        if "error" in reply:
            tried, hint = f"change the faults of {self.name}", "`./inv device faults` lists steps and kinds"
            raise Misuse(tried, " ".join(reply["error"]), hint)
        return reply["faults"]


def start(name: str = DEFAULT, *, planted: Sequence[str] = ()) -> str:
    """The serial of the device of this name, which is started if it does not run; faults are planted in either case.

    Returns when it answers.
    """
    folder = _folder(name)
    for text in planted:
        faults.parse(text)
    settings.make_folder(folder.parent, "QUADRA_DEVICES_DIR")
    with file_lock.held(folder.parent / _TURN):
        record = find(name)
        if record is None or not record.alive:
            record = _start(name, folder)
    for text in planted:
        record.ask(add=text)
    return record.serial


def _start(name: str, folder: Path) -> Record:
    settings.make_folder(folder, "QUADRA_DEVICES_DIR")
    os.chmod(folder, 0o700)
    log = folder / daemon.LOG
    argv = [sys.executable, "-m", "host_tools.virtual_device.daemon", folder]
    process = child_process.start_detached(argv, log=log, cwd=folder, env={"PYTHONPATH": str(settings.ROOT)})
    end = time.monotonic() + _START_S
    while time.monotonic() < end and process.poll() is None:
        record = find(name)
        if record and record.pid == process.pid:
            return record
        time.sleep(_POLL_S)
    process.kill()
    lines = log.read_text("utf-8", "replace").splitlines()[-5:]
    raise DeviceError(
        f"start the virtual device {name}",
        "its process did not answer" + "".join(f"\n  | {line}" for line in lines),
        f"read {log}",
        step="start",
    )


def stop(name: str = DEFAULT) -> bool:
    """Ends the device's process and removes its folder; whether there was one."""
    folder = _folder(name)
    if not folder.is_dir():
        return False
    with file_lock.held(folder.parent / _TURN):
        record = find(name)
        for number in (signal.SIGTERM, signal.SIGKILL):
            if record and _held(folder):
                os.kill(record.pid, number)
            end = time.monotonic() + _STOP_S
            while _held(folder) and time.monotonic() < end:
                time.sleep(_POLL_S)
        shutil.rmtree(folder, ignore_errors=True)
    return record is not None


def find(name: str) -> Record | None:
    """The record of this device, alive or not."""
    folder = _folder(name)
    try:
        found = json.loads((folder / daemon.RECORD).read_text())
        serial, pid, control = str(found["serial"]), int(found["pid"]), int(found["control"])
        return Record(name, serial, pid, control, str(found["started"]), _held(folder))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def records() -> list[Record]:
    """All devices that were started and not stopped."""
    folder = settings.read().devices_dir
    names = sorted(p.name for p in folder.iterdir() if _NAME.fullmatch(p.name)) if folder.is_dir() else []
    return [record for record in map(find, names) if record]


def running() -> dict[str, str]:
    """Names and serials of those whose process lives."""
    return {record.name: record.serial for record in records() if record.alive}


def plant(name: str, fault: str) -> None:
    """Adds a fault to a running device; "none" clears all of them."""
    record = _running(name)
    if fault == "none":
        record.ask(clear="all")
        return
    faults.parse(fault)
    record.ask(add=fault)


def planted(name: str) -> list[str]:
    """The faults of a running device, and how often they were met."""
    return _running(name).ask()


def _running(name: str) -> Record:
    record = find(name)
    if record is None or not record.alive:
        state = "its process has died" if record else "it does not run"
        raise DeviceNotFound(f"find the virtual device {name}", state, f"`./inv device start --name {name}`")
    return record


def _folder(name: str) -> Path:
    if not _NAME.fullmatch(name):
        do_next = "use up to 64 letters, digits, and _ . - after the first"
        raise Misuse("name a virtual device", f"{name!r} is not a name for one", do_next)
    return settings.read().devices_dir / name


def _held(folder: Path) -> bool:
    """Whether a process is this device: it holds the lock."""
    return file_lock.is_held(folder / daemon.LOCK)
