"""DEPTHWISE_CONV_2D: weights [1, h, w, c * multiplier]; output channel = c * multiplier + m."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed, constant
from tests.vectors.numeric import activate, patches
from tests.vectors.prelu import prelu


def depthwise_conv2d(x, w, b=None, stride=(1, 1), dilation=(1, 1), padding="SAME", activation="NONE"):
    windows = patches(x, w.shape[1:3], stride, dilation, padding, 0.0)
    windows = np.repeat(windows, w.shape[3] // x.shape[3], axis=5)
    out = np.einsum("byxhwc,hwc->byxc", windows, w[0]) + (0 if b is None else b)
    return activate(out, activation)


def _case(name, x, kernel, multiplier=1, bias=True, half=False, special=(), **attributes):
    weights = constant(name, (1, *kernel, x[3] * multiplier))
    b = constant(name + "/b", weights.shape[3:]) if bias else None
    if half:
        weights = weights.astype(np.float16)
    return Case(
        "DEPTHWISE_CONV_2D",
        name,
        [Feed(x, special=special)],
        lambda m, x: m.depthwise_conv2d(x, m.const_f16(weights) if half else weights, b, **attributes),
        lambda x: depthwise_conv2d(x, weights.astype(np.float32), b, **attributes),
        on_cpu=bias and not special,  # some of its kernels lose NaN
        half=not special,
    )


def _before_prelu(name, x):
    """What is merged into a kernel calls functions where the kernel stores."""
    weights, alpha = constant(name, (1, 3, 3, x[3])), constant(name + "/alpha", (1, 1, x[3]))
    return Case(
        "DEPTHWISE_CONV_2D",
        name,
        [Feed(x)],
        lambda m, x: m.prelu(m.depthwise_conv2d(x, weights, None), alpha),
        lambda x: prelu(depthwise_conv2d(x, weights), alpha),
        half=True,
    )


LONG = 25  # pixels of a row: strips of 3 are for rows that are as long
STRIPS_OF_3 = 60  # where a row of LONG pixels has strips of 4, these are fewer work-items; strips of 3 are enough


def _strips():
    """Strips of 4, 3, 2 and 1 results of the windows that models have most; of 3 in long rows alone."""
    for width in (LONG, 5, 2, 1):
        yield _case(f"3x3_{width}_wide", (1, 4, width, 6), (3, 3))
        yield _case(f"5x5_{width}_wide", (1, 4, width, 6), (5, 5))
        yield _case(f"3x3_stride_to_{width}_wide", (1, 5, 2 * width, 6), (3, 3), stride=(2, 2))
        yield _case(f"5x5_stride_to_{width}_wide", (1, 5, 2 * width, 6), (5, 5), stride=(2, 2))
        yield _case(
            f"3x3_valid_stride_to_{width}_wide", (1, 5, 2 * width + 1, 6), (3, 3), stride=(2, 2), padding="VALID"
        )
        yield _before_prelu(f"3x3_{width}_wide_before_prelu", (1, 4, width, 6))
    for dilation in (2, 4):
        yield _case(f"dilation_{dilation}", (1, 7, 9, 6), (3, 3), dilation=(dilation, dilation), activation="RELU6")


CASES = [
    _case("3x3", (1, 7, 8, 8), (3, 3)),
    _case("3x3_odd_channels", (1, 6, 5, 5), (3, 3)),
    _case("3x3_one_channel", (1, 6, 5, 1), (3, 3)),
    _case("3x3_valid", (1, 6, 7, 4), (3, 3), padding="VALID"),
    _case("3x3_no_bias", (1, 5, 5, 4), (3, 3), bias=False),
    _case("3x3_stride_even", (1, 8, 8, 6), (3, 3), stride=(2, 2)),
    _case("3x3_stride_odd", (1, 9, 7, 8), (3, 3), stride=(2, 2), activation="RELU6"),
    _case("5x5", (1, 9, 9, 4), (5, 5)),
    _case("5x5_stride", (1, 10, 11, 7), (5, 5), stride=(2, 2)),
    _case("2x4_stride_uneven", (1, 8, 9, 4), (2, 4), stride=(1, 3), padding="VALID"),
    _case("stride_bigger_than_kernel", (1, 9, 9, 4), (2, 1), stride=(3, 4)),
    _case("kernel_bigger_than_image", (1, 3, 2, 4), (7, 5)),
    _case("image_1x1", (1, 1, 1, 7), (3, 3)),
    _case("1x1", (1, 4, 4, 6), (1, 1)),
    _case("dilation", (1, 9, 9, 4), (3, 3), dilation=(2, 2)),
    _case("dilation_uneven_valid", (1, 9, 9, 4), (3, 3), dilation=(3, 1), padding="VALID"),
    _case("batch_2", (2, 5, 6, 4), (3, 3)),
    _case("batch_3_odd_channels", (3, 5, 4, 6), (3, 3), stride=(2, 2)),
    _case("multiplier_2", (1, 5, 5, 4), (3, 3), multiplier=2),
    _case("multiplier_3_odd_channels", (1, 5, 5, 3), (3, 3), multiplier=3, activation="RELU"),
    _case("multiplier_4_batch_2", (2, 4, 4, 2), (3, 3), multiplier=4),
    _case("multiplier_of_one_channel", (1, 6, 6, 1), (3, 3), multiplier=6, stride=(2, 2)),
    _case("relu_n1_to_1", (1, 5, 5, 4), (3, 3), activation="RELU_N1_TO_1"),
    _case("float16_weights", (1, 6, 6, 6), (3, 3), half=True),
    *_strips(),
    _case("not_a_number", (1, 5, 6, 5), (3, 3), special=(np.nan,), activation="RELU6"),
    _case("larger", (1, 18, 17, 24), (3, 3), stride=(2, 2), activation="RELU6"),
]
