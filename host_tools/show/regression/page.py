"""A session as one HTML file that needs nothing else."""

import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_tools.judge.regression import metrics
from host_tools.judge.regression.cell_verdicts import Case, Finding, unlike
from host_tools.judge.regression.session import Session
from host_tools.record import headline, run_folder, times
from host_tools.record.headline import Headline, Samples
from host_tools.show import report
from host_tools.show.regression import plots, table

FILE = "regress.html"
_BADGES = {"pass": "good", "regressed": "bad", "improved": "better", "inconclusive": "warn"}


def write(session: Session) -> Path:
    """Writes regress.html into the session's folder; returns its path."""
    template = report.environment().get_template(FILE)
    steady = [(case.name, finding) for case in session.cases for finding in case.findings if finding.metric == "steady"]
    limit = session.suite.limits["steady"]
    page = template.render(
        session=session,
        sentence=table.sentence(session),
        badges=_BADGES,
        names=[m for m in metrics.METRICS if any(f.metric == m for c in session.cases for f in c.findings)],
        shifts=plots.shifts(steady, limit.percent, limit.see),
        cells=[_cell(case, session.suite.threads) for case in session.cases],
        suite=session.suite,
        conditions=_shared(session),
    )
    run_folder.write_text(session.folder / FILE, page)
    return session.folder / FILE


def _cell(case: Case, threads: int) -> dict[str, Any]:
    found = {finding.metric: finding for finding in case.findings}
    charts = [(f, plots.sides(f)) for f in case.findings if f.metric in metrics.TIMED and f.now]
    history, unit, kinds = _history(case, found.get("steady"))
    return {
        "case": case,
        "findings": found,
        "charts": charts,
        "history": history,
        "marks": {kind: words for kind, words in _marks(found.get("steady")).items() if kind in kinds},
        "unit": unit,
        "runners": _runners(case, threads),
        "peers": case.good[-1].facts["peers"] if case.good else [],
        "runs": [launch for launch in case.launches if launch.folder],
        "failed": [launch for launch in case.launches if not launch.ok],
    }


@dataclass(frozen=True)
class _Runner:
    """A runtime of a cell: medians over launches, in us, and Quadra's time relative to it."""

    name: str
    wall: float
    processor: float
    ratio: Headline | None


def _runners(case: Case, threads: int) -> list[_Runner]:
    on_cpu, found = metrics.computes_on_cpu(case.good), list[_Runner]()
    ours = _samples(case, "quadra")
    for key, name in times.NAMES.items():
        theirs = _samples(case, key)
        if not theirs.wall:
            continue
        ratios = headline.ratios_of(ours, theirs) if key != "quadra" else None
        processor = statistics.median(theirs.processor) if theirs.processor else math.nan
        ratio = headline.decide(on_cpu, threads, ratios) if ratios else None
        found.append(_Runner(name, statistics.median(theirs.wall), processor, ratio))
    return found


def _samples(case: Case, key: str) -> Samples:
    """The median of each launch."""
    sides = ([v for one in case.good if (v := one.samples.get(f"{key}.{word}"))] for word in ("wall_us", "cpu_us"))
    return Samples(*(list(map(statistics.median, values)) for values in sides))


def _marks(steady: Finding | None) -> dict[str, str]:
    """What the kinds of dots in a history are."""
    now = {steady.verdict: f"now: {'passed' if steady.verdict == 'pass' else steady.verdict}"} if steady else {}
    return {"before": "baseline", "past": "earlier sessions", **now}


def _history(case: Case, steady: Finding | None) -> tuple[str, str, set[str]]:
    """Steady times of the earlier sessions under the same conditions, the baseline and now; with their unit, and the kinds
    of dots."""
    if not steady or not steady.now:
        return "", "", set()
    measure = metrics.measure_with(steady.unit)
    points: list[plots.Point] = []
    stored = {one.id: one for one in case.past}
    if case.baseline:
        stored[case.baseline.id] = case.baseline
    for one in sorted(stored.values(), key=lambda s: s.started):
        series = metrics.series(one.launches, "steady", measure)
        if not series or unlike(one.conditions, case.conditions):
            continue
        kind = "before" if case.baseline and one.id == case.baseline.id else "past"
        cut = "" if one.state == "complete" else f", {one.state}"
        words = f"session {one.session} ({one.suite}{cut}), library {one.library[:12]}, {len(series.values)} launches"
        points.append(_point(one.started, series.values, steady.unit, kind, words))
    points.append(_point(case.launches[-1].at, steady.now, steady.unit, steady.verdict, "now"))
    return plots.history(points, steady.unit), steady.unit, {point[4] for point in points}


def _point(when: float, values: Any, unit: str, kind: str, words: str) -> plots.Point:
    middle = statistics.median(values)
    return when, middle, min(values), max(values), kind, f"{words}: {metrics.text(middle, unit)}"


def _shared(session: Session) -> dict[str, dict[str, str]]:
    """The conditions by device, of its first cell that ran."""
    found: dict[str, dict[str, str]] = {}
    for case in session.cases:
        if case.conditions and case.device not in found:
            kept = ("GPU", "processor", "processors", "route", "runtimes", "driver settings")
            found[case.device] = {key: _words(case.conditions[key]) for key in kept if case.conditions.get(key)}
            found[case.device]["library"] = case.library
    return found


def _words(value: Any) -> str:
    return ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
