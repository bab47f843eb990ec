"""The roofline for a person: the dispatches that are bounded most first, and what that says of the model."""

from rich.console import Console
from rich.markup import escape

from host_tools.analyse import gpu_rates, roofline
from host_tools.analyse.figures import Figures
from host_tools.analyse.roofline import ARITHMETIC, BOUNDS, BYTES, LAUNCHES, Roofline, Row
from host_tools.base.text_table import Table, number, text, word

_MILLION = 1e6
MEANING = (
    "Bounds by published numbers, as if each tensor came from memory or went to it once in each dispatch, and nobody else"
    " used the memory: shares of each other, no times. docs/analyse.md says more."
)


def summary(found: Roofline) -> str:
    """One line of the whole model."""
    parts = [
        f"{bound} {len(rows)} ({found.share_bounded_by(bound):.0%})"
        for bound in BOUNDS
        if (rows := found.bounded_by(bound))
    ]
    return f"Bounded, by published numbers of the {found.rates.chip}: dispatches by {', by '.join(parts)} of the sum of bounds"


def show(found: Figures, title: str, console: Console, top: int) -> None:
    """top: at most so many dispatches; 0 is all."""
    roof = roofline.of(found, gpu_rates.of(found.gpu))
    console.print(f"[bold]{escape(title)}[/]")
    if roof is None:
        console.print("no dispatch has machine code, or it is not known what they read and write")
        return
    _table(roof, top).show(console)
    rest = len(roof.rows) - top if top else 0
    if rest > 0:
        console.print(f"[dim]and {rest} more dispatches: --top 0[/]")
    for line in _account(roof):
        console.print(escape(line))
    console.print(f"[dim]{MEANING}[/]")


def _table(roof: Roofline, top: int) -> Table:
    table = Table([
        text("dispatch"), word("bound"), number("share"), number("arithmetic"), number("bytes"), number("launch"),
        number("uncached", 1), number("weights MB", 2), number("read MB", 2), number("written MB", 2),
    ])  # fmt: skip
    for row in roof.rows[: top or None]:
        table.add_row(*_cells(roof, row))
    return table


def _cells(roof: Roofline, row: Row) -> list[str]:
    once = row.dispatch.once
    assert once
    least = "" if row.dispatch.is_complete else "≥"
    return [
        escape(row.dispatch.name),
        f"{row.bound}{'' if row.is_sure else ' ~'}",
        f"{least}{roof.share(row):.1%}",
        f"{least}{row.part(ARITHMETIC):.0%}",
        f"{row.part(BYTES):.0%}",
        f"{row.part(LAUNCHES):.0%}" if roof.rates.launch_us else "",
        f"{row.uncached / row.least:.1f}×",
        *(f"{count / _MILLION:.2f}" for count in (once.weights, once.read, once.written)),
    ]


def _account(roof: Roofline) -> list[str]:
    lines = [f"{summary(roof)}."]
    alone = f"arithmetic alone is {roof.share_of_all(ARITHMETIC):.0%}, bytes {roof.share_of_all(BYTES):.0%}"
    if roof.rates.launch_us:
        alone += f", launches {roof.share_of_all(LAUNCHES):.0%} at most"
    least = f"weights, inputs and outputs once are {roof.own_bytes / roof.sum:.0%}"
    if roof.own_arithmetic:
        least = f"the model's own products at full rate are {roof.own_arithmetic / roof.sum:.0%}, its {least}"
    lines.append(f"Of that sum {alone}; {least}.")
    if not roof.rates.launch_us:
        lines.append("What a launch takes on this GPU is not published: small dispatches may be bounded by that.")
    if any(not row.is_sure for row in roof.rows):
        lines.append("~: other published numbers of this GPU give another bound.")
    if any(not row.dispatch.is_complete for row in roof.rows):
        lines.append("≥: a loop's trips are not known, and count as one.")
    if roof.without:
        lines.append(f"{roof.without} dispatches are in no figure: their kernels have no machine code.")
    return lines
