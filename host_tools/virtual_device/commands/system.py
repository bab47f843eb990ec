"""Commands that ask about the system or change it: getprop, setprop, id, settings, run-as and their like."""

import os
import time

from host_tools.virtual_device import access
from host_tools.virtual_device import properties as rules
from host_tools.virtual_device.call import Call, command

_GROUPS = "1004(input),1007(log),1011(adb),1015(sdcard_rw),1028(sdcard_r),3003(inet)"


@command("getprop")
def getprop(call: Call) -> int:
    properties = call.device.properties
    if len(call.argv) > 1:
        default = call.argv[2] if len(call.argv) > 2 else ""
        call.line(properties.get(call.argv[1]) or default)
        return 0
    call.out(b"".join(os.fsencode(f"[{k}]: [{v}]\n") for k, v in sorted(dict(properties).items())))
    return 0


@command("setprop")
def setprop(call: Call) -> int:
    if len(call.argv) != 3:
        return call.fail("usage: setprop NAME VALUE")
    name, value = call.argv[1:]
    refused = rules.refusal(call.device.properties, name, value, call.user)
    if refused:
        return call.fail(f"failed to set property '{name}' to '{value}': {refused}")
    call.device.properties[name] = value
    return 0


@command("id")
def id_(call: Call) -> int:
    uid = access.uid_of(call.user, call.device.apps)
    name = access.user_name(uid)
    if "-u" in call.argv or "-g" in call.argv:
        call.line(name if "-n" in call.argv else str(uid))
        return 0
    groups = f"{uid}({name}),{_GROUPS}"
    context = "shell" if call.user == "shell" else "runas_app"
    call.line(f"uid={uid}({name}) gid={uid}({name}) groups={groups} context=u:r:{context}:s0")
    return 0


@command("whoami")
def whoami(call: Call) -> int:
    call.line(access.user_name(access.uid_of(call.user, call.device.apps)))
    return 0


@command("run-as")
def run_as(call: Call) -> int:
    """The command as an app, in the app's own folder; only for apps that may be debugged."""
    words = call.argv[1:]
    if words[1:2] == ["--user"]:
        words = words[:1] + words[3:]
    if not words:
        return call.fail("usage: run-as <package-name> [--user <uid>] <command> [<args>]")
    app = call.device.apps.get(words[0])
    if app is None:
        return call.fail(f"unknown package: {words[0]}")
    if not app.debuggable:
        return call.fail(f"package not debuggable: {words[0]}")
    home = f"{access.APP_DATA}/{app.package}"
    env = {**call.env, "HOME": home}
    return call.run(words[1:] or ["sh"], user=app.package, cwd=home, env=env)


@command("settings")
def settings(call: Call) -> int:
    words = call.argv[1:]
    if words[:1] == ["--user"]:
        words = words[2:]
    if len(words) < 2 or words[1] not in call.device.state.settings:
        return call.fail("usage: settings get|put|delete|list global|system|secure [NAME] [VALUE]")
    table = call.device.state.settings[words[1]]
    action, rest = words[0], words[2:]
    if action == "list":
        call.out(b"".join(os.fsencode(f"{k}={v}\n") for k, v in sorted(table.items())))
    elif action == "get" and rest:
        call.line(table.get(rest[0], "null"))
    elif action == "put" and len(rest) >= 2:
        table[rest[0]] = rest[1]
        if rest[0] == "stay_on_while_plugged_in" and rest[1].isdecimal():
            call.device.state.power.stay_on = int(rest[1])
    elif action == "delete" and rest:
        call.line(f"Deleted {int(table.pop(rest[0], None) is not None)} rows")
    else:
        return call.fail(f"Bad arguments for {action}")
    return 0


@command("getconf")
def getconf(call: Call) -> int:
    known = {"PAGE_SIZE": 4096, "PAGESIZE": 4096, "_NPROCESSORS_ONLN": os.cpu_count(), "LONG_BIT": 64}
    name = call.argv[-1]
    if name not in known:
        return call.fail(f"bad '{name}'")
    call.line(str(known[name]))
    return 0


@command("nproc")
def nproc(call: Call) -> int:
    call.line(str(os.cpu_count()))
    return 0


@command("uname")
def uname(call: Call) -> int:
    words = {"-s": "Linux", "-r": "6.1.57-android14", "-m": "x86_64", "-n": "localhost"}
    if "-a" in call.argv:
        call.line("Linux localhost 6.1.57-android14 #1 SMP PREEMPT x86_64 Toybox")
        return 0
    call.line(" ".join(words.get(w, "") for w in call.argv[1:] or ["-s"]))
    return 0


@command("uptime")
def uptime(call: Call) -> int:
    up = int(max(0.0, time.monotonic() - call.device.booted_at))
    now = time.strftime("%H:%M:%S", time.gmtime())
    call.line(f" {now} up {up // 60} min,  0 users,  load average: 0.10, 0.10, 0.10")
    return 0


@command("getenforce")
def getenforce(call: Call) -> int:
    call.line("Enforcing")
    return 0


@command("reboot")
def reboot(call: Call) -> int:
    call.device.reboot()
    return 0
