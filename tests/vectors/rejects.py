"""What Quadra leaves to the CPU, with a word that the reason must contain. The result holds all the same."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case


def _reject(op, name, reason, inputs, build, reference=None, **options):
    return Case(op, "rejected_" + name, inputs, build, reference, place="cpu", reason=reason, **options)


def _both_flags(m, x):
    return m.resize_bilinear(x, (4, 4), align_corners=True, half_pixel_centers=True)


CASES = [
    _reject("RELU", "rank_5", "rank", [(1, 2, 3, 2, 2)], lambda m, x: m.unary("RELU", x), lambda x: np.maximum(x, 0)),
    _reject("ADD", "rank_5", "rank", [(1, 2, 3, 2, 2)] * 2, lambda m, x, y: m.add(x, y), np.add),
    _reject("EXP", "unknown_op", "EXP", [(1, 2, 3, 4)], lambda m, x: m.op("EXP", [x], x.shape, "ExpOptions"), np.exp),
    _reject("RESIZE_BILINEAR", "both_flags", "half_pixel", [(1, 2, 3, 4)], _both_flags, on_cpu=False),
    _reject(
        "NoSuchOp", "custom", "NoSuchOp", [(1, 2, 3, 4)], lambda m, x: m.op("NoSuchOp", [x], x.shape), on_cpu=False
    ),
]
