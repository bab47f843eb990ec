"""Models that count and look up by int64, as PyTorch's do: as many of their nodes are on the GPU as of the same models with
int32."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests import cpu
from tests.delegate import options
from tests.model_builder import Model, Value
from tests.runs import BACKENDS
from tests.vectors.case import constant, generator

WORDS, WIDTH, LENGTH = 11, 8, 6


def _ids(m: Model, dtype: str) -> Value:
    return m.input((2, LENGTH), dtype)


def _looked_up(m: Model, ids: Value, name: str = "table") -> Value:
    table = constant(f"int64 ids {name}", (WORDS, WIDTH))
    return m.op("GATHER", [table, ids], (*ids.shape, WIDTH), "GatherOptions", Axis=0, BatchDims=0)


def _embedded(m: Model, dtype: str) -> Value:
    """A table's rows, and those of places."""
    places = np.arange(LENGTH, dtype=dtype)
    rows = m.add(_looked_up(m, _ids(m, dtype)), _looked_up(m, m.const(places), "places"))
    return m.fully_connected(rows, constant("int64 ids weights", (5, WIDTH)), keep_num_dims=True)


def _masked_mean(m: Model, dtype: str) -> Value:
    """Of the rows whose id is not 0."""
    ids = _ids(m, dtype)
    mask = m.op("NOT_EQUAL", [ids, np.zeros((), dtype)], ids.shape, "NotEqualOptions", output={"dtype": "bool"})
    mask = m.op("CAST", [mask], ids.shape, "CastOptions")
    mask = m.op("EXPAND_DIMS", [mask, np.int32(-1)], (*ids.shape, 1), "ExpandDimsOptions")
    rows = m.mul(_looked_up(m, ids), mask)
    total, count = (
        m.op("SUM", [x, np.int32([1])], (2, x.shape[-1]), "ReducerOptions", KeepDims=False) for x in (rows, mask)
    )
    return m.elementwise("DIV", total, m.add(count, np.float32(1)), kind="DivOptions")


def _clipped(m: Model, dtype: str) -> Value:
    """Ids are joined with constants, cut, bounded and turned to vectors of 0 and 1."""
    ids, like = _ids(m, dtype), {"dtype": dtype}
    ids = m.op(
        "CONCATENATION", [np.full((2, 1), 3, dtype), ids], (2, LENGTH + 1), "ConcatenationOptions", 1, like, Axis=1
    )
    ids = m.op("SLICE", [ids, np.int32([0, 1]), np.int32([2, 4])], (2, 4), "SliceOptions", 1, like)
    ids = m.op("MINIMUM", [ids, np.array(7, dtype)], (2, 4), "MaximumMinimumOptions", 1, like)
    ids = m.op("RESHAPE", [ids, np.int32([8])], (8,), "ReshapeOptions", 1, like)
    made = [ids, np.int32(8), np.float32(1), np.float32(0)]
    return m.fully_connected(m.op("ONE_HOT", made, (8, 8), "OneHotOptions", Axis=-1), constant("int64 ids hot", (3, 8)))


def _best_again(m: Model, dtype: str) -> Value:
    """The place of the best score is looked up."""
    kind = {"int32": 2, "int64": 4}[dtype]
    scores = m.mul(_looked_up(m, _ids(m, dtype)), np.float32(2))
    best = m.op("ARG_MAX", [scores, np.int32(-1)], (2, LENGTH), "ArgMaxOptions", 1, {"dtype": dtype}, OutputType=kind)
    return m.unary("TANH", _looked_up(m, best, "again"))


def _chosen(m: Model, dtype: str) -> Value:
    """Ids beyond the table become another, which the CPU would refuse otherwise."""
    ids, like = _ids(m, dtype), {"dtype": dtype}
    known = m.op("LESS", [ids, np.array(5, dtype)], ids.shape, "LessOptions", output={"dtype": "bool"})
    ids = m.op("SELECT_V2", [known, ids, np.array(1, dtype)], ids.shape, "SelectV2Options", 1, like)
    ids = m.op("TRANSPOSE", [ids, np.int32([1, 0])], (LENGTH, 2), "TransposeOptions", 1, like)
    return m.unary("ABS", _looked_up(m, ids))


def _positions(m: Model, dtype: str) -> Value:
    """Of ids that are no padding, counted as RoBERTa does."""
    ids, like, number = _ids(m, dtype), {"dtype": dtype}, np.array(1, dtype)
    mask = m.op("NOT_EQUAL", [ids, number], ids.shape, "NotEqualOptions", output={"dtype": "bool"})
    mask = m.op("CAST", [mask], ids.shape, "CastOptions", 1, like)
    count = m.op("CUMSUM", [mask, np.int32(1)], ids.shape, "CumsumOptions", 1, like, Exclusive=False, Reverse=False)
    at = m.op("MUL", [count, mask], ids.shape, "MulOptions", 1, like)
    return _looked_up(m, m.op("ADD", [at, number], ids.shape, "AddOptions", 1, like), "places")


MODELS: list[Callable[[Model, str], Value]] = [_embedded, _masked_mean, _clipped, _best_again, _chosen, _positions]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("build", MODELS, ids=lambda build: build.__name__.lstrip("_"))
def test_no_node_is_lost_to_ids_of_64_bits(quadra, build, backend):
    placed = {}
    for dtype in ("int32", "int64"):
        m = Model()
        m.output(build(m, dtype))
        feeds = [generator(f"int64 ids {build.__name__}").integers(0, WORDS, (2, LENGTH)).astype(dtype)]
        outcome = quadra.run(m.bytes(), feeds, **options(backend=backend))
        outcome.check(cpu.run(m.bytes(), feeds))
        placed[dtype] = [(node["op"], node["on"]) for node in outcome.nodes]
    assert placed["int64"] == placed["int32"] and len(placed["int32"]) > 2, placed
