"""Files of the test app's private folders, brought here: listed and digested by the device, sent as a tar, checked."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from host_tools.base.errors import DeviceError, DeviceRefused, ReplyNotUnderstood, TransferFailed
from host_tools.base.settings import make_folder
from host_tools.phone.adb import adb_errors
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.adb.retry import tried
from host_tools.phone.adb.server_connection import Deadline
from host_tools.phone.files import safe_names
from host_tools.phone.files.transfer import Show, quiet, sha256
from host_tools.phone.files.unpack import BLOCK, PART, Limits, Unpacker

_WORDS_LIMIT = 16 << 10


@dataclass
class Pulled:
    """What came: files in the order of their names."""

    serial: str
    files: list[Path] = field(default_factory=list)
    bytes: int = 0
    kept_files: int = 0  # those that an earlier try had brought
    wall_s: float = 0.0


def pull_app(
    device: Device,
    package: str,
    remote_folder: str,
    local_folder: Path,
    limits: Limits = Limits(),
    show: Show = quiet,
    *,
    timeout_s: float = 300.0,
    only: Sequence[str] = (),
) -> Pulled:
    """Brings a folder of the app (as `run-as` sees it; package "": as the shell does) into local_folder.

    A file of local_folder with the right digest is not brought again: what was interrupted goes on there. only: these
    files of it. Raises AppMissing, DeviceRefused (no such folder), TransferFailed and ReplyNotUnderstood; what came
    whole until then stays.
    """
    try:
        return _pull(
            device, package, remote_folder, local_folder, limits, show, Deadline(timeout_s, device.idle_s), only
        )
    except DeviceError as error:
        error.serial = error.serial or device.serial  # a name or a stream knows of no device
        raise


def _pull(
    device: Device,
    package: str,
    remote_folder: str,
    local_folder: Path,
    limits: Limits,
    show: Show,
    deadline: Deadline,
    only: Sequence[str],
) -> Pulled:
    started = time.monotonic()
    make_folder(local_folder, "QUADRA_RUNS_DIR")
    for left in local_folder.rglob(PART + "*"):
        left.unlink()  # of a process that was killed
    run_as = ["run-as", package] if package else []
    wanted = manifest(device, run_as, remote_folder, limits, deadline, only)
    pulled = Pulled(device.serial)
    missing = {name: digest for name, digest in wanted.items() if not _here(local_folder, name, digest)}
    pulled.kept_files = len(wanted) - len(missing)

    def absent() -> list[str]:
        return [name for name in missing if not _here(local_folder, name, missing[name])]

    def once() -> None:
        for batch in _batches(absent()):
            pulled.bytes += _bring(device, run_as, remote_folder, local_folder, batch, missing, limits, deadline)
            show(batch[-1], sum(_is_here(local_folder, name) for name in wanted), len(wanted))
        left = absent()
        if left:
            came_back = f"{safe_names.shown(left[0])} did not come"
            raise TransferFailed(f"bring {remote_folder}", came_back, "try again", serial=device.serial, step="pull")

    tried(once, device.events, "pull", deadline)
    pulled.files = [local_folder / name for name in sorted(wanted)]
    pulled.wall_s = time.monotonic() - started
    return pulled


def manifest(
    device: Device, run_as: Sequence[str], folder: str, limits: Limits, deadline: Deadline, only: Sequence[str] = ()
) -> dict[str, str]:
    """SHA-256 by relative name of all files of a folder; every name is checked."""
    what = " of ".join([f"list {folder}", *run_as[1:]])
    left = max(0.1, deadline.left())
    argv = [*run_as, "find", folder, "-type", "f"]
    reply = device.shell(argv, timeout_s=left, check=False, step="pull", repeatable=True)
    if reply.status != 0:
        raise adb_errors.of_run_as(reply.stderr + reply.stdout, what, device.serial, "pull")
    paths = [line for line in reply.stdout.split("\n") if line]
    relative = {"/".join(safe_names.relative(safe_names.below(folder, path))): path for path in paths}
    if len(paths) > limits.files or len(relative) < len(paths):
        came_back = f"{len(paths)} files with {len(relative)} names"
        raise ReplyNotUnderstood(what, came_back, "nothing was brought", serial=device.serial, step="pull")
    relative = {name: path for name, path in relative.items() if not only or name in only}
    found: dict[str, str] = {}
    for batch in _batches(list(relative.values())):
        found.update(device.digests(batch, max(0.1, deadline.left()), run_as))
    unread = [name for name, path in relative.items() if path not in found]
    if unread:
        came_back = f"the device gave no digest of {safe_names.shown(unread[0])}"
        raise DeviceRefused(what, came_back, "check that file on the device", serial=device.serial, step="pull")
    return {name: found[path] for name, path in relative.items()}


def _bring(
    device: Device,
    run_as: Sequence[str],
    remote_folder: str,
    local_folder: Path,
    batch: list[str],
    wanted: dict[str, str],
    limits: Limits,
    deadline: Deadline,
) -> int:
    unpacker = Unpacker(local_folder, {name: wanted[name] for name in batch}, limits)
    argv = [*run_as, "tar", "-C", remote_folder, "-cf", "-", *batch]
    room = limits.total_bytes + (len(batch) * 16 + 64) * BLOCK
    try:
        device.stream(argv, timeout_s=max(0.1, deadline.left()), to=unpacker, limit_bytes=room, step="pull")
    finally:
        unpacker.close()
    return unpacker.bytes_done


def _is_here(folder: Path, name: str) -> bool:
    return (folder / name).is_file()


def _here(folder: Path, name: str, digest: str) -> bool:
    path = folder / name
    return path.is_file() and not path.is_symlink() and sha256(path) == digest


def _batches(words: list[str]) -> Iterator[list[str]]:
    """Words in lists that fit into one command."""
    batch: list[str] = []
    length = 0
    for word in words:
        if batch and length + len(word) * 4 > _WORDS_LIMIT:
            yield batch
            batch, length = [], 0
        batch.append(word)
        length += len(word.encode()) + 3
    if batch:
        yield batch
