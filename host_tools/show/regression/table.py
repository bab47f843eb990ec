"""A session on the terminal: a row per cell and device, then every metric that is not just good, then where to look."""

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, number, text
from host_tools.judge.regression import metrics
from host_tools.judge.regression.cell_verdicts import Case, Finding
from host_tools.judge.regression.exact import IMPROVED, INCONCLUSIVE, PASS, REGRESSED
from host_tools.judge.regression.session import Session

STYLES = {PASS: "green", REGRESSED: "bold red", IMPROVED: "cyan", INCONCLUSIVE: "yellow"}
_SIGNS = {PASS: "pass", REGRESSED: "REGRESSED", IMPROVED: "improved", INCONCLUSIVE: "?"}


def show(session: Session, console: Console) -> None:
    beside = f", beside the baseline {session.baseline}" if session.baseline else ", without a baseline"
    state = "" if session.state == "complete" else f"  [yellow]{session.state}: partial results[/]"
    console.print(f"[bold]{escape(session.suite.name)}[/]{escape(beside)}{state}")
    names = [m for m in metrics.METRICS if any(f.metric == m for case in session.cases for f in case.findings)]
    metric_columns = [text(name, least=10) for name in names]  # "REGRESSED", and by how much on a line of its own
    table = Table([text("cell", least=12), text("on", 2), number("launches", 1), *metric_columns])
    for case in session.cases:
        found = {finding.metric: finding for finding in case.findings}
        launches = f"{len(case.good)}" + (f" of {len(case.launches)}" if len(case.good) < len(case.launches) else "")
        cells = [_cell(found[name]) if name in found else "" for name in names]
        table.add_row(escape(case.key), escape(case.device), launches, *cells)
    table.show(console)
    for case in session.cases:
        _details(case, console)
    for note in session.notes:
        console.print(f"[yellow]{escape(note)}[/]")
    console.print(f"\n{sentence(session)}")
    if session.saved:
        console.print(escape(session.saved))


def _cell(finding: Finding) -> str:
    text = _SIGNS[finding.verdict]
    if finding.shift and finding.verdict in (REGRESSED, IMPROVED):
        text += f" {finding.shift.percent:+z.1f} %"
    elif finding.shift:
        text += f" [dim]{finding.shift.percent:+z.1f} %{f', {finding.small}' if finding.small else ''}[/]"
    return f"[{STYLES[finding.verdict]}]{text}[/]"


def _details(case: Case, console: Console) -> None:
    if case.error:
        console.print(f"[yellow]{escape(case.name)}[/] could not run: {escape(case.error)}")
        return
    if not case.good:
        console.print(f"[yellow]{escape(case.name)}[/]: no launch completed")
        return
    rows: list[Finding] = [finding for finding in case.findings if finding.verdict != PASS]
    if rows and all(f.verdict == INCONCLUSIVE and f.text.endswith(rows[0].text[-40:]) for f in rows) and case.missing:
        console.print(f"[yellow]{escape(case.name)}[/] was not compared: {escape(case.missing)}")
        return
    for finding in rows:
        style = STYLES[finding.verdict]
        console.print(f"[{style}]{escape(case.name)}[/], {finding.metric}: {escape(finding.text)}")


def sentence(session: Session) -> str:
    """2 cells of 15 regressed, 1 improved, 12 passed"""
    words = ((REGRESSED, "regressed"), (IMPROVED, "improved"), (INCONCLUSIVE, "inconclusive"), (PASS, "passed"))
    counts = [f"{len(session.of(verdict))} {word}" for verdict, word in words if session.of(verdict)]
    kinds = "cell" if len(session.cases) == 1 else "cells"
    return f"{len(session.cases)} {kinds}: {', '.join(counts)}; {session.ended - session.started:.0f} s"
