"""DENSIFY and DEQUANTIZE of constants: the ways a stored constant reaches an op, and constants that are outputs."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed, constant, sparse_constant


def _added(op, name, stored, make):
    """x + constant: shows the constant's numbers on the GPU without any arithmetic of a convolution."""
    return Case(
        op, name, [stored.shape], lambda m, x: m.add(x, make(m, stored)), lambda x: x + stored.astype(np.float32)
    )


def _sparse(name, shape, block=None, csr=None, order=None, density=0.3, dtype=np.float32):
    stored = sparse_constant(name, shape, block, density).astype(dtype)
    return _added("DENSIFY", name, stored, lambda m, a: m.const_sparse(a, block=block, csr=csr, order=order))


def _shared(m, x):
    weights = m.const_f16(constant("shared", (4, 1, 1, 4)).astype(np.float16))
    bias = np.zeros(4, np.float32)
    return m.conv2d(m.conv2d(x, weights, bias, activation="RELU"), weights, bias)


def _shared_reference(x):
    w = constant("shared", (4, 1, 1, 4)).astype(np.float16).astype(np.float64)[:, 0, 0]
    return np.maximum(x @ w.T, 0) @ w.T


def _also_output(op, name, stored, make):
    """The constant is read on the GPU and is an output, too: somebody must write it there."""

    def build(m, x):
        c = make(m, stored)
        return m.add(x, c), c

    return Case(op, name, [stored.shape], build, lambda x: (x + stored.astype(np.float32), stored), place="any")


def _rows_of_halfs(name, shape):
    """GATHER from a table of float16, subnormal numbers among them."""
    table = constant(name, shape).astype(np.float16)
    table[0, :6] = [6e-8, -6e-5, 65504, 0, -0.0, 1e-7]

    def build(m, i):
        return m.op("GATHER", [m.const_f16(table), i], (7, shape[1]), "GatherOptions", Axis=0)

    ids = Feed((7,), 0, shape[0] - 1, dtype="int32")
    return Case("GATHER", name, [ids], build, lambda i: table.astype(np.float32)[i])


CASES = [
    _rows_of_halfs("float16_table_large", (131, 252)),
    _rows_of_halfs("float16_table_odd", (131, 251)),
    _sparse("random_vector_rows", (6, 10)),
    _sparse("random_rank_4", (2, 3, 4, 5)),
    _sparse("two_csr_levels", (4, 5, 6), csr=(1, 2)),
    _sparse("csr_on_the_outside", (6, 5), csr=(0,)),
    _sparse("column_order", (6, 10), order=(1, 0)),
    _sparse("blocks_of_rows", (8, 6), block={0: 4}),
    _sparse("blocks_both_axes", (8, 12), block={0: 2, 1: 4}),
    _sparse("blocks_rank_4", (4, 2, 3, 8), block={3: 4}),
    _sparse("blocks_other_order", (4, 2, 2, 8), block={0: 2, 3: 4}, order=(1, 2, 0, 3)),
    _sparse("all_zero", (4, 6), density=0.0),
    _sparse("all_kept", (4, 6), density=1.0),
    _sparse("many_values", (3, 300), density=0.9),
    _sparse("float16", (4, 8), dtype=np.float16),
    _added("DEQUANTIZE", "float16", constant("float16", (1, 3, 4, 5)).astype(np.float16), lambda m, a: m.const_f16(a)),
    _added(
        "DEQUANTIZE", "float16_scalar", constant("float16_scalar", ()).astype(np.float16), lambda m, a: m.const_f16(a)
    ),
    _added(
        "DEQUANTIZE",
        "float16_subnormal",
        np.array([6e-8, -6e-5, 65504, 0, -0.0, 1e-7], np.float16),
        lambda m, a: m.const_f16(a),
    ),
    _also_output("DENSIFY", "also_output", sparse_constant("also_output", (4, 8)), lambda m, a: m.const_sparse(a)),
    _also_output(
        "DEQUANTIZE", "also_output", constant("also_output", (3, 4)).astype(np.float16), lambda m, a: m.const_f16(a)
    ),
    Case("DEQUANTIZE", "float16_used_twice", [(1, 3, 3, 4)], _shared, _shared_reference),
]
