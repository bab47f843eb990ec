"""The cases of `parity --on` in an installed toolkit are those that a clone makes, but for models that are files."""

import json
from collections import defaultdict

import pytest

from host_tools.base import installed
from host_tools.base.errors import Misuse
from host_tools.parity import device_parity_session as session
from host_tools.record import case_set
from tests import device_cases

OPS = ("ADD", "GELU", "SOFTMAX")


@pytest.fixture
def packed(monkeypatch, tmp_path):
    """Sets of a few ops, where a wheel has those of all."""
    sets = {session.PACKED_ALL: False, session.PACKED_QUICK: True}
    for name, quick in sets.items():
        (tmp_path / name).mkdir(parents=True)
        left_out = device_cases.write(tmp_path / name, OPS, quick, set(), only_ops=True)
        (tmp_path / name / session.LEFT_OUT).write_text(json.dumps(left_out))
    parts = {part.id for case in case_set.read(tmp_path / session.PACKED_ALL).cases for part in case.parts}
    (tmp_path / session.PACKED_ALONE).mkdir()
    device_cases.write(tmp_path / session.PACKED_ALONE, OPS, False, parts, only_ops=True)
    monkeypatch.setattr(installed, "PREBUILT", tmp_path)
    monkeypatch.setattr(installed, "INSTALLED", True)


def columns_of(cases):
    found = defaultdict(set)
    for case in cases.cases:
        for part in case.parts:
            found[part.id] |= {*case.columns}
    return found


@pytest.mark.parametrize("quick", [False, True])
def test_vectors_of_an_op_run_where_they_run_in_a_clone(packed, quick):
    with session.case_maker(["GELU"], quick).made() as cases:
        ours = columns_of(cases)
        assert {part.op for case in cases.cases for part in case.parts} == {"GELU"}
        assert all(len(case.parts) == 1 for case in cases.cases) and cases.quirks
        digest = cases.digest()
    with session.case_maker([], quick).made() as cases:
        assert {name: columns for name, columns in columns_of(cases).items() if name in ours} == ours
        assert cases.digest() != digest


def test_all_of_them_and_one_alone(packed):
    maker = session.case_maker([], False)
    with maker.made() as cases:
        assert {part.op for case in cases.cases for part in case.parts} == {*OPS}
        assert maker.left_out[-1].startswith("models: they are files")
        first = cases.cases[0].parts[0].id
    with maker.made([first]) as cases:
        (case,) = cases.cases
        assert [part.id for part in case.parts] == [first] and {*case.columns} == {*case_set.COLUMNS}
        model = cases.pack.read_bytes()[case.model[0] : sum(case.model)]
    writer_of = session.CaseMaker([], False)
    with writer_of.made([first]) as cases:
        (made,) = cases.cases
        assert cases.pack.read_bytes()[made.model[0] : sum(made.model)] == model and made.columns == case.columns


def test_an_op_that_is_not_there_is_named(packed):
    with pytest.raises(Misuse, match="no such op: RELUX") as error, session.case_maker(["RELUX"], True).made():
        pass
    assert "ADD, GELU, SOFTMAX" in error.value.do_next
