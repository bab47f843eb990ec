"""Which time is the headline, and when it is not reliable."""

import math

import pytest

from host_tools.record import headline, schema, times
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


def waiting(us, but=None, busy=0.0):
    """Timings of ten inferences that compute 4 ms each and wait `us` besides; XNNPACK's compute 2 ms. but: one that does not
    wait. busy: the share of the time that other work takes from both."""
    cpu = [4000 + index for index in range(10)]
    wall = [one * (1 + busy) + us for one in cpu]
    if but is not None:
        wall[but] = cpu[but]
    theirs = [2000 + index for index in range(10)]
    return schema.Timings(
        threads=1,
        init_us={},
        samples_us={"quadra": wall, "xnnpack": [one * (1 + busy) for one in theirs]},
        cpu_us={"quadra": cpu, "xnnpack": theirs},
    )


def report(backend="opencl", name="basic-skylake", vendor="cpu"):
    return schema.of(
        schema.Verdicts, {"backend": backend, "device": {"name": name, "vendor": vendor}, "nodes": [], "partitions": []}
    )


def test_a_wait_in_every_inference_is_no_busy_machine():
    found = times.ratio(waiting(2500), report())
    assert not found.reliable and found.doubt.startswith("every inference waits 2.50 ms or longer without computing: ")
    assert "busy" not in found.doubt
    assert "the machine was busy" in times.ratio(waiting(2500, but=7), report()).doubt
    assert times.ratio(waiting(60), report()).reliable


def test_how_long_every_inference_waits():
    assert times.wait_us(waiting(2500), report()) == 2500
    assert times.wait_us(waiting(2500, but=7), report()) == 0
    assert times.wait_us(waiting(0, busy=1.0), report()) == 0, "XNNPACK's inferences are longer by the same share"
    assert times.wait_us(waiting(2500), report(name="Adreno 740", vendor="qualcomm")) == 0, "it waits for the GPU"
    overloaded = waiting(2500)
    walls = overloaded.samples_us["quadra"]
    overloaded.samples_us["quadra"] = [wall + 300 * index for index, wall in enumerate(walls)]
    assert times.wait_us(overloaded, report()) == 0, (
        "each waits, and each for another time: for processors, not for one thing"
    )
    disturbed = waiting(2500)
    disturbed.samples_us["quadra"][:4] = [wall + 30000 for wall in disturbed.samples_us["quadra"][:4]]
    assert times.wait_us(disturbed, report()) == 2500
    few = waiting(2500)
    few.cpu_us["quadra"], few.samples_us["quadra"] = few.cpu_us["quadra"][:4], few.samples_us["quadra"][:4]
    assert times.wait_us(few, report()) == 0, "too few to tell"
