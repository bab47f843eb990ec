"""docs/numbers.md: whatever it promises has a test that is there."""

from __future__ import annotations

import fnmatch
import re

import pytest

from host_tools.base.settings import ROOT
from tests.vectors import all_cases

_PAGE = (ROOT / "docs" / "numbers.md").read_text(encoding="utf-8")
_ON_GPU = [case.id for case in all_cases() if case.place == "gpu"]


def _rows() -> list[tuple[str, list[str]]]:
    """What is promised, and what shows it, of each row of each table."""
    rows = [line.strip("|").split("|") for line in _PAGE.splitlines() if line.startswith("|")]
    kept = [cells for cells in rows if cells[0].strip() != "what" and set(cells[0]) - set("-")]
    return [(cells[0].strip(), re.findall(r"`([^`]+)`", cells[-1])) for cells in kept]


def _is_there(name: str) -> bool:
    if not name.startswith("test_"):
        return bool(fnmatch.filter(_ON_GPU, name))
    file, _, test = name.partition("::")
    path = ROOT / "tests" / file
    return path.is_file() and (not test or f"\ndef {test}(" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("promised", "shown_by"), _rows(), ids=[promised for promised, _ in _rows()])
def test_each_promise_has_a_test(promised, shown_by):
    assert shown_by, f"nothing shows: {promised}"
    assert [name for name in shown_by if not _is_there(name)] == []


def test_a_name_that_is_none_is_found():
    assert not _is_there("exp-of_nothing") and not _is_there("test_sizes.py::test_nothing")
    assert len(_rows()) > 30
