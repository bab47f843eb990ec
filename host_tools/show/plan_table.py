"""A plan as tables: its dispatches, the buffers, and the tensors with where they lie and when."""

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, identifier, number, text, word
from host_tools.base.units import counted, ranges_text, size_text
from host_tools.record.plan_view import bytes_of
from host_tools.record.verdicts import APIS


def show(
    plan: dict[str, Any],
    console: Console,
    top: int = 0,
    in_order: bool = False,
    times_us: Sequence[float] = (),
    hint: str = "--top 0 shows all",
) -> None:
    """The plan as tables. top: at most so many dispatches and tensors; 0 is all.

    The largest are first: dispatches by their times where these are known, else by bytes, tensors by bytes. in_order: as the
    plan has them. hint: what shows those that are left out.
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
    _dispatches(plan, top, in_order, times_us).show(console)
    _say_rest(console, len(plan["dispatches"]), top, "dispatch", hint)
    console.print()
    _buffers(plan).show(console)
    console.print()
    placed = [t for t in plan["tensors"] if t["buffer"] >= 0]
    _tensors(placed, top, in_order).show(console)
    _say_rest(console, len(placed), top, "tensor", hint)


def _say_rest(console: Console, count: int, top: int, what: str, hint: str) -> None:
    if top and count > top:
        rest = counted(count - top, what).replace(" ", " more ")
        console.print(f"[dim]… {rest}: {hint}[/]", soft_wrap=True)


def _dispatches(plan: dict[str, Any], top: int, in_order: bool, times_us: Sequence[float]) -> Table:
    table = Table([
        text("dispatch"), text("kernel"), number("time"), number("bytes"), number("global"), number("local", 1), text("nodes", least=8),
        text("arguments", 2, 40),  # narrow ones take ten lines a dispatch
    ])  # fmt: skip
    sizes = [bytes_of(plan, dispatch) for dispatch in plan["dispatches"]]
    timed = times_us if len(times_us) == len(sizes) else ()
    shares, everything, all_us = timed or sizes, max(sum(sizes), 1), sum(timed) or 1.0
    order = sorted(range(len(sizes)), key=lambda i: 0 if in_order else -shares[i])
    for i in order[: top or None]:
        size, dispatch = sizes[i], plan["dispatches"][i]
        table.add_row(
            escape(dispatch["name"]),
            escape(dispatch["entry"]),
            f"{timed[i] / all_us:.1%}" if timed else "",
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


def _tensors(placed: Sequence[dict[str, Any]], top: int, in_order: bool) -> Table:
    figures = [number("b×h×w×c"), number("size"), word("place"), number("alive in dispatches")]
    table = Table([*figures, identifier("tensor")])  # some names have hundreds of letters
    for tensor in sorted(placed, key=lambda one: 0 if in_order else -int(one["bytes"]))[: top or None]:
        table.add_row(
            "×".join(map(str, tensor["shape"])),
            size_text(tensor["bytes"]),
            f"b{tensor['buffer']}+{tensor['offset']}",
            "none" if tensor["first_use"] < 0 else f"{tensor['first_use']}..{tensor['last_use']}",
            escape(tensor["name"]),
        )
    return table
