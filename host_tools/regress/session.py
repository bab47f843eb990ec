"""Runs a suite: every device in a thread of its own, cells in turns, launch after launch; keeps each as it ends.

Cells take turns, so that what happens to a machine during a session happens to all of them. A cell that looks
suspicious is launched more often. What fails is neither good nor bad: it is retried where its error says that this may
help, and the reason stays with the cell.
"""

import ctypes
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence

from host_tools import peers, report, settings, trace
from host_tools.device import interrupt
from host_tools.errors import DeviceError, Misuse, QuadraError, RunFailed
from host_tools.regress import judge, launch as launches
from host_tools.regress.history import BROKEN, COMPLETE, INTERRUPTED, History
from host_tools.regress.judge import Case
from host_tools.regress.suite import Cell, Suite
from host_tools.regress.where import Where

_TRIES = 3  # of a launch whose error says that the same may succeed a moment later
_STOPPING_S = 20.0
Show = Callable[[str], None]


@dataclass
class Session:
    """One run of a suite, and what it found."""

    suite: Suite
    folder: Path
    number: int
    baseline: str = ""
    state: str = COMPLETE
    started: float = field(default_factory=time.time)
    ended: float = 0.0
    cases: List[Case] = field(default_factory=list)
    saved: str = ""  # what became of --save, as a sentence

    def of(self, verdict: str) -> List[Case]:
        return [case for case in self.cases if case.verdict == verdict]

    @property
    def broken(self) -> List[Case]:
        return [case for case in self.cases if case.error]


class _Stopped(Exception):
    """Raised in a lane between two launches."""


def run(
    suite: Suite,
    wheres: Sequence[Where],
    library: Optional[Path],
    history: History,
    baseline: str,
    full: bool,
    show: Show,
) -> Session:
    """Runs all cells on all devices. Ctrl-C ends it early: then its state says so, and it holds what there was.

    full: all launches that a suspicious cell gets, at once, for a baseline.
    """
    for where in wheres:
        where.prepare(library, peers.needs_shipped(suite.peers))
    folder = _new_folder()
    session = Session(suite, folder, history.begin(suite.name, folder), baseline)
    lines: Dict[str, str] = {}

    def shower(name: str) -> Show:
        def line(text: str) -> None:
            lines[name] = f"{name}: {text.split(' ')[0]}" if len(wheres) > 1 else text
            show(", ".join(lines.values()))

        return line

    alone = len(wheres) == 1
    folders = [folder if alone else settings.make_folder(folder / w.folder, "QUADRA_RUNS_DIR") for w in wheres]
    lanes = [_Lane(session, w, f, history, full, shower(w.name)) for w, f in zip(wheres, folders)]
    session.cases = [case for lane in lanes for case in lane.cases.values()]
    try:
        with interrupt.once():  # SIGTERM, too
            _run_all(lanes)
    except KeyboardInterrupt:
        session.state = INTERRUPTED
    except BaseException:
        history.end(session.number, BROKEN)
        raise
    for case in session.cases:
        case.findings = judge.examine(case, suite)
    judge.decide(session.cases, suite)
    session.ended = time.time()
    history.end(session.number, session.state)
    return session


def _new_folder() -> Path:
    runs = settings.make_folder(settings.read().runs_dir, "QUADRA_RUNS_DIR")
    while True:
        now = time.time()
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
        folder = runs / f"regress-{stamp}-{int(now * 1000) % 1000:03d}"
        if not folder.exists():
            return settings.make_folder(folder, "QUADRA_RUNS_DIR")
        time.sleep(0.002)


def _run_all(lanes: Sequence["_Lane"]) -> None:
    """One lane in this thread; several side by side. The first error that is no QuadraError ends all."""
    if len(lanes) == 1:
        lanes[0].work()
        return
    unexpected: List[BaseException] = []

    def body(lane: "_Lane") -> None:
        try:
            lane.work()
        except (KeyboardInterrupt, _Stopped):
            pass
        except BaseException as error:
            unexpected.append(error)
            for other in lanes:
                other.stop()

    threads = [threading.Thread(target=body, args=(lane,), daemon=True, name=lane.where.name) for lane in lanes]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
    except BaseException:
        for lane, thread in zip(lanes, threads):
            lane.stop()
            if lane.where.device is None:
                _interrupt(thread)
        end = time.monotonic() + _STOPPING_S
        for thread in threads:
            thread.join(max(0.1, end - time.monotonic()))
        raise
    if unexpected:
        raise unexpected[0]


def _interrupt(thread: threading.Thread) -> None:
    """Ctrl-C for a thread that waits for a process: only the main thread gets the real one."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt))


class _Lane:
    """All cells on one device."""

    def __init__(
        self, session: Session, where: Where, folder: Path, history: History, full: bool, show: Show
    ) -> None:
        self.session, self.where, self.folder, self.history, self.show = session, where, folder, history, show
        self.suite, self.full, self.stopped = session.suite, full, threading.Event()
        self.cases: Dict[Cell, Case] = {cell: Case(cell.key, where.name) for cell in self.suite.cells}
        self.done, self.all = 0, len(self.cases) * (self.suite.launches + (self.suite.more if full else 0))

    def stop(self) -> None:
        self.stopped.set()
        self.where.stop()

    def work(self) -> None:
        for case in self.cases.values():
            case.row = self.history.cell(self.session.number, case.key, case.device)
        first = self.suite.launches + (self.suite.more if self.full else 0)
        self._rounds(list(self.cases), range(first))
        if self.full or not self.suite.more:
            return
        for case in self.cases.values():
            case.findings = judge.examine(case, self.suite)
        again = [cell for cell, case in self.cases.items() if not case.error and judge.suspicious(case.findings)]
        self.all += len(again) * self.suite.more
        self._rounds(again, range(first, first + self.suite.more))

    def _rounds(self, cells: Sequence[Cell], numbers: Sequence[int]) -> None:
        for number in numbers:
            for cell in cells:
                if not self.cases[cell].error:
                    self._launch(cell, self.cases[cell], number)
                self.done += 1

    def _launch(self, cell: Cell, case: Case, number: int) -> None:
        """One launch, and its retries."""
        for attempt in range(1, _TRIES + 1):
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
                if not getattr(error, "retry", False) or attempt == _TRIES:
                    case.error, case.exit_code = case.launches[-1].error, error.exit_code
                    self._give_up(error, case)
                    return
                time.sleep(attempt)
            except KeyboardInterrupt as error:
                self._keep(case, launches.failed(number, at, error, launches.INTERRUPTED))
                raise

    def _take(self, cell: Cell, case: Case, number: int, at: float) -> None:
        head = f"{self.done + 1}/{self.all} {cell.key}"
        spec = cell.spec(self.suite, self.where.place, self.where.serial, self.suite.profile and not number)
        folder = self.where.run(spec, lambda text: self.show(f"{head}, {text}"), self.folder)
        try:
            found, conditions = launches.of_folder(number, at, folder)
            trace.write(folder)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            reason = f"what it left has not the form that it must have: {type(error).__name__} {error}"
            raise RunFailed(f"read the run {folder.path.name}", reason, f"kept: {folder.path}") from error
        asked = spec.options.get("backend", "auto")
        if asked != "auto" and found.facts["backend"] == "none":
            reason = "; ".join(found.facts["notes"]) or "no GPU API works here"
            raise Misuse(f"run {cell.key}", reason, "`./inv doctor` says what to install")
        if not case.conditions:
            case.conditions, case.library = conditions, launches.library_of(folder)
            self._look_up(case)
        elif judge.unlike(case.conditions, conditions):
            reason = f"the conditions changed in between: {judge.unlike(case.conditions, conditions)}"
            raise RunFailed(f"run {cell.key}", reason, "leave the device alone while it measures")
        self._keep(case, found)
        if number:
            launches.slim(folder)
        else:
            report.write(folder)

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

    def _give_up(self, error: QuadraError, case: Case) -> None:
        """A device that is gone takes the rest of its cells with it."""
        if isinstance(error, DeviceError) and 81 <= error.exit_code <= 85:
            for other in self.cases.values():
                if not other.error:
                    other.error, other.exit_code = case.error, case.exit_code
