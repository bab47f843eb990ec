"""Charts of a session as SVG: shifts with their intervals, launches of both sides, history. All text is escaped."""

import math
import statistics
import time
from collections.abc import Sequence
from html import escape
from itertools import pairwise

from host_tools.judge.regression.cell_verdicts import Finding
from host_tools.judge.regression.metrics import number as metric_number, per_unit, text as metric_text
from host_tools.show import charts


def shifts(rows: Sequence[tuple[str, Finding]], least: float, see: float) -> str:
    """A row per cell: by how much it shifted, and the interval; the band is what is not worth an alarm."""
    tested = [(name, finding, finding.shift) for name, finding in rows if finding.shift]
    if not tested:
        return ""
    ends = [abs(e) for _, _, s in tested for e in (s.low, s.high, s.effect) if math.isfinite(e)]
    high = 100 * math.expm1(min(max([*ends, math.log1p(see / 100)]), math.log(3.0))) * 1.1
    x = charts.Scale(-high, high)
    bottom = 46 * len(tested)

    def share(logarithm: float) -> float:
        return 100 * math.expm1(min(max(logarithm, -5.0), 5.0))

    parts = [charts.begin(bottom + 22, "shift against the baseline")]
    width = f"{100 * (x.share(least) - x.share(-least)):.2f}%"
    parts.append(f'<rect class="band" x="{x(-least)}" width="{width}" y="2" height="{bottom}"/>')
    ticks = [(value, f"{value:+g} %" if value else "0") for value in charts.ticks(-high, high, 5)]
    parts.append(charts.grid(x, ticks, bottom, one=0.0))
    for index, (name, finding, shift) in enumerate(tested):
        y = 46 * index + 31
        parts.append(charts.span(finding.verdict, x(share(shift.low)), x(share(shift.high)), y))
        parts.append(charts.dot(f"dot {finding.verdict}", x(shift.percent), y, 5, finding.text))
        parts.append(charts.heading(name, 46 * index, f"{shift.percent:+z.1f} %"))
    return "".join(parts) + "</svg>"


def sides(finding: Finding) -> str:
    """A dot per launch, in the order of launches: the baseline above, now below. Marked are the baseline's median and where
    the shift puts it, which is what the finding says: of a few launches, the median of now may lie on its other side."""
    rows = [("baseline", "before", finding.before), ("now", finding.verdict, finding.now)]
    rows = [row for row in rows if row[2]]
    values = [value for _, _, side in rows for value in side]
    if not values:
        return ""
    x = charts.Scale(*_with_room(min(values), max(values)))
    bottom = 54 * len(rows)
    parts = [charts.begin(bottom + 22, f"{finding.metric} of every launch")]
    parts.append(charts.grid(x, _labels(x.low, x.high, 4, finding.unit), bottom))
    for index, (name, kind, side) in enumerate(rows):
        y = 54 * index + 35
        for number, value in enumerate(side):
            step = (number / max(1, len(side) - 1) - 0.5) * 22
            words = f"launch {number + 1}: {metric_text(value, finding.unit)}"
            parts.append(charts.dot(f"dot {kind}", x(value), y + step, 3.6, words))
        moved = finding.shift if index and finding.before else None
        middle = statistics.median(finding.before if moved else side) * math.exp(moved.effect if moved else 0.0)
        parts.append(charts.vertical("median", x(middle), y - 15, y + 15))
        words = "about" if moved else "median"
        parts.append(charts.heading(name, 54 * index, f"{words} {metric_number(middle, finding.unit)}"))
    return "".join(parts) + "</svg>"


_EDGE = 30 / charts.NARROWEST  # nearer to it half a date has no room
Point = tuple[float, float, float, float, str, str]  # when, median, least, most, kind, words


def history(points: Sequence[Point], unit: str) -> str:
    """Medians of sessions over time, with the range of their launches. kind: past, before (the baseline) or now."""
    if len(points) < 2:
        return ""
    low, high = _with_room(min(p[2] for p in points), max(p[3] for p in points))
    low, bottom = max(0.0, low), 150
    x = charts.Scale(-0.5, len(points) - 0.5)

    def y(value: float) -> float:
        return 16 + (high - value) / (high - low) * (bottom - 20)

    parts = [charts.begin(bottom + 22, "history"), '<g class="grid">']
    for value, words in _labels(low, high, 4, unit):
        parts.append(f'<line x1="0" x2="100%" y1="{y(value):.1f}" y2="{y(value):.1f}"/>')
        parts.append(f'<text class="t dim" x="0" dx="-{charts.MARGIN}" y="{y(value) - 4:.1f}">{words}</text>')
    parts.append("</g>")
    for index, (before, after) in enumerate(pairwise(points)):
        ends = f'x1="{x(index)}" y1="{y(before[1]):.1f}" x2="{x(index + 1)}" y2="{y(after[1]):.1f}"'
        parts.append(f'<line class="history" {ends}/>')
    last = len(points) - 1
    dated = {0, last, last // 2} if last % 2 == 0 else {0, last}  # in the middle, or there is no room on a phone
    for index, (when, middle, least, most, kind, words) in enumerate(points):
        parts.append(charts.vertical("whisker", x(index), y(most), y(least)))
        parts.append(charts.dot(f"dot {escape(kind)}", x(index), y(middle), 5, words))
        if index in dated:
            day = time.strftime("%d %b %H:%M", time.gmtime(when))
            anchor = "start" if x.share(index) < _EDGE else "end" if x.share(index) > 1 - _EDGE else "middle"
            parts.append(charts.centred(day, x(index), bottom + 17, "dim", anchor))
    return "".join(parts) + "</svg>"


def _with_room(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis, so that nothing lies on them."""
    room = (high - low) * 0.08 or abs(high) * 0.02 or 1.0
    return low - room, high + room


def _labels(low: float, high: float, most: int, unit: str) -> list[tuple[float, str]]:
    """Round numbers of an axis in this unit, with their words."""
    one, name = per_unit(unit)
    return [(value, f"{value / one:g} {name}".strip()) for value in charts.ticks(low, high, most, one)]
