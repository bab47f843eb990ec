"""No op lacks a backend, a precision or a storage: the quick form of `./inv parity`."""

from __future__ import annotations

import pytest

from tests import parity
from tests.vectors import all_cases


@pytest.mark.parametrize("cell", parity.CELLS, ids=lambda c: f"{c.backend}-{c.precision}-{c.storage}")
def test_every_op_runs_there(quadra_for, cell):
    found = list(parity.results(quadra_for(parity.STORAGES[cell.storage]), parity.op_names(), [cell], most=1))
    holes = {*parity.op_names()} - {result["op"] for result in found}
    assert not holes
    failures = [f"{result['op']} {result['case']}: {result['wrong']}" for result in found if result["wrong"]]
    assert not failures


def test_ops_are_those_that_the_vectors_name():
    named = {case.op for case in all_cases() if case.place != "cpu"}
    assert named - {*parity.op_names()} == {"graph", "rewrite"} & named
    assert {*parity.op_names()} <= named
