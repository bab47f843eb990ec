"""Every test vector, on both backends and on phones' targets, in the real interpreter with the delegate."""

from __future__ import annotations

import pytest

from tests import runs
from tests.delegate import TOLERANCE, Quadra, options
from tests.vectors import all_cases

CASES = [case for case in all_cases() if case.place != "cpu"]
REJECTED = [case for case in all_cases() if case.place == "cpu"]


@pytest.mark.parametrize(("case", "run"), runs.params(CASES))
def test_vector_is_right_on_gpu(quadra, cases, case, run):
    given = options(run.target, run.backend, precision=run.precision)

    def check(one):
        outcome = quadra.run(one.model(), one.feeds(), **given)
        one.check(outcome, TOLERANCE[run.precision])
        assert outcome.report["backend"] == run.backend
        assert "float16 arithmetic" not in str(outcome.report)  # the driver refused it

    parts = getattr(case, "parts", (case,))
    cases.together([part.id for part in parts], lambda: check(case), lambda i: check(parts[i]))


@pytest.mark.parametrize("backend", runs.BACKENDS)
@pytest.mark.parametrize("case", REJECTED, ids=lambda case: case.id)
def test_rejected_node_is_left_to_cpu_with_its_reason(quadra: Quadra, case, backend):
    outcome = quadra.run(case.model(), *([case.feeds()] if case.on_cpu else []), **options(backend=backend))
    if case.on_cpu:
        outcome.check(case.expected(), everything_on_gpu=False)
    reasons = [node["reason"] for node in outcome.nodes if node["on"] == "cpu"]
    assert any(case.reason.lower() in reason.lower() for reason in reasons), (outcome.report, outcome.error)
