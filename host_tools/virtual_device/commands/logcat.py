"""Android's log: what apps and the system have written to it, and the command that reads it as liblog does."""

import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from host_tools.virtual_device import layout
from host_tools.virtual_device.call import Call, Given, Words, command
from host_tools.virtual_device.evidence import moment

BUFFERS = ("main", "system", "crash")
_KEPT = 20000
_PRIORITIES = "VDIWEFS"
_FOLLOW_S = 0.1


@dataclass(frozen=True)
class Entry:
    number: int
    time_s: float  # since 1970
    pid: int
    tid: int
    uid: int
    priority: str  # one of V D I W E F
    tag: str
    text: str
    buffer: str

    def at_least(self, priority: str) -> bool:
        return _PRIORITIES.index(self.priority) >= _PRIORITIES.index(priority)

    def line(self, with_user: bool) -> str:
        """In the form `threadtime`, which is adb's own."""
        name = layout.USERS.get(self.uid, "")
        user = f"{name if name and len(name) <= 5 else self.uid:>5} " if with_user else ""
        begin = f"{moment(self.time_s, '%m-%d %H:%M:%S')} {user}{self.pid:5d} {self.tid:5d}"
        return f"{begin} {self.priority} {self.tag:<8}: {self.text}\n"


class LogBuffer:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=_KEPT)
        self._count = 0

    def add(
        self, priority: str, tag: str, text: str, pid: int = 1, uid: int = 1000, buffer: str = "main", tid: int = 0
    ) -> None:
        """One entry per line of `text`."""
        with self._lock:
            for line in text.splitlines() or [""]:
                self._count += 1
                self._entries.append(Entry(self._count, time.time(), pid, tid or pid, uid, priority, tag, line, buffer))

    def since(self, number: int = 0) -> list[Entry]:
        """All entries after this one."""
        with self._lock:
            return [e for e in self._entries if e.number > number]

    def clear(self, buffers: Sequence[str] = BUFFERS) -> None:
        with self._lock:
            self._entries = deque((e for e in self._entries if e.buffer not in buffers), maxlen=_KEPT)


@command("logcat", letters="dcb:v:t:T:s", long=["pid="], lists=["-b", "-v"])
def logcat(call: Call, given: Given, words: Words) -> int:
    """-d -c -b -v -t -T -s --pid and filters (`TAG:PRIORITY`); without -d it goes on until nobody reads."""
    buffers = given.get("-b", "all").replace("all", ",".join(BUFFERS)).split(",")
    if set(buffers) - set(BUFFERS):
        return call.fail(f"unknown buffer {given['-b']}")
    form = given.get("-v", "threadtime").split(",")
    if set(form) - {"threadtime", "uid"}:
        return call.fail(f'Invalid parameter "{given["-v"]}" to -v')
    try:
        since_s, last = _beginning(call, "-t" if "-t" in given else "-T", given)
        least, pid = _least(words, "-s" in given), int(given.get("--pid", "0"))
    except ValueError as error:
        return call.fail(str(error))
    if "-c" in given:
        call.device.logcat.clear(buffers)
        return 0
    begun, number = set[str](), 0
    while True:
        entries = call.device.logcat.since(number)
        chosen = [e for e in entries if e.buffer in buffers and e.time_s >= since_s and pid in (0, e.pid)]
        chosen = [e for e in chosen if e.at_least(least.get(e.tag, least["*"]))]
        _write(call, chosen if number else chosen[-last:], "uid" in form, begun)
        number = entries[-1].number if entries else number
        if {"-d", "-t"} & given.keys() or call.device.stopping.is_set():
            return 0
        call.wait(_FOLLOW_S)


def _write(call: Call, entries: list[Entry], with_user: bool, begun: set[str]) -> None:
    text = ""
    for entry in entries:
        text += "" if entry.buffer in begun else f"--------- beginning of {entry.buffer}\n"
        text += entry.line(with_user)
        begun.add(entry.buffer)
    if text:
        call.out(os.fsencode(text))


def _beginning(call: Call, option: str, given: Given) -> tuple[float, int]:
    """A time, `MM-DD hh:mm:ss.mmm`, in seconds since 1970, or a count of entries: the time and the count to begin with."""
    text = given.get(option, str(_KEPT))
    if text.isdecimal():
        if not int(text):
            call.err(os.fsencode(f"WARNING: {option} {text} invalid, setting to 1\n"))
        return 0.0, max(1, int(text))
    this_year = datetime.now(UTC).year
    try:
        return datetime.strptime(f"{this_year}-{text} +0000", "%Y-%m-%d %H:%M:%S.%f %z").timestamp(), _KEPT
    except ValueError:
        raise ValueError(f"{option} '{text}' not in time format.") from None


def _least(filters: Words, silent: bool) -> dict[str, str]:
    """The least priority of each tag that is named, "*" for all others."""
    least = {"*": "S" if silent else "V"}
    for word in filters:
        tag, _, priority = word.partition(":")
        least[tag] = priority.upper()[:1] or ("D" if tag == "*" else "V")
        if least[tag] not in _PRIORITIES:
            raise ValueError(f"Invalid filter expression '{word}'")
    return least
