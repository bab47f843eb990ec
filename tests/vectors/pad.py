"""PAD: zeros before and after each axis."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case


def _case(name, x, paddings, **fields):
    return Case("PAD", name, [x], lambda m, x: m.pad(x, paddings), lambda x: np.pad(x, paddings), **fields)


CASES = [
    _case("image", (1, 3, 4, 5), [(0, 0), (1, 2), (3, 1), (0, 0)]),
    _case("image_after_only", (1, 4, 4, 4), [(0, 0), (0, 1), (0, 1), (0, 0)]),
    _case("channels_by_4", (1, 3, 3, 4), [(0, 0), (0, 0), (0, 0), (4, 4)]),
    _case("channels_by_1", (1, 3, 3, 4), [(0, 0), (0, 0), (0, 0), (1, 0)]),
    _case("channels_across_slices", (1, 3, 3, 5), [(0, 0), (0, 0), (0, 0), (2, 6)]),
    _case("batch", (2, 2, 3, 4), [(1, 2), (0, 0), (0, 0), (0, 0)]),
    _case("everything", (2, 2, 3, 3), [(1, 1), (1, 0), (0, 2), (3, 1)]),
    _case("nothing", (1, 2, 3, 3), [(0, 0)] * 4),
    _case("rank_3", (2, 3, 5), [(1, 0), (0, 2), (1, 1)]),
    _case("rank_2", (3, 5), [(1, 0), (2, 3)]),
    _case("rank_1", (5,), [(2, 3)]),
    _case("rank_5_image", (1, 2, 3, 2, 4), [(0, 0), (1, 0), (0, 2), (1, 1), (0, 0)]),
    _case("rank_5_everything", (2, 1, 3, 2, 5), [(1, 0), (0, 2), (1, 1), (2, 0), (3, 2)]),
    _case("rank_5_outermost", (2, 3, 2, 2, 4), [(1, 2), (0, 0), (0, 0), (0, 0), (0, 0)]),
    _case("rank_6", (2, 1, 2, 2, 3, 3), [(1, 0), (0, 1), (2, 0), (0, 0), (0, 1), (1, 1)], on_cpu=False),
]
