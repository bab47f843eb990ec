"""Where the cases run: backends, targets and precisions, in one table that all tests of ops share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pytest

from tests import on_driver
from tests.vectors import Case
from tests.vectors.batch import batches

BACKENDS = ("opencl", "gles")
PRECISIONS = ("f32", "f32_f16", "f16")
# Ops whose kernels are generated for the target's vectors and registers.
_SHAPED = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"})
_GRAPHS = frozenset({"graph", "rewrite"})  # where few bindings keep apart what would be merged
_ALL = None
_PHONES = _SHAPED | _GRAPHS
_SAMPLED = frozenset()
_HALF_RANGE = frozenset({"half_range"})


@dataclass(frozen=True)
class Run:
    """A target by its name; "" is the device's own. Of the ops in `whole` every case is quick (None: of all). Of the others
    `others` are with floats (one, but on a row of the table of drivers), and one with half in every third op: the runs with
    half take turns. Runs with a `turn`, 0 or 1, share the cases of shaped ops between them (but on a row). One `on_rows` has
    quick cases only there."""

    backend: str
    target: str
    precision: str = "f32"
    whole: frozenset[str] | None = _SAMPLED
    others: int = 2
    turn: int | None = None
    on_rows: bool = False

    @property
    def id(self) -> str:
        return "-".join([self.backend, self.target or "own"] + [self.precision] * (self.precision != "f32"))

    def __str__(self) -> str:
        return self.id

    def takes(self, case: Case) -> bool:
        return case.place != "cpu" and (self.precision == "f32" or case.half)

    def is_quick(self, case: Case, number: int, is_its_turn: bool) -> bool:
        """number: of the case among those of its op that the run takes, from 0."""
        if self.on_rows and not on_driver.session():
            return False
        if self.whole is _ALL or case.op in self.whole:
            return self.turn is None or case.op not in _SHAPED or number % 2 == self.turn
        if self.precision != "f32":
            return number == 0 and is_its_turn
        return number < self.others


# The device's own target: with OpenCL on a CPU these are CPU-shaped kernels. Phones' targets: one with images, one
# with buffers. Every case is quick on both backends, and its GPU-shaped kernels run under Oclgrind (test_oclgrind.py);
# the first one of each op runs with images (whose reads are what PoCL compiles slowest), and with buffers those of ops
# whose kernels depend on the target. On targets
# that are content with a single work-item the small cases have the tiles of large images; these, and vectors of AVX2,
# are for the ops whose kernels they change. `inv parity` runs all of them everywhere.
RUNS = (
    Run("opencl", "", "f32", _ALL),
    Run("opencl", "adreno-640", "f32", others=1),
    Run("opencl", "mali-g76-buffers", "f32", _PHONES, others=1, turn=0),
    Run("opencl", "generic", "f32"),
    # Its images lie in the arena where a driver makes images over buffers; a phone's are so small there that they do not.
    Run("opencl", "large-tiles", "f32", _SHAPED, others=0, turn=1),
    Run("opencl", "large-tiles", "f16", on_rows=True),
    Run("opencl", "cpu-avx512", "f32"),
    Run("opencl", "cpu-avx2", "f32", _SHAPED, others=0),
    Run("opencl", "", "f32_f16", _HALF_RANGE),
    Run("opencl", "adreno-640", "f32_f16", _HALF_RANGE),
    Run("opencl", "mali-g76-buffers", "f32_f16", _HALF_RANGE),
    # Drivers on rows may compute in half; the usual one does not.
    Run("opencl", "adreno-640", "f16", _HALF_RANGE, on_rows=True),
    Run("opencl", "mali-g76-buffers", "f16", _HALF_RANGE, on_rows=True),
    Run("gles", "", "f32", _ALL),
    Run("gles", "adreno-640", "f32", _SHAPED, others=1, turn=0),
    Run("gles", "mali-g76-buffers", "f32"),
    Run("gles", "large-tiles-gles", "f32", _SHAPED, others=0, turn=1),
    Run("gles", "generic-gles", "f32", _GRAPHS, others=0),
    Run("gles", "", "f32_f16", _HALF_RANGE),
    Run("gles", "adreno-640", "f32_f16", _HALF_RANGE),
    Run("gles", "mali-g76-buffers", "f32_f16", _HALF_RANGE),
    Run("gles", "", "f16", _HALF_RANGE),
    Run("gles", "adreno-640", "f16", _HALF_RANGE),
    Run("gles", "mali-g76-buffers", "f16", _HALF_RANGE),
)


def params(cases: Iterable[Case]) -> list:
    """Every case with every run that takes it. Quick ones share models: those of an
    op, or of any where there is only a sample of each. The others are alone, and slow."""
    cases, made = list(cases), []
    for turn, run in enumerate(map(_within_reach, RUNS)):
        if run.backend not in on_driver.backends(BACKENDS):
            continue
        seen: dict[str, int] = {}
        quick = []
        for case in filter(run.takes, cases):
            number = seen.get(case.op, 0)
            seen[case.op] = number + 1
            if run.is_quick(case, number, is_its_turn=(list(seen).index(case.op) + turn) % 3 == 0):
                quick.append(case)
            else:
                made.append(pytest.param(case, run, id=f"{case.id}-{run.id}", marks=pytest.mark.slow))
        sampled = run.whole in (_SAMPLED, _HALF_RANGE)
        together = batches(quick, key=lambda case: None if sampled else case.op)
        made += [pytest.param(case, run, id=f"{case.id}-{run.id}") for case in together]
    return made


def _within_reach(run: Run) -> Run:
    """What a driver has the time for: with `inv test --drivers` more than in each run of all tests."""
    if on_driver.sample_only():
        return replace(run, whole=_SAMPLED, others=1)
    return replace(run, turn=None) if on_driver.session() else replace(run, others=min(run.others, 1))


def in_turn(cases: Iterable, places: list, quick: int, name=lambda case: case.id) -> list:
    """Every case at every place, of which it is quick at so many: the cases take turns."""
    step = len(places) // quick
    return [
        pytest.param(
            case, *place, id="-".join([name(case), *map(str, place)]), marks=[pytest.mark.slow] * ((i + j) % step > 0)
        )
        for i, case in enumerate(cases)
        for j, place in enumerate(places)
    ]
