"""Installs the test app on a device unless that very APK, byte by byte, is there; and removes it."""

import re
from collections.abc import Callable
from pathlib import Path

from host_tools.base import digests
from host_tools.base.android import ABIS
from host_tools.base.errors import DeviceError, DeviceFull, DeviceUnusable, InstallRefused, Misuse, ReplyNotUnderstood
from host_tools.base.progress import counted
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.files import transfer

Show = Callable[[str], None]
PACKAGE = "org.quadra.runner"
_TIMEOUT_S = 20.0
_INSTALL_S = 180.0  # Android checks and compiles a new app
_PATH = re.compile(r"^package:(/[A-Za-z0-9_.=~/+-]{1,300}\.apk)\s*$", re.MULTILINE)
_FAILURE = re.compile(r"Failure(?: \[([A-Z0-9_]+)(?:: (.*?))?\])?\s*$", re.MULTILINE | re.DOTALL)
_FRESH = "`./inv install --fresh --on {serial}` removes the app that is there, then installs"
# What Android refuses an APK for, and what helps.
_HELP: dict[str, tuple[type[DeviceError], str]] = {
    "INSTALL_FAILED_INSUFFICIENT_STORAGE": (DeviceFull, "free space on the device"),
    "INSTALL_FAILED_UPDATE_INCOMPATIBLE": (InstallRefused, _FRESH),
    "INSTALL_FAILED_VERSION_DOWNGRADE": (InstallRefused, _FRESH),
    "INSTALL_FAILED_NO_MATCHING_ABIS": (InstallRefused, "make one for its ABI: `./inv apk --abi {abi}`"),
    "INSTALL_FAILED_OLDER_SDK": (
        InstallRefused,
        "its Android is too old; Quadra needs the minSdk of gradle/libs.versions.toml",
    ),
    "INSTALL_FAILED_USER_RESTRICTED": (
        InstallRefused,
        "allow 'Install via USB' in the developer options, and confirm on the screen",
    ),
    "INSTALL_FAILED_ABORTED": (InstallRefused, "confirm what the screen asks, then try again"),
    "INSTALL_FAILED_VERIFICATION_FAILURE": (
        InstallRefused,
        "switch off 'Verify apps over USB' in the developer options",
    ),
    "INSTALL_PARSE_FAILED_NO_CERTIFICATES": (InstallRefused, "the APK is damaged or not signed: `./inv apk`"),
}


def abi_of(device: Device) -> str:
    """The first ABI of the device that Quadra is built for. DeviceUnusable where there is none."""
    known = device.properties()
    offered = (known.get("ro.product.cpu.abilist") or known.get("ro.product.cpu.abi", "")).split(",")
    for abi in offered:
        if abi in ABIS:
            return abi
    came_back = f"its ABIs are {', '.join(offered)[:100] or 'not known'}; Quadra is built for {', '.join(ABIS)}"
    raise DeviceUnusable("choose the ABI", came_back, "take another device", serial=device.serial, step="read its ABIs")


def installed_digest(device: Device) -> str:
    """SHA-256 of the APK that is installed; empty: it is not, or is in several parts, or cannot be read."""
    said = device.shell(["pm", "path", PACKAGE], timeout_s=_TIMEOUT_S, check=False, step="look for the app")
    paths = _PATH.findall(said.stdout)
    if len(paths) != 1:
        return ""
    summed = device.shell(["sha256sum", paths[0]], timeout_s=_TIMEOUT_S, check=False, step="look for the app").stdout
    return summed[:64] if re.match(r"[0-9a-f]{64}\s", summed) else ""


def install(device: Device, path: Path, show: Show, fresh: bool = False) -> bool:
    """Installs the APK unless that very one is there; true when it was installed. fresh: removes what is there first."""
    if not path.is_file():
        raise Misuse(f"install {path}", "there is no such file", "omit --apk to make one")
    wanted = digests.sha256_of(path)
    if fresh:
        uninstall(device, show)
    elif installed_digest(device) == wanted:
        return False
    show("push the APK")
    remote = transfer.push(device, [path], counted(show)).remote[path]
    show("install the APK")
    try:
        argv = ["pm", "install", "-r", "-t", remote]
        said = device.shell(argv, timeout_s=_INSTALL_S, check=False, step="install")
    finally:
        device.shell(["rm", "-f", remote], timeout_s=_TIMEOUT_S, check=False, step="remove the pushed APK")
    _check(device, f"{said.stdout}\n{said.stderr}", path)
    there = installed_digest(device)
    if there != wanted:
        found = f"the package manager says Success, and {'another APK' if there else 'no APK'} is there"
        raise ReplyNotUnderstood(
            f"install {path.name}", found, "install it again", serial=device.serial, step="install"
        )
    return True


def uninstall(device: Device, show: Show = lambda text: None) -> bool:
    """Removes the app with its files; true when it was there."""
    show("remove the app")
    said = device.shell(["pm", "uninstall", PACKAGE], timeout_s=_INSTALL_S, check=False, step="uninstall").stdout
    if "Success" in said.split():
        return True
    still = _PATH.search(
        device.shell(["pm", "path", PACKAGE], timeout_s=_TIMEOUT_S, check=False, step="uninstall").stdout
    )
    if still:
        found = " ".join(said.split())[:200] or "nothing was said"
        raise InstallRefused(
            "remove the test app", found, "remove it on the screen", serial=device.serial, step="uninstall"
        )
    return False


def _check(device: Device, said: str, path: Path) -> None:
    failure = _FAILURE.search(said)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not failure and "Success" in lines:
        return
    tried, where = f"install {path.name} on {device.serial}", {"serial": device.serial, "step": "install"}
    if failure:
        code, text = failure.group(1) or "", " ".join((failure.group(2) or "").split())[:300]
        kind, do_next = _HELP.get(code, (InstallRefused, "read that message; `./inv apk` makes a new APK"))
        found = ": ".join(filter(None, (code, text))) or "Failure, without a reason"
        raise kind(tried, found, do_next.format(serial=device.serial, abi=abi_of(device)), **where)
    if not lines:
        raise ReplyNotUnderstood(tried, "the package manager said nothing", "try again", **where)
    raise InstallRefused(tried, "; ".join(lines)[-400:], "read that message", **where)
