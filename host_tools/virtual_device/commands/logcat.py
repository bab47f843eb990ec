"""logcat: reads Android's log, as liblog writes it."""

import calendar
import getopt
import os
import time
from dataclasses import dataclass, field

from host_tools.virtual_device import access
from host_tools.virtual_device.call import Call, command
from host_tools.virtual_device.log_buffer import BUFFERS, Entry

_PRIORITIES = "VDIWEFS"
_FORMATS = ("brief", "raw", "threadtime", "time")
_FOLLOW_S = 0.1


class _Bad(Exception):
    """A command line that logcat does not take."""


@dataclass
class _Wanted:
    buffers: list[str] = field(default_factory=list)
    form: str = "threadtime"
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
            entry.buffer in (self.buffers or BUFFERS)
            and entry.time_s >= self.since_s
            and self.pid in (None, entry.pid)
            and _PRIORITIES.index(entry.priority) >= _PRIORITIES.index(least)
        )


@command("logcat")
def logcat(call: Call) -> int:
    """-d -c -b -v -t -T -s --pid and filters (`TAG:PRIORITY`); without -d it goes on until nobody reads."""
    try:
        wanted = _wanted(call.argv[1:])
    except (_Bad, ValueError) as error:
        return call.fail(str(error))
    log = call.device.logcat
    begun: set[str] = set()
    if wanted.clear:
        for buffer in wanted.buffers or BUFFERS:
            log.clear(buffer)
        return 0
    entries = log.since()
    number = entries[-1].number if entries else 0
    chosen = [entry for entry in entries if wanted.takes(entry)]
    _write(call, wanted, chosen if wanted.last is None else chosen[max(0, len(chosen) - wanted.last) :], begun)
    while not (wanted.dump or call.cancelled.is_set() or call.device.stopping.is_set()):
        fresh = log.wait(number, _FOLLOW_S)
        number = fresh[-1].number if fresh else number
        _write(call, wanted, [entry for entry in fresh if wanted.takes(entry)], begun)
    return 0


def _write(call: Call, wanted: _Wanted, entries: list[Entry], begun: set[str]) -> None:
    lines = []
    for entry in entries:
        if entry.buffer not in begun:
            begun.add(entry.buffer)
            lines.append(f"--------- beginning of {entry.buffer}\n")
        lines.append(_head(entry, wanted) + entry.text + "\n")
    if lines:
        call.out(os.fsencode("".join(lines)))


def _head(entry: Entry, wanted: _Wanted) -> str:
    milliseconds = int(entry.time_s * 1000)
    moment = f"{time.strftime('%m-%d %H:%M:%S', time.gmtime(milliseconds // 1000))}.{milliseconds % 1000:03d}"
    user = ""
    if wanted.user:
        name = access.USERS.get(entry.uid, "")
        user = f"{name if name and len(name) <= 5 else entry.uid:>5}:"
    tag = f"{entry.tag:<8}"
    if wanted.form == "raw":
        return ""
    if wanted.form == "threadtime":
        return f"{moment} {user.replace(':', ' ')}{entry.pid:5d} {entry.tid:5d} {entry.priority} {tag}: "
    return f"{moment + ' ' if wanted.form == 'time' else ''}{entry.priority}/{tag}({user}{entry.pid:5d}): "


def _wanted(words: list[str]) -> _Wanted:
    given, filters = getopt.gnu_getopt(words, "dcb:v:t:T:s", ["pid="])
    wanted = _Wanted(clear=("-c", "") in given, dump=any(name in ("-d", "-t") for name, _ in given))
    for name, value in given:
        if name == "-b":
            wanted.buffers += BUFFERS if value == "all" else value.split(",")
        elif name == "-v" and value in _FORMATS:
            wanted.form = value
        elif name == "-v" and value == "uid":
            wanted.user = True
        elif name == "-v":
            raise _Bad(f'Invalid parameter "{value}" to -v')
        elif name in ("-t", "-T"):
            _start(wanted, value)
        elif name == "-s":
            wanted.least["*"] = "S"
        elif name == "--pid":
            wanted.pid = int(value)
    if set(wanted.buffers) - set(BUFFERS):
        raise _Bad(f"unknown buffer {wanted.buffers[-1]}")
    for word in filters:
        tag, _, priority = word.partition(":")
        wanted.least[tag] = priority.upper()[:1] or ("D" if tag == "*" else "V")
        if wanted.least[tag] not in _PRIORITIES:
            raise _Bad(f"Invalid filter expression '{word}'")
    return wanted


def _start(wanted: _Wanted, text: str) -> None:
    """A count, or a time: `MM-DD hh:mm:ss.mmm`."""
    if text.isdecimal():
        wanted.last = int(text)
        return
    moment, _, part = text.partition(".")
    try:
        parsed = time.strptime(f"{time.gmtime().tm_year}-{moment}", "%Y-%m-%d %H:%M:%S")
        wanted.since_s = calendar.timegm(parsed) + float(f"0.{part}")
    except ValueError:
        raise _Bad(f'-T "{text}" not in time format') from None
