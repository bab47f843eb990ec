"""Progress off a terminal: long steps leave a line, short ones nothing."""

import io
import re
import time

import pytest
from rich.console import Console

from host_tools.base import progress
from host_tools.phone.adb import parallel
from host_tools.phone.adb.adb_device import Device


@pytest.mark.parametrize(("seconds", "said"), [(1.4, ""), (3.0, "· build x: 3 s\n")])
def test_a_step_that_only_looked_leaves_nothing(seconds, said, monkeypatch, capsys):
    """A build of what is there takes a second, at each command."""
    times = iter((100.0, 100.0 + seconds, 100.0 + seconds))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    with progress.progress("build x"):
        pass
    assert capsys.readouterr().err == said


def test_a_step_of_which_nothing_is_heard_still_leaves_lines(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_LINE_EVERY_S", 0.05)
    with progress.progress("build x") as show:
        show("waits")
        time.sleep(0.5)
    said = capsys.readouterr().err
    assert said.count("· build x: 0 s  waits\n") >= 2
    time.sleep(0.2)
    assert capsys.readouterr().err == "", "it is over"


def test_of_steps_in_each_other_the_innermost_leaves_lines(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_LINE_EVERY_S", 0.1)
    with progress.progress("run a model") as show:
        show("starts")
        with progress.progress("build x"):
            time.sleep(0.55)
        said = capsys.readouterr().err
        assert 2 <= said.count("· build x: ") <= 5 and "run a model" not in said
        time.sleep(0.3)
        assert re.search(r"· run a model: \d s  starts\n", capsys.readouterr().err)
        for index in range(8):
            with progress.progress(f"step {index}"):
                time.sleep(0.05)
        assert "· step " in capsys.readouterr().err, "though none of these takes as long as a line does"


def test_a_download_within_a_step_leaves_its_lines_alone(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_LINE_EVERY_S", 0.1)
    with progress.progress("run a model"), progress.transfer("fetch x", 4 << 20) as show:
        assert capsys.readouterr().err.endswith("· fetch x: 4.0 MiB\n")
        time.sleep(0.3)
        show(1 << 20)
        (said,) = capsys.readouterr().err.splitlines()
        assert said.startswith("· fetch x: 1.0 MiB of 4.0 MiB, ")


def test_a_step_that_outlives_the_one_before_it_leaves_lines(monkeypatch, capsys):
    """In another thread."""
    monkeypatch.setattr(progress, "_LINE_EVERY_S", 0.1)
    first = progress.progress("first")
    first.__enter__()
    with progress.progress("second"):
        first.__exit__(None, None, None)
        capsys.readouterr()
        time.sleep(0.35)
        assert "· second: " in capsys.readouterr().err


def test_work_on_devices_leaves_lines_in_a_log(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_LINE_EVERY_S", 0.1)

    def work(device, show):
        show("push a file", 1, 2)
        time.sleep(0.4)

    parallel.each([Device("a")], work, "install")
    assert "· install: 0 s  a: push a file\n" in capsys.readouterr().err


def test_on_a_terminal_a_download_has_the_line_alone(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=screen, force_terminal=True, width=100))
    with progress.progress("run a model"), progress.transfer("fetch x", 4 << 20):
        time.sleep(0.2)
        before = screen.getvalue().count("run a model")
        time.sleep(0.5)
        assert screen.getvalue().count("run a model") == before


def test_on_a_terminal_the_innermost_step_alone_has_the_line(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=screen, force_terminal=True, width=100))

    def shown():
        text = screen.getvalue()
        screen.truncate(0)
        screen.seek(0)
        return text

    with progress.progress("run a model"):
        time.sleep(0.3)
        assert "run a model" in shown()
        with progress.progress("build x"):
            shown()
            time.sleep(0.5)
            said = shown()
            assert "build x" in said and "run a model" not in said
        shown()
        time.sleep(0.5)
        said = shown()
        assert "run a model" in said and "build x" not in said
