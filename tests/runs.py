"""Where the cases run: backends, targets and precisions, in one table that all tests of ops share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.vectors import Case

BACKENDS = ("opencl", "gles")
PRECISIONS = ("f32", "f32_f16", "f16")
# Ops whose kernels are generated for the target's vectors and registers.
_SHAPED = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "Convolution2DTransposeBias"})
_GRAPHS = frozenset({"graph", "rewrite"})  # where few bindings keep apart what would be merged
_ALL = None
_SAMPLED = frozenset()
_QUICK_PER_OP = 2  # of those that are sampled


@dataclass(frozen=True)
class Run:
    """A target by its name; "" is the device's own. Of the ops in `whole` every case is quick, of the others the
    first few; None means all ops."""

    backend: str
    target: str
    precision: str = "f32"
    whole: frozenset[str] | None = _SAMPLED

    @property
    def id(self) -> str:
        return "-".join([self.backend, self.target or "own"] + [self.precision] * (self.precision != "f32"))

    def takes(self, case: Case) -> bool:
        return case.place != "cpu" and (self.precision == "f32" or case.half)


# The device's own target: with OpenCL on a CPU these are CPU-shaped kernels. Phones' targets: one with images, one
# with buffers. Every case is quick on both backends; `inv parity` runs all of them everywhere.
RUNS = (
    Run("opencl", "", "f32", _ALL),
    Run("opencl", "adreno-640", "f32", _ALL),
    Run("opencl", "mali-g76", "f32", _ALL),
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
            seen[case.op] = seen.get(case.op, 0) + 1
            quick = run.whole is _ALL or case.op in run.whole or seen[case.op] <= _QUICK_PER_OP
            made.append(pytest.param(case, run, id=f"{case.id}-{run.id}", marks=[] if quick else pytest.mark.slow))
    return made
