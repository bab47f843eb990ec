"""What the tests found on each row of the table of drivers: a file for each row, library and version of the driver.

A line of the file is one test; a test that was begun and not finished leaves no line, and runs again in the next start.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from host_tools.base import settings

# The kinds of tests that run on every row, and where they are.
KINDS = {
    "vectors": "tests/test_vectors.py",
    "graphs": "tests/test_random_graphs.py",
    "models": "tests/test_driver_models.py",
    "dead lanes": "tests/test_dead_lanes.py",
    "lifetimes": "tests/test_lifetime.py",
}
RIGHT, WRONG, REFUSED, KNOWN, SKIPPED = OUTCOMES = ("right", "wrong", "refused", "known", "skipped")
_KEPT_FILES = 8  # of a row: what other libraries and other versions of the driver did


class Origin(msgspec.Struct, frozen=True):
    """Whose results they are."""

    row: str
    library: str  # SHA-256 of the delegate's library
    device: str  # the driver's own words, with its version

    @property
    def path(self) -> Path:
        """Where they are kept."""
        device = hashlib.sha256(self.device.encode()).hexdigest()
        return folder() / self.row / f"{self.library[:12]}-{device[:8]}.jsonl"


class Case(msgspec.Struct, frozen=True):
    """What came of one case: right (note: what is remarkable all the same), wrong, refused, skipped, or known: wrong or refused
    for a fault of the driver. And why."""

    name: str
    outcome: str
    reason: str = ""
    seconds: float = 0.0


class Record(msgspec.Struct, frozen=True):
    """What came of one test, by pytest's name of it; several cases may share it."""

    test: str
    kind: str
    precision: str
    cases: list[Case]


class Session(msgspec.Struct, frozen=True):
    """The end of a start, and how long that took. whole: nothing is left to run."""

    wall_s: float
    whole: bool = False


@dataclass
class Results:
    """All that is kept for one row."""

    origin: Origin
    tests: dict[str, Record] = field(default_factory=dict)
    wall_s: float = 0.0
    whole: bool = False

    def count(self, kind: str, half: bool) -> Counter[str]:
        return Counter(case.outcome for test in self.of(kind, half) for case in test.cases)

    def seconds(self, kind: str, half: bool) -> float:
        return sum(case.seconds for test in self.of(kind, half) for case in test.cases)

    def of(self, kind: str, half: bool) -> list[Record]:
        return [test for test in self.tests.values() if test.kind == kind and (test.precision != "f32") == half]

    def faults(self) -> list[tuple[Record, Case]]:
        """The cases that are wrong or refused."""
        return [(t, case) for t in self.tests.values() for case in t.cases if case.outcome in (WRONG, REFUSED)]


def folder() -> Path:
    return settings.read().tools_dir / "driver-results"


def begin(origin: Origin, fresh: bool) -> Path:
    """The file that results are appended to; it has those of earlier starts, unless fresh."""
    path = origin.path
    settings.make_folder(path.parent, "QUADRA_TOOLS_DIR")
    if fresh or not path.exists():
        path.write_bytes(msgspec.json.encode(origin) + b"\n")
    others = sorted(path.parent.glob("*.jsonl"), key=lambda one: one.stat().st_mtime)
    for old in [one for one in others if one != path][: -_KEPT_FILES + 1]:
        old.unlink()
    return path


def append(path: Path, entry: Record | Session) -> None:
    """One line, in one piece, so that a process that is killed leaves whole lines, or one that readers leave out."""
    with open(path, "ab") as file:
        file.write(msgspec.json.encode(entry) + b"\n")


def read(path: Path) -> Results | None:
    """What a file has; None: it has no beginning, and says nothing. Lines that are no results are left out."""
    lines = path.read_bytes().splitlines()
    origin = _decoded(lines[0], Origin) if lines else None
    if not isinstance(origin, Origin):
        return None
    found = Results(origin)
    for line in lines[1:]:
        entry = _decoded(line, Record) or _decoded(line, Session)
        if isinstance(entry, Record):
            found.tests[entry.test] = entry
        elif isinstance(entry, Session):
            found.wall_s += entry.wall_s
            found.whole |= entry.whole
    return found


def latest(row: str) -> Results | None:
    """The results of a row that were written last; None: it has none."""
    paths = sorted((folder() / row).glob("*.jsonl"), key=lambda one: one.stat().st_mtime)
    return next(filter(None, map(read, reversed(paths))), None)


def _decoded(line: bytes, kind: type) -> object:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
