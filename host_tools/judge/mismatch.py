"""When two results are the same: error against the range of the expected output, and equal not-finite cells."""

from __future__ import annotations

import numpy as np


def mismatch(got: np.ndarray, expected: np.ndarray, tolerance: float, least_range: float = 1e-30) -> str:
    """Empty when `got` is `expected` within tolerance * range; otherwise a sentence that says what differs. A range
    below `least_range` counts as that: terms near 1 that cancel leave their rounding behind."""
    if got.shape != expected.shape:
        return f"shape {got.shape}, expected {expected.shape}"
    if expected.dtype.kind == "c" and got.dtype == expected.dtype:
        got, expected = (np.ascontiguousarray(x).view(x.real.dtype) for x in (got, expected))
    if expected.dtype.kind != "f":
        differs = got != expected if got.dtype == expected.dtype else np.ones(expected.shape, bool)
        at = _first(differs) if differs.any() else ()
        return f"{got.dtype} {got[at]} at {at}, expected {expected.dtype} {expected[at]}" if differs.any() else ""
    got, expected = _open_range(got), _open_range(expected)
    odd = ~np.isfinite(expected)
    wrong = odd & ~((got == expected) | (np.isnan(got) & np.isnan(expected)))
    if wrong.any():
        return f"expected {expected[wrong][0]}, got {got[wrong][0]} at {_first(wrong)}"
    if not expected.size:
        return ""
    error, span = errors(np.where(odd, 0, got), np.where(odd, 0, expected), least_range)
    bad = ~(error <= tolerance)
    if not bad.any():
        return ""
    at = _first(bad)
    return (
        f"{bad.sum()} of {bad.size} numbers differ by more than {tolerance:g} of the range {span:g}; "
        f"largest {error.max():g}; the first at {at}: got {got[at]}, expected {expected[at]}"
    )


def errors(got: np.ndarray, expected: np.ndarray, least_range: float = 1e-30) -> tuple[np.ndarray, float]:
    """The errors as parts of the expected output's range, and that range. All numbers are finite in `expected`."""
    expected = expected.astype(np.float64)
    span = float(max(np.ptp(expected), np.abs(expected).max(), least_range))
    return np.abs(got.astype(np.float64) - expected) / span, span


def _open_range(x: np.ndarray) -> np.ndarray:
    """The CPU kernels clamp to the largest finite float where no activation is asked; that counts as infinity."""
    top = np.finfo(np.float32).max
    return np.where(np.abs(x) >= top, np.copysign(np.inf, x), x)


def _first(mask: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])
