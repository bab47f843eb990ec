"""SUM, REDUCE_*, ARG_MAX, ARG_MIN, CUMSUM, ONE_HOT: over every axis, ranks 1 to 6, floats, ints and bools."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.vectors.case import Case, Feed

_FUNCTIONS = {
    "SUM": np.sum,
    "MEAN": np.mean,
    "REDUCE_PROD": np.prod,
    "REDUCE_MAX": np.max,
    "REDUCE_MIN": np.min,
    "REDUCE_ANY": np.any,
    "REDUCE_ALL": np.all,
}


def _reduce(op, name, feed, axes, keep=False, **fields) -> Case:
    feed = feed if isinstance(feed, Feed) else Feed(feed)

    def reference(x):
        wide = x.astype(np.float64) if x.dtype == np.float32 else x
        return _FUNCTIONS[op](wide, axis=tuple(axes), keepdims=keep).astype(x.dtype)

    shape = reference(np.zeros(feed.shape, np.float32)).shape
    return Case(
        op,
        name,
        [feed],
        lambda m, x: m.op(
            op, [x, np.array(axes, np.int32)], shape, "ReducerOptions", KeepDims=keep, output={"dtype": x.dtype}
        ),
        reference,
        **fields,
    )


def _cases(op) -> list[Case]:
    low, high = (0.5, 1.5) if op == "REDUCE_PROD" else (-4, 4)

    def feed(*shape):
        return Feed(shape, low, high)

    return [
        _reduce(op, "plane", feed(2, 4, 5, 6), (1, 2), keep=True),
        _reduce(op, "plane_dropped", feed(1, 4, 5, 7), (1, 2)),
        _reduce(op, "channels", feed(2, 3, 4, 7), (3,), keep=True),
        _reduce(op, "channels_dropped", feed(2, 3, 4, 9), (-1,)),
        _reduce(op, "width", feed(2, 3, 40, 5), (2,)),
        _reduce(op, "batch", feed(3, 2, 2, 5), (0,)),
        _reduce(op, "everything", feed(2, 3, 4, 5), (0, 1, 2, 3)),
        _reduce(op, "vector", feed(11), (0,)),
        _reduce(op, "large_plane", feed(1, 24, 30, 3), (1, 2), keep=True, half=op != "REDUCE_PROD"),
        _reduce(op, "rank_5", feed(2, 3, 2, 4, 5), (1, 4)),
        _reduce(op, "rank_6_outer", feed(2, 2, 3, 2, 2, 5), (0, 2), keep=True),
        _reduce(op, "int32", Feed((2, 3, 4, 5), -3, 4, dtype="int32"), (1, 3)),
    ]


def _bools(op) -> list[Case]:
    return [
        _reduce(op, "channels", Feed((2, 3, 4, 5), 0, 1, dtype="bool"), (3,)),
        _reduce(op, "plane", Feed((2, 2, 2, 5), 0, 1, dtype="bool"), (1, 2), keep=True),
    ]


_NOT_FINITE = (np.nan, np.inf, -np.inf, np.nan)


def _place(op: str, x: np.ndarray, axis: int) -> np.ndarray:
    """As the interpreter looks for it: any number is better than NaN."""
    lanes = np.moveaxis(x, axis, 0)
    best, places = lanes[0], np.zeros(lanes[0].shape, np.int64)
    for i, lane in enumerate(lanes):
        better = (lane > best if op == "ARG_MAX" else lane < best) | (np.isnan(best) & ~np.isnan(lane))
        best, places = np.where(better, lane, best), np.where(better, i, places)
    return places


def arg(op, name, feed, axis, dtype="int32", then=None, on_cpu=True) -> Case:
    """`then`: what else becomes of the places, in the model and in numpy."""
    feed = feed if isinstance(feed, Feed) else Feed(feed)
    shape = tuple(np.delete(feed.shape, axis))
    build, reference = then or (lambda m, y: y, lambda y: y)
    return Case(
        op,
        name,
        [feed],
        lambda m, x: build(m, m.op(
            op, [x, np.array(axis, np.int32)], shape, f"Arg{op[4:].title()}Options",
            OutputType=2 if dtype == "int32" else 4, output={"dtype": dtype},
        )),
        lambda x: reference(_place(op, x, axis).astype(dtype)),
        half=feed.dtype == "int32" or feed.step > 0,
        on_cpu=on_cpu,
    )  # fmt: skip


def _as_floats(m, y):
    shape = np.int32([1, 5, 7, 3])
    y = m.op("RESHAPE", [y, shape], shape, "ReshapeOptions", NewShape=[1, 5, 7, 3], output={"dtype": "int32"})
    return m.op("CAST", [y], shape, "CastOptions", output={"dtype": "float32"})


_TO_FLOATS = (_as_floats, lambda y: y.reshape(1, 5, 7, 3).astype(np.float32))


def _args(op) -> list[Case]:
    best = (-4, -1) if op == "ARG_MAX" else (1, 4)  # 0, as lanes beyond the channels have it, would be better
    return [
        arg(op, "channels", (2, 3, 4, 7), 3),
        arg(op, "channels_int64", (1, 3, 4, 21), -1, "int64"),
        arg(op, "ties", Feed((2, 3, 4, 6), -2, 2, dtype="int32"), 3),
        arg(op, "steps", Feed((2, 3, 4, 7), step=0.25), 3),
        arg(op, "steps_of_odd_planes", Feed((2, 3, 5, 9), -1, 1, step=1), 3),
        arg(op, "height", (2, 5, 4, 6), 1),
        arg(op, "width", (2, 3, 6, 5), 2),
        arg(op, "batch", (4, 3, 5), 0),
        arg(op, "vector", (13,), 0),
        arg(op, "rank_5", (2, 3, 2, 4, 5), 1),
        arg(op, "channels_without_zero", Feed((1, 3, 5, 6), *best), 3),
        arg(op, "channels_many_ties", Feed((3, 5, 7, 13), -1, 1, step=1.0), 3),
        # The CPU's kernels for nine numbers in a row compare them in an order of their own.
        arg(op, "channels_nan", Feed((1, 6, 7, 9), special=(np.nan,) * 200), 3, on_cpu=False),
        # A group of work-items shares them.
        arg(
            op, "channels_of_a_vocabulary", Feed((5, 3003), -9, 9, special=(np.nan,) * 300, step=0.25), 1, on_cpu=False
        ),
        arg(op, "channels_infinite", Feed((4, 9), special=_NOT_FINITE * 8), 1),
        arg(op, "height_nan", Feed((1, 5, 7, 6), special=(np.nan,) * 100), 1),
        arg(op, "batch_not_finite", Feed((3, 40), special=_NOT_FINITE * 20), 0),
        arg(op, "channels_large_ints", Feed((2, 3, 5, 6), 2**31 - 9, 2**31 - 1, dtype="int32"), 3),
        arg(op, "channels_to_floats", (3, 5, 7, 10), 3, then=_TO_FLOATS),
        arg(op, "channels_rank_2", (6, 21), 1),
        arg(op, "channels_rank_6", (2, 1, 2, 3, 5, 6), 5),
    ]


def _cumsum(name, feed, axis, exclusive=False, reverse=False) -> Case:
    feed = feed if isinstance(feed, Feed) else Feed(feed)

    def reference(x):
        y = np.flip(x, axis) if reverse else x
        sums = np.cumsum(y.astype(np.float64) if x.dtype == np.float32 else y, axis)
        sums = sums - y if exclusive else sums
        return (np.flip(sums, axis) if reverse else sums).astype(x.dtype)

    return Case(
        "CUMSUM",
        name,
        [feed],
        lambda m, x: m.op(
            "CUMSUM", [x, np.array(axis, np.int32)], x.shape, "CumsumOptions",
            Exclusive=exclusive, Reverse=reverse, output={"dtype": x.dtype},
        ),
        reference,
    )  # fmt: skip


def _one_hot(name, shape, depth, axis, on, off, dtype="int32") -> Case:
    place = axis if axis >= 0 else len(shape)
    result = (*shape[:place], depth, *shape[place:])

    def reference(x):
        hot = np.arange(depth).reshape([-1 if i == place else 1 for i in range(len(result))])
        return np.where(np.expand_dims(x, place) == hot, on, off).astype(np.asarray(on).dtype)

    return Case(
        "ONE_HOT",
        name,
        [Feed(shape, -1, depth, dtype=dtype)],
        lambda m, x: m.op(
            "ONE_HOT", [x, np.array(depth, np.int32), np.asarray(on), np.asarray(off)], result, "OneHotOptions",
            Axis=axis, output={"dtype": np.asarray(on).dtype.name},
        ),
        reference,
    )  # fmt: skip


def _with_nan(op) -> list[Case]:
    """NaN is left out, of NaN alone the result is NaN; the CPU's kernels differ among themselves."""
    best = np.fmax if op == "REDUCE_MAX" else np.fmin

    def case(name, feed, axes):
        return replace(
            _reduce(op, name, feed, axes), reference=lambda x: best.reduce(x, axis=axes), on_cpu=False, half=False
        )

    return [
        case("channels_nan", Feed((2, 30, 5), special=(np.nan,) * 200), (2,)),
        case("channels_not_finite", Feed((40, 7), special=_NOT_FINITE * 40), (1,)),
        case("plane_nan", Feed((1, 3, 2, 50), special=(np.nan,) * 240), (1, 2)),
        case("everything_nan", Feed((2, 3, 5), special=(np.nan,) * 30), (0, 1, 2)),
        case("large_plane_nan", Feed((1, 24, 30, 3), special=(np.nan,) * 2000), (1, 2)),
        case("batch_nan", Feed((3, 40), special=(np.nan,) * 90), (0,)),
    ]


CASES = [
    *(case for op in ("REDUCE_MAX", "REDUCE_MIN") for case in _with_nan(op)),
    *(case for op in ("SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN") for case in _cases(op)),
    *(case for op in ("REDUCE_ANY", "REDUCE_ALL") for case in _bools(op)),
    *(case for op in ("ARG_MAX", "ARG_MIN") for case in _args(op)),
    _reduce("MEAN", "rank_5", (2, 3, 2, 4, 5), (1, 3)),
    _reduce("MEAN", "rank_6_outer", (2, 2, 3, 2, 2, 5), (0, 2, 5), keep=True),
    _cumsum("channels", (2, 3, 4, 7), 3),
    _cumsum("channels_reverse_exclusive", (2, 3, 4, 7), 3, True, True),
    _cumsum("height_exclusive", (1, 5, 4, 6), 1, exclusive=True),
    _cumsum("width_reverse", (2, 3, 6, 5), 2, reverse=True),
    _cumsum("batch", (4, 3, 5), 0),
    _cumsum("rank_5", (2, 3, 2, 4, 5), 1, exclusive=True),
    _cumsum("int32", Feed((3, 9), -9, 9, dtype="int32"), 1, reverse=True),
    _one_hot("last", (2, 5), 7, -1, np.float32(1), np.float32(0)),
    _one_hot("first", (4, 3), 5, 0, np.float32(2.5), np.float32(-1)),
    _one_hot("middle_int32", (2, 6), 3, 1, np.int32(9), np.int32(-9)),
    _one_hot("rank_4", (2, 3, 4), 5, 2, np.float32(1), np.float32(0)),
    _one_hot("scalar_int64", (), 6, -1, np.float32(1), np.float32(0), "int64"),
]
