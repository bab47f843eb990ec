"""Runs a suite: every device in a lane of its own, cells interleaved, launch after launch; keeps each as it ends.
deal.py says which device gets which cells, regress_resume.py what an earlier session has done of it.

Cells take turns, so that what happens to a machine during a session happens to all of them. A cell that looks
suspicious is launched more often. What fails is neither good nor bad: it is retried where its error says that this may
help, and the reason stays with the cell.
"""

import math
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from host_tools.base import interrupt, settings
from host_tools.base.errors import DeviceError, Misuse, QuadraError, RunFailed
from host_tools.judge import judged
from host_tools.judge.regression import cell_verdicts, launch as launches
from host_tools.judge.regression.cell_verdicts import Case
from host_tools.judge.regression.history import BROKEN, INTERRUPTED, History
from host_tools.judge.regression.session import Session
from host_tools.judge.regression.suite import Cell, Suite
from host_tools.measure import device_lanes, regress_cells
from host_tools.measure.cell_queue import All, Deal, Shared
from host_tools.measure.lab_places import There
from host_tools.measure.regress_resume import Earlier, alone, find
from host_tools.places.place import Place, Show, some_ready
from host_tools.record import run_names
from host_tools.show import perfetto_trace, report


def run(
    suite: Suite,
    places: Sequence[Place],
    history: History,
    baseline: str,
    full: bool,
    show: Show,
    there: There | None = None,
    earlier: Earlier | None = None,
) -> Session:
    """Runs all cells on all devices that can be used; those of the others say why they did not run. Ctrl-C ends it early: then
    its state says so, and it holds what there was.

    full: all launches that a suspicious cell gets, at once, for a baseline. there: these are devices of a
    lab, of which each cell gets one; it says whether one is there. earlier: the session that goes on.
    """
    failed = some_ready(places, suite.peers)
    folder = earlier.folder if earlier else _new_folder(suite.name)
    with alone(folder):
        if earlier:
            earlier = find(str(folder), suite, history)  # another process may have gone on with it until now
            earlier.check([place for place in places if place.name not in failed])
            history.go_on(earlier.number)
        earlier = earlier or Earlier(folder, history.begin(suite.name, folder), time.time())
        session = Session(suite, folder, earlier.number, baseline, started=earlier.started)
        _run(session, places, failed, history, full, show, there, earlier)
    for case in session.cases:
        case.findings = cell_verdicts.examine(case, suite)
    cell_verdicts.decide(session.cases, suite)
    session.ended = time.time()
    history.end(session.number, session.state)
    return session


def _run(
    session: Session,
    places: Sequence[Place],
    failed: Mapping[str, QuadraError],
    history: History,
    full: bool,
    show: Show,
    there: There | None,
    earlier: Earlier,
) -> None:
    """Fills the session's cases, state and notes."""
    for case in earlier.cases.values():
        _look_up(case, session, history)
    deal = _deal(session, [place for place in places if place.name not in failed], history, there, earlier, full)
    working = _lanes(session, places, history, full, show, deal, earlier)
    for lane in working:
        if lane.place.name in failed:
            lane.leave(failed[lane.place.name])
    try:
        with interrupt.once():  # SIGTERM, too
            device_lanes.run_all([lane for lane in working if lane.place.name not in failed])
    except KeyboardInterrupt:
        session.state = INTERRUPTED
    except BaseException:
        history.end(session.number, BROKEN)
        raise
    done = [case for lane in working for case in lane.cases.values()]
    session.cases = list({(case.key, case.device): case for case in [*earlier.kept, *done]}.values())
    if isinstance(deal, Shared):
        _tell(session, deal, history)


def _deal(
    session: Session, places: Sequence[Place], history: History, there: There | None, earlier: Earlier, full: bool
) -> Deal[Cell]:
    names = [place.name for place in places]
    left = earlier.keep_done(session.suite, names, full, bool(there))
    if not there:
        return All(session.suite.cells)

    def wanted(cell: Cell) -> list[str]:
        """Where it was begun; otherwise where it can be compared."""
        return earlier.devices(cell) or (history.devices(session.baseline, cell.key) if session.baseline else [])

    return Shared(left, names, there, wanted)


def _lanes(
    session: Session,
    places: Sequence[Place],
    history: History,
    full: bool,
    show: Show,
    deal: Deal[Cell],
    earlier: Earlier,
) -> list["_Lane"]:
    folder = session.folder
    folders = [folder] if len(places) == 1 else [folder / _file_name(place) for place in places]
    shows = device_lanes.shows(show, [place.name for place in places])
    made = []
    for place, own, line in zip(places, folders, shows):
        settings.make_folder(own, "QUADRA_RUNS_DIR")
        made.append(_Lane(session, place, own, history, full, line, deal, earlier))
    return made


def _tell(session: Session, deal: Shared[Cell], history: History) -> None:
    """The cells in the suite's order; one that no device ran says so."""
    session.notes += deal.notes
    for cell in deal.left():
        case = Case(cell.key, "no device", history.cell(session.number, cell.key, "no device"))
        case.error, case.exit_code = "; ".join(deal.notes) or "the session ended before", DeviceError.exit_code
        session.cases.append(case)
    order = [cell.key for cell in session.suite.cells]
    session.cases.sort(key=lambda case: order.index(case.key))


def _look_up(case: Case, session: Session, history: History) -> None:
    """The cell's place in the history, and what it is compared with."""
    key, device = case.key, case.device
    history.describe(case.row, case.library, case.conditions)
    case.past = history.past(key, device, session.number)
    if session.baseline:
        case.baseline = history.baseline(session.baseline, key, device)
        others = history.devices(session.baseline, key)
        if not case.baseline and others:
            case.missing = f"the baseline {session.baseline} has it on {', '.join(others)} only"
        elif not case.baseline:
            case.missing = f"the baseline {session.baseline} has no such cell"


def _new_folder(suite: str) -> Path:
    runs = settings.make_folder(settings.read().runs_dir, "QUADRA_RUNS_DIR")
    while True:
        now = time.time()
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
        folder = runs / f"regress-{stamp}-{int(now * 1000) % 1000:03d}-{run_names.part_of_name(suite) or 'suite'}"
        if not folder.exists():
            return settings.make_folder(folder, "QUADRA_RUNS_DIR")
        time.sleep(0.002)


def _file_name(place: Place) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", place.name).strip("-") or "device"


class _Lane(device_lanes.Lane[Cell]):
    """The cells of one device."""

    def __init__(
        self,
        session: Session,
        place: Place,
        folder: Path,
        history: History,
        full: bool,
        show: Show,
        deal: Deal[Cell],
        earlier: Earlier,
    ) -> None:
        super().__init__(place, deal)
        self.session, self.folder, self.history, self.show = session, folder, history, show
        self.suite, self.full, self.earlier = session.suite, full, earlier
        self.cases: dict[Cell, Case] = {}
        self.done = self.all = 0
        self.launched_s: list[float] = []  # how long launches took

    def leave(self, error: QuadraError) -> None:
        """Runs nothing: the device cannot be used, and its cells say so where others do not run them."""
        reason = launches.failed(0, 0.0, error).error
        kept = {case.key for case in self.earlier.kept if case.device == self.place.name}
        for cell in self.deal.leave(self.place.name, reason):
            if cell.key not in kept:
                self.cases[cell] = self._case(cell)
                self.cases[cell].error, self.cases[cell].exit_code = reason, error.exit_code

    def run(self, cells: Sequence[Cell]) -> None:
        """All launches of these cells, as far as they stay with this device."""
        cases = {cell: self._case(cell) for cell in cells}
        self.cases |= cases
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

    def _case(self, cell: Cell) -> Case:
        """The cell as an earlier session left it here, or a new one."""
        device = self.place.name
        known = self.earlier.case(cell, device)
        return known or Case(cell.key, device, self.history.cell(self.session.number, cell.key, device))

    def _rounds(self, cells: Sequence[Cell], numbers: Sequence[int]) -> None:
        for number in numbers:
            for cell in cells:
                case = self.cases.get(cell)
                if case and not case.error and all(launch.number != number for launch in case.good):
                    self._launch(cell, case, number, [one for one in cells if self._lacks(one, numbers)])
                self.done += 1

    def _lacks(self, cell: Cell, numbers: Sequence[int]) -> bool:
        """Whether one of these launches is to come yet."""
        case = self.cases.get(cell)
        return case is not None and not case.error and not {launch.number for launch in case.good} >= set(numbers)

    def _launch(self, cell: Cell, case: Case, number: int, cells: Sequence[Cell]) -> None:
        """One launch, and its retries. cells: those that are not finished yet."""

        def failed(at: float, error: BaseException, stopped: bool) -> None:
            state = launches.INTERRUPTED if stopped else launches.FAILED
            self._keep(case, launches.failed(number, at, error, state))

        began = time.monotonic()
        error = self.attempt(lambda at: self._take(cell, case, number, at), failed)
        self.launched_s.append(time.monotonic() - began)
        if error:
            case.error, case.exit_code = case.launches[-1].error, error.exit_code
            self._give_up(error, cell, case, cells)

    def _take(self, cell: Cell, case: Case, number: int, at: float) -> None:
        head = f"{self.done + 1}/{self.all} {cell.key}{self._left()}"
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
            _look_up(case, self.session, self.history)
        elif cell_verdicts.unlike(case.conditions, conditions):
            reason = f"the conditions changed in between: {cell_verdicts.unlike(case.conditions, conditions)}"
            raise RunFailed(f"run {cell.key}", reason, "leave the device alone while it measures")
        self._keep(case, found)
        if number:
            launches.slim(folder)
        else:
            report.write(judgement)
            findings = judgement.comparison.findings if judgement.comparison else ()
            self.session.notes += [f"{case.name}: {sentence}" for sentence in findings]

    def _left(self) -> str:
        """How long the launches that are known take if they go on like this; of a lab nobody knows who does what."""
        if isinstance(self.deal, Shared) or not self.launched_s:
            return ""
        mean_s = sum(self.launched_s) / len(self.launched_s)
        return f" ({math.ceil(mean_s * (self.all - self.done) / 60)} min left)"

    def _keep(self, case: Case, launch: launches.Launch) -> None:
        if launch.folder:
            launch.folder = str((self.folder / launch.folder).relative_to(self.session.folder))
        case.launches.append(launch)
        self.history.add(case.row, launch)

    def _give_up(self, error: QuadraError, cell: Cell, case: Case, cells: Sequence[Cell]) -> None:
        """A device that is gone takes the rest of its cells with it, unless others run them."""
        unfinished = [one for one in cells if one == cell or (one in self.cases and not self.cases[one].error)]
        if self.hand_back(error, cell, case.error, unfinished):
            for one in unfinished:
                del self.cases[one]
        elif device_lanes.is_lost(error):
            for one in unfinished:
                self.cases[one].error, self.cases[one].exit_code = case.error, case.exit_code
