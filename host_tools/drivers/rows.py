"""Rows of a table, found by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import Misuse


class Named(Protocol):
    """A row."""

    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=Named)


def find(kind: str, rows: Sequence[Row], name: str) -> Row:
    """The row of this name. kind: of the rows, for the error. Misuse: there is none."""
    for row in rows:
        if row.name == name:
            return row
    names = [row.name for row in rows]
    do_next = did_you_mean(name, names, f"there are {', '.join(names)}")
    raise Misuse(f"find the {kind} {name}", "no row has this name", do_next)
