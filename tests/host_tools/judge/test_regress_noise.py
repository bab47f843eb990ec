"""How often `inv regress` is wrong: on launches that were recorded on a busy machine, and on noise of several kinds.

recorded_launches.json holds 127 launches of each of five cells, taken in turns for 22 minutes on two CPUs with a load
of 5 to 10; two of the cells ran a tenth slower, planted in their OpenCL calls.
"""

import dataclasses
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from host_tools.judge.regression import cell_verdicts, metrics, statistic, suite as suites
from host_tools.judge.regression.cell_verdicts import Case
from host_tools.judge.regression.exact import IMPROVED, INCONCLUSIVE, PASS, REGRESSED
from host_tools.judge.regression.history import Stored
from host_tools.judge.regression.launch import Launch
from tests.host_tools.judge import regress_cases
from tests.host_tools.judge.regress_cases import CONDITIONS

RECORDED = json.loads(Path(__file__).with_name("recorded_launches.json").read_text(encoding="utf-8"))
SUITE = suites.Suite("noise", (), launches=10, more=10)
QUIET = ("selfie_segmentation/gles", "face_detection_short_range/opencl", "selfie_segmentation/opencl")
PLANTED = QUIET[1:]


def recorded(cell, arm="as it is"):
    known = regress_cases.facts(driver_on_cpu=True)
    found = []
    for row in RECORDED["cells"][cell][arm]:
        value = dict(zip(RECORDED["columns"], row, strict=True))
        samples = {n: [float(value[n])] for n in value if n.startswith(("quadra.", "xnnpack."))}
        samples |= {f"start.quadra_warm.{n[6:]}": [float(value[n])] for n in value if n.startswith("start.")}
        samples |= {"memory.peak_rss_bytes": [value["memory_kib"] * 1024.0], "memory.baseline_rss_bytes": [0.0]}
        found.append(Launch(0, float(value["second"]), samples=samples, facts=known))
    return found


def session(before, now, suite=SUITE):
    """What a session would have said: `now` has the launches of a second look, too."""
    stored = Stored(1, 1, "noise", 0.0, "complete", "", CONDITIONS, tuple(before))
    case = Case("cell", "host", launches=now[: suite.launches], conditions=CONDITIONS, baseline=stored)
    case.findings = cell_verdicts.examine(case, suite)
    if cell_verdicts.suspicious(case.findings):
        case.launches = now
        case.findings = cell_verdicts.examine(case, suite)
    cell_verdicts.decide([case], suite)
    return {finding.metric: finding for finding in case.findings if finding.metric in metrics.TIMED}


def blocks(launches, numbers, other=None):
    """Twenty launches in a row for each side, from different minutes, in either order; now: of `other`."""
    while True:
        first, second = numbers.integers(0, len(launches) - 20, 2)
        if abs(first - second) >= 20:
            return launches[first : first + 20], (other or launches)[second : second + 20]


def test_two_hundred_comparisons_of_the_same_raise_at_most_two_alarms():
    numbers, verdicts, alarms = np.random.default_rng(0), Counter(), 0
    for number in range(200):
        found = session(*blocks(recorded(QUIET[number % 3]), numbers))
        verdicts.update((metric, finding.verdict) for metric, finding in found.items())
        alarms += any(finding.verdict in (REGRESSED, IMPROVED) for finding in found.values())
    assert alarms <= 2, verdicts
    assert verdicts["steady", PASS] >= 190, "and it says so, instead of nothing"


@pytest.mark.parametrize("cell", PLANTED)
def test_a_planted_slowdown_of_a_tenth_is_found(cell):
    numbers, same, slow = np.random.default_rng(1), recorded(cell), recorded(cell, "slow")
    found = [session(*blocks(same, numbers, slow)) for _ in range(60)]
    assert sum(one["steady"].verdict == REGRESSED for one in found) >= 58
    effects = [one["steady"].shift.percent for one in found]
    assert 7 < np.median(effects) < 14


def test_the_wall_clock_of_a_busy_machine_says_nothing_and_is_not_believed():
    numbers, suite = np.random.default_rng(2), dataclasses.replace(SUITE, measure="wall")
    found = Counter(session(*blocks(recorded(QUIET[2]), numbers), suite)["steady"].verdict for _ in range(40))
    assert found[INCONCLUSIVE] >= 30 and found[REGRESSED] + found[IMPROVED] <= 1


def values(kind, numbers, count):
    """Figures of launches under noise of a kind; what is drawn once per session is drawn here."""
    if kind == "even":
        return np.exp(numbers.normal(0, 0.03, count))
    if kind == "bimodal":  # some launches fall onto the slower cores
        return np.exp(numbers.normal(0, 0.01, count)) * np.where(numbers.random(count) < 0.3, 1.5, 1.0)
    if kind == "outliers":
        return np.exp(numbers.normal(0, 0.02, count)) * np.where(numbers.random(count) < 0.1, 4.0, 1.0)
    return np.exp(numbers.normal(0, 0.02, count) + np.linspace(0, 0.02, count))  # it warms up, each session anew


@pytest.mark.parametrize("kind", ["even", "bimodal", "outliers", "warming"])
def test_a_thousand_comparisons_of_simulated_noise(kind):
    numbers, alarms = np.random.default_rng(3), 0
    for _ in range(1000):
        before, now = values(kind, numbers, 20), values(kind, numbers, 20)
        shift = statistic.shift(before, now)
        finding = cell_verdicts.Finding("steady", "", "", "us", tuple(before), tuple(now), shift, shift.p, np.log(1.02))
        finding = dataclasses.replace(finding, looked_twice=True)
        alarms += cell_verdicts.decided(finding, SUITE).verdict in (REGRESSED, IMPROVED)
    assert alarms <= 5


def test_a_machine_that_drifts_between_sessions_raises_no_alarm():
    """Another clock each time, within a tenth, for all that runs on it: on the wall, and in shares of XNNPACK's."""
    numbers, alarms = np.random.default_rng(4), Counter()
    for number in range(60):
        on_cpu, sides = number % 2 == 0, []
        for seed in range(2):
            clock = float(np.exp(numbers.uniform(-0.1, 0.1)))
            noise = numbers.normal(0, 0.01, (20, 2))
            rows = [(3000 * clock * np.exp(a), 3000 * clock * np.exp(b)) for a, b in noise]
            sides.append([regress_cases.launch(i, q, xnnpack_us=x, on_cpu=on_cpu) for i, (q, x) in enumerate(rows)])
        alarms[session(*sides)["steady"].verdict] += 1
    assert alarms[REGRESSED] + alarms[IMPROVED] <= 1, alarms
