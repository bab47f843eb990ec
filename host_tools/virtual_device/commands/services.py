"""Android's services as the shell sees them: dumpsys, cmd and svc.

Another part of the device adds a service with @dump("NAME") or @service("NAME"): both get a Call whose argv
begins with the service's name.
"""

from typing import Dict

from host_tools.virtual_device import access
from host_tools.virtual_device.call import Call, Command, command

DUMPS: Dict[str, Command] = {}
SERVICES: Dict[str, Command] = {}


def dump(name: str):
    """Enters a function as `dumpsys NAME`."""
    return lambda function: DUMPS.setdefault(name, function)


def service(name: str):
    """Enters a function as `cmd NAME`, which adb also asks for by abb_exec."""
    return lambda function: SERVICES.setdefault(name, function)


@command("dumpsys")
def dumpsys(call: Call) -> int:
    words = call.argv[1:]
    if words[:1] == ["-l"]:
        call.line("Currently running services:")
        for name in sorted(DUMPS):
            call.line(f"  {name}")
        return 0
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-t", "-T", "--priority") else words[1:]
    if not words:
        return call.fail("name a service", 1)
    if words[0] not in DUMPS:
        call.line(f"Can't find service: {words[0]}")
        return 0
    call.argv = words
    return DUMPS[words[0]](call)


@command("cmd")
def cmd(call: Call) -> int:
    words = call.argv[1:]
    if words[:1] == ["-l"]:
        call.line("Currently running services:")
        for name in sorted(SERVICES):
            call.line(f"  {name}")
        return 0
    if not words:
        return call.fail("No service specified; use -l to list all services", 20)
    if words[0] not in SERVICES:
        return call.fail(f"Can't find service: {words[0]}", 20)
    call.argv = words
    return SERVICES[words[0]](call)


@service("settings")
def settings(call: Call) -> int:
    return call.run(call.argv)


@dump("battery")
def battery(call: Call) -> int:
    """Shows it; `set level|temp|ac|usb|status N`, `unplug` and `reset` change it."""
    state = call.device.state.battery
    words = call.argv[1:]
    if words:
        return _change_battery(call, words)
    call.line(
        "Current Battery Service state:\n"
        + ("  (UPDATES STOPPED -- use 'reset' to restart)\n" if state.updates_stopped else "")
        + f"  AC powered: {str(state.plugged_ac).lower()}\n"
        f"  USB powered: {str(state.plugged_usb).lower()}\n"
        "  Wireless powered: false\n  Dock powered: false\n"
        "  Max charging current: 500000\n  Max charging voltage: 5000000\n  Charge counter: 3815000\n"
        f"  status: {state.status}\n  health: 2\n  present: true\n  level: {state.level}\n  scale: 100\n"
        f"  voltage: {state.voltage_mv}\n  temperature: {round(state.temperature_c * 10)}\n  technology: Li-ion"
    )
    return 0


def _change_battery(call: Call, words) -> int:
    state = call.device.state.battery
    if words[0] == "reset":
        call.device.state.battery = type(state)()
        return 0
    if words[0] == "unplug":
        state.plugged_usb = state.plugged_ac = False
        state.status, state.updates_stopped = 3, True
        return 0
    if words[0] == "set" and len(words) >= 3 and words[-1].lstrip("-").isdecimal():
        name, value = words[1], int(words[-1])
        known = {
            "level": ("level", value),
            "temp": ("temperature_c", value / 10),
            "ac": ("plugged_ac", bool(value)),
            "usb": ("plugged_usb", bool(value)),
            "status": ("status", value),
        }
        if name in known:
            setattr(state, *known[name])
            state.updates_stopped = True
            return 0
    return call.fail("Battery service (battery) commands: set, unplug, reset", 255)


@service("battery")
def cmd_battery(call: Call) -> int:
    return battery(call)


# A sensor's type as a number, its name, and how it follows the skin's temperature.
_SENSORS = ((0, "cpu0", 6.0), (1, "gpu0", 4.0), (2, "battery", -3.0), (3, "skin", 0.0))


@dump("thermalservice")
def thermalservice(call: Call) -> int:
    """Status and sensors, cached and current; thresholds, as Android 14 writes them."""
    thermal = call.device.state.thermal
    status, skin = thermal.status, thermal.skin_c
    rows = [
        f"\tTemperature{{mValue={skin + above:.1f}, mType={kind}, mName={name}, mStatus={status if kind == 3 else 0}}}"
        for kind, name, above in _SENSORS
    ]
    limits = "NaN, 39.0, 41.0, 43.0, 46.0, 50.0, 55.0"
    call.line(
        "\n".join(
            [
                f"IsStatusOverride: {str(thermal.overridden).lower()}",
                "ThermalEventListeners:",
                "\tcallbacks: 1",
                "\tkilled: false",
                "\tbroadcasts count: -1",
                "ThermalStatusListeners:",
                "\tcallbacks: 1",
                "\tkilled: false",
                "\tbroadcasts count: -1",
                f"Thermal Status: {status}",
                "Cached temperatures:",
                *rows,
                "HAL Ready: true",
                "HAL connection:",
                "\tThermalHAL AIDL 1  connected: yes",
                "Current temperatures from HAL:",
                *rows,
                "Current cooling devices from HAL:",
                f"\tCoolingDevice{{mValue={status}, mType=2, mName=thermal-cpufreq-0}}",
                "Temperature static thresholds from HAL:",
                f"\tTemperatureThreshold{{type=3, name=skin, hotThrottlingThresholds=[{limits}], "
                "coldThrottlingThresholds=[NaN, NaN, NaN, NaN, NaN, NaN, NaN]}",
            ]
        )
    )
    return 0


@service("thermalservice")
def cmd_thermalservice(call: Call) -> int:
    words = call.argv[1:]
    if words[:1] == ["override-status"] and len(words) == 2 and words[1] in tuple("0123456"):
        call.device.state.thermal.set(int(words[1]))
        return 0
    if words == ["reset"]:
        call.device.state.thermal.set(None)
        return 0
    return call.fail("Thermal service (thermalservice) commands: override-status STATUS, reset", 255)


@dump("power")
def power(call: Call) -> int:
    state = call.device.state.power
    plugged = call.device.state.battery.plugged_usb or call.device.state.battery.plugged_ac
    awake = "Awake" if state.awake else "Asleep"
    call.line(
        "POWER MANAGER (dumpsys power)\n\nPower Manager State:\n"
        f"  mWakefulness={awake}\n  mWakefulnessChanging=false\n  mIsPowered={str(plugged).lower()}\n"
        f"  mBatteryLevel={call.device.state.battery.level}\n  mStayOn={str(bool(state.stay_on and plugged)).lower()}\n"
        f"  mStayOnWhilePluggedInSetting={state.stay_on}\n  mBootCompleted=true\n  mSystemReady=true\n"
        f"  mLowPowerModeEnabled={str(state.low_power).lower()}\n"
        f"Display Power: state={'ON' if state.awake else 'OFF'}"
    )
    return 0


@service("power")
def cmd_power(call: Call) -> int:
    words = call.argv[1:]
    state = call.device.state.power
    if words[:1] == ["set-fixed-performance-mode-enabled"] and words[1:] in (["true"], ["false"]):
        state.fixed_performance = words[1] == "true"
        return 0
    if words[:1] == ["set-mode"] and words[1:] in (["0"], ["1"]):
        state.low_power = words[1] == "1"
        return 0
    return call.fail("Power manager (power) commands: set-mode 0|1, set-fixed-performance-mode-enabled true|false", 255)


@dump("deviceidle")
@service("deviceidle")
def deviceidle(call: Call) -> int:
    words = call.argv[1:]
    state = call.device.state.power
    if words[:1] == ["force-idle"]:
        state.idle = True
        call.line("Now forced in to deep idle mode")
    elif words[:1] == ["unforce"]:
        state.idle = False
        call.line("Light state: ACTIVE, deep state: ACTIVE")
    else:
        call.line(f"  mState={'IDLE' if state.idle else 'ACTIVE'}")
    return 0


@command("svc")
def svc(call: Call) -> int:
    """`svc power stayon true|false|usb|ac|wireless`; wifi, data and nfc are taken without an effect."""
    words = call.argv[1:]
    bits = {"true": 7, "false": 0, "ac": 1, "usb": 2, "wireless": 4}
    if words[:2] == ["power", "stayon"] and len(words) == 3 and words[2] in bits:
        call.device.state.power.stay_on = bits[words[2]]
        call.device.state.settings["global"]["stay_on_while_plugged_in"] = str(bits[words[2]])
        return 0
    if len(words) == 2 and words[0] in ("wifi", "data", "nfc", "bluetooth") and words[1] in ("enable", "disable"):
        return 0
    return call.fail("available commands: power stayon, wifi, data, nfc, bluetooth")


_WAKE = {"KEYCODE_WAKEUP": True, "224": True, "KEYCODE_SLEEP": False, "223": False}


@command("input")
def input_(call: Call) -> int:
    """`input keyevent`: waking and sleeping keys have an effect."""
    words = call.argv[1:]
    if words[:1] == ["keyevent"] and len(words) > 1:
        power = call.device.state.power
        for key in words[1:]:
            power.awake = not power.awake if key in ("KEYCODE_POWER", "26") else _WAKE.get(key, power.awake)
        return 0
    return 0 if words[:1] in (["tap"], ["swipe"], ["text"]) else call.fail("Error: Unknown command")


@command("wm")
def wm(call: Call) -> int:
    shown = {"size": "Physical size: 1080x2400", "density": "Physical density: 420"}
    words = call.argv[1:]
    if len(words) != 1 or words[0] not in shown:
        return call.fail("only size and density")
    call.line(shown[words[0]])
    return 0


@command("ip")
def ip(call: Call) -> int:
    if call.argv[1:2] in (["route"], ["addr"]):
        call.line("127.0.0.0/8 dev lo proto kernel scope link src 127.0.0.1")
    return 0


@command("log")
def log(call: Call) -> int:
    """`log [-p PRIORITY] [-t TAG] TEXT...` writes to Android's log."""
    words, priority, tag = call.argv[1:], "I", "log"
    while len(words) > 1 and words[0] in ("-p", "-t"):
        if words[0] == "-p":
            priority = words[1][:1].upper()
        else:
            tag = words[1]
        words = words[2:]
    call.device.logcat.add(priority, tag, " ".join(words), uid=2000)
    return 0


@command("ps")
def ps(call: Call) -> int:
    """The processes of apps."""
    call.line("USER           PID  PPID     VSZ    RSS WCHAN            ADDR S NAME")
    for one in call.device.processes.all():
        kib = one.resident_bytes() // 1024
        user = access.user_name(one.one.uid)
        call.line(f"{user:<12} {one.pid:>5}     1 {kib:>7} {kib:>6} 0                   0 S {one.one.package}")
    return 0


@command("pidof")
def pidof(call: Call) -> int:
    found = [str(one.pid) for one in call.device.processes.all() if one.one.package in call.argv[1:]]
    if found:
        call.line(" ".join(found))
    return int(not found)
