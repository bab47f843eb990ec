"""logcat: reads Android's log, as liblog writes it."""

import calendar
import os
import re
import time
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional, Set

from host_tools.virtual_device import access
from host_tools.virtual_device.call import Call, command
from host_tools.virtual_device.log_buffer import BUFFERS, Entry

_PRIORITIES = "VDIWEFS"
_DEFAULT = ("main", "system", "crash")
_FORMATS = ("brief", "long", "process", "raw", "tag", "thread", "threadtime", "time")
_MODIFIERS = ("uid", "epoch", "usec", "year", "UTC", "zone", "color", "printable", "descriptive", "monotonic")
_FOLLOW_S = 0.1


class _Bad(Exception):
    """A command line that logcat does not take."""


@dataclass
class _Wanted:
    buffers: List[str] = field(default_factory=list)
    form: str = "threadtime"
    modifiers: Set[str] = field(default_factory=set)
    dump: bool = False
    action: str = ""  # clear, size or resize, instead of reading
    last: Optional[int] = None
    since_s: Optional[float] = None
    least: Dict[str, str] = field(default_factory=dict)  # of a tag, "*" for all others
    pid: Optional[int] = None
    pattern: Optional["re.Pattern[str]"] = None
    most: Optional[int] = None

    def takes(self, entry: Entry) -> bool:
        least = self.least.get(entry.tag, self.least.get("*", "V"))
        if _PRIORITIES.index(entry.priority) < _PRIORITIES.index(least):
            return False
        if self.pid is not None and entry.pid != self.pid or entry.buffer not in self.buffers:
            return False
        if self.since_s is not None and entry.time_s < self.since_s:
            return False
        return self.pattern is None or bool(self.pattern.search(entry.text))


@command("logcat")
def logcat(call: Call) -> int:
    """-d -c -g -G -b -v -t -T -s -e -m --pid and filters (`TAG:PRIORITY`); without -d it goes on until nobody reads."""
    try:
        wanted = _wanted(call.argv[1:])
    except (_Bad, re.error, IndexError) as error:
        return call.fail(str(error) or "option requires an argument")
    log = call.device.logcat
    if wanted.action == "clear":
        for buffer in wanted.buffers:
            log.clear(buffer)
        return 0
    if wanted.action == "size":
        for buffer in wanted.buffers:
            used = sum(len(e.text) for e in log.since() if e.buffer == buffer) >> 10
            sizes = f"ring buffer is 16 MiB ({used} KiB consumed, {used} KiB readable)"
            call.line(f"{buffer}: {sizes}, max entry is 5120 B, max payload is 4068 B")
        return 0
    if wanted.action == "resize":
        return 0
    _read(call, wanted)
    return 0


def _read(call: Call, wanted: _Wanted) -> None:
    log = call.device.logcat
    entries = log.since()
    number = entries[-1].number if entries else 0
    chosen = [e for e in entries if wanted.takes(e)]
    if wanted.last is not None:
        chosen = chosen[len(chosen) - min(len(chosen), wanted.last) :]
    written = _Writer(call, wanted)
    written.write(chosen)
    while not wanted.dump and not written.full():
        if call.cancelled.is_set() or call.device.stopping.is_set():
            return
        fresh = log.wait(number, _FOLLOW_S)
        number = fresh[-1].number if fresh else number
        written.write([e for e in fresh if wanted.takes(e)])


class _Writer:
    def __init__(self, call: Call, wanted: _Wanted) -> None:
        self._call, self._wanted, self._count = call, wanted, 0
        self._begun: Set[str] = set()

    def full(self) -> bool:
        return self._wanted.most is not None and self._count >= self._wanted.most

    def write(self, entries: List[Entry]) -> None:
        lines = []
        for entry in entries:
            if self.full():
                break
            if entry.buffer not in self._begun:
                self._begun.add(entry.buffer)
                lines.append(f"--------- beginning of {entry.buffer}\n")
            lines.append(_shown(entry, self._wanted))
            self._count += 1
        if lines:
            self._call.out(os.fsencode("".join(lines)))


def _shown(entry: Entry, wanted: _Wanted) -> str:
    moment = _moment(entry.time_s, wanted.modifiers)
    user = ""
    if "uid" in wanted.modifiers:
        name = access.USERS.get(entry.uid, "")
        user = f"{name if name and len(name) <= 5 else entry.uid:>5}:"
    tag = f"{entry.tag:<8}"
    head = f"{entry.priority}/{tag}"
    forms: Dict[str, Callable[[], str]] = {
        "brief": lambda: f"{head}({user}{entry.pid:5d}): ",
        "long": lambda: f"[ {moment} {user}{entry.pid:5d}:{entry.tid:5d} {head} ]\n",
        "process": lambda: f"{entry.priority}({user}{entry.pid:5d}) ",
        "raw": lambda: "",
        "tag": lambda: f"{head}: ",
        "thread": lambda: f"{entry.priority}({user}{entry.pid:5d}:{entry.tid:5d}) ",
        "threadtime": lambda: (
            f"{moment} {user.replace(':', ' ')}{entry.pid:5d} {entry.tid:5d} {entry.priority} {tag}: "
        ),
        "time": lambda: f"{moment} {head}({user}{entry.pid:5d}): ",
    }
    return forms[wanted.form]() + entry.text + ("\n\n" if wanted.form == "long" else "\n")


def _moment(time_s: float, modifiers: Set[str]) -> str:
    digits = 6 if "usec" in modifiers else 3
    units = int(time_s * 10**digits)
    seconds, part = divmod(units, 10**digits)
    if "epoch" in modifiers:
        return f"{seconds:10d}.{part:0{digits}d}"
    form = "%Y-%m-%d %H:%M:%S" if "year" in modifiers else "%m-%d %H:%M:%S"
    return f"{time.strftime(form, time.gmtime(seconds))}.{part:0{digits}d}"


def _wanted(words: List[str]) -> _Wanted:
    wanted, todo = _Wanted(), _spread(words)
    while todo:
        word = todo.pop(0)
        if word in ("-d", "-D", "-L"):
            wanted.dump = wanted.dump or word == "-d"
        elif word in _ACTIONS:
            wanted.action = _ACTIONS[word]
            if word == "-G":
                todo.pop(0)
        elif word in ("-b", "--buffer"):
            wanted.buffers += _buffers(todo.pop(0))
        elif word in ("-v", "--format"):
            _form(wanted, todo.pop(0))
        elif word in ("-t", "-T"):
            wanted.dump = wanted.dump or word == "-t"
            _start(wanted, todo.pop(0))
        elif word == "-s":
            wanted.least.setdefault("*", "S")
        elif word in ("-e", "--regex"):
            wanted.pattern = re.compile(todo.pop(0))
        elif word in ("-m", "--max-count", "--pid"):
            count = _number(todo.pop(0))
            wanted.most, wanted.pid = (wanted.most, count) if word == "--pid" else (count, wanted.pid)
        elif word.startswith("-"):
            raise _Bad(f"Unknown option '{word}'")
        else:
            _filter(wanted, word)
    wanted.buffers = wanted.buffers or list(_DEFAULT)
    return wanted


_ACTIONS = {"-c": "clear", "--clear": "clear", "-g": "size", "--buffer-size": "size", "-G": "resize"}


def _spread(words: List[str]) -> List[str]:
    """`--name=value` and `-bmain` as two words."""
    spread = []
    for word in words:
        if word.startswith("--") and "=" in word:
            spread += word.split("=", 1)
        elif re.match(r"-[bvtTemG].", word):
            spread += [word[:2], word[2:]]
        else:
            spread.append(word)
    return spread


def _buffers(text: str) -> List[str]:
    named = {"all": list(BUFFERS), "default": list(_DEFAULT)}
    found = [b for name in text.split(",") for b in named.get(name, [name])]
    for name in found:
        if name not in BUFFERS:
            raise _Bad(f"unknown buffer {name}")
    return found


def _form(wanted: _Wanted, text: str) -> None:
    for name in re.split(r"[, ]+", text):
        if name in _FORMATS:
            wanted.form = name
        elif name in _MODIFIERS:
            wanted.modifiers.add(name)
        else:
            raise _Bad(f'Invalid parameter "{name}" to -v')


def _start(wanted: _Wanted, text: str) -> None:
    """A count, or a time: `MM-DD hh:mm:ss.mmm`, with a year, or seconds since 1970."""
    if text.isdecimal():
        wanted.last = int(text)
        return
    if re.fullmatch(r"[0-9]+\.[0-9]+", text):
        wanted.since_s = float(text)
        return
    match = re.fullmatch(r"(?:(\d{4})-)?(\d\d-\d\d \d\d:\d\d:\d\d)\.(\d{1,9})", text)
    if not match:
        raise _Bad(f'-T "{text}" not in time format')
    year = match[1] or time.strftime("%Y", time.gmtime())
    try:
        parsed = time.strptime(f"{year}-{match[2]} +0000", "%Y-%m-%d %H:%M:%S %z")
    except ValueError:
        raise _Bad(f'-T "{text}" not in time format') from None
    wanted.since_s = calendar.timegm(parsed) + float(f"0.{match[3]}")


def _filter(wanted: _Wanted, word: str) -> None:
    tag, _, priority = word.partition(":")
    priority = priority.upper()[:1] or ("D" if tag == "*" else "V")
    if priority == "*":
        priority = "V"
    if priority not in _PRIORITIES or not tag:
        raise _Bad(f"Invalid filter expression '{word}'")
    wanted.least[tag] = priority


def _number(text: str) -> int:
    if not text.isdecimal():
        raise _Bad(f"{text} is not a number")
    return int(text)
