"""Where the system has no thread left, the caller's does the work: launches on PoCL's devices, and first dispatches on
llvmpipe. OpenGL ES needs one for its context, or says so."""

from __future__ import annotations

import os

import pytest

from tests import cpu, test_cl_threads
from tests.delegate import UNOPTIMISED, Outcome, Quadra, environment, options
from tests.faults import compile_driver_faults, compile_refuse_threads, opencl  # noqa: F401 (a fixture)


@pytest.fixture(scope="module")
def preload(tmp_path_factory):
    return compile_refuse_threads(tmp_path_factory.mktemp("refuse") / "librefuse_threads.so")


def run(library, preload, counter, tmp_path, left: int, **given: str) -> tuple[Outcome, int]:
    """With so many threads left for the library; and how many more it asked for."""
    refused = tmp_path / "refused"
    refused.touch()
    others = environment(library).get("LD_PRELOAD", "")  # of sanitizers, which come first
    scarce = {
        "LD_PRELOAD": f"{others} {preload}",
        "QUADRA_REFUSED_THREADS": str(refused),
        "QUADRA_THREADS_LEFT": str(left),
    }
    few = {"POCL_DEVICES": "basic basic", "MESA_SHADER_CACHE_DISABLE": "1"}
    worker = Quadra(library, **UNOPTIMISED, **scarce, **few, DRIVER_FAULTS="")
    try:
        outcome = worker.run(test_cl_threads.model(), *test_cl_threads.ROUNDS, counter=counter, **given)
    finally:
        worker.close()
    return outcome, len(refused.read_bytes())


def test_the_caller_launches_what_refused_threads_would(library, preload, tmp_path, opencl):
    counter = compile_driver_faults(tmp_path / "libdriver_faults.so")
    outcome, refused = run(library, preload, counter, tmp_path, 0, opencl_library=str(counter), **options("", "opencl"))
    outcome.check(cpu.run(test_cl_threads.model(), test_cl_threads.FEEDS[0]))
    assert refused
    alone = test_cl_threads.run(library, counter, 1, "")
    assert outcome.driver["calls"][test_cl_threads.LAUNCHES] == alone.driver["calls"][test_cl_threads.LAUNCHES]


@pytest.mark.skipif(os.sysconf("SC_NPROCESSORS_ONLN") < 2, reason="one processor: no other thread compiles")
def test_the_context_compiles_what_refused_threads_would(library, preload, tmp_path):
    """One is the context's own."""
    outcome, refused = run(library, preload, None, tmp_path, 1, **options("", "gles"))
    outcome.check(cpu.run(test_cl_threads.model(), test_cl_threads.FEEDS[0]))
    assert refused


def test_without_a_thread_for_its_context_opengl_es_is_left_with_the_reason(library, preload, tmp_path):
    outcome, refused = run(library, preload, None, tmp_path, 0, **options("", "gles"))
    outcome.check(cpu.run(test_cl_threads.model(), test_cl_threads.FEEDS[0]), everything_on_gpu=False)
    assert refused
    reasons = [node["reason"] for node in outcome.nodes]
    assert reasons and all(
        "start a thread for OpenGL ES: Resource temporarily unavailable; next: end" in r for r in reasons
    )
