"""Plans by the words of a command line: a run, a file, a folder with a plan in it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_tools.base import settings
from host_tools.base.errors import Misuse
from host_tools.record import checked_plan, plan_view, reading, run_folder
from host_tools.record.checked_plan import Plan
from host_tools.record.run_folder import RunFolder


@dataclass(frozen=True)
class NamedPlan:
    """One plan, and where it comes from."""

    path: Path
    value: dict[str, Any]  # as plan_view reads it
    run: RunFolder | None = None  # whose partition it is

    @property
    def partition(self) -> int:
        """Of its run; 0: it is of none."""
        number = self.path.parent.name.removeprefix("partition_")
        return int(number) if self.run and number.isdigit() else 0

    def plan_bytes(self) -> bytes:
        """Those of the plan itself."""
        return reading.content(self.path, plan_view.MOST_BYTES)

    def checked(self) -> Plan:
        return checked_plan.checked(self.value, str(self.path))


def find(word: str) -> list[NamedPlan]:
    """The plans that a word means, one per partition of a run. Misuse: there are none, or they cannot be read."""
    path = Path(word).expanduser()
    inside = path / plan_view.FILE
    file = path if path.is_file() else inside if inside.is_file() else None
    if file:
        return [NamedPlan(file, plan_view.read(file))]
    try:
        run = run_folder.find(word, settings.read().runs_dir)
    except Misuse as error:
        raise Misuse(
            f"find the plan '{word}'", error.came_back, f"give the path of a plan's file, or {error.do_next}"
        ) from error
    return [NamedPlan(path, plan_view.read(path), run) for path in plan_view.of_run(run)]
