"""Real models on a row of the table of drivers: in every precision, on the row's own target and on phones'."""

from __future__ import annotations

import numpy as np
import pytest

from host_tools.drivers import results
from host_tools.places import reference_model
from tests import half_storage, on_driver, runs
from tests.delegate import TOLERANCE, options
from tests.judge import errors
from tests.runs import Run
from tests.test_models import QUANTISED, WHOLE, check_quantised, limits, on_cpu, open_on_cpu, random_feeds

HALF_FACTOR = {"f32_f16": 1.5, "f16": 2.0}  # of what half storage alone costs
# The driver's own target, and phones' with images and with buffers.
TARGETS = {"opencl": ("", "adreno-640", "mali-g76-buffers"), "gles": ("", "adreno-640-gles", "generic-gles")}
RUNS = [
    Run(backend, target, precision)
    for backend, targets in TARGETS.items()
    for target in targets
    for precision in runs.PRECISIONS
]
SAMPLE = ["face_detection_short_range", "hand_recrop"]  # for the slowest drivers
MARKS = [] if on_driver.session() else [pytest.mark.slow]
SHARE = 4  # of the runs but the first a model has one in so many, in turn
TWINS = {"mediapipe/face_detection_short_range", "mediapipe/face_detection_full_range_sparse"}  # of another release


def params() -> list:
    """Every model with floats on the own target, and on a part of the other runs: the models take turns. Without a row
    there are other tests of models, and these are slow."""
    made = []
    for backend in on_driver.backends(runs.BACKENDS):
        mine = [run for run in RUNS if run.backend == backend]
        names = [name for name in [*WHOLE, *QUANTISED] if name not in TWINS]
        for i, name in enumerate(SAMPLE if on_driver.sample_only() else names):
            taken = [
                run for j, run in enumerate(mine) if j == 0 or ((i + j) % SHARE == 0 and not on_driver.sample_only())
            ]
            made += [pytest.param(name, run, id=f"{name}-{run}", marks=MARKS) for run in taken]
    return made


@pytest.mark.parametrize(("name", "run"), params())
def test_model_is_right(quadra_optimised, model_path, cases, name, run):
    path = model_path(name)

    def check() -> str:
        reference = reference_model.for_cpu(path)[0]
        interpreter = open_on_cpu(reference)
        feeds = random_feeds(interpreter)
        expected = on_cpu(interpreter, feeds)
        given = options(run.target, run.backend, precision=run.precision)
        outcome = quadra_optimised.run(path.read_bytes(), feeds, timeout_s=600, **given)
        if name in QUANTISED:
            check_quantised(reference, feeds, outcome)
            return ""
        if run.precision == "f32":
            outcome.check(expected, tolerance=limits(reference, feeds, expected))
            return ""
        return check_half(outcome, reference, feeds, expected, run.precision)

    cases(name, check)


def check_half(outcome, reference: bytes, feeds: list, expected: list, precision: str) -> str:
    """Right are the usual tolerance and, where half storage alone costs more, HALF_FACTOR times that: it is noted."""
    usual = TOLERANCE[precision]
    if outcome.outputs and not outcome.error:
        with np.errstate(all="ignore"):
            ours = [float(errors(got, want)[0].max()) for got, want in zip(outcome.outputs[-1], expected, strict=True)]
    else:
        ours = []
    if ours and max(ours) <= usual:
        outcome.check(expected, usual)
        return ""
    alone = half_storage.cost(reference, feeds, results.folder() / "half-storage")
    outcome.check(expected, [max(usual, HALF_FACTOR[precision] * one) for one in alone])
    return f"{max(ours):.2g} of the range; half storage alone costs {max(alone):.2g}"
