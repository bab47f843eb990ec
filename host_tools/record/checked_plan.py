"""A plan whose every index, size and offset was checked: what replays and draws plans believes it.

The same conditions as delegate_native/plan/check_plan.cc, and those that follow from a tensor's layout.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from host_tools.base.errors import Misuse

Count = Annotated[int, Meta(ge=0)]
Index = Annotated[int, Meta(ge=-1)]
Side = Annotated[int, Meta(ge=1)]
Sides = Annotated[list[Side], Meta(min_length=3, max_length=3)]
Cell = Literal["Float", "Half", "Int", "Int8", "UInt8"]
DTYPES: dict[str, np.dtype] = {
    "Float": np.dtype("<f4"), "Half": np.dtype("<f2"), "Int": np.dtype("<i4"),
    "Int8": np.dtype("i1"), "UInt8": np.dtype("u1"),  # of inputs
}  # fmt: skip
Place = tuple[int, int]  # buffer, offset
_LANES = 4


class Buffer(msgspec.Struct):
    kind: Literal["Arena", "Constant", "Io", "Image"]
    bytes: Count
    data: Any  # uint8 array
    width: int
    height: int
    cell: Cell
    # An image over a part of an arena: one more than that buffer's number, where there, from row to row. 0: in none.
    lies_in: Count = 0
    offset: Count = 0
    row_bytes: Count = 0


class Region(msgspec.Struct, frozen=True):
    buffer: Count
    offset: Count
    bytes: Count


class Tensor(msgspec.Struct):
    name: str
    shape: list[int]  # b, h, w, c
    buffer: Index
    offset: Count
    bytes: Count
    cell: Cell
    dense: bool
    first_use: int
    last_use: int
    copy_of: Count

    @property
    def place(self) -> Place:
        return self.buffer, self.offset

    @property
    def dtype(self) -> np.dtype:
        return DTYPES[self.cell]

    @property
    def slices(self) -> int:
        return -(-self.shape[3] // _LANES)

    @property
    def count(self) -> int:
        """Numbers that it has."""
        return math.prod(self.shape)

    def stored_count(self) -> int:
        """Numbers that lie in memory, idle lanes included."""
        b, h, w, _ = self.shape
        return self.count if self.dense else b * self.slices * h * w * _LANES

    def numbers(self, stored: np.ndarray) -> np.ndarray:
        """Its numbers, [b, h, w, c], of those that lie in memory, flat; halves become floats."""
        b, h, w, c = self.shape
        if self.dense:
            return stored.reshape(b, h, w, c)
        lanes = stored.reshape(b, self.slices, h, w, _LANES).transpose(0, 2, 3, 1, 4)
        found = lanes.reshape(b, h, w, self.slices * _LANES)[..., :c]
        return np.ascontiguousarray(found, np.float32 if self.cell == "Half" else found.dtype)


class Arg(msgspec.Struct):
    kind: Literal["Buffer", "Int", "Float"]
    written: bool
    view: Literal["Memory", "TexelsFloat4", "TexelsHalf4", "TexelsFloat", "TexelsInt4", "TexelsInt"]
    index: int
    int_value: int
    float_value: float


class Kernel(msgspec.Struct):
    entry: str
    name: str
    source: str
    parameters: list[str]


class Program(msgspec.Struct):
    prelude: str
    kernels: list[Kernel]
    options: str


class Dispatch(msgspec.Struct):
    name: str
    kernel: str
    program: Count
    entry: str
    args: list[Arg]
    global_: Sides = msgspec.field(name="global")
    local: Sides
    nodes: list[int]
    grid: list[Side] = []  # work-items that are needed; empty in plans of older libraries


class Io(msgspec.Struct):
    tensor: Count
    shape: list[Side]


class Plan(msgspec.Struct, dict=True):
    api: Literal["opencl", "gles"]
    target: str
    device: str
    precision: str
    buffers: list[Buffer]
    regions: list[Region]
    tensors: list[Tensor]
    programs: list[Program]
    dispatches: list[Dispatch]
    inputs: list[Io]
    outputs: list[Io]
    activation_bytes: Count
    activation_bytes_lower_bound: Count
    constant_bytes: Count

    def region(self, arg: Arg) -> Region:
        return self.regions[arg.index]

    def regions_of(self, dispatch: Dispatch, written: bool) -> list[Region]:
        """What a dispatch writes, or reads."""
        return [self.region(arg) for arg in dispatch.args if arg.kind == "Buffer" and arg.written == written]

    def kernel_of(self, dispatch: Dispatch) -> Kernel:
        return self.kernels[dispatch.program][dispatch.entry]

    @cached_property
    def kernels(self) -> list[dict[str, Kernel]]:
        """By program and entry point."""
        return [{kernel.entry: kernel for kernel in program.kernels} for program in self.programs]

    def _uses(self, written: bool) -> dict[Place, list[int]]:
        """The dispatches that write a place, or read it, in order."""
        found: dict[Place, list[int]] = {}
        for number, dispatch in enumerate(self.dispatches):
            for place in {(r.buffer, r.offset) for r in self.regions_of(dispatch, written)}:
                found.setdefault(place, []).append(number)
        return found

    @cached_property
    def _written(self) -> dict[Place, list[int]]:
        return self._uses(written=True)

    @cached_property
    def _read(self) -> dict[Place, list[int]]:
        return self._uses(written=False)

    @cached_property
    def _at(self) -> dict[Place, list[int]]:
        found: dict[Place, list[int]] = {}
        for index, tensor in enumerate(self.tensors):
            found.setdefault(tensor.place, []).append(index)
        return found

    def alive_bytes(self) -> list[int]:
        """By dispatch, the sum of the activations that must be kept then; inputs and outputs do not count."""
        change = [0] * (len(self.dispatches) + 1)
        for tensor in self.activations():
            change[tensor.first_use] += tensor.bytes
            change[tensor.last_use + 1] -= tensor.bytes
        alive, found = 0, []
        for step in change[:-1]:
            alive += step
            found.append(alive)
        return found

    def activations(self) -> list[Tensor]:
        """Tensors of the arena and of images."""
        return [t for t in self.tensors if t.buffer >= 0 and self.buffers[t.buffer].kind in ("Arena", "Image")]

    def makers(self) -> dict[int, int]:
        """By tensor, the dispatch after which it is whole: the last that writes it while it is kept."""
        found = {}
        for index, tensor in enumerate(self.tensors):
            writers = self._written.get(tensor.place, [])
            last = bisect_right(writers, tensor.last_use) - 1
            if last >= 0 and writers[last] >= tensor.first_use and tensor.buffer >= 0:
                found[index] = writers[last]
        return found

    def read_by(self, number: int) -> list[int]:
        """Indices of the tensors that a dispatch reads."""
        places = {(r.buffer, r.offset) for r in self.regions_of(self.dispatches[number], written=False)}
        found = [index for place in places for index in self._at.get(place, ())]
        return [i for i in found if self.tensors[i].first_use <= number <= self.tensors[i].last_use]

    def outside_names(self) -> tuple[list[str], list[str]]:
        """What the model calls the inputs and the outputs: the tensors that kernels bring them to and from. Where the same
        kernel makes floats of an input's bytes, these have its name."""
        names: tuple[list[str], list[str]] = ([], [])
        for found, ios, read in zip(names, (self.inputs, self.outputs), (True, False)):
            for dense in (self.tensors[io.tensor] for io in ios):
                partner = self.partner(dense, read)
                makes_floats = partner and dense.dtype.itemsize == 1 and partner.dtype.kind == "f"
                named = dense if makes_floats else partner
                found.append(named.name if named else "")
        return names

    def partner(self, dense: Tensor, read: bool) -> Tensor | None:
        """The tensor that the first kernel which reads (or writes) a dense one writes (or reads)."""
        users = (self._read if read else self._written).get(dense.place, [])
        first = bisect_left(users, dense.first_use)
        if first == len(users) or users[first] > dense.last_use:
            return None
        number = users[first]
        for region in self.regions_of(self.dispatches[number], written=read):
            for tensor in (self.tensors[index] for index in self._at.get((region.buffer, region.offset), ())):
                if tensor.first_use <= number <= tensor.last_use:
                    return tensor
        return None


def checked(value: dict[str, Any], where: str) -> Plan:
    """The Plan of what plan_view reads. Misuse names what is wrong with it; where: what it was read from."""
    try:
        plan = msgspec.convert(value, Plan)
    except (msgspec.ValidationError, ValueError) as error:
        raise _wrong(where, str(error)) from error
    _Checker(plan, where).run()
    return plan


class _Checker:
    def __init__(self, plan: Plan, where: str) -> None:
        self.plan, self.where = plan, where

    def run(self) -> None:
        plan = self.plan
        self._each("buffer", plan.buffers, _is_buffer)
        self._each("buffer", plan.buffers, self._lies_in_arena)
        self._each("region", plan.regions, lambda region: self._holds(region.buffer, region.offset, region.bytes))
        self._each("tensor", plan.tensors, self._is_tensor)
        self._each("dispatch", plan.dispatches, self._is_dispatch)
        self._each("input", plan.inputs, self._is_io)
        self._each("output", plan.outputs, self._is_io)

    def _each(self, what: str, items: Iterable[Any], is_right: Callable[[Any], bool]) -> None:
        for index, item in enumerate(items):
            if not is_right(item):
                raise _wrong(self.where, f"{what} {index} makes no sense")

    def _lies_in_arena(self, image: Buffer) -> bool:
        """Buffers with memory of their own do, too."""
        if not image.lies_in:
            return True
        arenas = self.plan.buffers[image.lies_in - 1 : image.lies_in]
        if image.kind != "Image" or not arenas or arenas[0].kind != "Arena":
            return False
        pixel = _LANES * DTYPES[image.cell].itemsize
        has_rows = image.row_bytes % pixel == 0 and image.row_bytes >= image.width * pixel
        return has_rows and image.offset + image.row_bytes * image.height <= arenas[0].bytes

    def _holds(self, index: int, offset: int, size: int) -> bool:
        if not 0 <= index < len(self.plan.buffers):
            return False
        buffer = self.plan.buffers[index]
        return buffer.kind == "Image" or offset + size <= buffer.bytes

    def _is_tensor(self, tensor: Tensor) -> bool:
        if tensor.buffer < 0:
            return True
        if not self._holds(tensor.buffer, tensor.offset, tensor.bytes):
            return False
        if len(tensor.shape) != 4 or min(tensor.shape) < 1:
            return False
        buffer, last = self.plan.buffers[tensor.buffer], len(self.plan.dispatches) - 1
        if buffer.kind == "Image":
            b, h, w, _ = tensor.shape
            size = (w, b * tensor.slices * h, tensor.cell, 0, False)
            if size != (buffer.width, buffer.height, buffer.cell, tensor.offset, tensor.dense):
                return False
        # No kernel reads a state where it came in: those that do, read it where it is updated.
        is_unread = buffer.kind == "Io" and tensor.first_use == tensor.last_use == -1
        is_kept = is_unread or 0 <= tensor.first_use <= tensor.last_use <= last
        itemsize = tensor.dtype.itemsize
        has_its_bytes = tensor.stored_count() * itemsize == tensor.bytes
        return is_kept and has_its_bytes and (tensor.dense or itemsize > 1)

    def _is_dispatch(self, dispatch: Dispatch) -> bool:
        if dispatch.program >= len(self.plan.programs):
            return False
        if dispatch.entry not in self.plan.kernels[dispatch.program]:
            return False
        if len(dispatch.grid) not in (0, 3):
            return False
        sides = zip(dispatch.global_, dispatch.local, dispatch.grid or dispatch.global_)
        if any(items % group or not 0 <= items - needed < group for items, group, needed in sides):
            return False
        buffers = [arg.index for arg in dispatch.args if arg.kind == "Buffer"]
        return all(0 <= index < len(self.plan.regions) for index in buffers)

    def _is_io(self, io: Io) -> bool:
        if io.tensor >= len(self.plan.tensors):
            return False
        tensor = self.plan.tensors[io.tensor]
        in_buffer = tensor.buffer >= 0 and self.plan.buffers[tensor.buffer].kind != "Image"
        return in_buffer and tensor.dense and math.prod(io.shape) == tensor.count and tensor.cell != "Half"


def _is_buffer(buffer: Buffer) -> bool:
    if buffer.kind == "Image":
        return buffer.width > 0 and buffer.height > 0 and DTYPES[buffer.cell].itemsize > 1
    if buffer.kind == "Constant":
        return isinstance(buffer.data, np.ndarray) and buffer.data.size == buffer.bytes
    return buffer.bytes > 0


def image_bytes(buffer: Buffer) -> int:
    """Of an image's pixels, four numbers each."""
    return buffer.width * buffer.height * _LANES * DTYPES[buffer.cell].itemsize


def buffer_bytes(buffers: Sequence[Buffer]) -> int:
    """Memory of their own that they need together."""
    own = [buffer for buffer in buffers if not buffer.lies_in]
    return sum(image_bytes(buffer) if buffer.kind == "Image" else buffer.bytes for buffer in own)


def _wrong(where: str, how: str) -> Misuse:
    return Misuse(f"read the plan {where}", f"it is damaged: {how}", "run the model again")
