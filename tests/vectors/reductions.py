"""SOFTMAX over the last axis, and MEAN over any axes."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed


def softmax(x, beta=1.0):
    x = x.astype(np.float64) * beta
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def mean(x, axes, keep_dims=False):
    axes = tuple({axis % x.ndim for axis in np.atleast_1d(axes).tolist()})
    return x.astype(np.float64).mean(axis=axes, keepdims=keep_dims)


def _softmax(name, x, beta=1.0, half=True):
    return Case("SOFTMAX", name, [x], lambda m, x: m.softmax(x, beta), lambda x: softmax(x, beta), half=half)


def _mean(name, x, axes, keep_dims=False):
    return Case("MEAN", name, [x], lambda m, x: m.mean(x, axes, keep_dims), lambda x: mean(x, axes, keep_dims))


CASES = [
    _softmax("rank_4", (1, 3, 4, 8)),
    _softmax("rank_4_odd_channels_batch_2", (2, 3, 4, 5)),
    _softmax("one_channel", (1, 2, 2, 1)),
    _softmax("two_channels", (1, 3, 3, 2)),
    _softmax("rank_3", (2, 3, 7)),
    _softmax("rank_2", (3, 10)),
    _softmax("rank_2_long", (1, 1001)),
    _softmax("many_channels", (2, 3, 2, 130)),
    _softmax("rank_1", (9,)),
    _softmax("beta", (1, 2, 3, 6), beta=0.5),
    _softmax("large_beta", (2, 6), beta=10.0),
    _softmax("large_inputs", Feed((1, 2, 3, 6), -1000, 1000), half=False),
    _softmax("huge_negative_inputs", Feed((2, 7), -3e5, -1e5), half=False),
    _softmax("minus_infinity", Feed((2, 7), special=(-np.inf,)), half=False),
    _mean("image", (1, 5, 6, 8), (1, 2)),
    _mean("image_keeps_dims", (1, 5, 6, 8), (1, 2), keep_dims=True),
    _mean("image_odd_channels_batch_2", (2, 4, 5, 7), (1, 2), keep_dims=True),
    _mean("image_batch_2_drops_dims", (2, 4, 5, 7), (1, 2)),
    _mean("negative_axes", (2, 4, 5, 6), (-2, -3)),
    _mean("repeated_axis", (1, 4, 5, 6), (1, -3), keep_dims=True),
    _mean("height", (1, 4, 5, 6), (1,)),
    _mean("width", (2, 4, 5, 3), (2,), keep_dims=True),
    _mean("channels", (1, 4, 5, 8), (3,), keep_dims=True),
    _mean("channels_odd", (2, 3, 4, 5), (-1,)),
    _mean("batch", (3, 2, 3, 5), (0,)),
    _mean("batch_keeps_dims", (3, 2, 3, 4), (0,), keep_dims=True),
    _mean("height_and_channels", (2, 4, 3, 6), (1, 3)),
    _mean("everything", (2, 3, 4, 5), (0, 1, 2, 3)),
    _mean("everything_keeps_dims", (2, 3, 4, 5), (0, 1, 2, 3), keep_dims=True),
    _mean("scalar_axis", (1, 4, 5, 6), 2),
    _mean("rank_3", (2, 4, 5), (1,)),
    _mean("rank_2", (3, 7), (1,)),
    _mean("rank_2_rows", (3, 7), (0,), keep_dims=True),
    _mean("rank_1", (9,), (0,)),
    _mean("large_image", (1, 33, 31, 5), (1, 2), keep_dims=True),
    _mean("large_image_of_bytes", Feed((1, 8, 300, 3), 200, 255), (1, 2)),
]
