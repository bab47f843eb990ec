"""STABLEHLO_REDUCE_WINDOW beside tests/vectors/reduce_window.py: what is refused, NaN, other sizes, from the cache."""

from __future__ import annotations

import numpy as np
import pytest

from host_tools.request import model_tree
from tests import cpu
from tests.delegate import options
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.vectors.case import constant
from tests.vectors.reduce_window import FIRST, Windows, body

on_both = pytest.mark.parametrize("backend", BACKENDS)
SHAPE = (1, 6, 5, 3)
POOL = {"size": {1: 3, 2: 2}, "pads": {1: (1, 1)}}


def model(
    op="ADD", shape=SHAPE, first=None, computation=None, dtype="float32", subgraph=1, fields=None, axes=6, **how
) -> bytes:
    """Windows, and RELU of what they give: a node that runs on the GPU wherever the windows do."""
    m = Model()
    x = m.input(shape, dtype, **(fields or {}))
    begin = np.array(FIRST[op] if first is None else first, dtype)
    y = Windows(shape[:axes], **(how or POOL)).node(m, x, begin, subgraph, **(fields or {}))
    m.output(y, *([m.unary("RELU", y)] if dtype == "float32" else []))
    return m.bytes(computation or body(op, dtype))


@on_both
def test_other_sizes_and_from_the_cache(quadra, tmp_path, backend):
    rounds = [[constant(f"windows/{n}", (1, n, 5, 3))] for n in (6, 2, 11, 6)]
    raw = model("MAXIMUM")
    for word in ("miss", "hit"):
        outcome = quadra.run(raw, *rounds, **options(backend=backend, serialization_dir=str(tmp_path)))
        assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
        for got, fed in zip(outcome.outputs, rounds, strict=True):
            for mine, other in zip(got, cpu.run(raw, fed), strict=True):
                np.testing.assert_array_equal(mine, other)
        assert word == "miss" or outcome.report["partitions"][0]["cache"] == "hit"


@on_both
@pytest.mark.parametrize("op", ["MAXIMUM", "MINIMUM"])
def test_nan_is_what_it_is_on_the_cpu(quadra, op, backend):
    x = constant("windows/nan", SHAPE).copy()
    x[0, 2, :3] = np.nan
    x[0, :, 4, 1] = np.nan
    raw = model(op)
    quadra.run(raw, [x], **options(backend=backend)).check(cpu.run(raw, [x]))


@on_both
@pytest.mark.parametrize("precision", ["f32_f16", "f16"])
def test_many_numbers_are_added_as_floats(quadra, precision, backend):
    """Sums of halfs would stop growing at 2048 times what is added."""
    shape = (1, 3000, 1, 4)
    raw = model(shape=shape, size={1: 3000})
    fed = [np.ones(shape, np.float32)]
    quadra.run(raw, fed, **options(backend=backend, precision=precision)).check(cpu.run(raw, fed), 1e-3)


@on_both
def test_a_constant_tensor_is_reduced(quadra, backend):
    """torch.nn.AvgPool2d(count_include_pad=False): sums of numbers over sums of ones."""
    m = Model()
    x = m.input(SHAPE)
    windows, ones = Windows(SHAPE, **POOL), Windows((*SHAPE[:3], 1), **POOL)
    first = np.array(0, np.float32)
    count = ones.node(m, m.operand(np.ones((*SHAPE[:3], 1), np.float32)), first)
    y = windows.node(m, x, first)
    m.output(m.op("DIV", [y, count], y.shape, "DivOptions"))
    raw = m.bytes(body("ADD"))
    fed = [constant("windows/average", SHAPE)]
    quadra.run(raw, fed, **options(backend=backend)).check(cpu.run(raw, fed))


def two_nodes() -> Model:
    m = Model()
    old, new = m.input(()), m.input(())
    m.output(m.op("MAXIMUM", [m.op("MAXIMUM", [old, new], ()), new], ()))
    return m


REFUSED = {
    "another computation": ({"computation": body("SQUARED_DIFFERENCE")}, "has 1 nodes"),
    "an activation in it": ({"computation": body("ADD", FusedActivationFunction=1)}, "has 1 nodes"),
    "two nodes": ({"op": "MAXIMUM", "computation": two_nodes()}, "has 2 nodes"),
    "no such computation": ({"subgraph": 7}, "subgraph 7"),
    "itself": ({"subgraph": 0}, "subgraph 0"),
    "a sum that begins elsewhere": ({"first": 1}, "initial value is not 0"),
    "a product that begins elsewhere": ({"op": "MUL", "first": 0}, "initial value is not 1"),
    "cells between": ({"size": {1: 2}, "base": {1: 2}}, "spreads axis 1 by 2"),
    "no stride": ({"size": {1: 2}, "stride": {1: 0}}, "stride of axis 1 is 0"),
    "a window of nothing": ({"size": {1: 0}}, "window of axis 1 is 0"),
    "padding without an end": ({"size": {}, "pads": {1: (2**40, 0)}}, "padding of axis 2"),
    "a window that does not fit": ({"size": {1: 9}}, "do not fit"),
    "nine axes": ({"shape": (1,) * 9, "size": {1: 1}, "axes": 8}, "has rank 9"),
    "integers with a scale": (
        {"dtype": "int8", "fields": {"scale": 0.5, "zero_point": 3}}, "integers with a scale"
    ),
    "bytes": ({"dtype": "int8"}, "is int8"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_others_stay_on_the_cpu_with_the_reason(quadra, name, monkeypatch):
    how, reason = REFUSED[name]
    monkeypatch.setattr(Windows, "places", lambda self: (1, 1, 1, 1))  # nobody looks at the sizes that the model says
    outcome = quadra.run(model(**how), **options("generic", backend="null"))
    node = outcome.nodes[0]
    assert node["on"] == "cpu" and reason in node["reason"], node


def test_the_toolkit_sees_that_it_names_another_graph():
    tree = model_tree.unpack(model())
    assert [model_tree.calls(op) for op in tree.subgraphs[0].operators] == [True, False]
