"""`inv lint` finds what each tool is there for, mends what it can, and says which tool it was."""

import shutil

import pytest

from host_tools.base import settings, terminal
from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.dev import lint

# A file with a defect, by the check that finds it.
PLANTED = {
    "ruff": ("host_tools/one.py", "import os\nx = {  'a':1 }\n"),
    "mypy": ("host_tools/one.py", 'def of(x: int) -> str:\n    return x\n\n\nof("")\n'),
    "clang-format": ("delegate_native/one.cc", "int  f( int x ){return x;}\n"),
    "java-format": ("android_app/One.java", "class One {int  x ;}\n"),
}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A tree with this one's settings, whose sources are clean."""
    for name in ("pyproject.toml", ".clang-format"):
        shutil.copy(settings.ROOT / name, tmp_path)
    clean = {
        "host_tools/__init__.py": "",
        "host_tools/clean.py": "X = 1\n",
        "tasks.py": "",
        "quadra_tools/__init__.py": "",
        "delegate_native/python/quadra/__init__.py": "",
        "delegate_native/clean.cc": "int f(int x) { return x; }\n",
        "android_app/Clean.java": "class Clean {\n  int x;\n}\n",
    }
    for name, text in clean.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(settings, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_found_and_mended_where_the_tool_can(checkout, name):
    assert [one.said for one in lint.run(name, fix=False)] == [""]
    path, text = checkout / PLANTED[name][0], PLANTED[name][1]
    path.write_text(text)
    found = lint.run(name, fix=False)
    assert path.name in found[0].said and path.read_text() == text
    with pytest.raises(JudgementFailed, match=f"{name} found something"):
        lint.fail_if_wrong(found)
    lint.run(name, fix=True)
    after = lint.run(name, fix=False)
    assert (after[0].said == "") == found[0].check.mends


def test_the_table_names_every_check(checkout):
    with (console := terminal.console()).capture() as captured:
        lint.show([lint.Outcome(check, "", 1) for check in lint.checks().values()], console)
    assert all(f"{name} " in captured.get() for name in lint.checks())


def test_a_check_that_there_is_not_is_refused():
    with pytest.raises(Misuse, match="the checks are ruff, "):
        lint.run("ruff,pylint", fix=False)
