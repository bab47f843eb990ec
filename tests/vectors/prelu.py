"""PRELU: x < 0 ? alpha * x : x, with alpha broadcast as numpy does."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed, constant


def prelu(x, alpha):
    return np.where(x < 0, alpha * x, x)


def _case(name, x, alpha, half=False, low=-1.0):
    a = constant(name, alpha, low, 2).astype(np.float16 if half else np.float32)
    return Case(
        "PRELU",
        name,
        [x],
        lambda m, x: m.prelu(x, m.const_f16(a) if half else a),
        lambda x: prelu(x, a.astype(np.float32)),
    )


CASES = [
    _case("per_channel", (1, 4, 5, 8), (1, 1, 8)),
    _case("per_channel_odd", (1, 4, 5, 7), (7,)),
    _case("per_channel_rank_4", (2, 3, 3, 6), (1, 1, 1, 6)),
    _case("one_alpha", (1, 4, 5, 6), (1, 1, 1)),
    _case("per_row", (1, 4, 5, 6), (4, 1, 1)),
    _case("per_column", (1, 4, 5, 6), (1, 5, 1)),
    _case("per_pixel", (1, 4, 5, 6), (4, 5, 1)),
    _case("per_element", (2, 4, 5, 6), (4, 5, 6)),
    _case("rank_2", (3, 7), (7,)),
    _case("rank_3", (2, 3, 5), (1, 5)),
    _case("float16_alpha", (1, 4, 4, 6), (1, 1, 6), half=True),
    Case(
        "PRELU",
        "edges",
        [Feed((1, 3, 3, 4), special=(0.0, -0.0, np.inf, np.nan))],
        lambda m, x: m.prelu(x, np.full((1, 1, 4), 0.25, np.float32)),
        lambda x: prelu(x, 0.25),
        half=False,
    ),
    Case(
        "PRELU",
        "infinite_slopes",
        [Feed((1, 3, 3, 4), special=(0.0, -0.0, np.inf, np.nan))],
        lambda m, x: m.prelu(x, np.float32([[[np.inf, -np.inf, 0.25, 0]]])),
        lambda x: prelu(x, np.float32([np.inf, -np.inf, 0.25, 0])),
        half=False,
    ),
    Case("PRELU", "runtime_alpha", [(1, 4, 4, 6), (1, 1, 6)], lambda m, x, a: m.prelu(x, a), prelu, place="any"),
]
