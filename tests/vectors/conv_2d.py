"""CONV_2D: weights OHWI, groups = input channels / I, SAME pads floor(total / 2) before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.vectors.case import Case, Feed, constant, sparse_constant
from tests.vectors.numeric import activate, patches


def conv2d(x, w, b=None, stride=(1, 1), dilation=(1, 1), padding="SAME", activation="NONE"):
    out_c, kh, kw, in_c = w.shape
    groups = x.shape[3] // in_c
    windows = patches(x, (kh, kw), stride, dilation, padding, 0.0)
    parts = [
        np.einsum(
            "byxhwi,ohwi->byxo",
            windows[..., g * in_c : (g + 1) * in_c],
            w[g * out_c // groups : (g + 1) * out_c // groups],
            optimize=True,
        )
        for g in range(groups)
    ]
    out = np.concatenate(parts, axis=3) + (0 if b is None else b)
    return activate(out, activation)


def _case(name, x, w, bias=True, store="float32", block=None, special=(), **attributes):
    weights = sparse_constant(name, w, block) if "sparse" in store else constant(name, w)
    b = constant(name + "/b", w[:1]) if bias else None
    if "16" in store:
        weights = weights.astype(np.float16)

    def build(m, x):
        kept = {"float32": m.const, "float16": m.const_f16}.get(store) or (lambda a: m.const_sparse(a, block=block))
        return m.conv2d(x, kept(weights), b, **attributes)

    return Case(
        "CONV_2D",
        name,
        [Feed(x, special=special)],
        build,
        lambda x: conv2d(x, weights.astype(np.float32), b, **attributes),
        on_cpu=bias and not special,  # some of its kernels lose NaN
        half=not special,
    )


def _runtime_weights(x, w):
    b = constant("runtime/b", w[:1])
    return Case(
        "CONV_2D",
        "runtime_weights",
        [x, w],
        lambda m, x, w: m.conv2d(x, w, b),
        lambda x, w: conv2d(x, w, b),
        place="any",
    )


def _tiles():
    """A case for each row of the table of tiles (ops/conv_tiles.cc), without and with a window: by width and slices."""
    for width, channels in ((25, 14), (4, 13), (3, 12), (2, 8), (2, 3), (1, 5)):
        for size in (1, 3):
            name = f"{size}x{size}_{width}_wide_to_{channels}"
            yield _case(name, (1, 2, width, 6), (channels, size, size, 6), activation="RELU6")
        yield _case(f"1x1_{width}_wide_to_{channels}_without_bias", (1, 2, width, 6), (channels, 1, 1, 6), bias=False)
    # Channels that the source's only slice does not have are left out.
    for inputs in (1, 2, 3):
        yield _case(f"3x3_25_wide_of_{inputs}", (1, 2, 25, inputs), (14, 3, 3, inputs), activation="RELU6")


def _splits():
    """Sums that work-items of a group share, by the tile, on targets that ask for SPLIT_BELOW work-items."""
    for width, inputs, outputs in ((8, 256, 16), (24, 128, 8), (8, 250, 12), (2, 512, 12), (1, 67, 5)):
        for size in (1, 3):
            name = f"{size}x{size}_split_{width}_wide_{inputs}_to_{outputs}"
            yield _case(name, (1, 1, width, inputs), (outputs, size, size, inputs), activation="RELU6")
    yield _case("1x1_split_batch_2", (2, 1, 2, 64), (6, 1, 1, 64))
    yield _case("3x3_split_stride", (1, 5, 5, 40), (8, 3, 3, 40), stride=(2, 2))
    for width in (1, 8):  # tiles of one pixel and of more
        yield _case(f"1x1_split_{width}_wide_without_bias", (1, 1, width, 256), (8, 1, 1, 256), bias=False)


# Apart from the others: tests/test_split_sums.py runs them.
SPLITS = list(_splits())
SPLIT_BELOW = 50


def _cuts():
    """Weights that are longer than a row of CUT_ROW texels, by the tile."""
    for width in (8, 24):
        for size, outputs in ((1, 100), (3, 22)):
            shape = (1, 16 // width + 1, width, 8)
            yield _case(f"{size}x{size}_cut_{width}_wide", shape, (outputs, size, size, 8), activation="RELU6")


# tests/test_limits.py runs them.
CUTS = list(_cuts())
CUT_ROW = 200
CUT_SMALL = 200  # work-items that a target asks for: tiles are small then


def _residual(name, x, w):
    """Its results are added to its own source, and activated: merged steps."""
    case = _case(name, x, w)
    return replace(
        case,
        build=lambda m, x: m.add(case.build(m, x), x, activation="RELU"),
        reference=lambda x: np.maximum(case.reference(x) + x, 0),
    )


# What `winograd_channels` and `winograd_tiles` of 1 let take Winograd's algorithm: tests/test_winograd.py runs them. Sides are not
# multiples of the tiles' 4, but for one.
WINOGRAD = [
    _case("winograd", (1, 8, 8, 8), (8, 3, 3, 8)),
    _case("winograd_odd", (1, 7, 10, 6), (10, 3, 3, 6), activation="RELU6"),
    _case("winograd_valid", (1, 9, 7, 5), (3, 3, 3, 5), padding="VALID", bias=False),
    _case("winograd_batch_2", (2, 5, 6, 12), (20, 3, 3, 12), store="float16", activation="RELU"),
    _case("winograd_pixel", (1, 1, 1, 40), (13, 3, 3, 40)),
    _case("winograd_row", (1, 1, 27, 16), (12, 3, 3, 16)),
    _residual("winograd_residual", (2, 6, 5, 18), (18, 3, 3, 18)),
    _case("winograd_many_channels", (1, 6, 6, 130), (9, 3, 3, 130)),
]

CASES = [
    _case("1x1", (1, 5, 7, 8), (8, 1, 1, 8)),
    _case("1x1_odd_channels", (1, 4, 5, 3), (5, 1, 1, 3)),
    _case("1x1_one_channel", (1, 6, 6, 1), (1, 1, 1, 1)),
    _case("1x1_many_channels", (1, 3, 3, 37), (70, 1, 1, 37)),
    _case("1x1_of_a_pixel_without_bias", (1, 1, 1, 37), (70, 1, 1, 37), bias=False),
    _case("1x1_image_1x1", (1, 1, 1, 9), (17, 1, 1, 9)),
    _case("1x1_stride", (1, 7, 8, 4), (4, 1, 1, 4), stride=(2, 3)),
    _case("3x3", (1, 8, 8, 4), (8, 3, 3, 4)),
    _case("3x3_valid", (1, 8, 9, 4), (8, 3, 3, 4), padding="VALID"),
    _case("3x3_no_bias", (1, 5, 5, 4), (4, 3, 3, 4), bias=False),
    _case("3x3_stride_even", (1, 8, 8, 3), (16, 3, 3, 3), stride=(2, 2)),
    _case("3x3_stride_odd", (1, 9, 7, 3), (6, 3, 3, 3), stride=(2, 2), activation="RELU6"),
    _case("3x3_stride_valid", (1, 9, 8, 3), (6, 3, 3, 3), stride=(2, 2), padding="VALID"),
    _case("5x3", (1, 7, 6, 5), (7, 5, 3, 5)),
    _case("2x2_pads_after", (1, 5, 5, 4), (4, 2, 2, 4)),
    _case("4x4_pads_uneven", (1, 6, 7, 4), (4, 4, 4, 4), stride=(2, 1)),
    _case("wide_row", (1, 1, 9, 4), (4, 1, 5, 4)),
    _case("tall_column", (1, 9, 1, 4), (4, 5, 1, 4)),
    _case("kernel_bigger_than_image", (1, 2, 3, 4), (4, 7, 7, 4)),
    _case("3x3_on_image_1x1", (1, 1, 1, 6), (5, 3, 3, 6)),
    _case("stride_bigger_than_kernel", (1, 9, 9, 4), (4, 2, 2, 4), stride=(4, 3)),
    _case("stride_bigger_than_kernel_valid", (1, 9, 9, 4), (4, 1, 2, 4), stride=(3, 4), padding="VALID"),
    _case("dilation", (1, 9, 9, 4), (4, 3, 3, 4), dilation=(2, 2)),
    _case("dilation_uneven_valid", (1, 9, 11, 3), (5, 3, 3, 3), dilation=(1, 4), padding="VALID"),
    _case("dilation_bigger_than_image", (1, 4, 4, 4), (4, 3, 3, 4), dilation=(6, 6)),
    _case("batch_2", (2, 5, 4, 4), (8, 3, 3, 4)),
    _case("batch_3_odd_channels", (3, 4, 5, 3), (5, 3, 3, 3), stride=(2, 2)),
    _case("groups_2", (1, 5, 5, 8), (8, 3, 3, 4)),
    _case("groups_2_of_3_channels", (1, 5, 5, 6), (10, 3, 3, 3)),
    _case("groups_3_batch_2", (2, 4, 4, 12), (6, 1, 1, 4), stride=(2, 1)),
    _case("groups_as_depthwise", (1, 5, 5, 6), (6, 3, 3, 1)),
    _case("groups_as_depthwise_multiplier", (2, 5, 4, 5), (10, 3, 2, 1), stride=(2, 1), activation="RELU"),
    _case("groups_of_a_tile", (1, 9, 9, 32), (32, 3, 3, 16)),
    _case("groups_of_a_tile_more_out", (1, 6, 5, 16), (64, 1, 1, 8)),
    _case("groups_of_a_slice", (1, 6, 7, 64), (64, 3, 3, 4), activation="RELU6"),
    _case("groups_of_two_slices", (2, 5, 5, 40), (40, 3, 3, 8), dilation=(2, 2)),
    _case("groups_in_tiles_of_two", (1, 6, 6, 24), (48, 3, 3, 12), padding="VALID"),
    _case("groups_uneven", (1, 6, 5, 30), (35, 3, 3, 6)),
    _case("groups_of_2_channels", (1, 5, 5, 34), (17, 2, 2, 2)),
    _case("groups_of_10_to_3", (1, 4, 9, 50), (15, 1, 1, 10)),
    _case("groups_on_image_1x1", (1, 1, 1, 32), (24, 1, 1, 4)),
    _case("groups_float16", (1, 5, 5, 16), (8, 3, 3, 4), store="float16"),
    _case("relu", (1, 5, 5, 4), (4, 3, 3, 4), activation="RELU"),
    _case("relu_n1_to_1", (1, 5, 5, 4), (4, 3, 3, 4), activation="RELU_N1_TO_1"),
    _case("relu6", (1, 5, 5, 4), (4, 3, 3, 4), activation="RELU6"),
    _case("float16_weights", (1, 6, 6, 5), (7, 3, 3, 5), store="float16"),
    _case("float16_weights_1x1", (1, 6, 6, 8), (16, 1, 1, 8), store="float16", activation="RELU"),
    _case("sparse_weights", (1, 5, 5, 8), (8, 1, 1, 8), store="sparse"),
    _case("sparse_block_weights", (1, 5, 5, 8), (8, 3, 3, 8), store="sparse", block={0: 4, 3: 2}),
    _case("sparse_float16_weights", (1, 5, 5, 8), (16, 1, 1, 8), store="sparse16", block={0: 4}),
    _case("larger_1x1", (1, 14, 13, 32), (48, 1, 1, 32), activation="RELU6"),
    _case("larger_3x3", (1, 19, 18, 16), (32, 3, 3, 16), stride=(2, 2)),
    *_tiles(),
    # Its last tile goes beyond the end of a row, and adds what may lie where it writes.
    _residual("1x1_25_wide_residual", (1, 2, 25, 8), (8, 1, 1, 8)),
    # So much work that llvmpipe's tiles are of four slices (ops/conv_tiles.cc).
    _case("1x1_much_work", (1, 18, 18, 64), (508, 1, 1, 64), activation="RELU6"),
    _case("1x1_much_work_batch_2", (2, 18, 20, 60), (512, 1, 1, 60)),
    _case("1x1_to_one_slice", (1, 4, 5, 9), (3, 1, 1, 9)),
    _case("1x1_not_finite", (1, 4, 5, 6), (9, 1, 1, 6), special=(np.inf, -np.inf, np.nan), activation="RELU6"),
    _case("3x3_not_finite", (1, 6, 9, 3), (5, 3, 3, 3), special=(np.inf, -np.inf, np.nan)),
    _runtime_weights((1, 5, 5, 4), (6, 3, 3, 4)),
]
