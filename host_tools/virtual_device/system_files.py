"""The files that a device has from the start."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from host_tools.virtual_device.device import VirtualDevice

_FOLDERS = {
    "data": 0o771,
    "data/app": 0o771,
    "data/data": 0o771,
    "data/local": 0o751,
    "data/local/tmp": 0o771,
    "data/anr": 0o775,
    "data/tombstones": 0o771,
    "data/user": 0o711,
    "dev": 0o755,
    "mnt": 0o755,
    "proc/sys/kernel/random": 0o755,
    "storage/emulated/0/Android/data": 0o771,
    "storage/emulated/0/Download": 0o770,
    "storage/self": 0o755,
    "sys/class/thermal/thermal_zone0": 0o755,
    "system/bin": 0o755,
    "system/lib64": 0o755,
    "tmp": 0o771,
    "vendor/lib64": 0o755,
}
_LINKS = {
    "bin": "/system/bin",
    "data/user/0": "/data/data",
    "sdcard": "/storage/self/primary",
    "storage/self/primary": "/storage/emulated/0",
}


def make(device: "VirtualDevice") -> None:
    """Folders, links and generated files under the device's root; what is there already stays."""
    root = os.fspath(device.root)
    for name, mode in _FOLDERS.items():
        path = os.path.join(root, name)
        if not os.path.isdir(path):
            os.makedirs(path)
            os.chmod(path, mode)
    for name, target in _LINKS.items():
        path = os.path.join(root, name)
        if not os.path.islink(path):
            os.symlink(target, path)
    device.files.made.update(
        {
            "/proc/cpuinfo": Path("/proc/cpuinfo").read_bytes,
            "/proc/loadavg": Path("/proc/loadavg").read_bytes,
            "/proc/meminfo": Path("/proc/meminfo").read_bytes,
            "/proc/sys/kernel/random/boot_id": lambda: b"%s\n" % device.boot_id.encode(),
            "/proc/uptime": lambda: b"%.2f 0.00\n" % max(0.0, time.monotonic() - device.booted_at),
            "/sys/class/thermal/thermal_zone0/temp": lambda: b"%d\n" % (device.state.thermal.skin_c * 1000),
            "/sys/class/thermal/thermal_zone0/type": lambda: b"skin\n",
        }
    )
