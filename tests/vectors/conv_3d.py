"""CONV_3D, weights DHWIO, and CONV_3D_TRANSPOSE, weights DHWOI, of NDHWC; a transposed one cuts before its result what a
convolution of that size would pad there."""

from __future__ import annotations

from itertools import product

import numpy as np

from tests import shapes
from tests.vectors.case import Case, constant
from tests.vectors.numeric import activate


def window_3d(x, w, stride, dilation, padding):
    """(output size, padding before) along D, H and W."""
    return [shapes.window(x[1 + i], w[i], stride[i], dilation[i], padding) for i in range(3)]


def conv3d(x, w, b=None, stride=(1, 1, 1), dilation=(1, 1, 1), padding="SAME", activation="NONE"):
    window = window_3d(x.shape, w.shape, stride, dilation, padding)
    made = np.zeros((x.shape[0], *(size for size, _ in window), w.shape[4]))
    far = [(w.shape[i] - 1) * dilation[i] + stride[i] for i in range(3)]
    padded = np.pad(x.astype(np.float64), [(0, 0), *((n, n) for n in far), (0, 0)])
    for tap in product(*(range(n) for n in w.shape[:3])):
        at = [far[i] - window[i][1] + tap[i] * dilation[i] for i in range(3)]
        z, y, x_ = (slice(at[i], at[i] + (window[i][0] - 1) * stride[i] + 1, stride[i]) for i in range(3))
        made += padded[:, z, y, x_] @ w[tap].astype(np.float64)
    return activate(made if b is None else made + b, activation)


def conv3d_transpose(x, w, b, size, stride=(1, 1, 1), dilation=(1, 1, 1), padding="SAME", activation="NONE"):
    window = window_3d((0, *size), w.shape, stride, dilation, padding)
    made = np.zeros((x.shape[0], *size, w.shape[3]))
    for tap in product(*(range(n) for n in w.shape[:3])):
        places = [np.arange(x.shape[1 + i]) * stride[i] + tap[i] * dilation[i] - window[i][1] for i in range(3)]
        inside = [(p >= 0) & (p < n) for p, n in zip(places, size)]
        part = (x.astype(np.float64) @ w[tap].T.astype(np.float64))[:, *np.ix_(*inside)]
        made[:, *np.ix_(*(p[i] for p, i in zip(places, inside)))] += part
    return activate(made if b is None else made + b, activation)


def options_3d(stride=(1, 1, 1), dilation=(1, 1, 1), padding="SAME", activation="NONE") -> dict:
    fields = {
        f"{name}{axis}{end}": n
        for name, end, three in (("Stride", "", stride), ("Dilation", "Factor", dilation))
        for axis, n in zip("DHW", three)
    }
    return fields | {
        "Padding": int(padding == "VALID"),
        "FusedActivationFunction": ["NONE", "RELU", "RELU_N1_TO_1", "RELU6"].index(activation),
    }


def _case(name, x, w, bias=True, half=False, **how) -> Case:
    weights = constant(f"3d/{name}", w).astype(np.float16 if half else np.float32)
    b = constant(f"3d/{name}/b", w[4:]) if bias else None
    shape = conv3d(np.zeros(x), np.zeros(w), **how).shape

    def build(m, x):
        kept = m.const_f16(weights) if half else weights
        return m.op("CONV_3D", [x, kept, *([b] if bias else [])], shape, "Conv3DOptions", **options_3d(**how))

    return Case("CONV_3D", name, [x], build, lambda x: conv3d(x, weights.astype(np.float32), b, **how))


def _transposed(name, x, w, size, bias=True, **how) -> Case:
    weights, b = constant(f"3d/{name}", w), constant(f"3d/{name}/b", w[3:4]) if bias else None
    shape = (x[0], *size, w[3])
    return Case(
        "CONV_3D_TRANSPOSE",
        name,
        [x],
        lambda m, x: m.op(
            "CONV_3D_TRANSPOSE",
            [np.array(shape, np.int32), weights, x, *([b] if bias else [])],
            shape,
            "Conv3DOptions",
            **options_3d(**how),
        ),
        lambda x: conv3d_transpose(x, weights, b, size, **how),
    )


CASES = [
    _case("3x3x3", (1, 4, 5, 6, 4), (3, 3, 3, 4, 8)),
    _case("odd_channels_batch_2", (2, 4, 5, 3, 5), (2, 3, 2, 5, 7)),
    _case("valid", (1, 5, 6, 7, 3), (3, 2, 3, 3, 4), padding="VALID"),
    _case("strides", (2, 7, 6, 5, 4), (3, 3, 3, 4, 6), stride=(2, 1, 2)),
    _case("strides_valid_no_bias", (1, 7, 6, 5, 4), (2, 3, 1, 4, 4), stride=(3, 2, 1), padding="VALID", bias=False),
    _case("dilation", (1, 7, 8, 9, 3), (3, 2, 3, 3, 5), dilation=(2, 3, 1)),
    _case("1x1x1", (2, 3, 4, 5, 6), (1, 1, 1, 6, 10)),
    _case("planes_alone", (2, 3, 6, 5, 6), (1, 3, 3, 6, 5), stride=(1, 2, 2)),
    _case("stride_of_planes", (2, 6, 4, 3, 4), (1, 1, 1, 4, 4), stride=(2, 1, 1)),
    _case("stride_beyond_the_planes", (2, 2, 4, 3, 4), (1, 1, 1, 4, 4), stride=(3, 1, 1)),
    _case("rows_of_planes", (1, 9, 3, 2, 4), (5, 1, 1, 4, 4)),
    _case("kernel_bigger_than_image", (1, 2, 3, 2, 4), (5, 4, 5, 4, 3)),
    _case("one_plane", (1, 1, 5, 5, 8), (3, 3, 3, 8, 8), activation="RELU"),
    _case("relu6", (1, 3, 4, 4, 4), (2, 2, 2, 4, 4), activation="RELU6"),
    _case("relu_n1_to_1", (1, 3, 4, 4, 4), (2, 2, 2, 4, 4), activation="RELU_N1_TO_1"),
    _case("float16_weights", (1, 3, 4, 4, 5), (2, 2, 2, 5, 6), half=True),
    _case("larger", (1, 9, 12, 11, 16), (3, 3, 3, 16, 24)),
    _transposed("2x2x2", (1, 3, 4, 3, 8), (2, 2, 2, 6, 8), (6, 8, 6), stride=(2, 2, 2)),
    _transposed("3x3x3_batch_2", (2, 3, 4, 3, 5), (3, 3, 3, 7, 5), (5, 8, 6), stride=(2, 2, 2)),
    _transposed("valid", (1, 3, 2, 4, 4), (3, 2, 4, 3, 4), (7, 5, 10), stride=(2, 3, 2), padding="VALID"),
    _transposed("stride_1_no_bias", (1, 3, 4, 5, 4), (3, 2, 3, 4, 4), (3, 4, 5), bias=False),
    _transposed("stride_bigger_than_kernel", (1, 2, 3, 2, 4), (1, 2, 1, 5, 4), (5, 7, 6), stride=(3, 3, 4)),
    _transposed("dilation", (1, 4, 4, 5, 4), (2, 3, 2, 4, 4), (4, 4, 5), dilation=(2, 1, 3)),
    _transposed(
        "dilation_and_strides", (1, 3, 3, 4, 3), (3, 2, 3, 5, 3), (6, 6, 8), stride=(2, 2, 2), dilation=(3, 2, 1)
    ),
    _transposed(
        "dilation_and_strides_valid",
        (1, 2, 2, 3, 4),
        (2, 3, 2, 4, 4),
        (12, 6, 9),
        stride=(4, 2, 3),
        dilation=(6, 1, 2),
        padding="VALID",
    ),
    _transposed("planes_alone", (1, 3, 4, 3, 4), (1, 3, 3, 4, 4), (3, 8, 6), stride=(1, 2, 2)),
    _transposed("relu", (1, 3, 3, 3, 6), (3, 3, 3, 6, 6), (6, 6, 6), stride=(2, 2, 2), activation="RELU"),
    Case(
        "CONV_3D",
        "rejected_computed_weights",
        [(1, 3, 4, 4, 2), (2, 2, 2, 2, 3)],
        lambda m, *v: m.op("CONV_3D", v, (1, 3, 4, 4, 3), "Conv3DOptions", **options_3d()),
        conv3d,
        place="cpu",
        reason="must be a constant",
    ),
    Case(
        "CONV_3D_TRANSPOSE",
        "rejected_phases",
        [(1, 1, 2, 1, 2)],
        lambda m, x: m.op(
            "CONV_3D_TRANSPOSE",
            [np.array((1, 12, 26, 12, 3), np.int32), constant("3d/p", (2, 2, 2, 3, 2)), x],
            (1, 12, 26, 12, 3),
            "Conv3DOptions",
            **options_3d((12, 13, 12)),
        ),
        lambda x: conv3d_transpose(x, constant("3d/p", (2, 2, 2, 3, 2)), None, (12, 26, 12), (12, 13, 12)),
        place="cpu",
        reason="its strides are",
    ),
]
