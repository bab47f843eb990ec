"""Values out of float16's range, and below it, in graphs whose results are none: right in every precision."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed, constant
from tests.vectors.reductions import softmax

_MASK = Feed((1, 1, 4, 9), 0, 1, step=1.0)
_SCORES = Feed((1, 2, 4, 9), -100, 100, step=0.25)


def _masked(name: str, least: float, as_tensor: bool = False, scores: Feed = _SCORES, mask: Feed = _MASK) -> Case:
    """Softmax of scores of which a mask leaves some out, as models of language write it."""
    low = np.full((9,), least, np.float32) if as_tensor else np.float32(least)

    def build(m, mask, scores):
        left_out = m.mul(m.elementwise("SUB", np.float32(1), mask, kind="SubOptions"), low)
        return m.softmax(m.add(scores, left_out))

    def reference(mask, scores):
        return softmax(scores + (np.float32(1) - mask) * low)

    return Case("half_range", f"mask_{name}", [mask, scores], build, reference)


def _added(name: str, mask: Feed, scores: Feed = _SCORES) -> Case:
    """A mask that the caller gives, as decoders have it."""
    return Case("half_range", f"mask_input_{name}", [mask, scores],
                lambda m, mask, scores: m.softmax(m.add(scores, mask)),
                lambda mask, scores: softmax(scores + mask))  # fmt: skip


def _selected(least: float) -> Case:
    """A mask that is chosen, not added."""

    def build(m, mask, scores):
        seen = m.elementwise("GREATER", mask, np.float32(0.5), to_bool=True)
        return m.softmax(m.elementwise("SELECT_V2", seen, scores, np.full((1, 2, 4, 9), least, np.float32)))

    return Case("half_range", "mask_selected", [_MASK, _SCORES], build,
                lambda mask, scores: softmax(np.where(mask > 0.5, scores, np.float32(least))))  # fmt: skip


def _mean(m, x):
    return m.mean(x, (-1,), True)


def _rms_norm(name: str, size: float, epsilon: float = 1e-6, square="MUL") -> Case:
    weights = constant(f"half_range/{name}", (40,), 0.5, 1.5)

    def build(m, x):
        squares = m.mul(x, x) if square == "MUL" else m.elementwise("SQUARE", x)
        inverse = m.elementwise("RSQRT", m.add(_mean(m, squares), np.float32(epsilon)))
        return m.mul(m.mul(x, inverse), weights)

    def reference(x):
        x = x.astype(np.float64)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weights

    return Case("half_range", f"rms_norm_{name}", [Feed((1, 3, 2, 40), -size, size)], build, reference)


def _layer_norm(name: str, size: float, epsilon: float = 1e-5) -> Case:
    weights, bias = (constant(f"half_range/{name}/{i}", (40,), 0.5, 1.5) for i in range(2))

    def build(m, x):
        mean = _mean(m, x)
        variance = _mean(m, m.elementwise("SQUARED_DIFFERENCE", x, mean))
        inverse = m.elementwise("RSQRT", m.add(variance, np.float32(epsilon)))
        y = m.mul(m.elementwise("SUB", x, mean, kind="SubOptions"), inverse)
        return m.add(m.mul(y, weights), bias)

    def reference(x):
        x = x.astype(np.float64)
        y = x - x.mean(-1, keepdims=True)
        return y / np.sqrt((y * y).mean(-1, keepdims=True) + epsilon) * weights + bias

    return Case("half_range", f"layer_norm_{name}", [Feed((1, 3, 2, 40), -size, size)], build, reference)


def _unit(name: str, size: float) -> Case:
    """Vectors of length 1, by the root of a sum; and shares of a sum."""

    def build(m, x):
        length = m.elementwise(
            "SQRT",
            m.op("SUM", [m.elementwise("SQUARE", x), np.int32([-1])], (1, 3, 2, 1), "ReducerOptions", KeepDims=True),
        )
        return m.elementwise("DIV", x, m.elementwise("MAXIMUM", length, np.float32(1e-12)), kind="DivOptions")

    def reference(x):
        x = x.astype(np.float64)
        return x / np.maximum(np.sqrt((x * x).sum(-1, keepdims=True)), 1e-12)

    return Case("half_range", f"unit_vector_{name}", [Feed((1, 3, 2, 40), -size, size)], build, reference)


def _shares() -> Case:
    def build(m, x):
        total = m.op("SUM", [x, np.int32([-1])], (1, 3, 2, 1), "ReducerOptions", KeepDims=True)
        return m.elementwise("DIV", x, total, kind="DivOptions")

    return Case("half_range", "shares_of_a_sum", [Feed((1, 3, 2, 400), 1, 1000)], build,
                lambda x: x / x.astype(np.float64).sum(-1, keepdims=True))  # fmt: skip


def _through(op: str, kind: str = "") -> Case:
    """An activation that passes large numbers on; two readers of each, so that each is a tensor."""

    def build(m, x):
        large = m.mul(x, np.float32(1e5))
        passed = m.elementwise(op, large, kind=kind)
        return m.mul(large, np.float32(1e-5)), m.mul(passed, np.float32(1e-5)), m.mul(passed, np.float32(2e-5))

    return Case(
        "half_range", f"through_{op.lower()}", [Feed((1, 3, 2, 9), 0.5, 3, step=0.25)], build, lambda x: (x, x, 2 * x)
    )


def _angles() -> Case:
    """Positions times frequencies, as rotary embeddings take them: a half of 900 is as long as half a radian."""
    frequencies = (1000.0 ** -(np.arange(24, dtype=np.float32) / 24)).astype(np.float32)

    def build(m, positions, x):
        counts = m.op("CAST", [positions], (1, 7, 1), "CastOptions", OutDataType=0)
        angles = m.mul(m.op("RESHAPE", [counts, np.int32([1, 7, 1, 1])], (1, 7, 1, 1)), frequencies)
        return m.mul(m.elementwise("COS", angles), x), m.mul(m.elementwise("SIN", angles), x)

    def reference(positions, x):
        angles = positions.astype(np.float32).reshape(1, 7, 1, 1) * frequencies
        return np.cos(angles.astype(np.float64)) * x, np.sin(angles.astype(np.float64)) * x

    return Case(
        "half_range", "angles_of_positions", [Feed((1, 7, 1), 0, 9000, dtype="int32"), (1, 7, 2, 24)], build, reference
    )


CASES = [
    *(_masked(f"{least:g}".replace("-", "minus_").replace("+", ""), least) for least in (-1e4, -1e9, -3.4e38)),
    *(
        _masked(f"tensor_{least:g}".replace("-", "minus_").replace("+", ""), least, True)
        for least in (-1e5, -1e9, -3e38)
    ),
    _added("of_some", Feed((1, 1, 4, 9), -3.4e38, 0, step=3.4e38)),
    _added("of_everything", Feed((1, 1, 4, 9), -1e9, -1e9), Feed((1, 2, 4, 9), -2, 2)),
    _masked("of_everything", -1e9, True, Feed((1, 2, 4, 9), -2, 2), Feed((1, 1, 4, 9), 0, 0)),
    _selected(-3.4e38),
    _rms_norm("small", 2),
    _rms_norm("large", 3000),
    _rms_norm("largest", 60000, square="SQUARE"),
    _rms_norm("tiny", 2e-3, 1e-12),
    _layer_norm("small", 2),
    _layer_norm("large", 3000),
    _unit("large", 3000),
    _unit("tiny", 1e-3),
    _shares(),
    _angles(),
    *(_through(op) for op in ("ELU", "FLOOR", "CEIL", "ROUND")),
    _through("GELU", "GeluOptions"),
    _through("HARD_SWISH", "HardSwishOptions"),
]
