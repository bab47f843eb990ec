"""Models in several partitions: whatever `max_delegated_partitions` leaves to the CPU after the verdicts, everybody reads numbers
that somebody wrote. Constants that the delegate folds are the ones at risk. (Partitions that do not compile:
`driver_faults.py`.)"""

from __future__ import annotations

import numpy as np
import pytest

from host_tools.places import reference_model
from tests import cpu
from tests.delegate import Outcome, options
from tests.fences import fenced
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.test_models import PARTLY, PLAIN, WHOLE, limits, on_cpu, open_on_cpu, random_feeds, sensitivity
from tests.vectors.case import constant, sparse_constant

IMAGE = (1, 6, 5, 8)
FEEDS = [constant("partitions/image", IMAGE)]
on_both = pytest.mark.parametrize("backend", BACKENDS)


def folded_constants() -> bytes:
    """Float16 and sparse weights; one table of them is read in every partition."""
    m = Model()
    table = m.const_f16(constant("partitions/table", (8,)))
    y = m.input(IMAGE)
    for i in range(3):
        y = m.add(
            m.conv2d(
                y,
                m.const_f16(constant(f"partitions/w{i}", (8, 3, 3, 8), -0.3, 0.3)),
                m.const_f16(constant(f"partitions/b{i}", (8,))),
            ),
            table,
        )
        y = m.unary("TANH", y)
    y = m.conv2d(
        y, m.const_sparse(sparse_constant("partitions/sparse", (8, 1, 1, 8))), constant("partitions/bias", (8,))
    )
    m.output(m.mul(y, m.const_sparse(sparse_constant("partitions/half", (6, 5, 8)).astype(np.float16))))
    return m.bytes()


def partitions(outcome: Outcome) -> int:
    """How many partitions compute something."""
    works = {
        node["partition"]
        for node in outcome.nodes
        if node["on"] == "gpu" and node["op"] not in ("DEQUANTIZE", "DENSIFY")
    }
    return len(works)


def no_reader_is_lost(outcome: Outcome) -> None:
    """Nothing on the CPU says that it could run, and each says why it does not."""
    assert all(node["reason"] for node in outcome.nodes if node["on"] == "cpu"), outcome.nodes


@on_both
@pytest.mark.parametrize("every", [1, 2, 4, 7])
@pytest.mark.parametrize("most", range(6))
def test_folded_constants_reach_every_reader(quadra, backend, every, most):
    model = fenced(folded_constants(), every)
    outcome = quadra.run(model, FEEDS, **options(backend=backend, max_delegated_partitions=str(most)))
    outcome.check(cpu.run(model, FEEDS), everything_on_gpu=False)
    no_reader_is_lost(outcome)
    free = partitions(quadra.run(model, **options(backend=backend)))
    assert free >= 2 and partitions(outcome) == (min(free, most) if most else free)


def test_a_constant_follows_its_readers(quadra):
    """The largest partition keeps its constants, and theirs alone are folded."""
    outcome = quadra.run(fenced(folded_constants(), 4), **options("generic", "null", max_delegated_partitions="1"))
    for node in outcome.nodes:
        if node["op"] in ("DEQUANTIZE", "DENSIFY") and node["on"] == "cpu":
            assert "reads on the CPU" in node["reason"], node
    assert {node["on"] for node in outcome.nodes if node["op"] == "DEQUANTIZE"} == {"cpu", "gpu"}


# Float16 weights first; the fences make partitions of what runs wholly on the GPU.
QUICK = {"face_detection_short_range", "face_detection_full_range_sparse"}
MODELS = [
    pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow)
    for name in [*WHOLE, *PARTLY]
    if name != "face_landmark_with_attention"
]


@on_both
@pytest.mark.parametrize("name", MODELS)
def test_real_models_are_right_in_any_number_of_partitions(quadra, model_path, name, backend):
    # Without custom ops: what max_delegated_partitions leaves to the CPU, the CPU must know.
    reference = reference_model.for_cpu(model_path(name))[0]
    try:
        interpreter = open_on_cpu(reference, PLAIN)
    except (RuntimeError, ValueError):
        pytest.skip(f"the CPU cannot run {name}, whose numbers would be the reference")
    feeds = random_feeds(interpreter)
    expected = on_cpu(interpreter, feeds)
    # At each border two kinds of kernels meet, whose rounding differs as the CPU's own two kinds do.
    xnnpack = on_cpu(open_on_cpu(reference), feeds)
    tolerance = 2 * max(*limits(reference, feeds, xnnpack), sensitivity(interpreter, feeds, expected))
    model = fenced(reference, 9)
    free = 0
    for most in range(6):
        outcome = quadra.run(
            model, feeds, timeout_s=600, resolver=PLAIN, **options(backend=backend, max_delegated_partitions=str(most))
        )
        outcome.check(expected, tolerance=tolerance, everything_on_gpu=False)
        no_reader_is_lost(outcome)
        free = free or partitions(outcome)
        assert partitions(outcome) == (min(most, free) if most else free)
        assert free > 1 or name not in WHOLE
