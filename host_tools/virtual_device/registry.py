"""Named virtual devices: one folder and one process each.

The process (serve.py) holds the lock of its folder as long as it lives, so
the record of one that has died is never taken for a device. It ends with a signal, when its folder is taken away, or
when nobody has asked it anything for half a day. Its control port answers questions about its faults, a line each way.
"""

import os
import re
import shutil
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from host_tools.base import child_process, file_lock, portable, settings
from host_tools.base.errors import DeviceError, DeviceNotFound, Misuse
from host_tools.virtual_device import faults

_KIND = "virtual"
DEFAULT = "virtual"
RECORD, LOCK, LOG = "device.json", "lock", "log.txt"
_TURN = ".lock"  # who has it starts or stops a device: two starts of one name at once are one device
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_NO_FAULTS = "none"
_START_S = 20.0
_STOP_S = 3.0
_POLL_S = 0.02
ASK_S = 3.0
MOST_LINE_BYTES = 1 << 20


class Record(msgspec.Struct, frozen=True):
    """A device that was started and not stopped, as its process says it."""

    name: str
    port: int
    pid: int
    control: int  # the port where it is asked about its faults

    @property
    def serial(self) -> str:
        return f"127.0.0.1:{self.port}"

    def alive(self) -> bool:
        """Whether its process is there."""
        return _held(_folder(self.name))

    def ask(self, line: str = "") -> list[str]:
        """The device's faults, after the one of the line was added, or all were taken away."""
        try:
            with socket.create_connection(("127.0.0.1", self.control), ASK_S) as connection:
                connection.sendall(line.encode() + b"\n")
                answer = connection.makefile("rb").readline(MOST_LINE_BYTES)
            return msgspec.json.decode(answer, type=list[str])
        except (OSError, ValueError, RecursionError) as error:
            raise DeviceError(
                f"talk to the virtual device {self.name}",
                f"its process {self.pid} does not answer: {error}",
                f"`./inv device stop --name {self.name}`, then start it again",
                serial=self.serial,
                step="control",
            ) from error


def shown(name: str) -> str:
    """What a virtual device is called among phones, by its name here."""
    return name if name == DEFAULT else f"{_KIND} {name}"


def is_shown(name: str) -> bool:
    """Whether `shown` makes it. No serial has a blank, and that of no phone is one of our names: `--on` takes these first."""
    return name == DEFAULT or name.startswith(f"{_KIND} ")


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
        if record is None or not record.alive():
            record = _start(name, folder)
    for text in planted:
        record.ask(text)
    return record.serial


def _start(name: str, folder: Path) -> Record:
    from host_tools.android_on_host import needs  # a list of devices needs nothing of this

    needs.require("start a virtual device")
    settings.make_folder(folder, "QUADRA_DEVICES_DIR")
    os.chmod(folder, 0o700)
    log = folder / LOG
    argv = [sys.executable, "-m", "host_tools.virtual_device.serve", folder]
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
        for number in (signal.SIGTERM, portable.KILL):
            if record and _held(folder):
                os.kill(record.pid, number)
            end = time.monotonic() + _STOP_S
            while _held(folder) and time.monotonic() < end:
                time.sleep(_POLL_S)
        shutil.rmtree(folder, ignore_errors=True)
    return record is not None


def find(name: str) -> Record | None:
    """The record of this device, alive or not."""
    record = recorded(_folder(name))
    return record if record and record.name == name else None


def records() -> list[Record]:
    """All devices that were started and not stopped."""
    folder = settings.read().devices_dir
    names = sorted(p.name for p in folder.iterdir() if _NAME.fullmatch(p.name)) if folder.is_dir() else []
    return [record for record in map(find, names) if record]


def running() -> dict[str, str]:
    """Names and serials of those whose process lives."""
    return {record.name: record.serial for record in records() if record.alive()}


def plant(name: str, fault: str) -> None:
    """Adds a fault to a running device; "none" clears all of them."""
    if fault != _NO_FAULTS:
        faults.parse(fault)
    _running(name).ask(fault)


def planted(name: str) -> list[str]:
    """The faults of a running device, and how often they were met."""
    return _running(name).ask()


def _running(name: str) -> Record:
    record = find(name)
    if record is None or not record.alive():
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
    return file_lock.is_held(folder / LOCK)


def recorded(folder: Path) -> Record | None:
    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=Record)
    except (OSError, ValueError, RecursionError):
        return None
