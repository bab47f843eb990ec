"""No op lacks a backend, a precision or a storage: test_vectors.py runs a case of each in every cell of `./inv parity`."""

from __future__ import annotations

import pytest

from tests import parity, runs
from tests.vectors import all_cases


@pytest.mark.parametrize("cell", parity.CELLS, ids=lambda c: f"{c.backend}-{c.precision}-{c.storage}")
def test_every_op_runs_there(cell):
    target = parity.STORAGES[cell.storage]
    (run,) = [r for r in runs.RUNS if (r.backend, r.target, r.precision) == (cell.backend, target, cell.precision)]
    seen: dict[str, int] = {}
    covered = set()
    for case in (c for c in all_cases() if run.takes(c)):
        if run.is_quick(case, seen.setdefault(case.op, 0)) and case.place == "gpu":
            covered.add(case.op)
        seen[case.op] += 1
    assert {*parity.op_names()} <= covered


@pytest.mark.parametrize("storage", parity.STORAGES)
@pytest.mark.parametrize("backend", runs.BACKENDS)
def test_tensors_are_kept_as_the_cell_says(quadra, backend, storage):
    assert parity.keeps(quadra, parity.Cell(backend, "f32", storage)) == storage


def test_ops_are_those_that_the_vectors_name():
    named = {case.op for case in all_cases() if case.place != "cpu"}
    assert named - {*parity.op_names()} == {"graph", "rewrite"} & named
    assert {*parity.op_names()} <= named
