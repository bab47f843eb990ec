"""Runs a suite: every device in a thread of its own, cells interleaved, launch after launch; keeps each as it ends.
regress_deal.py says which device gets which cells.

Cells take turns, so that what happens to a machine during a session happens to all of them. A cell that looks
suspicious is launched more often. What fails is neither good nor bad: it is retried where its error says that this may
help, and the reason stays with the cell.
"""

import ctypes
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from host_tools.base import interrupt, settings
from host_tools.base.errors import DeviceError, LabUnreachable, Misuse, QuadraError, RunFailed
from host_tools.judge import judged
from host_tools.judge.regression import cell_verdicts, launch as launches
from host_tools.judge.regression.cell_verdicts import Case
from host_tools.judge.regression.history import BROKEN, INTERRUPTED, History
from host_tools.judge.regression.session import Session
from host_tools.judge.regression.suite import Cell, Suite
from host_tools.places.place import Place, Show
from host_tools.show import perfetto_trace, report
from host_tools.tasks import regress_cells
from host_tools.tasks.regress_deal import All, Deal, Shared

_STOPPING_S = 20.0


class _Stopped(Exception):
    """Raised in a lane between two launches."""


def run(
    suite: Suite,
    places: Sequence[Place],
    history: History,
    baseline: str,
    full: bool,
    show: Show,
    there: Callable[[str], bool] | None = None,
) -> Session:
    """Runs all cells on all devices. Ctrl-C ends it early: then its state says so, and it holds what there was.

    full: all launches that a suspicious cell gets, at once, for a baseline. there: these are devices of a
    lab, of which each cell gets one; it says whether one is there.
    """
    for place in places:
        place.prepare(suite.peers)
    folder = _new_folder()
    session = Session(suite, folder, history.begin(suite.name, folder), baseline)
    lines: dict[str, str] = {}

    def shower(name: str) -> Show:
        def line(text: str) -> None:
            lines[name] = f"{name}: {text.split(' ')[0]}" if len(places) > 1 else text
            show(", ".join(lines.values()))

        return line

    alone = len(places) == 1
    folders = [
        folder if alone else settings.make_folder(folder / _file_name(place), "QUADRA_RUNS_DIR") for place in places
    ]
    deal: Deal = _shared(suite, places, history, baseline, there) if there else All(suite.cells)
    lanes = [_Lane(session, place, f, history, full, shower(place.name), deal) for place, f in zip(places, folders)]
    try:
        with interrupt.once():  # SIGTERM, too
            _run_all(lanes)
    except KeyboardInterrupt:
        session.state = INTERRUPTED
    except BaseException:
        history.end(session.number, BROKEN)
        raise
    session.cases = [case for lane in lanes for case in lane.cases.values()]
    if isinstance(deal, Shared):
        _tell(session, deal, history)
    for case in session.cases:
        case.findings = cell_verdicts.examine(case, suite)
    cell_verdicts.decide(session.cases, suite)
    session.ended = time.time()
    history.end(session.number, session.state)
    return session


def _shared(
    suite: Suite, places: Sequence[Place], history: History, baseline: str, there: Callable[[str], bool]
) -> Shared:
    names = [place.name for place in places]
    return Shared(suite.cells, names, there, lambda cell: history.devices(baseline, cell.key) if baseline else ())


def _tell(session: Session, deal: Shared, history: History) -> None:
    """The cells in the suite's order; one that no device ran says so."""
    session.notes = deal.notes
    for cell in deal.left():
        case = Case(cell.key, "no device", history.cell(session.number, cell.key, "no device"))
        case.error, case.exit_code = "; ".join(deal.notes) or "the session ended before", DeviceError.exit_code
        session.cases.append(case)
    order = [cell.key for cell in session.suite.cells]
    session.cases.sort(key=lambda case: order.index(case.key))


def _new_folder() -> Path:
    runs = settings.make_folder(settings.read().runs_dir, "QUADRA_RUNS_DIR")
    while True:
        now = time.time()
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
        folder = runs / f"regress-{stamp}-{int(now * 1000) % 1000:03d}"
        if not folder.exists():
            return settings.make_folder(folder, "QUADRA_RUNS_DIR")
        time.sleep(0.002)


def _file_name(place: Place) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", place.name).strip("-") or "device"


def _run_all(lanes: Sequence["_Lane"]) -> None:
    """One lane in this thread; several side by side. The first error that is no QuadraError ends all."""
    if len(lanes) == 1:
        lanes[0].work()
        return
    unexpected: list[BaseException] = []

    def body(lane: "_Lane") -> None:
        try:
            lane.work()
        except (KeyboardInterrupt, _Stopped):
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


class _Lane:
    """The cells of one device."""

    def __init__(
        self, session: Session, place: Place, folder: Path, history: History, full: bool, show: Show, deal: Deal
    ) -> None:
        self.session, self.place, self.folder, self.history, self.show = session, place, folder, history, show
        self.suite, self.full, self.deal, self.stopped = session.suite, full, deal, threading.Event()
        self.ended = threading.Event()
        self.cases: dict[Cell, Case] = {}
        self.done = self.all = 0

    def stop(self) -> bool:
        self.stopped.set()
        return self.place.stop()

    def work(self) -> None:
        while cells := self.deal.take(self.place.name, self.stopped):
            self._run(cells)

    def _run(self, cells: Sequence[Cell]) -> None:
        """All launches of these cells, as far as they stay with this device."""
        cases = {cell: Case(cell.key, self.place.name) for cell in cells}
        self.cases |= cases
        for case in cases.values():
            case.row = self.history.cell(self.session.number, case.key, case.device)
        first = self.suite.launches + (self.suite.more if self.full else 0)
        self.all += len(cells) * first
        self._rounds(cells, range(first))
        if self.full or not self.suite.more:
            return
        kept = {cell: case for cell, case in cases.items() if cell in self.cases}
        for case in kept.values():
            case.findings = cell_verdicts.examine(case, self.suite)
        again = [cell for cell, case in kept.items() if not case.error and cell_verdicts.suspicious(case.findings)]
        self.all += len(again) * self.suite.more
        self._rounds(again, range(first, first + self.suite.more))

    def _rounds(self, cells: Sequence[Cell], numbers: Sequence[int]) -> None:
        for number in numbers:
            for cell in cells:
                case = self.cases.get(cell)
                if case and not case.error:
                    self._launch(cell, case, number, cells)
                self.done += 1

    def _launch(self, cell: Cell, case: Case, number: int, cells: Sequence[Cell]) -> None:
        """One launch, and its retries. cells: those that are not finished yet."""
        for attempt in range(1, self.deal.tries + 1):
            if self.stopped.is_set():
                raise _Stopped
            at = time.time()
            try:
                self._take(cell, case, number, at)
                return
            except QuadraError as error:
                if self.stopped.is_set():
                    self._keep(case, launches.failed(number, at, error, launches.INTERRUPTED))
                    raise _Stopped from error
                self._keep(case, launches.failed(number, at, error))
                again = (self.deal.any_error or getattr(error, "retry", False)) and not isinstance(
                    error, LabUnreachable
                )
                if not again or attempt == self.deal.tries:
                    case.error, case.exit_code = case.launches[-1].error, error.exit_code
                    self._give_up(error, cell, case, cells)
                    return
                time.sleep(attempt)
            except KeyboardInterrupt as error:
                self._keep(case, launches.failed(number, at, error, launches.INTERRUPTED))
                raise

    def _take(self, cell: Cell, case: Case, number: int, at: float) -> None:
        head = f"{self.done + 1}/{self.all} {cell.key}"
        spec = regress_cells.spec_of(cell, self.suite, self.place, self.suite.profile and not number)
        folder = self.place.run(spec, lambda text: self.show(f"{head}, {text}"), self.folder)
        try:
            judgement = judged.judge(folder)
            found, conditions = launches.of_run(number, at, judgement)
            perfetto_trace.write(folder)
        except Misuse as error:  # of who reads a folder; here it is the run's own failure
            reason = f"what it left is malformed: {error.tried}: {error.came_back}"
            failed = RunFailed(f"read the run {folder.path.name}", reason, "run it again")
            failed.kept = folder.path
            raise failed from error
        asked = spec.options.get("backend", "auto")
        if asked != "auto" and found.facts["backend"] == "none":
            reason = "; ".join(found.facts["notes"]) or "no GPU API works here"
            raise Misuse(f"run {cell.key}", reason, "`./inv doctor` says what to install")
        if not case.conditions:
            case.conditions, case.library = conditions, launches.library_of(folder)
            self._look_up(case)
        elif cell_verdicts.unlike(case.conditions, conditions):
            reason = f"the conditions changed in between: {cell_verdicts.unlike(case.conditions, conditions)}"
            raise RunFailed(f"run {cell.key}", reason, "leave the device alone while it measures")
        self._keep(case, found)
        if number:
            launches.slim(folder)
        else:
            report.write(judgement)

    def _look_up(self, case: Case) -> None:
        """The cell's place in the history, and what it is compared with."""
        key, device, session = case.key, case.device, self.session
        self.history.describe(case.row, case.library, case.conditions)
        case.past = self.history.past(key, device, session.number)
        if session.baseline:
            case.baseline = self.history.baseline(session.baseline, key, device)
            others = self.history.devices(session.baseline, key)
            if not case.baseline and others:
                case.missing = f"the baseline {session.baseline} has it on {', '.join(others)} only"
            elif not case.baseline:
                case.missing = f"the baseline {session.baseline} has no such cell"

    def _keep(self, case: Case, launch: launches.Launch) -> None:
        if launch.folder:
            launch.folder = str((self.folder / launch.folder).relative_to(self.session.folder))
        case.launches.append(launch)
        self.history.add(case.row, launch)

    def _give_up(self, error: QuadraError, cell: Cell, case: Case, cells: Sequence[Cell]) -> None:
        """A device that is gone takes the rest of its cells with it, unless others run them."""
        lost = isinstance(error, LabUnreachable) or (isinstance(error, DeviceError) and 81 <= error.exit_code <= 85)
        unfinished = [one for one in cells if one == cell or (one in self.cases and not self.cases[one].error)]
        if self.deal.failed(self.place.name, cell, case.error, unfinished, lost):
            for one in unfinished:
                del self.cases[one]
        elif lost:
            for one in unfinished:
                self.cases[one].error, self.cases[one].exit_code = case.error, case.exit_code
