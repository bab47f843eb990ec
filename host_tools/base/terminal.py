"""Where sentences and tables are printed."""

import re
import shutil
import sys
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console

ENDLESS = 1 << 20  # columns
_WORDS = re.compile(r"(?:`[^`\n]*`|\S)+")  # a command is one: a line that it breaks in cannot be copied
_LEAD = re.compile(r"\s*(?:\| |[a-z]+: )?")  # what a sentence's further lines are indented by


def console(stderr: bool = False) -> Console:
    """On a terminal, as wide as it is; elsewhere a line is as long as its text."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else ENDLESS
    return Console(stderr=stderr, highlight=False, emoji=False, width=width)


def say(text: str, stream: TextIO) -> None:
    """Prints sentences. On a terminal, lines end between words and outside of commands in `…`."""
    print(folded(text, shutil.get_terminal_size().columns) if stream.isatty() else text, file=stream, flush=True)


def folded(text: str, columns: int) -> str:
    """Sentences in lines that end between words and outside of commands in `…`; a longer word stays whole."""
    return "\n".join(_folded(line, columns) for line in text.splitlines())


def _folded(line: str, columns: int) -> str:
    if cell_len(line) <= columns:
        return line
    lead = _LEAD.match(line)
    indent = lead.end() if lead else 0
    lines = [line[:indent]]
    for word in _WORDS.findall(line[indent:]):
        if len(lines[-1]) > indent and cell_len(lines[-1]) + 1 + cell_len(word) > columns:
            lines.append(" " * indent)
        lines[-1] += word if len(lines[-1]) == indent else f" {word}"
    return "\n".join(lines)
