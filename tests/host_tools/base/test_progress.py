"""Progress off a terminal: long steps leave a line, short ones nothing."""

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
