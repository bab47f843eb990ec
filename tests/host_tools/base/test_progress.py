"""Progress off a terminal: long steps leave a line, short ones nothing."""

import time

import pytest

from host_tools.base import progress


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
