"""`inv regress`: reads, runs, judges, keeps, writes, and says how it ended."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from host_tools.base import settings
from host_tools.base.errors import JudgementFailed, Misuse, QuadraError, rank
from host_tools.base.progress import progress
from host_tools.base.units import counted
from host_tools.judge.regression import suite as suites
from host_tools.judge.regression.cell_verdicts import Case
from host_tools.judge.regression.exact import IMPROVED, INCONCLUSIVE, REGRESSED
from host_tools.judge.regression.history import COMPLETE, History
from host_tools.judge.regression.session import Session
from host_tools.measure import lab_places, regress_cells, regress_resume, regress_session as sessions
from host_tools.measure.lab_places import There
from host_tools.places import where
from host_tools.places.place import Place
from host_tools.show.regression import exports, page

_NAMED = 8  # kinds of failures that an error lists


class CellsBroken(QuadraError):
    """Cells could not run. The exit status is that of the worst."""

    def __init__(self, cases: list[Case], folder: Path) -> None:
        alike: dict[tuple[str, str, int], list[Case]] = {}
        for case in cases:
            alike.setdefault((case.device, case.error, case.exit_code), []).append(case)
        named = [_broken(*what, some) for what, some in alike.items()]
        more = f"\n  and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        super().__init__(
            "run the suite",
            f"of its cells {len(cases)} could not run:{''.join(named[:_NAMED])}{more}",
            f"the run folders have the logs; the same command with --resume {folder.name} runs only what is missing",
        )
        self.exit_code = min((case.exit_code or 70 for case in cases), key=rank)


def _broken(device: str, error: str, status: int, cases: list[Case]) -> str:
    cells = f"{cases[0].key} and {len(cases) - 1} more" if len(cases) > 1 else cases[0].key
    return f"\n  {cells} on {device}: status {status or 70}: {error}"


def run(name: str, on: str, baseline: str, save: str, library: Path | None, lab: str = "", resume: str = "") -> Session:
    """Runs a suite and writes all that it leaves. How it ended: `fail_if_wrong`. lab: the address of a lab's scheduler.
    resume: the folder of a session that was cut off."""
    suite = regress_cells.with_signatures(suites.read(name))
    at = _places(suite, on, library, lab)
    with History(settings.read().history) as history:
        if baseline and baseline not in history.names() and baseline != save:
            known = f"known: {', '.join(history.names())}" if history.names() else "`--save NAME` makes the first one"
            raise Misuse(f"find the baseline {baseline!r}", "no result has that name", known)
        baseline = baseline if baseline in history.names() else ""  # its first night
        earlier = regress_resume.find(resume, suite, history) if resume else None
        if earlier:
            print(f"resumed: {counted(earlier.launches, 'launch')} already there")
        with at as (places, there), progress(f"regress {suite.name}") as show:
            found = sessions.run(suite, places, history, baseline, bool(save) and not baseline, show, there, earlier)
        if save:
            found.saved = _save(history, save, found)
        exports.write(found)
        page.write(found)
    return found


def _places(
    suite: suites.Suite, on: str, library: Path | None, lab: str
) -> AbstractContextManager[tuple[Sequence[Place], There | None]]:
    """The devices of a lab and whether one of them is there, or what --on and the suite say."""
    if lab:
        return lab_places.of(lab, on, library, print)
    return nullcontext((where.parse(on or suite.on, library), None))


_SAVED = "saved as "
_MAY_BE = 0.1  # p of a loss that speaks against a new baseline


def _save(history: History, name: str, session: Session) -> str:
    """Only what is whole and right gets a name: a baseline that is worse would hide that it is."""
    if session.state != COMPLETE:
        return f"not saved as {name}: the session was {session.state}"
    good = [case for case in session.cases if case.verdict != REGRESSED and not case.error]
    if session.baseline and len(good) < len(session.cases):
        return f"not saved as {name}: something is worse, or did not run; without --baseline it is saved"
    kept = [case for case in good if session.baseline == name and _is_no_better(case)]
    if kept and len(kept) == len(session.cases):
        return f"{name} stays as it was saved: no cell is better"
    saved = [case.row for case in good if case not in kept]
    history.save(name, saved)
    left = f", {len(session.cases) - len(good)} are wrong or did not run" if len(good) < len(session.cases) else ""
    left += f", {len(kept)} stay as saved before: they are no better" if kept else ""
    return f"{_SAVED}{name}: {len(saved)} of {len(session.cases)} cells{left}"


def _is_no_better(case: Case) -> bool:
    """A baseline that each passing session replaced would move with it, a little slower every time, and no alarm would come."""
    shifts = [finding.shift for finding in case.findings if finding.shift]
    slower = any(shift.effect > 0 and shift.p <= _MAY_BE for shift in shifts)
    return bool(shifts) and (slower or all(finding.verdict != IMPROVED for finding in case.findings))


def fail_if_wrong(session: Session) -> None:
    """JudgementFailed when a cell regressed; CellsBroken when one could not run; Misuse when a baseline was asked for
    and nothing could be compared."""
    worse = session.of(REGRESSED)
    if worse:
        named = "; ".join(f"{case.name} ({', '.join(_metrics(case))})" for case in worse)
        wrong = any("error" in _metrics(case) for case in worse)
        where = (
            "`./inv bisect MODEL` names the op that is wrong"
            if wrong
            else "`./inv profile` takes the run folders beside it"
        )
        do_next = f"{session.folder / page.FILE} shows both sides; {where}"
        raise JudgementFailed(f"regress {session.suite.name}", f"worse than before: {named}", do_next)
    if session.broken:
        raise CellsBroken(session.broken, session.folder)
    lacking = [case for case in session.cases if _incomparable(case)]
    if session.baseline and lacking and len(lacking) == len(session.cases):
        saved = session.saved.startswith(_SAVED)
        raise Misuse(
            f"compare with the baseline {session.baseline}",
            f"no cell can be: {lacking[0].name}: {_incomparable(lacking[0])}",
            f"this one is {session.saved}; run it again, to compare with that"
            if saved
            else "save a new one here: --save NAME without --baseline",
        )


def _metrics(case: Case) -> list[str]:
    return [finding.metric for finding in case.findings if finding.verdict == REGRESSED]


def _incomparable(case: Case) -> str:
    """Why a cell was compared with nothing; empty where it was."""
    if any(finding.shift for finding in case.findings):
        return ""
    texts = [finding.text for finding in case.findings if finding.verdict == INCONCLUSIVE]
    return texts[0].rpartition("not compared: ")[2] if texts else "there was nothing to compare"
