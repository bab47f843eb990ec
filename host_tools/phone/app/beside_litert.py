"""Puts Quadra beside the programs of LiteRT that somebody pushed onto a device, as LiteRT's CLI does, and takes it away again.

LiteRT looks for its GPU accelerator by several names, on Android for libLiteRtGpuAccelerator.so before its own
libLiteRtClGlAccelerator.so. So Quadra takes the first name, and no file of LiteRT's is replaced: its CLI compares sizes
at each run, and would push a replaced one again.
"""

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from host_tools.base import digests
from host_tools.base.android import ACCELERATOR, DELEGATE
from host_tools.base.errors import DeviceRefused, Misuse, TransferFailed
from host_tools.base.progress import counted
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.files import transfer

Show = Callable[[str], None]
ROOT = "/data/local/tmp/litert-cli"  # of litert-cli 0.2.1, unless LITERT_CLI_ANDROID_ROOT names another one
LITERTS = ("libLiteRt.so", "run_model", "benchmark_model")
LIST = "quadra.sha256"  # what was put there, as sha256sum -c reads it
_FOLDER = re.compile(r"/data/local/tmp(/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}){1,8}")
_LINE = re.compile(rf"([0-9a-f]{{64}})  ({re.escape(DELEGATE)}|{re.escape(ACCELERATOR)})")
_KEPT_LINES, _TIMEOUT_S = 16, 20.0


def look(device: Device, folder: str) -> str:
    """What is tried there, in words; DeviceRefused where there is no LiteRT."""
    tried = f"put Quadra beside LiteRT on {device.serial}"
    _checked(folder, tried)
    if not any(device.stat(f"{folder}/{name}") for name in LITERTS):
        do_next = "let LiteRT's CLI push its programs first: `litert run MODEL --android --gpu`; or name its folder with --folder"
        raise _refused(device, tried, f"{folder} has none of {', '.join(LITERTS)}", do_next)
    return tried


def install(device: Device, libraries: Sequence[Path], folder: str, show: Show) -> bool:
    """Puts the delegate and the accelerator, in this order, into LiteRT's folder there; false: these very files were there.

    DeviceRefused where there is no LiteRT, or where a file that is not Quadra's has one of the names: it stays.
    """
    tried = look(device, folder)
    wanted = {path.name: digests.sha256_of(path) for path in libraries}
    known, there = _known(device, folder), _there(device, folder)
    for name, digest in there.items():
        if digest not in (wanted[name], *known.get(name, ())):
            do_next = "move it elsewhere, then try again"
            raise _refused(device, tried, f"{folder}/{name} is there already, and is not Quadra's", do_next)
    if there == wanted:
        return False
    pushed = transfer.push(device, libraries, counted(show)).remote
    lines = [f"{digest}  {name}" for name, old in known.items() for digest in old if digest != wanted[name]]
    lines = lines[-_KEPT_LINES:] + [f"{digest}  {name}" for name, digest in wanted.items()]
    _write(device, f"{folder}/{LIST}", "".join(f"{line}\n" for line in lines))  # first: what it names is Quadra's
    for path in libraries:
        show(f"put {path.name} into {folder}")
        _copy(device, pushed[path], f"{folder}/{path.name}", wanted[path.name], tried)
    return True


def uninstall(device: Device, folder: str) -> bool:
    """Takes away what install() put there; false: there was nothing. A file that is not Quadra's stays."""
    _checked(folder, f"take Quadra away from LiteRT on {device.serial}")
    known, there = _known(device, folder), _there(device, folder)
    ours = [name for name in (ACCELERATOR, DELEGATE) if there.get(name) in known.get(name, ())]
    if known:
        paths = [f"{folder}/{name}" for name in (*ours, LIST)]
        device.shell(["rm", "-f", *paths], timeout_s=_TIMEOUT_S, step="remove", repeatable=True)
    return bool(ours)


def _checked(folder: str, tried: str) -> None:
    if not _FOLDER.fullmatch(folder):
        raise Misuse(
            tried, f"{folder!a} is no folder that a shell may write to", f"give one as {ROOT}, or omit --folder"
        )


def _refused(device: Device, tried: str, came_back: str, do_next: str) -> DeviceRefused:
    return DeviceRefused(tried, came_back, do_next, serial=device.serial, step="look beside LiteRT")


def _there(device: Device, folder: str) -> dict[str, str]:
    """SHA-256 of what has the names, of those that are there; of what cannot be read empty."""
    names = [name for name in (DELEGATE, ACCELERATOR) if device.stat(f"{folder}/{name}")]
    found = device.digests([f"{folder}/{name}" for name in names], _TIMEOUT_S) if names else {}
    return {name: found.get(f"{folder}/{name}", "") for name in names}


def _known(device: Device, folder: str) -> dict[str, list[str]]:
    """Digests that the list there names, by file; empty where there is no list."""
    if not device.stat(f"{folder}/{LIST}"):
        return {}
    said = device.shell(
        ["cat", f"{folder}/{LIST}"], timeout_s=_TIMEOUT_S, check=False, step="read the list", repeatable=True
    )
    found: dict[str, list[str]] = {}
    for match in filter(None, map(_LINE.fullmatch, said.stdout.splitlines())):
        found.setdefault(match[2], []).append(match[1])
    return found


def _write(device: Device, remote: str, content: str) -> None:
    with tempfile.TemporaryDirectory(prefix="quadra-list-") as folder:
        local = Path(folder) / LIST
        local.write_text(content, encoding="ascii", newline="\n")
        device.send(local, remote)


def _copy(device: Device, source: str, target: str, digest: str, tried: str) -> None:
    """In one step: a program that starts meanwhile has the old file or the new one."""
    part = f"{target}.part"
    device.shell(["cp", source, part], timeout_s=60, step="copy", repeatable=True)
    if device.digests([part], _TIMEOUT_S).get(part) != digest:
        device.shell(["rm", "-f", part], timeout_s=_TIMEOUT_S, check=False, step="clean")
        came_back = f"{part} has another SHA-256 than the file that was sent"
        raise TransferFailed(tried, came_back, "try again", serial=device.serial, step="copy")
    device.shell(["mv", "-f", part, target], timeout_s=_TIMEOUT_S, step="copy")
