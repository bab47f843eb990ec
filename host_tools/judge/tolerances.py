"""Limits of errors that a user gives an output: absolute, plus relative to each of the CPU's numbers."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

Tolerance = tuple[float, float]  # in the output's unit, and of the CPU's number


@dataclass(frozen=True)
class Excess:
    """How an output keeps a tolerance. share: the largest error, of what is allowed there; above 1 it is broken, `beyond` times."""

    share: float
    beyond: int
    at: tuple[int, ...]


def of_output(tolerances: Mapping[str, Tolerance], name: str) -> Tolerance | None:
    """That of an output; None: the usual rule judges it."""
    return tolerances.get(name, tolerances.get(""))


def excess(ours: np.ndarray, theirs: np.ndarray, tolerance: Tolerance) -> Excess:
    """Of two arrays of one shape."""
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        error = np.where(np.isnan(error), np.inf, error)
        limit = tolerance[0] + tolerance[1] * np.where(np.isfinite(b), np.abs(b), 0.0)
        share = np.where(error == 0.0, 0.0, np.divide(error, limit, out=np.full(error.shape, np.inf), where=limit > 0))
    worst = np.unravel_index(int(np.argmax(share)), share.shape)
    return Excess(float(share[worst]), int((share > 1).sum()), tuple(int(i) for i in worst))


def text(tolerance: Tolerance) -> str:
    """For people."""
    absolute, relative = tolerance
    parts = [f"{absolute:g}"] * bool(absolute) + [f"{relative:g} of the CPU's number"] * bool(relative)
    return " + ".join(parts) or "0"
