"""No op lacks a backend, a storage or half precision: test_vectors.py runs a case of each in the cells of `./inv parity`."""

from __future__ import annotations

import pytest

from tests import parity, runs
from tests.model_builder import LACKED
from tests.vectors import all_cases

CASES = [case for case in all_cases() if case.place != "cpu"]


QUICK = [
    (run, part)
    for case, run in (param.values for param in runs.params(CASES) if not param.marks)
    for part in getattr(case, "parts", (case,))
    if part.place == "gpu"
]  # what runs without --slow


@pytest.mark.parametrize("backend", runs.BACKENDS)
@pytest.mark.parametrize("target", parity.STORAGES.values())
def test_every_op_runs_there_with_floats(backend, target):
    ran = {case.op for run, case in QUICK if (run.backend, run.target, run.precision) == (backend, target, "f32")}
    assert {*parity.op_names()} <= ran


@pytest.mark.parametrize("backend", runs.BACKENDS)
def test_every_op_runs_with_half_somewhere(backend):
    """They take turns; `--slow` and `inv parity` run all everywhere."""
    assert {*parity.op_names()} <= {case.op for run, case in QUICK if run.backend == backend and run.precision != "f32"}


@pytest.mark.parametrize("storage", parity.STORAGES)
@pytest.mark.parametrize("backend", runs.BACKENDS)
def test_tensors_are_kept_as_the_cell_says(quadra, backend, storage):
    assert parity.keeps(quadra, parity.Cell(backend, "f32", storage)) == storage


# Of several ops, or of none alone.
_OTHERS = {
    "graph",
    "rewrite",
    "half_range",
    "int64",
    "norm",
    "group_norm",
    "rope",
    "silu",
    "attention",
    "channels_first",
}


def test_ops_are_those_that_the_vectors_name():
    named = {case.op for case in all_cases() if case.place != "cpu"}
    assert named - {*parity.op_names()} == _OTHERS & named
    assert {*parity.op_names()} <= named


def test_every_op_is_another_than_the_one_that_stays_on_the_cpu():
    assert LACKED not in parity.op_names(), (
        "many tests need a node on the CPU: LACKED of tests/model_builder.py is to be another op"
    )
