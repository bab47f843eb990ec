"""The output of `am instrument`: every form that Android's tools print, and what is made of it."""

import pytest
from hypothesis import given, strategies as st

from host_tools.phone.app import am_instrument
from host_tools.phone.app.am_instrument import parse

COMPLETE = """\
INSTRUMENTATION_STATUS: stage=start
INSTRUMENTATION_STATUS_CODE: 0
INSTRUMENTATION_STATUS: stage=first inference of Quadra
INSTRUMENTATION_STATUS_CODE: 0
INSTRUMENTATION_RESULT: state=complete
INSTRUMENTATION_CODE: -1
"""
JUNIT = """\
INSTRUMENTATION_STATUS: class=org.quadra.SomeTest
INSTRUMENTATION_STATUS: current=1
INSTRUMENTATION_STATUS: id=AndroidJUnitRunner
INSTRUMENTATION_STATUS: numtests=1
INSTRUMENTATION_STATUS: stream=
org.quadra.SomeTest:
INSTRUMENTATION_STATUS: test=works
INSTRUMENTATION_STATUS_CODE: 1
"""
ENDED = """\
INSTRUMENTATION_STATUS: class=org.quadra.SomeTest
INSTRUMENTATION_STATUS: test=works
INSTRUMENTATION_STATUS_CODE: {}
INSTRUMENTATION_RESULT: stream=

Time: 1,745.755

OK (1 test)


INSTRUMENTATION_CODE: -1
"""
NOT_FOUND = """\
INSTRUMENTATION_STATUS: id=ActivityManagerService
INSTRUMENTATION_STATUS: Error=Unable to find instrumentation info for: ComponentInfo{org.quadra.runner/org.quadra.runner.QuadraRunner}
INSTRUMENTATION_STATUS_CODE: -1
android.util.AndroidException: INSTRUMENTATION_FAILED: org.quadra.runner/org.quadra.runner.QuadraRunner
\tat com.android.commands.am.Instrument.run(Instrument.java:543)
\tat com.android.commands.am.Am.runInstrument(Am.java:202)
"""
FORMS = {
    "complete": (COMPLETE, am_instrument.COMPLETE),
    "junit, a test passed": (JUNIT + ENDED.format(0), am_instrument.COMPLETE),
    "junit, a test failed": (JUNIT + ENDED.format(-2), am_instrument.COMPLETE),
    "junit, an assumption failed": (JUNIT + ENDED.format(-4), am_instrument.COMPLETE),
    "a test started and did not end": (
        JUNIT + "INSTRUMENTATION_RESULT: stream=\nINSTRUMENTATION_CODE: -1\n",
        am_instrument.CUT_OFF,
    ),
    "cut off": (COMPLETE[:120], am_instrument.CUT_OFF),
    "cut off in a number": (COMPLETE[:-2], am_instrument.CUT_OFF),
    "empty": ("", am_instrument.EMPTY),
    "blank lines": ("\n\n", am_instrument.EMPTY),
    "the runner says why": (
        "INSTRUMENTATION_RESULT: error=read the model: it is damaged; next: push it again\n"
        "INSTRUMENTATION_RESULT: exit_code=2\nINSTRUMENTATION_RESULT: state=failed\nINSTRUMENTATION_CODE: 0\n",
        am_instrument.FAILED,
    ),
    "process crashed": (
        "INSTRUMENTATION_STATUS: stage=measure\nINSTRUMENTATION_STATUS_CODE: 0\n"
        "INSTRUMENTATION_RESULT: shortMsg=Process crashed.\nINSTRUMENTATION_CODE: 0\n",
        am_instrument.CRASHED,
    ),
    "an exception that nobody caught": (
        "INSTRUMENTATION_RESULT: shortMsg=java.lang.OutOfMemoryError\n"
        "INSTRUMENTATION_RESULT: longMsg=java.lang.OutOfMemoryError: Failed to allocate\nINSTRUMENTATION_CODE: 0\n",
        am_instrument.CRASHED,
    ),
    "native crash": (
        "INSTRUMENTATION_RESULT: shortMsg=Native crash\n"
        "INSTRUMENTATION_RESULT: longMsg=Native crash: Segmentation fault\nINSTRUMENTATION_CODE: 0\n",
        am_instrument.CRASHED_NATIVELY,
    ),
    "not responding": (
        "INSTRUMENTATION_RESULT: shortMsg=keyDispatchingTimedOut\n"
        "INSTRUMENTATION_RESULT: longMsg=Input dispatching timed out (Waiting)\nINSTRUMENTATION_CODE: 0\n",
        am_instrument.NOT_RESPONDING,
    ),
    "not found": (NOT_FOUND, am_instrument.MISSING),
    "not found, old": ("INSTRUMENTATION_FAILED: org.quadra.runner/.QuadraRunner\n", am_instrument.MISSING),
    "not found, through onError": (
        "onError: commandError=true message=INSTRUMENTATION_FAILED: org.quadra.runner/.QuadraRunner\n",
        am_instrument.MISSING,
    ),
    "the system crashed": ("INSTRUMENTATION_ABORTED: System has crashed.\n", am_instrument.SYSTEM_CRASHED),
    "refused": (
        "java.lang.SecurityException: Permission Denial: starting instrumentation\n\tat android.os.Parcel\n",
        am_instrument.REFUSED,
    ),
    "usage": ("usage: am [subcommand] [options]\nusage: am start [-D] [-N]\n", am_instrument.REFUSED),
    "am is missing": ("/system/bin/sh: am: inaccessible or not found\n", am_instrument.REFUSED),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_told_apart(form):
    text, kind = FORMS[form]
    outcome = parse(text)
    assert outcome.kind == kind
    assert kind == am_instrument.COMPLETE or outcome.sentence
    assert parse(text.replace("\n", "\r\n")).kind == kind


def test_stages_are_told_as_they_come():
    stages = []
    parser = am_instrument.Parser(stages.append)
    for line in COMPLETE.splitlines():
        parser.line(line)
    assert stages == ["start", "first inference of Quadra"] and parser.end().stage == stages[-1]


def test_a_value_goes_on_over_lines_and_a_code_glued_to_its_end_is_found():
    outcome = parse(
        "INSTRUMENTATION_STATUS: stack=java.lang.AssertionError\n\tat org.quadra.Test.run(Test.java:3)"
        "INSTRUMENTATION_STATUS_CODE: -2\nINSTRUMENTATION_CODE: -1\n"
    )
    assert outcome.statuses[0].values["stack"] == "java.lang.AssertionError\n\tat org.quadra.Test.run(Test.java:3)"
    assert outcome.statuses[0].code == -2 and outcome.code == -1


def test_metrics_are_kept_with_their_codes():
    outcome = parse(
        "INSTRUMENTATION_STATUS: timeNs_median=12\nINSTRUMENTATION_STATUS_CODE: 2\nINSTRUMENTATION_CODE: -1\n"
    )
    assert outcome.statuses == [am_instrument.Status({"timeNs_median": "12"}, 2)]


def test_a_success_text_after_a_crash_is_no_success():
    text = "INSTRUMENTATION_RESULT: shortMsg=Process crashed.\nINSTRUMENTATION_RESULT: state=complete\nINSTRUMENTATION_CODE: -1\n"
    assert parse(text).kind == am_instrument.CRASHED


def test_the_command_keeps_every_word_apart():
    words = am_instrument.command({"folder": "/data/a b", "peers": "", "mode": "; reboot"})
    assert words[:4] == ["am", "instrument", "-w", "-r"] and words[-1] == am_instrument.RUNNER
    assert words[4:6] == ["--user", "0"], "run-as sees that user's files"
    assert words[6:-1] == ["-e", "folder", "/data/a b", "-e", "peers", "", "-e", "mode", "; reboot"]


_PIECES = st.sampled_from(["INSTRUMENTATION_STATUS: a=b", "INSTRUMENTATION_STATUS_CODE: 1", "INSTRUMENTATION_CODE: -1",
                           "INSTRUMENTATION_RESULT: shortMsg=x", "INSTRUMENTATION_", "onError: commandError=", "\0\x1b[2J"])  # fmt: skip


@given(st.lists(_PIECES | st.text(max_size=40), max_size=30))
def test_no_output_is_too_strange_to_be_read(lines):
    outcome = parse("\n".join(lines))
    assert outcome.kind and len(outcome.sentence) <= 1000


def test_endless_output_is_cut():
    outcome = parse("INSTRUMENTATION_STATUS: a=" + "x" * 10 + "\n" + "y" * 1000000)
    assert len(outcome.statuses[0].values["a"]) <= 1 << 16
