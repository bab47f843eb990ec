"""Prints what `inv parity` found."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from host_tools.base import progress, terminal
from host_tools.base.text_table import Table, number, text
from host_tools.parity import device_parity
from host_tools.parity.vector_parity import Cell, Column, Parity
from host_tools.record.verdicts import APIS
from host_tools.show import device_parity_page, device_parity_table

_SHOWN_FAILURES = 40


def show(found: Parity, console: Console) -> None:
    where = f" on the driver {escape(found.driver)}" if found.driver else ""
    console.print(f"[bold]Ops{where}: right vectors of all, by backend, precision and storage[/]")
    for backend in dict.fromkeys(
        backend for backend, _, _ in found.columns
    ):  # side by side they are wider than a terminal
        columns = [column for column in found.columns if column[0] == backend]
        head = text(f"\n{APIS.get(backend, backend)}")
        table = Table([head, *(number("\n".join(column[1:])) for column in columns)])
        for op in found.ops:
            table.add_row(escape(op), *(found.cells[op, column].shown() for column in columns))
        table.show(console)
        console.print()
    console.print(
        "37/37  vectors that ran wholly on the GPU and are right, of those that fit in the precision\n"
        "hole   no vector runs there: the op or the storage is missing\n"
        "f32    floats · f32_f16  kept as halves, computed in floats\n"
        "f16    computed in halves, too, where the language has them: in OpenGL ES; OpenCL computes in floats\n"
        "buffer, image  where tensors are kept: kernels of the targets mali-g76-buffers and adreno-640",
        highlight=False,
    )
    failures = list(found.failures())
    for line in failures[:_SHOWN_FAILURES]:
        console.print(f"[red]✗[/] {escape(line)}", highlight=False)
    if len(failures) > _SHOWN_FAILURES:
        console.print(f"… and {len(failures) - _SHOWN_FAILURES} more (--json has all)")
    if not failures:
        console.print(
            f"[green]✓[/] {len(found.ops)} op{'s' * (len(found.ops) != 1)}, right in all {len(found.columns)} columns"
        )


def to_json(found: Parity) -> dict[str, Any]:
    def one(column: Column, cell: Cell) -> dict[str, Any]:
        wrong = [{"vector": vector, "reason": reason} for vector, reason in cell.failures]
        named = dict(zip(("backend", "precision", "storage"), column))
        return {**named, "passed": cell.passed, "total": cell.total, "failures": wrong}

    rows = [{"op": op, "cells": [one(c, found.cells[op, c]) for c in found.columns]} for op in found.ops]
    return {"schema_version": 1, "driver": found.driver, "rows": rows}


def on_device(on: str, library: Path | None, ops: Sequence[str], quick: bool, fresh: bool, as_json: bool) -> None:
    """Runs the cases, writes page and JSON, prints the table and where they are."""
    device = device_parity.device_of(on)
    with progress.progress(f"parity on {on}") as show:
        found, folder = device_parity.measure(device, library, ops, quick, fresh, show)
    document = device_parity.cleaned(found, [device.serial])
    if as_json:
        print(json.dumps(document, indent=1))
    else:
        console = terminal.console()
        device_parity_table.show(document, console)
        page = folder / device_parity_page.FILE
        console.print(f"page: {escape(str(page))}", soft_wrap=True, highlight=False)
    device_parity.fail_if_bad(found, folder)
