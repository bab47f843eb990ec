"""`inv advise`: each rule speaks where it should, with node, tensor, reason and rewrite, and is silent elsewhere."""

import json

import numpy as np
import pytest

from host_tools.tasks import command_line
from tests.model_builder import Model
from tests.signature_models import with_signatures


@pytest.fixture
def advice(tmp_path, library, capsys):
    def ask(m: Model) -> dict[str, list[dict]]:
        path = tmp_path / "m.tflite"
        path.write_bytes(m.bytes())
        assert command_line.main(["advise", str(path), f"--library={library}", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert command_line.main(["advise", str(path), f"--library={library}"]) == 0
        shown = capsys.readouterr().out
        assert not found["note"] and ("nothing to say" in shown) == (not found["advice"])
        kinds: dict[str, list[dict]] = {}
        for one in found["advice"]:
            kinds.setdefault(one["kind"], []).append(one)
        return kinds

    return ask


def weights(outputs: int, inputs: int) -> np.ndarray:
    return np.full((outputs, 1, 1, inputs), 0.1, np.float32)


def test_a_good_model_gets_none(advice):
    m = Model()
    x = m.conv2d(m.input((1, 32, 32, 8)), weights(16, 8), np.zeros(16, np.float32), activation="RELU")
    m.output(m.conv2d(x, weights(8, 16), np.zeros(8, np.float32)))
    assert advice(m) == {}


def test_a_split_is_told_with_what_crosses(advice):
    m = Model()
    x = m.unary("ABS", m.input((1, 16, 16, 16)))
    m.output(m.unary("ABS", m.left_to_cpu(x)))
    (split,) = advice(m)["split"]
    assert split["node"] == 1 and split["reason"].count("16.0 KiB") + split["reason"].count("16 KiB") == 2
    assert "the GPU waits in between" in split["reason"]


def test_each_signature_is_looked_at(tmp_path, library, capsys):
    """And what crosses between its own nodes, not between those of the same numbers in the other."""
    good, bad = Model(), Model()
    good.output(good.unary("ABS", good.unary("EXP", good.unary("ABS", good.input((1, 16, 16, 16), name="x_0")))))
    x = bad.unary("ABS", bad.input((1, 16, 16, 16), name="x_1"))
    x = bad.unary("ABS", bad.left_to_cpu(x))
    bad.output(bad.elementwise("DIV", x, np.full((1, 1, 1, 16), 1e-6, np.float32), kind="DivOptions"))
    path = tmp_path / "m.tflite"
    path.write_bytes(with_signatures(good, bad, ("good", "bad")))
    assert command_line.main(["advise", str(path), f"--library={library}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    told = {(one["kind"], one["signature"], one["node"], one["op"]) for one in found["advice"]}
    assert {one[:3] for one in told} == {("split", "bad", 1), ("op", "bad", 3), ("half", "bad", 3)}, told
    assert ("half", "bad", 3, "DIV") in told and not found["note"]
    assert command_line.main(["advise", str(path), f"--library={library}"]) == 0
    assert "bad 3" in capsys.readouterr().out


def test_moves_lanes_and_halves(advice):
    m = Model()
    x = m.conv2d(m.input((1, 64, 64, 4)), weights(5, 4), np.zeros(5, np.float32))
    x = m.op("TRANSPOSE", [x, np.array([0, 2, 1, 3], np.int32)], (1, 64, 64, 5), "TransposeOptions")
    x = m.conv2d(x, weights(8, 5) * 1e7, np.zeros(8, np.float32))
    m.output(m.conv2d(x, weights(8, 8) * 1e-7, np.zeros(8, np.float32)))
    found = advice(m)
    assert [one["node"] for one in found["lanes"]] == [0] and "5 channels" in found["lanes"][0]["reason"]
    assert [one["node"] for one in found["move"]] == [1] and "80" in found["move"][0]["reason"]
    reasons = {one["node"]: one["reason"] for one in found["half"]}
    assert set(reasons) == {2, 3} and "float16's maximum is 65504" in reasons[2] and "few digits" in reasons[3]


def test_what_moves_most_bytes_comes_first(advice):
    m = Model()
    x, order = m.unary("EXP", m.input((1, 8, 4, 4))), np.array([0, 2, 1, 3], np.int32)
    x = m.conv2d(
        m.op("TRANSPOSE", [x, order], (1, 4, 8, 4), "TransposeOptions"), weights(64, 4), np.zeros(64, np.float32)
    )
    m.output(m.op("TRANSPOSE", [m.unary("EXP", x), order], (1, 8, 4, 64), "TransposeOptions"))
    first, second = advice(m)["move"]
    assert (first["node"], second["node"]) == (4, 1) and first["share"] > 10 * second["share"]
    assert (
        0.3 < first["share"] < 0.5
    )  # 2 x 2048 of 2 x 128 + 2 x 128 + 128 + 256 + 64 + 2048 + 2 x 2048 + 2 x 2048 numbers


@pytest.mark.parametrize("constant", [True, False])
def test_gathering_is_replaced_only_where_its_indices_are_known(constant, advice):
    m = Model()
    x, indices = m.unary("EXP", m.input((5, 4, 4))), np.zeros((2, 1), np.int32)  # random ints are 0 to 4
    m.output(m.op("GATHER_ND", [x, indices if constant else m.input((2, 1), "int32")], (2, 4, 4), "GatherNdOptions"))
    assert ("op" in advice(m)) == constant


@pytest.mark.parametrize(
    "build,word",
    [
        (lambda m, x: m.elementwise("DIV", x, np.float32([[[[3, 3, 3, 3]]]]), kind="DivOptions"), "reciprocal"),
        (lambda m, x: m.elementwise("POW", x, np.float32([[[[2, 2, 2, 2]]]])), "SQUARE"),
        (lambda m, x: m.elementwise("POW", x, np.float32([[[[0.5] * 4]]])), "SQRT"),
        (lambda m, x: m.resize_bilinear(x, (4, 4)), "leave it out"),
    ],
)
def test_cheaper_ops(build, word, advice):
    m = Model()
    m.output(build(m, m.unary("EXP", m.input((1, 4, 4, 4)))))
    assert [(one["node"], word in one["rewrite"]) for one in advice(m)["op"]] == [(1, True)]
