"""A session of regression runs that was cut off goes on: launches that its history has are not run again."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from host_tools.base import digests, portable
from host_tools.base.errors import Misuse
from host_tools.judge.regression import cell_verdicts
from host_tools.judge.regression.cell_verdicts import Case
from host_tools.judge.regression.history import History
from host_tools.judge.regression.suite import Cell, Suite
from host_tools.measure import resumed_folder
from host_tools.places.place import Place

_LOCK = ".lock"


@dataclass
class Earlier:
    """A session as it was left. number: in the history; kept: cells that need no device any more."""

    folder: Path
    number: int
    started: float
    cases: dict[tuple[str, str], Case] = field(default_factory=dict)  # by key and device
    kept: list[Case] = field(default_factory=list)

    @property
    def launches(self) -> int:
        """How many have figures."""
        return sum(len(case.good) for case in self.cases.values())

    def case(self, cell: Cell, device: str) -> Case | None:
        return self.cases.get((cell.key, device))

    def devices(self, cell: Cell) -> list[str]:
        """Where the cell was begun: where it has launches, otherwise where its first one may have been at work."""
        found = [case for case in self.cases.values() if case.key == cell.key]
        return [case.device for case in found if case.good] or [case.device for case in found if not case.launches]

    def check(self, places: Sequence[Place]) -> None:
        """Misuse where the delegate is another than that of the launches that there are. Launches of a device that is
        away count where one of these places has their delegate."""
        now = {place.name: digests.sha256_of(place.delegate()) for place in places}
        for case in list(self.cases.values()):
            own = now.get(case.device)
            if own and case.library and own != case.library:
                do_next = "build what ran then, or start anew: omit --resume"
                raise Misuse(f"go on with {self.folder.name}", "the delegate is another one than then", do_next)
            if not own and case.library not in now.values():
                del self.cases[case.key, case.device]

    def keep_done(self, suite: Suite, devices: Sequence[str], full: bool, one_each: bool) -> list[Cell]:
        """Keeps the cells that a device has finished, also those that lack only the second look of a device that is away;
        returns the others. one_each: of several devices only the one with most launches, as in a lab."""
        left = []
        for cell in suite.cells:
            found = [case for case in self.cases.values() if case.key == cell.key]
            done = [case for case in found if _done(case, suite, full, case.device in devices)]
            done.sort(key=lambda case: len(case.good), reverse=True)
            self.kept += done[:1] if one_each else done
            left += [] if done else [cell]
        return left


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Misuse where another process runs this session."""
    with open(folder / _LOCK, "wb") as held:
        free = True
        with contextlib.suppress(OSError):  # a file system without locks
            free = portable.lock(held.fileno())
        if not free:
            do_next = "wait for it, or stop it there"
            raise Misuse(f"go on with {folder.name}", "another process runs this session", do_next)
        yield


def find(name: str, suite: Suite, history: History) -> Earlier:
    """The session that `name` means, as earlier_folder reads it. Misuse where there is none, or its suite was another."""
    folder = resumed_folder.of(name, "the session", "regress")
    tried = f"go on with the session {folder.name}"
    begun = history.begun(folder)
    if begun is None:
        raise Misuse(tried, f"the history {history.path} does not have it", "set QUADRA_HISTORY to its file")
    number, was, started = begun
    rows = history.cells(number)
    strange = sorted({key for _, key, _ in rows} - {cell.key for cell in suite.cells})
    if was != suite.name or strange:
        came_back = f"it ran the suite {was}" + (f" with {strange[0]}, which is not in it now" if strange else "")
        raise Misuse(tried, came_back, "give the suite as it was, or start anew: omit --resume")
    earlier = Earlier(folder, number, started)
    for row, key, device in rows:
        stored = history.stored(row)
        earlier.cases[key, device] = Case(key, device, row, list(stored.launches), stored.conditions, stored.library)
    return earlier


def _done(case: Case, suite: Suite, full: bool, there: bool) -> bool:
    """Whether all launches of the cell are there; of one whose device is away those of the first look."""
    numbers = {launch.number for launch in case.good}
    first = suite.launches + (suite.more if full else 0)
    if not numbers >= set(range(first)):
        return False
    if full or not suite.more or not there or numbers >= set(range(first + suite.more)):
        return True
    return not cell_verdicts.suspicious(cell_verdicts.examine(case, suite))
