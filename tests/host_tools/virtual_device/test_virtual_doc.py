"""docs/virtual_device.md tells of every command, and of every step and kind of fault, as the tables of the program do."""

import re

from host_tools.base import settings
from host_tools.virtual_device import faults, shell_service  # noqa: F401  (fills the table of commands)
from host_tools.virtual_device.call import COMMANDS

PAGE = settings.ROOT / "docs" / "virtual_device.md"


def test_the_page_has_all_steps_and_kinds():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `") and "adb 36" not in line]
    steps = [f"| `{step}` | {when} | {kinds} |" for step, when, kinds in faults.table()]
    kinds = [
        f"| `{kind}` | {about.text} | {about.value} | {'until cleared' if about.lasting else 'once'} |"
        for kind, about in faults.KINDS.items()
    ]
    assert [row for row in rows if row in (*steps, *kinds)] == [*steps, *kinds]
    named = {row.split("`")[1] for row in rows}
    assert {name for name in named if ":" not in name} <= {*faults.STEPS, *faults.KINDS}
    assert f"| (any) | | {', '.join(faults.ANYWHERE)} |" in PAGE.read_text()


def test_the_page_has_all_commands():
    rows = [
        line
        for line in PAGE.read_text().splitlines()
        if line.startswith(("| shell |", "| files |", "| system |", "| apps, "))
    ][:4]
    named = {word.split()[0] for row in rows for word in re.findall(r"`([a-z][^`]*)`", row)}
    assert named - {"cd", "exec", "exit", "export"} == {name.split()[0] for name in COMMANDS}
