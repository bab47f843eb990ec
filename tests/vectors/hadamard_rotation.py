"""aeq.hadamard_rotation: runs of channels times a Hadamard matrix, as AI Edge Quantizer puts them before rotated weights."""

from __future__ import annotations

import numpy as np
from flatbuffers import flexbuffers

from tests.model_builder import Model, Value
from tests.vectors.case import Case, Feed, constant


def matrix(size: int) -> np.ndarray:
    """By Sylvester's rule, over the square root of its size."""
    made = np.ones((1, 1))
    while len(made) < size:
        made = np.block([[made, made], [made, -made]])
    return made / np.sqrt(size)


def options(size, **more) -> bytes:
    return bytes(flexbuffers.Dumps({"hadamard_size": size, "random_binary_vector": [1] * 8, **more}))


def rotate(m: Model, x: Value, size: int) -> Value:
    return m.op("aeq.hadamard_rotation", [x], x.shape, custom_options=options(size))


def rotated(x: np.ndarray, size: int) -> np.ndarray:
    return (x.astype(np.float64).reshape(-1, size) @ matrix(size)).reshape(x.shape)


def _case(name, shape, size) -> Case:
    return Case("aeq.hadamard_rotation", name, [shape], lambda m, x: rotate(m, x, size), lambda x: rotated(x, size))


def _before_a_product(name, rows, channels, size, units) -> Case:
    """Weights that were rotated, too: the product is that of the weights before."""
    weights = constant(f"hadamard/{name}", (units, channels))

    def build(m, x):
        turned = rotate(m, x, size)
        return m.op("FULLY_CONNECTED", [turned, rotated(weights, size).astype(np.float32), None], (rows, units), "FullyConnectedOptions")  # fmt: skip

    return Case("aeq.hadamard_rotation", name, [(rows, channels)], build, lambda x: x.astype(np.float64) @ weights.T)


CASES = [
    _case("of_one", (3, 5), 1),
    _case("of_two", (2, 3, 6), 2),
    _case("of_four", (1, 12), 4),
    _case("of_eight", (5, 24), 8),
    _case("batch", (2, 3, 64), 32),
    _case("decode", (1, 1, 1024), 1024),
    _case("rows", (1, 7, 1152), 128),
    _case("large", (1, 4096), 4096),
    Case(
        "aeq.hadamard_rotation",
        "large_numbers",
        [Feed((2, 64), 200, 900)],
        lambda m, x: rotate(m, x, 64),
        lambda x: rotated(x, 64),
    ),
    _before_a_product("before_a_product", 3, 96, 32, 10),
    *(
        Case(
            "aeq.hadamard_rotation",
            "rejected_" + name,
            [shape],
            lambda m, x, size=size: rotate(m, x, size),
            place="cpu",
            reason=reason,
            on_cpu=False,
        )
        for name, shape, size, reason in (
            ("rank_4", (1, 2, 3, 8), 8, "rank 4"),
            ("no_multiple", (2, 12), 8, "no multiple"),
            ("no_power", (2, 12), 6, "no power of two"),
            ("no_size", (2, 12), 0, "no size"),
        )
    ),
]
