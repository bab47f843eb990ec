"""Weights of products, unless they are small and the rows many, and tables stay integers in the GPU's memory, or halfs;
other weights become floats there."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import TOLERANCE, options
from tests.model_builder import Model
from tests.quantized import KINDS, Quantized
from tests.runs import BACKENDS, PRECISIONS
from tests.vectors.case import generator
from tests.vectors.integer_weights import Halfs, Integers

on_both = pytest.mark.parametrize("backend", BACKENDS)
_WIDE = 256  # scales and biases are little beside such rows


def _product(weights: Integers | Halfs, rows: int = 1, then=lambda m, y: y) -> bytes:
    m = Model()
    x = m.input((rows, weights.stored.shape[1]))
    y = m.op("FULLY_CONNECTED", [x, weights.add(m), None], (rows, weights.stored.shape[0]), "FullyConnectedOptions", 12)
    m.output(then(m, y))
    return m.bytes()


def _feed(rows: int) -> list[np.ndarray]:
    return [generator("rows").uniform(-1, 1, (rows, _WIDE)).astype(np.float32)]


def _constant_bytes(outcome) -> int:
    return sum(partition["constant_bytes"] for partition in outcome.report["partitions"])


@on_both
@pytest.mark.parametrize(("dtype", "scales"), [("int8", "channel"), ("int4", 32), ("int4", "tensor"), ("int2", 64)])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_weights_of_few_rows_stay_integers(quadra, backend, dtype, scales, precision):
    weights = Integers(f"stay {dtype}", (64, _WIDE), dtype, scales)
    given = options(backend=backend, precision=precision)
    for rows in (1, 4):
        outcome = quadra.run(_product(weights, rows), _feed(rows), **given)
        outcome.check([_feed(rows)[0] @ weights.floats.T], TOLERANCE[precision])
        stored = weights.stored.size * int(dtype[3:]) // 8
        with_floats = 4 * (max(weights.scales.size, 64) + 2 * 64)
        assert stored < _constant_bytes(outcome) <= stored + with_floats


_LARGE = [("int8", "channel", 260), ("int4", 32, 520), ("int4", "tensor", 516), ("int2", 64, 1030)]


@on_both
@pytest.mark.parametrize(("dtype", "scales", "outputs"), _LARGE, ids=str)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_large_weights_stay_integers_however_many_rows_there_are(quadra, backend, dtype, scales, outputs, precision):
    """Rows are multiplied in tiles of four, of which the last may be less; a merged step follows."""
    weights = Integers(f"large {dtype}", (outputs, _WIDE), dtype, scales)
    given = options(backend=backend, precision=precision)
    for rows in (5, 32, 67):
        outcome = quadra.run(_product(weights, rows, lambda m, y: m.unary("RELU", y)), _feed(rows), **given)
        outcome.check([np.maximum(_feed(rows)[0] @ weights.floats.T, 0)], TOLERANCE[precision])
        assert _constant_bytes(outcome) < 1.5 * outputs * _WIDE * int(dtype[3:]) // 8


@on_both
@pytest.mark.parametrize("precision", PRECISIONS)
def test_large_halfs_stay_halfs_however_many_rows_there_are(quadra, backend, precision):
    weights = Halfs("halfs", (260, _WIDE))
    given = options(backend=backend, precision=precision)
    for rows in (1, 5, 67):
        outcome = quadra.run(_product(weights, rows, lambda m, y: m.unary("RELU", y)), _feed(rows), **given)
        outcome.check([np.maximum(_feed(rows)[0] @ weights.floats.T, 0)], TOLERANCE[precision])
        assert _constant_bytes(outcome) < 1.1 * weights.stored.nbytes


_PHONES = ["adreno-640", "mali-g76", "mali-g76-buffers", "large-tiles", "adreno-740-gles", "mali-g610-gles"]


@pytest.mark.parametrize("target", _PHONES)
def test_on_phones_one_row_and_many_have_the_same_halfs(quadra, target):
    backend = "gles" if target.endswith("gles") else "opencl"
    weights, sizes = Halfs("halfs of phones", (260, _WIDE)), set()
    for rows in (1, 5, 34):
        outcome = quadra.run(_product(weights, rows), _feed(rows), **options(target, backend))
        outcome.check([_feed(rows)[0] @ weights.floats.T])
        sizes.add(_constant_bytes(outcome))
    assert len(sizes) == 1 and sizes.pop() < 1.1 * weights.stored.nbytes


@pytest.mark.parametrize("target", _PHONES)
@pytest.mark.parametrize(("dtype", "scales", "outputs"), [_LARGE[0], _LARGE[1]], ids=str)
def test_on_phones_one_row_and_many_have_the_same_words(quadra, target, dtype, scales, outputs):
    """Whether work-items share the sums or not."""
    backend = "gles" if target.endswith("gles") else "opencl"
    weights, sizes = Integers(f"phones {dtype}", (outputs, _WIDE), dtype, scales), set()
    for rows in (1, 5, 34):
        outcome = quadra.run(_product(weights, rows), _feed(rows), **options(target, backend))
        outcome.check([_feed(rows)[0] @ weights.floats.T])
        sizes.add(_constant_bytes(outcome))
    assert len(sizes) == 1 and sizes.pop() < 1.5 * outputs * _WIDE * int(dtype[3:]) // 8


@on_both
def test_small_weights_of_many_rows_become_floats(quadra, backend):
    weights = Integers("floats", (64, _WIDE), "int8")
    outcome = quadra.run(_product(weights, 5), _feed(5), **options(backend=backend))
    outcome.check([_feed(5)[0] @ weights.floats.T])
    assert _constant_bytes(outcome) >= 4 * weights.stored.size


@on_both
def test_no_pass_makes_floats_of_them(quadra, backend):
    """A product with numbers for each channel, and a sum: elsewhere they are multiplied into the weights."""
    weights = Integers("passes", (64, _WIDE), "int8")
    factors = generator("factors").uniform(0.5, 2, 64).astype(np.float32)
    raw = _product(weights, then=lambda m, y: m.add(m.mul(y, factors), -factors, activation="RELU"))
    outcome = quadra.run(raw, _feed(1), **options(backend=backend))
    outcome.check([np.maximum(_feed(1)[0] @ weights.floats.T * factors - factors, 0)])
    assert _constant_bytes(outcome) < 2 * weights.stored.size


@on_both
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.dtype + str(kind.per_channel))
def test_between_quantised_tensors(quadra, backend, kind):
    """Zero points of weights, too: those of uint8 have some."""
    q = Quantized(kind)
    x, w = q.input((2, _WIDE)), q.weights("between", (64, _WIDE))
    y = q.op("FULLY_CONNECTED", [x, w, q.bias("b", x, w)], (2, 64), q.grid(-20, 20), "FullyConnectedOptions", 4)
    q.model.output(y)
    ends = np.iinfo(kind.dtype)
    feeds = [generator("between").integers(ends.min, ends.max, (2, _WIDE), kind.dtype, endpoint=True)]
    outcome = quadra.run(q.model.bytes(), feeds, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    expected = cpu.run(q.model.bytes(), feeds)
    assert np.abs(outcome.outputs[-1][0].astype(int) - expected[0].astype(int)).max() <= 1
    assert _constant_bytes(outcome) < 2 * w.data.size


@on_both
@pytest.mark.parametrize(("dtype", "scales"), [("int8", "channel"), ("int4", 32), ("int2", "channel")])
def test_tables_stay_integers(quadra, backend, dtype, scales):
    table = Integers(f"table {dtype}", (40, _WIDE), dtype, scales)
    m = Model()
    m.output(m.op("EMBEDDING_LOOKUP", [m.input((3,), "int32"), table.add(m)], (3, _WIDE), version=4))
    outcome = quadra.run(m.bytes(), [np.int32([39, 0, 7])], **options(backend=backend))
    outcome.check([table.floats[[39, 0, 7]]])
    assert _constant_bytes(outcome) < 2 * table.stored.size * int(dtype[3:]) // 8


@on_both
def test_rows_that_stay_int4_are_the_cpus(quadra, backend):
    """GATHER of int4 to int4: no tensor that is computed has two numbers in a byte on the GPU. The interpreter copies whole
    bytes there, so only rows of an even length come out right."""
    table = Integers("rows of int4", (40, 8), "int4", "tensor")
    m = Model()
    rows, grid = m.input((3,), "int32"), {"dtype": "int4", "scale": float(table.scales.ravel()[0]), "zero_point": 0}
    picked = m.op("GATHER", [table.add(m), rows], (3, 8), "GatherOptions", 7, grid, Axis=0, BatchDims=0)
    m.output(m.unary("RELU", m.op("DEQUANTIZE", [picked], (3, 8), version=7)))
    outcome = quadra.run(m.bytes(), [np.int32([39, 0, 7])], **options(backend=backend))
    assert [node["on"] for node in outcome.nodes] == ["cpu", "cpu", "gpu"], outcome.nodes
    assert f"output '{picked.name}' is int4" in outcome.nodes[0]["reason"]
    assert "its operand is int4" in outcome.nodes[1]["reason"]
    outcome.check([np.maximum(table.floats[[39, 0, 7]], 0)], everything_on_gpu=False)


@on_both
def test_more_rows_after_a_resize(quadra, backend):
    """Small weights become floats, and the numbers stay right."""
    weights = Integers("resized", (64, _WIDE), "int4", 32)
    outcome = quadra.run(_product(weights), _feed(9), **options(backend=backend))
    outcome.check([_feed(9)[0] @ weights.floats.T])
