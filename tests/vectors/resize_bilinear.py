"""RESIZE_BILINEAR: src = x * scale, or (x + 0.5) * scale - 0.5 with half_pixel_centers; scale = in / out, or
(in - 1) / (out - 1) with align_corners. Neighbours are clamped to the image."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed


def resize_bilinear(x, size, align_corners=False, half_pixel_centers=False):
    for axis, out in zip((1, 2), size):
        n = x.shape[axis]
        scale = np.float32((n - 1) / (out - 1) if align_corners and out > 1 else n / out)
        place = np.arange(out, dtype=np.float32)
        place = (place + np.float32(0.5)) * scale - np.float32(0.5) if half_pixel_centers else place * scale
        low = np.maximum(np.floor(place), 0).astype(int)
        high = np.minimum(np.ceil(place), n - 1).astype(int)
        weight = (place - low).reshape([-1 if i == axis else 1 for i in range(4)]).astype(np.float64)
        x = np.take(x, low, axis) * (1 - weight) + np.take(x, high, axis) * weight
    return x


def _case(name, x, size, **flags):
    return Case(
        "RESIZE_BILINEAR",
        name,
        [x],
        lambda m, x: m.resize_bilinear(x, size, **flags),
        lambda x: resize_bilinear(x, size, **flags),
    )


def _cases(suffix, **flags):
    return [
        _case("twice" + suffix, (1, 4, 5, 4), (8, 10), **flags),
        _case("uneven_up" + suffix, (1, 3, 4, 5), (7, 9), **flags),
        _case("down" + suffix, (1, 9, 8, 3), (4, 3), **flags),
        _case("mixed_batch_2" + suffix, (2, 6, 3, 6), (3, 7), **flags),
        _case("to_1x1" + suffix, (1, 5, 6, 4), (1, 1), **flags),
        _case("from_1x1" + suffix, (1, 1, 1, 5), (3, 4), **flags),
        _case("same_size" + suffix, (1, 4, 5, 4), (4, 5), **flags),
    ]


def _of_integers(dtype: str):
    """Without a scale. Results are whole numbers: between two, kernels differ."""
    low = -112 if dtype != "uint8" else 0
    return Case(
        "RESIZE_BILINEAR",
        f"twice_{dtype}",
        [Feed((2, 4, 5, 6), low, 112, dtype=dtype, step=16)],
        lambda m, x: m.op("RESIZE_BILINEAR", [x, np.int32([8, 10])], (2, 8, 10, 6), "ResizeBilinearOptions", 3,
                          {"dtype": dtype}),
        lambda x: resize_bilinear(x.astype(np.float64), (8, 10)).astype(dtype),
    )  # fmt: skip


CASES = _cases("") + _cases("_align_corners", align_corners=True) + _cases("_half_pixel", half_pixel_centers=True)
CASES += [_of_integers(dtype) for dtype in ("int8", "uint8", "int16")]
