"""UNSORTED_SEGMENT_SUM, _PROD, _MAX, _MIN and SEGMENT_SUM: parts combined by the numbers of their segments. BUCKETIZE: in which
bucket a number lies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.model_builder import Model, Value
from tests.vectors.case import Case, Feed

_COMBINES = {"SUM": np.add, "PROD": np.multiply, "MAX": np.maximum, "MIN": np.minimum}
_EMPTY_SEGMENTS = {
    "float32": {"SUM": 0.0, "PROD": 1.0, "MAX": np.finfo(np.float32).min, "MIN": np.finfo(np.float32).max},
    "int32": {"SUM": 0, "PROD": 1, "MAX": -(2**31), "MIN": 2**31 - 1},
}


def segment_op(m: Model, how: str, x: Value, ids, count: int) -> Value:
    shape = (count, *x.shape[np.ndim(ids) if isinstance(ids, np.ndarray) else len(ids.shape) :])
    name, values = f"UNSORTED_SEGMENT_{how}", [x, ids, np.int32(count)]
    return m.op(name, values, shape, f"UnsortedSegment{how.title()}Options", output={"dtype": x.dtype})


def segments(how: str, x: np.ndarray, ids: np.ndarray, count: int) -> np.ndarray:
    """As TFLite has it: parts with a negative number are in no segment."""
    made = np.full((count, *x.shape[ids.ndim :]), _EMPTY_SEGMENTS[x.dtype.name][how], x.dtype)
    for at in np.ndindex(ids.shape):
        if ids[at] >= 0:
            made[ids[at]] = _COMBINES[how](made[ids[at]], x[at])
    return made


def _unsorted(how: str, name: str, shape: Sequence[int], ids, count: int, dtype="float32", **fields) -> Case:
    ids = np.array(ids, np.int32)
    return Case(
        f"UNSORTED_SEGMENT_{how}",
        name,
        [Feed(tuple(shape), -3, 3, dtype=dtype)],
        lambda m, x: segment_op(m, how, x, ids, count),
        lambda x: segments(how, x, ids, count),
        **fields,
    )


def _computed(how: str, name: str, shape: Sequence[int], axes: int, count: int) -> Case:
    """The numbers are an input; some are negative."""
    feeds = [Feed(tuple(shape), -3, 3), Feed(tuple(shape[:axes]), -1, count - 1, dtype="int32")]
    return Case(
        f"UNSORTED_SEGMENT_{how}",
        name,
        feeds,
        lambda m, x, ids: segment_op(m, how, x, ids, count),
        lambda x, ids: segments(how, x, ids, count),
        half=how == "SUM",  # an empty segment has the least number of floats, or the largest
    )


def _sorted(name: str, shape: Sequence[int], ids, dtype="float32", **fields) -> Case:
    ids = np.array(ids, np.int32)
    count = int(ids[-1]) + 1
    return Case(
        "SEGMENT_SUM",
        name,
        [Feed(tuple(shape), -3, 3, dtype=dtype)],
        lambda m, x: m.op(
            "SEGMENT_SUM", [x, ids], (count, *x.shape[1:]), "SegmentSumOptions", output={"dtype": x.dtype}
        ),
        lambda x: segments("SUM", x, ids, count),
        **fields,
    )


def bucketize(m: Model, x: Value, boundaries: Sequence[float]) -> Value:
    options = {"Boundaries": np.float32(boundaries)}
    return m.op("BUCKETIZE", [x], x.shape, "BucketizeOptions", output={"dtype": "int32"}, **options)


def _buckets(name: str, feed: Feed, boundaries: Sequence[float], **fields) -> Case:
    return Case(
        "BUCKETIZE",
        name,
        [feed],
        lambda m, x: bucketize(m, x, boundaries),
        lambda x: np.searchsorted(np.float32(boundaries), x.astype(np.float32), side="right").astype(np.int32),
        **fields,
    )


_BOUNDARIES = [-1.25, -0.5, -0.5, 0, 0.75, 1.5]
CASES = [
    *(_unsorted(how, "rows", (6, 5), [2, 0, 2, 1, 0, 2], 3) for how in _COMBINES),
    *(_unsorted(how, "int32", (6, 3), [3, 0, 3, 1, 0, -1], 4, "int32") for how in _COMBINES),
    *(_computed(how, "computed", (7, 2, 6), 1, 4) for how in _COMBINES),
    _unsorted("SUM", "pixels", (2, 4, 5, 6), [[0, 3, 1, 1], [4, 0, 3, -1]], 6),
    _unsorted("SUM", "numbers", (3, 4), [[0, 1, 4, 2], [3, 0, 4, 4], [1, 1, 0, 2]], 5),
    _unsorted("SUM", "vector", (9,), [0, 1, 4, 2, 3, 0, 4, 4, 1], 5),
    _unsorted("MAX", "rank_6", (3, 2, 3, 2, 1, 5), [1, 0, 1], 2),
    _computed("SUM", "many", (300, 9), 1, 20),
    _sorted("rows", (6, 5), [0, 0, 1, 2, 2, 2]),
    _sorted("vector", (5,), [0, 1, 1, 2, 2]),
    _sorted("int32", (5, 2, 3), [0, 0, 0, 1, 2], "int32"),
    Case(
        "SEGMENT_SUM",
        "computed",
        [(4, 3), Feed((4,), 0, 0, dtype="int32")],
        lambda m, x, ids: m.op("SEGMENT_SUM", [x, ids], (1, 3), "SegmentSumOptions"),
        lambda x, ids: x.sum(axis=0, keepdims=True),
        place="cpu",
        reason="computed",
    ),
    _buckets("rank_4", Feed((2, 3, 4, 7), step=0.25), _BOUNDARIES),
    _buckets("one_boundary", Feed((3, 5), step=0.25), [0.5]),
    _buckets("int32", Feed((4, 6), -9, 9, dtype="int32"), [-4, 0, 0.5, 3]),
    _buckets("infinities", Feed((4, 6), step=0.25, special=(np.inf, -np.inf, 0.0, -0.0)), _BOUNDARIES),
    _buckets("rank_6", Feed((2, 1, 3, 2, 2, 3), step=0.25), _BOUNDARIES),
    _buckets("nan", Feed((3, 6), step=0.25, special=(np.nan,)), _BOUNDARIES),
]
