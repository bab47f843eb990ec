"""PoCL's `basic` devices compute in the thread that launches: as many of them, as many threads launch parts of each
dispatch. The numbers are the same bits."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from host_tools.base import child_process, settings
from tests import cpu
from tests.delegate import UNOPTIMISED, Outcome, Quadra, environment, options
from tests.faults import compile_driver_faults, opencl  # noqa: F401 (a fixture)
from tests.model_builder import Model
from tests.vectors.case import constant

SHAPE = (1, 61, 53, 6)  # no launch is short: compiled without an optimiser, each takes hundreds of microseconds
FEEDS = [[constant(f"cl_threads/{i}", SHAPE)] for i in range(3)]
ROUNDS = [*FEEDS, FEEDS[0]]
LAUNCHES = "clEnqueueNDRangeKernel"


def model() -> bytes:
    """Dispatches with many work-groups, with odd numbers of them, and with one."""
    m = Model()
    y = m.conv2d(m.input(SHAPE), constant("cl_threads/w", (20, 3, 3, 6)), constant("cl_threads/b", (20,)))
    y = m.conv2d(y, constant("cl_threads/p", (7, 1, 1, 20)), constant("cl_threads/q", (7,)), activation="RELU")
    m.output(m.softmax(y), m.add(y, y))
    return m.bytes()


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    return compile_driver_faults(tmp_path_factory.mktemp("cl_threads") / "libdriver_faults.so")


def run(library, counter, devices: int, target: str, faults: str = "") -> Outcome:
    worker = Quadra(library, **UNOPTIMISED, POCL_DEVICES=" ".join(["basic"] * devices), DRIVER_FAULTS=faults)
    try:
        given = options(target, opencl_library=str(counter))
        return worker.run(model(), *ROUNDS, counter=counter, **given)
    finally:
        worker.close()


@pytest.mark.parametrize("target", ["", "adreno-640", "mali-g76-buffers"])
def test_as_many_threads_launch_as_there_are_devices_and_the_bits_are_one_threads(library, counter, target, opencl):
    one, *more = (run(library, counter, devices, target) for devices in (1, 2, 3))
    one.check(cpu.run(model(), FEEDS[0]))
    [partition] = one.report["partitions"]
    dispatches = len(partition["dispatches"])
    # When it is loaded, each kernel is launched once.
    first = one.driver["calls"][LAUNCHES] - dispatches * len(ROUNDS)
    assert 0 < first <= dispatches
    for outcome in more:
        outcome.check(one.outputs[-1], tolerance=0)
        for got, want in zip(outcome.outputs, one.outputs, strict=True):
            assert all(np.array_equal(*pair) for pair in zip(got, want, strict=True))
    launches = [outcome.driver["calls"][LAUNCHES] for outcome in more]
    # The first two inferences launch each dispatch whole.
    assert first + dispatches * len(ROUNDS) < launches[0] < launches[1], launches


def test_a_thread_whose_launch_fails_fails_the_inference_and_no_other(library, counter, opencl):
    """The first and last part of the third inference: the thread that has it may be any."""
    calls = run(library, counter, 2, "").driver["calls"][LAUNCHES]
    one = run(library, counter, 1, "")
    dispatches = len(one.report["partitions"][0]["dispatches"])
    whole = one.driver["calls"][LAUNCHES] - dispatches * (len(ROUNDS) - 2)  # until the third inference
    parts = (calls - whole) // (len(ROUNDS) - 2)
    for n in (whole + 1, whole + parts):
        outcome = run(library, counter, 2, "", f"{LAUNCHES}@{n}=-6")
        assert "launch" in outcome.error and "CL_OUT_OF_HOST_MEMORY" in outcome.error, outcome.error
        assert outcome.driver["happened"]


def test_a_short_launch_is_left_to_one_thread(library, counter, opencl):
    """What is short is measured, so a machine with other work may take a launch for a long one: one of five tries will do."""
    m = Model()
    x = m.input((1, 1, 1, 4))
    m.output(m.add(x, x))
    feed = [constant("cl_threads/short", (1, 1, 1, 4))]
    calls = []
    for _ in range(5):
        worker = Quadra(library, POCL_DEVICES="basic basic", DRIVER_FAULTS="")
        try:
            given = options("", opencl_library=str(counter))
            outcome = worker.run(m.bytes(), *[feed] * 8, counter=counter, **given)
            calls.append(outcome.driver["calls"][LAUNCHES])
        finally:
            worker.close()
        if calls[-1] <= len(outcome.report["partitions"][0]["dispatches"]) * (8 + 1):  # and once when it is loaded
            return
    raise AssertionError(calls)


def test_threads_that_get_no_queue_leave_the_caller_alone(library, counter, opencl):
    outcome = run(library, counter, 2, "", "clCreateCommandQueue@2=-6")
    outcome.check(cpu.run(model(), FEEDS[0]))
    assert outcome.driver["calls"][LAUNCHES] == run(library, counter, 1, "").driver["calls"][LAUNCHES]


_FORKED = """
import os, sys, time
from tests.delegate_worker import invoke, open_model
from tests.test_cl_threads import FEEDS, model

interpreter, delegate = open_model(sys.argv[1], model(), {"backend": "opencl", "small_partitions_allowed": "1"})
before = [invoke(interpreter, FEEDS[0]) for _ in range(4)]
time.sleep(0.2)  # now the threads sleep
child = os.fork()
if not child:
    del interpreter, delegate
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
after = invoke(interpreter, FEEDS[0])
print(all((a == b).all() for a, b in zip(before[-1], after)))
"""


def test_a_forked_child_ends_what_it_has_of_them(library, opencl):
    told = child_process.run(
        [sys.executable, "-c", _FORKED, library],
        env={**environment(library), **UNOPTIMISED, "POCL_DEVICES": "basic basic"},
        cwd=settings.ROOT,
        timeout_s=100,
    )
    assert told.stdout.split() == ["7", "True"], told
