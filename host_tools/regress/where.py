"""Where a suite runs: this machine, the app place, or devices; and under which name the history knows each."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional

from host_tools import place
from host_tools.errors import Misuse
from host_tools.run_folder import RunFolder
from host_tools.spec import RunSpec

_HERE = ("host", "app")


@dataclass
class Where:
    """One place that runs one process at a time. name: the same tomorrow, whatever port a device has then."""

    place: str
    name: str
    serial: str = ""
    device: Any = None  # host_tools.device.adb.Device
    library: Optional[Path] = None
    more: Dict[str, Any] = field(default_factory=dict)

    @property
    def module(self) -> ModuleType:
        return place.named(self.place)

    @property
    def folder(self) -> str:
        """A name for a folder of its own."""
        return re.sub(r"[^A-Za-z0-9]+", "-", self.name).strip("-") or "device"

    def prepare(self, library: Optional[Path], shipped: bool) -> None:
        """Builds what is missing, one place after the other, before any of them measures."""
        if not self.device:
            self.library = library or self.module.library()
            return
        from host_tools.device import app

        self.library = library or self.module.library(self.device)
        self.more = {"device": self.device, "apk": app.apk_for(self.device, self.library, shipped)}

    def run(self, spec: RunSpec, show: Callable[[str], None], runs_dir: Path) -> RunFolder:
        """The finished run folder."""
        return self.module.run(spec, self.library, show, runs_dir, **self.more)

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

    chosen = device.choose(word)
    names = {serial: f"virtual {name}" for name, serial in registry.running().items()}
    return [Where("device", names.get(d.serial, d.serial), d.serial, d) for d in chosen]
