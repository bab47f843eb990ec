"""The first wrong op of a model, for a library that keeps no tensors: runs the model's beginnings, about log2 of its ops.

A beginning is the model up to some op, with everything that comes out there as its outputs. It is judged as `inv run`
judges, so that the first one that is wrong ends in the wrong op.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from msgspec import structs

from host_tools.judge import compare, judged
from host_tools.judge.compare import OutputError
from host_tools.places.place import Show
from host_tools.record import run_folder, schema, spec as specs
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import from_arguments, signatures
from host_tools.request.submodel import Cutter, Part

Run = Callable[[RunSpec], RunFolder]


@dataclass
class Found:
    """What the runs came to. count: of the wrong beginning's ops; 0: nothing is wrong, None: nothing could be judged."""

    folder: RunFolder  # of the whole model
    rows: list[schema.BisectRow]
    row: int = -1
    count: int | None = None
    part: Part | None = None  # the wrong op alone
    arrays: list[np.ndarray] = field(default_factory=list)  # its inputs, as the CPU has them
    runs: int = 0


class Search:
    """The runs of one search. other: makes the same runs with what the first is compared with; None: the CPU.
    tolerance: of an output's range; 0: what `inv run` allows."""

    def __init__(self, spec: RunSpec, run: Run, other: Run | None, tolerance: float, show: Show) -> None:
        self.run, self.other, self.tolerance, self.show = run, other, tolerance, show
        self.spec = structs.replace(spec, repetitions=1, peers=(), profile=False, cold=False)
        content = Path(spec.model.path).read_bytes()
        self.entry = signatures.entry(content, spec.signature)
        self.cutter = Cutter(content, spec.model.name, self.entry.subgraph)
        self.steps = self.cutter.steps()
        self.folders: dict[int, RunFolder] = {}
        self.rows: dict[int, schema.BisectRow] = {}

    def find(self) -> Found:
        total = len(self.steps)
        wrong = self._is_wrong(total)
        whole = Found(self.folders[total], [], count=None if wrong is None else 0, runs=1)
        if not wrong:
            return whole
        low, high = 0, total  # right up to low, wrong up to high
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_wrong(middle):
                high = middle
            else:
                low = middle
        whole.rows = [self.rows[count] for count in sorted(self.rows)]
        whole.row, whole.count, whole.runs = whole.rows.index(self.rows[high]), high, len(self.folders)
        known = self._known(low)
        whole.part = self.cutter.before(self.rows[high].tensor, known)
        whole.arrays = [known[t] for t in whole.part.inputs]
        return whole

    def _is_wrong(self, count: int) -> bool | None:
        """Whether the beginning of so many ops is; None: the CPU cannot say."""
        self.show(f"run the first {count} of {len(self.steps)} ops")
        spec = self._beginning(count) if count < len(self.steps) else self.spec
        folder = self.folders[count] = self.run(spec)
        found = self._errors(spec, folder)
        if not found:
            return None
        self.rows[count] = self._row(count, max(found, key=lambda one: (bool(one.problem), one.relative)))
        return any(one.problem for one in found)

    def _errors(self, spec: RunSpec, folder: RunFolder) -> list[OutputError]:
        if not self.other and not self.tolerance:
            comparison = judged.judge(folder).comparison
            return list(comparison.outputs) if comparison else []
        tolerance = self.tolerance or compare.TOLERANCE[spec.options.get("precision") or "f32"]
        theirs = self.other(spec).arrays("outputs") if self.other else folder.arrays("cpu_outputs")
        pairs = zip(folder.tensors("outputs"), folder.arrays("outputs"), theirs)
        return [compare.measure(i, fact, ours, other, tolerance) for i, (fact, ours, other) in enumerate(pairs)]

    def _beginning(self, count: int) -> RunSpec:
        """Of a model in the whole run's folder."""
        part, known = self.cutter.beginning(count), self._known(0)
        folder = self.folders[len(self.steps)].path / "bisect" / f"first_{count}"
        model, inputs = folder / "model.tflite", folder / "inputs"
        self.write(part, [known[t] for t in part.inputs], model, inputs)
        made = from_arguments.make_spec(str(model), arrays=str(inputs), repetitions=1, peers=())
        return specs.checked(structs.replace(self.spec, model=made.model, inputs=made.inputs, signature=""))

    def write(self, part: Part, arrays: list[np.ndarray], model: Path, inputs: Path) -> None:
        """The part as a model, with its inputs."""
        run_folder.write_arrays(inputs, arrays)
        model.write_bytes(self.cutter.cut(part, {t: array.shape for t, array in zip(part.inputs, arrays)}))

    def _known(self, count: int) -> dict[int, np.ndarray]:
        """Tensors by number: what the model is given, and what the CPU made of the beginning of `count` ops."""
        given = self.folders[len(self.steps)].arrays("inputs")
        known = dict(zip((tensor for _, tensor in self.entry.inputs), given))
        if count:
            known.update(zip(self.cutter.beginning(count).outputs, self.folders[count].arrays("cpu_outputs")))
        return known

    def _row(self, count: int, worst: OutputError) -> schema.BisectRow:
        """Of the last op; its numbers are those of the worst output."""
        node = self.steps[count - 1]
        report = self.folders[len(self.steps)].read(schema.Verdicts).nodes
        ops = next((n.op for n in report if n.index == node and n.subgraph == self.entry.subgraph), "")
        return schema.BisectRow(
            partition=0,
            dispatch=f"the first {count} ops",
            nodes=[node],
            ops=ops,
            tensor=int(self.cutter.graph.operators[node].outputs[0]),
            name=worst.name,
            max_error=schema.number(worst.max_error),
            mean_error=schema.number(worst.mean_error),
            relative=schema.number(worst.relative),
            cosine=schema.number(float("nan")),
            problem=worst.problem,
        )
