"""RESHAPE, CONCATENATION, STRIDED_SLICE, DEPTH_TO_SPACE: numbers move and do not change."""

from __future__ import annotations

import numpy as np

from tests import shapes
from tests.vectors.case import Case, constant


def depth_to_space(x, block):
    b, h, w, c = x.shape
    parts = x.reshape(b, h, w, block, block, c // block**2)
    return parts.transpose(0, 1, 3, 2, 4, 5).reshape(b, h * block, w * block, c // block**2)


def _reshape(name, x, shape):
    return Case("RESHAPE", name, [x], lambda m, x: m.reshape(x, shape), lambda x: x.reshape(shape))


def _concat(name, *parts, axis):
    return Case(
        "CONCATENATION", name, parts, lambda m, *p: m.concatenation(*p, axis=axis), lambda *p: np.concatenate(p, axis)
    )


def _concat_constant(name, x, c, axis, first=False):
    c = constant(name, c)

    def order(x, c):
        return (c, x) if first else (x, c)

    return Case(
        "CONCATENATION",
        name,
        [x],
        lambda m, x: m.concatenation(*order(x, c), axis=axis),
        lambda x: np.concatenate(order(x, c), axis),
    )


def _slice(name, x, begin, end, strides=None, **masks):
    strides = strides or [1] * len(begin)
    index = shapes.slices(len(x), begin, end, strides, **masks)
    return Case(
        "STRIDED_SLICE", name, [x], lambda m, x: m.strided_slice(x, begin, end, strides, **masks), lambda x: x[index]
    )


def _depth_to_space(name, x, block):
    return Case(
        "DEPTH_TO_SPACE", name, [x], lambda m, x: m.depth_to_space(x, block), lambda x: depth_to_space(x, block)
    )


CASES = [
    _reshape("flatten", (1, 3, 4, 5), (1, 60)),
    _reshape("flatten_batch", (2, 3, 4, 4), (2, -1)),
    _reshape("to_image", (1, 48), (1, 3, 4, 4)),
    _reshape("channels_to_width", (1, 4, 4, 12), (1, 16, -1, 3)),
    _reshape("width_to_channels", (1, 4, 6, 2), (1, 4, 1, 12)),
    _reshape("batch_to_height", (2, 3, 4, 5), (1, 6, 4, 5)),
    _reshape("rows_to_channels", (2, 3, 5, 1), (1, 1, 3, 10)),
    _reshape("images_to_channels", (5, 2, 3, 2), (1, 1, 2, 30)),
    _reshape("same_channels", (1, 4, 6, 8), (1, 6, 4, 8)),
    _reshape("same_shape", (1, 3, 4, 5), (1, 3, 4, 5)),
    _reshape("to_vector", (2, 3, 5), (30,)),
    _reshape("vector_to_matrix", (30,), (5, 6)),
    _reshape("to_scalar", (1, 1, 1, 1), ()),
    _reshape("from_scalar", (), (1, 1)),
    _concat("channels", (1, 4, 5, 8), (1, 4, 5, 4), axis=3),
    _concat("channels_odd", (1, 4, 5, 3), (1, 4, 5, 2), (1, 4, 5, 6), axis=-1),
    _concat("channels_odd_first", (2, 3, 3, 5), (2, 3, 3, 4), axis=3),
    _concat("channels_ones", (1, 3, 3, 1), (1, 3, 3, 1), (1, 3, 3, 1), (1, 3, 3, 1), (1, 3, 3, 1), axis=3),
    _concat("width", (1, 4, 5, 6), (1, 4, 2, 6), axis=2),
    _concat("height", (1, 4, 5, 3), (1, 1, 5, 3), (1, 2, 5, 3), axis=-3),
    _concat("batch", (1, 3, 4, 5), (2, 3, 4, 5), axis=0),
    _concat("one_input", (1, 3, 4, 5), axis=3),
    _concat("seven_inputs", *[(1, 2, 3, n) for n in (4, 1, 2, 8, 3, 4, 5)], axis=3),
    _concat("rank_3", (2, 3, 5), (2, 4, 5), axis=1),
    _concat("rank_3_first_axis", (2, 3, 5), (1, 3, 5), axis=0),
    _concat("rank_2", (3, 5), (2, 5), axis=0),
    _concat("rank_2_last_axis", (3, 5), (3, 2), axis=1),
    _concat("rank_1", (5,), (3,), axis=0),
    Case(
        "CONCATENATION",
        "same_tensor_twice",
        [(1, 3, 3, 5)],
        lambda m, x: m.concatenation(x, x, axis=3),
        lambda x: np.concatenate([x, x], 3),
    ),
    Case(
        "CONCATENATION",
        "same_tensor_twice_aligned",
        [(1, 3, 3, 4)],
        lambda m, x: m.concatenation(x, x, axis=3),
        lambda x: np.concatenate([x, x], 3),
    ),
    _concat_constant("constant_channels", (1, 3, 4, 5), (1, 3, 4, 2), axis=3),
    _concat_constant("constant_first_height", (1, 3, 4, 5), (1, 2, 4, 5), axis=1, first=True),
    _slice("crop", (1, 6, 7, 4), [0, 1, 2, 0], [1, 5, 6, 4]),
    _slice("channels", (1, 3, 4, 9), [0, 0, 0, 2], [1, 3, 4, 7]),
    _slice("channels_by_slice", (1, 3, 4, 12), [0, 0, 0, 4], [1, 3, 4, 12]),
    _slice("batch", (4, 2, 3, 5), [1, 0, 0, 0], [3, 2, 3, 5]),
    _slice("strides", (1, 7, 8, 9), [0, 1, 0, 1], [1, 7, 8, 9], [1, 2, 3, 4]),
    _slice("batch_stride", (5, 2, 2, 3), [0, 0, 0, 0], [5, 2, 2, 3], [2, 1, 1, 1]),
    _slice("negative_bounds", (1, 6, 7, 8), [0, -5, -4, -3], [1, -1, -2, -1]),
    _slice("negative_strides", (2, 5, 6, 7), [1, -1, 5, 6], [0, -6, 0, 1], [-1, -2, -1, -3]),
    _slice("reversed_whole", (1, 4, 5, 6), [0, 0, 0, 0], [1, 0, 0, 0], [1, -1, -1, -1], begin_mask=14, end_mask=14),
    _slice("masks", (1, 6, 7, 8), [9, 1, 9, 2], [0, 0, 4, 0], begin_mask=5, end_mask=11),
    _slice("ends_out_of_range", (1, 5, 6, 7), [-9, 0, 2, -50], [9, 99, 2**31 - 1, 50]),
    _slice("shrink_height", (1, 4, 5, 6), [0, 2, 0, 0], [1, 3, 5, 6], shrink_axis_mask=2),
    _slice("shrink_batch_and_last", (2, 4, 5, 6), [1, 0, 0, -1], [2, 4, 5, 0], shrink_axis_mask=9),
    _slice("shrink_everything", (1, 2, 3, 4), [0, 1, 2, 3], [1, 2, 3, 4], shrink_axis_mask=15),
    _slice("new_axis", (3, 4, 5), [0, 0, 0, 0], [0, 3, 4, 5], new_axis_mask=1),
    _slice("ellipsis", (2, 3, 4, 5), [1, 0, 1], [2, 0, 4], ellipsis_mask=2),
    _slice("fewer_axes_given", (2, 4, 5, 6), [0, 1], [2, 3]),
    _slice("rank_3", (3, 4, 9), [1, 0, 2], [3, 4, 7], [1, 2, 1]),
    _slice("rank_2", (4, 9), [1, 8], [4, 1], [1, -2]),
    _slice("rank_1", (9,), [1], [8], [3]),
    _depth_to_space("block_2", (1, 3, 4, 16), 2),
    _depth_to_space("block_2_to_odd_channels", (1, 3, 4, 12), 2),
    _depth_to_space("block_2_to_one_channel", (1, 3, 4, 4), 2),
    _depth_to_space("block_2_to_five_channels", (1, 2, 3, 20), 2),
    _depth_to_space("block_3_batch_2", (2, 2, 3, 18), 3),
    _depth_to_space("block_4", (1, 2, 2, 32), 4),
]
