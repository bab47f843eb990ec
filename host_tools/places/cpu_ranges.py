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
from host_tools.request import inputs, model_facts
from host_tools.request.submodel import Cutter


def write(folder: Path) -> None:
    """Every float tensor of the main graph: inputs, constants, results. RunFailed where the CPU cannot run the model."""
    spec = RunFolder(folder).spec()
    name, content = spec.model.name, reference_model.for_cpu(Path(spec.model.path))[0]
    ops = [node["op"] for node in model_facts.read(content, name)["nodes"]]  # a damaged model ends here
    made = interpreters.make(content, name, threads=spec.threads, kernels=interpreters.BUILTIN, keeps=True)
    interpreters.allocate(made, name, content)
    interpreters.set_inputs(made, inputs.make(spec.inputs, inputs.from_details(made.get_input_details())))
    interpreters.invoke(made, f"{name} on the CPU")
    cutter = Cutter(content, name)
    readers: dict[int, list[int]] = {}
    for index, node in enumerate(cutter.graph.operators):
        for tensor in node.inputs if node.inputs is not None else []:
            readers.setdefault(int(tensor), []).append(index)
    found = schema.Ranges(ops=ops, tensors=[])
    for detail in made.get_tensor_details():
        row = _row(made, detail, cutter, readers)
        if row:
            found.tensors.append(row)
    found.tensors.sort(key=lambda row: (row.node, row.tensor))
    run_folder.write_json(folder / schema.Ranges.FILE, found)


def _row(made: Any, detail: Any, cutter: Cutter, readers: dict[int, list[int]]) -> schema.Range | None:
    index = int(detail["index"])
    if np.dtype(detail["dtype"]).kind != "f" or index >= len(cutter.graph.tensors):
        return None
    try:
        values = made.get_tensor(index)
    except (ValueError, RunFailed):
        return None
    finite = np.abs(values[np.isfinite(values)].astype(np.float64))
    return schema.Range(
        tensor=index,
        name=detail["name"],
        node=cutter.maker.get(index, -1),
        readers=readers.get(index, []),
        constant=index not in cutter.maker and cutter.is_stored(index),
        largest=schema.number(float(finite.max(initial=0.0))),
        nan=int(np.isnan(values).sum()),
        inf=int(np.isinf(values).sum()),
    )


def main(argv: list[str]) -> int:
    return worker.answer(Path(argv[0]), lambda: write(Path(argv[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
