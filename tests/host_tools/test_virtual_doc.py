"""docs/virtual_device.md tells of every step and kind of fault, as the tables of the program do."""

from host_tools import settings
from host_tools.virtual_device import faults

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
