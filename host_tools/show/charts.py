"""Small charts as SVG text. All text that comes from outside is escaped here.

A chart is as wide as the page and as high as it says: horizontal places are shares of the width, everything else is in
pixels. So letters keep their size on any screen. A row's name stands over the row, at the left edge.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from host_tools.base.units import ratio_text

MARGIN = 22  # px on both sides, for what is centred on the first and the last place; `.chart` in style.css has it, too
NARROWEST = 300  # px between the margins on a phone
NAME = 14  # px from a row's top to the baseline of its name
_LABEL = 30 / NARROWEST  # room for a number, as a share
_LETTER = 8 / NARROWEST
_MOST_DOTS = 500  # of a row: the largest errors
_NAME_LETTERS = 42  # with the figure of the row


@dataclass(frozen=True)
class Scale:
    """Places on an axis from `low` to `high`."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """0 to 1; what lies outside is at the edge."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def __call__(self, value: float) -> str:
        """The attribute of an SVG element."""
        return f"{100 * self.share(value):.2f}%"


def strip(samples_us: Mapping[str, Sequence[int]], names: Mapping[str, str]) -> str:
    """A row of dots per runner, one per inference, with the median marked: the spread is there to see."""
    rows = [(who, values) for who, values in samples_us.items() if values]
    if not rows:
        return ""
    x = Scale(0.0, max(_high(values) for _, values in rows))
    bottom = 62 * len(rows)
    parts = [begin(bottom + 22, "steady inference times")]
    parts.append(grid(x, [(value, f"{value / 1000:g}") for value in ticks(0.0, x.high, 5, 1000.0)], bottom, "ms"))
    for index, (who, values) in enumerate(rows):
        top = 62 * index
        y = top + 38
        for number, value in enumerate(values):
            wobble = ((number * 7) % 11 - 5) * 1.7
            kind = f"dot {escape(who)}" + ("" if value <= x.high else " out")
            parts.append(
                f'<circle class="{kind}" cx="{x(value)}" cy="{y + wobble:.1f}" r="3.4">'
                f"<title>run {number + 1}: {value / 1000:.3f} ms</title></circle>"
            )
        middle = statistics.median(values)
        parts.append(vertical("median", x(middle), y - 15, y + 15))
        parts.append(heading(names.get(who, who), top, f"{middle / 1000:.2f} ms"))
    return "".join(parts) + "</svg>"


def _error_axis(bottom: int, title: str) -> tuple[Callable[[float], str], list[str]]:
    """Where an error lies on a logarithmic scale, and the beginning of the chart."""
    exponents = Scale(-9.0, 0.0)

    def x(value: float) -> str:
        return exponents(math.log10(value) if value > 0 else exponents.low)

    words = {-9: "0", -6: "1e-6", -3: "1e-3", 0: "1"}
    return x, [
        begin(bottom + 22, title),
        grid(exponents, [(float(e), words.get(e, "")) for e in range(-9, 1)], bottom),
    ]


def errors(rows: Sequence[tuple[str, float, float, float]]) -> str:
    """Errors on a logarithmic scale. rows: (name, relative error, XNNPACK's or NaN, allowed)."""
    if not rows:
        return ""
    x, parts = _error_axis(46 * len(rows), "error of each output")
    for index, (name, ours, peer, allowed) in enumerate(rows):
        top = 46 * index
        y = top + 31
        parts.append(span("", x(0), x(ours), y))
        if allowed > 0:
            parts.append(vertical("limit", x(allowed), y - 11, y + 11))
        if not math.isnan(peer):
            parts.append(dot("dot xnnpack", x(peer), y + 4, 5, f"XNNPACK: {peer:.2e}"))  # equal ones are both seen
        parts.append(dot(f"dot {'quadra' if ours <= allowed else 'bad'}", x(ours), y - 4, 5, f"Quadra: {ours:.2e}"))
        parts.append(heading(name, top))
    return "".join(parts) + "</svg>"


def errors_of_inputs(rows: Sequence[tuple[str, Sequence[float], Sequence[int], float]], names: Sequence[str]) -> str:
    """Errors on a logarithmic scale, a dot per input. rows: (output, relative errors, the wrong ones, the least allowed)."""
    if not rows:
        return ""
    x, parts = _error_axis(62 * len(rows), "error of each output with each input")
    for index, (name, errors_, wrong, allowed) in enumerate(rows):
        top = 62 * index
        y = top + 38
        if allowed > 0:
            parts.append(vertical("limit", x(allowed), y - 15, y + 15))
        shown = sorted(range(len(errors_)), key=lambda one: errors_[one])[-_MOST_DOTS:]
        for number in shown:
            wobble = ((number * 7) % 11 - 5) * 1.7
            kind = "dot bad" if number in wrong else "dot quadra"
            title = f"{names[number]}: {errors_[number]:.2e}"
            parts.append(dot(kind, x(errors_[number]), y + wobble, 3.4, title))
        parts.append(heading(name, top, f"{max(errors_):.1e}"))
    return "".join(parts) + "</svg>"


def over_time(rows: Sequence[tuple[str, str, Sequence[tuple[float, float]], float]]) -> str:
    """Values over seconds, a row of dots each. rows: (name, figure, (seconds, value), where its axis begins)."""
    if not rows:
        return ""
    x = Scale(0.0, max([1.0, *(at for _, _, values, _ in rows for at, _ in values)]))
    bottom = 84 * len(rows)
    minutes = x.high >= 180
    unit, name = (60.0, "min") if minutes else (1.0, "s")
    parts = [begin(bottom + 22, "over time")]
    parts.append(grid(x, [(value, f"{value / unit:g}") for value in ticks(0.0, x.high, 6, unit)], bottom, name))
    for index, (label, figure, values, low) in enumerate(rows):
        top = 84 * index
        y = Scale(low, max([value for _, value in values if value > low], default=low + 1.0))
        kind = "dot now" if index == 0 else "dot past"
        for at, value in values:
            title = f"{at:.0f} s: {value:.4g}"
            parts.append(dot(kind, x(at), top + 76 - 50 * y.share(value), 2.6, title))
        parts.append(heading(label, top, figure))
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
    limits = {kind: limit for kind, limit in limits.items() if limit}
    shown = [*values, *limits.values()]
    exponents = Scale(math.log10(min([0.8, *shown])) - 0.06, math.log10(max([2.0, *shown])) + 0.06)
    row_height = 66
    bottom = row_height * len(rows)

    def x(value: float) -> float:
        return exponents.share(math.log10(value) if value > 0 else exponents.low)

    parts = [begin(bottom + 22, "time, × XNNPACK (below 1: faster)")]
    parts.append(grid(exponents, _powers(exponents), bottom, one=0.0))
    for kind, limit in limits.items():
        parts.append(vertical(f"wanted {escape(kind)}", f"{100 * x(limit):.2f}%", 0, bottom, f"limit: {limit:g}"))
    for index, (name, marks) in enumerate(rows):
        parts += _marks(marks, x, row_height * index + 43)
        parts.append(heading(name, row_height * index))
    return "".join(parts) + "</svg>"


def _powers(exponents: Scale) -> list[tuple[float, str]]:
    """(exponent, label) of 1, 2, 5, 10 …, those without a label where there is no room for it on a phone; 1 has one."""
    steps = [step * 10.0**power for power in range(-4, 7) for step in (1, 2, 5)]
    inside = [step for step in steps if exponents.low <= math.log10(step) <= exponents.high]
    labelled: dict[float, str] = {}

    def has_room(step: float, other: float, label: str) -> bool:
        apart = abs(exponents.share(math.log10(step)) - exponents.share(math.log10(other)))
        return apart > ((len(label) + len(f"{step:g}")) / 2 + 1) * _LETTER

    for step in sorted(inside, key=lambda s: (s != 1, not math.log10(s).is_integer())):
        if all(has_room(step, other, label) for other, label in labelled.items()):
            labelled[step] = f"{step:g}"
    return [(math.log10(step), labelled.get(step, "")) for step in inside]


def _marks(marks: Sequence[Mark], x: Callable[[float], float], y: float) -> list[str]:
    """One row: each API's marks joined by a line; the number above Quadra's, below the stock delegate's and where there
    is no room above, none where there is no room below, too: it is in the mark's title."""
    parts: list[str] = []
    taken: dict[int, list[float]] = {-10: [], 19: []}  # where numbers are, by their distance from the mark
    for api in dict.fromkeys(mark.kind.split()[0] for mark in marks):
        places = [100 * x(mark.value) for mark in marks if mark.kind.split()[0] == api]
        parts.append(span("", f"{min(places):.2f}%", f"{max(places):.2f}%", y))
    main_last = sorted(marks, key=lambda mark: " " not in mark.kind)  # on top
    for mark in main_last:
        radius = 3.2 if mark.kind.endswith("more") else 5
        title = f"{mark.label}: {mark.value:.2f}{', not reliable' if mark.doubtful else ''}"
        kind = f"mark {escape(mark.kind)}{' doubtful' if mark.doubtful else ''}"
        parts.append(dot(kind, f"{100 * x(mark.value):.2f}%", y, radius, title))
    for mark in reversed(main_last):
        at = x(mark.value)
        order = () if mark.kind.endswith("more") else (19, -10) if mark.kind.endswith("shipped") else (-10, 19)
        room = next((side for side in order if all(abs(at - other) >= _LABEL for other in taken[side])), None)
        if room is not None:
            taken[room].append(at)
            number = f"{ratio_text(mark.value)}{'?' if mark.doubtful else ''}"
            parts.append(centred(number, f"{100 * at:.2f}%", y + room, "small"))
    return parts


def _high(values: Sequence[int]) -> float:
    """The end of the axis: a few interrupted runs must not squeeze the rest together."""
    ordered = sorted(values)
    typical = ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]
    return max(1.0, min(float(ordered[-1]), 1.6 * typical) * 1.05)


def begin(height: float, title: str) -> str:
    """The tag that a chart of this height starts with."""
    return f'<svg class="chart" height="{height:.0f}" role="img" aria-label="{escape(title)}">'


def grid(x: Scale, ticks: Sequence[tuple[float, str]], bottom: float, unit: str = "", one: float | None = None) -> str:
    """A line per tick, with its label below, the last one with the unit; one: the tick that is drawn strong."""
    parts: list[str] = ['<g class="grid">']
    last = max((value for value, label in ticks if label), default=math.nan)
    for value, label in ticks:
        parts.append(vertical("one" if value == one else "", x(value), 4, bottom))
        if label:
            parts.append(centred(f"{label} {unit}" if unit and value == last else label, x(value), bottom + 17, "dim"))
    return "".join(parts) + "</g>"


def heading(name: str, top: float, value: str = "") -> str:
    """A row's name at the left edge, over the row, and its figure at the right one."""
    shown = escape(shorten(name, _NAME_LETTERS - len(value)))
    title = f"<title>{escape(name)}</title>" if len(name) > _NAME_LETTERS - len(value) else ""
    text = f'<text class="t name" x="0" dx="-{MARGIN}" y="{top + NAME}">{shown}{title}</text>'
    if value:
        text += (
            f'<text class="t strong" x="100%" dx="{MARGIN}" y="{top + NAME}" text-anchor="end">{escape(value)}</text>'
        )
    return text


def centred(text: str, x: str, y: float, kind: str, anchor: str = "middle") -> str:
    return f'<text class="t {kind}" x="{x}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def vertical(kind: str, x: str, top: float, bottom: float, title: str = "") -> str:
    words = f"<title>{escape(title)}</title>" if title else ""
    return f'<line class="{kind}" x1="{x}" x2="{x}" y1="{top:.0f}" y2="{bottom:.0f}">{words}</line>'


def span(kind: str, low: str, high: str, y: float) -> str:
    return f'<line class="span {kind}" x1="{low}" x2="{high}" y1="{y:.1f}" y2="{y:.1f}"/>'


def dot(kind: str, x: str, y: float, radius: float, title: str) -> str:
    return f'<circle class="{kind}" cx="{x}" cy="{y:.1f}" r="{radius}"><title>{escape(title)}</title></circle>'


def ticks(low: float, high: float, most: int, one: float = 1.0) -> list[float]:
    """Round numbers of a linear axis from `low` to `high`, about `most` of them at most. one: how much of the axis' unit is
    one of the unit that the labels have: they are round in that."""
    rough = max((high - low) / one / most, 1e-9)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.ceil(low / one / step - 1e-9), math.floor(high / one / step + 1e-9)
    return [float(f"{step * number:.12g}") * one for number in range(first, last + 1)]


def shorten(text: str, length: int) -> str:
    """`text`, with its middle left out where it is longer than `length`."""
    return text if len(text) <= length else text[: length // 2 - 1] + "…" + text[-(length // 2) :]
