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

from rich.console import Console
from rich.markup import escape

from host_tools.base import child_process, settings
from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.base.text_table import Table, number, text

_DEADLINE_S = 3600.0
_SLOWER = 10  # drivers beside the usual ones
_SHOWN_FAILURES = 40

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


def show(found: Parity, console: Console) -> None:
    where = f" on the driver {escape(found.driver)}" if found.driver else ""
    console.print(f"[bold]Ops{where}: right vectors of all, by backend, precision and storage[/]")
    for backend in dict.fromkeys(
        backend for backend, _, _ in found.columns
    ):  # side by side they are wider than a terminal
        columns = [column for column in found.columns if column[0] == backend]
        table = Table([text(f"\n{backend}"), *(number("\n".join(column[1:])) for column in columns)])
        for op in found.ops:
            table.add_row(escape(op), *(found.cells[op, column].shown() for column in columns))
        table.show(console)
        console.print()
    console.print(
        "37/37  vectors that ran wholly on the GPU and are right, of those that fit in the precision\n"
        "hole   no vector runs there: the op or the storage is missing\n"
        "f32    floats · f32_f16  kept as halves, computed in floats\n"
        "f16    computed in halves, too, where the language has them: in OpenGL ES; OpenCL computes in floats\n"
        "buffer, image  where tensors are kept: kernels of the targets mali-g76-buffers and adreno-640",
        highlight=False,
    )
    failures = list(found.failures())
    for line in failures[:_SHOWN_FAILURES]:
        console.print(f"[red]✗[/] {escape(line)}", highlight=False)
    if len(failures) > _SHOWN_FAILURES:
        console.print(f"… and {len(failures) - _SHOWN_FAILURES} more (--json has all)")
    if not failures:
        console.print(
            f"[green]✓[/] {len(found.ops)} op{'s' * (len(found.ops) != 1)}, right in all {len(found.columns)} columns"
        )


def to_json(found: Parity) -> dict[str, Any]:
    def one(column: Column, cell: Cell) -> dict[str, Any]:
        wrong = [{"vector": vector, "reason": reason} for vector, reason in cell.failures]
        named = dict(zip(("backend", "precision", "storage"), column))
        return {**named, "passed": cell.passed, "total": cell.total, "failures": wrong}

    rows = [{"op": op, "cells": [one(c, found.cells[op, c]) for c in found.columns]} for op in found.ops]
    return {"schema_version": 1, "driver": found.driver, "rows": rows}


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
