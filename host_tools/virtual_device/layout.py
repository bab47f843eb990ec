"""The device's folders and generated files, who may read and write where, and who owns what: the rules that an app
developer's phone has."""

import os
from collections.abc import Callable
from pathlib import Path

from host_tools.virtual_device.installed_app import Installed
from host_tools.virtual_device.state import State
from host_tools.virtual_device.users import MEDIA_UID, ROOT_UID, SHELL_UID, SYSTEM_UID, USERS

APP_DATA = "/data/data"
SHELL_FOLDER = "/data/local/tmp"

READ, WRITE = "r", "w"
NEITHER, BOTH = "", "rw"

# The longest prefix counts: what the shell may do, what an app may do, whose the files are.
_RULES: dict[str, tuple[str, str, int]] = {
    "/": (READ, READ, ROOT_UID),
    "/data": (NEITHER, NEITHER, SYSTEM_UID),
    "/data/app": (READ, READ, SYSTEM_UID),
    "/data/local": (READ, NEITHER, SYSTEM_UID),
    SHELL_FOLDER: (BOTH, READ, SHELL_UID),
    APP_DATA: (NEITHER, NEITHER, SYSTEM_UID),
    "/dev/null": (BOTH, BOTH, ROOT_UID),
    "/dev/zero": (BOTH, BOTH, ROOT_UID),
    "/storage/emulated/0": (BOTH, NEITHER, MEDIA_UID),
}
_WRITABLE = ("/data", "/dev", "/storage")  # outside of these nothing can be written by anybody

_FOLDERS = {
    "data": 0o771,
    "data/app": 0o771,
    "data/data": 0o771,
    "data/local": 0o751,
    "data/local/tmp": 0o771,
    "data/system": 0o771,
    "data/user": 0o711,
    "dev": 0o755,
    "proc/sys/kernel/random": 0o755,
    "sys/class/kgsl/kgsl-3d0": 0o755,
    "sys/devices/system/cpu/cpufreq/policy0": 0o755,
    "storage/emulated/0/Download": 0o770,
    "storage/self": 0o755,
    "system/bin": 0o755,
    "vendor/lib64": 0o755,
}
_LINKS = {
    "data/user/0": "/data/data",
    "sdcard": "/storage/self/primary",
    "storage/self/primary": "/storage/emulated/0",
}
# Files whose content is made when somebody reads them; as under a phone's /proc, their size is 0.
GENERATED: dict[str, Callable[[State], bytes]] = {
    "/proc/cpuinfo": lambda _: Path("/proc/cpuinfo").read_bytes(),
    "/proc/loadavg": lambda _: Path("/proc/loadavg").read_bytes(),
    "/proc/meminfo": lambda _: Path("/proc/meminfo").read_bytes(),
    "/proc/sys/kernel/random/boot_id": lambda device: b"%s\n" % device.boot_id.encode(),
    "/sys/class/kgsl/kgsl-3d0/gpuclk": lambda device: (
        b"%d\n" % (680_000_000 if not device.thermal_status() else 220_000_000)
    ),
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq": lambda device: (
        b"%d\n" % (2_016_000 if not device.thermal_status() else 864_000)
    ),
}


def make(root: Path) -> None:
    """Folders, links and the places of generated files under the device's root; what is there already stays."""
    for name, mode in _FOLDERS.items():
        path = root / name
        if not path.is_dir():
            path.mkdir(parents=True)
            path.chmod(mode)
    for name, target in _LINKS.items():
        if not (root / name).is_symlink():
            os.symlink(target, root / name)
    for name in GENERATED:
        (root / name[1:]).touch()


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def rights(path: str, user: str) -> str:
    """Of `user` ("shell" or a package) at a path without links: some of "rw"."""
    if user != "shell" and within(path, f"{APP_DATA}/{user}"):
        return BOTH
    shells, apps, _ = _rule(path)
    return shells if user == "shell" else apps


def _rule(path: str) -> tuple[str, str, int]:
    return _RULES[max((prefix for prefix in _RULES if within(path, prefix)), key=len)]


def read_only(path: str) -> bool:
    """Whether it lies on a file system that nobody can write to."""
    return not any(within(path, folder) for folder in _WRITABLE)


def owner(path: str, apps: dict[str, Installed]) -> int:
    """The number of the user that a file belongs to, from where it lies."""
    app = apps.get(path.split("/")[3]) if within(path, APP_DATA) and path.count("/") >= 3 else None
    return app.uid if app else _rule(path)[2]


def user_name(uid: int) -> str:
    """As `ls -l` writes it."""
    return USERS.get(uid) or (f"u0_a{uid - 10000}" if uid >= 10000 else str(uid))


def uid_of(user: str, apps: dict[str, Installed]) -> int:
    return apps[user].uid if user in apps else SHELL_UID
