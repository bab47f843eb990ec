"""What adb's server and a device's daemon say, as errors: one table for each."""

import re

from host_tools.base.errors import (
    AppMissing,
    DeviceError,
    DeviceFull,
    DeviceLost,
    DeviceNotFound,
    DeviceRefused,
    DeviceUnusable,
)

_ALLOW = "unlock the device, allow USB debugging for this computer in its dialog, then ask again"
_PLUG = "plug it in again, or restart it; `./inv device list` shows its state"

# Words of adb's server (adb.cpp, transport.cpp), the error, and what to do next.
_Table = tuple[tuple[str, type[DeviceError], str], ...]  # pattern of what was said, its error, what to do next
_OF_SERVER: _Table = (
    (r"device unauthorized|failed to authenticate", DeviceUnusable, _ALLOW),
    (r"still authorizing|^device authorizing$", DeviceUnusable, _ALLOW),
    (r"device offline|still connecting|no transport|transport offline", DeviceUnusable, _PLUG),
    (r"not found|no devices|unknown device", DeviceNotFound, "`./inv device list` lists what is connected"),
    (r"refused|no route|unreachable|resolve|getaddrinfo|name or service", DeviceNotFound,
     "check that the device runs and that its address is right; `./inv device list` lists what is connected"),
    (r"failed to connect|unable to connect|timed out", DeviceUnusable, "nothing there speaks adb's protocol; " + _PLUG),
    (r"insufficient permissions|no permissions", DeviceUnusable, "add udev rules for the device, see docs/devices.md"),
    (r"^device \w+$", DeviceUnusable, "restart it into Android; `./inv device list` shows its state"),  # recovery, sideload, …
    (r"^closed$", DeviceRefused, "try again: the connection may have ended just then. If it stays so, its adb daemon does not offer this "
     "service: Android 7 or later is needed"),
    (r"failed to read|connection reset|protocol fault", DeviceLost, _PLUG),
)  # fmt: skip

_OF_FILES: _Table = (
    (r"no space left|disk quota|enospc", DeviceFull, "free space on the device, e.g. `./inv push --clean`"),
    (r"permission denied|read-only|not permitted", DeviceRefused, "check that path on the device"),
    (r"no such file|not a directory|is a directory", DeviceRefused, "check that path on the device"),
)


_OF_RUN_AS: _Table = (
    (r"run-as: (unknown package|Package '.*' is unknown)", AppMissing, "install the test app: `./inv install`"),
    (r"run-as: .*not debuggable", DeviceRefused, "install an APK that is debuggable: `./inv apk` without --release"),
    (
        r"run-as: .*(couldn't (stat|chdir)|could not set capabilities)|required key not available",
        DeviceRefused,
        "unlock the device once after its start; where run-as does not work at all, `./inv run --via shell` needs none",
    ),
    *_OF_FILES,
)


def of_run_as(text: str, tried: str, serial: str, step: str) -> DeviceError:
    """The error that a refusal of run-as (AOSP run-as.cpp), or of what it ran, stands for."""
    return _look_up(_OF_RUN_AS, text, tried, serial, step, "check the device")


def of_server(text: str, tried: str, serial: str, step: str) -> DeviceError:
    """The error that the server's words stand for."""
    return _look_up(_OF_SERVER, text, tried, serial, step, "`./inv device list` shows its state")


def of_files(text: str, tried: str, serial: str, step: str) -> DeviceError:
    """The error that a refusal of the device's file system stands for."""
    return _look_up(_OF_FILES, text, tried, serial, step, "check that path on the device")


def says_full(text: str) -> bool:
    return bool(re.search(_OF_FILES[0][0], text, re.IGNORECASE))


def _look_up(table: _Table, text: str, tried: str, serial: str, step: str, do_next: str) -> DeviceError:
    said = shown(text)
    for pattern, kind, advice in table:
        if re.search(pattern, text.strip(), re.IGNORECASE):
            return kind(tried, said, advice, serial=serial, step=step)
    return DeviceRefused(tried, said, do_next, serial=serial, step=step)


def shown(text: str, limit: int = 300) -> str:
    """A device's words, fit to be printed: one line, nothing that a terminal obeys."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return (line[:limit] + "…" if len(line) > limit else line) or "nothing was said"
