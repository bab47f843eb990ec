"""The README and the pages of docs/ name the tasks, options, parts and exit statuses that there are."""

import fnmatch
import inspect
import re

import pytest
from invoke import Task

import tasks
from host_tools import errors, settings

PAGES = [settings.ROOT / "README.md", *sorted((settings.ROOT / "docs").glob("*.md"))]
TASKS = {name.replace("_", "-"): task for name, task in vars(tasks).items() if isinstance(task, Task)}


def test_the_readme_has_a_row_for_each_task():
    table = PAGES[0].read_text().split("| task |")[1].split("\n\n")[0]
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)) == sorted(TASKS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_that_a_page_names_is_its_tasks(page):
    for name, words in re.findall(r"\binv ([a-z][a-z-]*)\b((?: [^\s`;|&#)]+)*)", page.read_text()):
        assert name in TASKS, name
        known = {f"--{flag}".replace("_", "-") for flag in inspect.signature(TASKS[name].body).parameters}
        assert set(re.findall(r"(?<=\s)--[\w-]+", words)) <= known, f"inv {name}{words}"


def test_the_architecture_page_has_each_part_of_the_toolkit():
    told = PAGES[0].with_name("docs").joinpath("architecture.md").read_text().split("## The toolkit")[1].split("\n## ")[0]
    named = [name.rstrip("/") for name in re.findall(r"`([\w*]+/?)`", told)]
    folder = settings.ROOT / "host_tools"
    parts = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert [part for part in sorted(parts - {"__init__"}) if not any(fnmatch.fnmatch(part, name) for name in named)] == []


def test_the_pages_have_each_exit_status_of_devices():
    rows = "\n".join((settings.ROOT / "docs" / name).read_text() for name in ("devices.md", "transfers.md"))
    told = {name: int(status) for status, name in re.findall(r"^\| (\d+) \| `(\w+)` \|", rows, re.MULTILINE)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.DeviceError)]
    assert told == {kind.__name__: kind.exit_code for kind in kinds if kind is not errors.DeviceError}
