"""Where tables go: the console of this process."""

from rich.console import Console


def console(stderr: bool = False, width: int | None = None) -> Console:
    """Where tables go. Off a terminal lines are not cut at 80 columns."""
    found = Console(stderr=stderr, highlight=False)
    if width or not found.is_terminal:
        return Console(stderr=stderr, highlight=False, width=width or 160)
    return found
