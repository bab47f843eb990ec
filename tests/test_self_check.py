"""`self_check`: a program that a driver miscompiles is found before an inference trusts it, and its nodes stay on the CPU. The
drivers here mistake tanh for atan wherever they optimise (tests/driver_faults.cc, tests/egl/faults.c)."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from tests import cpu
from tests.delegate import TARGETS, UNOPTIMISED, Outcome, Quadra, options
from tests.faults import egl, opencl  # noqa: F401 (fixtures, which skip where there is no driver)
from tests.judge import mismatch
from tests.model_builder import Model

BACKENDS = ["opencl", "gles"]
IMAGE = (1, 6, 5, 8)
FEED = np.random.default_rng(2).normal(size=IMAGE).astype(np.float32)
TOLERANCE = 1e-4
PLAIN = "_plain_"  # in the names of kernels that others are compared with


def model() -> bytes:
    """A convolution with a merged tanh between others that are right; the nodes 1 and 2 are one program."""
    m = Model()
    random = np.random.default_rng(3)
    x = m.input(IMAGE)
    for layer in range(3):
        weights = random.normal(size=(8, 3, 3, 8)).astype(np.float32) / 4
        x = m.conv2d(x, weights, np.zeros(8, np.float32), activation="RELU")
        x = m.unary("TANH", x) if layer == 1 else x
    m.output(x)
    return m.bytes()


@pytest.fixture
def start(library, egl, opencl):
    """start(backend, faulty=False, option=...): the outcome and the log, of a new process."""

    def run(backend: str, faulty: bool = False, env: dict[str, str] | None = None, **more: str) -> tuple[Outcome, str]:
        fault = {"DRIVER_FAULTS_MISCOMPILES": "tanh=atan"}
        if backend == "gles":
            fault = {"EGL_FAULTS": "miscompiles=tanh:atan"}
        worker = Quadra(library, **UNOPTIMISED)
        try:
            drivers = {"opencl_library": str(opencl), "egl_library": str(egl)}
            given = options(backend=backend, debug="4", **drivers, **more)
            outcome = worker.run(model(), [FEED], env={**(fault if faulty else {}), **(env or {})}, **given)
        finally:
            worker.close()
        assert not outcome.error, outcome.error + worker.log()
        return outcome, worker.log()

    return run


def check_us(outcome: Outcome) -> int:
    return sum(partition["timings_us"]["check"] for partition in outcome.report["partitions"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_miscompiled_program_goes_to_the_cpu_alone_and_is_remembered(start, tmp_path, backend):
    expected = cpu.run(model(), [FEED])
    unchecked, log = start(backend, faulty=True)
    assert mismatch(unchecked.outputs[0][0], expected[0], 1e-2), "the driver of this test computes right numbers"
    assert not unchecked.on_cpu() and PLAIN not in log and check_us(unchecked) == 0

    how = {"self_check": "1", "serialization_dir": str(tmp_path / "kept")}
    first, log = start(backend, faulty=True, **how)
    first.check(expected, TOLERANCE, everything_on_gpu=False)
    assert [node["index"] for node in first.nodes if node["on"] == "cpu"] == [1, 2]
    for reason in first.on_cpu():
        assert "self_check: conv2d" in reason and "of 240 are off" in reason and "driver: " in reason, reason
    assert PLAIN in log and check_us(first) > 0
    assert any("self_check" in note for note in first.report["backend_notes"])

    second, log = start(backend, faulty=True, **how)
    second.check(expected, TOLERANCE, everything_on_gpu=False)
    assert second.on_cpu() == first.on_cpu() and second.report["backend_notes"] == first.report["backend_notes"]
    assert PLAIN not in log and check_us(second) == 0
    assert all(partition["cache"].startswith("hit") for partition in second.report["partitions"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_good_driver_keeps_every_node_and_is_asked_once(start, tmp_path, backend):
    how = {"self_check": "1", "serialization_dir": str(tmp_path / "kept")}
    for is_first in (True, False):
        outcome, log = start(backend, **how)
        outcome.check(cpu.run(model(), [FEED]), TOLERANCE)
        assert ((PLAIN in log), check_us(outcome) > 0) == (is_first, is_first)
        assert outcome.report["partitions"][0]["notes"] == []
    # A plan that was kept without a check is not taken for a checked one.
    fresh = {**how, "serialization_dir": str(tmp_path / "other")}
    start(backend, **{**fresh, "self_check": "0"})
    assert PLAIN in start(backend, **fresh)[1]


def test_an_update_of_the_driver_is_checked(start, tmp_path):
    """And the plan keeps working."""
    how = {"self_check": "1", "serialization_dir": str(tmp_path / "kept")}
    start("opencl", **how)
    updated, log = start("opencl", env={"DRIVER_FAULTS_VERSION": "8"}, **how)
    updated.check(cpu.run(model(), [FEED]), TOLERANCE)
    assert PLAIN in log and "programs were compiled" in updated.report["partitions"][0]["cache"]
    outcome, log = start("opencl", faulty=True, env={"DRIVER_FAULTS_VERSION": "9"}, **how)
    outcome.check(cpu.run(model(), [FEED]), TOLERANCE, everything_on_gpu=False)
    assert PLAIN in log and [node["index"] for node in outcome.nodes if node["on"] == "cpu"] == [1, 2]


def test_all_kernels_of_a_node_are_named(start, tmp_path):
    """Only what the last one makes has something to be compared with."""
    target = tmp_path / "target.json"
    given = json.loads((TARGETS / "generic.json").read_text())
    target.write_text(json.dumps({**given, "winograd_channels": 1, "winograd_tiles": 1}))
    outcome, _ = start("opencl", faulty=True, self_check="1", target=str(target.with_suffix("")))
    outcome.check(cpu.run(model(), [FEED]), TOLERANCE, everything_on_gpu=False)
    names = r"self_check: one of winograd_source\w*, winograd_products\w*, winograd_result\w* computes wrong numbers: "
    assert len(outcome.on_cpu()) == 2 and all(re.search(names, reason) for reason in outcome.on_cpu()), outcome.on_cpu()


def test_the_other_backend_takes_over(start):
    """As after any failure of a driver: OpenGL ES computes right numbers here."""
    outcome, _ = start("auto", faulty=True, self_check="1")
    outcome.check(cpu.run(model(), [FEED]), TOLERANCE)
    assert outcome.report["backend"] == "gles" and "opencl: self_check: conv2d" in outcome.report["backend_notes"][0]


def test_programs_that_bring_numbers_in_and_out_are_checked(start):
    """They are no node's: all of the partition goes."""
    outcome, _ = start("gles", env={"EGL_FAULTS": "miscompiles=v.y:v.x"}, self_check="1")
    outcome.check(cpu.run(model(), [FEED]), TOLERANCE, everything_on_gpu=False)
    assert len(outcome.on_cpu()) == len(outcome.nodes) and any("_slices" in reason for reason in outcome.on_cpu())


REFUSALS = {"opencl": {"DRIVER_FAULTS": "clBuildProgram@2=-11"}, "gles": {"EGL_FAULTS": "refuse_compile=optimize(off)"}}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_reference_that_does_not_compile_is_a_note(start, backend):
    """OpenCL's second program has all references."""
    outcome, log = start(backend, env=REFUSALS[backend], self_check="1")
    outcome.check(cpu.run(model(), [FEED]), TOLERANCE)
    [note] = outcome.report["partitions"][0]["notes"]
    assert note.startswith("self_check: not checked: compile ") and "this test wants no such thing" in note, note
    assert PLAIN in log
