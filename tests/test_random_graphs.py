"""Random models against the CPU interpreter: no wrong result, and no op accepted that then fails."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests import cpu
from tests.delegate import options
from tests.random_graphs import OPS, graphs, single_ops
from tests.runs import Run

RUNS = [
    Run("opencl", ""),
    Run("opencl", "adreno-640"),
    Run("opencl", "mali-g76"),
    Run("gles", ""),
    Run("gles", "adreno-640"),
    Run("gles", "generic-gles"),
    Run("gles", "mali-g76", "f32_f16"),
]
SLOW_RUNS = [
    Run("opencl", "generic"),
    Run("opencl", "adreno-640", "f32_f16"),
    Run("gles", "", "f16"),
    Run("gles", "adreno-640", "f16"),
]
everywhere = pytest.mark.parametrize(
    "run",
    [
        *[pytest.param(run, id=run.id) for run in RUNS],
        *[pytest.param(run, id=run.id, marks=pytest.mark.slow) for run in SLOW_RUNS],
    ],
)
# (of one op, of a graph, the least range): halves that cancel leave their rounding behind.
TOLERANCES = {"f32": (1e-5, 1e-4, 0.01), "f32_f16": (2e-2, 2e-2, 0.2), "f16": (4e-2, 4e-2, 0.5)}
EXAMPLES = settings.default.max_examples
QUICK = settings(max_examples=max(4, EXAMPLES // 6), suppress_health_check=list(HealthCheck))
FULL = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=max(4, EXAMPLES // 3), suppress_health_check=list(HealthCheck))


def check(quadra_for, graph, run: Run, one_op: bool = False) -> None:
    model, feeds = graph.model.bytes(), graph.feeds()
    expected = cpu.run(model, feeds)
    of_op, of_graph, least_range = TOLERANCES[run.precision]
    outcome = quadra_for(run.target).run(model, feeds, **options(run.target, run.backend, precision=run.precision))
    outcome.check(expected, tolerance=of_op if one_op else of_graph, least_range=least_range)


@everywhere
@pytest.mark.parametrize("kind", sorted(OPS))
def test_random_op_is_right(quadra_for, kind, run):
    @QUICK
    @given(single_ops(kind))
    def examples(graph):
        check(quadra_for, graph, run, one_op=True)

    examples()


@everywhere
def test_random_graph_is_right(quadra_for, run, request):
    """As many for the device's own target as with --slow, a third for others."""

    @(SOME if run.target and not request.config.getoption("--slow") else FULL)
    @given(graphs())
    def examples(graph):
        check(quadra_for, graph, run)

    examples()
