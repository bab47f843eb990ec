"""What a phone keeps of the end of an app: log lines, tombstones, and why each process ended."""

import re
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from host_tools.virtual_device.packages import SYSTEM_PID

if TYPE_CHECKING:
    from host_tools.virtual_device.device import VirtualDevice
    from host_tools.virtual_device.processes import AppProcess

_KEPT_EXITS, _KEPT_TOMBSTONES = 16, 32
SELF, SIGNALED, CRASH, NATIVE_CRASH, ANR, USER_REQUESTED = 1, 2, 4, 5, 6, 10
_REASONS = {
    SELF: "EXIT_SELF", SIGNALED: "SIGNALED", CRASH: "APP CRASH(EXCEPTION)", NATIVE_CRASH: "APP CRASH(NATIVE)", ANR: "ANR",
    USER_REQUESTED: "USER REQUESTED",
}  # fmt: skip
FORCE_STOP = 21
_SUBREASONS = {0: "UNKNOWN", FORCE_STOP: "FORCE STOP"}
_SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV"}
WORDS = {
    4: "Illegal instruction",
    6: "Aborted",
    7: "Bus error",
    8: "Floating point exception",
    11: "Segmentation fault",
}
# Lines of the report that Java's runtime leaves when native code brought it down.
_WHAT = re.compile(r"siginfo: si_signo: (\d+) \(\w+\), si_code: (-?\d+) \((\w+)\)(?:, si_addr: (0x[0-9a-f]+))?")
_FRAME = re.compile(r"^C  \[([\w.+-]+\.so[\w.]*)\+(0x[0-9a-f]+)\](?:  (.*))?$", re.MULTILINE)


@dataclass(frozen=True)
class Exit:
    """Why a process ended, as ApplicationExitInfo has it."""

    time_s: float
    package: str
    pid: int
    uid: int
    reason: int
    subreason: int
    status: int
    rss_bytes: int
    description: str

    def lines(self, number: int) -> list[str]:
        name = f"{self.reason} ({_REASONS.get(self.reason, 'UNKNOWN')})"
        sub = f"{self.subreason} ({_SUBREASONS.get(self.subreason, 'UNKNOWN')})"
        uid = f"realUid={self.uid} packageUid={self.uid} definingUid={self.uid} user=0"
        return [
            f"        ApplicationExitInfo #{number}:",
            f"          timestamp={moment(self.time_s)} pid={self.pid} {uid}",
            f"          process={self.package} reason={name} subreason={sub} status={self.status}",
            f"          importance=100 pss=0.00 rss={self.rss_bytes / (1 << 20):.0f}MB "
            f"description={self.description or 'null'} state=empty trace=null",
        ]


def moment(time_s: float) -> str:
    whole = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time_s))
    return f"{whole}.{int(time_s % 1 * 1000):03d}"


class Evidence:
    """Of one device."""

    def __init__(self, device: "VirtualDevice") -> None:
        self.device = device
        self._exits: dict[str, deque[Exit]] = {}
        self._tombstones = 0

    def exits(self, package: str) -> list[Exit]:
        """The newest first."""
        return list(self._exits.get(package, ()))

    def packages(self) -> list[str]:
        return sorted(self._exits)

    def forget(self, package: str) -> None:
        self._exits.pop(package, None)

    def system(self, priority: str, text: str, tag: str = "ActivityManager") -> None:
        self.device.logcat.add(priority, tag, text, pid=SYSTEM_PID, buffer="system")

    def ended(self, process: "AppProcess", reason: int, *, status: int = 0, subreason: int = 0, text: str = "") -> None:
        """Notes the end of a process."""
        one = process.one
        kept = self._exits.setdefault(one.package, deque(maxlen=_KEPT_EXITS))
        made = Exit(time.time(), one.package, process.pid, one.uid, reason, subreason, status, process.seen_bytes, text)
        kept.appendleft(made)

    def exception(self, process: "AppProcess", kind: str, message: str, trace: list[str]) -> None:
        """An uncaught exception of Java."""
        lines = trace or [f"{kind}: {message}"]
        head = [f"FATAL EXCEPTION: Instr: {process.runner}", f"Process: {process.one.package}, PID: {process.pid}"]
        process.log("E", "AndroidRuntime", "\n".join([*head, *lines]), buffer="crash")
        self.ended(process, CRASH, text="crash")
        self._died(process)

    def native(self, process: "AppProcess", number: int) -> None:
        """Native code brought it down with this signal: a tombstone."""
        lines = self._tombstone(process, number, _report(process))
        process.log("F", "libc", f"Fatal signal {number} ({_SIGNALS.get(number, number)})", buffer="crash")
        for line in lines:
            self.device.logcat.add("F", "DEBUG", line, pid=process.pid + 1, uid=process.one.uid, buffer="crash")
        text = "\n".join(lines) + "\n"
        place = self.device.root / "data" / "tombstones" / f"tombstone_{self._tombstones % _KEPT_TOMBSTONES:02d}"
        place.write_text(text, encoding="utf-8")
        self._tombstones += 1
        self.ended(process, NATIVE_CRASH, status=number, text="crash")
        self._died(process)

    def not_responding(self, process: "AppProcess", why: str) -> None:
        package = process.one.package
        text = f"ANR in {package}\nPID: {process.pid}\nReason: {why}\nLoad: 0.0 / 0.0 / 0.0\n"
        self.system("E", text)
        place = self.device.root / "data" / "anr" / f"anr_{moment(time.time()).replace(' ', '-').replace(':', '-')}"
        place.write_text(f"Subject: {why}\n\n----- pid {process.pid} -----\nCmd line: {package}\n", encoding="utf-8")
        self.ended(process, ANR, text=f"user request after error: {why}")
        self.system("I", f"Killing {process.pid}:{package}/u0a{process.one.uid - 10000} (adj 0): bg anr")
        self._died(process)

    def killed(self, process: "AppProcess", status: int = 9) -> None:
        """The system, or somebody with a signal, ended it."""
        package = process.one.package
        if process.killed_for:
            self.system("I", f"Force stopping {package} appid={process.one.uid} user=0: {process.killed_for}")
            text = f"stop {package} due to {process.killed_for}"
            self.ended(process, USER_REQUESTED, subreason=FORCE_STOP, text=text)
        else:
            self.ended(process, SIGNALED, status=status)
        self._died(process)

    def _died(self, process: "AppProcess") -> None:
        self.system("I", f"Process {process.one.package} (pid {process.pid}) has died: fg  TOP")
        component = f"ComponentInfo{{{process.one.package}/{process.runner}}}"
        self.system("W", f"Crash of app {process.one.package} running instrumentation {component}")

    def _tombstone(self, process: "AppProcess", number: int, report: str) -> list[str]:
        what = _WHAT.search(report)
        code = f"code {what.group(2)} ({what.group(3)})" if what else "code 0 (SI_USER)"
        address = f"0x{int(what.group(4), 16):016x}" if what and what.group(4) else "--------"
        properties, one = self.device.properties, process.one
        return [
            "*** " * 15 + "***",
            f"Build fingerprint: '{properties.get('ro.build.fingerprint', '')}'",
            "Revision: '0'",
            f"ABI: '{one.abi}'",
            f"Timestamp: {moment(time.time())}+0000",
            f"Process uptime: {time.time() - process.started_s:.0f}s",
            f"Cmdline: {one.package}",
            f"pid: {process.pid}, tid: {process.pid + 1}, name: Instr: {process.runner}"[:60]
            + f"  >>> {one.package} <<<",
            f"uid: {one.uid}",
            f"signal {number} ({_SIGNALS.get(number, number)}), {code}, fault addr {address}",
            "",
            "backtrace:",
            *(_frame(i, row, one.libraries) for i, row in enumerate(_FRAME.findall(report))),
        ]


def _frame(number: int, row: tuple[str, str, str], folder: str) -> str:
    name, offset, symbol = row
    return f"      #{number:02d} pc {int(offset, 16):016x}  {folder}/{name}" + (f" ({symbol})" if symbol else "")


def _report(process: "AppProcess") -> str:
    """What Java's runtime wrote when it went down; it goes."""
    try:
        text = process.crash_report.read_text(encoding="utf-8", errors="replace")
        process.crash_report.unlink()
        return process.clean(text)
    except OSError:
        return ""


def signal_of(process: "AppProcess", code: int) -> int | None:
    """The signal that native code brought the process down with; None: it ended in another way."""
    if process.planted_signal:
        return int(process.planted_signal)
    what = _WHAT.search(_peek(process))
    if what:
        return int(what.group(1))
    return -code if -code in _SIGNALS else None


def _peek(process: "AppProcess") -> str:
    try:
        return process.crash_report.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
