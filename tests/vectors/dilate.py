"""DILATE and STABLEHLO_PAD: a number between neighbours, before and after them; negative amounts cut off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.model_builder import Model, Operand, Value
from tests.vectors.case import Case, Feed


def spread(x: np.ndarray, steps: Sequence[int], value: float = 0) -> np.ndarray:
    made = np.full([max(n - 1, -1) * step + 1 for n, step in zip(x.shape, steps, strict=True)], value, x.dtype)
    made[tuple(slice(None, None, step) for step in steps)] = x
    return made


def padded(x: np.ndarray, amounts: Sequence[tuple[int, int, int]], value: float = 0) -> np.ndarray:
    """`amounts`: before, after and between, by axis, as the StableHLO specification has them."""
    wide = spread(x, [between + 1 for _, _, between in amounts], value)
    edges = [(max(before, 0), max(after, 0)) for before, after, _ in amounts]
    wide = np.pad(wide, edges, constant_values=value)
    return wide[tuple(slice(max(-before, 0), n - max(-after, 0)) for n, (before, after, _) in zip(wide.shape, amounts))]


def dilate(m: Model, x: Value, steps: Operand, value: float = 0, **output) -> Value:
    shape = tuple((n - 1) * int(step) + 1 for n, step in zip(x.shape, np.ravel(steps)))
    return m.op(
        "DILATE", [x, steps, np.array([value], x.dtype)], shape, "DilateOptions", output={"dtype": x.dtype, **output}
    )


def stablehlo_pad(m: Model, x: Value, amounts, value: Operand | float = 0, shape=None, **output) -> Value:
    before, after, between = (np.int64(numbers) for numbers in zip(*amounts))
    first = value if isinstance(value, Value) else np.array(value, x.dtype)
    return m.op(
        "STABLEHLO_PAD",
        [x, first],
        padded(np.empty(x.shape), amounts).shape if shape is None else shape,
        "StablehloPadOptions",
        EdgePaddingLow=before,
        EdgePaddingHigh=after,
        InteriorPadding=between,
        output={"dtype": x.dtype, **output},
    )


def _dilate(name, feed, steps, value=0.0, **how) -> Case:
    return Case(
        "DILATE",
        name,
        [feed],
        lambda m, x: dilate(m, x, np.int32(steps), value),
        lambda x: spread(x, steps, value),
        **how,
    )


def _pad(name, feed, amounts, value=0.0, **how) -> Case:
    return Case(
        "STABLEHLO_PAD", name, [feed],
        lambda m, x: stablehlo_pad(m, x, amounts, value), lambda x: padded(x, amounts, value), **how,
    )  # fmt: skip


CASES = [
    _dilate("image", (1, 3, 4, 5), (1, 2, 3, 1)),
    _dilate("channels", (1, 2, 3, 5), (1, 1, 1, 3), 0.5),
    _dilate("everything", (2, 2, 3, 3), (3, 2, 2, 2), -1.5),
    _dilate("nothing", (1, 2, 3, 3), (1, 1, 1, 1)),
    _dilate("one_number", (1,), (7,)),
    _dilate("rank_1", (6,), (3,), 2.0),
    _dilate("rank_2", (3, 5), (2, 4)),
    _dilate("rank_3", (2, 3, 8), (2, 3, 1)),
    _dilate("rank_5", (2, 2, 3, 2, 5), (2, 1, 3, 2, 2)),
    _dilate("rank_6", (2, 1, 2, 2, 3, 4), (2, 3, 2, 1, 2, 1)),
    *(
        _dilate(dtype, Feed((2, 3, 5), 0, 100, dtype=dtype), (1, 3, 2), 7)
        for dtype in ("int32", "int16", "int8", "uint8")
    ),
    _dilate("bool", Feed((2, 3, 5), 0, 1, dtype="bool"), (1, 3, 2), True),
    _pad("edges", (1, 3, 4, 5), [(0, 0, 0), (1, 2, 0), (3, 1, 0), (0, 0, 0)]),
    _pad("between", (1, 3, 4, 5), [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 0)], 1.0),
    _pad("edges_and_between", (2, 3, 4, 5), [(1, 0, 2), (2, 1, 1), (0, 3, 0), (1, 2, 1)], -0.25),
    _pad("cut_off", (1, 5, 6, 4), [(0, 0, 0), (-1, -2, 0), (-2, 0, 0), (0, 0, 0)]),
    _pad("cut_between", (1, 5, 6, 3), [(0, 0, 0), (-1, -2, 2), (-4, 3, 3), (-1, 2, 1)], 3.0),
    _pad("moved_on", (1, 4, 5, 6), [(0, 0, 0), (1, -1, 0), (-2, 2, 0), (-1, 1, 0)]),
    _pad("channels_cut", (1, 2, 3, 7), [(0, 0, 0), (0, 0, 0), (0, 0, 0), (-3, -1, 0)]),
    _pad("all_cut_but_padding", (1, 2, 3, 4), [(0, 0, 0), (5, -3, 0), (0, 0, 0), (0, 0, 0)], 2.5),
    _pad("rank_1", (9,), [(1, 2, 1)]),
    _pad("rank_5", (2, 2, 3, 2, 5), [(1, 0, 0), (0, 0, 1), (-1, 1, 0), (0, 2, 1), (0, 0, 0)]),
    _pad("rank_6", (2, 1, 2, 2, 3, 4), [(0, 1, 1), (1, 0, 0), (0, 0, 0), (-1, 0, 2), (0, 0, 1), (2, 0, 0)]),
    _pad("int32", Feed((3, 4, 5), -1000, 100000, dtype="int32"), [(1, 0, 1), (-1, 2, 0), (0, 1, 2)], -9),
    _pad("infinite", (1, 3, 4, 5), [(0, 0, 0), (1, 1, 1), (0, 0, 0), (0, 0, 0)], -np.inf),
]
