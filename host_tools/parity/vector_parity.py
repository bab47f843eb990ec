"""Every op on both backends, in every precision and storage: which of its test vectors are right.

The vectors are the tests' own, so they run in a process of the tests (tests/parity.py), which says in JSON what
came of each.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from host_tools.base import child_process, settings
from host_tools.base.errors import JudgementFailed, Misuse, require_clone

_DEADLINE_S = 3600.0
_SLOWER = 10  # drivers beside the usual ones

Column = tuple[str, str, str]  # backend, precision, storage


@dataclass
class Cell:
    """What came of an op's vectors in one place. No vector at all is a hole."""

    total: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)  # vector, what is wrong

    @property
    def passed(self) -> int:
        return self.total - len(self.failures)

    @property
    def is_right(self) -> bool:
        return self.total > 0 and not self.failures

    def shown(self) -> str:
        if not self.total:
            return "[bold red]hole[/]"
        color = "green" if self.is_right else "bold red"
        return f"[{color}]{self.passed}/{self.total}[/]"


@dataclass(frozen=True)
class Parity:
    """The table: rows are ops by their TFLite names."""

    ops: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: dict[tuple[str, Column], Cell]
    driver: str = ""  # a row of the table of drivers; empty: the usual ones

    def failures(self) -> Iterator[str]:
        """A line for each hole and each failed vector."""
        for (op, column), cell in self.cells.items():
            where = f"{op} on {' '.join(column)}"
            if not cell.total:
                yield f"{where}: a hole, no vector runs there"
            yield from (f"{where}: {vector}: {reason}" for vector, reason in cell.failures)


def measure(library: Path, ops: Sequence[str], quick: bool, show: Callable[[str], None], driver: str = "") -> Parity:
    """Runs the vectors of `ops` (all when empty); with quick only a few of each. driver: a row of the table of drivers."""
    require_clone("run vectors on this machine (`inv parity --on` runs them on a device)")
    seen: list[dict[str, Any]] = []

    def on_line(line: str) -> None:
        if not line.startswith("{"):
            return
        seen.append(json.loads(line))
        if len(seen) > 1 and "total" in seen[0]:
            last = seen[-1]
            show(f"{len(seen) - 1} of {seen[0]['total']} vectors, {last['op']} on {' '.join(_column(last))}")

    argv = [sys.executable, "-m", "tests.parity", library, *(["--quick"] if quick else [])]
    argv += [f"--op={op}" for op in ops] + ([f"--driver={driver}"] if driver else [])
    deadline_s = _DEADLINE_S * (_SLOWER if driver else 1)
    child_process.run(argv, cwd=settings.ROOT, timeout_s=deadline_s, on_line=on_line)
    return replace(read(seen), driver=driver)


def read(lines: Sequence[dict[str, Any]]) -> Parity:
    """The table from what the process said."""
    head, results = lines[0], lines[1:]
    if "unknown" in head:
        raise Misuse("parity", f"no such op: {', '.join(head['unknown'])}", f"there are {', '.join(head['known'])}")
    columns = tuple(_column(cell) for cell in head["cells"])
    cells = {(op, column): Cell() for op in head["ops"] for column in columns}
    for result in results:
        cell = cells[result["op"], _column(result)]
        cell.total += 1
        if result["wrong"]:
            cell.failures.append((result["case"], result["wrong"]))
    return Parity(tuple(head["ops"]), columns, cells)


def fail_if_wrong(found: Parity) -> None:
    """JudgementFailed when a vector is wrong or a cell is a hole."""
    bad = [cell for cell in found.cells.values() if not cell.is_right]
    if bad:
        raise JudgementFailed(
            "parity",
            f"{len(bad)} of {len(found.cells)} cells have a failure or are holes",
            "`./inv test --only 'OP and BACKEND'` shows the vectors of one",
        )


def _column(value: dict[str, Any]) -> Column:
    return value["backend"], value["precision"], value["storage"]
