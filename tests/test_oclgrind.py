"""Test vectors with GPU-shaped kernels under Oclgrind: no access out of bounds, no race, no divergence. Every tensor
has a buffer of its own there (target `separate-buffers`), so that an overrun cannot land in a neighbour."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import HealthCheck, given, settings

from host_tools.base import child_process
from tests import cpu, oclgrind
from tests.delegate import TARGETS, TOLERANCE, Quadra, options
from tests.random_graphs import graphs
from tests.vectors import all_cases
from tests.vectors.batch import batches
from tests.vectors.conv_2d import WINOGRAD

_IMAGES_PER_OP = 2
_PLANTED = """
import numpy, pyopencl as cl
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(context, '''{source}''').build()
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
program.k(queue, (16,), (16,), buffer)
queue.finish()
"""
_BAD = {
    "Invalid write": "kernel void k(global float* a) { a[get_global_id(0) + 1] = 1.0f; }",
    "data race": "kernel void k(global float* a) { a[0] = (float)get_global_id(0); }",
    "divergence": "kernel void k(global float* a) { if (get_local_id(0) < 3) barrier(CLK_LOCAL_MEM_FENCE); a[0] = 0; }",
}


@pytest.mark.parametrize("word", _BAD)
def test_planted_fault_is_seen(tmp_path, word):
    log = tmp_path / "log"
    script = _PLANTED.format(source=_BAD[word])
    child_process.run([sys.executable, "-c", script], env=oclgrind.environment(log), timeout_s=60)
    assert word in oclgrind.Log(log).news()


@pytest.fixture(scope="module")
def checked(library, tmp_path_factory):
    """(worker, log) on Oclgrind."""
    path = tmp_path_factory.mktemp("oclgrind") / "log"
    worker = Quadra(library, **oclgrind.environment(path))
    yield worker, oclgrind.Log(path)
    worker.close()


def _params() -> list:
    """Every case with buffers, of ops with many each third model; with images the first few of each op. In one model
    those of an op: the driver compiles for longer than the kernels run."""
    seen: dict[str, int] = {}
    buffers, images, params = [], [], []
    for case in (c for c in all_cases() if c.place != "cpu"):
        seen[case.op] = seen.get(case.op, 0) + 1
        buffers.append(case)
        if seen[case.op] <= _IMAGES_PER_OP:
            images.append(case)
        else:
            params.append(pytest.param(case, "adreno-640", id=f"{case.id}-images", marks=pytest.mark.slow))
    models: dict[str, int] = {}
    for case in batches(buffers):
        models[case.op] = models.get(case.op, 0) + 1
        marks = [pytest.mark.slow] * (models[case.op] % 3 != 1)
        params.append(pytest.param(case, "separate-buffers", id=f"{case.id}-buffers", marks=marks))
    params += [pytest.param(case, "adreno-640", id=f"{case.id}-images") for case in batches(images)]
    return params


@pytest.mark.parametrize(("case", "target"), _params())
def test_kernels_touch_only_what_is_theirs(checked, case, target):
    worker, log = checked
    outcome = worker.run(case.model(), case.feeds(), **options(target))
    assert not log.news()
    assert "Oclgrind" in outcome.report["device"]["name"]
    case.check(outcome, TOLERANCE["f32"])


def test_winograds_kernels_touch_only_what_is_theirs(checked, tmp_path):
    worker, log = checked
    target = tmp_path / "target.json"
    plain = json.loads((TARGETS / "separate-buffers.json").read_text())
    target.write_text(json.dumps({**plain, "winograd_channels": 1, "winograd_tiles": 1}))
    [case] = batches(WINOGRAD, most=len(WINOGRAD))
    outcome = worker.run(case.model(), case.feeds(), **{**options(), "target": str(target)})
    assert not log.news()
    assert "winograd_products" in str(outcome.report["partitions"])
    case.check(outcome, TOLERANCE["f32"])


@settings(max_examples=max(10, settings.default.max_examples // 2), suppress_health_check=list(HealthCheck))
@given(graph=graphs())
def test_random_graph_touches_only_what_is_its_own(checked, graph):
    worker, log = checked
    feeds = graph.feeds()
    outcome = worker.run(graph.model.bytes(), feeds, **options("separate-buffers"))
    assert not log.news()
    outcome.check(cpu.run(graph.model.bytes(), feeds), tolerance=1e-4, least_range=0.01)
