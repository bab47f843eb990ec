"""What a session leaves for people and programs."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from host_tools.base import terminal
from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.judge.regression.cell_verdicts import Case
from host_tools.judge.regression.history import History
from host_tools.judge.regression.launch import Launch
from host_tools.measure import regress_suite
from host_tools.show.regression import exports, page, table
from tests.host_tools.judge import regress_cases
from tests.host_tools.judge.regress_cases import launches

HOSTILE = "dev<script>alert(1)</script>&\"'\x00\x1b[31m\udc80"


@pytest.fixture
def session(tmp_path):
    """One cell that is good, one that is slower, one that could not run."""
    with History(tmp_path / "history.sqlite") as history:
        good = regress_cases.case(history, launches(1, 20), launches(2, 20))
        worse = regress_cases.case(history, launches(1, 20), launches(3, 20, 1.1), device=HOSTILE)
        lost = Case("b_model/gles/f32", HOSTILE, error="the device is <b>gone</b>", exit_code=85)
        lost.launches = [Launch(0, 1.0, "failed", lost.error, 85)]
        lost.findings = regress_cases.cell_verdicts.examine(lost, regress_cases.SUITE)
    return regress_cases.session(tmp_path, [good, worse, lost])


def test_junit_counts_and_names(session):
    root = ElementTree.fromstring(exports.junit(session))
    first, second = root.findall("testsuite")
    assert (first.get("tests"), first.get("failures"), first.get("errors")) == ("7", "0", "0")
    assert (second.get("tests"), second.get("failures"), second.get("errors")) == ("14", "1", "7")
    failure = second.find("testcase/failure")
    assert (
        re.match(r"\+\d+\.\d % \(.*\), p .*: from [01]\.\d+ to about [01]\.\d+ ×", failure.get("message"))
        and failure.get("type") == "regressed"
    )
    assert "script" in second.get("name") and "\0" not in exports.junit(session)
    assert [p.get("name") for p in first.findall("properties/property")] == ["GPU", "library"]


def test_google_benchmarks_json_has_a_repetition_per_process(session):
    value = exports.benchmark(session)
    rows = [row for row in value["benchmarks"] if row["name"] == "a_model/opencl/f32/host"]
    assert [row["repetition_index"] for row in rows] == list(range(20)) and rows[0]["repetitions"] == 20
    for key in ("run_name", "run_type", "iterations", "real_time", "cpu_time", "time_unit", "threads"):
        assert key in rows[0], key
    assert 2500 < rows[0]["real_time"] < 3500 and rows[0]["time_unit"] == "us" and rows[0]["xnnpack_wall_us"] == 3000
    assert value["context"]["json_schema_version"] == 1


def test_the_page_needs_nothing_else_and_escapes_what_devices_say(session):
    text = page.write(session).read_text(encoding="utf-8")
    assert "<script" not in text and "<b>gone" not in text and "&lt;script&gt;" in text
    assert not re.search(r"""(?:src|href)=["'](?!#|run-)""", text), "links lead into the folder or the page"
    assert text.count("<svg") >= 2 * 5 and "regressed" in text and "could not run" in text


def test_a_change_of_nothing_has_no_minus(session):
    html = page.write(session).read_text()
    assert "+0.0 %" in html and not re.search(r"[(> ]-0\.0[ )]", html)


def test_the_terminal_says_what_is_worse_and_what_did_not_run(session):
    console = terminal.console()
    with console.capture() as shown:
        table.show(session, console)
    text = shown.get()
    assert "3 cells: 1 regressed, 1 inconclusive, 1 passed" in text and "REGRESSED +" in text
    assert "could not run: the device is <b>gone</b>" in text


def test_everything_is_written(session):
    exports.write(session)
    value = json.loads((session.folder / exports.WHOLE).read_text(encoding="utf-8"))
    assert [cell["verdict"] for cell in value["cells"]] == ["pass", "regressed", "inconclusive"]
    assert value["cells"][1]["metrics"]["steady"]["shift"]["p"] < 1e-5
    assert all(path.exists() for path in exports.paths(session.folder))


def test_worse_is_1_broken_is_the_errors_own_and_nothing_to_compare_is_2(session):
    with pytest.raises(JudgementFailed, match=r"worse than before: a_model/opencl/f32 on dev.* \(steady\)"):
        regress_suite.fail_if_wrong(session)
    session.cases = [session.cases[0], session.cases[2]]
    with pytest.raises(regress_suite.CellsBroken, match="b_model/gles/f32 on .*gone") as caught:
        regress_suite.fail_if_wrong(session)
    assert caught.value.exit_code == 85
    session.cases = session.cases[:1]
    regress_suite.fail_if_wrong(session)
    session.cases[0].missing, session.cases[0].baseline = "the baseline base has no such cell", None
    session.cases[0].findings = regress_cases.cell_verdicts.examine(session.cases[0], session.suite)
    with pytest.raises(Misuse, match="(?s)no cell can be: .*no such cell.*save a new one here"):
        regress_suite.fail_if_wrong(session)
    with History(session.folder / "history.sqlite") as history:
        session.saved = regress_suite._save(history, "main", session)
    with pytest.raises(Misuse, match="(?s)no such cell.*next: this one is saved as main: 1 of 1 cells; run it again"):
        regress_suite.fail_if_wrong(session)


def test_what_is_worse_gets_no_name(session, tmp_path):
    with History(tmp_path / "history.sqlite") as history:
        assert regress_suite._save(history, "base", session).startswith("not saved as base: something is worse")
        session.baseline = ""
        session.cases[0].row = 1
        assert (
            regress_suite._save(history, "base", session) == "saved as base: 1 of 3 cells, 2 are wrong or did not run"
        )
        session.state = "interrupted"
        assert regress_suite._save(history, "other", session) == "not saved as other: the session was interrupted"
        assert history.names() == ["base"]


def test_what_comes_next_is_of_what_is_worse(session):
    for metric, words in (("steady", "inv profile"), ("error", "inv bisect MODEL")):
        for case in session.cases:
            case.findings = [replace(f, verdict="regressed" if f.metric == metric else "pass") for f in case.findings]
        with pytest.raises(JudgementFailed, match=words):
            regress_suite.fail_if_wrong(session)


def test_a_baseline_does_not_drift_with_sessions_that_only_pass(session, tmp_path):
    case = session.cases[0]
    session.cases, session.baseline, case.row = [case], "base", 1
    steady = next(i for i, f in enumerate(case.findings) if f.metric == "steady")

    def saved(verdict, effect, p):
        found = case.findings[steady]
        shift = replace(found.shift, effect=effect, p=p)
        case.findings[steady] = replace(found, verdict=verdict, shift=shift)
        with History(tmp_path / "history.sqlite") as history:
            return regress_suite._save(history, "base", session)

    assert saved("pass", 0.04, 1e-4) == "base stays as it was saved: no cell is better"
    assert saved("pass", -0.01, 0.5).startswith("base stays")
    assert saved("improved", -0.1, 1e-5) == "saved as base: 1 of 1 cells"
    first = next(i for i, f in enumerate(case.findings) if f.metric == "init")
    case.findings[first] = replace(case.findings[first], verdict="improved")
    assert saved("pass", 0.04, 1e-4).startswith("base stays"), "a start that is faster pays for no slower inference"
    session.cases.append(replace(case, findings=[f for f in case.findings if not f.shift], row=2))
    assert saved("pass", 0.04, 1e-4) == "saved as base: 1 of 2 cells, 1 stay as saved before: they are no better"
    session.baseline = "other"
    assert saved("pass", 0.04, 1e-4) == "saved as base: 2 of 2 cells"


def test_a_shift_that_passes_because_it_is_small_has_its_reason_in_table_and_page(session):
    steady = next(f for f in session.cases[0].findings if f.metric == "steady")
    session.cases[0].findings[session.cases[0].findings.index(steady)] = replace(steady, small="below 1 ms")
    console = terminal.console()
    with console.capture() as shown:
        table.show(session, console)
    assert f"pass {steady.shift.percent:+.1f} %, below 1 ms" in shown.get()
    assert f"{steady.shift.percent:+.1f} %, below 1 ms</small>" in page.write(session).read_text(encoding="utf-8")


def test_the_page_shows_peers_by_the_rule_of_the_headline(session):
    text = page.write(session).read_text(encoding="utf-8")
    assert "of its processor time; wall-clock 1.0" in text
    for one in session.cases[0].launches:
        one.samples["xnnpack.wall_us"] = [500.0] * 5
    text = page.write(session).read_text(encoding="utf-8")
    assert "not reliable</span> the machine was busy: processor time gives 1.0" in text
