"""Charts of a session as SVG: shifts with their intervals, launches of both sides, history. All text is escaped."""

import math
import statistics
import time
from collections.abc import Sequence
from html import escape

from host_tools.judge.regression.cell_verdicts import Finding
from host_tools.judge.regression.metrics import number as metric_number, per_unit, text as metric_text
from host_tools.show.charts import WIDTH, begin, shorten, ticks

_LEFT = 420


def shifts(rows: Sequence[tuple[str, Finding]], least: float, see: float) -> str:
    """A row per cell: by how much it shifted, and the interval; the band is what is not worth an alarm."""
    tested = [(name, finding, finding.shift) for name, finding in rows if finding.shift]
    if not tested:
        return ""
    ends = [abs(e) for _, _, s in tested for e in (s.low, s.high, s.effect) if math.isfinite(e)]
    high = 100 * math.expm1(min(max([*ends, math.log1p(see / 100)]), math.log(3.0))) * 1.1
    height = 26 * len(tested) + 34
    bottom = height - 26

    def x(percent: float) -> float:
        return _LEFT + (min(max(percent, -high), high) + high) / (2 * high) * (WIDTH - _LEFT - 84)

    def share(logarithm: float) -> float:
        return 100 * math.expm1(min(max(logarithm, -5.0), 5.0))

    parts = [begin(height, "shift against the baseline"), '<g class="grid">']
    parts.append(f'<rect class="band" x="{x(-least):.1f}" width="{x(least) - x(-least):.1f}" y="2" height="{bottom}"/>')
    for value in ticks(-high, high, 6):
        kind = ' class="one"' if value == 0 else ""
        parts.append(f'<line{kind} x1="{x(value):.1f}" x2="{x(value):.1f}" y1="2" y2="{bottom + 2}"/>')
        label = f'<text class="t dim" x="{x(value):.1f}" y="{height - 6}" text-anchor="middle">{f"{value:+g} %" if value else "0"}</text>'
        parts.append(label)
    parts.append("</g>")
    for index, (name, finding, shift) in enumerate(tested):
        y = 26 * index + 17
        words = f"<title>{escape(finding.text)}</title>"
        shown = escape(shorten(name, 60))
        parts.append(f'<text class="t" x="{_LEFT - 14}" y="{y + 4}" text-anchor="end">{shown}</text>')
        low, up = x(share(shift.low)), x(share(shift.high))
        parts.append(f'<line class="span {finding.verdict}" x1="{low:.1f}" x2="{up:.1f}" y1="{y}" y2="{y}"/>')
        place = f'cx="{x(shift.percent):.1f}" cy="{y}" r="5"'
        parts.append(f'<circle class="dot {finding.verdict}" {place}>{words}</circle>')
        number = f"{shift.percent:+.1f} %"
        parts.append(f'<text class="t strong" x="{WIDTH - 76}" y="{y + 4}">{number}</text>')
    return "".join(parts) + "</svg>"


def sides(finding: Finding) -> str:
    """A dot per launch, in the order of launches: the baseline above, now below; medians marked."""
    rows = [("baseline", "before", finding.before), ("now", finding.verdict, finding.now)]
    rows = [row for row in rows if row[2]]
    values = [value for _, _, side in rows for value in side]
    if not values:
        return ""
    low, high = min(values), max(values)
    room = (high - low) * 0.08 or high * 0.02
    low, high = low - room, high + room
    left, right = 76, 158

    def x(value: float) -> float:
        return left + (value - low) / (high - low) * (WIDTH - left - right)

    height = 40 * len(rows) + 22
    parts = [begin(height, f"{finding.metric} of every launch"), '<g class="grid">']
    for value, words in _labels(low, high, 5, finding.unit):
        parts.append(f'<line x1="{x(value):.1f}" x2="{x(value):.1f}" y1="2" y2="{height - 20}"/>')
        parts.append(f'<text class="t dim" x="{x(value):.1f}" y="{height - 4}" text-anchor="middle">{words}</text>')
    parts.append("</g>")
    for index, (name, kind, side) in enumerate(rows):
        y = 40 * index + 21
        parts.append(f'<text class="t" x="{left - 12}" y="{y + 4}" text-anchor="end">{name}</text>')
        for number, value in enumerate(side):
            step = (number / max(1, len(side) - 1) - 0.5) * 22
            words = f"<title>launch {number + 1}: {escape(metric_text(value, finding.unit))}</title>"
            parts.append(f'<circle class="dot {kind}" cx="{x(value):.1f}" cy="{y + step:.1f}" r="3.6">{words}</circle>')
        middle = statistics.median(side)
        parts.append(f'<line class="median" x1="{x(middle):.1f}" x2="{x(middle):.1f}" y1="{y - 15}" y2="{y + 15}"/>')
        words = f"median {metric_number(middle, finding.unit)}"
        parts.append(f'<text class="t strong" x="{WIDTH - right + 14}" y="{y + 4}">{words}</text>')
    return "".join(parts) + "</svg>"


Point = tuple[float, float, float, float, str, str]  # when, median, least, most, kind, words


def history(points: Sequence[Point], unit: str) -> str:
    """Medians of sessions over time, with the range of their launches. kind: past, before (the baseline) or now."""
    if len(points) < 2:
        return ""
    low, high = min(p[2] for p in points), max(p[3] for p in points)
    room = (high - low) * 0.08 or high * 0.02
    low, high = max(0.0, low - room), high + room
    left, right, height = 110, 20, 170
    bottom = height - 26

    def x(index: int) -> float:
        return left + (index + 0.5) / len(points) * (WIDTH - left - right)

    def y(value: float) -> float:
        return 6 + (high - value) / (high - low) * (bottom - 12)

    parts = [begin(height, "history"), '<g class="grid">']
    for value, words in _labels(low, high, 4, unit):
        parts.append(f'<line x1="{left}" x2="{WIDTH - right}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>')
        parts.append(f'<text class="t dim" x="{left - 10}" y="{y(value) + 4:.1f}" text-anchor="end">{words}</text>')
    parts.append("</g>")
    line = " ".join(f"{x(i):.1f},{y(p[1]):.1f}" for i, p in enumerate(points))
    parts.append(f'<polyline class="history" points="{line}"/>')
    step = max(1, len(points) // 6)
    for index, (when, middle, least, most, kind, words) in enumerate(points):
        at = x(index)
        parts.append(f'<line class="whisker" x1="{at:.1f}" x2="{at:.1f}" y1="{y(least):.1f}" y2="{y(most):.1f}"/>')
        title = f"<title>{escape(words)}</title>"
        parts.append(f'<circle class="dot {escape(kind)}" cx="{at:.1f}" cy="{y(middle):.1f}" r="5">{title}</circle>')
        if index % step == 0 or index == len(points) - 1:
            day = time.strftime("%d %b %H:%M", time.gmtime(when))
            parts.append(f'<text class="t dim" x="{at:.1f}" y="{height - 6}" text-anchor="middle">{day}</text>')
    return "".join(parts) + "</svg>"


def _labels(low: float, high: float, most: int, unit: str) -> list[tuple[float, str]]:
    """Round numbers of an axis in this unit, with their words."""
    one, name = per_unit(unit)
    return [(value, f"{value / one:g} {name}".strip()) for value in ticks(low, high, most, one)]
