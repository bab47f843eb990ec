"""What came of cases on a device: which are right, and the account of all as JSON that can be shown to others."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from host_tools.judge.mismatch import mismatch
from host_tools.record.case_set import COLUMNS, Case, Column, Part

RIGHT, WRONG, REFUSED, DIED = VERDICTS = ("right", "wrong", "refused", "died")
KINDS = {"vector": "vectors", "graph": "graphs", "dead lanes": "dead lanes", "model": "models"}
_SHOWN_SLOWEST = 12
_LONGEST = 400  # letters of a reason
_REASONS = 3  # of nodes on the CPU


@dataclass(frozen=True)
class Row:
    """A case in a column, by its name. died: it ended the process, or came to no end."""

    part: str
    kind: str
    op: str
    column: str
    verdict: str
    reason: str = ""


@dataclass(frozen=True)
class Measured:
    """One model that ran."""

    parts: tuple[str, ...]
    column: str
    start_ms: float
    run_ms: float
    programs: int


@dataclass(frozen=True)
class Tried:
    """What was changed for a case that is not right, and which of the changes make it right."""

    part: str
    column: str
    changes: tuple[str, ...]
    mends: tuple[str, ...]


@dataclass
class Found:
    """All of it. absent: why columns could not run, by their names; apis: what drivers say, by the API: a target, or why it
    is not there."""

    device: dict[str, Any]
    apis: dict[str, dict[str, Any]]
    library: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    interruptions: list[str] = field(default_factory=list)  # why and where it broke off, and was taken up again
    finished: bool = False
    quick: bool = False
    time: str = ""


def judge(
    case: Case,
    column: Column,
    outputs: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    report: Mapping[str, Any],
    may_use_cpu: bool = False,
) -> list[Row]:
    """A row for each part of a model that ran. may_use_cpu: nodes there are no reason to refuse it."""
    nodes = [node for node in report["nodes"] if node["on"] != "gpu"]
    refused = "; ".join(f"{node['op']}: {node['reason']}" for node in nodes[:_REASONS])
    if report["backend"] != column.backend and not nodes:
        refused = f"it ran on {report['backend']}"
    if refused and not may_use_cpu:
        return all_of(case, column, REFUSED, refused)
    rows, first = [], 0
    for part in case.parts:
        wrong = _mismatch(part, column, outputs[first : first + part.outputs], expected[first : first + part.outputs])
        rows.append(_row(part, column, WRONG if wrong else RIGHT, wrong))
        first += part.outputs
    return rows


def all_of(case: Case, column: Column, verdict: str, reason: str) -> list[Row]:
    return [_row(part, column, verdict, reason) for part in case.parts]


def _row(part: Part, column: Column, verdict: str, reason: str) -> Row:
    return Row(part.id, part.kind, part.op, column.name, verdict, _short(reason.strip()))


def _short(reason: str) -> str:
    """A compiler's log may be long."""
    return reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]} …"


def _mismatch(part: Part, column: Column, got: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> str:
    if len(got) != part.outputs:
        return f"{len(got)} outputs instead of {part.outputs}"
    most, least = part.tolerance[column.precision], part.least_range.get(column.precision, 1e-30)
    reasons = (mismatch(one, wanted, most, least) for one, wanted in zip(got, expected, strict=True))
    return next(filter(None, reasons), "")


def bad(found: Found) -> list[Row]:
    return [row for row in found.rows if row.verdict != RIGHT]


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """By verdict."""
    counted = Counter(row.verdict for row in rows)
    return {verdict: counted[verdict] for verdict in VERDICTS}


def document(found: Found) -> dict[str, Any]:
    """As JSON: device, costs, counts, everything that is not right, the slowest."""
    mends = {(one.part, one.column): one for one in found.tried}
    wrong = []
    for row in bad(found):
        tried = mends.get((row.part, row.column))
        more = {"tried": list(tried.changes), "mends": list(tried.mends)} if tried else {"tried": [], "mends": []}
        wrong.append({**asdict(row), **more})
    slowest = sorted(found.measured, key=lambda one: -one.start_ms)[:_SHOWN_SLOWEST]
    return {
        "schema_version": 1,
        "time": found.time,
        "finished": found.finished,
        "quick": found.quick,
        "route": "shell",
        "device": found.device,
        "apis": found.apis,
        "library": found.library,
        "cost": found.cost,
        "left_out": found.left_out,
        "interruptions": found.interruptions,
        "totals": counts(found.rows),
        "columns": [_column(found, name) for name in COLUMNS],
        "ops": _ops(found.rows),
        "not_right": wrong,
        "slowest": [asdict(one) for one in slowest],
    }


def _column(found: Found, name: str) -> dict[str, Any]:
    mine = [row for row in found.rows if row.column == name]
    kinds = {kind: counts(row for row in mine if row.kind == kind) for kind in KINDS}
    return {**asdict(COLUMNS[name]), "absent": found.absent.get(name, ""), "kinds": kinds}


def _ops(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The vectors of each op, in the columns where it has some."""
    ops: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        if row.kind == "vector":
            ops.setdefault(row.op, {}).setdefault(row.column, []).append(row)
    return [
        {"op": op, "columns": {name: counts(columns[name]) for name in COLUMNS if name in columns}}
        for op, columns in sorted(ops.items())
    ]
