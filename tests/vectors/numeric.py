"""Numpy pieces that several references share. Sums run in float64, so references are the better number."""

from __future__ import annotations

import numpy as np

from tests import shapes

ACTIVATIONS = {
    "NONE": lambda x: x,
    "RELU": lambda x: np.maximum(x, 0),
    "RELU_N1_TO_1": lambda x: np.clip(x, -1, 1),
    "RELU6": lambda x: np.clip(x, 0, 6),
}


def activate(x: np.ndarray, name: str) -> np.ndarray:
    return ACTIVATIONS[name](x)


def patches(x: np.ndarray, kernel, stride, dilation, padding: str, fill: float) -> np.ndarray:
    """Windows of a BHWC array as [b, y, x, ky, kx, c]; cells outside the image hold `fill`."""
    where = []
    for axis in (0, 1):
        size = x.shape[1 + axis]
        out, before = shapes.window(size, kernel[axis], stride[axis], dilation[axis], padding)
        where.append(np.arange(out)[:, None] * stride[axis] - before + np.arange(kernel[axis])[None] * dilation[axis])
    rows, columns = where
    inside = [(w >= 0) & (w < n) for w, n in ((rows, x.shape[1]), (columns, x.shape[2]))]
    rows, columns = rows.clip(0, x.shape[1] - 1), columns.clip(0, x.shape[2] - 1)
    found = x[:, rows[:, None, :, None], columns[None, :, None, :], :].astype(np.float64)
    mask = inside[0][:, None, :, None] & inside[1][None, :, None, :]
    return np.where(mask[None, ..., None], found, fill)
