"""Groups of work-items that a driver refuses are made smaller before anything fails; those that must be as they are end in
a verdict."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests import cpu
from tests.delegate import TARGETS, options
from tests.faults import egl, opencl  # noqa: F401 (fixtures, which skip where there is no driver)
from tests.model_builder import Model

TOLERANCE = 1e-4  # of a graph
FEW = 16  # tests/driver_faults.cc, tests/egl/faults.c
IMAGE = (1, 24, 20, 8)
FEED = np.random.default_rng(2).normal(size=IMAGE).astype(np.float32)


def model() -> bytes:
    """Kernels whose groups are free, and a softmax that shares memory in a group of 32."""
    m = Model()
    weights = np.random.default_rng(3).normal(size=(8, 3, 3, 8)).astype(np.float32)
    x = m.input(IMAGE)
    y = m.unary("TANH", m.conv2d(x, weights, np.zeros(8, np.float32), activation="RELU"))
    m.output(m.softmax(m.reshape(y, (1, 1, 1, 24 * 20 * 8))), y)
    return m.bytes()


@pytest.fixture
def drivers(quadra, egl, opencl):
    """run(backend, word): the model on a phone's target, on a driver that takes few work-items for kernels with the word."""

    def run(backend: str, word: str, **more: str):
        library = {"opencl": {"opencl_library": str(opencl)}, "gles": {"egl_library": str(egl)}}[backend]
        env = {"DRIVER_FAULTS_GPU": "1", "DRIVER_FAULTS_FEW": word or "nothing"} if backend == "opencl" else {}
        env |= {"EGL_FAULTS": f"few_items={word}" if word else ""} if backend == "gles" else {}
        return quadra.run(model(), [FEED], env=env, **options("mali-g76-buffers", backend, **library, **more))

    return run


# A word of the convolution alone: of its name in OpenCL, of its text in OpenGL ES. And of the softmax's.
CONV = {"opencl": "conv2d", "gles": "kernel_x"}
SOFTMAX = {"opencl": "softmax", "gles": "part["}


def groups(outcome) -> dict[str, list[int]]:
    [partition] = outcome.report["partitions"]
    return {dispatch["kernel"]: dispatch["local"] for dispatch in partition["dispatches"]}


@pytest.mark.parametrize("backend", CONV)
def test_a_refused_group_is_made_smaller(drivers, backend):
    whole, few = drivers(backend, ""), drivers(backend, CONV[backend])
    few.check(cpu.run(model(), [FEED]), TOLERANCE)
    for a, b in zip(whole.outputs[0], few.outputs[0], strict=True):
        assert a.tobytes() == b.tobytes()
    before, after = groups(whole), groups(few)
    changed = [kernel for kernel in before if before[kernel] != after[kernel]]
    assert all("conv" in kernel for kernel in changed) and changed, (before, after)
    assert all(np.prod(after[kernel]) <= FEW < np.prod(before[kernel]) for kernel in changed), (before, after)
    [note] = few.report["partitions"][0]["notes"]
    assert "the driver refuses groups of" in note and "conv" in note, note
    assert whole.report["partitions"][0]["notes"] == []


@pytest.mark.parametrize("backend", CONV)
def test_a_group_that_shares_memory_is_not_made_smaller(drivers, backend):
    outcome = drivers(backend, SOFTMAX[backend])
    outcome.check(cpu.run(model(), [FEED]), TOLERANCE, everything_on_gpu=False)
    assert outcome.on_cpu() and all("softmax" in reason for reason in outcome.on_cpu()), outcome.on_cpu()


def test_sums_are_not_shared_where_the_driver_refuses_the_group(quadra, opencl):
    """The group of a kernel whose work-items share sums cannot be smaller: the plan is made without such kernels."""
    m = Model()
    x = m.input((1, 64))
    m.output(m.fully_connected(x, np.random.default_rng(4).normal(size=(8, 64)).astype(np.float32)))
    feed = np.random.default_rng(5).normal(size=(1, 64)).astype(np.float32)
    given = options("mali-g76-buffers", "opencl", opencl_library=str(opencl))
    whole, without = (
        quadra.run(m.bytes(), [feed], env={"DRIVER_FAULTS_GPU": "1", **few}, **given)
        for few in ({}, {"DRIVER_FAULTS_FEW": "conv2d_split"})
    )
    for outcome in (whole, without):
        outcome.check(cpu.run(m.bytes(), [feed]), TOLERANCE)
    assert any(kernel.endswith("_split") for kernel in groups(whole)), groups(whole)
    assert not any(kernel.endswith("_split") for kernel in groups(without)), groups(without)
    [note] = without.report["partitions"][0]["notes"]
    assert "each work-item adds up its own sum" in note


def test_a_target_with_a_flat_grid_has_none_in_opencl(quadra, tmp_path):
    """Only texts of OpenGL ES find their place in one."""
    target = json.loads((TARGETS / "mali-g76.json").read_text())
    (tmp_path / "flat.json").write_text(json.dumps({**target, "flat_group": 2}))
    given = options(target=str(tmp_path / "flat.json").removesuffix(".json"))
    quadra.run(model(), [FEED], **given).check(cpu.run(model(), [FEED]), TOLERANCE)
