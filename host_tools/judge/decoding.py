"""Whether a decoder's logits and tokens are the CPU's, step by step."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from host_tools.judge.compare import TOLERANCE
from host_tools.record import printed, schema

_ROUNDED = 5e-2  # of logits of kernels that round activations to 8 bits
_UNDECIDED = 2.0  # tolerances: so much nearer may the two best logits come, when each moves by one


def agreement(
    ours: np.ndarray, theirs: np.ndarray, tokens: Sequence[int], precision: str, *, free: bool, rounded: bool
) -> printed.Agreement:
    """ours, theirs: logits of each step. tokens: that step took, on our side. free: both sides took their own tokens, so that nothing
    is compared behind the first that differs. rounded: the other side's kernels round activations."""
    tolerance = max(TOLERANCE[precision], _ROUNDED if rounded else 0.0)
    found = printed.Agreement(tolerance=tolerance, largest_difference=0.0)
    largest = 0.0
    for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        span = float(np.ptp(b)) or 1.0
        apart = float(np.abs(a.astype(np.float64) - b).max()) / span
        apart = apart if np.isfinite(apart) else float("inf")
        chosen, expected = _best(a), _best(b)
        second, first = np.partition(b, -2)[-2:] if b.size > 1 else (float("-inf"), b[0])
        margin = float(first - second) / span
        undecided = chosen != expected and margin <= _UNDECIDED * tolerance
        kind: Literal["equal", "undecided", "different"]
        kind = "equal" if chosen == expected else "undecided" if undecided else "different"
        found.steps.append(
            printed.Step(
                token=int(tokens[index]), chosen=chosen, expected=expected,
                difference=schema.number(apart), margin=schema.number(margin), tokens=kind,
            )
        )  # fmt: skip
        largest = max(largest, apart)
        setattr(found, kind, getattr(found, kind) + 1)
        if free and chosen != expected:
            break
    found.largest_difference = schema.number(largest)
    found.ok = found.different == 0 and largest <= tolerance
    return found


def _best(logits: np.ndarray) -> int:
    return int(np.nanargmax(logits)) if not np.isnan(logits).all() else 0
