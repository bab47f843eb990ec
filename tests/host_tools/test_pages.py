"""The README and the pages of docs/ name the tasks, options and exit statuses that there are."""

import inspect
import re

import pytest
from invoke import Task

import tasks
from host_tools.base import errors, settings

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


def test_the_pages_have_each_exit_status_of_devices():
    rows = "\n".join((settings.ROOT / "docs" / name).read_text() for name in ("devices.md", "transfers.md"))
    told = {name: int(status) for status, name in re.findall(r"^\| (\d+) \| `(\w+)` \|", rows, re.MULTILINE)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.DeviceError)]
    assert told == {kind.__name__: kind.exit_code for kind in kinds if kind is not errors.DeviceError}
