"""The state of a virtual device that everything which serves it shares, and the faults that can happen anywhere in it."""

import errno
import itertools
import math
import os
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from host_tools.virtual_device.device_parts import Ends, InstalledApps, Link, ProcessTable
from host_tools.virtual_device.faults import Dropped, Fault, Faults
from host_tools.virtual_device.installed_app import Installed
from host_tools.virtual_device.log_buffer import LogBuffer

_POLL_S = 0.02
_BOOT_S = 0.5
_KEPT_NOTES = 5000
_SEVERE = 3
_ENDS_CONNECTIONS = ("drop", "offline", "unauthorized", "reboot")
_BUILD = "UQ1A.240205.002"


@dataclass(frozen=True)
class Note:
    """One line of what happened on the device, for its log and for tests."""

    time_s: float
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.time_s:10.3f} {self.what}: {self.text}"


class State:
    """Of one device. What serves it, from `processes` on, is made by VirtualDevice."""

    processes: ProcessTable
    evidence: Ends
    packages: InstalledApps
    logcat: LogBuffer

    def __init__(
        self, root: Path, name: str, port: int, faults: Sequence[str], on_note: Callable[[Note], None] | None
    ) -> None:
        self.name, self.root, self.port = name, Path(root).resolve(), port
        self.properties = _properties(name)
        self.faults = Faults()
        for text in faults:
            self.faults.add(text)
        self.log: list[Note] = []
        self.awake = True
        self.settings = {"adb_enabled": "1", "airplane_mode_on": "0", "stay_on_while_plugged_in": "0"}
        self.apps: dict[str, Installed] = {}
        self.stopping = threading.Event()
        self.pids = itertools.count(2101)
        self.boot_id: str = str(uuid.uuid4())
        self.boot_s = _BOOT_S
        self.away_until = 0.0
        self.last_asked = self._started = time.monotonic()
        self._on_note = on_note
        self._connections: set[Link] = set()

    @property
    def serial(self) -> str:
        return f"127.0.0.1:{self.port}"

    def drop_all(self) -> None:
        """Ends every connection."""
        for connection in list(self._connections):
            connection.drop()

    def reboot(self, away_s: float | None = None) -> None:
        """All connections end and new ones wait until it has started again; files stay."""
        away_s = self.boot_s if away_s is None else away_s
        self.away_until = time.monotonic() + away_s
        self.boot_id = str(uuid.uuid4())
        self.properties = _properties(self.name)
        self.logcat.clear()
        self.processes.end_all("reboot")
        self.note("reboot", f"away for {away_s:g} s")
        self.drop_all()

    def banner(self, features: str) -> bytes:
        """What a host is told at the handshake."""
        words = [f"ro.product.{k}={self.properties[f'ro.product.{k}']}" for k in ("name", "model", "device")]
        return ("device::" + ";".join([*words, f"features={features}"])).encode("utf-8", "replace")

    def note(self, what: str, text: str) -> None:
        """Writes to the device's log."""
        note = Note(time.monotonic() - self._started, what, text)
        self.last_asked = time.monotonic()
        self.log.append(note)
        del self.log[:-_KEPT_NOTES]
        if self._on_note:
            self._on_note(note)

    def meet(self, step: str, gone: Callable[[], bool] = lambda: False) -> Fault | None:
        """Counts that `step` was met, and lets the fault happen that is due there.

        Faults that can happen anywhere are dealt with here (it may not return soon, or raise Dropped); others,
        and `unauthorized` at the step auth, are returned to the caller, who knows how to do it. A stall is over
        when `gone` says that nobody waits any more.
        """
        fault = self.faults.due(step)
        if step == "auth" and fault is None:
            fault = self.faults.lasting("unauthorized")
        if fault is None:
            return None
        self.note("fault", f"{fault} at {step}")
        if fault.kind == "stall":
            self.stall(fault, fault.value, gone)
            return None
        return self.happen(fault, step)

    def happen(self, fault: Fault, step: str) -> Fault | None:
        """Lets a fault happen that is due, as meet does."""
        if fault.kind in ("offline", "unauthorized", "hot") and fault.value is not None and fault.done == 1:
            timer = threading.Timer(fault.value, self.faults.clear, [fault])
            timer.daemon = True
            timer.start()
        if fault.kind == "hot":
            return None
        if fault.kind not in _ENDS_CONNECTIONS or (fault.kind == "unauthorized" and step == "auth"):
            return fault
        if fault.kind == "reboot":
            self.reboot(fault.value)
        elif fault.kind != "drop":
            self.drop_all()
        raise Dropped(f"{fault.kind} at {step}", died=fault.kind == "reboot")

    def thermal_status(self) -> int:
        """0 none, 1 light, 2 moderate, 3 severe, 4 critical, 5 emergency, 6 shutdown."""
        return _SEVERE if self.faults.lasting("hot") else 0

    def room(self) -> None:
        """ENOSPC while the device is full."""
        if self.faults.lasting("full"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def stall(self, fault: Fault, seconds: float | None, gone: Callable[[], bool]) -> None:
        """Does nothing for so long, or until the fault is cleared, or nobody waits any more."""
        end = math.inf if seconds is None else time.monotonic() + seconds
        while time.monotonic() < end and not (self.stopping.is_set() or gone() or fault.cleared.wait(_POLL_S)):
            pass


def _properties(name: str) -> dict[str, str]:
    """Of a device that has just started; its processor is this machine's. `name` gives it a serial number of its own."""
    return {
        "persist.sys.timezone": "GMT",
        "ro.board.platform": "virtual",
        "ro.build.fingerprint": f"quadra/quadra_x86_64/virtual:14/{_BUILD}/11224170:userdebug/dev-keys",
        "ro.build.id": _BUILD,
        "ro.build.type": "userdebug",
        "ro.build.version.release": "14",
        "ro.build.version.sdk": "34",
        "ro.build.version.security_patch": "2024-02-05",
        "ro.debuggable": "0",
        "ro.hardware": "virtual",
        "ro.opengles.version": "196609",
        "ro.product.brand": "quadra",
        "ro.product.cpu.abi": "x86_64",
        "ro.product.cpu.abilist": "x86_64",
        "ro.product.device": "virtual",
        "ro.product.first_api_level": "34",
        "ro.product.manufacturer": "Quadra",
        "ro.product.model": "Virtual device",
        "ro.product.name": "quadra_x86_64",
        "ro.serialno": f"QUADRA{zlib.crc32(name.encode('utf-8', 'surrogateescape')):08X}",
        "ro.soc.manufacturer": "Quadra",
        "ro.soc.model": "Virtual",
        "sys.boot_completed": "1",
    }
