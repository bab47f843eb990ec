"""Commands that ask about the system or change it: properties, users, processes, the time."""

import os
import re
import signal
import time
from dataclasses import replace

from host_tools.virtual_device import layout
from host_tools.virtual_device.call import Call, command, run


@command("true", "false")
def true(call: Call) -> int:
    return int(call.argv[0] == "false")


@command("echo")
def echo(call: Call) -> int:
    words = call.argv[1:]
    silent = words[:1] == ["-n"]
    call.out(os.fsencode(" ".join(words[silent:]) + ("" if silent else "\n")))
    return 0


@command("sleep")
def sleep(call: Call) -> int:
    try:
        call.wait(max(0.0, float(call.argv[1])))
    except (IndexError, ValueError):
        return call.fail("bad time")
    return 0


@command("date")
def date(call: Call) -> int:
    form = call.argv[1][1:] if len(call.argv) > 1 and call.argv[1].startswith("+") else "%a %b %e %H:%M:%S GMT %Y"
    call.line(time.strftime(form, time.gmtime()))
    return 0


@command("pwd")
def pwd(call: Call) -> int:
    call.line(call.cwd)
    return 0


@command("getprop")
def getprop(call: Call) -> int:
    properties = call.device.properties
    if len(call.argv) > 1:
        call.line(properties.get(call.argv[1]) or "".join(call.argv[2:3]))
        return 0
    call.out(b"".join(os.fsencode(f"[{k}]: [{v}]\n") for k, v in sorted(dict(properties).items())))
    return 0


@command("id")
def id_(call: Call) -> int:
    uid = layout.uid_of(call.user, call.device.apps)
    name = layout.user_name(uid)
    if "-u" in call.argv:
        call.line(str(uid))
        return 0
    context = "shell" if call.user == "shell" else "runas_app"
    call.line(f"uid={uid}({name}) gid={uid}({name}) groups={uid}({name}) context=u:r:{context}:s0")
    return 0


@command("run-as")
def run_as(call: Call) -> int:
    """The command as an app, in the app's own folder; only for apps that may be debugged."""
    words = call.argv[1:]
    if len(words) < 2:
        return call.fail("usage: run-as <package-name> <command> [<args>]")
    app = call.device.apps.get(words[0])
    if app is None:
        return call.fail(f"unknown package: {words[0]}")
    if not app.debuggable:
        return call.fail(f"package not debuggable: {words[0]}")
    return run(replace(call, argv=words[1:], user=app.package, cwd=app.data))


@command("getconf")
def getconf(call: Call) -> int:
    if call.argv[1:] != ["PAGE_SIZE"]:
        return call.fail(f"bad '{' '.join(call.argv[1:])}'")
    call.line("4096")
    return 0


@command("uname")
def uname(call: Call) -> int:
    kernel = "6.1.57-android14"
    known = {"-s": "Linux", "-r": kernel, "-m": "x86_64", "-a": f"Linux localhost {kernel} x86_64 Toybox"}
    call.line(" ".join(known.get(word, "") for word in call.argv[1:] or ["-s"]))
    return 0


@command("reboot")
def reboot(call: Call) -> int:
    call.device.reboot()
    return 0


@command("ps")
def ps(call: Call) -> int:
    call.line("USER           PID  PPID     VSZ    RSS WCHAN            ADDR S NAME")
    for one in call.device.processes.all():
        call.line(
            f"{layout.user_name(one.uid):<12} {one.pid:>5}     1       0      0 0                   0 S {one.name}"
        )
    return 0


@command("pidof")
def pidof(call: Call) -> int:
    _, names = call.options("s")
    found = [str(one.pid) for one in call.device.processes.all() if one.name in names]
    if found:
        call.line(" ".join(found))
    return int(not found)


@command("kill", "pkill")
def kill(call: Call) -> int:
    """`kill [-SIGNAL] PID...`, `pkill [-SIGNAL] [-f] PATTERN`: the user's own processes."""
    signals = {f"-{known}": one for one in signal.Signals for known in (one.value, one.name, one.name[3:])}
    words = call.argv[1:]
    number = signals[words.pop(0)] if words and words[0] in signals else signal.SIGTERM
    running = call.device.processes.all()
    try:
        if call.argv[0] == "kill":
            found = [one for one in running if str(one.pid) in words]
        else:
            form, whole = re.compile(words[-1]), words[:-1] == ["-f"]
            found = [one for one in running if form.search(one.command_line if whole else one.name)]
    except (IndexError, re.error):
        return call.fail(f"bad arguments: {' '.join(call.argv[1:])}")
    if call.argv[0] == "kill" and not found:
        return call.fail("No such process")
    status = int(not found)
    for one in found:
        if one.uid == layout.uid_of(call.user, call.device.apps):
            one.send(number)
        else:
            status = call.fail(f"{one.pid}: Operation not permitted")
    return status
