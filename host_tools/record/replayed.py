"""What a replay is asked, and what it found: files between the process that replays and the one that started it."""

from pathlib import Path
from typing import TypeVar

import msgspec

from host_tools.base.errors import RunFailed
from host_tools.record import reading

T = TypeVar("T")
_MOST_BYTES = 1 << 28


class Reference(msgspec.Struct):
    """What a tensor should be: array NNN.npy of the references' folder, as the model has it, or as kernels have it."""

    name: str  # of the tensor
    array: int
    scale: float = 0.0  # 0: not quantised, or in the form of kernels
    zero_point: int = 0


class Job(msgspec.Struct):
    """job.msgpack, beside plan.quadra and inputs/ (in the plan's order and form)."""

    plan: str
    steps: bool = False
    reads_tensors: bool = False  # after each dispatch
    times: int = 0  # runs to be timed
    oclgrind_log: str = ""
    tolerance: float = 0.0  # of a tensor's range
    references: list[Reference] = []
    references_in: str = "references"  # where their arrays are


class TensorFacts(msgspec.Struct):
    """A tensor, right after the dispatch that made it whole."""

    index: int
    name: str
    shape: list[int]
    cell: str
    least: float = 0.0  # of the finite ones
    most: float = 0.0
    mean: float = 0.0
    nan: int = 0
    inf: int = 0
    compared: bool = False
    problem: str = ""  # empty: right, or not compared
    max_error: float = 0.0
    relative: float = 0.0  # of the reference's range
    read_relative: float = -1.0  # the largest of these among what the dispatch reads; -1: of that nothing was compared
    different: int = 0
    worst_at: list[int] = []
    worst_value: float = 0.0
    worst_expected: float = 0.0


class DispatchFacts(msgspec.Struct):
    number: int
    name: str
    kernel: str
    entry: str
    nodes: list[int]
    tensors: list[TensorFacts] = []
    us: list[float] = []  # one per timed run
    findings: str = ""  # Oclgrind's


class Replayed(msgspec.Struct):
    """result.msgpack, beside outputs/."""

    device: str
    notes: list[str] = []
    dispatches: list[DispatchFacts] = []

    def first_wrong(self) -> tuple[DispatchFacts, TensorFacts] | None:
        """The first dispatch with a tensor that differs, and that tensor."""
        return next(((d, t) for d in self.dispatches for t in d.tensors if t.problem), None)


class CpuNumbers(msgspec.Struct):
    """cpu.msgpack, beside model_inputs/ and references/."""

    inputs: list[str]  # names, in the model's order
    references: list[Reference] = []


JOB, RESULT, CPU = "job.msgpack", "result.msgpack", "cpu.msgpack"


def write(path: Path, value: Job | Replayed | CpuNumbers) -> None:
    """NaN and infinity are kept, which JSON has not."""
    path.write_bytes(msgspec.msgpack.encode(value))


def read(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.msgpack.decode(reading.content(path, _MOST_BYTES), type=kind)
    except msgspec.DecodeError as error:
        raise RunFailed(f"read {path}", str(error), "replay the plan again") from error
