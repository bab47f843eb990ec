"""Opens plan.quadra: the dispatches in order, the programs, and the buffers with who lies where and when."""

from pathlib import Path
from typing import Any

from host_tools.base import installed
from host_tools.base.errors import Misuse
from host_tools.record import flatbuffer_reader, reading
from host_tools.record.run_folder import RunFolder

SCHEMA = installed.SOURCES / "delegate_native" / "plan" / "plan.bfbs"  # of plan.fbs beside it
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


def bytes_of(plan: dict[str, Any], dispatch: dict[str, Any]) -> int:
    """Of the tensors and constants that it reads and writes, each once."""
    used = {arg["index"] for arg in dispatch["args"] if arg["kind"] == "Buffer"}
    return sum(plan["regions"][index]["bytes"] for index in used if 0 <= index < len(plan["regions"]))
