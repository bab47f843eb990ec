"""What `inv device` prints."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from host_tools.base.errors import Misuse
from host_tools.virtual_device import faults, registry


def device(what: str, name: str, planted: Sequence[str], console: Console) -> None:
    """Does one word of `inv device`."""
    action = _ACTIONS.get(what)
    if action is None:
        raise Misuse(f"inv device {what}", "there is no such word", f"one of: {', '.join(_ACTIONS)}")
    if planted and what not in ("start", "fault"):
        raise Misuse(f"inv device {what} --fault", "faults belong to start and fault", "leave --fault out")
    action(name, planted, console)


def _start(name: str, planted: Sequence[str], console: Console) -> None:
    print(registry.start(name, planted=planted))


def _stop(name: str, planted: Sequence[str], console: Console) -> None:
    names = [record.name for record in registry.records()] if name == "all" else [name]
    for one in names:
        was = registry.stop(one)
        print(f"{one} stopped" if was else f"{one} did not run")


def _list(name: str, planted: Sequence[str], console: Console) -> None:
    table = Table("name", "serial", "process", "since", "state")
    for record in registry.records():
        state = "runs" if record.alive else f"its process has died: `./inv device stop --name {record.name}`"
        table.add_row(record.name, record.serial, str(record.pid), record.started, state)
    if table.row_count:
        console.print(table)
    else:
        print("no virtual device: `./inv device start`")


def _fault(name: str, planted: Sequence[str], console: Console) -> None:
    for text in planted:
        registry.plant(name, text)
    for line in registry.planted(name) or ["no faults"]:
        print(line)


def _faults(name: str, planted: Sequence[str], console: Console) -> None:
    steps = Table("step", "met when", "kinds", title="Steps")
    steps.add_row("(any)", "", ", ".join(faults.ANYWHERE))
    for row in faults.table():
        steps.add_row(*map(escape, row))
    kinds = Table("kind", "what happens", "VALUE", "goes on", title="Kinds")
    for kind, about in faults.KINDS.items():
        kinds.add_row(kind, about.text, about.value, "until cleared" if about.lasting else "once")
    console.print(steps)
    console.print(kinds)


_ACTIONS: dict[str, Callable[[str, Sequence[str], Console], None]] = {
    "start": _start,
    "stop": _stop,
    "list": _list,
    "fault": _fault,
    "faults": _faults,
}
