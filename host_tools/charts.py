"""Small charts as SVG text. All text that comes from outside is escaped here."""

import math
import statistics
from html import escape
from typing import Dict, List, Sequence, Tuple

_WIDTH, _ROW, _LEFT, _RIGHT = 860, 54, 110, 96


def strip(samples_us: Dict[str, Sequence[int]], names: Dict[str, str]) -> str:
    """A row of dots per runner, one per inference, with the median marked: the spread is there to see."""
    rows = [(who, values) for who, values in samples_us.items() if values]
    if not rows:
        return ""
    highest = max(_high(values) for _, values in rows)
    height = _ROW * len(rows) + 30
    parts = [_open(height, "steady inference times"), _axis(highest, height - 24)]
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
        parts.append(f'<text class="t strong" x="{_WIDTH - _RIGHT + 16}" y="{y + 4:.0f}">{label}</text>')
    return "".join(parts) + "</svg>"


def errors(rows: Sequence[Tuple[str, float, float, float]]) -> str:
    """Errors on a logarithmic scale. rows: (name, relative error, XNNPACK's or NaN, allowed)."""
    if not rows:
        return ""
    low, high = -9.0, 0.0
    height = 34 * len(rows) + 34

    def x(value: float) -> float:
        exponent = math.log10(value) if value > 0 else low
        return _LEFT + 70 + (min(max(exponent, low), high) - low) / (high - low) * (_WIDTH - _LEFT - 80)

    parts = [_open(height, "error of each output"), '<g class="grid">']
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
            f'<text class="t" x="{_LEFT + 56}" y="{y + 4}" text-anchor="end">{escape(_short(name, 24))}</text>'
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


def ratios(rows: Sequence[Tuple[str, Sequence[Tuple[str, float]]]], limit: float) -> str:
    """Bars of time over XNNPACK's, a group per model. rows: (model, ((series, ratio), …)); limit: a dashed line."""
    if not rows:
        return ""
    bar, gap = 11, 10
    highest = max([limit * 1.1] + [min(value, 4.0) for _, series in rows for _, value in series])
    heights = [bar * len(series) + gap for _, series in rows]
    height = sum(heights) + 30
    left = 230

    def x(value: float) -> float:
        return left + min(value, highest) / highest * (_WIDTH - left - 60)

    parts = [_open(height, "time over XNNPACK")]
    for at, kind in ((1.0, "grid"), (limit, "limit")):
        parts.append(f'<line class="{kind}" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="0" y2="{height - 26}"/>')
        parts.append(f'<text class="t dim" x="{x(at):.1f}" y="{height - 8}" text-anchor="middle">{at:g}</text>')
    y = 2.0
    for (name, series), extent in zip(rows, heights):
        parts.append(
            f'<text class="t" x="{left - 12}" y="{y + (extent - gap) / 2 + 4:.1f}" text-anchor="end">'
            f"{escape(_short(name, 32))}</text>"
        )
        for number, (label, value) in enumerate(series):
            top = y + bar * number
            width = max(1.0, x(value) - left)
            parts.append(
                f'<rect class="bar s{number}" x="{left}" y="{top:.1f}" width="{width:.1f}" height="{bar - 2}" rx="2">'
                f"<title>{escape(label)}: {value:.2f}</title></rect>"
            )
            parts.append(f'<text class="t small" x="{x(value) + 6:.1f}" y="{top + bar - 3:.1f}">{value:.2f}</text>')
        y += extent
    return "".join(parts) + "</svg>"


def _high(values: Sequence[int]) -> float:
    """The end of the axis: a few interrupted runs must not squeeze the rest together."""
    ordered = sorted(values)
    typical = ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]
    return max(1.0, min(float(ordered[-1]), 1.6 * typical) * 1.05)


def _axis(highest: float, y: float) -> str:
    step = _round_step(highest / 6)
    parts: List[str] = ['<g class="grid">']
    value = 0.0
    while value <= highest:
        x = _x(value, highest)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{y:.0f}"/>')
        parts.append(f'<text class="t dim" x="{x:.1f}" y="{y + 17:.0f}" text-anchor="middle">{value / 1000:g}</text>')
        value += step
    return "".join(parts) + f'<text class="t dim" x="{_WIDTH - _RIGHT + 16}" y="{y + 17:.0f}">ms</text></g>'


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(max(rough, 1e-9)))
    return next(power * m for m in (1, 2, 5, 10) if power * m >= rough)


def _x(value: float, highest: float) -> float:
    return _LEFT + value / highest * (_WIDTH - _LEFT - _RIGHT)


def _open(height: float, title: str) -> str:
    return f'<svg class="chart" viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length // 2 - 1] + "…" + text[-(length // 2) :]
