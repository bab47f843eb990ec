"""The services that a host may open on a device, by the first word of their name."""

from typing import TYPE_CHECKING, Callable, Optional

from host_tools.virtual_device import shell_service
from host_tools.virtual_device.stream import Stream
from host_tools.virtual_device.sync import Sync

if TYPE_CHECKING:
    from host_tools.virtual_device.device import VirtualDevice

Handler = Callable[["VirtualDevice", Stream], None]


def kind(name: str) -> str:
    """shell, exec, sync, abb_exec, reboot …"""
    return name.split(":", 1)[0].split(",", 1)[0]


def find(name: str) -> Optional[Handler]:
    """Who serves this; None: the device refuses it."""
    return _HANDLERS.get(kind(name)) if ":" in name else None


def _sync(device: "VirtualDevice", stream: Stream) -> None:
    Sync(device, stream).run()


def _reboot(device: "VirtualDevice", stream: Stream) -> None:
    stream.close()
    device.reboot()


def _source(device: "VirtualDevice", stream: Stream) -> None:
    """So many zero bytes: adb's own speed test."""
    left = _count(stream)
    while left:
        piece = min(left, 1 << 18)
        stream.write(bytes(piece))
        left -= piece


def _sink(device: "VirtualDevice", stream: Stream) -> None:
    left = _count(stream)
    while left:
        piece = stream.read_some(left)
        if not piece:
            return
        left -= len(piece)


def _count(stream: Stream) -> int:
    text = stream.service.split(":", 1)[1]
    return int(text) if text.isdecimal() and len(text) < 12 else 0


def _user(answer: str) -> Handler:
    return lambda device, stream: stream.write(answer.encode())


_HANDLERS = {
    "shell": shell_service.shell,
    "exec": shell_service.execute,
    "abb": shell_service.binder,
    "abb_exec": shell_service.binder,
    "sync": _sync,
    "reboot": _reboot,
    "root": _user("adbd cannot run as root in production builds\n"),
    "unroot": _user("adbd not running as root\n"),
    "remount": _user("Not running as root. Try \"adb root\" first.\n"),
    "source": _source,
    "sink": _sink,
}
