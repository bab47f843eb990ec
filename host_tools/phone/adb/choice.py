"""Which devices there are, and which of them a word of the command line means."""

import re
from dataclasses import asdict, dataclass, replace

from adbutils.errors import AdbError

from host_tools.base.errors import DeviceBusy, DeviceError, DeviceNotFound, DeviceUnusable, Misuse
from host_tools.phone.adb import adb_errors, lock, server
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.adb.server_connection import Connection, Deadline

WORDS = ("any", "all", "virtual")
READY = "device"
_LOOK_S = 20.0
_USUAL_PORT = 5037
_SERIAL = re.compile(r"[A-Za-z0-9._:%\[\]-]{1,128}")
_LINE = re.compile(r"(\S+)\s+(no permissions|\S+)(?:\s(.*))?")
_HOW = (
    "allow USB debugging on a phone (Settings, Developer options), plug it in and say yes to its question;"
    " or start a virtual device: `./inv device start`"
)


@dataclass(frozen=True)
class Found:
    """A device that adb's server sees. state: device (ready), offline, unauthorized, recovery, …"""

    serial: str
    state: str
    model: str = ""
    product: str = ""
    virtual: bool = False
    busy: str = ""  # who works with it
    name: str = ""  # a virtual device's

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def found() -> list[Found]:
    """All devices, whatever their state; phones come before virtual ones."""
    from host_tools.virtual_device import registry

    deadline = Deadline(_LOOK_S)
    virtual = registry.running()
    listed = parse(_listing(deadline))
    for serial in virtual.values():
        if serial not in {one.serial for one in listed}:
            try:
                Device(serial, virtual=True).connect(min(5.0, deadline.left()))
            except DeviceError:
                pass  # it is listed with the state that it has
    names = {serial: name for name, serial in virtual.items()}
    made = [
        replace(one, virtual=one.serial in names, busy=lock.holder(one.serial), name=names.get(one.serial, ""))
        for one in parse(_listing(deadline))
    ]
    return sorted(made, key=lambda one: (one.virtual, one.name, one.serial))


def choose(on: str) -> list[Device]:
    """The devices that `on` means: a serial, a virtual device's name, any (the first that is free), all, or virtual
    (the one of that name, started if need be)."""
    if on == "virtual":
        from host_tools.virtual_device import registry

        return [Device(registry.running().get("virtual") or registry.start("virtual"), virtual=True)]
    if on not in WORDS and not _SERIAL.fullmatch(on):
        raise Misuse(f"find the device {on!a}", "no serial looks so", "`./inv devices` lists what is connected")
    there = found()
    if on not in WORDS:
        return [_named(next((one.serial for one in there if one.name == on), on), there)]
    ready = [one for one in there if one.state == READY]
    if not ready:
        raise _none(there)
    free = [one for one in ready if not one.busy]
    if on == "any" and not free:
        raise DeviceBusy("find a free device", ready[0].busy, "wait for it, or connect another", serial=ready[0].serial)
    return [Device(one.serial, virtual=one.virtual) for one in (free[:1] if on == "any" else ready)]


def parse(text: str) -> list[Found]:
    """The devices of `adb devices -l`: serial, state and key:value words."""
    devices = []
    for line in text.split("\n"):
        match = _LINE.fullmatch(line.strip())
        if match and _SERIAL.fullmatch(match[1]):
            words = dict(word.split(":", 1) for word in (match[3] or "").split() if ":" in word)
            model, product = (adb_errors.shown(words[key], 60) if key in words else "" for key in ("model", "product"))
            devices.append(Found(match[1], adb_errors.shown(match[2], 30), model, product))
    return devices


def _listing(deadline: Deadline) -> str:
    server.up(deadline)
    try:
        with Connection(server.port(), deadline) as connection:
            connection.request("host:devices-l")
            return connection.block()
    except (AdbError, EOFError, OSError, ValueError) as error:
        raise DeviceError("list the devices", adb_errors.shown(str(error)), "ask again", step="devices") from error


def _named(serial: str, there: list[Found]) -> Device:
    device = Device(serial, virtual=any(one.virtual for one in there if one.serial == serial))
    state = next((one.state for one in there if one.serial == serial), "")
    if state in ("", "offline"):  # a device of the network may be reached, though it is not connected yet
        try:
            device.features()
        except DeviceNotFound as error:
            known = ", ".join(one.serial for one in there) or "none"
            came_back = f"{error.came_back}; connected: {known}{_other_server()}"
            raise DeviceNotFound(f"find the device {serial}", came_back, _HOW, serial=serial, step="choose") from error
    elif state != READY:
        raise adb_errors.of_server(f"device {state}", f"use the device {serial}", serial, "choose")
    return device


def _none(there: list[Found]) -> DeviceError:
    if there:
        states = ", ".join(f"{one.serial} is {one.state}" for one in there)
        return DeviceUnusable("find a device", states, _HOW, serial=there[0].serial, step="choose")
    return DeviceNotFound("find a device", f"none is connected{_other_server()}", _HOW, step="choose")


def _other_server() -> str:
    """A phone on USB belongs to one server: who has Android's tools open often has another one."""
    if server.port() == _USUAL_PORT or not server.answers(_USUAL_PORT):
        return ""
    return f"; an adb server on port {_USUAL_PORT} may hold the phones on USB: `adb kill-server`, or QUADRA_ADB_PORT={_USUAL_PORT}"
