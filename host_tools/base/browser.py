"""Pages in the user's browser."""

import sys
import webbrowser
from pathlib import Path

from host_tools.base import settings


def show(page: Path) -> None:
    """Opens it where there is a display; else says on stderr what to do."""
    if not settings.read().display:
        print("no display here: open that file in a browser elsewhere", file=sys.stderr)
    elif not webbrowser.open(page.as_uri()):
        print("no browser was found: set BROWSER to one, or open that file by hand", file=sys.stderr)
