"""Android's log: what apps and the system have written to it, and the command that reads it as liblog does."""

import calendar
import getopt
import os
import threading
import time
from collections import deque
from dataclasses import dataclass, field

from host_tools.virtual_device import layout
from host_tools.virtual_device.call import Call, Given, Words, command

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

    def clear(self, buffer: str = "") -> None:
        """One buffer, or all."""
        with self._lock:
            self._entries = deque((e for e in self._entries if buffer and e.buffer != buffer), maxlen=_KEPT)


@dataclass
class _Wanted:
    buffers: list[str] = field(default_factory=list)
    user: bool = False
    dump: bool = False
    clear: bool = False
    last: int | None = None
    since_s: float = 0.0
    pid: int | None = None
    least: dict[str, str] = field(default_factory=dict)  # of a tag, "*" for all others

    def takes(self, entry: Entry) -> bool:
        least = self.least.get(entry.tag, self.least.get("*", "V"))
        return (
            entry.buffer in self.buffers
            and entry.time_s >= self.since_s
            and self.pid in (None, entry.pid)
            and _PRIORITIES.index(entry.priority) >= _PRIORITIES.index(least)
        )


@command("logcat")
def logcat(call: Call, given: Given, words: Words) -> int:
    """-d -c -b -v -t -T -s --pid and filters (`TAG:PRIORITY`); without -d it goes on until nobody reads."""
    try:
        wanted = _wanted(words)
    except ValueError as error:
        return call.fail(str(error))
    log, begun, number = call.device.logcat, set[str](), 0
    if wanted.clear:
        for buffer in wanted.buffers:
            log.clear(buffer)
        return 0
    while True:
        entries = log.since(number)
        chosen = [entry for entry in entries if wanted.takes(entry)]
        if number == 0 and wanted.last is not None:
            chosen = chosen[max(0, len(chosen) - wanted.last) :]
        _write(call, wanted, chosen, begun)
        number = entries[-1].number if entries else number
        if wanted.dump or call.device.stopping.is_set():
            return 0
        call.wait(_FOLLOW_S)


def _write(call: Call, wanted: _Wanted, entries: list[Entry], begun: set[str]) -> None:
    text = ""
    for entry in entries:
        text += "" if entry.buffer in begun else f"--------- beginning of {entry.buffer}\n"
        text += _line(entry, wanted.user)
        begun.add(entry.buffer)
    if text:
        call.out(os.fsencode(text))


def _line(entry: Entry, with_user: bool) -> str:
    """In the form `threadtime`, which is adb's own."""
    milliseconds = int(entry.time_s * 1000)
    moment = f"{time.strftime('%m-%d %H:%M:%S', time.gmtime(milliseconds // 1000))}.{milliseconds % 1000:03d}"
    name = layout.USERS.get(entry.uid, "")
    user = f"{name if name and len(name) <= 5 else entry.uid:>5} " if with_user else ""
    return f"{moment} {user}{entry.pid:5d} {entry.tid:5d} {entry.priority} {entry.tag:<8}: {entry.text}\n"


def _wanted(words: list[str]) -> _Wanted:
    """ValueError has the sentence for a command line that logcat does not take."""
    given, filters = getopt.gnu_getopt(words, "dcb:v:t:T:s", ["pid="])
    wanted = _Wanted(clear=("-c", "") in given, dump=any(name in ("-d", "-t") for name, _ in given))
    for name, value in given:
        if name == "-b":
            wanted.buffers += BUFFERS if value == "all" else value.split(",")
        elif name == "-v" and value not in ("threadtime", "uid"):
            raise ValueError(f'Invalid parameter "{value}" to -v')
        elif name == "-v":
            wanted.user |= value == "uid"
        elif name in ("-t", "-T"):
            _start(wanted, value)
        elif name == "-s":
            wanted.least["*"] = "S"
        elif name == "--pid":
            wanted.pid = int(value)
    wanted.buffers = wanted.buffers or [*BUFFERS]
    if set(wanted.buffers) - set(BUFFERS):
        raise ValueError(f"unknown buffer {wanted.buffers[-1]}")
    for word in filters:
        tag, _, priority = word.partition(":")
        wanted.least[tag] = priority.upper()[:1] or ("D" if tag == "*" else "V")
        if wanted.least[tag] not in _PRIORITIES:
            raise ValueError(f"Invalid filter expression '{word}'")
    return wanted


def _start(wanted: _Wanted, text: str) -> None:
    """A count, or a time: `MM-DD hh:mm:ss.mmm`."""
    if text.isdecimal():
        wanted.last = int(text)
        return
    moment, _, part = text.partition(".")
    parsed = time.strptime(f"{time.gmtime().tm_year}-{moment}", "%Y-%m-%d %H:%M:%S")
    wanted.since_s = calendar.timegm(parsed) + float(f"0.{part}")
