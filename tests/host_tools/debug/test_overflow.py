"""`inv overflow` finds what half precision has no number for, and the ops that make and read it."""

import json

import numpy as np
import pytest

from host_tools.base.units import ranges_text
from host_tools.debug import float32_search
from host_tools.request import open_composites
from host_tools.request.submodel import Cutter
from host_tools.tasks import command_line
from tests import cpu
from tests.model_builder import Model
from tests.signature_models import with_signatures
from tests.vectors.composites import SHAPE, composite, rms_norm


def asked_of_each(raw: bytes, tmp_path, capsys, *words: str) -> list[dict]:
    path = tmp_path / "m.tflite"
    path.write_bytes(raw)
    assert command_line.main(["overflow", str(path), *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["signatures"]
    assert command_line.main(["overflow", str(path), *words]) == 0
    shown = capsys.readouterr().out
    return [{**one, "shown": shown} for one in found]


def asked(raw: bytes, tmp_path, capsys, *words: str) -> dict:
    (found,) = asked_of_each(raw, tmp_path, capsys, *words)
    return found


def made_by(found: dict, op: str) -> dict:
    """The first tensor that such an op makes."""
    return next(row for row in found["tensors"] if row["op"] == op)


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
    (found,) = json.loads(capsys.readouterr().out)["signatures"]
    assert found["search"]["half_error"] == "inf" and found["search"]["error"] < 0.01
    option = ",".join(map(str, found["search"]["nodes"]))
    assert set(found["search"]["nodes"]) <= set(found["at_risk"]) and found["search"]["smallest"]
    run = ["run", *words, "--range=1,2", "--precision=f16", "--runs=1"]
    assert command_line.main(run) == 1 and command_line.main([*run, f"--float32-nodes={option}"]) == 0
    assert command_line.main(["overflow", *words, "--error=0.01", "--range=1,2"]) == 0
    assert f"float32_nodes={ranges_text(found['search']['nodes'])}" in capsys.readouterr().out


def normalised(m: Model, factor: float = 1.0) -> Model:
    """A composite of RMSNorm behind an op."""
    x = m.mul(m.input(SHAPE), np.float32(factor))
    m.output(m.unary("TANH", composite(m, [x, np.ones(SHAPE[-1:], np.float32)], SHAPE, 1)))
    return m


def test_what_overflows_in_a_composite_is_found_and_what_quadra_keeps_in_float32_is_said(tmp_path, capsys, library):
    raw, words = normalised(Model()).bytes(rms_norm()), ("--range=-300,300", f"--library={library}")
    found = asked(raw, tmp_path, capsys, *words)
    square = made_by(found, "MUL")
    assert square["node"] == 0, "the factor before the composite"
    square = next(row for row in found["tensors"] if row["node"] == 1)
    assert square["op"] == "MUL" and square["largest"] > 65504 and square["kept"], square
    assert found["at_risk"] == [1] and found["to_name"] == [] and found["not_opened"] == []
    assert "1 STABLEHLO_COMPOSITE: MUL" in found["shown"] and "keeps float32" in found["shown"]
    assert "Quadra keeps these tensors in float32 by itself with precision=f16" in found["shown"]


def test_a_composite_in_another_and_used_twice(tmp_path, capsys, library):
    m, middle = Model(), Model()
    x = m.input(SHAPE)
    for _ in range(2):
        x = m.mul(composite(m, [x, np.ones(SHAPE[-1:], np.float32)], SHAPE, 1, "outer"), np.float32(300))
    m.output(x)
    y, scale = middle.input(SHAPE), middle.input(SHAPE[-1:])
    middle.output(composite(middle, [middle.unary("ABS", y), scale], SHAPE, 2))
    found = asked(m.bytes(middle, rms_norm()), tmp_path, capsys, "--range=-300,300", f"--library={library}")
    squares = [row for row in found["tensors"] if row["op"] == "MUL" and row["largest"] > 65504]
    assert [row["node"] for row in squares] == [0, 2] and found["at_risk"] == [0, 2], found["tensors"]
    assert [row["op"] for row in found["tensors"] if row["node"] == 2][:3] == ["ABS", "MUL", "MEAN"]


@pytest.mark.parametrize("subgraph", [1, 7])
def test_a_composite_that_cannot_be_opened_is_said(tmp_path, capsys, subgraph):
    """One that hands its input through stays a node."""
    content = _handing_through(subgraph)
    opened = open_composites.of(content, "m")
    assert opened.content == content and opened.nodes == (0, 1)
    if subgraph == 1:
        found = asked(content, tmp_path, capsys)
        assert (
            found["not_opened"] == [1]
            and "not looked at" in found["shown"]
            and "1 STABLEHLO_COMPOSITE" in found["shown"]
        )


def _handing_through(subgraph: int) -> bytes:
    m, inner = Model(), Model()
    m.output(composite(m, [m.unary("TANH", m.input(SHAPE))], SHAPE, subgraph))
    inner.output(inner.input(SHAPE))
    return m.bytes(inner)


def test_constants_beyond_half_and_below_it_are_named_with_their_readers(tmp_path, capsys, library):
    m = Model()
    mask = m.mul(m.input((1, 4)), np.full((1, 4), -1e9, np.float32))
    x = m.op("SOFTMAX", [m.add(m.input((1, 4)), mask)], (1, 4), "SoftmaxOptions", Beta=1.0)
    m.output(
        m.elementwise("RSQRT", m.add(x, np.float32(1e-5))),
        m.max_pool2d(m.mul(m.input((1, 1, 1, 4)), np.float32(1e-9)), (1, 1)),
    )
    found = asked(m.bytes(), tmp_path, capsys, f"--library={library}")
    constants = {round(np.log10(row["largest"])): row for row in found["tensors"] if row["constant"]}
    assert {power: row["readers"] for power, row in constants.items()} == {9: [0], -5: [3], -9: [5]}
    assert {power: row["kept"] for power, row in constants.items()} == {9: True, -5: True, -9: False}
    assert found["at_risk"] == [0, 1, 2, 3, 5] and found["to_name"] == [5], found
    for words in ("overflows half", "few digits in half", "0 in half", "keeps float32", "stores half"):
        assert words in found["shown"], found["shown"]
    assert "(float32_nodes=5; --error 0.01 tries it)" in found["shown"]
    assert "The others stay in float32 by themselves." in found["shown"]


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_integers_that_stand_for_floats_are_seen(dtype, tmp_path, capsys):
    """Constants with a scale, one for all or for each channel, and what is made of them."""
    m = Model()
    grid = {"dtype": dtype, "scale": 1000.0, "zero_point": 0}
    x, mask = m.input((1, 4), **grid), m.const(np.array([[0, 0, -100, 0]], dtype), scale=1000.0)
    y = m.op("ADD", [x, mask], (1, 4), "AddOptions", 2, output=grid)
    y = m.op("DEQUANTIZE", [y], (1, 4), "DequantizeOptions", 3)
    weights = m.const(np.int8([[1, -2, 3, 4]] * 2), scale=np.array([1e-9, 2e-9]), scale_axis=0)
    m.output(m.fully_connected(y, weights))
    found = asked(m.bytes(), tmp_path, capsys, "--range=-0.1,0.1")
    largest = {(row["name"], row["constant"]): row["largest"] for row in found["tensors"]}
    assert largest[mask.name, True] == pytest.approx(1e5) and found["at_risk"][0] == 0, found
    small = [row for row in found["tensors"] if row["constant"] and row["readers"] == [2]]
    assert [row["largest"] for row in small] == [pytest.approx(8e-9)], found


def test_infinities_and_nan_of_constants_are_no_risk(tmp_path, capsys):
    m = Model()
    chosen = np.float32([[-np.inf, 0, np.nan, 0]])
    m.output(m.op("SELECT_V2", [np.array([[False, True, False, True]]), m.input((1, 4)), chosen], (1, 4)))
    found = asked(m.bytes(), tmp_path, capsys)
    assert found["at_risk"] == [] and "(0 SELECT_V2)" in found["shown"]
    assert sorted((row["nan"], row["inf"]) for row in found["tensors"]) == [(0, 0), (1, 1), (1, 1)]


def test_each_signature_is_run_or_the_one_that_is_named(tmp_path, capsys, library):
    first, second = Model(), Model()
    for m, factor in ((first, 2), (second, 1e3)):
        x = m.max_pool2d(m.input((1, 2, 2, 4), name=f"x_{factor}"), (1, 1))
        m.output(m.max_pool2d(m.mul(x, np.full((1, 1, 1, 4), factor, np.float32)), (1, 1)))
    raw = with_signatures(first, second, ("small", "large"))
    words = ("--range=1e4,2e4", f"--library={library}")
    small, large = asked_of_each(raw, tmp_path, capsys, *words)
    assert (small["signature"], small["at_risk"], small["to_name"]) == ("small", [], [])
    assert (large["signature"], large["at_risk"], large["to_name"]) == ("large", [1, 2], [1, 2])
    assert [row["kept"] for row in large["tensors"] if row["node"] > 0] == [False, False], "the pooling does nothing"
    found = asked(raw, tmp_path, capsys, *words, "--signature=large")
    assert found["signature"] == "large" and "m:large" in found["shown"] and found["at_risk"] == [1, 2]


def test_a_part_with_a_composite_has_its_decomposition(tmp_path):
    """As `inv bisect` cuts it out."""
    raw = normalised(Model(), 2).bytes(rms_norm())
    cutter = Cutter(raw, "m")
    (made,) = [int(t) for t in cutter.graph.operators[1].outputs]
    part = cutter.before(made, {int(cutter.graph.operators[0].outputs[0])})
    cut = cutter.cut(part, {part.inputs[0]: SHAPE})
    given = np.random.default_rng(1).normal(size=SHAPE).astype(np.float32)
    (got,) = cpu.run(cut, [given])
    np.testing.assert_allclose(got, given / np.sqrt(np.mean(given**2, -1, keepdims=True) + 1e-6), rtol=1e-5)


def found_by(search: float32_search.Search, at_risk=()) -> tuple:
    found = search.find(at_risk)
    return found.nodes, found.smallest


@pytest.mark.parametrize("needed", [{3}, {3, 17, 40}, {1, 2, 3, 4}])
def test_the_search_ends_with_the_nodes_that_are_needed(needed):
    own = {node: 1 / (1 + abs(node - 17)) for node in range(50)}
    error = lambda nodes: 0.001 if needed <= set(nodes) else float("nan")  # noqa: E731
    search = float32_search.Search(error, lambda nodes: own, range(50), 0.01)
    assert found_by(search, at_risk=(1, 2, 3, 90)) == (tuple(sorted(needed)), True)
    assert len(search.errors) <= 40
    assert found_by(float32_search.Search(lambda nodes: 0.001, lambda nodes: own, range(50), 0.01)) == ((), True)
    assert found_by(float32_search.Search(lambda nodes: 0.1, lambda nodes: own, range(50), 0.01)) == (None, True)


def test_a_search_whose_time_is_up_ends_with_what_is_enough():
    """Of 200 nodes one is needed: with no time left, all of them are the answer, and nothing more is tried."""
    tried = []

    def error(nodes):
        tried.append(nodes)
        return 0.001 if 150 in nodes else 0.1

    search = float32_search.Search(error, lambda nodes: {}, range(200), 0.01, most_s=0.0)
    nodes, smallest = found_by(search)
    assert nodes == tuple(range(200)) and not smallest and len(tried) <= 3
    found = found_by(float32_search.Search(error, lambda nodes: {}, range(200), 0.01))
    assert found == ((150,), True) and len(tried) > 10
    assert float32_search._progress(3, 12, 20.0) == "run 3 of at most 40 (at most 160 s left), 12 nodes in float32"
    assert "(the last ones), 1 node in" in float32_search._progress(9, 1, 500.0)


def test_a_model_with_small_numbers_has_no_risk(tmp_path, capsys):
    found = asked(chain(1, 2), tmp_path, capsys)
    assert found["at_risk"] == [] and "nothing overflows half" in found["shown"]


def test_what_is_not_finite_with_floats_is_told_first(tmp_path, capsys):
    m = Model()
    x = m.mul(m.input((1, 2, 2, 4)), np.full((1, 1, 1, 4), 1e4, np.float32))
    m.output(m.unary("EXP", m.mul(x, x)))
    found = asked(m.bytes(), tmp_path, capsys)
    assert "not finite with floats already" in found["shown"] and "(2 EXP)" in found["shown"]
