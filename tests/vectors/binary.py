"""ADD and MUL: numpy broadcast of ranks 0 to 4, constants on either side, fused activations."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed, constant
from tests.vectors.numeric import activate

_FUNCTIONS = {"ADD": np.add, "MUL": np.multiply}


def binary(op, a, b, activation="NONE"):
    return activate(_FUNCTIONS[op](a, b), activation)


def _runtime(op, name, a, b, **options):
    attributes = {"activation": options.pop("activation", "NONE")}
    return Case(
        op,
        name,
        [a, b],
        lambda m, a, b: getattr(m, op.lower())(a, b, **attributes),
        lambda a, b: binary(op, a, b, **attributes),
        **options,
    )


def _constant(op, name, a, b, first=False, half=False, **attributes):
    c = constant(f"{op}{name}", b, -3, 3).astype(np.float16 if half else np.float32)

    def build(m, x):
        pair = (x, m.const_f16(c) if half else m.const(c))
        return getattr(m, op.lower())(*(pair[::-1] if first else pair), **attributes)

    return Case(op, name, [a], build, lambda x: binary(op, x, c.astype(np.float32), **attributes))


def _same(op, shape):
    return Case(op, "same_tensor_twice", [shape], lambda m, x: getattr(m, op.lower())(x, x), lambda x: binary(op, x, x))


def _cases(op):
    full = (1, 4, 5, 6)
    return [
        _runtime(op, "same_shape", full, full),
        _runtime(op, "same_shape_batch_3", (3, 4, 2, 5), (3, 4, 2, 5)),
        _runtime(op, "channels", full, (6,)),
        _runtime(op, "channels_first_operand", (6,), full),
        _runtime(op, "one_number", full, (1,)),
        _runtime(op, "scalar", full, ()),
        _runtime(op, "scalars", (), ()),
        _runtime(op, "one_channel", (2, 4, 5, 7), (2, 4, 5, 1)),
        _runtime(op, "rows", full, (1, 4, 1, 6)),
        _runtime(op, "columns", full, (5, 1)),
        _runtime(op, "image_to_batch", (2, 3, 4, 5), (3, 4, 5)),
        _runtime(op, "per_batch", (3, 3, 4, 5), (3, 1, 1, 5)),
        _runtime(op, "both_sides", (1, 4, 1, 6), (2, 1, 5, 1)),
        _runtime(op, "both_sides_lower_rank", (4, 1, 3), (5, 1)),
        _runtime(op, "outer_product", (7, 1), (1, 9)),
        _runtime(op, "vectors", (9,), (9,)),
        _runtime(op, "matrices", (3, 5), (3, 5)),
        _runtime(op, "rank_3", (2, 3, 5), (2, 3, 5)),
        _runtime(op, "relu", full, full, activation="RELU"),
        _runtime(op, "relu6", Feed(full, 0, 5), Feed(full, -2, 5), activation="RELU6"),
        _runtime(op, "relu_n1_to_1", full, full, activation="RELU_N1_TO_1"),
        _runtime(op, "not_finite", Feed(full, special=(np.inf, -np.inf, np.nan)), Feed(full, 0.5, 2), half=False),
        _constant(op, "constant_channels", full, (6,)),
        _constant(op, "constant_channels_rank_4", (2, 4, 5, 7), (1, 1, 1, 7)),
        _constant(op, "constant_scalar", full, ()),
        _constant(op, "constant_one_number", full, (1,)),
        _constant(op, "constant_image", full, (4, 5, 6)),
        _constant(op, "constant_one_channel_image", full, (4, 5, 1)),
        _constant(op, "constant_full_batch_2", (2, 3, 3, 5), (2, 3, 3, 5)),
        _constant(op, "constant_column", full, (4, 1, 1)),
        _constant(op, "constant_grows_output", (1, 1, 1, 6), (2, 3, 4, 6)),
        _constant(op, "constant_grows_channels", (1, 3, 4, 1), (6,)),
        _constant(op, "constant_first", full, (6,), first=True),
        _constant(op, "constant_first_scalar", full, (), first=True, activation="RELU6"),
        _constant(op, "constant_vector", (9,), (9,)),
        _constant(op, "constant_float16", full, (6,), half=True),
        _same(op, full),
    ]


CASES = _cases("ADD") + _cases("MUL")
