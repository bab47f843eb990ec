"""Where the cases run: backends, targets and precisions, in one table that all tests of ops share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.vectors import Case

BACKENDS = ("opencl", "gles")
PRECISIONS = ("f32", "f32_f16", "f16")
# Ops whose kernels are generated for the target's vectors and registers.
_SHAPED = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"})
_GRAPHS = frozenset({"graph", "rewrite"})  # where few bindings keep apart what would be merged
_ALL = None
_PHONES = _SHAPED | _GRAPHS
_SAMPLED = frozenset()
_QUICK_PER_OP = 2  # of those that are sampled


@dataclass(frozen=True)
class Run:
    """A target by its name; "" is the device's own. Of the ops in `whole` every case is quick, of the others the
    first few; None means all ops. `turn`: every second one of the others is quick, too, the even or the odd ones."""

    backend: str
    target: str
    precision: str = "f32"
    whole: frozenset[str] | None = _SAMPLED
    turn: str = ""

    @property
    def id(self) -> str:
        return "-".join([self.backend, self.target or "own"] + [self.precision] * (self.precision != "f32"))

    def takes(self, case: Case) -> bool:
        return case.place != "cpu" and (self.precision == "f32" or case.half)

    def is_quick(self, case: Case, number: int) -> bool:
        """number: of the case among those of its op that the run takes, from 0."""
        if self.whole is _ALL or case.op in self.whole or number < _QUICK_PER_OP:
            return True
        return self.turn == ("odd" if number % 2 else "even")


# The device's own target: with OpenCL on a CPU these are CPU-shaped kernels. Phones' targets: one with images, one
# with buffers. Every case is quick on both backends, and with OpenCL on one of the phones; `inv parity` runs all of them
# everywhere.
RUNS = (
    Run("opencl", "", "f32", _ALL),
    Run("opencl", "adreno-640", "f32", _PHONES, turn="even"),
    Run("opencl", "mali-g76", "f32", _PHONES, turn="odd"),
    Run("opencl", "generic", "f32"),
    Run("opencl", "cpu-avx512", "f32"),
    Run("opencl", "cpu-avx2", "f32", _SHAPED),
    Run("opencl", "", "f32_f16"),
    Run("opencl", "adreno-640", "f32_f16"),
    Run("opencl", "mali-g76", "f32_f16"),
    Run("gles", "", "f32", _ALL),
    Run("gles", "adreno-640", "f32", _SHAPED),
    Run("gles", "mali-g76", "f32"),
    Run("gles", "generic-gles", "f32", _GRAPHS),
    Run("gles", "", "f32_f16"),
    Run("gles", "adreno-640", "f32_f16"),
    Run("gles", "mali-g76", "f32_f16"),
    Run("gles", "", "f16"),
    Run("gles", "adreno-640", "f16"),
    Run("gles", "mali-g76", "f16"),
)


def params(cases: Iterable[Case]) -> list:
    """Every case with every run that takes it; what is not quick is marked slow."""
    cases, made = list(cases), []
    for run in RUNS:
        seen: dict[str, int] = {}
        for case in filter(run.takes, cases):
            number = seen.get(case.op, 0)
            seen[case.op] = number + 1
            marks = [] if run.is_quick(case, number) else pytest.mark.slow
            made.append(pytest.param(case, run, id=f"{case.id}-{run.id}", marks=marks))
    return made
