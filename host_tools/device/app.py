"""The test app on a device: installed when what is there is not ours, byte by byte; and removed."""

import hashlib
import re
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Tuple, Type

from host_tools import apk, bazel, java, maven, spec as specs
from host_tools.device import transfer
from host_tools.errors import DeviceError, DeviceFull, DeviceUnusable, InstallRefused, Misuse, ReplyNotUnderstood
from host_tools.ndk import ABIS
from host_tools.progress import counted

Show = Callable[[str], None]

_MAKING = threading.Lock()
PACKAGE = "org.quadra.runner"
_TIMEOUT_S = 20.0
_INSTALL_S = 180.0  # Android checks and compiles a new app
_PATH = re.compile(r"^package:(/[A-Za-z0-9_.=~/+-]{1,300}\.apk)\s*$", re.MULTILINE)
_FAILURE = re.compile(r"Failure(?: \[([A-Z0-9_]+)(?:: (.*?))?\])?\s*$", re.MULTILINE | re.DOTALL)
_FRESH = "`./inv install --fresh --on {serial}` removes the app that is there, then installs"
# What Android refuses an APK for, and what helps.
_HELP: Dict[str, Tuple[Type[DeviceError], str]] = {
    "INSTALL_FAILED_INSUFFICIENT_STORAGE": (DeviceFull, "free space on the device"),
    "INSTALL_FAILED_UPDATE_INCOMPATIBLE": (InstallRefused, _FRESH),
    "INSTALL_FAILED_VERSION_DOWNGRADE": (InstallRefused, _FRESH),
    "INSTALL_FAILED_NO_MATCHING_ABIS": (InstallRefused, "make one for its ABI: `./inv apk --abi {abi}`"),
    "INSTALL_FAILED_OLDER_SDK": (InstallRefused, "its Android is too old; Quadra needs the minSdk of gradle/libs.versions.toml"),
    "INSTALL_FAILED_USER_RESTRICTED": (InstallRefused, "allow 'Install via USB' in the developer options, and confirm on the screen"),
    "INSTALL_FAILED_ABORTED": (InstallRefused, "confirm what the screen asks, then try again"),
    "INSTALL_FAILED_VERIFICATION_FAILURE": (InstallRefused, "switch off 'Verify apps over USB' in the developer options"),
    "INSTALL_PARSE_FAILED_NO_CERTIFICATES": (InstallRefused, "the APK is damaged or not signed: `./inv apk`"),
}


def abi_of(device: Any) -> str:
    """The first ABI of the device that Quadra is built for. DeviceUnusable where there is none."""
    known = device.properties()
    offered = (known.get("ro.product.cpu.abilist") or known.get("ro.product.cpu.abi", "")).split(",")
    for abi in offered:
        if abi in ABIS:
            return abi
    came_back = f"its ABIs are {', '.join(offered)[:100] or 'not known'}; Quadra is built for {', '.join(ABIS)}"
    raise DeviceUnusable("choose the ABI", came_back, "take another device", serial=device.serial, step="read its ABIs")


def library(device: Any) -> Path:
    """The delegate for this device; built if that is needed."""
    abi = abi_of(device)
    return bazel.android([abi])[abi].path


def apk_for(device: Any, library_path: Path, shipped: bool = False) -> Path:
    """An APK for this device with this delegate, and with the one that TFLite ships where `shipped`; made once."""
    abi = abi_of(device)
    digest = hashlib.sha256(specs.sha256_of(library_path).encode())
    digest.update(apk.class_list(java.app_classes()).encode() + apk.manifest(False).encode())
    digest.update(f"{maven.version('tensorflow-lite')} {maven.version('dalvik-dx')}".encode())
    kind = f"quadra-runner-{abi}{'-peers' if shipped else ''}"
    made = apk.BUILT / f"{kind}-{digest.hexdigest()[:16]}.apk"
    with _MAKING:  # one for all devices that run at the same time
        if not made.is_file():
            apk.make({abi: library_path}, made, peers=shipped)
            for old in apk.BUILT.glob(f"{kind}-{'[0-9a-f]' * 16}.apk"):
                if old != made:
                    old.unlink(missing_ok=True)
    return made


def installed_digest(device: Any) -> str:
    """SHA-256 of the APK that is installed; empty: it is not, or is in several parts, or cannot be read."""
    said = device.shell(["pm", "path", PACKAGE], timeout_s=_TIMEOUT_S, check=False, step="look for the app")
    paths = _PATH.findall(said.stdout)
    if len(paths) != 1:
        return ""
    summed = device.shell(["sha256sum", paths[0]], timeout_s=_TIMEOUT_S, check=False, step="look for the app").stdout
    return summed[:64] if re.match(r"[0-9a-f]{64}\s", summed) else ""


def install(device: Any, path: Path, show: Show, fresh: bool = False) -> bool:
    """Installs the APK unless that very one is there; true when it was installed. fresh: removes what is there first."""
    if not path.is_file():
        raise Misuse(f"install {path}", "there is no such file", "leave --apk away to make one")
    wanted = specs.sha256_of(path)
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
        raise ReplyNotUnderstood(f"install {path.name}", found, "install it again", serial=device.serial, step="install")
    return True


def uninstall(device: Any, show: Show = lambda text: None) -> bool:
    """Removes the app with its files; true when it was there."""
    show("remove the app")
    said = device.shell(["pm", "uninstall", PACKAGE], timeout_s=_INSTALL_S, check=False, step="uninstall").stdout
    if "Success" in said.split():
        return True
    still = _PATH.search(device.shell(["pm", "path", PACKAGE], timeout_s=_TIMEOUT_S, check=False, step="uninstall").stdout)
    if still:
        found = " ".join(said.split())[:200] or "nothing was said"
        raise InstallRefused("remove the test app", found, "remove it on the screen", serial=device.serial, step="uninstall")
    return False


def stop(device: Any) -> None:
    """Ends the app's processes; no error where there is none."""
    device.shell(["am", "force-stop", PACKAGE], timeout_s=_TIMEOUT_S, check=False, step="stop the app")


def _check(device: Any, said: str, path: Path) -> None:
    failure = _FAILURE.search(said)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not failure and "Success" in lines:
        return
    tried, where = f"install {path.name} on {device.serial}", {"serial": device.serial, "step": "install"}
    if failure:
        code, text = failure.group(1) or "", " ".join((failure.group(2) or "").split())[:300]
        kind, do_next = _HELP.get(code, (InstallRefused, "see what it says; `./inv apk` makes the APK anew"))
        found = ": ".join(filter(None, (code, text))) or "Failure, without a reason"
        raise kind(tried, found, do_next.format(serial=device.serial, abi=abi_of(device)), **where)
    if not lines:
        raise ReplyNotUnderstood(tried, "the package manager said nothing", "try again", **where)
    raise InstallRefused(tried, "; ".join(lines)[-400:], "see what it says", **where)
