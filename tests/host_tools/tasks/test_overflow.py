"""`inv overflow` finds what half precision has no number for, and the ops that make and read it."""

import json

import numpy as np
import pytest

from host_tools.tasks import command_line, float32_nodes
from tests.model_builder import Model


def asked(raw: bytes, tmp_path, capsys) -> dict:
    path = tmp_path / "m.tflite"
    path.write_bytes(raw)
    assert command_line.main(["overflow", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert command_line.main(["overflow", str(path)]) == 0
    return {**found, "shown": capsys.readouterr().out}


def chain(*factors: float, fused: bool = True) -> bytes:
    """Multiplications, which run as one kernel if they are fused."""
    m = Model()
    x = m.input((1, 2, 2, 4))
    for factor in factors:
        x = m.mul(x, np.full((1, 1, 1, 4), factor, np.float32))
        x = x if fused else m.max_pool2d(x, (1, 1))
    m.output(x)
    return m.bytes()


def test_what_overflows_is_named_with_its_maker_and_readers(tmp_path, capsys):
    found = asked(chain(10, 1e5, 1e-5, 2), tmp_path, capsys)
    assert found["at_risk"] == [1, 2]  # the constant 1e5 and the product; who reads the product
    assert "2 ops make or read what half cannot hold: 1 MUL, 2 MUL" in found["shown"]
    largest = {row["node"]: row["largest"] for row in found["tensors"] if row["node"] >= 0}
    assert 1 < largest[0] <= 10 and largest[1] > 65504 > largest[2]


@pytest.mark.parametrize("backend", ["opencl", pytest.param("gles", marks=pytest.mark.slow)])
def test_the_nodes_to_leave_in_float32_are_found(backend, tmp_path, capsys, library, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    path = tmp_path / "m.tflite"
    path.write_bytes(chain(3, 1e3, 1e3, 2, 2, 1e-3, 1e-3, 2, fused=False))
    words = [str(path), f"--library={library}", f"--backend={backend}"]
    assert command_line.main(["overflow", *words, "--error=0.01", "--range=1,2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["search"]["half_error"] == "inf" and found["search"]["error"] < 0.01
    option = ",".join(map(str, found["search"]["nodes"]))
    assert set(found["search"]["nodes"]) <= set(found["at_risk"]) and found["search"]["smallest"]
    run = ["run", *words, "--range=1,2", "--precision=f16", "--runs=1"]
    assert command_line.main(run) == 1 and command_line.main([*run, f"--float32-nodes={option}"]) == 0
    assert command_line.main(["overflow", *words, "--error=0.01", "--range=1,2"]) == 0
    assert f"float32_nodes={float32_nodes.words(found['search']['nodes'])}" in capsys.readouterr().out


def found_by(search: float32_nodes.Search, at_risk=()) -> tuple:
    found = search.find(at_risk)
    return found.nodes, found.smallest


@pytest.mark.parametrize("needed", [{3}, {3, 17, 40}, {1, 2, 3, 4}])
def test_the_search_ends_with_the_nodes_that_are_needed(needed):
    own = {node: 1 / (1 + abs(node - 17)) for node in range(50)}
    error = lambda nodes: 0.001 if needed <= set(nodes) else float("nan")  # noqa: E731
    search = float32_nodes.Search(error, lambda nodes: own, range(50), 0.01)
    assert found_by(search, at_risk=(1, 2, 3, 90)) == (tuple(sorted(needed)), True)
    assert len(search.errors) <= 40
    assert found_by(float32_nodes.Search(lambda nodes: 0.001, lambda nodes: own, range(50), 0.01)) == ((), True)
    assert found_by(float32_nodes.Search(lambda nodes: 0.1, lambda nodes: own, range(50), 0.01)) == (None, True)


def test_lists_of_nodes_are_written_as_the_option_has_them():
    assert float32_nodes.words((20, 12, 14, 13)) == "12-14,20" and float32_nodes.words(()) == ""


def test_a_model_with_small_numbers_has_no_risk(tmp_path, capsys):
    found = asked(chain(1, 2), tmp_path, capsys)
    assert found["at_risk"] == [] and "nothing overflows half" in found["shown"]


def test_what_is_not_finite_with_floats_is_told_first(tmp_path, capsys):
    m = Model()
    x = m.mul(m.input((1, 2, 2, 4)), np.full((1, 1, 1, 4), 1e4, np.float32))
    m.output(m.unary("EXP", m.mul(x, x)))
    found = asked(m.bytes(), tmp_path, capsys)
    assert "not finite with floats already" in found["shown"] and "(2 EXP)" in found["shown"]
