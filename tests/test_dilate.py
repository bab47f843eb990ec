"""DILATE and STABLEHLO_PAD beside tests/vectors/dilate.py: what is refused, other sizes, from the cache."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import options
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.vectors.case import constant
from tests.vectors.dilate import dilate, stablehlo_pad

on_both = pytest.mark.parametrize("backend", BACKENDS)
SHAPE = (1, 4, 5, 3)


def model(build, shape=SHAPE, dtype="float32", **fields) -> bytes:
    """The node, and RELU of what it gives: a node that runs on the GPU wherever the other one does."""
    m = Model()
    y = build(m, m.input(shape, dtype, **fields))
    m.output(m.unary("RELU", y) if dtype == "float32" else y)
    return m.bytes()


@on_both
@pytest.mark.parametrize(
    "build",
    [
        lambda m, x: dilate(m, x, np.int32([1, 3, 2, 2]), -1),
        lambda m, x: stablehlo_pad(m, x, [(0, 0, 0), (-1, 2, 1), (3, 0, 0), (1, -1, 1)], 4),
    ],
    ids=["DILATE", "STABLEHLO_PAD"],
)
def test_other_sizes_and_from_the_cache(quadra, tmp_path, backend, build):
    rounds = [[constant(f"dilate/{n}", (1, n, 5, 3))] for n in (4, 2, 9, 4)]
    raw = model(build)
    for word in ("miss", "hit"):
        outcome = quadra.run(raw, *rounds, **options(backend=backend, serialization_dir=str(tmp_path)))
        assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
        for got, fed in zip(outcome.outputs, rounds, strict=True):
            for mine, other in zip(got, cpu.run(raw, fed), strict=True):
                np.testing.assert_array_equal(mine, other)
        assert word == "miss" or outcome.report["partitions"][0]["cache"] == "hit"


def _one(before=0, after=0, between=0):
    return [(0, 0, 0), (before, after, between), (0, 0, 0), (0, 0, 0)]


def _pads(amounts, value=0, **fields):
    return lambda m, x: stablehlo_pad(m, x, amounts, value, x.shape, **fields)


GRID = {"scale": 0.5, "zero_point": 3}
REFUSED = {
    "no distance": ({"build": lambda m, x: dilate(m, x, np.int32([1, 0, 1, 1]))}, "step of axis 1 is 0"),
    "too few distances": ({"build": lambda m, x: m.op(
        "DILATE", [x, np.int32([1, 2]), np.float32([0])], x.shape, "DilateOptions")}, "2 dilations for rank 4"),
    "computed distances": ({"build": lambda m, x: m.op(
        "DILATE", [x, m.input((4,), "int32"), np.float32([0])], x.shape, "DilateOptions")}, "computed while the model runs"),
    "no value": ({"build": lambda m, x: m.op("DILATE", [x, np.int32([1] * 4)], x.shape, "DilateOptions")}, "inputs"),
    "a computed value": ({"build": lambda m, x: stablehlo_pad(m, x, _one(1), m.input((1,)))}, "computed while the model runs"),
    "two values": ({"build": lambda m, x: m.op(
        "DILATE", [x, np.int32([1] * 4), np.float32([0, 1])], x.shape, "DilateOptions")}, "is 2 numbers"),
    "negative between": ({"build": _pads(_one(between=-1))}, "step of axis 1 is 0"),
    "between without an end": ({"build": _pads(_one(between=2**40))}, "step of axis 1"),
    "before without an end": ({"build": _pads(_one(before=2**40))}, "before of axis 1"),
    "after without an end": ({"build": _pads(_one(after=-(2**63)))}, "after of axis 1"),
    "more cut off than there is": ({"build": _pads(_one(before=-9))}, "-5 elements along one axis"),
    "integers with a scale": ({"build": _pads(_one(1), **GRID), "dtype": "int8", **GRID}, "integers with a scale"),
    "nine axes": ({"build": _pads([(0, 0, 0)] * 8), "shape": (1,) * 9}, "has rank 9"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_others_stay_on_the_cpu_with_the_reason(quadra, name):
    how, reason = REFUSED[name]
    outcome = quadra.run(model(**how), **options("generic", backend="null"))
    node = outcome.nodes[0]
    assert node["on"] == "cpu" and reason in node["reason"], node
