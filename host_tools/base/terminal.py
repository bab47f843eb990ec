"""Where tables go, and what they look like."""

from rich.console import Console, JustifyMethod
from rich.table import Table

_LEFT: JustifyMethod = "left"


def console(stderr: bool = False, width: int | None = None) -> Console:
    """Where tables go. Off a terminal lines are not cut at 80 columns."""
    found = Console(stderr=stderr, highlight=False)
    if width or not found.is_terminal:
        return Console(stderr=stderr, highlight=False, width=width or 160)
    return found


def plain_table(*columns: str | tuple[str, JustifyMethod]) -> Table:
    """A table without lines. A column is its name, or that and the side that its cells stand on; long cells are folded."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        name, side = column if isinstance(column, tuple) else (column, _LEFT)
        table.add_column(name, justify=side, overflow="fold")
    return table
