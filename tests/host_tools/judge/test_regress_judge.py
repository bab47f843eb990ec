"""Verdicts of `inv regress`: what is called worse, better, good, and what is not called anything."""

import dataclasses
import re
from unittest import mock

import numpy as np
import pytest

from host_tools.judge.regression import cell_verdicts, exact, metrics
from host_tools.judge.regression.exact import IMPROVED, INCONCLUSIVE, PASS, REGRESSED
from host_tools.judge.regression.history import History
from tests.host_tools.judge import regress_cases
from tests.host_tools.judge.regress_cases import SUITE, facts, launch, launches


@pytest.fixture
def history(tmp_path):
    with History(tmp_path / "history.sqlite") as found:
        yield found


def verdicts(case):
    cell_verdicts.decide([case], SUITE)
    return {finding.metric: finding for finding in case.findings}


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.0, PASS), (1.01, PASS), (1.1, REGRESSED), (0.9, IMPROVED), (1.06, REGRESSED)]
)
def test_the_steady_time(history, factor, verdict):
    found = verdicts(regress_cases.case(history, launches(1, 20), launches(2, 20, factor)))
    assert found["steady"].verdict == verdict, found["steady"].text
    assert found["steady"].unit == "× XNNPACK's processor time"
    assert {found[m].verdict for m in ("init", "first", "memory", "error", "verdicts", "plan")} == {PASS}


def test_a_wait_in_every_inference_is_worse_though_processor_time_does_not_show_it(history):
    def waiting(seed, count, us, but=None):
        found = launches(seed, count, known=facts(driver_on_cpu=True))
        for one in found:
            one.samples["quadra.wall_us"] = [value + us for value in one.samples["quadra.wall_us"]]
        if but is not None:
            found[but].samples["quadra.wall_us"][3] -= us
        return found

    case = regress_cases.case(history, waiting(1, 10, 0), waiting(2, 5, 2500))
    assert cell_verdicts.suspicious(case.findings)
    assert "every inference waits 2.4" in verdicts(case)["steady"].text
    assert verdicts(case)["steady"].verdict == INCONCLUSIVE, "too few launches"
    for now, verdict in (
        (waiting(2, 20, 2500), REGRESSED),
        (waiting(2, 20, 2500, but=7), PASS),  # the machine was busy, but for one inference
        (waiting(2, 20, 60), PASS),
    ):
        assert verdicts(regress_cases.case(history, waiting(1, 20, 0), now))["steady"].verdict == verdict
    overloaded = waiting(2, 20, 2500)
    for one in overloaded:
        one.samples["quadra.wall_us"] = [us + 400 * index for index, us in enumerate(one.samples["quadra.wall_us"])]
    case = regress_cases.case(history, waiting(1, 20, 0), overloaded)
    assert "waits" not in verdicts(case)["steady"].text, "each inference waits, and each for another time"
    case = regress_cases.case(history, waiting(1, 20, 2500), waiting(2, 20, 2500))
    assert verdicts(case)["steady"].verdict == PASS


def test_nothing_is_worse_before_the_second_look(history):
    case = regress_cases.case(history, launches(1, 10), launches(2, 5, 1.2))
    assert cell_verdicts.suspicious(case.findings)
    steady = verdicts(case)["steady"]
    assert steady.verdict == INCONCLUSIVE and "too few launches for a verdict" in steady.text
    case = regress_cases.case(history, launches(1, 10), launches(2, 5))
    assert not cell_verdicts.suspicious(case.findings)
    assert "% (no interval), p" in verdicts(regress_cases.case(history, launches(1, 2), launches(2, 2)))["steady"].text


def test_noise_that_could_hide_much_is_not_good(history):
    case = regress_cases.case(history, launches(1, 10, spread=0.3), launches(2, 10, spread=0.3))
    assert cell_verdicts.suspicious(case.findings)
    steady = verdicts(case)["steady"]
    assert steady.verdict == INCONCLUSIVE and "the noise may hide up to" in steady.text


def test_what_is_small_is_no_alarm_however_sure(history):
    before, now = launches(1, 20, spread=1e-4), launches(2, 20, 1.015, spread=1e-4)
    steady = verdicts(regress_cases.case(history, before, now))["steady"]
    assert steady.p < 1e-6 and steady.verdict == PASS


def test_figures_and_percentage_are_of_one_estimate(history):
    """Here the median falls, but most pairs of launches rise: the estimate of Hodges and Lehmann is +4 us."""
    before = [launch(i, us, on_cpu=False) for i, us in enumerate([1000.0] * 9 + [6000.0] * 11)]
    now = [launch(i, us, on_cpu=False) for i, us in enumerate([5000.0] * 11 + [20000.0] * 9)]
    steady = verdicts(regress_cases.case(history, before, now))["steady"]
    assert np.median(steady.now) < np.median(steady.before) and steady.shift.percent > 100
    then, after = map(float, re.search(r"from ([\d.]+) ms to about ([\d.]+) ms", steady.text).groups())
    assert 100 * (after / then - 1) == pytest.approx(steady.shift.percent, rel=0.01), steady.text
    assert steady.text.startswith(f"{steady.shift.percent:+.1f} % (")


@pytest.mark.parametrize("measure", ["processor_ratio", "ratio"])
def test_a_start_is_in_ms_however_fast_the_machine_was(history, measure):
    """The second machine is half as fast: for Quadra and for XNNPACK."""
    before = launches(1, 20, xnnpack_us=3000.0)
    now = launches(2, 20, 2.0, xnnpack_us=6000.0)
    for one in now:
        for name, values in one.samples.items():
            if name.startswith("start."):
                one.samples[name] = [2 * value for value in values]
    with mock.patch.object(regress_cases, "SUITE", dataclasses.replace(SUITE, measure=measure)):
        found = verdicts(regress_cases.case(history, before, now))
    for metric, ms in (("init", 55), ("first", 5)):
        one = found[metric]
        assert one.verdict == PASS and abs(one.shift.percent) < 3, one.text
        then = float(re.search(r"from ([\d.]+) ms to about [\d.]+ ms", one.text).group(1))
        assert then == pytest.approx(ms, rel=0.05) and "scaled by XNNPACK's" in one.text
    assert "× XNNPACK's" in found["steady"].text


def test_a_shift_that_passes_because_its_amount_is_small_says_so(history):
    before, now = launches(1, 20), launches(2, 20)
    for side, us in ((before, 300.0), (now, 345.0)):
        for number, one in enumerate(side):
            one.samples["start.quadra_warm.first_invoke_cpu_us"] = [us * (1 + number / 1000)]
    first = verdicts(regress_cases.case(history, before, now))["first"]
    assert first.verdict == PASS and first.shift.low > 0.1 and first.small == "below 0.2 ms"
    assert first.text.endswith("; below 0.2 ms")
    sure = verdicts(regress_cases.case(history, launches(1, 20, spread=1e-4), launches(2, 20, 1.015, spread=1e-4)))
    assert sure["steady"].small == "below 2 %" and not sure["memory"].small
    assert not verdicts(regress_cases.case(history, launches(1, 20), launches(2, 20)))["steady"].small


def test_what_is_small_in_microseconds_is_no_alarm(history):
    before = launches(1, 20, factor=0.01, xnnpack_us=30.0)  # 30 us: 2 % are less than a microsecond
    now = launches(2, 20, factor=0.011, xnnpack_us=30.0)
    assert verdicts(regress_cases.case(history, before, now))["steady"].verdict != REGRESSED


def test_one_of_many_tests_needs_more_than_one_of_few(history):
    cases = [regress_cases.case(history, launches(i, 10), launches(100 + i, 10)) for i in range(20)]
    cases += [regress_cases.case(history, launches(1, 10), launches(2, 10, 1.12))]
    cell_verdicts.decide(cases, SUITE)
    steady = [next(f for f in case.findings if f.metric == "steady") for case in cases]
    assert steady[-1].verdict == REGRESSED and steady[-1].q > steady[-1].p
    assert [f.verdict for f in steady[:-1]].count(REGRESSED) == 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"GPU": "another"}, "GPU: a GPU then, another now"),
        ({"model": "1" * 64}, "the model's file is another"),
        ({"route": "shell"}, "route: nothing then, shell now"),
        ({"runtimes": {"litert": "3"}}, "litert=2.3 then, litert=3 now"),
        ({"processors": 16}, "processors: 2 then, 16 now"),
    ],
)
def test_unlike_conditions_are_refused_with_the_reason(history, change, reason):
    found = verdicts(regress_cases.case(history, launches(1), launches(2, factor=2.0), **change))
    assert {finding.verdict for finding in found.values()} == {INCONCLUSIVE}
    assert reason in found["steady"].text and found["steady"].shift is None


def test_a_wrong_result_is_worse_whatever_it_is_compared_with(history):
    wrong = facts(outputs={"ok": False, "relative": 0.5, "problem": "is off by 0.5 of its range", "sha256": "11"})
    for change in ({}, {"GPU": "another"}):
        found = verdicts(regress_cases.case(history, launches(1), launches(2, known=wrong), **change))
        assert found["error"].verdict == REGRESSED and "WRONG: output out is off by 0.5" in found["error"].text


def test_a_machine_that_was_slower_for_all_proves_nothing(history):
    before = launches(1, 20, on_cpu=False)
    now = launches(2, 20, 1.2, on_cpu=False, xnnpack_us=3600.0)
    found = verdicts(regress_cases.case(history, before, now))["steady"]
    assert found.verdict == INCONCLUSIVE and "XNNPACK moved by +20.0 %, too" in found.text and found.unit == "us"
    now = launches(2, 20, 1.2, on_cpu=False)
    assert verdicts(regress_cases.case(history, before, now))["steady"].verdict == REGRESSED


def test_a_device_that_slows_down_while_it_is_measured_proves_nothing(history):
    now = [launch(i, 3000 * (1.1 + i / 100)) for i in range(20)]
    found = verdicts(regress_cases.case(history, launches(1, 20), now))["steady"]
    assert found.verdict == INCONCLUSIVE and "rise from launch to launch" in found.text


def test_the_measure_is_what_both_sides_can_give():
    computing, waiting = launches(1), launches(1, on_cpu=False)
    assert metrics.measure_of("auto", 1, computing, computing) == "processor_ratio"
    assert metrics.measure_of("auto", 2, computing, computing) == "ratio", "of wall-clock time"
    assert metrics.measure_of("auto", 1, computing, waiting) == "wall" == metrics.measure_of("auto", 2, waiting)
    for one in computing:
        del one.samples["xnnpack.cpu_us"]
    assert metrics.measure_of("auto", 1, computing) == "processor"
    assert metrics.measure_of("ratio", 1, waiting) == "ratio"


def test_a_start_in_which_the_driver_compiled_is_left_out():
    found = launches(1, 3)
    for launch_, count in zip(found, (7.0, 1.0, 0.0)):  # some drivers keep one program more each time
        launch_.samples["driver_compiled"] = [count]
    assert len(metrics.series(found, "init", "wall").values) == 2 == len(metrics.series(found, "memory", "wall").values)
    assert len(metrics.series(found, "steady", "wall").values) == 3


@pytest.mark.parametrize(
    ("metric", "change", "verdict", "words"),
    [
        ("verdicts", {}, PASS, "2 of 3 nodes on OpenCL, 1 partition"),
        ("verdicts", {"backend": "gles", "notes": ["no CL"]}, REGRESSED, "OpenGL ES runs it, it was OpenCL; no CL"),
        ("verdicts", {"on_cpu": []}, IMPROVED, "newly on the GPU: ARG_MAX (node 0:2)"),
        ("verdicts", {"partitions": 2}, REGRESSED, "2 partitions, was 1"),
        ("plan", {}, PASS, "unchanged"),
        ("plan", {"plan": {"activation_bytes": 8192}}, REGRESSED, "8192 bytes of activations, was 4096"),
        ("plan", {"plan": {"activation_bytes": 2048}}, IMPROVED, "2048 bytes"),
        ("plan", {"plan": {"dispatches": ["0/000_x x 1 by 1"]}}, PASS, "1 dispatch, was 2: new 0/000_x"),
        ("plan", {"plan": {"kernels": {"partition_0/000_conv2d.cl": "x"}}}, PASS, "the text of 1 kernel: part"),
        ("error", {}, PASS, "the same bits"),
        ("error", {"outputs": {"sha256": "1"}}, PASS, "other bits than the baseline's, largest error 1.0e-06"),
        ("error", {"outputs": {"sha256": "1", "relative": 9e-5}}, REGRESSED, "out is off by 9.0e-05, was 1.0e-06"),
    ],
)
def test_exact_comparisons_say_what_changed(metric, change, verdict, words):
    found = exact.judge(metric, facts(), [facts(**change)])
    assert (found.verdict, words in found.text) == (verdict, True), found.text


def test_a_node_that_the_cpu_got_is_named_with_its_reason():
    row = {"node": "0:1", "op": "RELU", "reason": "no room"}
    found = exact.judge("verdicts", facts(), [facts(on_cpu=[*facts()["on_cpu"], row])])
    assert found.verdict == REGRESSED and found.text == "left to the CPU: RELU (node 0:1): no room"


def test_one_launch_that_differs_from_the_others_counts():
    wrong = facts(outputs={"ok": False, "problem": "has 1 NaN where the CPU has numbers"})
    found = exact.judge("error", facts(), [facts(), wrong, facts()])
    assert found.verdict == REGRESSED and found.text.endswith("(in 1 of 3 launches)")


def test_five_percent_are_found_in_three_percent_of_noise(history):
    """At least 95 of 100 times; and of 100 comparisons with nothing at most one finds something."""
    numbers = np.random.default_rng(5)
    suite = dataclasses.replace(SUITE, launches=10, more=10)
    found = {1.0: 0, 1.05: 0}
    for factor in found:
        for _ in range(100):
            before, now = np.exp(numbers.normal(0, 0.03, (2, 20)))
            shift = cell_verdicts.statistic.shift(before, now * factor)
            finding = cell_verdicts.Finding(
                "steady", "", "", "us", tuple(before), tuple(now), shift, shift.p, np.log(1.02)
            )
            finding = dataclasses.replace(finding, looked_twice=True)
            found[factor] += cell_verdicts.decided(finding, suite).verdict in (REGRESSED, IMPROVED)
    assert found[1.05] >= 95 and found[1.0] <= 1
