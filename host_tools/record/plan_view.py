"""Opens plan.quadra: the dispatches in order, the programs, and the buffers with who lies where and when."""

import math
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from host_tools.base import installed
from host_tools.base.errors import Misuse
from host_tools.base.text_table import Table, identifier, number, text, word
from host_tools.base.units import counted, size_text
from host_tools.record import flatbuffer_reader, reading
from host_tools.record.run_folder import RunFolder
from host_tools.record.verdicts import APIS

SCHEMA = installed.SOURCES / "delegate_native" / "plan" / "plan.fbs"
FILE = "plan.quadra"
MOST_BYTES = 1 << 31
# Kernels of several nodes, which compute the results of all but the last one in floats.
_INSIDE_FLOATS = ("norm", "norm_group")


def read(path: Path) -> dict[str, Any]:
    """The Plan in the file as nested dicts, fields as in plan.fbs."""
    return decode(reading.content(path, MOST_BYTES), str(path))


def decode(data: bytes, where: str) -> dict[str, Any]:
    """The same of its bytes. where: what they are of, for the sentence."""
    try:
        return flatbuffer_reader.decode(data, flatbuffer_reader.read_schema(SCHEMA))
    except ValueError as error:
        raise Misuse(
            f"read the plan {where}",
            f"it is damaged or no plan: {error}",
            "give a run, a plan.quadra or a file of a cache; `./inv plan make` makes a plan",
        ) from error


def of_run(folder: RunFolder) -> list[Path]:
    """The plan files of a run, one per partition."""
    found = [p / FILE for p in folder.partitions() if (p / FILE).exists()]
    if not found:
        raise Misuse(
            f"find the plans of {folder.path.name}",
            "the run left none: every node stayed on the CPU, or the run failed early",
            "`./inv report` shows why",
        )
    return found


def storage(plan: dict[str, Any]) -> dict[int, bool]:
    """For each node of the model that has a kernel, whether the plan stores its results in half precision, wholly or in part."""
    found: dict[int, bool] = {}
    for index, dispatch in enumerate(plan["dispatches"]):
        written = [
            plan["regions"][arg["index"]] for arg in dispatch["args"] if arg["kind"] == "Buffer" and arg["written"]
        ]
        alive = [t for t in plan["tensors"] if t["cell"] == "Half" and t["first_use"] <= index <= t["last_use"]]
        half = any(_holds(tensor, region) for region in written for tensor in alive)
        nodes = dispatch["nodes"]
        if dispatch["name"].partition("_")[2] in _INSIDE_FLOATS:
            found.update({node: found.get(node, False) for node in nodes})
            nodes = nodes and [max(nodes)]
        found.update({node: half or found.get(node, False) for node in nodes})
    return found


def _holds(tensor: dict[str, Any], region: dict[str, Any]) -> bool:
    beyond = region["offset"] - tensor["offset"]
    return bool(tensor["buffer"] == region["buffer"] and 0 <= beyond < tensor["bytes"])


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


def bytes_of(plan: dict[str, Any], dispatch: dict[str, Any]) -> int:
    """Of the tensors and constants that it reads and writes, each once."""
    used = {arg["index"] for arg in dispatch["args"] if arg["kind"] == "Buffer"}
    return sum(plan["regions"][index]["bytes"] for index in used if 0 <= index < len(plan["regions"]))


def _dispatches(plan: dict[str, Any], top: int, by_bytes: bool) -> Table:
    table = Table([
        text("dispatch"), text("kernel"), number("bytes"), number("global"), number("local", 1), text("nodes", least=8),
        text("arguments"),
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
            ",".join(map(str, dispatch["nodes"])),
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
            size = (
                f"{buffer['width']} × {buffer['height']} px"
                if buffer["kind"] == "Image"
                else size_text(buffer["bytes"])
            )
            table.add_row(f"b{index}", buffer["kind"], size, str(inside))
    table.add_row(f"{len(constants)} more", "Constant", size_text(sum(b["bytes"] for b in constants)), "")
    return table


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
            f"{tensor['first_use']}..{tensor['last_use']}",
            escape(tensor["name"]),
        )
    return table
