"""Processes end in time, and what they say arrives."""

import os
import sys
import threading
import time

import pytest

from host_tools.base import child_process
from host_tools.base.errors import CommandFailed, CommandTimedOut, ToolMissing

PYTHON = [sys.executable, "-c"]


def test_both_streams_are_kept_apart():
    done = child_process.run([*PYTHON, "import sys; print('out'); print('err', file=sys.stderr)"], timeout_s=30)
    assert (done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 0)


def test_a_failure_tells_the_command_the_status_and_the_last_lines():
    with pytest.raises(CommandFailed) as caught:
        child_process.run(
            [*PYTHON, "import sys; print('the cause', file=sys.stderr); sys.exit(3)"], timeout_s=30, hint="do so"
        )
    text = str(caught.value)
    assert "exit status 3" in text and "| the cause" in text and text.endswith("next: do so")


def test_a_death_by_signal_is_named():
    with pytest.raises(CommandFailed, match="ended by SIGSEGV"):
        child_process.run([*PYTHON, "import os; os.kill(os.getpid(), 11)"], timeout_s=30)


def test_the_deadline_stops_a_process_and_keeps_its_output():
    started = time.monotonic()
    with pytest.raises(CommandTimedOut, match="(?s)did not end within 1 s.*| so far"):
        child_process.run([*PYTHON, "import time; print('so far', flush=True); time.sleep(60)"], timeout_s=1)
    assert time.monotonic() - started < 15


def test_the_deadline_stops_one_that_ignores_the_polite_signal(monkeypatch, tmp_path):
    monkeypatch.setattr(child_process, "_KILL_GRACE_S", 0.3)
    code = (
        "import os, pathlib, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(60)"
    )
    with pytest.raises(CommandTimedOut):
        child_process.run([*PYTHON, code, tmp_path / "pid"], timeout_s=1)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_the_deadline_holds_when_a_grandchild_keeps_the_pipe_open():
    started = time.monotonic()
    with pytest.raises(CommandTimedOut):
        child_process.run(["sh", "-c", "sleep 60 & echo started"], timeout_s=1)
    assert time.monotonic() - started < 15


def test_a_program_that_is_not_there_is_a_missing_tool():
    with pytest.raises(ToolMissing, match="No such file"):
        child_process.run(["quadra-no-such-program"], timeout_s=5)


def test_words_are_never_read_by_a_shell():
    done = child_process.run(["echo", "$HOME; touch x", "a b"], timeout_s=30)
    assert done.stdout == "$HOME; touch x a b\n"


def test_lines_arrive_while_the_process_runs():
    seen = []
    child_process.run(["printf", "one\\ntwo\\n"], timeout_s=30, on_line=seen.append)
    assert seen == ["one", "two"]


def test_a_closed_pipe_behind_the_lines_stops_the_process_and_is_the_callers_to_see():
    def closed(line):
        raise BrokenPipeError

    started = time.monotonic()
    with pytest.raises(BrokenPipeError):
        child_process.run(["sh", "-c", "while echo line; do :; done"], timeout_s=30, on_line=closed)
    assert time.monotonic() - started < 10


def test_it_stops_when_somebody_says_so_and_both_streams_can_be_told_apart():
    stop, out, err = threading.Event(), [], []

    def first(line):
        out.append(line)
        stop.set()

    words = ["sh", "-c", "echo error >&2; echo out; sleep 60"]
    done = child_process.run(
        words, timeout_s=30, check=False, on_line=first, on_error_line=err.append, stop=stop.is_set
    )
    assert (out, err) == (["out"], ["error"]) and done.returncode < 0 and done.wall_s < 10


def test_a_deadline_holds_where_somebody_might_say_stop():
    with pytest.raises(CommandTimedOut):
        child_process.run(["sleep", "60"], timeout_s=0.2, stop=lambda: False)


def test_bytes_that_are_not_text_do_no_harm():
    assert child_process.run(["printf", "a\\377b"], timeout_s=30).stdout == "a\ufffdb"


def test_a_detached_process_has_a_session_of_its_own_and_prints_into_its_log(tmp_path):
    log = tmp_path / "log.txt"
    process = child_process.start_detached(
        [sys.executable, "-c", "import os; print(os.getsid(0) == os.getpid())"], log=log
    )
    assert process.wait(timeout=20) == 0
    assert log.read_text() == "True\n"


def test_a_detached_program_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(ToolMissing, match="no-such-program"):
        child_process.start_detached(["no-such-program"], log=tmp_path / "log.txt")
