"""The README and the pages of docs/ name the tasks, options and exit statuses that there are."""

import inspect
import re

import pytest
from invoke import Task

import tasks
from host_tools.base import errors, settings
from tests import parity, quantized

_TOP = [settings.ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [*_TOP, *sorted((settings.ROOT / "docs").glob("*.md"))]
TASKS = {task.name.replace("_", "-"): task for task in vars(tasks).values() if isinstance(task, Task)}


def test_the_readme_has_a_row_for_each_task():
    table = PAGES[0].read_text().split("| task |")[1].split("\n\n")[0]
    named = re.findall(r"`([\w-]+)`", " ".join(re.findall(r"^\|((?: `[\w-]+`,?)+) \|", table, re.MULTILINE)))
    assert sorted(named) == sorted(TASKS)


def test_the_readme_has_every_op_and_its_integer_form():
    table = PAGES[0].read_text().split("| kind | ops |\n|---|---|\n")[1].split("\n\n")[0]
    told = [op.strip() for row in table.splitlines() for op in row.split("|")[2].split(",")]
    assert sorted(op.strip("*") for op in told) == sorted(parity.op_names())
    integer = {name.split()[0] for name in quantized.BUILDERS} | {"UNIDIRECTIONAL_SEQUENCE_LSTM", "SVDF"}
    assert {op.strip("*") for op in told if op.startswith("*")} == integer


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_that_a_page_names_is_its_tasks(page):
    for name, words in re.findall(r"\binv ([a-z][a-z-]*)\b((?: [^\s`;|&#)]+)*)", page.read_text()):
        assert name in TASKS, name
        known = {f"--{flag}".replace("_", "-") for flag in inspect.signature(TASKS[name].body).parameters}
        assert set(re.findall(r"(?<=\s)--[\w-]+", words)) <= known, f"inv {name}{words}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page):
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_files_that_contributing_names_are_there():
    named = re.findall(r"`([a-z_.]+/[a-z_./]*)`", (settings.ROOT / "CONTRIBUTING.md").read_text())
    folders = (settings.ROOT, settings.ROOT / "delegate_native")
    assert len(named) > 10
    assert [name for name in named if not any((folder / name).exists() for folder in folders)] == []


def test_the_files_in_the_table_of_tests_are_there():
    rows = re.findall(r"^\| (`.*?) \|", (settings.ROOT / "docs" / "testing.md").read_text(), re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([\w/]+\.(?:py|cc))`", row)]
    tests = [str(path.relative_to(settings.ROOT / "tests")) for path in (settings.ROOT / "tests").rglob("*.*")]
    assert len(named) > 40
    assert [name for name in named if not any(f"/{there}".endswith(f"/{name}") for there in tests)] == []


def test_the_pages_have_each_exit_status_of_devices():
    rows = "\n".join((settings.ROOT / "docs" / name).read_text() for name in ("devices.md", "transfers.md"))
    told = {name: int(status) for status, name in re.findall(r"^\| (\d+) \| `(\w+)` \|", rows, re.MULTILINE)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.DeviceError)]
    assert told == {kind.__name__: kind.exit_code for kind in kinds if kind is not errors.DeviceError}
