"""Android's log: the command that reads it as liblog does."""

import os
from datetime import UTC, datetime

from host_tools.virtual_device.call import Call, Given, Words, command
from host_tools.virtual_device.log_buffer import BUFFERS, KEPT, PRIORITIES, Entry

_FOLLOW_S = 0.1


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
    text = given.get(option, str(KEPT))
    if text.isdecimal():
        if not int(text):
            call.err(os.fsencode(f"WARNING: {option} {text} invalid, setting to 1\n"))
        return 0.0, max(1, int(text))
    this_year = datetime.now(UTC).year
    try:
        return datetime.strptime(f"{this_year}-{text} +0000", "%Y-%m-%d %H:%M:%S.%f %z").timestamp(), KEPT
    except ValueError:
        raise ValueError(f"{option} '{text}' not in time format.") from None


def _least(filters: Words, silent: bool) -> dict[str, str]:
    """The least priority of each tag that is named, "*" for all others."""
    least = {"*": "S" if silent else "V"}
    for word in filters:
        tag, _, priority = word.partition(":")
        least[tag] = priority.upper()[:1] or ("D" if tag == "*" else "V")
        if least[tag] not in PRIORITIES:
            raise ValueError(f"Invalid filter expression '{word}'")
    return least
