"""The tensors that a run kept (the delegate's option `dump_tensors`): which of the model's each is, who made it, its numbers.

The plan in the same folder says all but the numbers, which lie in `tensor_NNNN.bin`: floats or int32 of four bytes,
dense, as the model has them. A tensor between two nodes that run as one kernel is never stored, and so never kept.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from host_tools.base.errors import Misuse
from host_tools.record import plan_view, reading, schema
from host_tools.record.run_folder import RunFolder

_COPY = "from_slices"
_DTYPES = {"Float": np.dtype("<f4"), "Int": np.dtype("<i4")}


@dataclass(frozen=True)
class Kept:
    """One tensor of the graph that ran, as a partition had it."""

    partition: int
    dispatch: str  # that made it: "003_conv2d"
    nodes: tuple[int, ...]  # that this dispatch stands for; none: it brings an input of the partition to the GPU
    tensor: int  # index in that graph
    shape: tuple[int, ...]  # b, h, w, c
    dtype: np.dtype
    path: Path

    @property
    def is_input(self) -> bool:
        return not self.nodes

    def numbers(self) -> np.ndarray:
        """All of them, flat; Misuse where the file is not as long as the plan says."""
        wanted = math.prod(self.shape) * self.dtype.itemsize
        data = reading.content(self.path, wanted)
        if len(data) != wanted:
            found = f"it has {len(data)} bytes, its plan says {wanted}"
            raise Misuse(f"read {self.path}", found, "run the model again")
        return np.frombuffer(data, self.dtype)


def read(folder: RunFolder) -> list[Kept]:
    """In the order of execution, partition after partition. Misuse: the run kept none, or its plan makes no sense."""
    main = {p.id for p in folder.read(schema.Verdicts).partitions if p.subgraph == folder.subgraph()}
    found = []
    for path in plan_view.of_run(folder):
        number = path.parent.name.removeprefix("partition_")
        if number.isdigit() and int(number) in main:
            found += _of_partition(path, int(number))
    if not found:
        raise Misuse(
            f"read the tensors of {folder.path.name}",
            "the run kept none: it was not asked to, or its delegate knows no dump_tensors",
            "make another one: `./inv bisect MODEL`",
        )
    return found


def _of_partition(path: Path, partition: int) -> list[Kept]:
    plan = plan_view.read(path)
    copies = [(index, tensor) for index, tensor in enumerate(plan["tensors"]) if tensor["copy_of"]]
    try:
        return [_kept(plan, tensor, path.parent / f"tensor_{index:04d}.bin", partition) for index, tensor in copies]
    except (LookupError, ValueError) as error:
        raise Misuse(f"read the plan {path}", f"a copy in it is damaged ({error})", "run the model again") from error


def _kept(plan: dict[str, Any], copy: dict[str, Any], path: Path, partition: int) -> Kept:
    dispatch, dispatches = copy["last_use"], plan["dispatches"]
    if not 0 <= dispatch < len(dispatches) or copy["copy_of"] < 0:
        raise ValueError(f"{path.name} is of no dispatch, or of no tensor")
    maker = dispatch
    while maker > 0 and dispatches[maker]["kernel"] == _COPY:
        maker -= 1
    shape = tuple(copy["shape"])
    if len(shape) != 4 or not all(side > 0 for side in shape) or math.prod(shape) * 4 > reading.ARRAY_BYTES:
        raise ValueError(f"{path.name} has the shape {shape!s:.100}")
    nodes = tuple(dispatches[dispatch]["nodes"])
    return Kept(partition, dispatches[maker]["name"], nodes, copy["copy_of"] - 1, shape, _DTYPES[copy["cell"]], path)
