"""`inv drivers`: the drivers and compilers that this machine can run, which of them are here, and fetching the others."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape

from host_tools.base import terminal
from host_tools.base.errors import QuadraError, ToolMissing, worst
from host_tools.base.progress import progress
from host_tools.base.text_table import Table, text, word
from host_tools.drivers import compiler_table, driver_table, rows as row_table
from host_tools.drivers.compiler import Compiler
from host_tools.drivers.driver import Driver
from host_tools.record.verdicts import APIS

FETCH = "./inv drivers --fetch"
AnyRow = Driver | Compiler
HERE, TO_FETCH, MISSING = "here", "to fetch", "missing"


@dataclass(frozen=True)
class State:
    """Of a row on this machine. reason: why it is not here, and what to do."""

    row: AnyRow
    word: str
    reason: str = ""
    do_next: str = ""


def rows() -> list[AnyRow]:
    """Drivers, then compilers."""
    return [*driver_table.DRIVERS, *compiler_table.COMPILERS]


def named(names: Sequence[str]) -> list[AnyRow]:
    """The rows of these names, all without one. Misuse: there is none of a name."""
    return [row_table.find("driver", rows(), name) for name in names] or rows()


def fetch(chosen: Sequence[AnyRow]) -> None:
    """Fetches what is fetched of these rows; each is tried. Raises the worst of what went wrong."""
    errors: list[QuadraError] = []
    for row in chosen:
        if row.fetch is None:
            continue
        with progress(f"fetch {row.name} ({row.megabytes} MB)") as show:
            try:
                row.fetch(show)
            except QuadraError as error:
                errors.append(error)
    if found := worst(errors):
        raise found


def states(chosen: Sequence[AnyRow]) -> list[State]:
    """Drivers of GPUs are asked for their devices: several at once."""
    with progress("look for drivers and compilers"), ThreadPoolExecutor() as pool:
        return list(pool.map(_state, chosen))


def _state(row: AnyRow) -> State:
    try:
        row.check()
    except ToolMissing as error:
        is_to_fetch = error.do_next.startswith(FETCH)
        return State(row, TO_FETCH if is_to_fetch else MISSING, error.came_back, error.do_next)
    return State(row, HERE)


def show(found: Sequence[State], console: Console) -> None:
    table = Table([word("name"), word("API"), word("state"), text("stands for"), text("limits", 1)])
    for one in found:
        more = f", {one.row.megabytes} MB" if one.word == TO_FETCH else ""
        color = {HERE: "green", TO_FETCH: "yellow", MISSING: "dim"}[one.word]
        state = f"[{color}]{one.word}[/]{more}"
        table.add_row(escape(one.row.name), _api(one.row), state, escape(one.row.stands_for), escape(_limits(one.row)))
    table.show(console)
    for one in found:
        if one.word == MISSING:
            said = f"{one.row.name}: {one.reason}; next: {one.do_next}"
            console.print(terminal.folded(said, console.width), markup=False, soft_wrap=True)
    if any(one.word == TO_FETCH for one in found):
        console.print(f"`{FETCH} NAME` fetches one, `{FETCH}` all of them.")


def to_json(found: Sequence[State]) -> dict[str, Any]:
    """For --json: stable fields only."""
    return {"schema_version": 1, "rows": [_row_to_json(one) for one in found]}


def _row_to_json(state: State) -> dict[str, Any]:
    row = state.row
    return {
        "name": row.name,
        "kind": "driver" if isinstance(row, Driver) else "compiler",
        "api": _language(row),
        "stands_for": row.stands_for,
        "source": row.source,
        "state": state.word,
        "reason": state.reason,
        "do_next": state.do_next,
        "megabytes": row.megabytes,
        "lacks": row.lacks,
        "too_slow_for": _slow(row),
    }


def _language(row: AnyRow) -> str:
    """opencl or gles."""
    return row.backend if isinstance(row, Driver) else row.language


def _api(row: AnyRow) -> str:
    name = APIS.get(_language(row), "")
    return name if isinstance(row, Driver) else f"{name} compiler"


def _limits(row: AnyRow) -> str:
    slow = _slow(row)
    parts = [f"lacks {row.lacks}" if row.lacks else "", f"too slow for {slow}" if slow else ""]
    return "; ".join(filter(None, parts))


def _slow(row: AnyRow) -> str:
    return row.too_slow_for if isinstance(row, Driver) else ""
