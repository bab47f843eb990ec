"""What a phone tells of the end of an app: log lines, the tombstone in the log, and why each process ended."""

import re
import signal
import time
from collections import deque

from host_tools.virtual_device.log_buffer import moment
from host_tools.virtual_device.processes import AppProcess
from host_tools.virtual_device.state import State
from host_tools.virtual_device.users import SYSTEM_PID

_KEPT = 16
SIGNALED, CRASH, NATIVE_CRASH = "2 (SIGNALED)", "4 (APP CRASH(EXCEPTION))", "5 (APP CRASH(NATIVE))"
ANR, USER_REQUESTED = "6 (ANR)", "10 (USER REQUESTED)"
_NATIVE = (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
# Lines of the report that Java's runtime leaves when native code brought it down.
_WHAT = re.compile(r"siginfo: si_signo: (\d+) \(\w+\), si_code: (-?\d+) \((\w+)\)(?:, si_addr: (0x[0-9a-f]+))?")
_FRAME = re.compile(r"^C  \[([\w.+-]+\.so[\w.]*)\+(0x[0-9a-f]+)\](?:  (.*))?$", re.MULTILINE)


_EXIT = """\
        ApplicationExitInfo #{number}:
          timestamp={timestamp} pid={pid} realUid={uid} packageUid={uid} definingUid={uid} user=0
          process={package} reason={reason} subreason={subreason} status={status}
          importance=100 pss=0.00 rss=0.00 description={description} state=empty trace=null"""


class Evidence:
    """Of one device."""

    def __init__(self, device: State) -> None:
        self.device = device
        self._exits: dict[str, deque[dict[str, object]]] = {}  # by package, the newest first

    def exit_info(self, package: str) -> str:
        """Why the package's processes ended, as ActivityManager dumps it."""
        known = list(self._exits.get(package, ()))
        head = ["ACTIVITY MANAGER PROCESS EXIT INFO (dumpsys activity exit-info)"]
        head += ["Last Timestamp of Persistence Into Persistent Storage: 1970-01-01 00:00:00.000"]
        if known:
            head += [f"  package: {package}", f"    Historical Process Exit for uid={known[0]['uid']}"]
        return "\n".join([*head, *(_EXIT.format(number=number, **one) for number, one in enumerate(known))])

    def forget(self, package: str) -> None:
        self._exits.pop(package, None)

    def system(self, priority: str, text: str, tag: str = "ActivityManager") -> None:
        self.device.logcat.add(priority, tag, text, pid=SYSTEM_PID, buffer="system")

    def exception(self, process: AppProcess, kind: str, message: str, trace: list[str]) -> None:
        """An uncaught exception of Java."""
        lines = trace or [f"{kind}: {message}"]
        head = [f"FATAL EXCEPTION: Instr: {process.runner}", f"Process: {process.one.package}, PID: {process.pid}"]
        process.log("E", "AndroidRuntime", "\n".join([*head, *lines]), buffer="crash")
        self._ended(process, CRASH, "crash")
        self._died(process)

    def native(self, process: AppProcess, number: int) -> None:
        """Native code brought it down with this signal: a tombstone."""
        lines = self._tombstone(process, number)
        process.crash_report.unlink(missing_ok=True)
        process.log("F", "libc", f"Fatal signal {number} ({signal.Signals(number).name})", buffer="crash")
        for line in lines:
            self.device.logcat.add("F", "DEBUG", line, pid=process.pid + 1, uid=process.one.uid, buffer="crash")
        self._ended(process, NATIVE_CRASH, "crash", number)
        self._died(process)

    def not_responding(self, process: AppProcess, why: str) -> None:
        package = process.one.package
        text = f"ANR in {package}\nPID: {process.pid}\nReason: {why}\nLoad: 0.0 / 0.0 / 0.0\n"
        self.system("E", text)
        self._ended(process, ANR, f"user request after error: {why}")
        self.system("I", f"Killing {process.pid}:{package}/u0a{process.one.uid - 10000} (adj 0): bg anr")
        self._died(process)

    def stopped(self, process: AppProcess, why: str) -> None:
        """The system ended it."""
        package = process.one.package
        self.system("I", f"Force stopping {package} appid={process.one.uid} user=0: {why}")
        self._ended(process, USER_REQUESTED, f"stop {package} due to {why}")

    def killed(self, process: AppProcess, number: int = signal.SIGKILL) -> None:
        """The system, or somebody with a signal, ended it before its time."""
        if process.killed_for:
            self.stopped(process, process.killed_for)
        else:
            self._ended(process, SIGNALED, status=number)
        self._died(process)

    def _ended(self, process: AppProcess, reason: str, text: str = "", status: int = 0) -> None:
        row = {"timestamp": moment(time.time()), "pid": process.pid, "uid": process.uid, "package": process.one.package}
        row |= {"reason": reason, "status": status, "description": text or "null"}
        row["subreason"] = "21 (FORCE STOP)" if reason == USER_REQUESTED else "0 (UNKNOWN)"
        self._exits.setdefault(process.one.package, deque(maxlen=_KEPT)).appendleft(row)

    def _died(self, process: AppProcess) -> None:
        self.system("I", f"Process {process.one.package} (pid {process.pid}) has died: fg  TOP")
        component = f"ComponentInfo{{{process.one.package}/{process.runner}}}"
        self.system("W", f"Crash of app {process.one.package} running instrumentation {component}")

    def _tombstone(self, process: AppProcess, number: int) -> list[str]:
        report, one = process.report(), process.one
        what = _WHAT.search(report)
        code = f"code {what.group(2)} ({what.group(3)})" if what else "code 0 (SI_USER)"
        address = f"0x{int(what.group(4), 16):016x}" if what and what.group(4) else "--------"
        frames = (_frame(i, row, one.native) for i, row in enumerate(_FRAME.findall(report)))
        name = f"name: Instr: {process.runner}"[:38]
        return [
            "*** " * 15 + "***",
            f"Build fingerprint: '{self.device.properties['ro.build.fingerprint']}'",
            f"ABI: '{one.abi}'",
            f"Timestamp: {moment(time.time())}+0000",
            f"Cmdline: {one.package}",
            f"pid: {process.pid}, tid: {process.pid + 1}, {name}  >>> {one.package} <<<",
            f"uid: {one.uid}",
            f"signal {number} ({signal.Signals(number).name}), {code}, fault addr {address}",
            "backtrace:",
            *frames,
        ]


def _frame(number: int, row: tuple[str, str, str], folder: str) -> str:
    name, offset, symbol = row
    return f"      #{number:02d} pc {int(offset, 16):016x}  {folder}/{name}" + (f" ({symbol})" if symbol else "")


def signal_of(process: AppProcess, code: int) -> int | None:
    """The signal that native code brought the process down with; None: it ended in another way."""
    if process.planted_signal:
        return int(process.planted_signal)
    what = _WHAT.search(process.report())
    if what:
        return int(what.group(1))
    return -code if -code in _NATIVE else None
