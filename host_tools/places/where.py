"""Which places a word of the command line means: this machine, Android's runtime on it, or devices."""

from collections.abc import Callable
from pathlib import Path

from host_tools.base.errors import DeviceError, Misuse
from host_tools.phone.adb import choice
from host_tools.phone.adb.adb_device import Device
from host_tools.places.on_host import Host
from host_tools.places.on_phone import Phone
from host_tools.places.on_phone_shell import ROUTE as SHELL, PhoneShell
from host_tools.places.place import Place
from host_tools.virtual_device import registry


def parse(on: str, library: Path | None = None, apk: Path | None = None, route: str = "") -> list[Place]:
    """host, jvm, virtual, a serial or name, any, all; or several of these with a comma between them.

    library, apk: these instead of those that a place has made. route: "shell" goes past the app of a device.
    Of several places, a device that cannot be used is one whose prepare() says why.
    """
    words = list(filter(None, (word.strip() for word in on.split(","))))
    found: dict[str, Place] = {}
    for word in words:
        for place in _places(word, library, apk, route, alone=len(words) == 1):
            found.setdefault(place.name, place)
    if not found:
        raise Misuse(f"read --on {on!r}", "no place is given", "give host, jvm, virtual, a serial, any or all")
    return list(found.values())


def _places(word: str, library: Path | None, apk: Path | None, route: str, alone: bool) -> list[Place]:
    here: dict[str, Callable[[Path | None], Place]] = {"host": Host, "jvm": _jvm}
    if word in here and route != SHELL:
        return [here[word](library)]
    if word == "app":
        raise Misuse("read --on app", "it is now called jvm", "give --on jvm")
    try:
        devices = choice.choose(word)
    except DeviceError as error:
        if alone:
            raise
        devices = [Device(error.serial or word, unusable=error)]
    names = {serial: registry.shown(name) for name, serial in registry.running().items()}
    if route == SHELL and apk:
        raise Misuse("run with --via shell and --apk", "the shell's runner is no app", "omit one of them")
    if route == SHELL:
        return [PhoneShell(one, library, names.get(one.serial, "")) for one in devices]
    return [Phone(one, library, names.get(one.serial, ""), apk) for one in devices]


def _jvm(library: Path | None) -> Place:
    from host_tools.android_on_host import needs  # it needs what other places do not, and what only Linux has
    from host_tools.places.on_jvm import Jvm

    needs.require("run in Android's runtime on this machine")
    return Jvm(library)
