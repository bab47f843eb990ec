"""Which device gets which cells of a suite or a bench: each of them all, or, in a lab, each cell one device.

Devices of a lab take a few cells at a time, fewer towards the end, so that all end together. All launches of a cell are
those of one device: launches of two are never pooled. A device that is lost, or that fails a cell twice, is set aside
and its unfinished cells go to others. One that comes back gets other cells. A cell that two devices failed is itself at
fault: then the first one goes on.
"""

import math
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Generic, Protocol, TypeVar

_WAKE_S = 0.5


class Item(Protocol):
    """What is dealt. It can be hashed."""

    @property
    def key(self) -> str:
        """Its name."""


Cell = TypeVar("Cell", bound=Item)


class Deal(Protocol[Cell]):
    """Where lanes take their cells from."""

    tries: int  # of a launch
    any_error: bool  # whether every error is tried again, or only those that say that this may help

    def take(self, device: str, stopped: threading.Event) -> list[Cell]:
        """More cells for a device, which is done with those that it had; empty: there are none."""

    def failed(self, device: str, cell: Cell, reason: str, unfinished: Sequence[Cell], lost: bool) -> bool:
        """Whether others run the unfinished cells of the device, which has failed one of them."""

    def leave(self, device: str, reason: str) -> list[Cell]:
        """The cells that nobody runs because the device cannot be used."""


class All(Generic[Cell]):
    """Every device gets all cells, once."""

    tries, any_error = 3, False

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells, self._had = list(cells), set[str]()

    def take(self, device: str, stopped: threading.Event) -> list[Cell]:
        if device in self._had:
            return []
        self._had.add(device)
        return list(self._cells)

    def failed(self, device: str, cell: Cell, reason: str, unfinished: Sequence[Cell], lost: bool) -> bool:
        return False

    def leave(self, device: str, reason: str) -> list[Cell]:
        return list(self._cells)


class Shared(Generic[Cell]):
    """Every cell goes to one device. notes: what happened to devices, as sentences.

    there: whether a device that was lost is there again. wanted: the devices that should get a cell if they are there:
    those that it can be compared on.
    """

    tries, any_error = 2, True

    def __init__(
        self,
        cells: Sequence[Cell],
        devices: Sequence[str],
        there: Callable[[str], bool],
        wanted: Callable[[Cell], Collection[str]] = lambda cell: (),
    ) -> None:
        self._there = there
        self.notes: list[str] = []
        self._waiting, self._wanted = list(cells), {cell: set(wanted(cell)) for cell in cells}
        self._hands: dict[str, list[Cell]] = {device: [] for device in devices}
        self._aside: dict[str, Cell | None] = {}  # None: lost
        self._gave_back: dict[str, set[Cell]] = {device: set() for device in devices}
        self._failed: dict[Cell, list[str]] = {}
        self._change = threading.Condition()

    def take(self, device: str, stopped: threading.Event) -> list[Cell]:
        with self._change:
            self._hands[device] = []
            self._change.notify_all()
        while not stopped.is_set():
            back = self._aside.get(device, ...) is None and self._there(device)
            with self._change:
                if back:
                    del self._aside[device]
                    self.notes.append(f"{device} is back")
                found = self._fitting(device)
                if found:
                    self._hands[device] = found
                    self._waiting = [cell for cell in self._waiting if cell not in found]
                    return found
                if not any(self._hands.values()):
                    return []
                self._change.wait(_WAKE_S)  # what others have in hand may come back
        return []

    def failed(self, device: str, cell: Cell, reason: str, unfinished: Sequence[Cell], lost: bool) -> bool:
        with self._change:
            if not lost:
                self._failed.setdefault(cell, []).append(device)
            failed_on = self._failed.get(cell, [])
            others = [
                one for one in self._hands if one != device and one not in self._aside and self._may(one, unfinished)
            ]
            if not lost and len(failed_on) > 1:
                self._acquit(cell)
                return False
            if not others:
                return False
            self._aside[device] = None if lost else cell
            self._gave_back[device].add(cell)
            self._waiting += unfinished
            self._hands[device] = []
            reason = reason.removeprefix(f"use {device}: ")
            kinds = "cell" if len(unfinished) == 1 else "cells"
            what = "is lost" if lost else f"is set aside: it failed {cell.key} twice"
            self.notes.append(
                f"{device} {what}: {reason}; its {len(unfinished)} unfinished {kinds} may go to other devices"
            )
            self._change.notify_all()
            return True

    def leave(self, device: str, reason: str) -> list[Cell]:
        self.notes.append(f"{device} is not used: {reason}")
        return []

    def left(self) -> list[Cell]:
        """Cells that no device took."""
        return list(self._waiting)

    def _may(self, device: str, cells: Sequence[Cell]) -> bool:
        """Whether the device may run one of them."""
        return any(cell not in self._gave_back[device] for cell in cells)

    def _acquit(self, cell: Cell) -> None:
        """A second device failed the cell: the first one gets cells again."""
        for one in [device for device, blamed in self._aside.items() if blamed == cell]:
            del self._aside[one]
            self.notes.append(f"{one} goes on: another device failed {cell.key}, too")
        self._change.notify_all()

    def _fitting(self, device: str) -> list[Cell]:
        if device in self._aside:
            return []
        there = {one for one in self._hands if one not in self._aside}
        fit = [
            cell
            for cell in self._waiting
            if cell not in self._gave_back[device] and (device in self._wanted[cell] or not self._wanted[cell] & there)
        ]
        fit.sort(key=lambda cell: device not in self._wanted[cell])
        return fit[: math.ceil(len(self._waiting) / (2 * max(1, len(there))))]
