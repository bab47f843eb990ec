"""What the CPU's reference kernels say about the tensors that a run kept.

`cpu_tensors all FOLDER` runs the whole model and keeps the same tensors: cpu_tensors.json, cpu_tensors/.
`cpu_tensors alone FOLDER ALLOWED TENSORS` makes each of the tensors (numbers with commas) by itself, from what the run's
own kernels had made before it: alone.json, alone/. It ends with the first that is off by more than ALLOWED of its range:
that one's op is wrong, whatever came before it.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from host_tools.base.errors import Misuse, QuadraError, RunFailed
from host_tools.judge import compare
from host_tools.places import interpreters, reference_model, worker
from host_tools.record import kept_tensors, run_folder, schema
from host_tools.record.kept_tensors import Kept
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import signatures
from host_tools.request.submodel import Cutter, as_model_has

Details = Mapping[int, Mapping[str, Any]]


def whole(folder: RunFolder) -> None:
    """Runs the model once on the CPU. Where it cannot (an op that only the delegate knows), the file says why."""
    spec, wanted = folder.spec(), sorted({kept.tensor for kept in kept_tensors.read(folder)})
    content = reference_model.exact(reference_model.for_cpu(Path(spec.model.path))[0]).content
    found, arrays = schema.CpuTensors(tensors=[]), list[np.ndarray]()
    details, given = _details(content, spec), folder.arrays("inputs")
    try:
        made = _interpreter(content, spec, keeps=True)
        interpreters.allocate(made, spec.model.name, content, given)
        interpreters.set_inputs(made, given)
        interpreters.invoke(made, f"{spec.model.name} on the CPU")
        details = {detail["index"]: detail for detail in made.get_tensor_details()}
        arrays = [made.get_tensor(index) for index in wanted if index in details]
        found.complete = True
    except (RunFailed, ValueError) as error:  # ValueError: a tensor without numbers
        found.error, arrays = str(error), []
    for index in wanted:
        if index not in details:
            raise Misuse(f"read the tensors of {folder.path.name}", f"the model has no tensor {index}", "run it again")
        found.tensors.append(_tensor(index, details[index]))
    if arrays:
        run_folder.write_arrays(folder.path / "cpu_tensors", arrays)
    run_folder.write_json(folder.path / schema.CpuTensors.FILE, found)


def _interpreter(content: bytes, spec: RunSpec, keeps: bool = False) -> Any:
    return interpreters.make(
        content, spec.model.name, threads=1, kernels=interpreters.BUILTIN, keeps=keeps, signature=spec.signature
    )


def _details(content: bytes, spec: RunSpec) -> Details:
    return {detail["index"]: detail for detail in _interpreter(content, spec).get_tensor_details()}


def _tensor(index: int, detail: Mapping[str, Any]) -> schema.CpuTensor:
    scale, zero = detail["quantization"]
    shape = [int(n) for n in detail["shape"]]
    dtype = np.dtype(detail["dtype"]).name
    return schema.CpuTensor(
        tensor=index, name=detail["name"], dtype=dtype, shape=shape, scale=float(scale), zero_point=int(zero)
    )


class Alone:
    """Parts of a model between the tensors of a run, each run by the CPU."""

    def __init__(self, folder: RunFolder) -> None:
        spec = folder.spec()
        self.name = spec.model.name
        content = Path(spec.model.path).read_bytes()
        model, entry = reference_model.exact(content), signatures.entry(content, spec.signature)
        self.quantised = model.quantised
        self.cutter = Cutter(model.content, self.name, entry.subgraph)
        self.facts = {one.tensor: one for one in folder.read(schema.CpuTensors).tensors}
        self.kept = kept_tensors.read(folder)
        self.given = folder.arrays("inputs")
        self.inputs = [tensor for _, tensor in entry.inputs]

    def values(self, one: Kept) -> np.ndarray:
        """What the run's kernel made, as the model has it."""
        fact = self.facts[one.tensor]
        numbers = as_model_has(one.numbers(), np.dtype(fact.dtype), fact.scale, fact.zero_point)
        return numbers.reshape(fact.shape) if numbers.size == int(np.prod(fact.shape)) else numbers.reshape(one.shape)

    def make(self, one: Kept) -> tuple[np.ndarray, float]:
        """The tensor as the CPU makes it of the run's own numbers, and how far XNNPACK's kernels are from that, as far as
        rounding explains it."""
        before = {other.tensor: other for other in reversed(self.kept) if other.tensor != one.tensor}
        part = self.cutter.before(one.tensor, before)
        arrays = [self.values(before[t]) if t in before else self.given[self.inputs.index(t)] for t in part.inputs]
        model = self.cutter.cut(part, {t: array.shape for t, array in zip(part.inputs, arrays)})
        with tempfile.NamedTemporaryFile(suffix=".tflite") as file:
            Path(file.name).write_bytes(model)
            content, _ = reference_model.for_cpu(Path(file.name))
        expected = self._run(content, arrays, interpreters.BUILTIN)
        try:
            other = self._run(content, arrays, interpreters.XNNPACK)
        except QuadraError:
            return expected, 0.0
        explained = compare.is_explained(
            schema.Reference(quantised=self.quantised), 0, self.shown(one), other, expected
        )
        return expected, compare.distance(other, expected) if explained else 0.0

    def shown(self, one: Kept) -> schema.Tensor:
        """The tensor, for a comparison."""
        fact = self.facts[one.tensor]
        return schema.Tensor(name="", dtype=fact.dtype, shape=fact.shape, scale=fact.scale)

    def _run(self, content: bytes, arrays: list[np.ndarray], kernels: Any) -> np.ndarray:
        made = interpreters.make(content, self.name, threads=1, kernels=kernels)
        interpreters.allocate(made, self.name, content)
        interpreters.set_inputs(made, arrays)
        interpreters.invoke(made, f"a part of {self.name} on the CPU")
        return interpreters.outputs_of(made)[0].copy()


def alone(folder: RunFolder, allowed: float, tensors: Sequence[int]) -> None:
    """Those that the model is given are no op's."""
    parts, found, arrays = Alone(folder), schema.Alone(tried=[]), list[np.ndarray]()
    by_tensor = {one.tensor: one for one in reversed(parts.kept)}
    for tensor in tensors:
        one, row = by_tensor[tensor], schema.AloneRow(tensor=tensor)
        found.tried.append(row)
        if tensor in parts.inputs:
            expected, noise = parts.given[parts.inputs.index(tensor)], 0.0
        else:
            try:
                expected, noise = parts.make(one)
            except (QuadraError, ValueError, IndexError) as error:
                row.error = str(error)
                continue
        row.array, row.allowed = len(arrays), compare.allowed(allowed, noise, parts.quantised)
        arrays.append(expected)
        got = parts.values(one).reshape(expected.shape)
        if compare.measure(0, parts.shown(one), got, expected, float(row.allowed)).problem:
            break
    if arrays:
        run_folder.write_arrays(folder.path / "alone", arrays)
    run_folder.write_json(folder.path / schema.Alone.FILE, found)


def main(argv: list[str]) -> int:
    folder = RunFolder(Path(argv[1]))
    if argv[0] == "all":
        return worker.answer(folder.path, lambda: whole(folder))
    return worker.answer(folder.path, lambda: alone(folder, float(argv[2]), [int(t) for t in argv[3].split(",")]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
