"""Sentences on a terminal end their lines between words; commands stay whole."""

import io

import pytest

from host_tools.base import terminal
from host_tools.base.errors import Misuse


class Tty(io.StringIO):
    def isatty(self):
        return True


ERROR = Misuse(
    "compare face_detection_short_range with the CPU interpreter",
    "output 0 (regressors) is off by 3e-07 of its range, the tolerance is 1e-09; output 1 (classificators) is, too",
    "`./inv bisect face_detection_short_range --tolerance 1e-09 --backend opencl --precision f16` names the op",
)


def said(stream, text=f"error: {ERROR}"):
    terminal.say(text, stream)
    return stream.getvalue()


@pytest.mark.parametrize("columns", [40, 80, 132])
def test_lines_end_between_words(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = said(Tty())
    assert text.split() == f"error: {ERROR}".split(), "each word, once"
    lines = text.splitlines()
    assert all(len(line) <= columns for line in lines if "`" not in line)
    command = next(line for line in lines if "`" in line)
    assert command.count("`") == 2, "it can be copied"
    starts = [line[:7] for line in lines]
    assert starts[0] == "error: " and {*starts[1:]} <= {" " * 7, "  next:"}


def test_elsewhere_they_are_as_they_are():
    assert said(io.StringIO()) == f"error: {ERROR}\n"


def test_a_word_that_is_longer_than_the_line_stays_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert said(Tty(), "kept: " + "x" * 30) == "kept: " + "x" * 30 + "\n"
    assert said(Tty(), "") == "\n"
