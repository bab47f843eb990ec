"""Every linear axis has round numbers."""

import itertools
import re

import pytest

from host_tools.judge.regression.cell_verdicts import Finding
from host_tools.judge.regression.statistic import Shift
from host_tools.show import charts
from host_tools.show.regression import plots

ENDS = [(3.38, 4.25), (0.0, 1.0), (-17.3, 17.3), (0.98765, 0.98799), (0.0, 12345.6), (1e-4, 3e-4), (36.0, 36.1)]


def is_round(step):
    return f"{step:.6e}"[:8] in ("1.000000", "2.000000", "5.000000")


@pytest.mark.parametrize(("low", "high"), ENDS)
@pytest.mark.parametrize("most", [3, 5, 6])
@pytest.mark.parametrize("one", [1.0, 1000.0, 2.0**20])
def test_ticks_are_round_inside_and_few(low, high, most, one):
    found = charts.ticks(low * one, high * one, most, one)
    assert 1 <= len(found) <= most + 1 and low - 1e-9 <= found[0] / one and found[-1] / one <= high + 1e-9
    steps = [(b - a) / one for a, b in itertools.pairwise(found)]
    assert all(is_round(step) for step in steps), steps


def labels(svg, tail):
    """Numbers of the grid's labels."""
    grid = svg.partition('class="grid"')[2].partition("</g>")[0]
    return [float(words) for words in re.findall(rf">([-+]?[\d.e-]+){tail}</text>", grid)]


def finding(unit, before, now, effect=0.03):
    return Finding("steady", "pass", "", unit, before, now, Shift(effect, -0.01, 0.07, 0.2))


def test_a_chart_of_launches_says_what_the_finding_says():
    """Medians of a few launches may differ the other way: 195.1 ms to 211.2 ms is no -2.6 %."""
    svg = plots.sides(finding("us", (195100.0,), (211200.0,), -0.0263))
    assert ">median 195.1 ms<" in svg and ">about 190.0 ms<" in svg and "median 211" not in svg
    alone = plots.sides(Finding("steady", "pass", "", "us", (), (211200.0,)))
    assert ">median 211.2 ms<" in alone and "about" not in alone


@pytest.mark.parametrize(
    ("svg", "tail"),
    [
        (plots.sides(finding("us", (3380.0, 3500.0), (3900.0, 4250.0))), " ms"),
        (plots.sides(finding("bytes", (37.3 * 2**20,), (39.1 * 2**20,))), " MiB"),
        (plots.sides(finding("× XNNPACK's time", (3.38,), (4.25,))), ""),
        (
            plots.history([(0.0, 1.31, 1.3, 1.37, "past", ""), (9.0, 1.4, 1.38, 1.41, "now", "")], "× XNNPACK's time"),
            "",
        ),
        (plots.shifts([("a", finding("us", (1.0,), (1.0,)))], 2.0, 5.0), " %"),
        (charts.strip({"quadra": [3380, 3900, 4250]}, {}), ""),
    ],
)
def test_the_labels_of_every_chart_are_round(svg, tail):
    found = labels(svg, tail)
    assert len(found) >= 2 and all(is_round(abs(b - a)) for a, b in itertools.pairwise(found) if tail != " %"), found
    if tail == " %":  # 0 has no unit
        assert all(is_round(abs(one)) or is_round(abs(one) / 3) for one in found), found
