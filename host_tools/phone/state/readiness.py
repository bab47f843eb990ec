"""A device made ready to be measured, and put back as it was whatever happens.

What is changed is written down first, on this machine: if this process is ended without a chance to tidy up, the next
one that works with the device puts it right.
"""

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from host_tools.base import settings
from host_tools.base.errors import DeviceError, DeviceTooHot
from host_tools.phone.adb.adb_device import Device
from host_tools.record import run_folder

Show = Callable[[str], None]

STATUSES = ("none", "light", "moderate", "severe", "critical", "emergency", "shutdown")
THROTTLING = 2  # from this status on, Android says, the work is slowed down
_COOL = 0
_KINDS = {0: "cpu", 1: "gpu", 2: "battery", 3: "skin", 9: "npu"}
_WAIT_S = 180.0  # for a device to cool down
EVERY_S = 3.0  # between looks
_TIMEOUT_S = 10.0
_AWAKE = ("settings", "get", "global", "stay_on_while_plugged_in")
_FIXED_SINCE = 30  # the API level that can fix the performance
_TEMPERATURE = re.compile(r"Temperature\{mValue=([-\d.]+), mType=(\d+), mName=([^,}]{1,64}), mStatus=(\d+)\}")
# Where kernels tell clocks: of the cores, of Adreno, of Mali. A shell may not read all of them.
_GPU = "gpu"
_CORES = " ".join(f"/sys/devices/system/cpu/cpufreq/policy{core}/scaling_cur_freq" for core in range(10))
_CLOCKS = (
    f"cat {_CORES} 2>/dev/null; echo {_GPU}; cat /sys/class/kgsl/kgsl-3d0/gpuclk"
    " /sys/class/misc/mali0/device/cur_freq /sys/kernel/gpu/gpu_clock 2>/dev/null"
)
_SERIAL = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Reading:
    """How hot a device was at one moment. status: of STATUSES, "unknown" where nobody says."""

    time_s: float  # since the watch began
    stage: str
    status: str
    temperatures: dict[str, float] = field(default_factory=dict)  # by kind, in degrees Celsius: the hottest of each
    battery_percent: int | None = None
    cpu_mhz: int | None = None  # of the fastest core
    gpu_mhz: int | None = None

    @property
    def level(self) -> int:
        return STATUSES.index(self.status) if self.status in STATUSES else -1


def parse_thermal(text: str) -> Reading:
    """The output of `dumpsys thermalservice`. The last list of temperatures is the newest: the sensors' own."""
    status = re.search(r"^Thermal Status: (\d+)\s*$", text, re.MULTILINE)
    level = int(status.group(1)) if status else -1
    hottest: dict[str, float] = {}
    now = text.split("Current temperatures from HAL:")[-1]
    for value, kind, _name, _ in _TEMPERATURE.findall(now) or _TEMPERATURE.findall(text):
        celsius = _celsius(value)
        if celsius is not None and int(kind) in _KINDS:
            word = _KINDS[int(kind)]
            hottest[word] = max(celsius, hottest.get(word, celsius))
    return Reading(0.0, "", STATUSES[level] if 0 <= level < len(STATUSES) else "unknown", hottest)


def parse_battery(text: str) -> dict[str, float]:
    """`dumpsys battery`: level in percent, temperature in degrees Celsius; what is missing is left out."""
    found = dict(re.findall(r"^\s+(level|temperature): (-?\d{1,4})\s*$", text, re.MULTILINE))
    values = {}
    if "level" in found:
        values["level"] = float(found["level"])
    if "temperature" in found:
        values["temperature"] = int(found["temperature"]) / 10  # it counts tenths
    return values


def parse_clocks(text: str) -> tuple[int | None, int | None]:
    """The output of _CLOCKS: megahertz of the fastest core and of the GPU, where their files can be read."""
    cores, _, gpu = text.partition(_GPU)
    return max(_megahertz(cores), default=None), max(_megahertz(gpu), default=None)


def _megahertz(text: str) -> list[int]:
    """Drivers count in Hz, kHz or MHz: a clock is between 10 MHz and 10 GHz."""
    numbers = [int(line) for line in text.split() if line.isdecimal() and len(line) < 12]
    return [number // next((unit for unit in (10**6, 10**3) if number >= 10 * unit), 1) for number in numbers]


def look(device: Device, stage: str = "", since: float = 0.0, clocks: bool = False) -> Reading:
    """Asks both services; a device without one answers "unknown". clocks: reads those of CPU and GPU, too."""
    thermal = device.shell(["dumpsys", "thermalservice"], timeout_s=_TIMEOUT_S, check=False, step="thermal")
    battery = parse_battery(
        device.shell(["dumpsys", "battery"], timeout_s=_TIMEOUT_S, check=False, step="battery").stdout
    )
    found = parse_thermal(thermal.stdout)
    temperatures = dict(found.temperatures)
    if "temperature" in battery:
        temperatures.setdefault("battery", battery["temperature"])
    percent = int(battery["level"]) if "level" in battery else None
    read = (
        device.shell(["sh", "-c", _CLOCKS], timeout_s=_TIMEOUT_S, check=False, step="clocks").stdout if clocks else ""
    )
    time_s = round(time.monotonic() - since, 1) if since else 0.0
    return Reading(time_s, stage, found.status, temperatures, percent, *parse_clocks(read))


def wait_until_cool(device: Device, show: Show, wait_s: float = _WAIT_S, every_s: float = EVERY_S) -> float:
    """Waits for the thermal status "none"; returns the seconds that it took. DeviceTooHot: it stays hot.

    "light" will do in the end: a phone on its charger may never get cooler, and it does not throttle yet.
    """
    started = time.monotonic()
    while True:
        now = look(device, "cool down")
        waited = time.monotonic() - started
        if now.level <= _COOL:
            return round(waited, 1)
        if waited + every_s > wait_s:
            if now.level < THROTTLING:
                return round(waited, 1)
            raise DeviceTooHot(
                f"wait until {device.serial} is cool",
                f"after {waited:.0f} s its thermal status is still '{now.status}'{_degrees(now)}",
                "let it cool down, away from sun and charger, then run again",
                serial=device.serial,
                step="cool down",
            )
        show(f"wait until it is cool: {now.status}{_degrees(now)}")
        time.sleep(every_s)


class Watch:
    """Looks at the temperature while something is measured, from a thread of its own, and at its stages.

    A look costs the device a few milliseconds of one core; a look that fails is left out.
    """

    def __init__(self, device: Device, every_s: float = EVERY_S, clocks: bool = False) -> None:
        self.readings: list[Reading] = []
        self.stage = "start"
        self._device, self._every_s, self._clocks, self._began = device, every_s, clocks, time.monotonic()
        self._stop, self._wake = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Watch":
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._wake.set()
        self._thread.join(_TIMEOUT_S * 2)

    def at(self, stage: str) -> None:
        """A stage begins: it is looked at soon."""
        self.stage = stage
        self._wake.set()

    def throttled(self, stages: Sequence[str] = ("measure",)) -> Reading | None:
        """The hottest reading of these stages, or right after them, that says the work was slowed down."""
        before = [None, *(reading.stage for reading in self.readings)]
        rows = zip(before, self.readings)
        hot = [r for earlier, r in rows if (r.stage in stages or earlier in stages) and r.level >= THROTTLING]
        return max(hot, key=lambda r: r.level, default=None)

    def to_json(self) -> dict[str, Any]:
        first, last = (self.readings[0].status, self.readings[-1].status) if self.readings else ("unknown", "unknown")
        rows = [asdict(reading) for reading in self.readings]
        return {"before": first, "after": last, "throttled": self.throttled() is not None, "readings": rows}

    def _work(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(self._every_s)
            self._wake.clear()
            self._look()

    def _look(self) -> None:
        stage = self.stage
        with contextlib.suppress(DeviceError):
            self.readings.append(look(self._device, stage, self._began, self._clocks))


@contextlib.contextmanager
def ready(device: Device, show: Show) -> Iterator[None]:
    """Awake, its performance fixed where that can be asked for; afterwards as it was, also after Ctrl-C."""
    put_right(device)
    record = _record(device.serial)
    show("keep the device awake")
    run_folder.write_json(settings.make_folder(record.parent, "QUADRA_DEVICES_DIR") / record.name, _undo(device))
    try:
        # Some makers refuse this and the next to a shell: the device may be awake all the same.
        device.shell(["svc", "power", "stayon", "true"], timeout_s=_TIMEOUT_S, check=False, step="keep awake")
        device.shell(["input", "keyevent", "KEYCODE_WAKEUP"], timeout_s=_TIMEOUT_S, check=False, step="wake up")
        if _level(device) >= _FIXED_SINCE:  # a device that cannot says so: that is fine
            device.shell(_fixed("true"), timeout_s=_TIMEOUT_S, check=False, step="fix the performance")
        yield
    finally:
        with contextlib.suppress(DeviceError):  # gone: the record stays, for the next time
            put_right(device)


def put_right(device: Device) -> bool:
    """Undoes what the record of this device says; true when there was something to undo."""
    record = _record(device.serial)
    try:
        commands = json.loads(record.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        commands = []  # a record that nobody can read: nothing to go by
    device = device.twin() if device.stopped else device  # Ctrl-C in another thread does not reach that one
    for argv in commands:
        device.shell(argv, timeout_s=_TIMEOUT_S, check=False, step="put it back as it was")
    record.unlink(missing_ok=True)
    return True


def _undo(device: Device) -> list[list[str]]:
    """The commands that bring back what is now."""
    kept = device.shell(list(_AWAKE), timeout_s=_TIMEOUT_S, check=False, step="read settings").stdout.strip()
    if kept.isdecimal() and len(kept) < 4:
        commands = [["settings", "put", "global", _AWAKE[-1], kept]]
    else:  # "null": it was never set
        commands = [["settings", "delete", "global", _AWAKE[-1]]]
    if _level(device) >= _FIXED_SINCE:
        commands.append(_fixed("false"))
    power = device.shell(["dumpsys", "power"], timeout_s=_TIMEOUT_S, check=False, step="read the power state").stdout
    if re.search(r"^\s*mWakefulness=(Asleep|Dozing)\s*$", power, re.MULTILINE):
        commands.append(["input", "keyevent", "KEYCODE_SLEEP"])
    return commands


def _fixed(value: str) -> list[str]:
    return ["cmd", "power", "set-fixed-performance-mode-enabled", value]


def _level(device: Device) -> int:
    text = device.properties().get("ro.build.version.sdk", "")
    return int(text) if text.isdecimal() else 0


def _record(serial: str) -> Path:
    return settings.read().devices_dir / f"undo-{_SERIAL.sub('_', serial)[:80]}.json"


def _degrees(reading: Reading) -> str:
    words = ", ".join(f"{kind} {celsius:.0f} °C" for kind, celsius in sorted(reading.temperatures.items()))
    return f" ({words})" if words else ""


def _celsius(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return round(value, 1) if -60 < value < 200 else None  # else a sensor that is not there
