"""The same work on several devices at once, with a bar for each. Ctrl-C stops all, and waits until they cleaned up."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from host_tools.base import progress
from host_tools.base.errors import QuadraError, line, worst
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.adb.server_connection import Deadline

T = TypeVar("T")
Show = Callable[[str, int, int], None]  # what is being done, done, in all (0: nobody knows)
_CLEANING_S = 15.0


@dataclass
class Outcome(Generic[T]):
    """What came of one device: a value, or why there is none."""

    device: Device
    value: T | None = None
    error: QuadraError | None = None


def each(devices: Sequence[Device], work: Callable[[Device, Show], T], title: str) -> list[Outcome[T]]:
    """Does `work` on all devices at the same time. One device's error does not stop the others; on one that is unusable
    nothing is done.

    Errors that are no QuadraError end the work everywhere and are raised.
    """
    outcomes: list[Outcome[T]] = [Outcome(device, error=device.unusable) for device in devices]
    unexpected: list[BaseException] = []

    stopping = threading.Event()

    def one(outcome: Outcome[T], show: Show, ended: threading.Event) -> None:
        try:
            if not stopping.is_set() and not outcome.error:
                outcome.value = work(outcome.device, show)
        except QuadraError as error:
            outcome.error = error
        except BaseException as error:
            unexpected.append(error)
            for device in devices:
                device.stop()
        finally:
            ended.set()

    with _bars(devices, title) as shows:
        # Not Thread.join: after a Ctrl-C in it Python takes a thread that still works for one that has ended.
        ends = [threading.Event() for _ in devices]
        threads = [
            threading.Thread(target=one, args=words, daemon=True, name=words[0].device.serial)
            for words in zip(outcomes, shows, ends, strict=True)
        ]
        try:
            for thread in threads:
                thread.start()
            for ended in ends:
                while not ended.wait(0.2):
                    pass
        except BaseException:
            stopping.set()
            for device in devices:
                device.stop()
            until = Deadline(_CLEANING_S)
            for thread, ended in zip(threads, ends, strict=True):
                if thread.ident is not None:  # else it has not begun, and will not
                    ended.wait(until.left())
            raise
    if unexpected:
        raise unexpected[0]
    return outcomes


def check(outcomes: Sequence[Outcome[T]]) -> None:
    """Raises the worst error, if there is one. Of several devices it prints what became of those that have one."""
    errors = [(outcome.device.serial, outcome.error) for outcome in outcomes if outcome.error]
    for serial, error in errors if len(outcomes) > 1 else ():
        print(line(serial, error))
    if found := worst(error for _, error in errors):
        raise found


@contextmanager
def _bars(devices: Sequence[Device], title: str) -> Iterator[list[Show]]:
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.fields[serial]}"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    if not console.is_terminal:
        with progress.lines(title) as say:

            def sayer(serial: str) -> Show:
                def show(what: str, done: int = 0, total: int = 0) -> None:
                    say(f"{serial}: {what}")

                return show

            yield [sayer(one.serial) for one in devices]
        return
    with progress.alone(), Progress(*columns, console=console, transient=True) as bars:

        def shower(row: TaskID) -> Show:
            def show(what: str, done: int = 0, total: int = 0) -> None:
                bars.update(row, description=escape(what[:70]), completed=done, total=total or None)

            return show

        yield [shower(bars.add_task(escape(title), total=None, serial=escape(d.serial))) for d in devices]
