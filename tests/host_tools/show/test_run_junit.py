"""Runs as JUnit XML: what is wrong, exceeded, failed or skipped, for a CI server."""

import shutil
from xml.etree import ElementTree

import numpy as np
import pytest

from host_tools.base.errors import DeviceNotFound, JudgementFailed, Misuse, RunFailed
from host_tools.judge import judged
from host_tools.judge.limits import Limits
from host_tools.show import run_junit
from host_tools.show.run_account import Ended
from tests.host_tools import run_folders

RIGHT = np.linspace(0, 1, 12, dtype=np.float32)


def cases(ended, limits=Limits(), error=None):
    """By name: the kind of its verdict and the sentence; and the counts of each suite."""
    root = ElementTree.fromstring(run_junit.text(ended, limits, error).encode())
    found = {
        case.get("name"): next(((one.tag, one.get("message") or one.text) for one in case), ("", ""))
        for case in root.iter("testcase")
    }
    counts = [tuple(int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")) for suite in root]
    return found, counts


def test_outputs_and_limits_are_cases(tmp_path):
    made = judged.judge(run_folders.make(tmp_path, [RIGHT, RIGHT + np.float32(0.5)], [RIGHT, RIGHT]))
    found, counts = cases([Ended("host", made)], Limits(ms=2.5, cpu_nodes=1))
    assert found["output 0 (output0)"] == ("system-out", "largest error 0 of its range, tolerance 0.0001")
    assert found["output 1 (output1)"] == ("failure", "is off by 0.5 of its range, the tolerance is 0.0001")
    assert (
        found["time"][0] == "failure"
        and "takes 3.00 ms (wall-clock time, median of 3), more than 2.5 ms" in found["time"][1]
    )
    assert found["nodes on the CPU"] == ("system-out", "at most 1") and counts == [(4, 2, 0, 0)]


def test_what_failed_was_skipped_or_not_judged_is_told(tmp_path):
    folder = run_folders.make(tmp_path, name='a\x00<b>"&')
    shutil.rmtree(folder.path / "cpu_outputs")
    ended = [
        Ended("host", judged.judge(folder)),
        Ended("one", None, RunFailed("run", "it\x1b crashed", "wait")),
        Ended("two", None, DeviceNotFound("find two", "it is not there")),
    ]
    found, counts = cases(ended)
    assert found["outputs"][0] == "skipped" and "not judged" in found["outputs"][1]
    assert counts == [(1, 0, 0, 1), (1, 0, 1, 0), (1, 0, 0, 1)]
    assert cases([], error=RunFailed("read", "nothing", "wait")) == (
        {"run": ("error", "read: nothing\n  next: wait")},
        [(1, 0, 1, 0)],
    )


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(), ""),
        (Limits(ms=3.0, cpu_nodes=1), ""),
        (Limits(ms=2.99), "takes 3.00 ms"),
        (Limits(cpu_nodes=0), r"1 node stays on the CPU, more than 0 \(2 ARG_MAX: ARG_MAX is not supported\)"),
        (Limits(ms=1, cpu_nodes=0), "takes 3.00 ms.*; 1 node stays"),
    ],
)
def test_a_limit_that_is_exceeded_fails_a_run_that_is_right(tmp_path, limits, reason):
    made = judged.judge(run_folders.make(tmp_path))
    if not reason:
        limits.check(made)
        return
    with pytest.raises(JudgementFailed, match=reason):
        limits.check(made)


@pytest.mark.parametrize("wrong", [{"ms": -1}, {"cpu_nodes": -1}, {"error": float("nan")}])
def test_a_limit_below_nothing_is_misuse(wrong):
    with pytest.raises(Misuse, match="is not a number from 0"):
        Limits(**wrong)


def test_a_run_without_times_has_no_time_to_keep(tmp_path):
    untimed = {**run_folders.TIMINGS, "samples_us": {}}
    made = judged.judge(run_folders.make(tmp_path, timings=untimed))
    with pytest.raises(JudgementFailed, match="was not timed"):
        Limits(ms=1e9).check(made)


def test_a_time_limit_counts_what_every_inference_waits(tmp_path):
    cpu = [4000] * 10
    device = {"name": "basic-skylake", "vendor": "cpu"}
    report = {**run_folders.REPORT, "device": {**run_folders.REPORT["device"], **device}}

    def made(waits, name):
        wall = [us + wait for us, wait in zip(cpu, waits)]
        samples = {"samples_us": {"quadra": wall, "xnnpack": cpu}, "cpu_us": {"quadra": cpu, "xnnpack": cpu}}
        timings = {**run_folders.TIMINGS, **samples}
        return judged.judge(run_folders.make(tmp_path, name=name, timings=timings, report=report))

    every = made([2500] * 10, "every")
    reason = (
        r"an inference takes 4.00 ms \(processor time, median of 10\), and every inference waits 2.50 ms or longer without"
        " computing, together more than 5 ms"
    )
    with pytest.raises(JudgementFailed, match=reason):
        Limits(ms=5).check(every)
    Limits(ms=6.5).check(every)
    Limits(ms=5).check(made([0] + [2500] * 9, "busy"))
    assert cases([Ended("host", every)], Limits(ms=5))[0]["time"][0] == "failure"
