"""A plan as tables: its dispatches in order, the buffers, and the tensors with where they lie and when."""

import math
from typing import Any

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, identifier, number, text, word
from host_tools.base.units import counted, ranges_text, size_text
from host_tools.record.plan_view import bytes_of
from host_tools.record.verdicts import APIS


def show(plan: dict[str, Any], console: Console, top: int = 0, by_bytes: bool = False) -> None:
    """The plan as tables. top: at most so many dispatches and tensors; 0 is all.

    by_bytes: the dispatches and tensors with most bytes first, else in the plan's order.
    """
    kernels, programs = sum(len(p["kernels"]) for p in plan["programs"]), len(plan["programs"])
    words = [
        counted(len(plan["dispatches"]), "dispatch"),
        f"{counted(kernels, 'kernel')} in {counted(programs, 'program')}",
        APIS.get(plan["api"] or "opencl", plan["api"]),
        plan["precision"],
        f"target {plan['target']}",
        plan["device"].strip("; "),  # a target's file need not name it
    ]
    console.print(escape(", ".join(filter(None, words))))
    console.print(
        f"activations {size_text(plan['activation_bytes'])} "
        f"(lower bound {size_text(plan['activation_bytes_lower_bound'])}), "
        f"constants {size_text(plan['constant_bytes'])}\n"
    )
    _dispatches(plan, top, by_bytes).show(console)
    console.print()
    _buffers(plan).show(console)
    console.print()
    _tensors(plan, top, by_bytes).show(console)


def _dispatches(plan: dict[str, Any], top: int, by_bytes: bool) -> Table:
    table = Table([
        text("dispatch"), text("kernel"), number("bytes"), number("global"), number("local", 1), text("nodes", least=8),
        text("arguments", 2, 40),  # narrow ones take ten lines a dispatch
    ])  # fmt: skip
    rows = [(bytes_of(plan, dispatch), dispatch) for dispatch in plan["dispatches"]]
    everything = max(sum(size for size, _ in rows), 1)
    for size, dispatch in (sorted(rows, key=lambda row: -row[0]) if by_bytes else rows)[: top or None]:
        table.add_row(
            escape(dispatch["name"]),
            escape(dispatch["entry"]),
            f"{size / everything:.1%}",
            "×".join(map(str, dispatch["global"])),
            "×".join(map(str, dispatch["local"])),
            ranges_text(dispatch["nodes"]),
            escape(" ".join(_argument(plan, arg) for arg in dispatch["args"])),
        )
    return table


def _argument(plan: dict[str, Any], arg: dict[str, Any]) -> str:
    if arg["kind"] == "Int":
        return str(arg["int_value"])
    if arg["kind"] == "Float":
        value = arg["float_value"]
        return f"{value:g}f" if math.isfinite(value) else f"{value:g}"
    regions = plan["regions"]
    if not 0 <= arg["index"] < len(regions):
        return f"region {arg['index']}?"
    region = regions[arg["index"]]
    return f"b{region['buffer']}+{region['offset']}" if region["offset"] else f"b{region['buffer']}"


def _buffers(plan: dict[str, Any]) -> Table:
    table = Table([word("buffer"), word("kind"), number("size"), number("tensors")])
    constants = [b for b in plan["buffers"] if b["kind"] == "Constant"]
    for index, buffer in enumerate(plan["buffers"]):
        if buffer["kind"] != "Constant":
            inside = sum(1 for t in plan["tensors"] if t["buffer"] == index)
            table.add_row(f"b{index}", buffer["kind"], _buffer_size(buffer), str(inside))
    if constants:
        table.add_row(f"{len(constants)} more", "Constant", size_text(sum(b["bytes"] for b in constants)), "")
    return table


def _buffer_size(buffer: dict[str, Any]) -> str:
    if buffer["kind"] != "Image":
        return size_text(buffer["bytes"])
    pixels = f"{buffer['width']} × {buffer['height']} px"
    if not buffer.get("lies_in"):
        return pixels
    return f"{pixels} in b{buffer['lies_in'] - 1}+{buffer['offset']}, rows of {buffer['row_bytes']} bytes"


def _tensors(plan: dict[str, Any], top: int, by_bytes: bool) -> Table:
    figures = [number("b×h×w×c"), number("size"), word("place"), number("alive in dispatches")]
    table = Table([*figures, identifier("tensor")])  # some names have hundreds of letters
    placed = [t for t in plan["tensors"] if t["buffer"] >= 0]
    if by_bytes:
        placed.sort(key=lambda tensor: -int(tensor["bytes"]))
    for tensor in placed[: top or None]:
        table.add_row(
            "×".join(map(str, tensor["shape"])),
            size_text(tensor["bytes"]),
            f"b{tensor['buffer']}+{tensor['offset']}",
            "none" if tensor["first_use"] < 0 else f"{tensor['first_use']}..{tensor['last_use']}",
            escape(tensor["name"]),
        )
    return table
