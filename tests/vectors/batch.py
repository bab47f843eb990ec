"""Several cases in one model: what drivers and the interpreter take once per model is shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from tests.vectors.case import Case

MOST = 8  # cases of a model


@dataclass(frozen=True)
class Batch(Case):
    """Cases of the same `place`, none of which reads another. None has subgraphs: their numbers would change."""

    parts: tuple[Case, ...] = ()

    def feeds(self) -> list[np.ndarray]:
        return [feed for part in self.parts for feed in part.feeds()]

    def expected(self) -> list[np.ndarray]:
        return [output for part in self.parts for output in part.expected()]

    def check(self, outcome, tolerance: float) -> None:
        first = 0
        for part in self.parts:
            end = first + len(part.expected())
            outputs = [outcome.outputs[-1][first:end]] if outcome.outputs else []
            try:
                part.check(replace(outcome, outputs=outputs), tolerance)
            except AssertionError as failure:
                raise type(failure)(f"{part.id}: {failure}") from failure
            first = end


def batches(
    cases: Iterable[Case], most: int = MOST, key: Callable[[Case], object] = lambda case: case.op
) -> list[Case]:
    """The cases with as many in a model as may be, in their order; those of different keys stay apart."""
    made: list[Case] = []
    open_: dict[object, list[Case]] = {}
    for case in cases:
        if case.subgraphs:
            made.append(case)
            continue
        group = open_.setdefault((case.place, key(case)), [])
        group.append(case)
        if len(group) == most:
            made.append(_together(open_.pop((case.place, key(case)))))
    return made + [_together(group) for group in open_.values()]


def _together(parts: list[Case]) -> Case:
    if len(parts) == 1:
        return parts[0]
    ops = list(dict.fromkeys(part.op for part in parts))
    names = [part.name for part in parts] if len(ops) == 1 else [part.id for part in parts]

    def build(model, *inputs):
        outputs, rest = [], list(inputs)
        for part in parts:
            mine, rest = rest[: len(part.inputs)], rest[len(part.inputs) :]
            outputs += part.outputs(model, *mine)
        return tuple(outputs)

    inputs = [feed for part in parts for feed in part.inputs]
    return Batch("+".join(ops), "+".join(names), inputs, build, place=parts[0].place, parts=tuple(parts))
