"""The custom op Convolution2DTransposeBias: weights OHWI; the full result less the padding of the formula on the
input size, floor(half) of it cut before."""

from __future__ import annotations

import numpy as np

from tests import shapes
from tests.vectors.case import Case, constant

OP = "Convolution2DTransposeBias"


def transpose_conv_bias(x, w, b, stride=(2, 2), padding="SAME"):
    (batch, height, width, _), (out_c, kh, kw, _) = x.shape, w.shape
    full = np.zeros((batch, stride[0] * (height - 1) + kh, stride[1] * (width - 1) + kw, out_c))
    for ky in range(kh):
        for kx in range(kw):
            full[
                :, ky : ky + stride[0] * (height - 1) + 1 : stride[0], kx : kx + stride[1] * (width - 1) + 1 : stride[1]
            ] += x.astype(np.float64) @ w[:, ky, kx].T
    _, out_h, out_w, _ = shapes.transpose_conv(x.shape, w.shape, stride, padding)
    top, left = (shapes.transpose_padding(x.shape[1 + i], w.shape[1 + i], stride[i], padding) // 2 for i in (0, 1))
    return full[:, top : top + out_h, left : left + out_w] + b


def _case(name, x, w, half=False, **attributes):
    weights, b = constant(name, w).astype(np.float16 if half else np.float32), constant(name + "/b", w[:1])
    return Case(
        OP,
        name,
        [x],
        lambda m, x: m.transpose_conv_bias(x, m.const_f16(weights) if half else weights, b, **attributes),
        lambda x: transpose_conv_bias(x, weights.astype(np.float32), b, **attributes),
        on_cpu=False,
    )


CASES = [
    _case("2x2", (1, 4, 5, 8), (4, 2, 2, 8)),
    _case("2x2_odd_channels", (1, 4, 5, 3), (5, 2, 2, 3)),
    _case("2x2_one_output", (1, 6, 4, 16), (1, 2, 2, 16)),
    _case("3x3", (1, 4, 6, 4), (6, 3, 3, 4)),
    _case("3x3_odd_image", (1, 5, 3, 4), (4, 3, 3, 4)),
    _case("4x4", (1, 3, 4, 4), (4, 4, 4, 4)),
    _case("3x3_valid", (1, 3, 4, 4), (4, 3, 3, 4), padding="VALID"),
    _case("stride_1", (1, 4, 4, 4), (4, 3, 3, 4), stride=(1, 1)),
    _case("stride_3_uneven", (1, 3, 4, 4), (3, 3, 5, 4), stride=(3, 2)),
    _case("stride_bigger_than_kernel", (1, 3, 3, 4), (4, 1, 2, 4), stride=(3, 3), padding="VALID"),
    _case("batch_2", (2, 3, 4, 5), (6, 2, 2, 5)),
    _case("image_1x1", (1, 1, 1, 4), (4, 2, 2, 4)),
    _case("float16_weights", (1, 4, 4, 8), (8, 2, 2, 8), half=True),
]
