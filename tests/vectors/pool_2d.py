"""AVERAGE_POOL_2D divides by the cells inside the image, and so does L2_POOL_2D, of squares; MAX_POOL_2D ignores the cells
outside."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed, constant
from tests.vectors.numeric import activate, patches


def average_pool2d(x, kernel, stride=(1, 1), padding="SAME", activation="NONE"):
    total = patches(x, kernel, stride, (1, 1), padding, 0.0).sum(axis=(3, 4))
    count = patches(np.ones_like(x), kernel, stride, (1, 1), padding, 0.0).sum(axis=(3, 4))
    return activate(total / count, activation)


def max_pool2d(x, kernel, stride=(1, 1), padding="SAME", activation="NONE"):
    return activate(patches(x, kernel, stride, (1, 1), padding, -np.inf).max(axis=(3, 4)), activation)


def l2_pool2d(x, kernel, stride=(1, 1), padding="SAME", activation="NONE"):
    return activate(np.sqrt(average_pool2d(np.square(x.astype(np.float64)), kernel, stride, padding)), activation)


_FUNCTIONS = {"AVERAGE_POOL_2D": average_pool2d, "L2_POOL_2D": l2_pool2d, "MAX_POOL_2D": max_pool2d}


def _case(op, name, x, kernel, half=True, **attributes):
    method, function = op.lower().replace("pool_2d", "pool2d"), _FUNCTIONS[op]
    return Case(
        op,
        name,
        [x],
        lambda m, x: getattr(m, method)(x, kernel, **attributes),
        lambda x: function(x, kernel, **attributes),
        half=half,
    )


def _cases(op):
    return [
        _case(op, "2x2", (1, 6, 8, 4), (2, 2), stride=(2, 2)),
        _case(op, "2x2_odd_image", (1, 5, 7, 4), (2, 2), stride=(2, 2)),
        _case(op, "2x2_odd_image_valid", (1, 5, 7, 4), (2, 2), stride=(2, 2), padding="VALID"),
        _case(op, "3x3_odd_channels", (1, 5, 6, 5), (3, 3)),
        _case(op, "3x3_batch_2", (2, 5, 4, 6), (3, 3), stride=(2, 2)),
        _case(op, "1x3_uneven_stride", (1, 4, 9, 3), (1, 3), stride=(2, 1)),
        _case(op, "global", (1, 7, 7, 9), (7, 7), padding="VALID"),
        _case(op, "kernel_bigger_than_image", (1, 2, 3, 4), (5, 5)),
        _case(op, "stride_bigger_than_kernel", (1, 9, 9, 4), (2, 2), stride=(4, 3)),
        _case(op, "image_1x1", (1, 1, 1, 5), (3, 3)),
        _case(op, "relu", (1, 4, 4, 4), (2, 2), activation="RELU"),
        _case(op, "relu6", Feed((1, 4, 4, 4), 0, 9), (2, 2), activation="RELU6"),
        _case(op, "relu_n1_to_1", (1, 4, 4, 4), (2, 2), activation="RELU_N1_TO_1"),
        _case(op, "very_negative", Feed((1, 5, 5, 3), -3e7, -1e6), (3, 3), half=False),
    ]


def _options(kernel, stride, padding) -> bytes:
    """TfLitePoolParams, as MediaPipe's custom ops have them."""
    return np.array([1 if padding == "SAME" else 2, stride[1], stride[0], kernel[1], kernel[0], 0], np.int32).tobytes()


def max_place(x, kernel, stride, padding):
    windows = patches(x, kernel, stride, (1, 1), padding, -np.inf)
    return windows.reshape(*windows.shape[:3], -1, x.shape[3]).argmax(3) + 0.1


def _with_place(name, x, kernel, stride, padding="SAME") -> Case:
    shape = max_pool2d(np.zeros(x), kernel, stride, padding).shape
    return Case(
        "MaxPoolingWithArgmax2D",
        name,
        [x],
        lambda m, x: tuple(
            m.op("MaxPoolingWithArgmax2D", [x], [shape, shape], custom_options=_options(kernel, stride, padding))
        ),
        lambda x: (max_pool2d(x, kernel, stride, padding), max_place(x, kernel, stride, padding)),
        on_cpu=False,
    )


def max_unpool2d(x, places, kernel, stride):
    b, h, w, c = x.shape
    made = np.zeros((b, h * kernel[0], w * kernel[1], c), np.float32)
    before = [max(0, ((n - 1) * s + k - n * k) // 2) for n, s, k in zip((h, w), stride, kernel)]
    for at in np.ndindex(x.shape):
        place = int(places[at])
        y = at[1] * stride[0] - before[0] + place // kernel[1]
        column = at[2] * stride[1] - before[1] + place % kernel[1]
        if 0 <= y < made.shape[1] and 0 <= column < made.shape[2]:
            made[at[0], y, column, at[3]] = x[at]
    return made


def _unpool(name, x, kernel, stride, step=0.0) -> Case:
    shape = (x[0], x[1] * kernel[0], x[2] * kernel[1], x[3])
    return Case(
        "MaxUnpooling2D",
        name,
        [x, Feed(x, 0, kernel[0] * kernel[1] - (1 if step else 0.1), step=step)],
        lambda m, *v: m.op("MaxUnpooling2D", v, shape, custom_options=_options(kernel, stride, "SAME")),
        lambda v, places: max_unpool2d(v, places, kernel, stride),
        on_cpu=False,
        half=step > 0,
    )


def _unpool_at(name, pooled, kernel, stride, padding="SAME") -> Case:
    """A pooling's maxima and places, as tf.nn.max_pool_with_argmax has them, put back into [b, h, w, c], which is `pooled`."""
    x = constant(f"unpool_at/{name}", pooled)
    maxima, inside = max_pool2d(x, kernel, stride, padding), max_place(x, kernel, stride, padding).astype(int)
    b, h, w, c = maxima.shape
    before = [
        max(0, ((n - 1) * s + k - size) // 2) if padding == "SAME" else 0
        for n, s, k, size in zip((h, w), stride, kernel, pooled[1:3])
    ]
    rows = np.arange(h)[:, None, None] * stride[0] - before[0] + inside // kernel[1]
    columns = np.arange(w)[:, None] * stride[1] - before[1] + inside % kernel[1]
    places = ((rows * pooled[2] + columns) * c + np.arange(c)).astype(np.int32)

    def reference(v):
        made = np.zeros((b, int(np.prod(pooled[1:]))), np.float32)
        for at in np.ndindex(v.shape):
            made[at[0], places[at]] = v[at]
        return made.reshape(pooled)

    options = _options(kernel, stride, padding)
    return Case(
        "LiteRtMaxUnpooling2D",
        name,
        [maxima.shape],
        lambda m, v: m.op("LiteRtMaxUnpooling2D", [v, places], pooled, custom_options=options),
        reference,
        on_cpu=False,
    )


def _unpool_elsewhere() -> Case:
    """All places are 2, of which one is in its window, and of its channel."""
    shape, pooled = (2, 3, 4, 5), (2, 6, 8, 5)

    def reference(v, _places):
        made = np.zeros(pooled, np.float32)
        made[:, 0, 0, 2] = v[:, 0, 0, 2]
        return made

    options = _options((2, 2), (2, 2), "SAME")
    return Case(
        "LiteRtMaxUnpooling2D",
        "elsewhere",
        [shape, Feed(shape, 2, 2, dtype="int32")],
        lambda m, *v: m.op("LiteRtMaxUnpooling2D", v, pooled, custom_options=options),
        reference,
        on_cpu=False,
    )


CASES = [
    *_cases("AVERAGE_POOL_2D"),
    *_cases("L2_POOL_2D"),
    _case("L2_POOL_2D", "squares_beyond_half", Feed((1, 6, 5, 6), -3e4, 3e4), (2, 3)),
    *_cases("MAX_POOL_2D"),
    _with_place("2x2", (1, 6, 8, 4), (2, 2), (2, 2)),
    _with_place("3x3_odd", (2, 5, 7, 5), (3, 3), (2, 1)),
    _with_place("valid", (1, 7, 6, 3), (2, 3), (2, 2), "VALID"),
    _unpool("2x2", (1, 3, 4, 5), (2, 2), (2, 2)),
    _unpool("steps", (1, 3, 4, 5), (2, 2), (2, 2), step=1.0),
    _unpool_at("2x2", (2, 6, 8, 5), (2, 2), (2, 2)),
    _unpool_at("overlapping", (1, 6, 8, 7), (3, 3), (2, 2)),
    _unpool_at("valid", (2, 4, 11, 2), (2, 2), (2, 3), "VALID"),
    _unpool_at("rows", (1, 5, 12, 4), (1, 4), (1, 3)),
    _unpool_elsewhere(),
    _unpool("overlapping", (2, 3, 4, 6), (3, 2), (2, 1)),
]
