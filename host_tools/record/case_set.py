"""Test cases that a device runs in batches: small models and their inputs in one file, what is expected of them in another,
and a list of both. Tests make them (tests/device_cases.py); a device sees the models and inputs only.
"""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from host_tools.base import digests

LIST, PACK, EXPECTED = "cases.json", "cases.pack", "expected.npz"
BACKENDS, PRECISIONS, STORAGES = ("opencl", "gles"), ("f32", "f32_f16", "f16"), ("buffer", "image")
_ALIGNMENT = 64  # of a model in the file

Span = tuple[int, int]  # offset and bytes in the pack


@dataclass(frozen=True)
class Column:
    """Where a case runs on a device: a column of the table."""

    backend: str
    precision: str
    storage: str

    @property
    def name(self) -> str:
        return f"{self.backend}/{self.precision}/{self.storage}"


COLUMNS = {column.name: column for column in (Column(*words) for words in product(BACKENDS, PRECISIONS, STORAGES))}


@dataclass(frozen=True)
class Part:
    """One test case, alone in its model or beside others: the next `outputs` outputs are its own. tolerance and least_range:
    by precision, as parts of an output's range, and the least that counts as a range."""

    id: str
    kind: str  # vector, graph, dead lanes, model
    op: str
    outputs: int
    tolerance: Mapping[str, float]
    least_range: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One model to be run, in columns by their names."""

    columns: tuple[str, ...]
    model: Span
    inputs: tuple[Span, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class CaseSet:
    """Cases in a folder; expected: arrays of each case, in the order of its outputs."""

    folder: Path
    cases: tuple[Case, ...]
    quirks: tuple[str, ...]  # symptoms that a target may switch on
    expected: tuple[tuple[np.ndarray, ...], ...]

    @property
    def pack(self) -> Path:
        return self.folder / PACK

    def digest(self) -> str:
        """Another one for other cases."""
        return digests.sha256_of(self.folder / LIST)


class Writer:
    """Writes a set of cases into a folder, case by case."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._pack = folder, bytearray()
        self._cases: list[dict[str, Any]] = []
        self._expected: dict[str, np.ndarray] = {}
        self._spans: dict[bytes, Span] = {}

    def add(
        self,
        model: bytes,
        feeds: Sequence[np.ndarray],
        expected: Sequence[np.ndarray],
        parts: Iterable[Part],
        columns: Iterable[str],
    ) -> None:
        spans = [self._place(_npy(feed)) for feed in feeds]
        for index, array in enumerate(expected):
            self._expected[f"{len(self._cases)}/{index}"] = array
        case = Case(tuple(columns), self._place(model), tuple(spans), tuple(parts))
        self._cases.append(asdict(case))

    def finish(self, quirks: Sequence[str]) -> None:
        (self._folder / PACK).write_bytes(bytes(self._pack))
        np.savez(self._folder / EXPECTED, **self._expected)  # type: ignore[arg-type]
        (self._folder / LIST).write_text(json.dumps({"quirks": list(quirks), "cases": self._cases}))

    def _place(self, content: bytes) -> Span:
        if content not in self._spans:
            self._pack += bytes(-len(self._pack) % _ALIGNMENT)
            self._spans[content] = (len(self._pack), len(content))
            self._pack += content
        return self._spans[content]


def read(folder: Path) -> CaseSet:
    """What Writer wrote there."""
    listed = json.loads((folder / LIST).read_text())
    cases = []
    for row in listed["cases"]:
        parts = tuple(Part(**part) for part in row["parts"])
        inputs = tuple((offset, size) for offset, size in row["inputs"])
        cases.append(Case(tuple(row["columns"]), (row["model"][0], row["model"][1]), inputs, parts))
    with np.load(folder / EXPECTED) as arrays:
        counts = [sum(part.outputs for part in case.parts) for case in cases]
        expected = tuple(tuple(arrays[f"{i}/{j}"] for j in range(count)) for i, count in enumerate(counts))
    return CaseSet(folder, tuple(cases), tuple(listed["quirks"]), expected)


def choose(source: CaseSet, folder: Path, columns: Callable[[Case], Iterable[str]]) -> None:
    """Writes the cases of another set that have columns, for these."""
    writer, pack = Writer(folder), source.pack.read_bytes()
    for case, expected in zip(source.cases, source.expected):
        there = list(columns(case))
        if there:
            model, *feeds = (pack[offset : offset + size] for offset, size in (case.model, *case.inputs))
            arrays = [np.lib.format.read_array(io.BytesIO(feed)) for feed in feeds]
            writer.add(model, arrays, expected, case.parts, there)
    writer.finish(source.quirks)


def _npy(array: np.ndarray) -> bytes:
    text = io.BytesIO()
    np.lib.format.write_array(text, np.ascontiguousarray(array).reshape(array.shape), version=(1, 0))
    return text.getvalue()
