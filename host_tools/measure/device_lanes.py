"""Devices side by side, each in a thread of its own, for suites and benches: they take what deal.py deals, try again where
that may help, and end at Ctrl-C."""

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic

from host_tools.base.errors import DeviceError, LabUnreachable, QuadraError
from host_tools.measure.cell_queue import Cell, Deal
from host_tools.places.place import Place, Show

_STOPPING_S = 20.0


class Stopped(Exception):
    """Raised in a lane between two runs."""


class Lane(Generic[Cell]):
    """What one device does."""

    def __init__(self, place: Place, deal: Deal[Cell]) -> None:
        self.place, self.deal = place, deal
        self.stopped, self.ended = threading.Event(), threading.Event()

    def run(self, cells: Sequence[Cell]) -> None:
        """Does these cells, as far as they stay with this device."""
        raise NotImplementedError

    def work(self) -> None:
        while cells := self.deal.take(self.place.name, self.stopped):
            self.run(cells)

    def stop(self) -> bool:
        self.stopped.set()
        return self.place.stop()

    def attempt(
        self, once: Callable[[float], None], failed: Callable[[float, BaseException, bool], None]
    ) -> QuadraError | None:
        """Calls `once` until it ends well, as often as the deal allows. None: it did; otherwise its last error.

        once: gets the time. failed: told of each error, with the time and whether the lane was stopped.
        """
        for number in range(1, self.deal.tries + 1):
            if self.stopped.is_set():
                raise Stopped
            at = time.time()
            try:
                once(at)
                return None
            except QuadraError as error:
                failed(at, error, self.stopped.is_set())
                if self.stopped.is_set():
                    raise Stopped from error
                if number == self.deal.tries or not self._may_help(error):
                    return error
                time.sleep(number)
            except KeyboardInterrupt as error:
                failed(at, error, True)
                raise
        raise AssertionError("a deal allows one try at least")

    def hand_back(self, error: QuadraError, cell: Cell, reason: str, unfinished: Sequence[Cell]) -> bool:
        """Whether other devices do the unfinished cells of this one, which has failed one of them."""
        return self.deal.failed(self.place.name, cell, reason, unfinished, is_lost(error))

    def _may_help(self, error: QuadraError) -> bool:
        """Whether to try again. A scheduler was waited for already."""
        return (self.deal.any_error or getattr(error, "retry", False)) and not isinstance(error, LabUnreachable)


def shows(show: Show, names: Sequence[str]) -> list[Show]:
    """A Show for each lane; of several, all stand in one line."""
    if len(names) == 1:
        return [show]
    lines: dict[str, str] = {}

    def shower(name: str) -> Show:
        def line(text: str) -> None:
            lines[name] = f"{name}: {text.split(' ')[0]}"
            show(", ".join(lines.values()))

        return line

    return [shower(name) for name in names]


def is_lost(error: QuadraError) -> bool:
    """Whether the device is away, and what it has not done with it."""
    return isinstance(error, LabUnreachable) or (isinstance(error, DeviceError) and 81 <= error.exit_code <= 85)


def run_all(lanes: Sequence[Lane[Cell]]) -> None:
    """One lane in this thread; several side by side. The first error that is no QuadraError ends all."""
    if len(lanes) == 1:
        lanes[0].work()
        return
    unexpected: list[BaseException] = []

    def body(lane: Lane[Cell]) -> None:
        try:
            lane.work()
        except (KeyboardInterrupt, Stopped):
            pass
        except BaseException as error:
            unexpected.append(error)
            for other in lanes:
                other.stop()
        finally:
            lane.ended.set()

    # Waits for events: Ctrl-C in Thread.join makes Python 3.11 take the thread for one that has ended.
    threads = [threading.Thread(target=body, args=(lane,), daemon=True, name=lane.place.name) for lane in lanes]
    for thread in threads:
        thread.start()
    try:
        for lane in lanes:
            while not lane.ended.wait(0.2):
                pass
    except BaseException:
        for lane, thread in zip(lanes, threads):
            if not lane.stop():
                _interrupt(thread)
        end = time.monotonic() + _STOPPING_S
        for lane in lanes:
            lane.ended.wait(max(0.1, end - time.monotonic()))
        raise
    if unexpected:
        raise unexpected[0]


def _interrupt(thread: threading.Thread) -> None:
    """Ctrl-C for a thread that waits for a process: only the main thread gets the real one."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt))
