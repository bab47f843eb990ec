"""Whole little graphs whose shape is a trap of its own: fan-out, outputs used inside, identities, chains."""

from __future__ import annotations

import numpy as np

from tests.vectors.binary import binary
from tests.vectors.case import Case, constant
from tests.vectors.conv_2d import conv2d
from tests.vectors.depthwise_conv_2d import depthwise_conv2d
from tests.vectors.unary import FUNCTIONS

_W = constant("graphs/w", (8, 3, 3, 8), -0.4, 0.4)
_B = constant("graphs/b", (8,))
_D = constant("graphs/d", (1, 3, 3, 8))
_SCALE = constant("graphs/scale", (8,), 0.5, 2)
_IMAGE = (1, 6, 5, 8)


def _case(name, build, reference, inputs=(_IMAGE,)):
    return Case("graph", name, inputs, build, reference)


def _conv(x, activation="NONE", padding="SAME"):
    return conv2d(x, _W, _B, activation=activation, padding=padding)


def _residual(m, x):
    return m.add(m.conv2d(m.conv2d(x, _W, _B, activation="RELU"), _W, _B), x, activation="RELU")


def _used_inside_and_out(m, x):
    y = m.conv2d(x, _W, _B)
    return y, m.unary("RELU6", y), m.add(y, x)


def _used_inside_and_out_reference(x):
    y = _conv(x)
    return y, np.clip(y, 0, 6), y + x


def _pad_then_conv(m, x):
    return m.conv2d(m.pad(x, [(0, 0), (1, 2), (0, 1), (0, 0)]), _W, _B, padding="VALID", stride=(2, 2))


def _pad_conv_reference(x):
    return conv2d(np.pad(x, [(0, 0), (1, 2), (0, 1), (0, 0)]), _W, _B, padding="VALID", stride=(2, 2))


def _pad_with_two_users(m, x):
    y = m.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
    return m.conv2d(y, _W, _B, padding="VALID"), m.unary("TANH", y)


def _pad_with_two_users_reference(x):
    y = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
    return conv2d(y, _W, _B, padding="VALID"), np.tanh(y)


def _batch_norm(m, x):
    return m.unary("RELU", m.add(m.mul(m.conv2d(x, _W, _B), _SCALE), _B))


def _batch_norm_before(m, x):
    """Not foldable into padding: scaled zeros stay zero, but shifted zeros do not."""
    return m.conv2d(m.add(m.mul(x, _SCALE), _B), _W, _B)


def _batch_norm_depthwise(m, x):
    return m.add(m.mul(m.depthwise_conv2d(x, _D, _B), _SCALE), _B, activation="RELU6")


def _chain(m, x):
    y = m.unary("HARD_SWISH", m.conv2d(x, _W, _B))
    return m.unary("TANH", m.mul(m.add(m.unary("LOGISTIC", y), x), y))


def _chain_reference(x):
    y = FUNCTIONS["HARD_SWISH"](_conv(x))
    return np.tanh((FUNCTIONS["LOGISTIC"](y) + x) * y)


def _squeeze_excite(m, x):
    s = m.mean(x, (1, 2), keep_dims=True)
    return m.mul(x, m.unary("LOGISTIC", m.conv2d(s, _W[:, 1:2, 1:2], _B, activation="RELU")))


def _squeeze_excite_reference(x):
    s = conv2d(x.mean(axis=(1, 2), keepdims=True), _W[:, 1:2, 1:2], _B, activation="RELU")
    return x * FUNCTIONS["LOGISTIC"](s)


def _two_inputs_out_of_order(m, a, b):
    return m.add(m.conv2d(b, _W, _B), a), m.mul(b, a)


def _reshapes(m, x):
    y = m.reshape(m.reshape(x, (1, 30, 8)), (1, 5, 6, 8))
    return m.conv2d(y, _W, _B)


def _activation_twice(m, x):
    return m.unary("RELU6", m.conv2d(x, _W, _B, activation="RELU"))


def _conv_with_two_activations(m, x):
    y = m.conv2d(x, _W, _B)
    return m.unary("RELU", y), m.unary("TANH", y)


def _diamond(m, x):
    y = m.unary("TANH", x)
    return m.add(m.conv2d(y, _W, _B), m.mul(m.conv2d(y, _W[::-1].copy(), _B), y))


def _diamond_reference(x):
    y = np.tanh(x)
    return conv2d(y, _W, _B) + conv2d(y, _W[::-1], _B) * y


def _inplace_trap(m, x):
    """`a` is read again after both of its children: an in-place elementwise op would spoil it."""
    a = m.unary("TANH", m.conv2d(x, _W, _B))
    b, c = m.unary("RELU", a), m.mul(a, _SCALE)
    return m.add(m.add(b, c), a)


def _inplace_trap_reference(x):
    a = np.tanh(_conv(x))
    return np.maximum(a, 0) + a * _SCALE + a


def _broadcast_grows_after_conv(m, x, y):
    """The sum is bigger than the convolution's result, so it cannot be computed in its kernel."""
    return m.add(m.conv2d(x, _W[:, 1:2, 1:2], _B), y)


CASES = [
    _case("residual", _residual, lambda x: np.maximum(_conv(_conv(x, "RELU")) + x, 0)),
    _case("output_used_inside", _used_inside_and_out, _used_inside_and_out_reference),
    _case("pad_into_conv", _pad_then_conv, _pad_conv_reference),
    _case("pad_with_two_users", _pad_with_two_users, _pad_with_two_users_reference),
    _case(
        "pad_into_conv_same",
        lambda m, x: m.conv2d(m.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)]), _W, _B),
        lambda x: _conv(np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])),
    ),
    _case(
        "pad_channels_into_add",
        lambda m, x: m.add(m.pad(x, [(0, 0), (0, 0), (0, 0), (0, 8)]), m.concatenation(x, x, axis=3)),
        lambda x: np.concatenate([2 * x, x], axis=3),
    ),
    _case("batch_norm_after_conv", _batch_norm, lambda x: np.maximum(_conv(x) * _SCALE + _B, 0)),
    _case("batch_norm_before_conv", _batch_norm_before, lambda x: _conv(x * _SCALE + _B)),
    _case(
        "batch_norm_after_depthwise",
        _batch_norm_depthwise,
        lambda x: np.clip(depthwise_conv2d(x, _D, _B) * _SCALE + _B, 0, 6),
    ),
    _case(
        "mul_after_fused_activation",
        lambda m, x: m.mul(m.conv2d(x, _W, _B, activation="RELU6"), -_SCALE),
        lambda x: _conv(x, "RELU6") * -_SCALE,
    ),
    _case(
        "add_scalar_after_conv",
        lambda m, x: m.add(m.conv2d(x, _W, _B), np.float32(3), activation="RELU"),
        lambda x: np.maximum(_conv(x) + 3, 0),
    ),
    _case("chain", _chain, _chain_reference),
    _case("squeeze_excite", _squeeze_excite, _squeeze_excite_reference),
    _case("two_inputs_out_of_order", _two_inputs_out_of_order, lambda a, b: (_conv(b) + a, b * a), (_IMAGE, _IMAGE)),
    _case("reshapes", _reshapes, lambda x: _conv(x.reshape(1, 5, 6, 8))),
    _case("activation_twice", _activation_twice, lambda x: np.clip(_conv(x), 0, 6)),
    _case(
        "two_activations_of_one_conv",
        _conv_with_two_activations,
        lambda x: (np.maximum(_conv(x), 0), np.tanh(_conv(x))),
    ),
    _case("diamond", _diamond, _diamond_reference),
    _case("value_read_after_its_children", _inplace_trap, _inplace_trap_reference),
    _case(
        "sum_bigger_than_conv",
        _broadcast_grows_after_conv,
        lambda x, y: binary("ADD", conv2d(x, _W[:, 1:2, 1:2], _B), y),
        ((1, 1, 1, 8), (2, 3, 4, 8)),
    ),
    _case(
        "output_twice",
        lambda m, x: (lambda y: (y, y))(m.unary("RELU", x)),
        lambda x: (np.maximum(x, 0), np.maximum(x, 0)),
    ),
    _case("dead_end", lambda m, x: (m.unary("TANH", x), m.unary("RELU", x))[1], lambda x: np.maximum(x, 0)),
    _case("same_conv_twice", lambda m, x: m.conv2d(m.conv2d(x, _W, _B), _W, _B), lambda x: _conv(_conv(x))),
    _case(
        "concat_of_branches",
        lambda m, x: m.concatenation(m.conv2d(x, _W, _B, activation="RELU"), x, m.average_pool2d(x, (1, 1)), axis=3),
        lambda x: np.concatenate([_conv(x, "RELU"), x, x], axis=3),
    ),
]
