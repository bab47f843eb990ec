"""The services that a host may open on a device, by the first word of their name."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from host_tools.virtual_device import shell_service
from host_tools.virtual_device.stream import Stream
from host_tools.virtual_device.sync import Sync

if TYPE_CHECKING:
    from host_tools.virtual_device.device import VirtualDevice

Handler = Callable[["VirtualDevice", Stream], None]


def kind(name: str) -> str:
    """shell, exec, sync, reboot …"""
    return name.split(":", 1)[0].split(",", 1)[0]


def find(name: str) -> Handler | None:
    """Who serves this; None: the device refuses it."""
    return _HANDLERS.get(kind(name)) if ":" in name else None


def _reboot(device: "VirtualDevice", stream: Stream) -> None:
    stream.close()
    device.reboot()


_HANDLERS = {
    "shell": shell_service.serve,
    "exec": shell_service.serve,
    "sync": lambda device, stream: Sync(device, stream).run(),
    "reboot": _reboot,
    "root": lambda _, stream: stream.write(b"adbd cannot run as root in production builds\n"),
}
