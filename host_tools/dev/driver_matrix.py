"""The tests on the rows of the table of drivers, and what came of them as one matrix: `./inv test --drivers`.

The tests are pytest's own (`results.KINDS`), a session per row. What is kept for a row is not run again for the same library
and version of the driver, so a session that was stopped goes on where it was.
"""

import json
import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import structs
from rich.console import Console
from rich.markup import escape

from host_tools.base import child_process, digests, settings
from host_tools.base.errors import CommandFailed, JudgementFailed, Misuse, ToolMissing
from host_tools.base.progress import progress
from host_tools.base.text_table import Table, number, word
from host_tools.drivers import driver_table, results
from host_tools.drivers.driver import Driver
from host_tools.drivers.results import KINDS, KNOWN, OUTCOMES, REFUSED, RIGHT, SKIPPED, WRONG, Case, Record, Results

ALL = "all"
_PROBE_S, _SESSION_S = 900.0, 3 * 3600.0
_PROCESSES = os.cpu_count() or 2
_PART = re.compile(r"\[ *(\d+%)\]\s*$")  # pytest's own count at the end of a line of dots
_SHOWN_FAULTS, _LONGEST_SHOWN = 40, 300
_COLORS = {RIGHT: "green", WRONG: "bold red", REFUSED: "bold red", KNOWN: "yellow", SKIPPED: "yellow"}
_PRECISIONS = {False: "f32", True: "half"}


@dataclass(frozen=True)
class Asked:
    """The arguments of the task."""

    names: str
    slow: bool = False
    only: str = ""
    args: str = ""
    sanitizers: str = ""
    fresh: bool = False
    results: bool = False
    json: bool = False


@dataclass
class Matrix:
    """What is kept of the rows. absent: rows without results, or without all, and why."""

    rows: list[Results] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)

    def faults(self) -> int:
        return sum(len(row.faults()) for row in self.rows)


def do(asked: Asked, console: Console) -> None:
    """The task. Misuse: options that do not go together. JudgementFailed: a case is wrong or refused."""
    if not asked.names:
        raise Misuse("inv test", "--fresh, --results and --json are options of --drivers", "add --drivers")
    if asked.sanitizers:
        raise Misuse("inv test --drivers", "--sanitize is for the usual drivers", "omit --sanitize or --drivers")
    if asked.only or asked.args:
        if asked.fresh or asked.results or asked.json:
            do_next = "omit --only and --args, or --fresh, --results and --json"
            raise Misuse("inv test --drivers", "some of the tests alone are not kept", do_next)
        run_on_terminal(asked.names, asked.slow, asked.only, shlex.split(asked.args))
        return
    found = kept(asked.names) if asked.results else run(asked.names, asked.fresh, asked.slow)
    if asked.json:
        print(json.dumps(to_json(found), indent=1))
    else:
        show(found, console)
    fail_if_wrong(found)


def chosen(names: str) -> list[Driver]:
    """The rows of a list of names with commas between, or all. Misuse: a name is in no row."""
    wanted = {name.strip() for name in names.split(",")}
    rows = driver_table.DRIVERS if ALL in wanted else [driver_table.find(name) for name in wanted]
    return [driver for driver in driver_table.DRIVERS if driver in rows]


def run(names: str, fresh: bool, slow: bool) -> Matrix:
    """Runs what is not kept yet, row after row."""
    found = Matrix()
    for driver in chosen(names):
        with progress(f"test {driver.name}") as show:
            try:
                _run_row(driver, fresh, slow, show)
            except ToolMissing as error:
                found.absent[driver.name] = f"not tested: {error.came_back}; {error.do_next}"
                continue
            except CommandFailed as error:  # what was found until then is shown
                found.absent[driver.name] = f"not all: {error.came_back}; the same command goes on"
        if row := _latest(driver):
            found.rows.append(row)
    return found


def run_on_terminal(names: str, slow: bool, only: str, words: Sequence[str]) -> None:
    """Some of the tests, with pytest's own output, on each row; nothing is kept."""
    failed = []
    for driver in chosen(names):
        driver.enter()  # ToolMissing says how to get it
        argv = [sys.executable, "-m", "pytest", f"--driver={driver.name}", *(["--slow"] if slow else [])]
        argv += ["-k", only] if only else []
        files = [] if any("tests" in word for word in words) else list(KINDS.values())
        print(f"driver {driver.name}", flush=True)
        if child_process.hand_over([*argv, *files, *words], cwd=settings.ROOT):
            failed.append(driver.name)
    if failed:
        raise JudgementFailed(f"test on {', '.join(failed)}", "some failed, or none ran", "pytest says which above")


def kept(names: str) -> Matrix:
    """What is kept of earlier starts; nothing is run."""
    found = Matrix()
    for driver in chosen(names):
        if row := _latest(driver):
            found.rows.append(row)
        else:
            found.absent[driver.name] = f"not tested: nothing is kept; `./inv test --drivers {driver.name}`"
    return found


def _latest(driver: Driver) -> Results | None:
    """What is kept of a row, with the faults of the driver that are known by now."""
    row = results.latest(driver.name)
    if not row:
        return None
    for name, test in list(row.tests.items()):
        if what := driver.fault(name):
            row.tests[name] = structs.replace(test, cases=[_known(case, what) for case in test.cases])
    return row


def _known(case: Case, what: str) -> Case:
    return structs.replace(case, outcome=KNOWN, reason=what) if case.outcome in (WRONG, REFUSED) else case


def _run_row(driver: Driver, fresh: bool, slow: bool, show: Callable[[str], None]) -> None:
    """Completes the file of its results. ToolMissing: the driver is not here, or the delegate does not use it.
    CommandFailed: pytest did not finish."""
    argv: list[object] = [sys.executable, "-m", "tests.driver_probe", driver.name]
    done = child_process.run(argv, cwd=settings.ROOT, timeout_s=_PROBE_S, on_error_line=show)
    told = json.loads(done.stdout.splitlines()[-1])
    if "missing" in told:
        raise ToolMissing(*told["missing"])
    if told["problem"]:
        raise ToolMissing(f"test the driver {driver.name}", told["problem"], "`./inv doctor` says what is missing")
    origin = results.Origin(driver.name, digests.sha256_of(Path(told["library"])), told["device"])
    path = results.begin(origin, fresh)
    argv = [sys.executable, "-m", "pytest", "--quiet", "--tb=no", "--no-header", f"--numprocesses={_PROCESSES}"]
    argv += ["--dist=worksteal", f"--driver={driver.name}", f"--driver-results={path}", *(["--slow"] if slow else [])]

    def on_line(line: str) -> None:
        if part := _PART.search(line):
            show(f"{part[1]} of what is left")

    env = {} if driver.library else {"QUADRA_LIBRARY": told["library"]}
    done = child_process.run(
        [*argv, *KINDS.values()], cwd=settings.ROOT, timeout_s=_SESSION_S, env=env, check=False, on_line=on_line
    )
    if done.returncode not in (0, 1, 5):  # passed, some failed, nothing left to run
        tail = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-5:])
        raise CommandFailed(f"test the driver {driver.name}", f"pytest ended with {done.returncode}: {tail}")
    results.append(path, results.Session(0, whole=True))


def show(found: Matrix, console: Console) -> None:
    """The matrix, what is wrong or refused with the commands that repeat it, and what was skipped."""
    kinds, outcomes = (number(kind) for kind in KINDS), (number(outcome, 1) for outcome in OUTCOMES[1:])
    table = Table([word("driver"), *kinds, *outcomes, number("minutes")])
    for row in found.rows:
        for half, precision in _PRECISIONS.items():
            counts = {kind: row.count(kind, half) for kind in KINDS}
            whole = sum(counts.values(), Counter[str]())
            if whole or not half:
                numbers = [_colored(one, whole[one]) for one in OUTCOMES[1:]]
                minutes = "" if half else f"{row.wall_s / 60:.1f}"
                name = f"  {precision}" if half else escape(row.origin.row)
                table.add_row(name, *map(_cell, counts.values()), *numbers, minutes)
    table.show(console)
    console.print("12/13: right ones of those that ran in f32 · half: in f32_f16 and f16", highlight=False)
    for row in found.rows:
        told = f"{row.origin.row}: {escape(row.origin.device)}, library {row.origin.library[:12]}"
        console.print(f"[dim]{told}[/]", highlight=False)
        if not row.whole:
            go_on = f"`./inv test --drivers {row.origin.row}` goes on"
            console.print(f"[yellow]{row.origin.row}: not all of its tests have run; {go_on}[/]", highlight=False)
    for name, reason in found.absent.items():
        console.print(f"[yellow]{name}: {escape(reason)}[/]", highlight=False)
    _show_faults(found, console)
    _show_notes(found, console)


def _cell(counts: Counter[str]) -> str:
    ran = sum(counts.values()) - counts[SKIPPED]
    if not ran:
        return "–"
    return f"[{_COLORS[RIGHT if counts[RIGHT] == ran else WRONG]}]{counts[RIGHT]}/{ran}[/]"


def _colored(outcome: str, count: int) -> str:
    return f"[{_COLORS[outcome]}]{count}[/]" if count else "0"


def _show_faults(found: Matrix, console: Console) -> None:
    """A case that is wrong in several tests, as on several targets, is told once."""
    groups: dict[tuple[str, str, str], list[tuple[Record, Case]]] = {}
    for row in found.rows:
        for test, case in row.faults():
            name = "" if "\n" in case.name else case.name  # the text of a random graph
            groups.setdefault((row.origin.row, case.outcome, name or test.test), []).append((test, case))
    for (row_name, outcome, name), members in list(groups.items())[:_SHOWN_FAULTS]:
        test, case = members[0]
        count = f", {len(members)} times" if len(members) > 1 else ""
        reason = " ".join(case.reason.split())[:_LONGEST_SHOWN]
        console.print(f"[red]{outcome}[/] {row_name}, {escape(name)}{count}: {escape(reason)}", highlight=False)
        console.print(f"  {escape(command(row_name, test.test))}", highlight=False, soft_wrap=True)
    if len(groups) > _SHOWN_FAULTS:
        console.print(f"… and {len(groups) - _SHOWN_FAULTS} more (--json has all)")


def _show_notes(found: Matrix, console: Console) -> None:
    """Models that half storage alone moves by more than the usual tolerance, drivers' known faults, and why tests were skipped."""
    notes, skips = dict[str, list[str]](), Counter[tuple[str, str]]()
    for row in found.rows:
        for test in row.tests.values():
            for case in test.cases:
                if case.outcome == RIGHT and case.reason:
                    notes.setdefault(case.name, []).append(f"{row.origin.row} {test.precision}: {case.reason}")
                if case.outcome in (KNOWN, SKIPPED):
                    skips[f"[yellow]{case.outcome}[/] {row.origin.row}", case.reason] += 1
    if notes:
        console.print("Right by what half storage alone costs, not within 1e-2 of the range:")
    for name, rows in notes.items():
        console.print(f"  {escape(name)}: {escape('; '.join(dict.fromkeys(rows)))}", highlight=False)
    for (whose, reason), count in skips.items():
        console.print(f"{whose}, {count}: {escape(reason)}", highlight=False)


def command(row: str, test: str) -> str:
    """What runs a test again, with all that it says."""
    return f"./inv test --drivers {row} --args {shlex.quote(shlex.quote(test) if ' ' in test else test)}"


def to_json(found: Matrix) -> dict[str, Any]:
    return {"schema_version": 1, "rows": [_row_to_json(row) for row in found.rows], "not_tested": found.absent}


def _row_to_json(row: Results) -> dict[str, Any]:
    cells = [
        {
            "kind": kind,
            "precision": _PRECISIONS[half],
            **{outcome: row.count(kind, half)[outcome] for outcome in OUTCOMES},
            "seconds": round(row.seconds(kind, half), 1),
        }
        for kind in KINDS
        for half in (False, True)
        if row.of(kind, half)
    ]
    told = [
        {"test": test.test, "case": case.name, "precision": test.precision, "outcome": case.outcome,
         "reason": case.reason, "command": command(row.origin.row, test.test)}
        for test in row.tests.values()
        for case in test.cases
        if case.outcome != RIGHT or case.reason
    ]  # fmt: skip
    origin = {"driver": row.origin.row, "device": row.origin.device, "library": row.origin.library}
    return {**origin, "whole": row.whole, "minutes": round(row.wall_s / 60, 1), "cells": cells, "cases": told}


def fail_if_wrong(found: Matrix) -> None:
    """JudgementFailed when a case is wrong or refused."""
    if count := found.faults():
        raise JudgementFailed(
            "test on the drivers", f"{count} cases are wrong or refused", "the commands above repeat them"
        )
