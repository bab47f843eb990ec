"""A parity run on a device, step by step: what is run there, and what came of it in the log."""

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from host_tools.base import child_process, installed, settings
from host_tools.base.errors import Misuse
from host_tools.base.units import counted
from host_tools.judge import judged_cases as judged
from host_tools.judge.judged_cases import DIED, REFUSED, RIGHT, Measured, Row, Tried
from host_tools.parity.device_parity_log import Log, key
from host_tools.places import cases_on_device
from host_tools.places.cases_on_device import CasesOnDevice, Job, Result
from host_tools.record import case_set
from host_tools.record.case_set import BACKENDS, COLUMNS, CaseSet, Column
from host_tools.request import mends
from host_tools.request.mends import Mend

MOST_MENDED = 20  # cases, each of another op, API and storage
_DEADLINE_S = 600.0  # of making cases
# In the wheel: folders of sets, and in each the file of what was left out.
PACKED_ALL, PACKED_QUICK, PACKED_ALONE, LEFT_OUT = "cases/all", "cases/quick", "cases/alone", "left_out.json"
_NO_MODELS = "models: they are files, which an installed quadra-tools does not have; `run` judges them"
_OPEN = "open"  # of a part in a model that did not run: it is repeated alone
Show = Callable[[str], None]
Planned = tuple[str, Job, Column, bool]  # key of the log, job, where, whether nodes may be on the CPU


def case_maker(ops: Sequence[str], quick: bool) -> "CaseMaker":
    """A clone makes cases, an installed toolkit chooses among those that it has."""
    return PackedCases(ops, quick) if installed.INSTALLED else CaseMaker(ops, quick)


class CaseMaker:
    """Makes sets of cases, in a process of the tests."""

    def __init__(self, ops: Sequence[str], quick: bool) -> None:
        self._ops, self._quick = ops, quick
        self._words = [f"--op={op}" for op in ops] + ["--quick"] * quick
        self.left_out: list[str] = []

    @contextlib.contextmanager
    def made(self, alone: Sequence[str] = ()) -> Iterator[CaseSet]:
        """alone: of these cases a model each, for every column; none: all cases, where they belong."""
        with tempfile.TemporaryDirectory(prefix="quadra-parity-") as folder:
            words = [folder, *self._words]
            if alone:
                listed = Path(folder) / "alone.json"
                listed.write_text(json.dumps(list(alone)))
                words += ["--alone", str(listed)]
            argv = [sys.executable, "-m", "tests.device_cases", *words]
            done = child_process.run(argv, cwd=settings.ROOT, timeout_s=_DEADLINE_S)
            said = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
            _check_ops(said.get("unknown", ()), said.get("known", ()))
            self.left_out = said["left_out"] if not alone else self.left_out
            yield case_set.read(Path(folder))


class PackedCases(CaseMaker):
    """Chooses among the sets that a release made: all cases, several in a model, or the quick ones; and each alone."""

    @contextlib.contextmanager
    def made(self, alone: Sequence[str] = ()) -> Iterator[CaseSet]:
        if not alone and not self._ops:
            packed = installed.PREBUILT / (PACKED_QUICK if self._quick else PACKED_ALL)
            self.left_out = [*json.loads((packed / LEFT_OUT).read_text()), _NO_MODELS]
            yield case_set.read(packed)
            return
        columns = self._columns()
        with tempfile.TemporaryDirectory(prefix="quadra-parity-") as folder:
            every = case_set.read(installed.PREBUILT / PACKED_ALONE)
            if alone:
                wanted = {*alone}
                case_set.choose(every, Path(folder), lambda case: case.columns if case.parts[0].id in wanted else ())
            else:
                case_set.choose(every, Path(folder), lambda case: columns.get(case.parts[0].id, ()))
            yield case_set.read(Path(folder))

    def _columns(self) -> dict[str, tuple[str, ...]]:
        """Those in which the vectors of the ops run, by their names. Misuse: there is no such op."""
        every = case_set.read(installed.PREBUILT / (PACKED_QUICK if self._quick else PACKED_ALL))
        vectors = [(part, case.columns) for case in every.cases for part in case.parts if part.kind == "vector"]
        known = sorted({part.op for part, _ in vectors})
        _check_ops([op for op in self._ops if op not in known], known)
        return {part.id: columns for part, columns in vectors if part.op in self._ops}


def _check_ops(unknown: Sequence[str], known: Sequence[str]) -> None:
    if unknown:
        raise Misuse("parity", f"no such op: {', '.join(unknown)}", f"there are {', '.join(known)}")


class Session:
    """One device and what is known of it."""

    def __init__(self, runner: CasesOnDevice, log: Log, show: Show) -> None:
        self.runner, self.log, self._show = runner, log, show
        self.at = "the start"  # what the device is doing, in words
        self.facts: dict[str, dict[str, Any]] = {}
        self.absent: dict[str, str] = {}  # by column

    def probe(self, cases: CaseSet) -> None:
        """Asks each API for its target, by a small model."""
        small = min(range(len(cases.cases)), key=lambda i: cases.cases[i].model[1])
        jobs = [Job(small, _options(backend, "f32")) for backend in BACKENDS]
        waiting = [i for i, backend in enumerate(BACKENDS) if not self.log.has(key("api", backend))]

        def result(number: int, one: Result) -> None:
            backend = BACKENDS[waiting[number]]
            report = one.report or {}
            facts = report.get("device", {}).get("target") if report.get("backend") == backend else None
            notes = "; ".join(report.get("backend_notes", []))
            reason = "" if facts else one.died or one.error or notes or "the driver gives no reason"
            made = {name: report.get(name, "") for name in ("version", "made_by")}
            self.log.add(key("api", backend), facts=facts or {}, reason=reason, **made)

        if waiting:
            self.runner.run(cases, [jobs[i] for i in waiting], result, self._begins([BACKENDS[i] for i in waiting]))
        for (backend,), line in self.log.of("api"):
            self.facts[backend] = line["facts"]
            for name, column in COLUMNS.items():
                if column.backend == backend:
                    self._look(name, column, line)

    def _look(self, name: str, column: Column, line: dict[str, Any]) -> None:
        if line["reason"]:
            self.absent[name] = line["reason"]
        elif column.storage == "image" and not all(line["facts"].get("max_image2d", [0])):
            self.absent[name] = "the device has no images"

    def main(self, cases: CaseSet) -> None:
        planned = []
        for name, column in COLUMNS.items():
            for index, case in enumerate(cases.cases):
                if name in case.columns and name not in self.absent:
                    planned.append((key("main", index, name), self._job(index, column), column, False))
        self._run(cases, planned)

    def alone(self, maker: CaseMaker) -> None:
        """The parts of models that did not run."""
        waiting = [(row.part, row.column) for row in self._rows("main") if row.verdict == _OPEN]
        waiting = [one for one in waiting if not self.log.has(key("alone", *one))]
        if not waiting:
            return
        with maker.made(sorted({part for part, _ in waiting})) as cases:
            where = _index(cases)
            planned = [
                (key("alone", part, name), self._job(where[part, name], COLUMNS[name]), COLUMNS[name], False)
                for part, name in waiting
            ]
            self._run(cases, planned)

    def mend(self, maker: CaseMaker) -> None:
        """What may mend the first cases that are not right, one of each op, API and storage."""
        chosen: dict[tuple[str, ...], Row] = {}
        for row in self.rows():
            column = COLUMNS[row.column]
            if row.verdict != RIGHT and cases_on_device.HUNG not in row.reason:
                chosen.setdefault((row.op or row.part, column.backend, column.storage), row)
        rows = list(chosen.values())[:MOST_MENDED]
        if not rows:
            return
        with maker.made(sorted({row.part for row in rows})) as cases:
            where, planned = _index(cases), []
            for row in rows:
                column = COLUMNS[row.column]
                for mend in mends.table(column, self.facts[column.backend], cases.quirks).values():
                    there = replace(column, **mend.column)
                    index = where[row.part, row.column]
                    if mend.may_use_cpu and row.verdict == REFUSED:
                        continue  # it is on the CPU already
                    if there.name in self.absent or there.precision not in cases.cases[index].parts[0].tolerance:
                        continue
                    name = key("mend", row.part, row.column, mend.name)
                    planned.append((name, self._job(index, there, mend), there, mend.may_use_cpu))
            self._run(cases, planned)

    def rows(self) -> list[Row]:
        """A row for each case in each column that it ran in."""
        alone = {(row.part, row.column): row for row in self._rows("alone")}
        found = (alone.get((row.part, row.column), row) for row in self._rows("main"))
        return [replace(row, verdict=REFUSED) if row.verdict == _OPEN else row for row in found]

    def tried(self) -> list[Tried]:
        found: dict[tuple[str, str], list[tuple[str, bool]]] = {}
        for (part, column, change), line in self.log.of("mend"):
            found.setdefault((part, column), []).append((change, all(r["verdict"] == RIGHT for r in line["rows"])))
        return [Tried(*where, tuple(c for c, _ in tries), _mends(tries)) for where, tries in found.items()]

    def measured(self) -> list[Measured]:
        """Models that ran in the first pass."""
        return [
            Measured(tuple(row["part"] for row in line["rows"]), column, *line["measured"])
            for (_, column), line in self.log.of("main")
            if line["measured"]
        ]

    def programs(self) -> int:
        lines = [line for kind in ("main", "alone", "mend") for _, line in self.log.of(kind)]
        return sum(line["measured"][2] for line in lines if line["measured"])

    def runs(self) -> int:
        return sum(1 for kind in ("main", "alone", "mend") for _ in self.log.of(kind))

    def _rows(self, kind: str) -> list[Row]:
        return [Row(**row) for _, line in self.log.of(kind) for row in line["rows"]]

    def _job(self, index: int, column: Column, mend: Mend = mends.AGAIN) -> Job:
        options = {**_options(column.backend, column.precision), **mend.options}
        return Job(index, options, mends.target(self.facts[column.backend], column.storage, mend.target))

    def _run(self, cases: CaseSet, planned: Sequence[Planned]) -> None:
        """Runs what is not in the log yet."""
        waiting = [one for one in planned if not self.log.has(one[0])]
        bad = [0]

        def result(number: int, one: Result) -> None:
            name, job, column, may_use_cpu = waiting[number]
            rows = _judged(cases, job.case, column, one, may_use_cpu)
            self.log.add(name, rows=[asdict(row) for row in rows], measured=_measured(one))
            bad[0] += sum(row.verdict != RIGHT for row in rows)
            self._show(f"{number + 1} of {len(waiting)} runs, {bad[0]} cases not right; {name.split('|')[-1]}")

        labels = [f"{_label(cases, job.case)} on {column.name}" for _, job, column, _ in waiting]
        self.runner.run(cases, [job for _, job, _, _ in waiting], result, self._begins(labels))

    def _begins(self, labels: Sequence[str]) -> Callable[[int], None]:
        def begins(number: int) -> None:
            self.at = labels[number]

        return begins


def _mends(tries: Sequence[tuple[str, bool]]) -> tuple[str, ...]:
    """Where nothing need be changed, what else makes it right says nothing."""
    right = tuple(change for change, is_right in tries if is_right)
    return (mends.AGAIN.name,) if mends.AGAIN.name in right else right


def _options(backend: str, precision: str) -> dict[str, str]:
    return {"backend": backend, "precision": precision, "small_partitions_allowed": "1"}


def _index(cases: CaseSet) -> dict[tuple[str, str], int]:
    """Of cases that are alone: by part and column."""
    return {(case.parts[0].id, name): index for index, case in enumerate(cases.cases) for name in case.columns}


def _label(cases: CaseSet, index: int) -> str:
    parts = cases.cases[index].parts
    return parts[0].id + (f" and {counted(len(parts) - 1, 'other')}" if len(parts) > 1 else "")


def _judged(cases: CaseSet, index: int, column: Column, one: Result, may_use_cpu: bool) -> list[Row]:
    case = cases.cases[index]
    if one.report is None:
        verdict, reason = (DIED, one.died) if one.died else (REFUSED, one.error)
        rows = judged.all_of(case, column, verdict, reason)
    else:
        rows = judged.judge(case, column, one.outputs, cases.expected[index], one.report, may_use_cpu)
    if len(rows) > 1 and rows[0].verdict in (DIED, REFUSED):
        return [replace(row, verdict=_OPEN) for row in rows]
    return rows


def _measured(one: Result) -> list[float]:
    """Milliseconds of the start, of the first inference, and distinct kernels."""
    if one.report is None or one.laps_us is None:
        return []
    run_us = one.laps_us["first_invoke_us"]
    programs = sum(partition["programs"] for partition in one.report["partitions"])
    return [round((one.laps_us["total_us"] - run_us) / 1000, 1), round(run_us / 1000, 1), programs]
