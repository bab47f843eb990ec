"""What the device says about itself: properties, settings, heat, the screen. Its processor is this machine's: the
libraries of its apps run here."""

import zlib
from dataclasses import dataclass, field

IN_BANNER = ("ro.product.name", "ro.product.model", "ro.product.device")
SEVERE = 3
BATTERY_PERCENT, BATTERY_TENTHS_C = 87, 285

_BUILD = "UQ1A.240205.002"


def properties(name: str) -> dict[str, str]:
    """All properties of a device that has just started. `name` gives it a serial number of its own."""
    return {
        "persist.sys.timezone": "GMT",
        "ro.board.platform": "virtual",
        "ro.build.fingerprint": f"quadra/quadra_x86_64/virtual:14/{_BUILD}/11224170:userdebug/dev-keys",
        "ro.build.id": _BUILD,
        "ro.build.type": "userdebug",
        "ro.build.version.release": "14",
        "ro.build.version.sdk": "34",
        "ro.build.version.security_patch": "2024-02-05",
        "ro.debuggable": "0",
        "ro.hardware": "virtual",
        "ro.opengles.version": "196609",
        "ro.product.brand": "quadra",
        "ro.product.cpu.abi": "x86_64",
        "ro.product.cpu.abilist": "x86_64",
        "ro.product.device": "virtual",
        "ro.product.first_api_level": "34",
        "ro.product.manufacturer": "Quadra",
        "ro.product.model": "Virtual device",
        "ro.product.name": "quadra_x86_64",
        "ro.serialno": f"QUADRA{zlib.crc32(name.encode('utf-8', 'surrogateescape')):08X}",
        "ro.soc.manufacturer": "Quadra",
        "ro.soc.model": "Virtual",
        "sys.boot_completed": "1",
    }


def _settings() -> dict[str, dict[str, str]]:
    return {
        "global": {"adb_enabled": "1", "airplane_mode_on": "0", "stay_on_while_plugged_in": "0"},
        "system": {"screen_brightness": "102", "screen_off_timeout": "60000"},
        "secure": {"android_id": "0123456789abcdef"},
    }


@dataclass
class State:
    """What commands change, beside properties."""

    awake: bool = True
    settings: dict[str, dict[str, str]] = field(default_factory=_settings)
