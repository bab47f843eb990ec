"""The folder of runs as a list: each run, bench, regression run and parity run in it, with what a reader looks for it by."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from host_tools.base.errors import QuadraError
from host_tools.base.units import counted
from host_tools.record import printed, reading, run_folder, run_names, schema
from host_tools.record.run_folder import RunFolder

T = TypeVar("T")
# By kind: the file of figures that a folder has from its start or its end on.
FIGURES = {"run": "spec.json", "bench": printed.BenchDocument.FILE, "regress": "regress.json", "parity": "parity.json"}
_DAMAGED, _UNFINISHED = "damaged", "unfinished"


class _Cell(schema.Part):
    verdict: str
    device: str
    error: str


class _Regression(schema.Part):
    """What is read of regress.json."""

    suite: str
    state: str
    cells: list[_Cell]


class _Parity(schema.Part):
    """What is read of parity.json."""

    finished: bool
    not_right: list[Any]


@dataclass(frozen=True)
class Entry:
    """A folder among the runs.

    kind: run, bench, regress or parity. subject: its model, models or suite. place: where it ran. result: right, wrong, or
    how it ended. ended: seconds since 1970. bytes: of all its files.
    """

    path: Path
    kind: str
    subject: str
    place: str
    result: str
    ended: float
    bytes: int
    backend: str = ""
    precision: str = ""

    @property
    def name(self) -> str:
        return self.path.name


def folders(runs_dir: Path) -> dict[str, float]:
    """Names of the folders, the newest last, and when each ended. One that is at work in a run is not among them."""
    found = {}
    with contextlib.suppress(OSError), os.scandir(runs_dir) as entries:
        for entry in entries:
            kind = run_names.kind(entry.name) or "run"
            if entry.is_dir(follow_symlinks=False) and (kind != "run" or os.path.exists(f"{entry.path}/spec.json")):
                if entry.name[0] != ".":
                    found[entry.name] = _ended(Path(entry.path), kind)
    return dict(sorted(found.items(), key=lambda one: (one[1], one[0])))


def read(path: Path) -> Entry:
    """A folder of `folders`. What is damaged in it is said, and raises nothing."""
    kind = run_names.kind(path.name) or "run"
    size, ended = sum(_sizes(path)), _ended(path, kind)
    try:
        subject, place, result, *more = _READERS[kind](path)
    except (QuadraError, ValueError, RecursionError):  # ValueError: all of msgspec's
        missing = kind != "run" and not (path / FIGURES[kind]).exists()
        subject, place, result, more = run_names.subject(path.name), "", _UNFINISHED if missing else _DAMAGED, []
    return Entry(path, kind, subject, place, result, ended, size, *more)


def _ended(path: Path, kind: str) -> float:
    """When its last file was written; of one that did not finish, when it began."""
    figures = path / (schema.Status.FILE if kind == "run" else FIGURES[kind])
    files = [figures] if kind == "run" else [figures, figures.with_suffix(".html")]
    return max((one.stat().st_mtime for one in files if one.exists()), default=path.stat().st_mtime)


def _sizes(path: Path) -> Iterator[int]:
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _sizes(Path(entry.path))
            else:
                with contextlib.suppress(OSError):
                    yield entry.stat(follow_symlinks=False).st_size


def _run(path: Path) -> tuple[str, ...]:
    folder = RunFolder(path)
    spec = folder.spec()
    place = spec.device if spec.place == "device" else spec.place
    report = folder.optional(schema.Verdicts)
    backend = report.backend if report else str(spec.options.get("backend", "auto"))
    return spec.label, place, _result(folder), backend, str(spec.options.get("precision", "f32"))


def _result(folder: RunFolder) -> str:
    """As `run --json` has it; of one that did not finish how it ended."""
    state = folder.status().state if folder.has(schema.Status.FILE) else _UNFINISHED
    if state != run_folder.COMPLETE:
        return state.replace("_", " ")
    compared, same = folder.optional(schema.Compared), folder.optional(schema.Determinism)
    if (compared and not compared.ok) or (same and not same.ok):
        return "wrong"
    return "right" if compared else "not judged"


def _bench(path: Path) -> tuple[str, ...]:
    found = _document(path, printed.BenchDocument)
    ours = [row.runners.get("quadra") for row in found.rows]
    wrong = any(one is None or one.error or one.right is False for one in ours)
    result = "wrong" if wrong else "right"
    subject = found.models[0] if len(found.models) == 1 else counted(len(found.models), "model")
    return subject, found.place, result if found.finished else _UNFINISHED, ", ".join(found.backends)


def _regression(path: Path) -> tuple[str, ...]:
    found = _document(path, _Regression)
    verdicts = {"failed" if cell.error else cell.verdict for cell in found.cells}
    result = next((one for one in ("failed", "regressed", "inconclusive") if one in verdicts), "passed")
    places = dict.fromkeys(cell.device for cell in found.cells)
    return found.suite, ", ".join(places), result if found.state == run_folder.COMPLETE else found.state


def _parity(path: Path) -> tuple[str, ...]:
    found = _document(path, _Parity)
    result = "wrong" if found.not_right else "right"
    return "", "device", result if found.finished else _UNFINISHED


def _document(path: Path, type_: type[T]) -> T:
    return msgspec.json.decode(
        reading.content(path / FIGURES[run_names.kind(path.name)], reading.JSON_BYTES), type=type_
    )


_READERS = {"run": _run, "bench": _bench, "regress": _regression, "parity": _parity}
