"""The log of the test app alone, out of what the whole device logs.

A line belongs to the app when its user is the app's, or when the system speaks of the app or one of its processes:
crashes, "not responding", deaths are told by the system.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from host_tools.base.errors import DeviceError
from host_tools.phone.adb.adb_device import Device

FILE = "logcat.txt"
_TIMEOUT_S = 30.0
_MOST_LINES = 20000
_LONGEST = 4000
# `logcat -v threadtime -v uid`; the user is missing before Android 8, and a name for a few of the system's.
_LINE = re.compile(
    r"^(?P<time>\d\d-\d\d \d\d:\d\d:\d\d\.\d{3,6})\s+(?:(?P<user>[a-z0-9_]{1,20}):?\s+)?(?P<pid>\d{1,8})\s+(?P<tid>\d{1,8}) "
    r"(?P<level>[VDIWEFS]) (?P<tag>.*?) *: (?P<text>.*)$"
)
_TOMBSTONE = "DEBUG"
# Who speaks of other processes.
_SYSTEM = ("ActivityManager", "ActivityTaskManager", "AndroidRuntime", _TOMBSTONE, "Zygote", "lowmemorykiller", "PackageManager",
           "am_crash", "am_anr", "am_proc_died", "am_kill", "tombstoned", "crash_dump64", "crash_dump32", "linker", "libc")  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One line of the log."""

    user: str
    pid: int
    level: str
    tag: str
    text: str
    raw: str


def parse(line: str) -> Line | None:
    """None for what is no line of the log (the heads of its buffers)."""
    match = _LINE.match(line[:_LONGEST])
    if not match:
        return None
    user = match["user"] or ""
    return Line(user, int(match["pid"]), match["level"], match["tag"].strip(), match["text"], line[:_LONGEST])


def of_app(lines: Iterable[str], user: str, package: str) -> list[Line]:
    """The app's lines, and the system's about it. user: the app's number; empty where it is not known."""
    found = [line for line in map(parse, lines) if line]
    started = re.compile(rf"\bStart proc (\d{{1,8}}):{re.escape(package)}/")
    pids = {int(match.group(1)) for line in found for match in [started.search(line.text)] if match}
    # A tombstone is written by a process of its own, in the app's name.
    pids |= {line.pid for line in found if line.tag == _TOMBSTONE and f">>> {package}" in line.text}
    pids |= {line.pid for line in found if user and line.user == user}

    def belongs(line: Line) -> bool:
        if line.user == user if user and line.user else line.pid in pids:
            return True
        return line.tag in _SYSTEM and (package in line.text or _names(line.text, pids))

    return [line for line in found if belongs(line)]


def now(device: Device) -> str:
    """The device's own time, in the form that `logcat -T` takes; empty where it does not say."""
    said = device.shell(
        ["date", "+%m-%d %H:%M:%S.000"], timeout_s=_TIMEOUT_S, check=False, step="read the time"
    ).stdout.strip()
    return said if re.fullmatch(r"\d\d-\d\d \d\d:\d\d:\d\d\.000", said) else ""


def fetch(device: Device, since: str, user: str, package: str) -> list[Line]:
    """The app's log since a moment of the device's clock."""
    words = ["logcat", "-d", "-b", "main,system,crash", "-v", "threadtime", "-v", "uid"]
    if since:
        words += ["-T", since]
    text = device.shell(words, timeout_s=_TIMEOUT_S, check=False, step="read the log").stdout
    return list(of_app(text.splitlines(), user, package))[-_MOST_LINES:]


def keep(lines: Iterable[Line], folder: Path) -> None:
    """Adds to logcat.txt."""
    with open(folder / FILE, "a", encoding="utf-8", errors="replace") as file:
        file.writelines(f"{line.raw}\n" for line in lines)


def said_by_app(lines: Iterable[Line], user: str) -> list[str]:
    """The app's own words without times and tags."""
    return [line.text for line in lines if user and line.user == user and line.tag != _TOMBSTONE]


def user_of(device: Device, package: str) -> str:
    """The number of the user that the app runs as; empty where the device does not say."""
    # Without --user, Android 12 and later ask for all users, and the shell may not look into a maker's "secure folder".
    argv = ["pm", "list", "packages", "-U", "--user", "0", package]
    with_user = device.shell(argv, timeout_s=_TIMEOUT_S, check=False, step="ask for the app's user").stdout
    found = re.search(rf"^package:{re.escape(package)} uid:(\d{{1,7}})(?:,\d{{1,9}})*\s*$", with_user, re.MULTILINE)
    return found.group(1) if found else ""


def last(device: Device, count: int = 50) -> list[str]:
    """The last lines of the whole log, for an error that nobody explains; empty where it cannot be had."""
    try:
        reply = device.shell(["logcat", "-d", "-t", str(count)], timeout_s=_TIMEOUT_S, check=False, step="read the log")
    except DeviceError:
        return []
    return [line[:300] for line in reply.stdout.splitlines()[-count:]]


def tombstone(lines: Iterable[Line]) -> list[str]:
    """The lines of native crashes."""
    return [line.text for line in lines if line.tag == _TOMBSTONE]


def _names(text: str, pids: Iterable[int]) -> bool:
    return any(re.search(rf"\b[Pp](?:rocess|id):? \(?(?:pid )?{pid}\b", text) for pid in pids)
