"""Android's services as the shell sees them: dumpsys, cmd, settings, svc and input."""

from host_tools.virtual_device.call import Call, Command, command
from host_tools.virtual_device.commands.am import activity
from host_tools.virtual_device.commands.pm import package
from host_tools.virtual_device.state import BATTERY_PERCENT, BATTERY_TENTHS_C


def _battery(call: Call) -> int:
    call.line(
        "Current Battery Service state:\n  AC powered: false\n  USB powered: true\n"
        "  Wireless powered: false\n  Dock powered: false\n"
        "  Max charging current: 500000\n  Max charging voltage: 5000000\n  Charge counter: 3815000\n"
        f"  status: 2\n  health: 2\n  present: true\n  level: {BATTERY_PERCENT}\n  scale: 100\n"
        f"  voltage: 4187\n  temperature: {BATTERY_TENTHS_C}\n  technology: Li-ion"
    )
    return 0


_COOL_C, _HOT_C = 31.0, 48.5
# A sensor's type as a number, its name, and how it follows the skin's temperature.
_SENSORS = ((0, "cpu0", 6.0), (1, "gpu0", 4.0), (2, "battery", -3.0), (3, "skin", 0.0))
_THERMAL = """\
IsStatusOverride: false
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
    status = call.device.thermal_status()
    skin_c = _HOT_C if status else _COOL_C
    rows = "\n".join(
        f"\tTemperature{{mValue={skin_c + above:.1f}, mType={kind}, mName={name}, "
        f"mStatus={status if kind == 3 else 0}}}"
        for kind, name, above in _SENSORS
    )
    call.line(_THERMAL.format(status=status, rows=rows))
    return 0


def _power(call: Call) -> int:
    state = call.device.state
    stays_on = state.settings["global"].get("stay_on_while_plugged_in", "0") != "0"
    call.line(
        "POWER MANAGER (dumpsys power)\n\nPower Manager State:\n"
        f"  mWakefulness={'Awake' if state.awake else 'Asleep'}\n  mWakefulnessChanging=false\n"
        f"  mIsPowered=true\n  mBatteryLevel={BATTERY_PERCENT}\n"
        f"  mStayOn={str(stays_on).lower()}\n  mBootCompleted=true\n  mSystemReady=true\n"
        f"Display Power: state={'ON' if state.awake else 'OFF'}"
    )
    return 0


def _change_power(call: Call) -> int:
    if call.argv[1:2] != ["set-fixed-performance-mode-enabled"] or call.argv[2:] not in (["true"], ["false"]):
        return call.fail("Power manager (power) commands: set-fixed-performance-mode-enabled true|false", 255)
    return 0  # taken, as by a phone; this machine's processor is what it is


def _activity(call: Call) -> int:
    """`activity exit-info PACKAGE`"""
    if call.argv[1:2] != ["exit-info"] or len(call.argv) != 3:
        return call.fail("only exit-info PACKAGE", 255)
    name, exits = call.argv[2], call.device.evidence.exits(call.argv[2])
    call.line("ACTIVITY MANAGER PROCESS EXIT INFO (dumpsys activity exit-info)")
    call.line("Last Timestamp of Persistence Into Persistent Storage: 1970-01-01 00:00:00.000")
    if exits:
        call.line(f"  package: {name}\n    Historical Process Exit for uid={exits[0].uid}")
        call.line("\n".join(line for number, one in enumerate(exits) for line in one.lines(number)))
    return 0


_DUMPS: dict[str, Command] = {
    "activity": _activity, "battery": _battery, "power": _power, "thermalservice": _thermal,
}  # fmt: skip
_SERVICES: dict[str, Command] = {
    "activity": activity, "package": package, "power": _change_power,
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


@command("settings")
def settings(call: Call) -> int:
    action, kind, name, value = (call.argv[1:] + [""] * 4)[:4]
    table = call.device.state.settings.get(kind)
    if table is None or not name:
        return call.fail("usage: settings get|put|delete global|system|secure NAME [VALUE]")
    if action == "get":
        call.line(table.get(name, "null"))
    elif action == "put" and value:
        table[name] = value
    elif action == "delete":
        call.line(f"Deleted {int(table.pop(name, None) is not None)} rows")
    else:
        return call.fail(f"Bad arguments for {action}")
    return 0


@command("svc")
def svc(call: Call) -> int:
    """`svc power stayon true|false`"""
    if call.argv[1:3] != ["power", "stayon"] or call.argv[3:] not in (["true"], ["false"]):
        return call.fail("available commands: power stayon true|false")
    call.device.state.settings["global"]["stay_on_while_plugged_in"] = "7" if call.argv[3] == "true" else "0"
    return 0


_KEYS = {"KEYCODE_WAKEUP": True, "KEYCODE_SLEEP": False}


@command("input")
def input_(call: Call) -> int:
    """`input keyevent KEY`: waking and sleeping keys have an effect."""
    if call.argv[1:2] != ["keyevent"] or len(call.argv) != 3:
        return call.fail("Error: Unknown command")
    state = call.device.state
    state.awake = _KEYS.get(call.argv[2], state.awake)
    return 0
