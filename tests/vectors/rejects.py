"""What Quadra leaves to the CPU, with a word that the reason must contain. The result holds all the same."""

from __future__ import annotations

import numpy as np

from tests.model_builder import LACKED
from tests.vectors.case import Case


def _reject(op, name, reason, inputs, build, reference=None, **options):
    return Case(op, "rejected_" + name, inputs, build, reference, place="cpu", reason=reason, **options)


def _both_flags(m, x):
    return m.resize_bilinear(x, (4, 4), align_corners=True, half_pixel_centers=True)


CASES = [
    _reject(
        "RELU", "rank_7", "rank", [(1, 2, 1, 1, 3, 2, 2)], lambda m, x: m.unary("RELU", x), lambda x: np.maximum(x, 0)
    ),
    _reject(
        "DEPTH_TO_SPACE",
        "rank_5",
        "rank",
        [(1, 2, 3, 2, 4)],
        lambda m, x: m.op("DEPTH_TO_SPACE", [x], (1, 2, 3, 2, 4), "DepthToSpaceOptions", BlockSize=2),
        on_cpu=False,
    ),
    _reject(
        LACKED,
        "unknown_op",
        LACKED,
        [(2, 3, 4)],
        lambda m, x: m.left_to_cpu(x),
        lambda x: x + x,
    ),
    _reject("RESIZE_BILINEAR", "both_flags", "half_pixel", [(1, 2, 3, 4)], _both_flags, on_cpu=False),
    _reject(
        "NoSuchOp", "custom", "NoSuchOp", [(1, 2, 3, 4)], lambda m, x: m.op("NoSuchOp", [x], x.shape), on_cpu=False
    ),
]
