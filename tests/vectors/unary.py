"""RELU, RELU6, RELU_N1_TO_1, HARD_SWISH, LOGISTIC, TANH: one number in, one number out."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed

FUNCTIONS = {
    "RELU": lambda x: np.maximum(x, 0),
    "RELU6": lambda x: np.clip(x, 0, 6),
    "RELU_N1_TO_1": lambda x: np.clip(x, -1, 1),
    "HARD_SWISH": lambda x: x * np.clip(x + 3.0, 0, 6) / 6,
    "LOGISTIC": lambda x: 1 / (1 + np.exp(-x.astype(np.float64))),
    "TANH": lambda x: np.tanh(x.astype(np.float64)),
}
# Not-finite inputs whose result the op's formula fixes; NaN stays NaN everywhere.
_EXTREME = {
    "RELU": (np.inf, -np.inf),
    "RELU6": (np.inf, -np.inf),
    "RELU_N1_TO_1": (np.inf, -np.inf),
    "HARD_SWISH": (np.inf, 1e30, -1e30),
    "LOGISTIC": (np.inf, -np.inf, 100.0, -100.0, 88.0, -88.0),
    "TANH": (np.inf, -np.inf, 100.0, -100.0, 45.0, -45.0, 1e-6),
}


def _case(op, name, feed, half=True):
    return Case(op, name, [feed], lambda m, x: m.unary(op, x), FUNCTIONS[op], half=half)


def _cases(op):
    return [
        _case(op, "rank_4", Feed((1, 4, 5, 8), -8, 8)),
        _case(op, "odd_channels_batch_2", Feed((2, 3, 4, 5), -8, 8)),
        _case(op, "rank_3", Feed((2, 3, 5), -8, 8)),
        _case(op, "rank_2", Feed((3, 7), -8, 8)),
        _case(op, "rank_1", Feed((9,), -8, 8)),
        _case(op, "scalar", Feed((), -8, 8)),
        _case(op, "edges", Feed((1, 4, 4, 3), -8, 8, special=(0.0, -0.0, 6.0, -6.0, 3.0, -3.0, 1.0, -1.0))),
        _case(op, "extremes", Feed((1, 4, 4, 3), -8, 8, special=_EXTREME[op] + (np.nan,)), half=False),
    ]


CASES = [case for op in FUNCTIONS for case in _cases(op)] + [
    _case("TANH", "near_zero", Feed((1, 4, 5, 8), -1e-3, 1e-3)),
]
