"""Results of equal inferences, compared bit by bit: a digest of each value, and a few of the arrays themselves.

A value is an output, or a tensor that a dispatch made. NaN payloads and the sign of zero count.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from host_tools.base.errors import RunFailed, not_written
from host_tools.record import reading, schema
from host_tools.record.schema_fields import number

_MOST_ARRAYS = 8  # kept of one value
Result = tuple[str, ...]  # a digest for each value


def digest(array: np.ndarray) -> str:
    """Of shape, type and every bit."""
    head = f"{array.dtype.str} {array.shape} ".encode()
    return hashlib.blake2b(head + np.ascontiguousarray(array).tobytes(), digest_size=8).hexdigest()


@dataclass
class Recorder:
    """Results of one inference after the other. folder: where the first arrays of each value are kept, by digest."""

    folder: Path
    names: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def add(self, values: Mapping[str, np.ndarray]) -> None:
        """One inference: the same names each time."""
        self.names = list(values)
        found = tuple(digest(array) for array in values.values())
        for index, (one, array) in enumerate(zip(found, values.values())):
            path = self.folder / f"{one}.npy"
            if not path.exists() and len({result[index] for result in self.results}) < _MOST_ARRAYS:
                _write(path, array)
        self.results.append(found)

    @property
    def distinct(self) -> int:
        return len(set(self.results))

    def as_file(self) -> schema.Repeats:
        """What another process reads."""
        kinds = list(dict.fromkeys(self.results))
        at = {kind: index for index, kind in enumerate(kinds)}
        return schema.Repeats(
            names=self.names, results=[list(kind) for kind in kinds], inferences=[at[one] for one in self.results]
        )


@dataclass
class Repeats:
    """Results of all inferences that are compared with each other."""

    folder: Path  # of the arrays
    names: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def take(self, found: schema.Repeats) -> None:
        """Adds those of a process. RunFailed: it has other values than those before it."""
        if self.names and self.names != found.names:
            came_back = f"{len(found.names)} outputs and tensors, and {len(self.names)} before: their plans differ"
            raise RunFailed("compare two processes", came_back, "run the model again, and compare with `./inv diff`")
        self.names = list(found.names)
        self.results += [tuple(found.results[index]) for index in found.inferences]

    def usual(self) -> Result:
        """For each value the digest that most inferences have; the first of those with as many."""
        return tuple(Counter(column).most_common(1)[0][0] for column in zip(*self.results))

    def different(self) -> list[int]:
        """The inferences in which some value is not the usual one."""
        usual = self.usual()
        return [index for index, result in enumerate(self.results) if result != usual]

    def spread(self, value: int) -> schema.Spread:
        """How one value, by its place among the names, differs from the usual one."""
        column = [result[value] for result in self.results]
        usual = Counter(column).most_common(1)[0][0]
        found = schema.Spread(inferences=sum(one != usual for one in column))
        expected = self._array(usual)
        for one in dict.fromkeys(column):
            array = self._array(one) if one != usual else None
            if expected is None or array is None or array.shape != expected.shape:
                continue
            found.numbers = int(expected.size)
            different, largest = difference(array, expected)
            found.different = max(found.different, different)
            found.max_error = number(max(float(found.max_error), largest, key=_magnitude))
        return found

    def _array(self, digest: str) -> np.ndarray | None:
        path = self.folder / f"{digest}.npy"
        return reading.array(path) if path.exists() else None


def difference(array: np.ndarray, expected: np.ndarray) -> tuple[int, float]:
    """How many numbers have other bits, and the largest difference; NaN where one side has NaN and the other a number."""
    width = array.dtype.itemsize
    mine, theirs = (np.ascontiguousarray(one).view(np.uint8).reshape(-1, width) for one in (array, expected))
    at = np.flatnonzero((mine != theirs).any(axis=1))
    a, b = array.ravel()[at].astype(np.float64), expected.ravel()[at].astype(np.float64)
    if not at.size:
        return 0, 0.0
    both = np.isnan(a) & np.isnan(b)  # other payloads alone
    with np.errstate(invalid="ignore"):
        gaps = np.where(both | (a == b), 0.0, np.abs(a - b))
    return int(at.size), float("nan") if np.isnan(gaps).any() else float(gaps.max())


def _magnitude(value: float) -> float:
    return float("inf") if np.isnan(value) else value


def _write(path: Path, array: np.ndarray) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, array, allow_pickle=False)
    except OSError as error:
        raise not_written(f"write {path}", error) from error
