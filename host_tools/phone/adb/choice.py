"""Which devices there are, and which of them a word of the command line means."""

import re
from dataclasses import asdict, dataclass, replace

from adbutils.errors import AdbError

from host_tools.base import settings
from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import DeviceBusy, DeviceError, DeviceNotFound, DeviceUnusable, Misuse
from host_tools.phone.adb import adb_errors, lock, server
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.adb.server_connection import Deadline
from host_tools.virtual_device import registry

WORDS = ("any", "all", "virtual")
READY = "device"
_LOOK_S = 20.0
_PAIRED = r"adb-[A-Za-z0-9-]{1,64} \([0-9]{1,3}\)\._adb-tls-connect\._tcp"  # a wireless device that is announced twice
_SERIAL = re.compile(rf"[A-Za-z0-9._:%\[\]-]{{1,128}}|{_PAIRED}")
_LINE = re.compile(rf"({_PAIRED}|\S+)\s+(no permissions|\S+)(?:\s(.*))?")
_HOW = (
    "allow USB debugging on a phone (Settings, Developer options), plug it in and accept its prompt;"
    " or start a virtual device: `./inv device start`"
)


@dataclass(frozen=True)
class Found:
    """A device that an adb server sees. state: device (ready), offline, unauthorized, recovery, …"""

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
    """All devices of both adb servers, whatever their state; phones come before virtual ones."""
    deadline = Deadline(_LOOK_S)
    return _users(deadline) + _virtual(deadline)


def choose(on: str) -> list[Device]:
    """The devices that `on` means: a serial, a virtual device's name, any (that of ANDROID_SERIAL; else the first that is
    free), all (also those that are not ready: `unusable` says why), or virtual (the one of that name, started if need be)."""
    if on == "virtual":
        return [Device(registry.running().get("virtual") or registry.start("virtual"), virtual=True)]
    if on not in WORDS:
        return [_named(on, f"find the device {on!a}", _HOW)]
    serial = settings.read().android_serial
    if on == "any" and serial:
        do_next = "connect it, or unset ANDROID_SERIAL; `./inv device list` lists what is connected"
        return [_named(serial, f"find the device {serial!a}, which ANDROID_SERIAL names", do_next)]
    there = found()
    if on == "all" and there:
        return [Device(one.serial, virtual=one.virtual, unusable=_unusable(one)) for one in there]
    ready = [one for one in there if one.state == READY]
    if not ready:
        raise _none(there)
    free = [one for one in ready if not one.busy]
    if not free:
        raise DeviceBusy("find a free device", ready[0].busy, "wait for it, or connect another", serial=ready[0].serial)
    return [Device(free[0].serial, virtual=free[0].virtual)]


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


def _users(deadline: Deadline) -> list[Found]:
    """What the user's server has, without virtual devices that somebody connected with it, too."""
    virtual = set(registry.running().values())
    listed = [one for one in _listed(server.of(virtual=False), deadline) if one.serial not in virtual]
    return sorted((replace(one, busy=lock.holder(one.serial)) for one in listed), key=lambda one: one.serial)


def _virtual(deadline: Deadline) -> list[Found]:
    running = registry.running()
    if not running:
        return []
    ours = server.of(virtual=True)
    connected = {one.serial for one in _listed(ours, deadline)}
    for serial in running.values():
        if serial not in connected:
            try:
                Device(serial, virtual=True).connect(min(5.0, deadline.left()))
            except DeviceError:
                pass  # it is listed with the state that it has
    states = {one.serial: one for one in _listed(ours, deadline)}
    return [
        replace(states.get(serial, Found(serial, "offline")), virtual=True, busy=lock.holder(serial), name=name)
        for name, serial in sorted(running.items())
    ]


def _listed(one: server.Server, deadline: Deadline) -> list[Found]:
    one.up(deadline)
    try:
        return parse(one.ask("host:devices-l", deadline))
    except (AdbError, EOFError, OSError, ValueError) as error:
        raise DeviceError("list the devices", adb_errors.shown(str(error)), "try again", step="devices") from error


def _named(word: str, tried: str, do_next: str) -> Device:
    """The device of this serial, or virtual device's name. Other devices' servers are not asked for it."""
    if not _SERIAL.fullmatch(word):
        raise Misuse(tried, "this is not a serial", "`./inv device list` lists what is connected")
    running = registry.running()
    serial = running.get(word, word)
    deadline = Deadline(_LOOK_S)
    there = _virtual(deadline) if serial in running.values() else _users(deadline)
    device = Device(serial, virtual=serial in running.values())
    state = next((one.state for one in there if one.serial == serial), "")
    if state in ("", "offline"):  # a device of the network may be reached, though it is not connected yet
        try:
            device.features()
        except DeviceNotFound as error:
            known = [one.serial for one in [*there, *([] if device.virtual else _virtual(deadline))]]
            came_back = f"{error.came_back}; connected: {', '.join(known) or 'none'}"
            do_next = did_you_mean(word, [*WORDS, "host", "jvm", *running, *known], do_next)
            raise DeviceNotFound(tried, came_back, do_next, serial=serial, step="choose") from error
    elif state != READY:
        raise _in_state(state, tried.replace("find", "use", 1), serial)
    return device


def _unusable(one: Found) -> DeviceError | None:
    return None if one.state == READY else _in_state(one.state, f"use the device {one.serial}", one.serial)


def _in_state(state: str, tried: str, serial: str) -> DeviceError:
    return adb_errors.of_server(f"device {state}", tried, serial, "choose")


def _none(there: list[Found]) -> DeviceError:
    if there:
        states = ", ".join(f"{one.serial} is {one.state}" for one in there)
        return DeviceUnusable("find a device", states, _HOW, serial=there[0].serial, step="choose")
    return DeviceNotFound("find a device", "none is connected", _HOW, step="choose")
