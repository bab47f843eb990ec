"""Graphs that passes rewrite into others, with batches and channels that end inside a slice: the numbers must stay."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, constant
from tests.vectors.conv_2d import conv2d
from tests.vectors.depthwise_conv_2d import depthwise_conv2d
from tests.vectors.numeric import activate
from tests.vectors.pool_2d import max_pool2d
from tests.vectors.resize_bilinear import resize_bilinear
from tests.vectors.unary import FUNCTIONS

_IMAGE = (2, 4, 5, 6)
_PIXEL = constant("rewrites/pixel", (10, 1, 1, 6))
_NARROW = constant("rewrites/narrow", (5, 1, 1, 6))
_OVER_CONCAT = constant("rewrites/over_concat", (7, 1, 1, 11))
_WINDOW = constant("rewrites/window", (6, 2, 2, 6))
_AFFINE = constant("rewrites/affine", (1, 1, 1, 6), 0.5, 2)
_DEEP = constant("rewrites/deep", (1, 3, 3, 6))
_BIAS = constant("rewrites/bias", (10,))
_ALPHA = constant("rewrites/alpha", (1, 1, 6), 0.1, 0.5)


def _case(name, build, reference, inputs=(_IMAGE,)):
    return Case("rewrite", name, inputs, build, reference)


def _channels(x, count):
    return np.pad(x, [(0, 0), (0, 0), (0, 0), (0, count)])


def _skip_path(m, x):
    skip = m.pad(x, [(0, 0), (0, 0), (0, 0), (0, 4)])
    return m.add(skip, m.conv2d(x, _PIXEL, _BIAS), activation="RELU")


def _skip_path_of_a_sum(m, x, y):
    """The addition has no producer to be merged into."""
    return m.add(m.pad(x, [(0, 0), (0, 0), (0, 0), (0, 3)]), y)


def _skip_path_of_a_pool(m, x):
    small = m.max_pool2d(x, (2, 2), (2, 2))
    deep = m.depthwise_conv2d(x, _DEEP, _BIAS[2:8], stride=(2, 2))
    return m.add(m.conv2d(deep, _PIXEL, _BIAS), m.pad(small, [(0, 0), (0, 0), (0, 0), (0, 4)]))


def _skip_path_of_a_pool_reference(x):
    return conv2d(depthwise_conv2d(x, _DEEP, _BIAS[2:8], stride=(2, 2)), _PIXEL, _BIAS) + _channels(
        max_pool2d(x, (2, 2), (2, 2)), 4
    )


def _resize(**flags):
    return lambda m, x: m.conv2d(m.resize_bilinear(x, (9, 7), **flags), _NARROW, _BIAS[:5], activation="RELU6")


def _resize_reference(**flags):
    return lambda x: conv2d(resize_bilinear(x, (9, 7), **flags), _NARROW, _BIAS[:5], activation="RELU6")


def _same_everywhere(m, a, x):
    both = m.concatenation(m.resize_bilinear(a, (4, 5), align_corners=True), x, axis=3)
    return m.conv2d(both, _OVER_CONCAT, _BIAS[:7], activation="RELU")


def _same_everywhere_reference(a, x):
    both = np.concatenate([np.broadcast_to(a, (2, 4, 5, 5)), x], axis=3)
    return conv2d(both, _OVER_CONCAT, _BIAS[:7], activation="RELU")


def _affine(m, x):
    """A 1x1 depthwise convolution with a reader beside the one it could be folded into."""
    y = m.depthwise_conv2d(m.prelu(m.conv2d(x, _WINDOW, _BIAS[:6]), _ALPHA), _AFFINE, _BIAS[:6])
    z = m.depthwise_conv2d(m.prelu(y, _ALPHA), _AFFINE, _BIAS[4:], padding="VALID")
    return m.conv2d(z, _WINDOW, _BIAS[:6], padding="VALID"), m.max_pool2d(y, (2, 2))


def _affine_reference(x):
    def prelu(v):
        return np.where(v >= 0, v, v * _ALPHA)

    y = prelu(conv2d(x, _WINDOW, _BIAS[:6])) * _AFFINE + _BIAS[:6]
    return conv2d(prelu(y) * _AFFINE + _BIAS[4:], _WINDOW, _BIAS[:6], padding="VALID"), max_pool2d(y, (2, 2))


def _long_chain(m, x):
    """More steps than are merged into one kernel, with as many operands."""
    y = m.conv2d(x, _WINDOW, _BIAS[:6])
    for _ in range(3):
        y = m.unary("TANH", m.add(m.mul(y, x), _ALPHA))
    return y


def _long_chain_reference(x):
    y = conv2d(x, _WINDOW, _BIAS[:6])
    for _ in range(3):
        y = np.tanh(y * x + _ALPHA)
    return y


def _squares(m, x):
    y = m.conv2d(x, _WINDOW, _BIAS[:6])
    return m.add(m.mul(y, y), m.unary("LOGISTIC", y)), m.mul(m.unary("TANH", x), m.unary("TANH", x))


def _squares_reference(x):
    y = conv2d(x, _WINDOW, _BIAS[:6])
    return y * y + FUNCTIONS["LOGISTIC"](y), np.tanh(x) ** 2


def _outputs_as_rows(m, x):
    y = m.conv2d(x, _WINDOW, _BIAS[:6])
    return m.reshape(y, (2, 120)), m.unary("TANH", m.reshape(y, (2, 20, 6))), m.reshape(x, (40, 6))


def _outputs_as_rows_reference(x):
    y = conv2d(x, _WINDOW, _BIAS[:6])
    return y.reshape(2, 120), np.tanh(y.reshape(2, 20, 6)), x.reshape(40, 6)


CASES = [
    _case(
        "skip_path_with_new_channels", _skip_path, lambda x: np.maximum(_channels(x, 4) + conv2d(x, _PIXEL, _BIAS), 0)
    ),
    _case("skip_path_alone", _skip_path_of_a_sum, lambda x, y: _channels(x, 3) + y, ((2, 4, 5, 6), (2, 4, 5, 9))),
    _case("skip_path_of_a_pool", _skip_path_of_a_pool, _skip_path_of_a_pool_reference),
    _case(
        "skip_path_of_whole_slices",
        _skip_path_of_a_sum,
        lambda x, y: _channels(x, 3) + y,
        ((2, 3, 3, 8), (2, 3, 3, 11)),
    ),
    _case("enlarge_then_convolve", _resize(), _resize_reference()),
    _case(
        "enlarge_then_convolve_half_pixel", _resize(half_pixel_centers=True), _resize_reference(half_pixel_centers=True)
    ),
    _case("convolve_what_is_the_same_everywhere", _same_everywhere, _same_everywhere_reference, ((2, 1, 1, 5), _IMAGE)),
    _case("affine_as_depthwise", _affine, _affine_reference),
    _case("long_chain", _long_chain, _long_chain_reference),
    _case("squares", _squares, _squares_reference),
    _case("outputs_as_rows", _outputs_as_rows, _outputs_as_rows_reference),
    _case(
        "mean_as_pool",
        lambda m, x: m.average_pool2d(x, (4, 5), (1, 1), padding="VALID", activation="RELU"),
        lambda x: activate(x.mean(axis=(1, 2), keepdims=True), "RELU"),
    ),
]
