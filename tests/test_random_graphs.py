"""Random models against the CPU interpreter: no wrong result, and no op accepted that then fails."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests import cpu
from tests.delegate import options
from tests.random_graphs import OPS, graphs, single_ops

PLACES = [("opencl", ""), ("opencl", "adreno-640"), ("opencl", "mali-g76"), ("opencl", "generic"), ("gles", ""),
          ("gles", "adreno-640")]
places = pytest.mark.parametrize(("backend", "target"), PLACES, ids=[f"{b}-{t or 'own'}" for b, t in PLACES])
EXAMPLES = settings.default.max_examples
QUICK = settings(max_examples=max(4, EXAMPLES // 6), suppress_health_check=list(HealthCheck))
FULL = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))


def check(quadra, graph, backend: str, target: str, tolerance: float) -> None:
    model, feeds = graph.model.bytes(), graph.feeds()
    expected = cpu.run(model, feeds)
    quadra.run(model, feeds, **options(target, backend)).check(expected, tolerance=tolerance, least_range=0.01)


@places
@pytest.mark.parametrize("kind", sorted(OPS))
def test_random_op_is_right(quadra, kind, backend, target):
    @QUICK
    @given(single_ops(kind))
    def examples(graph):
        check(quadra, graph, backend, target, 1e-5)
    examples()


@places
@FULL
@given(graph=graphs())
def test_random_graph_is_right(quadra, backend, target, graph):
    check(quadra, graph, backend, target, 1e-4)
