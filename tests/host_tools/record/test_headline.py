"""Which time is the headline, and when it is not reliable."""

import math

import pytest

from host_tools.record import headline, schema
from host_tools.record.headline import Ratios, Samples


@pytest.mark.parametrize(
    ("on_cpu", "threads", "processor", "clock", "ratio"),
    [
        (True, 1, 1.0, "processor", 1.0),
        (True, 2, 1.0, "wall", 1.05),
        (False, 1, 0.1, "wall", 1.05),
        (True, 1, math.nan, "wall", 1.05),
    ],
)
def test_a_driver_on_the_cpu_is_measured_by_processor_time_with_one_thread_only(
    on_cpu, threads, processor, clock, ratio
):
    found = headline.decide(on_cpu, threads, Ratios(1.05, 1.04, processor))
    assert (found.clock, found.ratio, found.doubt) == (clock, ratio, "")


@pytest.mark.parametrize(("median", "processor"), [(5.98, 1.0), (0.2, 0.98), (1.11, 1.0), (0.9, 1.0)])
@pytest.mark.parametrize("threads", [1, 2])
def test_two_clocks_that_differ_by_more_than_a_tenth_are_a_busy_machine(median, processor, threads):
    found = headline.decide(True, threads, Ratios(median, median, processor))
    assert not found.reliable and "the machine was busy" in found.doubt
    assert f"{median:.2f} ×" in found.doubt and f"{processor:.2f} ×" in found.doubt


def test_two_clocks_within_a_tenth_are_reliable():
    assert headline.decide(True, 1, Ratios(1.09, 1.0, 1.0)).reliable
    assert headline.decide(True, 1, Ratios(1.0, 5.0, 1.0)).reliable, "minima are of the clock that is not shown"


def test_two_sides_of_a_limit_are_not_reliable():
    found = headline.decide(True, 1, Ratios(1.52, 1.5, 1.48), [1.5])
    assert not found.reliable and "too busy to tell on which side of 1.5" in found.doubt
    assert headline.decide(True, 1, Ratios(1.52, 1.5, 1.48), [1.6, 1.4]).reliable


def test_on_a_gpu_the_processor_says_nothing_and_minima_check_medians():
    assert headline.decide(False, 1, Ratios(1.0, 1.02, 0.05)).reliable
    found = headline.decide(False, 1, Ratios(1.0, 1.3, 0.05))
    assert not found.reliable and "wall-clock time gives 1.00 ×, its minima 1.30 ×" in found.doubt


def test_a_peer_with_threads_of_its_own_is_not_a_busy_machine():
    ratios = Ratios(0.5, 0.5, 0.1)
    assert not headline.decide(True, 1, ratios).reliable
    found = headline.decide(True, 1, ratios, like_threads=False)
    assert found.reliable and found.ratio == 0.1


def test_a_time_of_zero_disagrees_with_any_other():
    assert not headline.decide(True, 1, Ratios(0.0, 0.0, 1.0)).reliable
    assert headline.decide(True, 1, Ratios(0.0, 0.0, 0.0)).reliable


def test_ratios_are_of_medians_minima_and_processor_time():
    ours, theirs = Samples([30, 10, 20], [30, 30, 30]), Samples([10, 5, 10], [10, 10, 10])
    assert headline.ratios_of(ours, theirs) == Ratios(median=2.0, minimum=2.0, processor=3.0, least_us=10)
    assert math.isnan(headline.ratios_of(ours, Samples([10])).processor)
    assert headline.ratios_of(ours, Samples([])) is None


@pytest.mark.parametrize(
    ("backend", "name", "vendor", "on_cpu"),
    [
        ("opencl", "basic-skylake", "cpu", True),
        ("gles", "llvmpipe (LLVM 15)", "Mesa", True),
        ("opencl", "Adreno 740", "qualcomm", False),
        ("none", "", "", True),
    ],
)
def test_who_computes_on_the_cpu(backend, name, vendor, on_cpu):
    report = schema.of(
        schema.Verdicts, {"backend": backend, "device": {"name": name, "vendor": vendor}, "nodes": [], "partitions": []}
    )
    assert headline.computes_on_cpu(report) is on_cpu


def test_a_very_short_inference_is_no_sign_of_a_busy_machine():
    ours, theirs = headline.Samples([8, 8, 8], [16, 16, 16]), headline.Samples([2, 2, 2], [5, 5, 5])
    found = headline.decide(True, 1, headline.ratios_of(ours, theirs))
    assert not found.reliable and "an inference of 2 us is too short for the clocks" in found.doubt
    assert "busy" not in found.doubt
