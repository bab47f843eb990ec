"""FULLY_CONNECTED: the input, flattened to rows of the weights' inner size, times weights [out, in] transposed."""

from __future__ import annotations

import numpy as np

from tests import shapes
from tests.vectors.case import Case, constant, sparse_constant
from tests.vectors.numeric import activate


def fully_connected(x, w, b=None, activation="NONE", keep_num_dims=False):
    rows = x.reshape(-1, w.shape[1]).astype(np.float64) @ w.T + (0 if b is None else b)
    return activate(rows, activation).reshape(shapes.fully_connected(x.shape, w.shape, keep_num_dims))


def _case(name, x, w, bias=True, store="float32", block=None, half_bias=False, **attributes):
    weights = sparse_constant(name, w, block) if store == "sparse" else constant(name, w)
    b = constant(name + "/b", w[:1]) if bias else None
    if store == "float16":
        weights = weights.astype(np.float16)
    if half_bias:
        b = b.astype(np.float16)

    def build(m, x):
        kept = {"float32": m.const, "float16": m.const_f16}.get(store) or (lambda a: m.const_sparse(a, block=block))
        return m.fully_connected(x, kept(weights), m.const_f16(b) if half_bias else b, **attributes)

    return Case(
        "FULLY_CONNECTED", name, [x], build, lambda x: fully_connected(x, weights.astype(np.float32), b, **attributes)
    )


CASES = [
    _case("rank_2", (1, 8), (5, 8)),
    _case("rank_2_odd_batch_3", (3, 7), (6, 7)),
    _case("rank_2_one_output", (2, 9), (1, 9)),
    _case("rank_2_no_bias", (1, 8), (4, 8), bias=False),
    _case("rank_1", (12,), (5, 12)),
    _case("rank_1_to_rows", (24,), (5, 12)),
    _case("rank_4_1x1", (1, 1, 1, 10), (7, 10)),
    _case("flattens_image", (1, 3, 4, 5), (6, 60)),
    _case("flattens_image_aligned", (1, 4, 4, 8), (10, 128)),
    _case("flattens_image_batch_2", (2, 3, 3, 4), (5, 36)),
    _case("flattens_rank_3", (2, 3, 4), (5, 12)),
    _case("flattens_across_rows", (4, 6), (3, 12)),
    _case("splits_rows", (1, 24), (5, 8)),
    _case("rows_of_image", (1, 3, 4, 6), (5, 6)),
    _case("rows_of_image_batch_2", (2, 3, 4, 8), (5, 8)),
    _case("rows_of_rank_3", (2, 3, 8), (5, 8)),
    _case("keeps_dims_rank_3", (2, 3, 8), (5, 8), keep_num_dims=True),
    _case("keeps_dims_rank_4", (2, 3, 4, 7), (6, 7), keep_num_dims=True),
    _case("keeps_dims_rank_5", (2, 3, 2, 2, 7), (6, 7), activation="RELU", keep_num_dims=True),
    _case("keeps_dims_rank_6", (2, 2, 1, 3, 2, 5), (9, 5), bias=False, keep_num_dims=True),
    _case("keeps_dims_rank_2", (3, 7), (6, 7), keep_num_dims=True),
    _case("relu", (2, 8), (5, 8), activation="RELU"),
    _case("relu6", (2, 8), (5, 8), activation="RELU6"),
    _case("relu_n1_to_1", (2, 8), (5, 8), activation="RELU_N1_TO_1"),
    _case("float16_weights", (2, 9), (7, 9), store="float16"),
    # 64 KB: they stay halfs where a plan stores floats, if the bias is one of halfs or there is none.
    _case("float16_large", (1, 256), (130, 256), store="float16", bias=False),
    _case("float16_large_rows", (5, 256), (131, 256), store="float16", half_bias=True, activation="RELU"),
    _case("float16_large_many_rows", (35, 256), (130, 256), store="float16", bias=False),
    _case("float16_large_float_bias", (2, 256), (130, 256), store="float16"),
    _case("float16_large_odd", (2, 251), (133, 251), store="float16", bias=False),
    _case("sparse_weights", (2, 12), (8, 12), store="sparse"),
    _case("sparse_block_weights", (1, 16), (8, 16), store="sparse", block={1: 4}),
    _case("larger", (1, 130), (67, 130)),
    Case(
        "FULLY_CONNECTED",
        "runtime_weights",
        [(2, 8), (5, 8)],
        lambda m, x, w: m.fully_connected(x, w, np.zeros(5, np.float32)),
        fully_connected,
        place="any",
    ),
]
