"""Where sentences and tables are printed."""

import sys

from rich.console import Console, JustifyMethod
from rich.table import Table

_LEFT: JustifyMethod = "left"

ENDLESS = 1 << 20  # columns


def console(stderr: bool = False) -> Console:
    """On a terminal, as wide as it is; elsewhere a line is as long as its text."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else ENDLESS
    return Console(stderr=stderr, highlight=False, emoji=False, width=width)


def plain_table(*columns: str | tuple[str, JustifyMethod]) -> Table:
    """A table without lines. A column is its name, or that and the side that its cells stand on; long cells are folded."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        name, side = column if isinstance(column, tuple) else (column, _LEFT)
        table.add_column(name, justify=side, overflow="fold")
    return table
