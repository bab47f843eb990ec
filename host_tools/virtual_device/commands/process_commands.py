"""Commands of processes: apps, and the programs that a shell started."""

import re
import signal

from host_tools.virtual_device import layout
from host_tools.virtual_device.call import Call, command


@command("ps")
def ps(call: Call) -> int:
    call.line("USER           PID  PPID     VSZ    RSS WCHAN            ADDR S NAME")
    for one in call.device.processes.all():
        kib = one.resident_bytes() // 1024
        call.line(
            f"{layout.user_name(one.uid):<12} {one.pid:>5}     1 {kib:>7} {kib:>6} 0                   0 S {one.name}"
        )
    return 0


@command("pidof")
def pidof(call: Call) -> int:
    _, names = call.options("s")
    found = [str(one.pid) for one in call.device.processes.all() if one.name in names]
    if found:
        call.line(" ".join(found))
    return int(not found)


def _signal(words: list[str]) -> tuple[int, list[str]]:
    """Of `-9`, `-KILL` or nothing, and the words after it. ValueError where there is no such signal."""
    if not words or not re.fullmatch(r"-([0-9]+|[A-Z][A-Z0-9]+)", words[0]):
        return signal.SIGTERM, words
    name = words[0][1:].removeprefix("SIG")
    known = {one.name.removeprefix("SIG"): one for one in signal.Signals}
    return (signal.Signals(int(name)) if name.isdecimal() else known.get(name) or signal.Signals(0)), words[1:]


@command("kill", "pkill")
def kill(call: Call) -> int:
    """`kill [-SIGNAL] PID...`, `pkill [-SIGNAL] [-f] PATTERN`: the user's own processes."""
    try:
        number, words = _signal(call.argv[1:])
        if call.argv[0] == "kill":
            wanted = {int(word) for word in words}
            found = [one for one in call.device.processes.all() if one.pid in wanted]
        else:
            form, whole = re.compile(words[-1]), words[:-1] == ["-f"]
            found = [one for one in call.device.processes.all() if form.search(one.command_line if whole else one.name)]
    except (ValueError, IndexError, re.error):
        return call.fail(f"bad arguments: {' '.join(call.argv[1:])}")
    status = int(not found)
    if call.argv[0] == "kill" and not found:
        return call.fail("No such process")
    for one in found:
        if one.uid == layout.uid_of(call.user, call.device.apps):
            one.send(number)
        else:
            status = call.fail(f"{one.pid}: Operation not permitted")
    return status
