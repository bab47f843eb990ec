"""Small charts as SVG text. All text that comes from outside is escaped here."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from host_tools.base.units import ratio_text

WIDTH, _ROW, _LEFT, _RIGHT = 860, 54, 110, 96
_LABEL = 28  # room for a number


def strip(samples_us: Mapping[str, Sequence[int]], names: Mapping[str, str]) -> str:
    """A row of dots per runner, one per inference, with the median marked: the spread is there to see."""
    rows = [(who, values) for who, values in samples_us.items() if values]
    if not rows:
        return ""
    highest = max(_high(values) for _, values in rows)
    height = _ROW * len(rows) + 30
    parts = [begin(height, "steady inference times"), _axis(highest, height - 24)]
    for index, (who, values) in enumerate(rows):
        y = _ROW * index + _ROW / 2 + 4
        parts.append(
            f'<text class="t" x="{_LEFT - 12}" y="{y + 4:.0f}" text-anchor="end">{escape(names.get(who, who))}</text>'
        )
        for number, value in enumerate(values):
            wobble = ((number * 7) % 11 - 5) * 1.7
            inside = value <= highest
            kind = f"dot {escape(who)}" + ("" if inside else " out")
            parts.append(
                f'<circle class="{kind}" cx="{_x(min(value, highest), highest):.1f}" cy="{y + wobble:.1f}" r="3.4">'
                f"<title>run {number + 1}: {value / 1000:.3f} ms</title></circle>"
            )
        middle = statistics.median(values)
        x = _x(middle, highest)
        parts.append(f'<line class="median" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 19:.0f}" y2="{y + 19:.0f}"/>')
        label = f"{middle / 1000:.2f} ms"
        parts.append(f'<text class="t strong" x="{WIDTH - _RIGHT + 16}" y="{y + 4:.0f}">{label}</text>')
    return "".join(parts) + "</svg>"


def errors(rows: Sequence[tuple[str, float, float, float]]) -> str:
    """Errors on a logarithmic scale. rows: (name, relative error, XNNPACK's or NaN, allowed)."""
    if not rows:
        return ""
    low, high = -9.0, 0.0
    height = 34 * len(rows) + 34

    def x(value: float) -> float:
        exponent = math.log10(value) if value > 0 else low
        return _LEFT + 70 + (min(max(exponent, low), high) - low) / (high - low) * (WIDTH - _LEFT - 80)

    parts = [begin(height, "error of each output"), '<g class="grid">']
    for exponent in range(int(low), int(high) + 1):
        at = x(10.0**exponent)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="4" y2="{height - 26}"/>')
        text = "0" if exponent == int(low) else f"1e{exponent}" if exponent else "1"
        parts.append(f'<text class="t dim" x="{at:.1f}" y="{height - 8}" text-anchor="middle">{text}</text>')
    parts.append("</g>")
    for index, (name, ours, peer, allowed) in enumerate(rows):
        y = 34 * index + 20
        good = ours <= allowed
        parts.append(
            f'<text class="t" x="{_LEFT + 56}" y="{y + 4}" text-anchor="end">{escape(shorten(name, 24))}</text>'
        )
        parts.append(f'<line class="span" x1="{x(0):.1f}" x2="{x(ours):.1f}" y1="{y}" y2="{y}"/>')
        if allowed > 0:
            parts.append(
                f'<line class="limit" x1="{x(allowed):.1f}" x2="{x(allowed):.1f}" y1="{y - 12}" y2="{y + 12}"/>'
            )
        if not math.isnan(peer):
            parts.append(
                f'<circle class="dot xnnpack" cx="{x(peer):.1f}" cy="{y}" r="5">'
                f"<title>XNNPACK: {peer:.2e}</title></circle>"
            )
        kind = "quadra" if good else "bad"
        parts.append(
            f'<circle class="dot {kind}" cx="{x(ours):.1f}" cy="{y}" r="5.5"><title>Quadra: {ours:.2e}</title></circle>'
        )
    return "".join(parts) + "</svg>"


@dataclass(frozen=True)
class Mark:
    """A ratio on the axis. kind: its classes in style.css: a backend, and `more` or `shipped` if it is not the main one.
    doubtful: it is not reliable."""

    label: str
    kind: str
    value: float
    doubtful: bool = False


RatioRow = tuple[str, Sequence[Mark]]


def ratios(rows: Sequence[RatioRow], limits: Mapping[str, float]) -> str:
    """Time over XNNPACK's on a logarithmic axis, a row per model; limits: dashed lines, by the kind they are for; 0: none."""
    values = [mark.value for _, marks in rows for mark in marks if mark.value > 0]
    if not values:
        return ""
    low, high = math.log10(min([0.8, *values])) - 0.06, math.log10(max([2.0, *values])) + 0.1
    row_height, left = 38, 236
    bottom = row_height * len(rows) + 6

    def x(value: float) -> float:
        return left + (math.log10(max(value, 10**low)) - low) / (high - low) * (WIDTH - left - 14)

    parts = [begin(bottom + 24, "time, × XNNPACK (below 1: faster)"), '<g class="grid">']
    steps = [step * 10.0**power for power in range(-3, 6) for step in (1, 2, 5)]
    for value in (step for step in steps if low <= math.log10(step) <= high):
        kind = ' class="one"' if value == 1 else ""
        parts.append(f'<line{kind} x1="{x(value):.1f}" x2="{x(value):.1f}" y1="0" y2="{bottom}"/>')
        parts.append(f'<text class="t dim" x="{x(value):.1f}" y="{bottom + 18}" text-anchor="middle">{value:g}</text>')
    parts.append("</g>")
    for kind, limit in limits.items():
        line = f'x1="{x(limit):.1f}" x2="{x(limit):.1f}" y1="0" y2="{bottom}"'
        title = f"<title>limit: {limit:g}</title>"
        parts += [f'<line class="wanted {escape(kind)}" {line}>{title}</line>'] if limit else []
    for index, (name, marks) in enumerate(rows):
        y = row_height * index + row_height / 2 + 3
        shown = escape(shorten(name, 30))
        parts.append(f'<text class="t" x="{left - 14}" y="{y + 4:.1f}" text-anchor="end">{shown}</text>')
        parts += _marks(marks, x, y)
    return "".join(parts) + "</svg>"


def _marks(marks: Sequence[Mark], x: Callable[[float], float], y: float) -> list[str]:
    """One row: each API's marks joined by a line; the number above Quadra's, below the stock delegate's and where there
    is no room above."""
    parts: list[str] = []
    above: list[float] = []  # where numbers are
    for api in dict.fromkeys(mark.kind.split()[0] for mark in marks):
        places = [x(mark.value) for mark in marks if mark.kind.split()[0] == api]
        parts.append(f'<line class="span" x1="{min(places):.1f}" x2="{max(places):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
    for mark in sorted(marks, key=lambda m: " " not in m.kind):  # those with a number on top
        at = x(mark.value)
        words = f"<title>{escape(mark.label)}: {mark.value:.2f}{', not reliable' if mark.doubtful else ''}</title>"
        kind = f"{escape(mark.kind)}{' doubtful' if mark.doubtful else ''}"
        radius = 3.2 if mark.kind.endswith("more") else 5
        place = f'cx="{at:.1f}" cy="{y:.1f}" r="{radius}"'
        parts.append(f'<circle class="mark {kind}" {place}>{words}</circle>')
        if not mark.kind.endswith("more"):
            crowded = any(abs(at - other) < _LABEL for other in above)
            below = mark.kind.endswith("shipped") or crowded
            text_y = y + 16 if below else y - 8
            above += [] if below else [at]
            number = (
                f'<text class="t small" x="{at:.1f}" y="{text_y:.1f}" text-anchor="middle">{ratio_text(mark.value)}'
            )
            parts.append(f"{number}{'?' if mark.doubtful else ''}</text>")
    return parts


def _high(values: Sequence[int]) -> float:
    """The end of the axis: a few interrupted runs must not squeeze the rest together."""
    ordered = sorted(values)
    typical = ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]
    return max(1.0, min(float(ordered[-1]), 1.6 * typical) * 1.05)


def _axis(highest: float, y: float) -> str:
    parts: list[str] = ['<g class="grid">']
    for value in ticks(0.0, highest, 6, 1000.0):
        x = _x(value, highest)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{y:.0f}"/>')
        parts.append(f'<text class="t dim" x="{x:.1f}" y="{y + 17:.0f}" text-anchor="middle">{value / 1000:g}</text>')
    return "".join(parts) + f'<text class="t dim" x="{WIDTH - _RIGHT + 16}" y="{y + 17:.0f}">ms</text></g>'


def ticks(low: float, high: float, most: int, one: float = 1.0) -> list[float]:
    """Round numbers of a linear axis from `low` to `high`, about `most` of them at most. one: how much of the axis' unit is
    one of the unit that the labels have: they are round in that."""
    rough = max((high - low) / one / most, 1e-9)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.ceil(low / one / step - 1e-9), math.floor(high / one / step + 1e-9)
    return [float(f"{step * number:.12g}") * one for number in range(first, last + 1)]


def _x(value: float, highest: float) -> float:
    return _LEFT + value / highest * (WIDTH - _LEFT - _RIGHT)


def begin(height: float, title: str) -> str:
    """The tag that a chart of this height starts with."""
    return f'<svg class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'


def shorten(text: str, length: int) -> str:
    """`text`, with its middle left out where it is longer than `length`."""
    return text if len(text) <= length else text[: length // 2 - 1] + "…" + text[-(length // 2) :]
