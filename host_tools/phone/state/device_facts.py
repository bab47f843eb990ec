"""What is known of a device: for environment.json, and as a target file that plans can be made for."""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from host_tools.base.errors import DeviceError
from host_tools.phone.adb import adb_errors
from host_tools.phone.adb.adb_device import Device
from host_tools.record import machine, run_folder
from host_tools.record.schema import Verdicts

TARGET_FILE = "target.json"
_TIMEOUT_S = 10.0
_LONGEST = 200
# The word in environment.json and the property that says it; the first that is set.
_PROPERTIES = {
    "manufacturer": ("ro.product.manufacturer",),
    "model": ("ro.product.model",),
    "product": ("ro.product.device", "ro.product.name"),
    "soc": ("ro.soc.model", "ro.board.platform"),
    "soc_manufacturer": ("ro.soc.manufacturer",),
    "hardware": ("ro.boot.hardware.platform", "ro.hardware"),
    "fingerprint": ("ro.build.fingerprint",),
    "release": ("ro.build.version.release",),
    "sdk": ("ro.build.version.sdk",),
    "abis": ("ro.product.cpu.abilist", "ro.product.cpu.abi"),
    "build": ("ro.build.type",),
}


def names_of(device: Device) -> dict[str, Any]:
    """Those of _PROPERTIES that it has, cut to what a line can hold."""
    known = device.properties()
    first = {word: next((known[name] for name in names if known.get(name)), "") for word, names in _PROPERTIES.items()}
    return {word: adb_errors.shown(value, _LONGEST) for word, value in first.items() if value}


def of(device: Device) -> dict[str, Any]:
    """The device's own words, and who it is for adb."""
    found: dict[str, Any] = {"serial": device.serial, "virtual": bool(device.virtual), **names_of(device)}
    found["abis"] = [abi for abi in str(found.get("abis", "")).split(",") if abi]
    asked = {
        "page_bytes": ["getconf", "PAGE_SIZE"],
        "kernel": ["uname", "-r"],
        "load_average": ["cat", "/proc/loadavg"],
    }
    for word, argv in asked.items():
        value = _ask(device, argv)
        if value:
            found[word] = value
    return found


def merged(
    inside: Mapping[str, Any], library: Path, seen: Mapping[str, Any], thermal: Mapping[str, Any]
) -> dict[str, Any]:
    """environment.json: what the runner saw from inside, what we saw from outside, and the software of this machine."""
    here = machine.software(library)
    device = {**inside.get("device", {}), **seen}
    load = [float(word) for word in re.findall(r"\d+\.\d+", str(device.pop("load_average", "")))[:3]]
    return {
        "schema_version": 1,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cpu": inside.get("cpu", device.get("hardware", "unknown")),
        "cpus": inside.get("cpus", 0),
        "load_average": load,
        "system": inside.get("system", f"Android {device.get('release', '')}".strip()),
        "python": here["python"],
        "packages": {**here["packages"], **inside.get("packages", {})},
        "library": here["library"],
        "host": {key: here[key] for key in ("cpu", "cpus", "load_average", "system")},
        "device": device,
        "thermal": {**inside.get("thermal", {}), **thermal},
        **{key: inside[key] for key in ("opencl_devices", "gles_devices") if key in inside},
    }


def write_target(folder: Path, report: Verdicts) -> Path | None:
    """target.json, from what the driver told the delegate; None where no GPU API worked.

    `inv support --target` and `inv run --target` read it: see docs/targets.md.
    """
    facts = report.device.target
    if facts is None:
        return None
    run_folder.write_json(folder / TARGET_FILE, facts)
    return folder / TARGET_FILE


def _ask(device: Device, argv: Any) -> Any:
    try:
        said = device.shell(argv, timeout_s=_TIMEOUT_S, check=False, step="ask for facts")
    except DeviceError:
        return ""
    value = adb_errors.shown(said.stdout, _LONGEST) if said.status == 0 and said.stdout.strip() else ""
    return int(value) if value.isdecimal() and len(value) < 16 else value
