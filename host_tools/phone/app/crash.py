"""Why a run on a device did not finish: evidence, and the one error class that fits it.

The evidence is asked for in this order, because each answers what the next would get wrong: is the device there, is it
the same boot, is the app still installed; then what `am` said, what the system wrote down about the process's end,
and what the log says.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from host_tools.base.errors import (
    AppCrashed,
    AppCrashedNatively,
    AppMissing,
    AppNotResponding,
    DeviceError,
    DeviceRebooted,
    DeviceRefused,
    ReplyNotUnderstood,
)  # fmt: skip
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.app import am_instrument, app_log

_TIMEOUT_S = 10.0
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_BOOT_COUNT = ("settings", "get", "global", "boot_count")  # where a maker's rules keep the shell from that file
_SHOWN = 12  # lines of evidence in an error
# ApplicationExitInfo: what the numbers mean that end an app.
_REASONS = {
    2: "signal",
    3: "memory",
    4: "crash",
    5: "native",
    6: "anr",
    7: "crash",
    9: "memory",
    10: "stopped",
    11: "stopped",
}
_RECORD = re.compile(r"ApplicationExitInfo #\d+:(.*?)(?=ApplicationExitInfo #\d+:|\Z)", re.DOTALL)
_TIDIED = ("finished inst", "start instr")
_FROM_OUTSIDE = (9, 15)  # SIGKILL, SIGTERM: somebody else's doing
_REPORT = "this is a bug of the delegate, the driver or the app: report it with the run folder"


@dataclass(frozen=True)
class Exit:
    """One entry of `dumpsys activity exit-info`."""

    pid: int
    reason: int
    status: int  # the signal, or the exit status
    description: str
    when: str

    @property
    def word(self) -> str:
        return _REASONS.get(self.reason, "")


@dataclass
class Evidence:
    """What is known after a run that went wrong."""

    outcome: am_instrument.Outcome
    lines: list[app_log.Line]
    exit: Exit | None = None
    installed: bool = True


def boot_id(device: Device) -> str:
    """Changes with every boot; empty where it cannot be read."""
    said = device.shell(
        ["cat", _BOOT_ID], timeout_s=_TIMEOUT_S, check=False, step="read the boot's number"
    ).stdout.strip()
    if re.fullmatch(r"[0-9a-f-]{36}", said):
        return said
    said = device.shell(_BOOT_COUNT, timeout_s=_TIMEOUT_S, check=False, step="read the boot's number").stdout.strip()
    return said if re.fullmatch(r"\d{1,9}", said) else ""


def is_installed(device: Device, package: str) -> bool:
    said = device.shell(["pm", "path", package], timeout_s=_TIMEOUT_S, check=False, step="look for the app").stdout
    return any(line.startswith("package:/") for line in said.splitlines())


def exits(text: str) -> tuple[Exit, ...]:
    """The entries of `dumpsys activity exit-info PACKAGE`, the newest first. Android 11 and later have it."""
    found = []
    for record in _RECORD.findall(text):
        fields = dict(re.findall(r"\b(pid|reason|status)=(-?\d{1,9})", record))
        if {"pid", "reason"} <= fields.keys():
            said = re.search(r"description=(.*?)(?: state=| trace=|\n|$)", record)
            when = re.search(r"timestamp=(\S+ \S+)", record)
            row = (int(fields["pid"]), int(fields["reason"]), int(fields.get("status", 0)))
            found.append(Exit(*row, said.group(1).strip()[:300] if said else "", when.group(1) if when else ""))
    return tuple(found)


def last_exit(device: Device, package: str) -> Exit | None:
    argv = ["dumpsys", "activity", "exit-info", package]
    text = device.shell(argv, timeout_s=_TIMEOUT_S, check=False, step="ask how the app ended").stdout
    return next(iter(exits(text)), None)


def check_boot(device: Device, before: str) -> None:
    """DeviceRebooted, if this is another boot than `before`."""
    after = boot_id(device)
    if before and after and after != before:
        raise DeviceRebooted(
            f"run on {device.serial}",
            "it rebooted meanwhile: what ran is lost",
            "find out why (`adb bugreport`), then run again",
            serial=device.serial,
            step="run",
        )


def broken(device: Device, error: DeviceError, before: str) -> DeviceError:
    """The connection broke, and the device answers again: after a reboot, or as if nothing had been."""
    try:
        check_boot(device, before)
    except DeviceRebooted as rebooted:
        return rebooted
    except DeviceError:
        return error
    return error


def error_of(evidence: Evidence, serial: str, package: str, stage: str, before: Exit | None = None) -> DeviceError:
    """The error for an outcome that is neither complete nor explained by the runner itself.

    before: the newest end of the app that was known before the run; only another one is evidence.
    """
    kind, tried = evidence.outcome.kind, f"run the test app on {serial}"
    where = {"serial": serial, "step": stage or "start the app"}
    said = evidence.outcome.sentence
    if not evidence.installed:
        came_back = (
            f"{package} is not installed any more; it was at the stage '{stage}'"
            if stage
            else f"{package} is not installed"
        )
        return AppMissing(tried, came_back, f"`./inv install --on {serial}`, then run again", **where)
    if kind == am_instrument.MISSING:
        return AppMissing(tried, said, f"another app has its name: `./inv install --fresh --on {serial}`", **where)
    if kind == am_instrument.SYSTEM_CRASHED:
        return DeviceRebooted(
            tried, f"Android itself went down: {said}", "run again; `adb bugreport` tells more", **where
        )
    if kind == am_instrument.REFUSED:
        return DeviceRefused(tried, said, "read that message; `adb shell am instrument` shows more", **where)
    ended = evidence.exit if evidence.exit != before else None
    how = _how(kind, ended, evidence.lines)
    at = f"at the stage '{stage}'" if stage else "before its first stage"
    if how == "native":
        tail = _tail(app_log.tombstone(evidence.lines))
        return AppCrashedNatively(
            tried, f"the app's process was ended by {_signal(ended, tail)} {at}{tail}", _REPORT, **where
        )
    if how == "anr":
        return AppNotResponding(
            tried,
            f"Android stopped it {at}, because it did not answer: {said}",
            "a driver may hang: see logcat.txt",
            **where,
        )
    if how == "killed":
        return AppCrashed(
            tried,
            f"it was killed {at}: by Android, to get memory back, or by somebody",
            "close other apps, then run again",
            **where,
        )
    if how == "memory":
        return AppCrashed(
            tried, f"Android ended it {at} to get memory back", "close other apps, or take a smaller model", **where
        )
    if how == "stopped":
        return AppCrashed(tried, f"somebody stopped the app {at}", "run again, and leave the device alone", **where)
    if how:
        return AppCrashed(tried, f"the app crashed {at}: {said}{_tail(_java_trace(evidence.lines))}", _REPORT, **where)
    came_back = f"`am instrument` ended {at} without saying how: {said}"
    return ReplyNotUnderstood(tried, came_back, "run again; logcat.txt has the app's log", **where)


def _how(kind: str, ended: Exit | None, lines: Sequence[app_log.Line]) -> str:
    """native, anr, killed, memory, stopped, crash; empty: nothing says that the app died."""
    if kind == am_instrument.CRASHED_NATIVELY:
        return "native"
    if kind == am_instrument.NOT_RESPONDING:
        return "anr"
    booked = _booked(ended)
    if booked not in ("", "killed", "stopped"):
        return booked
    if app_log.tombstone(lines):  # the log knows why; Android stops what is left of an instrumentation that ended
        return "native"
    if any(line.text.startswith("ANR in ") for line in lines):
        return "anr"
    if any(line.text.startswith("FATAL EXCEPTION") for line in lines):
        return "crash"
    return booked or ("crash" if kind == am_instrument.CRASHED else "")


def _booked(ended: Exit | None) -> str:
    """What the system wrote down; empty where that is its own tidying up after, or before, an instrumentation."""
    if ended is None or any(words in ended.description for words in _TIDIED):
        return ""
    if ended.word == "signal":
        return "killed" if ended.status in _FROM_OUTSIDE else "native"
    return ended.word


def _signal(ended: Exit | None, tail: str) -> str:
    named = re.search(r"signal \d+ \(SIG[A-Z0-9]+\)", tail)
    if named:
        return named.group(0)
    return f"signal {ended.status}" if ended and ended.status else "a signal"


def _java_trace(lines: Sequence[app_log.Line]) -> list[str]:
    return [line.text for line in lines if line.tag == "AndroidRuntime"]


def _tail(lines: Sequence[str]) -> str:
    shown = [line for line in lines if line.strip(" *")][:_SHOWN]
    return "".join(f"\n  | {line[:200]}" for line in shown)
