"""Properties of a believable phone, whose processor is this machine's: the libraries of its apps run here."""

import re
import zlib

IN_BANNER = ("ro.product.name", "ro.product.model", "ro.product.device")

_BUILD = "UQ1A.240205.002"
_INCREMENTAL = "11224170"
_MAX_VALUE = 91
_NAME = re.compile(r"[A-Za-z0-9_.:@-]+")
_SETTABLE_BY_SHELL = ("debug.", "log.", "persist.log.", "persist.device_config.", "sys.powerctl", "vendor.debug.")


def defaults(name: str) -> dict[str, str]:
    """All properties of a device that has just started. `name` gives it a serial number of its own."""
    fingerprint = f"quadra/quadra_x86_64/virtual:14/{_BUILD}/{_INCREMENTAL}:userdebug/dev-keys"
    return {
        "persist.sys.timezone": "GMT",
        "ro.board.platform": "virtual",
        "ro.build.fingerprint": fingerprint,
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


def refusal(properties: dict[str, str], name: str, value: str, user: str) -> str:
    """Why this user may not give this property this value; empty when it may."""
    if not _NAME.fullmatch(name):
        return "invalid property name"
    if len(value.encode("utf-8", "surrogateescape")) > _MAX_VALUE and not name.startswith("ro."):
        return f"value too long: more than {_MAX_VALUE} bytes"
    if name.startswith("ro.") and name in properties:
        return "read-only property was already set"
    if user != "shell" or not name.startswith(_SETTABLE_BY_SHELL):
        return "permission denied"
    return ""
