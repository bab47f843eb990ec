"""The custom op Resampler: an image sampled at places (x, y), between four pixels, those outside the image being 0."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed


def resampler(x, places):
    b, h, w, c = x.shape
    padded = np.zeros((b, h + 2, w + 2, c))
    padded[:, 1:-1, 1:-1] = x
    made = np.zeros((*places.shape[:3], c))
    for at in np.ndindex(*places.shape[:3]):
        px, py = places[at][:2].astype(np.float64)
        if -1 < px < w and -1 < py < h:
            x0, y0 = int(np.floor(px)), int(np.floor(py))
            right, low = px - x0, py - y0
            four = padded[at[0], y0 + 1 : y0 + 3, x0 + 1 : x0 + 3]
            made[at] = np.tensordot(np.outer([1 - low, low], [1 - right, right]), four, 2)
    return made


def _case(name, image, places, channels=2, low=-1.5, high=8.5, step=0.25, special=(), half=True) -> Case:
    feed = Feed((image[0], *places, channels), low, high, step=step, special=special)
    return Case(
        "Resampler",
        name,
        [image, feed],
        lambda m, x, at: m.op("Resampler", [x, at], (image[0], *places, image[3])),
        resampler,
        on_cpu=False,
        half=half,
    )


CASES = [
    _case("inside", (1, 9, 10, 4), (5, 6), low=0, high=8),
    _case("odd_channels_batch_2", (2, 7, 8, 5), (4, 9)),
    _case("more_channels_of_places", (1, 6, 6, 3), (3, 5), channels=5, high=6),
    _case("any_places", (1, 8, 8, 6), (6, 7), step=0, half=False),
    _case("far_outside", (1, 5, 4, 4), (4, 4), low=-100, high=100, special=(np.inf, -np.inf, np.nan, -1, 4)),
    _case("image_1x1", (1, 1, 1, 7), (5, 5), high=1.5),
    Case(
        "Resampler",
        "rejected_rank_3",
        [(1, 5, 6, 4), (1, 7, 2)],
        lambda m, x, at: m.op("Resampler", [x, at], (1, 7, 4)),
        place="cpu",
        reason="rank 4 is supported",
        on_cpu=False,
    ),
]
