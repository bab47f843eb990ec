"""`inv push`: models onto devices."""

from collections.abc import Sequence
from pathlib import Path

from host_tools.base.errors import Misuse
from host_tools.base.units import size_text
from host_tools.phone.adb import choice, lock, parallel
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.files import transfer
from host_tools.request import models


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
    parallel.check(outcomes)


def lines(pushed: transfer.Pushed) -> list[str]:
    size = f"{size_text(pushed.sent_bytes)} sent, {size_text(pushed.kept_bytes)} were there already"
    again = f", {pushed.retries} retries" if pushed.retries else ""
    first = f"{pushed.serial}: {size}{again}, {pushed.wall_s:.1f} s"
    return [first, *(f"  {Path(path).name}  {remote}" for path, remote in pushed.remote.items())]
