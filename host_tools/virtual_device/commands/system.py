"""Commands that ask about the system or change it, and Android's services as the shell sees them."""

import os
import re
import signal
import time
from dataclasses import replace

from host_tools.virtual_device import layout
from host_tools.virtual_device.call import Call, Given, Words, command, run


@command("true", "false")
def true(call: Call, given: Given, words: Words) -> int:
    return int(call.argv[0] == "false")


@command("echo")
def echo(call: Call, given: Given, words: Words) -> int:
    silent = words[:1] == ["-n"]
    call.out(os.fsencode(" ".join(words[silent:]) + ("" if silent else "\n")))
    return 0


@command("sleep", least=1)
def sleep(call: Call, given: Given, words: Words) -> int:
    try:
        call.wait(max(0.0, float(words[0])))
    except ValueError:
        return call.fail("bad time")
    return 0


@command("date")
def date(call: Call, given: Given, words: Words) -> int:
    form = words[0][1:] if words and words[0].startswith("+") else "%a %b %e %H:%M:%S GMT %Y"
    return call.line(time.strftime(form, time.gmtime()))


@command("pwd")
def pwd(call: Call, given: Given, words: Words) -> int:
    return call.line(call.cwd)


@command("getprop")
def getprop(call: Call, given: Given, words: Words) -> int:
    known = call.device.properties
    return call.line(known.get(words[0], "") if words else "\n".join(f"[{k}]: [{v}]" for k, v in sorted(known.items())))


@command("id")
def id_(call: Call, given: Given, words: Words) -> int:
    uid = layout.uid_of(call.user, call.device.apps)
    name = layout.user_name(uid)
    context = "shell" if call.user == "shell" else "runas_app"
    whole = f"uid={uid}({name}) gid={uid}({name}) groups={uid}({name}) context=u:r:{context}:s0"
    return call.line(str(uid) if "-u" in words else whole)


@command("run-as", least=2)
def run_as(call: Call, given: Given, words: Words) -> int:
    """The command as an app, in the app's own folder; only for apps that may be debugged."""
    app = call.device.apps.get(words[0])
    if app is None:
        return call.fail(f"unknown package: {words[0]}")
    if not app.debuggable:
        return call.fail(f"package not debuggable: {words[0]}")
    return run(replace(call, argv=words[1:], user=app.package, cwd=app.data))


_KERNEL = "6.1.57-android14"
_CONSTANTS = {
    "getconf PAGE_SIZE": "4096",
    "uname": "Linux",
    "uname -a": f"Linux localhost {_KERNEL} x86_64 Toybox",
    "uname -m": "x86_64",
    "uname -r": _KERNEL,
    "uname -s": "Linux",
}


@command("getconf", "uname")
def constant(call: Call, given: Given, words: Words) -> int:
    said = _CONSTANTS.get(" ".join([call.argv[0].rpartition("/")[2], *words]))
    return call.line(said) if said else call.fail(f"bad '{' '.join(words)}'")


@command("reboot")
def reboot(call: Call, given: Given, words: Words) -> int:
    call.device.reboot()
    return 0


@command("ps")
def ps(call: Call, given: Given, words: Words) -> int:
    call.line("USER           PID  PPID     VSZ    RSS WCHAN            ADDR S NAME")
    for one in call.device.processes.all():
        user = layout.user_name(one.uid)
        call.line(f"{user:<12} {one.pid:>5}     1       0      0 0                   0 S {one.name}")
    return 0


@command("pidof", letters="s")
def pidof(call: Call, given: Given, words: Words) -> int:
    found = [str(one.pid) for one in call.device.processes.all() if one.name in words]
    return call.line(" ".join(found)) if found else 1


@command("kill", "pkill")
def kill(call: Call, given: Given, words: Words) -> int:
    """`kill [-SIGNAL] PID...`, `pkill [-SIGNAL] [-f] PATTERN`: the user's own processes."""
    signals = {f"-{known}": one for one in signal.Signals for known in (one.value, one.name, one.name[3:])}
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


@command("settings", least=3)
def settings(call: Call, given: Given, words: Words) -> int:
    """Those of the name space `global`."""
    known = call.device.settings
    match words:
        case ["get", "global", name]:
            return call.line(known.get(name, "null"))
        case ["put", "global", name, value]:
            known[name] = value
        case ["delete", "global", name]:
            return call.line(f"Deleted {int(known.pop(name, None) is not None)} rows")
        case _:
            return call.fail("usage: settings get|put|delete global NAME [VALUE]")
    return 0


@command("svc")
def svc(call: Call, given: Given, words: Words) -> int:
    if words[:2] != ["power", "stayon"] or words[2:] not in (["true"], ["false"]):
        return call.fail("available commands: power stayon true|false")
    call.device.settings["stay_on_while_plugged_in"] = "7" if words[2] == "true" else "0"
    return 0


@command("input")
def input_(call: Call, given: Given, words: Words) -> int:
    """`input keyevent KEY`: waking and sleeping keys have an effect."""
    if words[:1] != ["keyevent"] or len(words) != 2:
        return call.fail("Error: Unknown command")
    keys = {"KEYCODE_WAKEUP": True, "KEYCODE_SLEEP": False}
    call.device.awake = keys.get(words[1], call.device.awake)
    return 0


@command("cmd", least=1)
def cmd(call: Call, given: Given, words: Words) -> int:
    """`cmd SERVICE …` tells a service something."""
    commands = {"activity": "am", "package": "pm"}
    if words[0] in commands:
        return run(replace(call, argv=[commands[words[0]], *words[1:]]))
    if words[0] != "power":
        return call.fail(f"Can't find service: {words[0]}", 20)
    if words[1:2] != ["set-fixed-performance-mode-enabled"] or words[2:] not in (["true"], ["false"]):
        return call.fail("Power manager (power) commands: set-fixed-performance-mode-enabled true|false", 255)
    return 0  # taken, as by a phone; this machine's processor is what it is


_BATTERY = """\
Current Battery Service state:
  AC powered: false
  USB powered: true
  status: 2
  health: 2
  present: true
  level: 87
  scale: 100
  voltage: 4187
  temperature: 285
  technology: Li-ion"""
_POWER = """\
POWER MANAGER (dumpsys power)

Power Manager State:
  mWakefulness={wakefulness}
  mIsPowered=true
  mBatteryLevel=87
  mStayOn={stays_on}
  mBootCompleted=true"""
_THERMAL = """\
IsStatusOverride: false
Thermal Status: {status}
Cached temperatures:
{rows}
HAL Ready: true
Current temperatures from HAL:
{rows}
Current cooling devices from HAL:
\tCoolingDevice{{mValue={status}, mType=2, mName=thermal-cpufreq-0}}"""
_COOL_C, _HOT_C = 31.0, 48.5
# A sensor's type as a number, its name, and how it follows the skin's temperature.
_SENSORS = ((0, "cpu0", 6.0), (1, "gpu0", 4.0), (2, "battery", -3.0), (3, "skin", 0.0))


@command("dumpsys", least=1)
def dumpsys(call: Call, given: Given, words: Words) -> int:
    """`dumpsys SERVICE` shows it, as Android 14 writes it."""
    device = call.device
    match words:
        case ["battery", *_]:
            return call.line(_BATTERY)
        case ["power", *_]:
            stays_on = str(device.settings.get("stay_on_while_plugged_in", "0") != "0").lower()
            return call.line(_POWER.format(wakefulness="Awake" if device.awake else "Asleep", stays_on=stays_on))
        case ["thermalservice", *_]:
            status = device.thermal_status()
            skin_c = _HOT_C if status else _COOL_C
            rows = (
                f"\tTemperature{{mValue={skin_c + above:.1f}, mType={kind}, mName={name}, "
                f"mStatus={status if kind == 3 else 0}}}"
                for kind, name, above in _SENSORS
            )
            return call.line(_THERMAL.format(status=status, rows="\n".join(rows)))
        case ["activity", "exit-info", package]:
            return call.line(device.evidence.exit_info(package))
        case ["activity", *_]:
            return call.fail("only exit-info PACKAGE", 255)
    return call.fail(f"Can't find service: {words[0]}", 20)
