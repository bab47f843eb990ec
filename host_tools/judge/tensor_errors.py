"""Which op is wrong first: the tensors that a run kept against a reference's, one after the other.

An op is wrong if its result is off although its inputs were not; where the inputs were off, too, the CPU makes the op's
result once more, of the GPU's own inputs (alone.json): that tells an op's own error from one that came with its inputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from host_tools.base.errors import Misuse
from host_tools.judge import compare
from host_tools.record import kept_tensors, schema
from host_tools.record.kept_tensors import Kept
from host_tools.record.run_folder import RunFolder

HALF_MAX = 65504.0
HALF_MIN = 2.0**-14  # below, half has fewer digits; below 2**-25 it has 0
_CONSTANTS = ("DEQUANTIZE", "DENSIFY")  # of constants: no kernel of their own
Arrays = Mapping[int, np.ndarray]  # by tensor, as the model has them


@dataclass(frozen=True)
class Tensors:
    """What one run kept, with the facts of the model's tensors."""

    folder: RunFolder
    kept: list[Kept]
    facts: dict[int, schema.CpuTensor]

    def values(self, one: Kept) -> np.ndarray:
        """Flat, as kernels have them: of a quantised tensor the floats that its integers stand for."""
        return one.numbers()

    def reference(self) -> Arrays:
        """The CPU's, flat, in the same form; empty where the CPU could not run the model."""
        found = self.folder.read(schema.CpuTensors)
        arrays = self.folder.arrays("cpu_tensors") if found.complete else []
        if arrays and len(arrays) != len(found.tensors):
            told = f"it has {len(arrays)} arrays of the CPU, cpu_tensors.json tells {len(found.tensors)}"
            raise Misuse(f"read {self.folder.path}", told, "make it again: `./inv bisect MODEL`")
        return {fact.tensor: array.ravel() for fact, array in zip(found.tensors, arrays)}


def read(folder: RunFolder) -> Tensors:
    facts = {fact.tensor: fact for fact in folder.read(schema.CpuTensors).tensors}
    kept = kept_tensors.read(folder)
    unknown = sorted({one.tensor for one in kept} - set(facts))
    if unknown:
        told = f"cpu_tensors.json does not tell of the tensors {unknown[:5]}"
        raise Misuse(f"read {folder.path}", told, "make it again: `./inv bisect MODEL`")
    return Tensors(folder, kept, facts)


def numbers(array: np.ndarray, fact: schema.CpuTensor, like: np.ndarray) -> np.ndarray:
    """The model's numbers in the form of a kernel's, flat."""
    if fact.scale and like.dtype.kind == "f":
        return ((array.astype(np.float64) - fact.zero_point) * fact.scale).astype(np.float32).ravel()
    return array.astype(like.dtype).ravel()


def rows(run: Tensors, reference: Arrays, tolerance: float) -> list[schema.BisectRow]:
    """A row per kept tensor. reference: in the form of kernels or of the model; tensors without one are not compared."""
    model = run.folder.optional(schema.Model) or schema.Model()
    ops = {node.index: node.op for node in model.nodes}
    return [_row(run, one, ops, reference.get(one.tensor), tolerance) for one in run.kept]


def _row(
    run: Tensors, one: Kept, ops: Mapping[int, str], expected: np.ndarray | None, tolerance: float
) -> schema.BisectRow:
    fact, ours = run.facts[one.tensor], run.values(one)
    finite = np.abs(ours[np.isfinite(ours)]) if ours.dtype.kind == "f" else np.abs(ours.astype(np.int64))
    row = schema.BisectRow(
        partition=one.partition,
        dispatch=one.dispatch,
        nodes=list(one.nodes),
        ops=" + ".join(ops[n] for n in one.nodes if n in ops and ops[n] not in _CONSTANTS),
        tensor=one.tensor,
        name=fact.name,
        largest=schema.number(float(finite.max(initial=0.0)) if finite.size == ours.size else float("inf")),
        compared=False,
    )
    if expected is None or expected.size != ours.size:
        return row
    theirs = numbers(expected, fact, ours)
    found = error(ours, theirs, fact, tolerance)
    row.compared, row.problem = True, found.problem
    row.max_error, row.mean_error = schema.number(found.max_error), schema.number(found.mean_error)
    row.relative, row.cosine = schema.number(found.relative), schema.number(cosine(ours, theirs))
    return row


def error(ours: np.ndarray, theirs: np.ndarray, fact: schema.CpuTensor, tolerance: float) -> compare.OutputError:
    """Of two tensors in the form of kernels. A quantised one may be off by a step, as outputs may."""
    span = float(np.ptp(theirs)) if theirs.size and theirs.dtype.kind == "f" and fact.scale else 0.0
    allowed = max(tolerance, 1.001 * fact.scale / span) if span else tolerance
    named = schema.Tensor(name=fact.name, dtype=theirs.dtype.name, shape=list(theirs.shape))
    return compare.measure(0, named, ours, theirs, allowed)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Similarity, -1 to 1. NaN where it is not defined: a side is zero, or not finite."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        return float(np.dot(x, y) / (np.linalg.norm(x) * np.linalg.norm(y)))


def suspects(found: Sequence[schema.BisectRow]) -> list[int]:
    """Tensors that are off or could not be compared, in the order of execution, each once."""
    return list(dict.fromkeys(row.tensor for row in found if row.problem or not row.compared))


def judge_alone(run: Tensors, found: list[schema.BisectRow], tolerance: float) -> int:
    """Fills what alone.json tells into the rows; the index of the first row that is wrong by itself, or -1."""
    tried = run.folder.read(schema.Alone).tried
    arrays = run.folder.arrays("alone") if any(one.array >= 0 for one in tried) else []
    by_tensor = {one.tensor: one for one in tried}
    first = -1
    for index, (row, one) in enumerate(zip(found, run.kept)):
        alone = by_tensor.get(row.tensor)
        if alone is None or not 0 <= alone.array < len(arrays):
            continue
        fact, ours = run.facts[row.tensor], run.values(one)
        theirs = numbers(arrays[alone.array], fact, ours)
        if theirs.size != ours.size:
            continue
        by_itself = error(ours, theirs, fact, max(tolerance, float(alone.allowed)))
        row.alone, row.alone_problem = schema.number(by_itself.relative), by_itself.problem
        if first < 0 and by_itself.problem:
            first = index
    return first


def largest_alone(run: Tensors, tensor: int) -> float:
    """The largest magnitude that the CPU gets for a tensor of alone.json; 0: it has none."""
    for one in run.folder.read(schema.Alone).tried:
        if one.tensor == tensor and one.array >= 0:
            array = run.folder.arrays("alone")[one.array]
            return float(np.abs(array.astype(np.float64)).max(initial=0.0))
    return 0.0


def not_finite(run: Tensors) -> tuple[int, str]:
    """The first kept tensor in which the CPU itself has NaN or infinity, and how many; -1: none."""
    reference = run.reference()
    for index, one in enumerate(run.kept):
        array = reference.get(one.tensor)
        if array is not None and array.dtype.kind == "f" and not np.isfinite(array).all():
            counts = ((int(np.isnan(array).sum()), "NaN"), (int(np.isinf(array).sum()), "infinity"))
            return index, " and ".join(f"{count} x {word}" for count, word in counts if count)
    return -1, ""


def coverage(folder: RunFolder, found: Sequence[schema.BisectRow]) -> tuple[int, int]:
    """Nodes of the graph that ran that a dispatch computes, and those of them in a row that was compared, or judged alone.
    (A reshape that changes nothing is in no dispatch.)"""
    report, graph = folder.read(schema.Verdicts), folder.subgraph()
    launched = [d for p in report.partitions if p.subgraph == graph for d in p.dispatches]
    dispatched = {node for dispatch in launched for node in dispatch.nodes}
    on_gpu = {n.index for n in report.nodes if n.index in dispatched and n.subgraph == graph and n.op not in _CONSTANTS}
    seen = {node for row in found if row.compared or row.alone is not None for node in row.nodes}
    return len(on_gpu), len(on_gpu & seen)
