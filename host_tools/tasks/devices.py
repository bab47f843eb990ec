"""The words of `inv device`: list, start, stop, fault, faults."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.markup import escape

from host_tools.base import installed
from host_tools.base.text_table import Table, text, word
from host_tools.phone.adb import choice
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.adb.choice import Found
from host_tools.phone.state import glance
from host_tools.phone.state.glance import Glance
from host_tools.virtual_device import faults, registry

_DIED = "died"
_STATES = {
    "device": "ready",
    "offline": "offline: plug it in again, or restart it",
    "unauthorized": "unauthorized: unlock it and allow USB debugging for this computer",
    "authorizing": "waiting: unlock it and allow USB debugging for this computer",
    "no permissions": "no permissions: this user may not open its USB port; see docs/devices.md",
    _DIED: "its process has died: `./inv device start --name NAME` restarts it",
}
NONE = (
    "No device is connected.\n"
    "  A phone: in Settings, About phone, tap the build number seven times;\n"
    "  in Developer options allow USB debugging; plug it in and accept its prompt.\n"
    "  An emulator: start it in Android Studio.\n"
    "  Without a phone: `./inv device start` starts a virtual device."
)


@dataclass(frozen=True)
class Options:
    """Those of the command line."""

    name: str = registry.DEFAULT
    faults: tuple[str, ...] = ()  # of start
    json: bool = False


def do(words: Sequence[str], options: Options, console: Console) -> None:
    """Does one subcommand of `inv device`. The command line has checked the words."""
    what, *given = words or ["list"]
    _ACTIONS[what](given, options, console)


def _list(given: Sequence[str], options: Options, console: Console) -> None:
    there = choice.found()
    there += [Found(one.serial, _DIED, virtual=True, name=one.name) for one in registry.records() if not one.alive()]
    # One that somebody works with is left alone: it may be measuring.
    free = [Device(one.serial, virtual=one.virtual) for one in there if one.state == choice.READY and not one.busy]
    seen = glance.of_all(free)
    if options.json:
        nothing = Glance()
        print(json.dumps([{**one.to_json(), **asdict(seen.get(one.serial, nothing))} for one in there], indent=1))
    elif not there:
        print(installed.said(NONE))
    else:
        table(there, seen).show(console)


def table(there: Sequence[Found], seen: Mapping[str, Glance]) -> Table:
    """A row per device. seen: of those that were asked, by serial."""
    made = Table([
        text("serial"), text("kind"), text("model", 1), text("Android", 1, 7), text("chip", 2), text("GPU", 1),
        text("condition", 1), text("state"),
    ])  # fmt: skip
    for one in there:
        now = seen.get(one.serial, Glance())
        state = one.busy or installed.said(_STATES.get(one.state, one.state)).replace("NAME", one.name)
        kind = f"virtual: {one.name}" if one.virtual else "emulator" if one.serial.startswith("emulator-") else "phone"
        cells = (one.serial, kind, one.model, now.android, now.chip, now.gpu, now.condition(), state)
        made.add_row(*map(escape, cells))
    return made


def _start(given: Sequence[str], options: Options, console: Console) -> None:
    print(registry.start(options.name, planted=options.faults))
    told = f"next: `./inv run MODEL --on {options.name}`; `./inv device stop --name {options.name}` ends it"
    print(installed.said(told), file=sys.stderr)


def _stop(given: Sequence[str], options: Options, console: Console) -> None:
    names = [record.name for record in registry.records()] if options.name == "all" else [options.name]
    for one in names:
        was = registry.stop(one)
        print(f"{one} stopped" if was else f"{one} was not running")


def _fault(given: Sequence[str], options: Options, console: Console) -> None:
    for fault in given:
        registry.plant(options.name, fault)
    for line in registry.planted(options.name) or ["no faults"]:
        print(line)


def _faults(given: Sequence[str], options: Options, console: Console) -> None:
    steps = Table([word("step"), text("met when"), text("kinds")], "Steps")
    steps.add_row("(any)", "", ", ".join(faults.ANYWHERE))
    for row in faults.table():
        steps.add_row(*map(escape, row))
    kinds = Table([word("kind"), text("what happens"), text("VALUE"), word("duration")], "\nKinds")
    for kind, about in faults.KINDS.items():
        kinds.add_row(kind, about.text, about.value, "until cleared" if about.lasting else "once")
    steps.show(console)
    kinds.show(console)


_ACTIONS: dict[str, Callable[[Sequence[str], Options, Console], None]] = {
    "list": _list,
    "start": _start,
    "stop": _stop,
    "fault": _fault,
    "faults": _faults,
}
