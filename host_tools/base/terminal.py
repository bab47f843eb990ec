"""Where sentences and tables are printed."""

import sys

from rich.console import Console

ENDLESS = 1 << 20  # columns


def console(stderr: bool = False) -> Console:
    """On a terminal, as wide as it is; elsewhere a line is as long as its text."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else ENDLESS
    return Console(stderr=stderr, highlight=False, emoji=False, width=width)
