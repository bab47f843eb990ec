"""TRANSPOSE_CONV: weights OHWI; the result has the size that the file says, and SAME cuts floor(half) of what a convolution
of that size would pad."""

from __future__ import annotations

import numpy as np

from tests import shapes
from tests.vectors.case import Case, Feed, constant
from tests.vectors.numeric import activate


def _cut(out: int, kernel: int, stride: int, padding: str) -> int:
    places = -(-out // stride) if padding == "SAME" else int((out + stride - kernel) / stride)
    return max(0, (places - 1) * stride + kernel - out) // 2


def transpose_conv(x, w, b=None, stride=(2, 2), padding="SAME", size=(), activation="NONE"):
    size = size or shapes.transpose_conv(x.shape, w.shape, stride, padding)[1:3]
    top, left = (_cut(size[i], w.shape[1 + i], stride[i], padding) for i in (0, 1))
    out = np.zeros((x.shape[0], *size, w.shape[0]))
    for ky in range(w.shape[1]):
        for kx in range(w.shape[2]):
            part = x.astype(np.float64) @ w[:, ky, kx].T.astype(np.float64)
            rows = np.arange(x.shape[1]) * stride[0] + ky - top
            columns = np.arange(x.shape[2]) * stride[1] + kx - left
            row_in, column_in = (rows >= 0) & (rows < size[0]), (columns >= 0) & (columns < size[1])
            out[:, rows[row_in][:, None], columns[column_in]] += part[:, row_in][:, :, column_in]
    return activate(out if b is None else out + b, activation)


def _case(name, x, w, bias=True, computed="", half=False, on_cpu=True, half_too=True, **how) -> Case:
    """`computed`: "weights", "bias" or both are inputs of the model. Newer CPU kernels refuse sizes of which no
    convolution would make the input (`on_cpu` False); older ones take them, and so does Quadra."""
    weights = constant(name, w).astype(np.float16 if half else np.float32)
    b = constant(name + "/b", w[:1]) if bias else None
    feeds = [x, *([w] if "weights" in computed else []), *([w[:1]] if "bias" in computed else [])]

    def operands(given):
        given = list(given)
        return (
            given.pop(0) if "weights" in computed else weights.astype(np.float32),
            given.pop(0) if "bias" in computed else b,
        )

    def build(m, x, *given):
        w, b = operands(given)
        return m.transpose_conv(x, m.const_f16(weights) if half else w, b, **how)

    return Case(
        "TRANSPOSE_CONV",
        name,
        feeds,
        build,
        lambda x, *given: transpose_conv(x, *operands(given), **how),
        on_cpu=on_cpu,
        half=half_too,
    )


CASES = [
    _case("2x2", (1, 4, 5, 8), (4, 2, 2, 8)),
    _case("3x3_no_bias", (1, 4, 5, 5), (6, 3, 3, 5), bias=False),
    _case("3x3_even_size", (1, 4, 5, 4), (3, 3, 3, 4), size=(8, 10)),
    _case("3x3_odd_size", (1, 4, 5, 4), (3, 3, 3, 4), size=(7, 9)),
    _case("4x4_batch_2", (2, 3, 4, 6), (5, 4, 4, 6), size=(6, 8)),
    _case("kernel_5_stride_2", (1, 5, 4, 4), (4, 5, 5, 4), size=(10, 7)),
    _case("kernel_5_valid", (1, 3, 4, 4), (4, 5, 4, 4), padding="VALID"),
    _case("valid_larger", (1, 3, 4, 4), (4, 3, 3, 4), padding="VALID", size=(9, 13), on_cpu=False),
    _case("valid_smaller", (1, 4, 4, 3), (4, 3, 3, 3), padding="VALID", size=(4, 5), on_cpu=False),
    _case(
        "valid_smaller_than_kernel",
        (1, 3, 3, 4),
        (2, 7, 7, 4),
        stride=(3, 3),
        padding="VALID",
        size=(2, 2),
        on_cpu=False,
    ),
    _case("same_larger", (1, 3, 4, 4), (4, 3, 3, 4), size=(11, 12), on_cpu=False),
    _case("same_smaller", (1, 5, 6, 4), (5, 4, 3, 4), size=(3, 5), on_cpu=False),
    _case("2x2_larger", (1, 3, 4, 4), (4, 2, 2, 4), size=(9, 10), on_cpu=False),
    _case("2x2_smaller", (1, 4, 4, 4), (4, 2, 2, 4), size=(5, 7), on_cpu=False),
    # Phases of a few channels share slices.
    _case("one_channel", (2, 4, 5, 8), (1, 2, 2, 8)),
    _case("one_channel_odd_relu", (1, 4, 5, 3), (1, 2, 2, 3), size=(7, 9), activation="RELU"),
    _case("one_channel_4x4", (1, 3, 2, 5), (1, 4, 4, 5), stride=(4, 4), size=(12, 7)),
    _case("one_channel_3x2", (1, 3, 4, 4), (1, 3, 2, 4), stride=(3, 2), bias=False),
    _case("two_channels", (2, 4, 5, 6), (2, 2, 2, 6), size=(7, 9)),
    _case("two_channels_2x1", (1, 3, 4, 4), (2, 2, 1, 4), stride=(2, 1)),
    _case("three_channels", (1, 3, 4, 4), (3, 2, 2, 4)),
    _case("stride_4_kernel_3_cut", (1, 2, 2, 4), (4, 3, 3, 4), stride=(4, 4), size=(5, 5)),
    _case("stride_1", (1, 4, 4, 4), (4, 3, 3, 4), stride=(1, 1)),
    _case("stride_uneven", (1, 3, 4, 7), (3, 3, 5, 7), stride=(3, 2), size=(8, 8)),
    _case("stride_bigger_than_kernel", (1, 3, 3, 4), (4, 1, 2, 4), stride=(3, 4), size=(9, 11)),
    _case(
        "stride_bigger_than_kernel_not_finite",
        Feed((1, 3, 3, 4), special=(np.inf, -np.inf, np.nan)),
        (4, 1, 2, 4),
        stride=(3, 4),
        size=(9, 11),
        half_too=False,
    ),
    _case("stride_of_many_phases", (1, 2, 2, 4), (3, 2, 3, 4), stride=(33, 32), size=(60, 64)),
    _case("image_1x1", (1, 1, 1, 4), (6, 3, 3, 4), size=(2, 2)),
    _case("relu", (1, 4, 4, 5), (6, 3, 3, 5), size=(8, 8), activation="RELU"),
    _case("relu6_2x2", (1, 4, 4, 5), (6, 2, 2, 5), activation="RELU6"),
    _case("relu_n1_to_1_no_bias", (1, 4, 4, 5), (6, 3, 3, 5), bias=False, activation="RELU_N1_TO_1"),
    _case("float16_weights", (1, 4, 4, 8), (8, 3, 3, 8), half=True),
    _case("computed_weights", (2, 4, 5, 5), (6, 3, 3, 5), computed="weights", size=(8, 9)),
    _case("computed_all", (1, 4, 3, 4), (3, 4, 2, 4), computed="weights bias", stride=(3, 1), activation="RELU"),
    _case("computed_bias", (1, 4, 4, 4), (5, 2, 2, 4), computed="bias", padding="VALID"),
    Case(
        "TRANSPOSE_CONV",
        "rejected_computed_size",
        [(1, 3, 3, 4), Feed((4,), 0, 0, dtype="int32")],
        lambda m, x, size: m.op(
            "TRANSPOSE_CONV",
            [m.add(size, np.array([1, 6, 6, 4], np.int32)), constant("w", (4, 3, 3, 4)), x],
            (1, 6, 6, 4),
            "TransposeConvOptions",
            StrideH=2,
            StrideW=2,
        ),
        lambda x, size: transpose_conv(x, constant("w", (4, 3, 3, 4)), size=(6, 6)),
        place="cpu",
        reason="is computed while the model runs",
    ),
]
