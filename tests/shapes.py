"""Output shapes of TFLite ops. Shapes are tuples in the model's own rank and order (BHWC for rank 4)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

Shape = tuple[int, ...]


def window(size: int, kernel: int, stride: int, dilation: int, padding: str) -> tuple[int, int]:
    """(output size, padding before) of a sliding window along one axis; kernel/padding.h of TFLite."""
    reach = (kernel - 1) * dilation + 1
    if padding == "VALID":
        return (size + stride - reach) // stride, 0
    out = (size + stride - 1) // stride
    return out, max(0, (out - 1) * stride + reach - size) // 2


def conv2d(x: Shape, w: Shape, stride, dilation, padding: str) -> Shape:
    return (x[0], *_windows(x, w[1:3], stride, dilation, padding), w[0])


def depthwise_conv2d(x: Shape, w: Shape, stride, dilation, padding: str) -> Shape:
    return (x[0], *_windows(x, w[1:3], stride, dilation, padding), w[3])


def pool2d(x: Shape, kernel, stride, padding: str) -> Shape:
    return (x[0], *_windows(x, kernel, stride, (1, 1), padding), x[3])


def _windows(x, kernel, stride, dilation, padding) -> tuple[int, int]:
    height, width = (window(x[1 + i], kernel[i], stride[i], dilation[i], padding)[0] for i in (0, 1))
    return height, width


def transpose_padding(size: int, kernel: int, stride: int, padding: str) -> int:
    """Total padding cut from the full output, by the formula on the *input* size (MediaPipe's custom op)."""
    return max(0, kernel - (size - 1) % stride - 1) if padding == "SAME" else 0


def transpose_conv(x: Shape, w: Shape, stride, padding: str) -> Shape:
    height, width = (
        stride[i] * (x[1 + i] - 1) + w[1 + i] - transpose_padding(x[1 + i], w[1 + i], stride[i], padding)
        for i in (0, 1)
    )
    return (x[0], height, width, w[0])


def reshape(x: Shape, shape: Sequence[int]) -> Shape:
    known = prod(n for n in shape if n != -1)
    return tuple(prod(x) // known if n == -1 else n for n in shape)


def concatenation(shapes: list[Shape], axis: int) -> Shape:
    out = list(shapes[0])
    out[axis] = sum(shape[axis] for shape in shapes)
    return tuple(out)


def fully_connected(x: Shape, w: Shape, keep_num_dims: bool) -> Shape:
    return (*x[:-1], w[0]) if keep_num_dims else (prod(x) // w[1], w[0])


def mean(x: Shape, axes: Sequence[int] | int, keep_dims: bool) -> Shape:
    gone = {axis % len(x) for axis in np.atleast_1d(axes).tolist()}
    if keep_dims:
        return tuple(1 if i in gone else n for i, n in enumerate(x))
    return tuple(n for i, n in enumerate(x) if i not in gone)


def strided_slice(x: Shape, *args, **masks) -> Shape:
    return np.empty(x, np.int8)[slices(len(x), *args, **masks)].shape


def slices(
    rank: int, begin, end, strides, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0
) -> tuple:
    """The numpy index that a STRIDED_SLICE means. Missing trailing axes are taken whole, as in TFLite."""
    index: list = []
    for i, (b, e, s) in enumerate(zip(begin, end, strides)):
        if ellipsis_mask >> i & 1:
            index.append(Ellipsis)
        elif new_axis_mask >> i & 1:
            index.append(None)
        elif shrink_axis_mask >> i & 1:
            index.append(b)
        else:
            index.append(slice(None if begin_mask >> i & 1 else b, None if end_mask >> i & 1 else e, s))
    return tuple(index)
