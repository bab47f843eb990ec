"""Numbers as people read them: bytes, milliseconds, ratios."""

import math
from collections.abc import Iterable


def counted(count: int, what: str) -> str:
    """1 node, 2 nodes. what: one of them, whose plural has an s, or an es behind one."""
    return f"{count} {what}{'' if count == 1 else 'es' if what.endswith(('s', 'ch')) else 's'}"


def size_text(count: float | None) -> str:
    """1.5 MiB"""
    value = float(count or 0)
    if value == 1:
        return "1 byte"
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def number_text(value: float) -> str:
    """Short and never empty: 0, 3.2e-07, 12.5"""
    if value == 0:
        return "0"
    return f"{value:.1e}" if abs(value) < 1e-3 or abs(value) >= 1e6 else f"{value:.4g}"


def ratio_text(value: float | None) -> str:
    """Three digits that count, two below a tenth; a dash for what is not known."""
    if value is None or math.isnan(value):
        return "–"
    if 0 < value < 0.095:
        return f"{value:.2g}"
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def ms(us: float) -> str:
    """12.3 for 12300: three digits that count."""
    value = us / 1000
    if value < 0.1:
        return f"{value:.3f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def ranges_text(numbers: Iterable[int]) -> str:
    """3-5,9"""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in runs)
