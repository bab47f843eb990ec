"""How inferences are timed on this machine: how many come before, what is waited, on which cores."""

import itertools
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from host_tools.base import settings
from host_tools.base.errors import Misuse
from host_tools.places import worker
from host_tools.record.spec import ModelRef, RunSpec, checked, cores_of


class Interpreter:
    def __init__(self):
        self.at = []

    def invoke(self):
        self.at.append(time.perf_counter())


def timed(**fields):
    """The interpreters of two runtimes, after they were timed."""
    spec = RunSpec("", ModelRef("net", "net.tflite", ""), **fields)
    both = {"quadra": Interpreter(), "xnnpack": Interpreter()}
    one = SimpleNamespace(spec=spec, timings={}, keep_timings=lambda: None)
    worker.pairs(one, both)
    return one.timings, both


@pytest.mark.parametrize("count", [0, 2, 5])
def test_so_many_inferences_come_before_the_timed_ones(count):
    timings, both = timed(repetitions=3, warm_up=count)
    assert [len(one.at) for one in both.values()] == [3 + count] * 2 and len(timings["samples_us"]["quadra"]) == 3


def test_each_timed_inference_is_waited_with_and_the_wait_is_not_timed():
    timings, both = timed(repetitions=3, warm_up=1, delay_ms=30)
    order = sorted(at for one in both.values() for at in one.at[1:])
    assert min(b - a for a, b in itertools.pairwise(order)) >= 0.03
    assert max(map(max, timings["samples_us"].values())) < 30_000


def test_a_process_keeps_to_its_cores():
    core = max(os.sched_getaffinity(0))
    code = (
        "import os; from host_tools.places import worker; from host_tools.record.spec import ModelRef, RunSpec;"
        f"worker._keep_to_cores(RunSpec('', ModelRef('a', 'a', ''), cpus='{core}')); print(os.sched_getaffinity(0))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=settings.ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{{{core}}}"
    with pytest.raises(Misuse, match="run on the processor cores 1023"):
        worker._keep_to_cores(RunSpec("", ModelRef("a", "a", ""), cpus="1023"))


def test_cores_are_read_and_those_that_choose_none_say_so():
    assert cores_of("4-7,0") == [0, 4, 5, 6, 7] and cores_of("") == [] and cores_of("3") == [3]
    for wrong in ("7-4", "a", "-1", "4-", "5000"):
        with pytest.raises(Misuse, match="read --cpus"):
            cores_of(wrong)
    app = RunSpec("", ModelRef("a", "a", ""), place="device", device="x", cpus="4-7")
    with pytest.raises(Misuse, match=r"no way for an app to choose its cores\n.*--via shell"):
        checked(app)
    with pytest.raises(Misuse, match="no way for an app"):
        checked(RunSpec("", ModelRef("a", "a", ""), place="jvm", cpus="0"))
    assert checked(RunSpec("", ModelRef("a", "a", ""), place="device", device="x", route="shell", cpus="4-7"))
