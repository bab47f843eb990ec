"""What `inv devices` and `inv push` print."""

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from host_tools.base.errors import Misuse
from host_tools.phone.adb import choice, lock, parallel
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.files import transfer
from host_tools.request import models

_STATES = {
    "device": "ready",
    "offline": "offline: plug it in again, or restart it",
    "unauthorized": "unauthorized: unlock it and allow USB debugging for this computer",
    "authorizing": "waits: unlock it and allow USB debugging for this computer",
    "no permissions": "no permissions: this user may not open its USB port; see docs/devices.md",
}
NONE = (
    "No device is connected.\n"
    "  A phone: Settings, About phone, tap the build number seven times; then Developer options, USB debugging;\n"
    "  plug it in and say yes to its question. Or an emulator: start it in Android Studio.\n"
    "  Without a phone: `./inv device start` starts a virtual device."
)


def devices(console: Console, as_json: bool) -> None:
    """Prints all devices, or what to do when there are none."""
    there = choice.found()
    if as_json:
        print(json.dumps([one.to_json() for one in there], indent=1))
    elif not there:
        print(NONE)
    else:
        console.print(table(there))


def table(there: Sequence[choice.Found]) -> Table:
    made = Table("serial", "kind", "model", "state", box=None, pad_edge=False)
    for one in there:
        state = one.busy or _STATES.get(one.state, one.state)
        kind = f"virtual: {one.name}" if one.virtual else "emulator" if one.serial.startswith("emulator-") else "phone"
        made.add_row(*map(escape, (one.serial, kind, one.model, state)))
    return made


def push(names: Sequence[str], on: str, clean: bool) -> None:
    """Brings models onto devices, at the same time, and prints where they lie there. clean: empties the store first."""
    if not names and not clean:
        do_next = "name some: `./inv push selfie_segmentation`; `./inv models` lists them"
        raise Misuse("push models", "none is named", do_next)
    files = [models.find(name).path for name in names]

    def work(device: Device, show: parallel.Show) -> transfer.Pushed:
        with lock.lease(device.serial, "push"):
            if clean:
                transfer.clear(device)
            return transfer.push(device, files, show)

    outcomes = parallel.each(choice.choose(on), work, "push")
    for outcome in outcomes:
        if outcome.value:
            print("\n".join(lines(outcome.value)))
    parallel.values(outcomes)


def lines(pushed: transfer.Pushed) -> list[str]:
    size = f"{pushed.sent_bytes / 1e6:.1f} MB sent, {pushed.kept_bytes / 1e6:.1f} MB lay there"
    again = f", {pushed.retries} tries again" if pushed.retries else ""
    first = f"{pushed.serial}: {size}{again}, {pushed.wall_s:.1f} s"
    return [first, *(f"  {Path(path).name}  {remote}" for path, remote in pushed.remote.items())]
