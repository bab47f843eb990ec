"""Charts can be read on a phone: letters keep their size, nothing leaves the page, and no text lies on another."""

import math
import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from host_tools.judge.regression import statistic
from host_tools.judge.regression.cell_verdicts import Finding
from host_tools.show import charts, report
from host_tools.show.regression import plots

STYLE = (report.TEMPLATES / "style.css").read_text()
PHONE, DESK = 322, 1086  # px between a chart's margins, on a screen of 420 px and of 1300
LETTER, LINE = 7.8, 11  # px of a letter of 13 px in a wide font, and from its baseline to its top
LONG = "a_model_with_a_name_that_is_much_longer_than_any_screen_of_a_phone_is_wide"
SHIFT = statistic.shift([1.0, 1.1, 1.2, 1.3, 1.4], [1.2, 1.3, 1.4, 1.5, 1.6])


def finding(unit="us", scale=1.0):
    before, now = ([scale * value for value in values] for values in ((3.38, 3.9, 4.25), (3.4, 3.5, 4.1)))
    return Finding("steady", "regressed", "slower", unit, tuple(before), tuple(now), SHIFT)


def marks(*values):
    return [charts.Mark(kind, kind, v) for kind, v in zip(("opencl", "gles", "opencl shipped", "gles shipped"), values)]


CHARTS = {
    "one time": charts.strip({"quadra": [1950, 1960, 9000], "xnnpack": [1330]}, {"quadra": "Quadra"}),
    "times of a name": charts.strip({LONG: [123456] * 3}, {}),
    "errors": charts.errors([("out", 3e-7, math.nan, 1e-4), (LONG, 0.0, 2.0, 1e-4), ("x", 1.0, 1e-9, 0.0)]),
    "ratios": charts.ratios([("m", marks(1.0, 1.01, 1.02, 1.03)), (LONG, marks(0.05, 130.0))], {"opencl": 0.01}),
    "ratios far apart": charts.ratios([(LONG, marks(0.001, 99999.0))], {}),
    "ratios of one": charts.ratios([("m", marks(1.0))], {"opencl": 1.5, "gles": 3.0}),
    "shifts": plots.shifts([("a", finding()), (LONG, finding())], 2.0, 5.0),
    "launches": plots.sides(finding()),
    "launches, all equal": plots.sides(Finding("memory", "pass", "", "bytes", (1e8,) * 3, (1e8,) * 3)),
    "launches of large numbers": plots.sides(finding("xnnpack", 17773.0)),
    **{
        f"history of {count}": plots.history(
            [(1.7e9 + i, 3.0 + i % 5, 2.0, 9.0, "past", "then") for i in range(count)], "us"
        )
        for count in (2, 3, 4, 9, 40)
    },
}


@pytest.fixture(params=CHARTS)
def chart(request):
    return ElementTree.fromstring(CHARTS[request.param])


def test_letters_keep_their_size_on_any_screen(chart):
    assert "viewBox" not in chart.attrib and "width" not in chart.attrib, "it would be scaled"
    assert float(chart.get("height")) > 40
    sizes = [float(size) for size in re.findall(r"\.chart [^}]*?font(?:-size)?: ([\d.]+)px", STYLE)]
    assert sizes and min(sizes) >= 12


def test_everything_is_inside_the_chart(chart):
    for element in chart.iter():
        places = [element.get(key) for key in ("x", "x1", "x2", "cx", "width") if element.get(key) not in (None, "0")]
        assert all(0 <= float(place.removesuffix("%")) <= 100 for place in places if place.endswith("%"))
        assert [place for place in places if not place.endswith("%")] == [], "a share of the width, on any screen"
        heights = [float(element.get(key)) for key in ("y", "y1", "y2", "cy") if element.get(key)]
        assert all(0 <= height <= float(chart.get("height")) for height in heights)


def boxes(chart, width):
    """(text, left, right, top, bottom) in px."""
    for text in chart.iter("text"):
        place = text.get("x").removesuffix("%")
        at = float(place) / 100 * width + float(text.get("dx", 0))
        long = len(text.text) * LETTER
        left = at - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor", "start")] * long
        yield text.text, left, left + long, float(text.get("y")) - LINE, float(text.get("y")) + 2


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_no_text_lies_on_another_or_outside(chart, width):
    found = list(boxes(chart, width))
    for (one, left, right, top, bottom), (other, start, end, above, below) in combinations(found, 2):
        assert not (left < end and start < right and top < below and above < bottom), f"{one!r} lies on {other!r}"
    room = charts.MARGIN + 14  # the section's own
    assert [text for text, left, right, *_ in found if left < -room or right > width + room] == []


def test_margins_are_those_of_the_style_sheet():
    assert f"calc(100% - {2 * charts.MARGIN}px); margin: 0 {charts.MARGIN}px" in STYLE


def test_ticks_are_round():
    assert charts.ticks(3.38, 4.25, 4) == pytest.approx([3.5, 4.0])
    assert charts.ticks(-7.0, 7.0, 5) == pytest.approx([-5.0, 0.0, 5.0])
    assert charts.ticks(0.0, 0.0021, 5) == pytest.approx([0.0, 0.0005, 0.001, 0.0015, 0.002])


def test_a_number_that_has_no_room_is_in_its_marks_title():
    svg = CHARTS["ratios"]
    assert "opencl: 1.00" in svg and "gles shipped: 1.03" in svg
    assert svg.count(">1.00</text>") == 1 and ">1.03</text>" not in svg
