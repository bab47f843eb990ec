"""The activity manager's commands: `am …` and `cmd activity …`."""

import os

from host_tools.virtual_device import instrument
from host_tools.virtual_device.call import Call, command

_USAGE = "usage: am [subcommand] [options]\n\n    am instrument | start | force-stop | kill\n"


@command("am")
def activity(call: Call) -> int:
    verb, words = (call.argv[1:2] or [""])[0], call.argv[2:]
    if verb == "instrument":
        return _instrument(call, words)
    if verb == "start" and words:
        return _start(call, words[-1])
    if verb in ("force-stop", "kill") and words:
        stopped = call.device.processes.end(words[-1], f"from pid {next(call.device.pids)}")
        if stopped or verb == "force-stop":
            call.device.evidence.system("I", f"Force stopping {words[-1]} appid=0 user=0: from shell")
        return 0
    call.out(_USAGE.encode())
    return 255


def _instrument(call: Call, words: list[str]) -> int:
    try:
        told = instrument.parse(words)
        if "/" not in told.component:
            told.component = _only_one(call, told.component)
    except instrument.BadArguments as error:
        call.err(os.fsencode(f"{_USAGE}\nError: {error}\n"))
        return 1
    return instrument.run(call, told)


def _only_one(call: Call, package: str) -> str:
    one = call.device.packages.get(package)
    if one is None or not one.instrumentations:
        raise instrument.BadArguments(f"No instrumentation found for: {package}")
    return f"{package}/{one.instrumentations[0][0]}"


def _start(call: Call, component: str) -> int:
    """No app here has a window: a component that is there cannot be shown, either."""
    package, _, name = component.partition("/")
    full = package + name if name.startswith(".") else name
    one = call.device.packages.get(package)
    call.line(f"Starting: Intent {{ cmp={component} }}")
    if one and ["activity", full] in one.components:
        call.err(b"Error: activities cannot be shown on this device\n")
    else:
        call.line(f"Error type 3\nError: Activity class {{{package}/{full}}} does not exist.")
    return 1
