"""Named virtual devices: one folder and one process each.

A device lives exactly as long as its process holds the lock on its folder, so a record of a process that has died
is never taken for a device.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_tools.base import child_process, file_lock, settings
from host_tools.base.errors import DeviceError, DeviceNotFound, Misuse
from host_tools.virtual_device import control, daemon, faults

DEFAULT = "virtual"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_START_S = 20.0
_STOP_S = 3.0


@dataclass(frozen=True)
class Record:
    """A device that was started and not stopped. `alive`: its process is there."""

    name: str
    folder: Path
    serial: str
    pid: int
    control: int
    token: str
    started: str
    alive: bool

    def ask(self, **request: Any) -> dict[str, Any]:
        """What the device's process answers."""
        try:
            return control.ask(self.control, self.token, **request)
        except OSError as error:
            raise DeviceError(
                f"talk to the virtual device {self.name}",
                f"its process {self.pid} does not answer: {error}",
                f"`./inv device stop --name {self.name}`, then start it again",
                serial=self.serial,
                step="control",
            ) from error


def start(
    name: str = DEFAULT,
    *,
    planted: Sequence[str] = (),
    port: int = 0,
    properties: Mapping[str, str] | None = None,
) -> str:
    """The serial of the device of this name, which is started if it does not run; faults are planted in either case.

    Returns when it answers.
    """
    folder = _folder(name)
    for text in planted:
        faults.parse(text)
    settings.make_folder(folder.parent, "QUADRA_DEVICES_DIR")
    with _turn(folder):
        settings.make_folder(folder, "QUADRA_DEVICES_DIR")
        os.chmod(folder, 0o700)
        running = find(name)
        if running and running.alive:
            for text in planted:
                plant(name, text)
            return running.serial
        asked = {
            "port": port or _last_port(folder),
            "properties": dict(properties or {}),
            "faults": list(planted),
        }
        (folder / daemon.RECORD).unlink(missing_ok=True)
        (folder / daemon.ASKED).write_text(json.dumps(asked))
        log = folder / daemon.LOG
        argv = [sys.executable, "-m", "host_tools.virtual_device.daemon", folder]
        process = child_process.start_detached(argv, log=log, cwd=folder, env={"PYTHONPATH": str(settings.ROOT)})
        return _wait(name, folder, process)


def _wait(name: str, folder: Path, process: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + _START_S
    while time.monotonic() < end and process.poll() is None:
        record = find(name)
        if record and record.alive:
            record.ask(do="ping")
            (folder / "port").write_text(record.serial.rpartition(":")[2])
            return record.serial
        time.sleep(0.02)
    process.kill()
    lines = (folder / daemon.LOG).read_text("utf-8", "replace").splitlines()[-5:]
    raise DeviceError(
        f"start the virtual device {name}",
        "its process did not answer" + "".join(f"\n  | {line}" for line in lines),
        f"read {folder / daemon.LOG}",
        step="start",
    )


def stop(name: str = DEFAULT) -> bool:
    """Ends the device's process and removes its folder; whether there was one."""
    folder = _folder(name)
    if not folder.is_dir():
        return False
    with _turn(folder):
        record = find(name)
        if _held(folder):
            _end(folder, record)
        shutil.rmtree(folder, ignore_errors=True)
    return record is not None


def _end(folder: Path, record: Record | None) -> None:
    asked = False
    if record:
        try:
            asked = bool(control.ask(record.control, record.token, do="stop"))
        except OSError:
            pass
    for number in ((None,) if asked else ()) + (signal.SIGTERM, signal.SIGKILL):
        if number and record and _held(folder):
            os.kill(record.pid, number)
        end = time.monotonic() + _STOP_S
        while _held(folder) and time.monotonic() < end:
            time.sleep(0.02)
        if not _held(folder):
            return


def find(name: str) -> Record | None:
    """The record of this device, alive or not."""
    return _read(_folder(name))


def records() -> list[Record]:
    """All devices that were started and not stopped."""
    folder = settings.read().devices_dir
    return [r for r in map(_read, _folders(folder)) if r]


def running() -> dict[str, str]:
    """Names and serials of those whose process lives."""
    return {record.name: record.serial for record in records() if record.alive}


def plant(name: str, fault: str) -> Record:
    """Adds a fault to a running device; "none" clears all of them."""
    record = _running(name)
    if fault == "none":
        record.ask(do="clear")
        return record
    faults.parse(fault)
    reply = record.ask(do="fault", fault=fault)
    if "error" in reply:
        raise Misuse(f"plant {fault} in {name}", reply["error"], "`./inv device faults` lists steps and kinds")
    return record


def planted(name: str) -> list[str]:
    """The faults of a running device, and how often they were met."""
    return list(_running(name).ask(do="ping")["faults"])


def _running(name: str) -> Record:
    record = find(name)
    if record is None or not record.alive:
        state = "its process has died" if record else "it does not run"
        raise DeviceNotFound(f"find the virtual device {name}", state, f"`./inv device start --name {name}`")
    return record


def _folders(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(p for p in folder.iterdir() if _NAME.fullmatch(p.name) and p.is_dir())


def _folder(name: str) -> Path:
    if not _NAME.fullmatch(name):
        do_next = "use up to 64 letters, digits, and _ . - after the first"
        raise Misuse("name a virtual device", f"{name!r} is not a name for one", do_next)
    return settings.read().devices_dir / name


def _read(folder: Path) -> Record | None:
    try:
        found = json.loads((folder / daemon.RECORD).read_text())
        return Record(
            name=folder.name,
            folder=folder,
            serial=str(found["serial"]),
            pid=int(found["pid"]),
            control=int(found["control"]),
            token=str(found["token"]),
            started=str(found["started"]),
            alive=_held(folder),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _held(folder: Path) -> bool:
    """Whether a process is this device: it holds the lock."""
    return file_lock.is_held(folder / daemon.LOCK)


def _last_port(folder: Path) -> int:
    try:
        return int((folder / "port").read_text())
    except (OSError, ValueError):
        return 0


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Starts and stops of one name at once come one after the other: a second start finds what the first began."""
    path = folder.with_name(f".{folder.name}.turn")
    while True:
        with file_lock.held(path) as handle:
            if not _is_file(handle, path):
                continue  # who had the turn before has removed it
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _is_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
