"""Groups of work-items that a driver refuses are made smaller before anything fails; those that must be as they are give way
to other kernels, or end in a verdict."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from host_tools.record import checked_plan, plan_view
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

    def run(backend: str, word: str, at: str = "", **more: str):
        library = {"opencl": {"opencl_library": str(opencl)}, "gles": {"egl_library": str(egl)}}[backend]
        env = {"DRIVER_FAULTS_GPU": "1", "DRIVER_FAULTS_FEW": word or "nothing"} if backend == "opencl" else {}
        env |= {"DRIVER_FAULTS_FEW_AT": at} if at else {}
        env |= {"EGL_FAULTS": f"few_items={word}" if word else ""} if backend == "gles" else {}
        return quadra.run(model(), [FEED], env=env, **options("mali-g76-buffers", backend, **library, **more))

    return run


# A word of the convolution alone: of its name in OpenCL, of its text in OpenGL ES. And of the softmax's.
CONV = {"opencl": "conv2d", "gles": "kernel_x"}
SOFTMAX = {"opencl": "softmax", "gles": "part["}


def groups(outcome) -> dict[str, list[int]]:
    [partition] = outcome.report["partitions"]
    return {dispatch["kernel"]: dispatch["local"] for dispatch in partition["dispatches"]}


# OpenCL's driver refuses a group when it is asked what it takes, when it compiles or when it launches; OpenGL ES's when it
# compiles.
REFUSALS = [("opencl", ""), ("opencl", "build"), ("opencl", "launch"), ("gles", "")]


@pytest.mark.parametrize(("backend", "at"), REFUSALS)
def test_a_refused_group_is_made_smaller(drivers, backend, at):
    whole, few = drivers(backend, ""), drivers(backend, CONV[backend], at)
    few.check(cpu.run(model(), [FEED]), TOLERANCE)
    for a, b in zip(whole.outputs[0], few.outputs[0], strict=True):
        assert a.tobytes() == b.tobytes()
    before, after = groups(whole), groups(few)
    changed = [kernel for kernel in before if before[kernel] != after[kernel]]
    assert all("conv" in kernel for kernel in changed) and changed, (before, after)
    assert all(np.prod(after[kernel]) <= FEW < np.prod(before[kernel]) for kernel in changed), (before, after)
    notes = few.report["partitions"][0]["notes"]
    assert notes and all("the driver refuses groups of" in note and "conv" in note for note in notes), notes
    assert len(notes) == 1 or at == "launch"  # it does not say how many it takes: halves are tried
    assert whole.report["partitions"][0]["notes"] == []


@pytest.mark.parametrize(("backend", "at"), REFUSALS)
def test_a_group_that_shares_memory_is_not_made_smaller(drivers, backend, at):
    """Where the driver says how many work-items it takes, a kernel that shares nothing computes the same."""
    outcome = drivers(backend, SOFTMAX[backend], at)
    says_how_many = (backend, at) in (("opencl", ""), ("opencl", "launch"))
    outcome.check(cpu.run(model(), [FEED]), TOLERANCE, everything_on_gpu=says_how_many)
    if says_how_many:
        assert groups(drivers(backend, ""))["softmax_group"] == [32, 1, 1]
        assert all(math.prod(group) <= FEW for group in groups(outcome).values()) and "softmax" in groups(outcome)
        [note] = outcome.report["partitions"][0]["notes"]
        assert "softmax_group: the driver refuses its group; none has more than 16" in note
        return
    assert outcome.on_cpu() and all("softmax" in reason for reason in outcome.on_cpu()), outcome.on_cpu()


@pytest.fixture
def refusing(quadra, egl, opencl, tmp_path):
    """refusing(backend, faults): the model where calls fail as tests/driver_faults.cc says."""

    def run(backend: str, faults: str, target: str = "mali-g76-buffers", **more: str):
        library = {"opencl": {"opencl_library": str(opencl)}, "gles": {"egl_library": str(egl)}}[backend]
        name = {"opencl": "DRIVER_FAULTS", "gles": "EGL_FAULTS"}[backend]
        env = {"DRIVER_FAULTS_GPU": "1", name: faults}
        return quadra.run(model(), [FEED], env=env, **options(target, backend, **library, **more))

    return run


LAUNCHES = {
    "opencl": ("clEnqueueNDRangeKernel@{}=-5", "CL_OUT_OF_RESOURCES"),
    "gles": ("glDispatchCompute@{}=0x505", "GL_OUT_OF_MEMORY"),
}


@pytest.fixture
def counted(quadra, opencl, tmp_path):
    """counted(backend, faults): the same with the library that counts calls, which has both APIs."""

    def run(backend: str, faults: str = "", **more: str):
        given = options("mali-g76-buffers", backend, opencl_library=str(opencl), egl_library=str(opencl), **more)
        env = {"DRIVER_FAULTS_GPU": "1", "DRIVER_FAULTS": faults}
        return quadra.run(model(), [FEED], env=env, counter=opencl, **given)

    return run


@pytest.mark.parametrize("backend", LAUNCHES)
def test_a_driver_that_launches_nothing_leaves_all_to_the_cpu_with_the_reason(counted, backend):
    fault, name = LAUNCHES[backend]
    outcome = counted(backend, fault.format("*"))
    outcome.check(cpu.run(model(), [FEED]), TOLERANCE, everything_on_gpu=False)
    assert len(outcome.on_cpu()) == len(outcome.nodes)
    assert all("its partition cannot run: launch 0" in reason and name in reason for reason in outcome.on_cpu())


@pytest.mark.parametrize("backend", LAUNCHES)
def test_each_kernel_is_launched_once_before_the_first_inference(counted, tmp_path, backend):
    """Where something was compiled: a start from the cache knows that the driver takes it."""
    given = {"serialization_dir": str(tmp_path)}
    first, second = (counted(backend, **given) for _ in range(2))
    launches = {"opencl": "clEnqueueNDRangeKernel", "gles": "glDispatchCompute"}[backend]
    [a], [b] = first.report["partitions"], second.report["partitions"]
    dispatches = len(b["dispatches"])
    kernels = len({dispatch["kernel"] for dispatch in b["dispatches"]})
    assert second.driver["calls"][launches] == dispatches
    assert dispatches + kernels <= first.driver["calls"][launches] <= 2 * dispatches
    assert a["timings_us"]["first_launch"] > 0 and b["timings_us"]["first_launch"] == 0
    spans = [[span["name"] for span in part["spans"]] for part in (a, b)]
    assert ["first_launch" in names for names in spans] == [True, False], spans


def test_half_arithmetic_is_left_out_where_the_driver_refuses_it(refusing):
    whole, without = (
        refusing("gles", faults, "mali-g76-gles", precision="f16") for faults in ("", "refuse_compile=mediump")
    )
    for outcome in (whole, without):
        outcome.check(cpu.run(model(), [FEED]), 2e-2)
    assert whole.report["partitions"][0]["notes"] == []
    [note] = without.report["partitions"][0]["notes"]
    assert "the driver may refuse float16 arithmetic" in note


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


@pytest.mark.parametrize("name", ["adreno-640", "adreno-740-gles", "mali-g76-gles"])
@pytest.mark.parametrize("size", [33, 28])
def test_few_lanes_idle(quadra, tmp_path, name, size):
    """Where a grid of 8 x 8 would leave half of them idle, or a fifth: planes a little larger than a multiple of that, narrow ones,
    planes of one row."""
    m = Model()
    weights = np.random.default_rng(4).normal(size=(128, 1, 1, 64)).astype(np.float32)
    x = m.input((1, size, size, 64))
    m.output(m.unary("TANH", m.resize_bilinear(m.conv2d(x, weights, np.zeros(128, np.float32)), (1, 513))))
    outcome = quadra.run(m.bytes(), backend="null", dump_dir=str(tmp_path), target=str(TARGETS / f"{name}.json"))
    assert not outcome.error and not outcome.on_cpu()
    [path] = tmp_path.rglob("plan.quadra")
    for dispatch in checked_plan.checked(plan_view.decode(path.read_bytes(), str(path)), str(path)).dispatches:
        started = (
            math.prod(all_ // own for all_, own in zip(dispatch.global_, dispatch.local)) * 64
        )  # a wave for each group
        assert math.prod(dispatch.local) <= 64
        assert math.prod(dispatch.grid) > 0.8 * started, (dispatch.name, dispatch.grid, dispatch.local)


@pytest.mark.parametrize("name", ["adreno-640", "adreno-740-gles", "mali-g76-gles"])
def test_kernels_of_one_text_share_groups(quadra, tmp_path, name):
    """Each group is a program of its own, which a phone compiles: one for planes of many sizes, where about as few lanes idle."""
    m = Model()
    weights = np.random.default_rng(4).normal(size=(96, 1, 1, 32)).astype(np.float32)
    for size in (112, 56, 33, 28):
        m.output(m.conv2d(m.input((1, size, size, 32)), weights, np.zeros(96, np.float32)))
    outcome = quadra.run(m.bytes(), backend="null", dump_dir=str(tmp_path), target=str(TARGETS / f"{name}.json"))
    assert not outcome.error and not outcome.on_cpu()
    [path] = tmp_path.rglob("plan.quadra")
    plan = checked_plan.checked(plan_view.decode(path.read_bytes(), str(path)), str(path))
    found = [dispatch for dispatch in plan.dispatches if dispatch.name.endswith("conv2d")]
    assert len(found) == 4 and len({dispatch.entry for dispatch in found}) <= 2
    started = sum(math.prod(all_ // own for all_, own in zip(one.global_, one.local)) * 64 for one in found)
    assert sum(math.prod(one.grid) for one in found) > 0.85 * started
