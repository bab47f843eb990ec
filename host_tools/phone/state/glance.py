"""A device at a glance, as `inv device list` shows it: Android's version, the chip, the GPU with its driver, heat, battery."""

import contextlib
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from host_tools.base.errors import DeviceError
from host_tools.phone.adb import adb_errors
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.state import device_facts, readiness

_TIMEOUT_S = 10.0
_LONGEST = 120
# SurfaceFlinger's own words for what it draws with; there is no such line where it draws with Vulkan.
_GLES = re.compile(r"^\s*GLES: (.+)$", re.MULTILINE)
_WARMEST = ("skin", "gpu", "cpu", "battery")  # the first that there is


@dataclass(frozen=True)
class Glance:
    """Empty and None: the device does not say."""

    android: str = ""
    chip: str = ""
    gpu: str = ""  # vendor, name, and the driver's version of OpenGL ES
    thermal_status: str = ""
    celsius: float | None = None
    battery_percent: int | None = None

    def condition(self) -> str:
        """How hot it is and how full its battery: none, 31 °C, 87 %."""
        degrees = f"{self.celsius:.0f} °C" if self.celsius is not None else ""
        percent = f"battery {self.battery_percent} %" if self.battery_percent is not None else ""
        throttles = self.thermal_status if self.thermal_status not in ("", "none", "unknown") else ""
        return ", ".join(filter(None, (throttles and f"thermal status {throttles}", degrees, percent)))


def of_all(devices: Iterable[Device]) -> dict[str, Glance]:
    """By serial; asked all at once. A device that fails to answer has none."""
    found: dict[str, Glance] = {}

    def ask(device: Device) -> None:
        with contextlib.suppress(DeviceError):
            found[device.serial] = of(device)

    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(ask, devices))
    return found


def of(device: Device) -> Glance:
    """DeviceError: it does not answer."""
    facts = device_facts.names_of(device)
    drawn = device.shell(
        ["dumpsys", "SurfaceFlinger"], timeout_s=_TIMEOUT_S, check=False, step="ask for the GPU"
    ).stdout
    gles = _GLES.search(drawn)
    now = readiness.look(device)
    return Glance(
        android=str(facts.get("release", "")),
        chip=str(facts.get("soc", "")),
        gpu=adb_errors.shown(gles[1], _LONGEST) if gles else "",
        thermal_status=now.status,
        celsius=next((now.temperatures[kind] for kind in _WARMEST if kind in now.temperatures), None),
        battery_percent=now.battery_percent,
    )
