"""Where a suite runs: this machine, the app place, or devices; and under which name the history knows each."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Dict, List

from host_tools import place
from host_tools.errors import Misuse

_HERE = ("host", "app")


@dataclass
class Where:
    """One place that runs one process at a time. name: the same tomorrow, whatever port a device has then."""

    place: str
    name: str
    serial: str = ""
    device: Any = None  # host_tools.device.adb.Device

    @property
    def module(self) -> ModuleType:
        return place.named(self.place)

    def run(self, spec, library, show, runs_dir):
        """The finished run folder."""
        more = {"device": self.device} if self.device else {}
        return self.module.run(spec, library, show, runs_dir, **more)

    def stop(self) -> None:
        """Ends what goes on there, from another thread."""
        if self.device:
            self.device.stop()


def parse(on: str) -> List[Where]:
    """host, app, virtual, a serial, any, all; or several of these with a comma between them."""
    found: Dict[str, Where] = {}
    for word in filter(None, (word.strip() for word in on.split(","))):
        for where in [Where(word, word)] if word in _HERE else _devices(word):
            found.setdefault(where.serial or where.name, where)
    if not found:
        raise Misuse(f"read --on {on!r}", "it names no place", "give host, app, virtual, a serial, any or all")
    return list(found.values())


def _devices(word: str) -> List[Where]:
    from host_tools import device
    from host_tools.virtual_device import registry

    names = {serial: f"virtual device {name}" for name, serial in registry.running().items()}
    if word in names.values() or f"virtual device {word}" in names.values():  # by its own name
        word = next(serial for serial, name in names.items() if name.endswith(f" {word}"))
    chosen = device.choice.choose(word)
    names = {serial: f"virtual device {name}" for name, serial in registry.running().items()}
    return [Where("device", names.get(d.serial, d.serial), d.serial, d) for d in chosen]
