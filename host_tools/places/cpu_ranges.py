"""How large a model's numbers get, by the CPU's reference kernels: `cpu_ranges FOLDER` runs the model of spec.json once
and writes ranges.json."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from host_tools.base.errors import RunFailed
from host_tools.places import interpreters, reference_model, worker
from host_tools.record import run_folder, schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import float_twins, inputs, model_facts, model_tree, open_composites, signatures
from host_tools.request.submodel import Cutter

OPENED = "opened.tflite"  # the model that ran: ops of decompositions in the composites' places


def write(folder: Path) -> None:
    """Every tensor of floats, or of integers that stand for floats, of the graph that the spec enters: inputs, constants,
    results, and those within composites.
    RunFailed where the CPU cannot run the model."""
    spec = RunFolder(folder).spec()
    name, content = spec.model.name, reference_model.for_cpu(Path(spec.model.path))[0]
    ops = _ops(content, spec)  # a damaged model ends here
    graph = _Graph(content, spec)
    (folder / OPENED).write_bytes(graph.content)
    arrays = inputs.make(spec.inputs, inputs.of_model(content, spec.signature))
    made = interpreters.make(
        graph.content,
        name,
        threads=spec.threads,
        kernels=interpreters.BUILTIN,
        keeps=True,
        signature=spec.signature,
    )
    interpreters.allocate(made, name, content, arrays)
    interpreters.set_inputs(made, arrays)
    interpreters.invoke(made, f"{name} on the CPU")
    rows = filter(None, (graph.row(made, detail) for detail in made.get_tensor_details()))
    tensors = sorted(rows, key=lambda row: (graph.maker(row.tensor), row.tensor))
    run_folder.write_json(folder / schema.Ranges.FILE, schema.Ranges(ops=ops, tensors=tensors, closed=graph.closed()))


def _ops(content: bytes, spec: RunSpec) -> list[str]:
    return [node["op"] for node in model_facts.read(content, spec.model.name, spec.signature)["nodes"]]


class _Graph:
    """The graph that is run, opened: its ops are called steps, the nodes are the model's."""

    def __init__(self, content: bytes, spec: RunSpec) -> None:
        subgraph = signatures.entry(content, spec.signature).subgraph
        opened = open_composites.of(content, spec.model.name, subgraph)
        self.content, self.node_of = opened.content, opened.nodes
        self.steps = _ops(self.content, spec)
        self.cutter = Cutter(self.content, spec.model.name, subgraph)
        self.readers: dict[int, list[int]] = {}
        for step, op in enumerate(self.cutter.graph.operators):
            for tensor in op.inputs if op.inputs is not None else []:
                self.readers.setdefault(int(tensor), []).append(step)

    def closed(self) -> list[int]:
        """Nodes that still run other graphs."""
        calls = (step for step, op in enumerate(self.cutter.graph.operators) if model_tree.calls(op))
        return sorted({self.node_of[step] for step in calls})

    def _floats(self, made: Any, detail: Any) -> np.ndarray | None:
        index, kind = int(detail["index"]), np.dtype(detail["dtype"]).kind
        tensor, (scale, zero) = self.cutter.graph.tensors[index], detail["quantization"]
        if kind == "f":
            return np.asarray(made.get_tensor(index))
        if self.cutter.is_stored(index) and not tensor.isVariable:
            is_read = index in self.readers  # by nothing where the CPU's model has floats instead
            return float_twins.stored_floats(self.cutter.tree, self.cutter.graph, tensor) if is_read else None
        return (made.get_tensor(index) - np.float64(zero)) * scale if scale else None

    def maker(self, tensor: int) -> int:
        """The step that makes it; -1: none."""
        return self.cutter.maker.get(tensor, -1)

    def row(self, made: Any, detail: Any) -> schema.Range | None:
        """None: it has no floats that could be read, nor integers that stand for floats."""
        index = int(detail["index"])
        if index >= len(self.cutter.graph.tensors):
            return None
        try:
            values = self._floats(made, detail)
        except (ValueError, LookupError, RunFailed):
            return None
        if values is None:
            return None
        finite = np.abs(values[np.isfinite(values)].astype(np.float64))
        maker, readers = self.maker(index), self.readers.get(index, [])
        return schema.Range(
            tensor=index,
            name=detail["name"],
            node=self.node_of[maker] if maker >= 0 else -1,
            op=self.steps[maker] if maker >= 0 else "",
            readers=sorted({self.node_of[step] for step in readers}),
            steps=sorted({step for step in (maker, *readers) if step >= 0}),
            constant=maker < 0 and self.cutter.is_stored(index),
            largest=schema.number(float(finite.max(initial=0.0))),
            nan=int(np.isnan(values).sum()),
            inf=int(np.isinf(values).sum()),
        )


def main(argv: list[str]) -> int:
    return worker.answer(Path(argv[0]), lambda: write(Path(argv[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
