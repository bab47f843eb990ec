"""`inv overflow` finds what half precision has no number for, and the ops that make and read it."""

import json

import numpy as np

from host_tools.tasks import command_line
from tests.model_builder import Model


def asked(raw: bytes, tmp_path, capsys) -> dict:
    path = tmp_path / "m.tflite"
    path.write_bytes(raw)
    assert command_line.main(["overflow", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert command_line.main(["overflow", str(path)]) == 0
    return {**found, "shown": capsys.readouterr().out}


def chain(*factors: float) -> bytes:
    m = Model()
    x = m.input((1, 2, 2, 4))
    for factor in factors:
        x = m.mul(x, np.full((1, 1, 1, 4), factor, np.float32))
    m.output(x)
    return m.bytes()


def test_what_overflows_is_named_with_its_maker_and_readers(tmp_path, capsys):
    found = asked(chain(10, 1e5, 1e-5, 2), tmp_path, capsys)
    assert found["at_risk"] == [1, 2]  # the constant 1e5 and the product; who reads the product
    assert "2 ops make or read what half cannot hold: 1 MUL, 2 MUL" in found["shown"]
    largest = {row["node"]: row["largest"] for row in found["tensors"] if row["node"] >= 0}
    assert 1 < largest[0] <= 10 and largest[1] > 65504 > largest[2]


def test_a_model_with_small_numbers_has_no_risk(tmp_path, capsys):
    found = asked(chain(1, 2), tmp_path, capsys)
    assert found["at_risk"] == [] and "nothing overflows half" in found["shown"]


def test_what_is_not_finite_with_floats_is_told_first(tmp_path, capsys):
    m = Model()
    x = m.mul(m.input((1, 2, 2, 4)), np.full((1, 1, 1, 4), 1e4, np.float32))
    m.output(m.unary("EXP", m.mul(x, x)))
    found = asked(m.bytes(), tmp_path, capsys)
    assert "not finite with floats already" in found["shown"] and "(2 EXP)" in found["shown"]
