"""STABLEHLO_SCATTER beside tests/vectors/scatter.py: what is refused, places out of range, other sizes, from the cache."""

from __future__ import annotations

import numpy as np
import pytest

from host_tools.request import model_tree
from tests import cpu
from tests.delegate import options
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.vectors.case import Feed, constant
from tests.vectors.scatter import body, scatter, scatter_op

on_both = pytest.mark.parametrize("backend", BACKENDS)
ROWS = ((1,), (0,), (0,), 1)  # whole rows, by their number


def model(
    x, indices, updates, how=ROWS, computation: Model | None = None, dtype="float32", index="int32", **fields
) -> bytes:
    """The scattered rows, and RELU of them: a node that runs on the GPU wherever the scatter does."""
    m = Model()
    values = [m.input(x, dtype, **fields), m.input(indices, index), m.input(updates, dtype, **fields)]
    y = scatter_op(m, values, *how, **fields)
    m.output(y, *([m.unary("RELU", y)] if dtype == "float32" else []))
    return m.bytes(computation or body("", dtype))


def feeds(x, indices, updates, places, dtype="float32") -> list[np.ndarray]:
    numbers = [Feed(shape, dtype=dtype).make(f"scatter/{shape}/{dtype}") for shape in (x, updates)]
    return [numbers[0], np.resize(places, indices), numbers[1]]


@on_both
@pytest.mark.parametrize("op", ["", "STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM"])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_places_out_of_range_are_left_out_and_equal_ones_come_in_their_order(quadra, op, index, backend):
    """Ends of the places' type, too: a difference that wraps would read anywhere."""
    shapes = (6, 5), (9, 1), (9, 5)
    ends = np.iinfo(index)
    places = np.array([2, ends.min, 5, 2, -1, 6, ends.max, 2, 5], index)
    raw = model(*shapes, computation=body(op), index=index)
    fed = feeds(*shapes, places)
    outcome = quadra.run(raw, fed, **options(backend=backend))
    outcome.check(cpu.run(raw, fed))
    np.testing.assert_allclose(outcome.outputs[0][0], scatter(*fed, *ROWS, op), rtol=1e-5)


@on_both
def test_other_sizes_and_from_the_cache(quadra, tmp_path, backend):
    rounds = [
        feeds((rows, 5), (count, 1), (count, 5), np.array([1, 0, 3, 1, 7], np.int32))
        for rows, count in ((6, 4), (3, 9), (11, 1), (6, 4))
    ]
    raw = model((6, 5), (4, 1), (4, 5))
    for word in ("miss", "hit"):
        outcome = quadra.run(raw, *rounds, **options(backend=backend, serialization_dir=str(tmp_path)))
        assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
        for got, fed in zip(outcome.outputs, rounds, strict=True):
            for mine, other in zip(got, cpu.run(raw, fed), strict=True):
                np.testing.assert_array_equal(mine, other)
        assert word == "miss" or outcome.report["partitions"][0]["cache"] == "hit"


@on_both
@pytest.mark.parametrize("precision", ["f32_f16", "f16"])
def test_many_numbers_at_one_place_are_added_as_floats(quadra, precision, backend):
    """Sums of halfs would stop growing at 2048 times what is added."""
    shapes = (2, 4), (3000, 1), (3000, 4)
    raw = model(*shapes, computation=body("STABLEHLO_ADD"))
    fed = [np.zeros((2, 4), np.float32), np.zeros((3000, 1), np.int32), np.ones((3000, 4), np.float32)]
    quadra.run(raw, fed, **options(backend=backend, precision=precision)).check(cpu.run(raw, fed), 1e-3)


def two_nodes() -> Model:
    m = Model()
    old, new = m.input(()), m.input(())
    m.output(m.op("STABLEHLO_ADD", [m.op("STABLEHLO_ADD", [old, new], ()), new], ()))
    return m


REFUSED = {
    "another computation": (((6, 5), (4, 1), (4, 5)), {"computation": body("SQUARED_DIFFERENCE")}, "or one ADD"),
    "two nodes": (((6, 5), (4, 1), (4, 5)), {"computation": two_nodes()}, "has 2 nodes"),
    "no such computation": (((6, 5), (4, 1), (4, 5)), {"how": (*ROWS, 7)}, "subgraph 7"),
    "itself": (((6, 5), (4, 1), (4, 5)), {"how": (*ROWS, 0)}, "subgraph 0"),
    "five axes": (((6, 5, 1, 1, 1), (4, 1), (4, 5, 1, 1, 1)), {"how": ((1, 2, 3, 4), (0,), (0,), 1)}, "1 to 4"),
    "vectors along the first axis": (((6, 5), (1, 4), (4, 5)), {"how": ((1,), (0,), (0,), 0)}, "along axis 0"),
    "windows that overlap": (((6,), (2, 1), (3, 2)), {"how": ((0,), (), (0,), 1)}, "depends on the windows"),
    "sizes that differ": (((6, 5), (3, 1), (4, 5)), {}, "do not fit"),
    "windows larger than the tensor": (((6, 5), (4, 1), (4, 7)), {}, "do not fit"),
    "an axis twice": (((6, 5), (4, 2), (4, 5)), {"how": ((1,), (0,), (0, 0), 1)}, "out of place"),
    "axes beyond": (((6, 5), (4, 1), (4, 5)), {"how": ((5,), (0,), (0,), 1)}, "out of place"),
    "too few axes": (((6, 5), (4, 1), (4, 5)), {"how": ((), (0,), (0,), 1)}, "of 2"),
    "integers with a scale": (
        ((6, 5), (4, 1), (4, 5)), {"dtype": "int8", "scale": 0.5, "zero_point": 3}, "integers with a scale"
    ),
    "sums of bytes": (
        ((6, 5), (4, 1), (4, 5)), {"dtype": "int8", "computation": body("STABLEHLO_ADD", "int8")}, "is int8"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_others_stay_on_the_cpu_with_the_reason(quadra, name):
    shapes, how, reason = REFUSED[name]
    outcome = quadra.run(model(*shapes, **how), **options("generic", backend="null"))
    node = outcome.nodes[0]
    assert node["on"] == "cpu" and reason in node["reason"], node


def test_windows_that_overlap_are_the_cpus(quadra):
    """The CPU goes over windows first where their axis is the first one: the last update of a place is another vector's."""
    shapes, how, _ = REFUSED["windows that overlap"]
    raw, fed = model(*shapes, **how), feeds(*shapes, np.array([0, 1], np.int32))
    outcome = quadra.run(raw, fed, **options())
    outcome.check(cpu.run(raw, fed), everything_on_gpu=False)
    np.testing.assert_array_equal(outcome.outputs[0][0], scatter(*fed, *how["how"]))


def test_the_toolkit_sees_that_it_names_another_graph():
    tree = model_tree.unpack(model((6, 5), (4, 1), (4, 5)))
    assert [model_tree.calls(op) for op in tree.subgraphs[0].operators] == [True, False]


@on_both
def test_constants_are_read_as_they_are(quadra, backend):
    m = Model()
    x = m.input((6, 5))
    values = [constant("scatter/table", (6, 5)), np.array([[4], [1]], np.int32), m.op("ABS", [m.input((2, 5))], (2, 5))]
    y = scatter_op(m, [m.operand(value) for value in values], *ROWS)
    m.output(m.add(x, y))
    raw = m.bytes(body(""))
    fed = [constant("scatter/x", (6, 5)), constant("scatter/u", (2, 5))]
    quadra.run(raw, fed, **options(backend=backend)).check(cpu.run(raw, fed))
