"""Random models against the CPU interpreter: no wrong result, and no op accepted that then fails."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests import cpu
from tests.delegate import options
from tests.random_graphs import OPS, graphs, single_ops

TARGETS = ["", "adreno-640", "mali-g76", "generic"]
EXAMPLES = settings.default.max_examples
QUICK = settings(max_examples=max(4, EXAMPLES // 6), suppress_health_check=list(HealthCheck))
FULL = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))


def check(quadra, graph, target: str, tolerance: float) -> None:
    model, feeds = graph.model.bytes(), graph.feeds()
    expected = cpu.run(model, feeds)
    quadra.run(model, feeds, **options(target)).check(expected, tolerance=tolerance, least_range=0.01)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target or "own")
@pytest.mark.parametrize("kind", sorted(OPS))
def test_random_op_is_right(quadra, kind, target):
    @QUICK
    @given(single_ops(kind))
    def examples(graph):
        check(quadra, graph, target, 1e-5)
    examples()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target or "own")
@FULL
@given(graph=graphs())
def test_random_graph_is_right(quadra, target, graph):
    check(quadra, graph, target, 1e-4)
