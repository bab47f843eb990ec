"""Plans by the words of a command line: a run, a file (also one of a cache), a folder with a plan in it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_tools.base import settings
from host_tools.base.errors import Misuse
from host_tools.record import cache_file, checked_plan, plan_view, reading, run_folder
from host_tools.record.cache_file import CacheFile
from host_tools.record.checked_plan import Plan
from host_tools.record.run_folder import RunFolder


@dataclass(frozen=True)
class NamedPlan:
    """One plan, and where it comes from."""

    path: Path
    value: dict[str, Any]  # as plan_view reads it
    run: RunFolder | None = None  # whose partition it is
    kept: CacheFile | None = None  # the file of a cache that it is in

    @property
    def partition(self) -> int:
        """Of its run; 0: it is of none."""
        number = self.path.parent.name.removeprefix("partition_")
        return int(number) if self.run and number.isdigit() else 0

    def plan_bytes(self) -> bytes:
        """Those of the plan itself."""
        return self.kept.plan() if self.kept else reading.content(self.path, plan_view.MOST_BYTES)

    def checked(self) -> Plan:
        return checked_plan.checked(self.value, str(self.path))


def of_file(path: Path) -> NamedPlan:
    """The plan of a file: one that was dumped, made, or kept in a cache. Misuse: it cannot be read."""
    if not cache_file.is_one(path):
        return NamedPlan(path, plan_view.read(path))
    kept = cache_file.read(path)
    return NamedPlan(path, plan_view.decode(kept.plan(), str(path)), kept=kept)


def find(word: str) -> list[NamedPlan]:
    """The plans that a word means, one per partition of a run. Misuse: there are none, or they cannot be read."""
    path = Path(word).expanduser()
    inside = path / plan_view.FILE
    file = path if path.is_file() else inside if inside.is_file() else None
    if file:
        return [of_file(file)]
    try:
        run = run_folder.find(word, settings.read().runs_dir)
    except Misuse as error:
        raise Misuse(
            f"find the plan '{word}'", error.came_back, f"give the path of a plan's file, or {error.do_next}"
        ) from error
    return of_run(run)


def of_run(run: RunFolder) -> list[NamedPlan]:
    """The plans of a run, one per partition. Misuse: there are none, or they cannot be read."""
    return [NamedPlan(path, plan_view.read(path), run) for path in plan_view.of_run(run)]
