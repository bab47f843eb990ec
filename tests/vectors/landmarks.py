"""MediaPipe's custom ops that cut a turned part out of an image and bring its landmarks back."""

from __future__ import annotations

import numpy as np
from flatbuffers import flexbuffers

from tests.vectors.case import Case, Feed


def _options(**values) -> bytes:
    return bytes(flexbuffers.Dumps(values))


def _rotation(r):
    return np.array([[np.cos(r), -np.sin(r), 0, 0], [np.sin(r), np.cos(r), 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def _shift(x, y):
    matrix = np.eye(4)
    matrix[:2, 3] = x, y
    return matrix


def to_matrix(marks, left, right, subset, size, scale, target):
    """The part's pixels to the image's: around the smallest rectangle that holds the turned landmarks."""
    at = marks[0].astype(np.float64)
    r = target - np.arctan2(at[right, 1] - at[left, 1], at[right, 0] - at[left, 0])
    turned = at[subset, :2] @ _rotation(r)[:2, :2].T
    low, high = turned.min(0), turned.max(0)
    middle = _rotation(-r)[:2, :2] @ ((low + high) / 2)
    factors = np.diag([scale[0] * (high[0] - low[0]) / size[0], scale[1] * (high[1] - low[1]) / size[1], 1, 1])
    return (_shift(*middle) @ _rotation(-r) @ factors @ _shift(-size[0] / 2, -size[1] / 2))[None]


def _matrix(name, count, left, right, subset, size, scale, target=0.0) -> Case:
    options = _options(left_rotation_idx=left, right_rotation_idx=right, subset_idxs=list(subset), output_width=size[0],
                       output_height=size[1], scale_x=scale[0], scale_y=scale[1], target_rotation_radians=target)  # fmt: skip
    return Case(
        "Landmarks2TransformMatrix",
        name,
        [Feed((1, count, 3), 0, 60)],
        lambda m, x: m.op("Landmarks2TransformMatrix", [x], (1, 4, 4), version=2, custom_options=options),
        lambda x: to_matrix(x, left, right, list(subset), size, scale, target),
        on_cpu=False,
    )


def cut(image, matrix, size):
    columns, rows = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
    at = matrix[0, :2].astype(np.float64) @ np.stack([columns, rows, 0 * rows, 1 + 0 * rows]).reshape(4, -1) - 0.5
    h, w = image.shape[1:3]
    made = np.zeros((size[0] * size[1], image.shape[3]))
    for i, (x, y) in enumerate(at.T):
        if 0 <= x <= w - 1 and 0 <= y <= h - 1:
            x0, y0 = int(x), int(y)
            x1, y1 = min(x0 + 1, w - 1), min(y0 + 1, h - 1)
            upper = (1 - x + x0) * image[0, y0, x0] + (x - x0) * image[0, y0, x1]
            lower = (1 - x + x0) * image[0, y1, x0] + (x - x0) * image[0, y1, x1]
            made[i] = (1 - y + y0) * upper + (y - y0) * lower
    return made.reshape(1, size[1], size[0], -1)


def _cut(name, shape, size, turn, scale) -> Case:
    matrix = (_shift(*(0.5 * np.array(shape[2:0:-1]))) @ _rotation(turn) @ np.diag([scale, scale, 1, 1]) @ _shift(-size[0] / 2, -size[1] / 2))[None].astype(np.float32)  # fmt: skip
    options = _options(output_height=size[1], output_width=size[0])
    return Case(
        "TransformTensorBilinear",
        name,
        [shape],
        lambda m, x: m.op(
            "TransformTensorBilinear",
            [x, matrix],
            (1, size[1], size[0], shape[3]),
            version=2,
            custom_options=options,
        ),
        lambda x: cut(x, matrix, size),
        on_cpu=False,
        half=turn == 0,  # half would move the samples of others
    )


def _moved(name, count, coordinates) -> Case:
    def reference(x, matrix):
        made = x.astype(np.float64).copy()
        made[..., :2] = x[..., :2] @ matrix[0, :2, :2].T.astype(np.float64) + matrix[0, :2, 3]
        return made

    return Case(
        "TransformLandmarks",
        name,
        [Feed((1, count, coordinates), 0, 16), (1, 4, 4)],
        lambda m, *v: m.op("TransformLandmarks", v, (1, count, coordinates), version=2),
        reference,
        on_cpu=False,
    )


CASES = [
    _matrix("upright", 20, 3, 11, range(5, 20), (16, 16), (1.5, 1.5)),
    _matrix("turned", 9, 8, 0, [1, 2, 5], (24, 16), (1.0, 2.5), target=0.7),
    _cut("turned", (1, 20, 24, 5), (16, 12), 0.4, 0.8),
    _cut("scaled", (1, 8, 12, 6), (8, 4), 0, 0.75),
    _cut("beyond_the_image", (1, 6, 7, 4), (8, 8), -1.0, 1.5),
    _moved("two_coordinates", 10, 2),
    _moved("three_coordinates", 7, 3),
]
