"""Every test vector, on every target, in the real interpreter with the delegate on OpenCL."""

from __future__ import annotations

import pytest

from tests.delegate import TOLERANCE, Quadra, options
from tests.vectors import all_cases

CASES = [case for case in all_cases() if case.place != "cpu"]
REJECTED = [case for case in all_cases() if case.place == "cpu"]
# Ops whose kernels are generated for the target's vectors and registers.
SHAPED = {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "Convolution2DTransposeBias"}
# (target, precision, ops whose every case is quick; None for all). "" is the device's own target: kernels shaped for
# the CPU that PoCL drives.
RUNS: list[tuple[str, str, set[str] | None]] = [
    ("", "f32", None), ("adreno-640", "f32", None), ("mali-g76", "f32", None), ("generic", "f32", set()),
    ("cpu-avx512", "f32", set()), ("cpu-avx2", "f32", SHAPED),
    ("", "f32_f16", set()), ("adreno-640", "f32_f16", set()), ("mali-g76", "f32_f16", set()),
]
_QUICK_PER_OP = 2  # of the others


def _params() -> list:
    params = []
    for target, precision, all_quick in RUNS:
        seen: dict[str, int] = {}
        for case in CASES:
            if precision != "f32" and not case.half:
                continue
            seen[case.op] = seen.get(case.op, 0) + 1
            quick = all_quick is None or case.op in all_quick or seen[case.op] <= _QUICK_PER_OP
            name = f"{case.id}-{target or 'own'}" + ("" if precision == "f32" else f"-{precision}")
            params.append(pytest.param(case, target, precision, id=name, marks=[] if quick else pytest.mark.slow))
    return params


@pytest.mark.parametrize(("case", "target", "precision"), _params())
def test_vector_is_right_on_gpu(quadra: Quadra, case, target, precision):
    outcome = quadra.run(case.model(), case.feeds(), **options(target, precision=precision))
    outcome.check(case.expected(), TOLERANCE[precision], everything_on_gpu=case.place == "gpu")


@pytest.mark.parametrize("case", REJECTED, ids=lambda case: case.id)
def test_rejected_node_is_left_to_cpu_with_its_reason(quadra: Quadra, case):
    outcome = quadra.run(case.model(), *([case.feeds()] if case.on_cpu else []), **options())
    if case.on_cpu:
        outcome.check(case.expected(), everything_on_gpu=False)
    reasons = [node["reason"] for node in outcome.nodes if node["on"] == "cpu"]
    assert any(case.reason.lower() in reason.lower() for reason in reasons), (outcome.report, outcome.error)
