"""Android's services as the shell sees them: dumpsys, cmd, svc and input."""

from host_tools.virtual_device.call import Call, Command, command
from host_tools.virtual_device.commands.am import activity
from host_tools.virtual_device.commands.pm import package, short
from host_tools.virtual_device.evidence import moment
from host_tools.virtual_device.packages import Installed


def _battery(call: Call) -> int:
    """Shows it; `set level|temp N`, `unplug` and `reset` change it."""
    state, words = call.device.state.battery, call.argv[1:]
    if words == ["reset"]:
        call.device.state.battery = type(state)()
    elif words == ["unplug"]:
        state.plugged_usb, state.status = False, 3
    elif words[:2] in (["set", "level"], ["set", "temp"]) and len(words) == 3 and words[2].isdecimal():
        setattr(state, *(("level", int(words[2])) if words[1] == "level" else ("temperature_c", int(words[2]) / 10)))
    elif words:
        return call.fail("Battery service (battery) commands: set level|temp N, unplug, reset", 255)
    else:
        call.line(
            f"Current Battery Service state:\n  AC powered: false\n  USB powered: {str(state.plugged_usb).lower()}\n"
            "  Wireless powered: false\n  Dock powered: false\n"
            "  Max charging current: 500000\n  Max charging voltage: 5000000\n  Charge counter: 3815000\n"
            f"  status: {state.status}\n  health: 2\n  present: true\n  level: {state.level}\n  scale: 100\n"
            f"  voltage: 4187\n  temperature: {round(state.temperature_c * 10)}\n  technology: Li-ion"
        )
    return 0


# A sensor's type as a number, its name, and how it follows the skin's temperature.
_SENSORS = ((0, "cpu0", 6.0), (1, "gpu0", 4.0), (2, "battery", -3.0), (3, "skin", 0.0))
_THERMAL = """\
IsStatusOverride: {overridden}
ThermalEventListeners:
\tcallbacks: 1
\tkilled: false
\tbroadcasts count: -1
ThermalStatusListeners:
\tcallbacks: 1
\tkilled: false
\tbroadcasts count: -1
Thermal Status: {status}
Cached temperatures:
{rows}
HAL Ready: true
HAL connection:
\tThermalHAL AIDL 1  connected: yes
Current temperatures from HAL:
{rows}
Current cooling devices from HAL:
\tCoolingDevice{{mValue={status}, mType=2, mName=thermal-cpufreq-0}}
Temperature static thresholds from HAL:
\tTemperatureThreshold{{type=3, name=skin, hotThrottlingThresholds=[NaN, 39.0, 41.0, 43.0, 46.0, 50.0, 55.0], \
coldThrottlingThresholds=[NaN, NaN, NaN, NaN, NaN, NaN, NaN]}}"""


def _thermal(call: Call) -> int:
    """Status and sensors, cached and current; thresholds, as Android 14 writes them."""
    thermal = call.device.state.thermal
    status, skin = thermal.status, thermal.skin_c
    rows = "\n".join(
        f"\tTemperature{{mValue={skin + above:.1f}, mType={kind}, mName={name}, mStatus={status if kind == 3 else 0}}}"
        for kind, name, above in _SENSORS
    )
    call.line(_THERMAL.format(overridden=str(thermal.overridden).lower(), status=status, rows=rows))
    return 0


def _override_thermal(call: Call) -> int:
    words = call.argv[1:]
    if words != ["reset"] and not (
        words[:1] == ["override-status"] and len(words) == 2 and words[1] in tuple("0123456")
    ):
        return call.fail("Thermal service (thermalservice) commands: override-status STATUS, reset", 255)
    call.device.state.thermal.set(None if words == ["reset"] else int(words[1]))
    return 0


def _power(call: Call) -> int:
    state, battery = call.device.state, call.device.state.battery
    stays_on = state.settings["global"]["stay_on_while_plugged_in"] not in ("0", "null") and battery.plugged_usb
    call.line(
        "POWER MANAGER (dumpsys power)\n\nPower Manager State:\n"
        f"  mWakefulness={'Awake' if state.awake else 'Asleep'}\n  mWakefulnessChanging=false\n"
        f"  mIsPowered={str(battery.plugged_usb).lower()}\n  mBatteryLevel={battery.level}\n"
        f"  mStayOn={str(stays_on).lower()}\n  mBootCompleted=true\n  mSystemReady=true\n"
        f"Display Power: state={'ON' if state.awake else 'OFF'}"
    )
    return 0


def _change_power(call: Call) -> int:
    if call.argv[1:2] != ["set-fixed-performance-mode-enabled"] or call.argv[2:] not in (["true"], ["false"]):
        return call.fail("Power manager (power) commands: set-fixed-performance-mode-enabled true|false", 255)
    return 0  # taken, as by a phone; this machine's processor is what it is


def _package(call: Call) -> int:
    found = [one for one in call.device.packages.all() if one.package in call.argv[1:2] or not call.argv[1:]]
    if not found:
        call.line(f"Unable to find package: {' '.join(call.argv[1:])}")
        return 0
    call.line("\n".join(["Packages:", *(row for one in found for row in _about(one))]))
    return 0


def _about(one: Installed) -> list[str]:
    return [
        f"  Package [{one.package}] ({one.sha256[:7]}):",
        f"    userId={one.uid}",
        f"    codePath={one.folder}",
        f"    primaryCpuAbi={one.abi or 'null'}",
        f"    versionCode={one.version_code} minSdk={one.min_sdk} targetSdk={one.target_sdk}",
        f"    versionName={one.version_name}",
        f"    flags=[ HAS_CODE ALLOW_CLEAR_USER_DATA{' DEBUGGABLE' if one.debuggable else ''} ]",
        f"    dataDir=/data/user/0/{one.package}",
        f"    lastUpdateTime={moment(one.updated_s)[:19]}",
        *(f"    instrumentation: {short(one, name)} (target={target})" for name, target in one.instrumentations),
    ]


def _activity(call: Call) -> int:
    """`activity exit-info [PACKAGE]`"""
    if call.argv[1:2] != ["exit-info"]:
        return call.fail("only exit-info", 255)
    known = call.device.evidence
    call.line("ACTIVITY MANAGER PROCESS EXIT INFO (dumpsys activity exit-info)")
    call.line("Last Timestamp of Persistence Into Persistent Storage: 1970-01-01 00:00:00.000")
    for name in call.argv[2:] or known.packages():
        exits = known.exits(name)
        if exits:
            call.line(f"  package: {name}\n    Historical Process Exit for uid={exits[0].uid}")
            call.line("\n".join(line for number, one in enumerate(exits) for line in one.lines(number)))
    return 0


_DUMPS: dict[str, Command] = {
    "activity": _activity, "battery": _battery, "package": _package, "power": _power, "thermalservice": _thermal,
}  # fmt: skip
_SERVICES: dict[str, Command] = {
    "activity": activity, "battery": _battery, "package": package, "power": _change_power,
    "thermalservice": _override_thermal,
}  # fmt: skip


@command("dumpsys", "cmd")
def dumpsys(call: Call) -> int:
    """`dumpsys SERVICE …` shows it, `cmd SERVICE …` tells it something."""
    table = _DUMPS if call.argv[0] == "dumpsys" else _SERVICES
    name = "".join(call.argv[1:2])
    if name not in table:
        return call.fail(f"Can't find service: {name}", 20)
    call.argv = call.argv[1:]
    return table[name](call)


@command("svc")
def svc(call: Call) -> int:
    """`svc power stayon true|false|usb|ac|wireless`"""
    bits = {"true": 7, "false": 0, "ac": 1, "usb": 2, "wireless": 4}
    words = call.argv[1:]
    if words[:2] != ["power", "stayon"] or words[2:3] == [] or words[2] not in bits:
        return call.fail("available commands: power stayon")
    call.device.state.settings["global"]["stay_on_while_plugged_in"] = str(bits[words[2]])
    return 0


_KEYS = {"KEYCODE_WAKEUP": True, "224": True, "KEYCODE_SLEEP": False, "223": False}


@command("input")
def input_(call: Call) -> int:
    """`input keyevent KEY`: waking and sleeping keys have an effect."""
    if call.argv[1:2] != ["keyevent"] or len(call.argv) != 3:
        return call.fail("Error: Unknown command")
    state, key = call.device.state, call.argv[2]
    state.awake = not state.awake if key in ("KEYCODE_POWER", "26") else _KEYS.get(key, state.awake)
    return 0
