"""The CPU's numbers for a plan: `cpu_by_name FOLDER NAMES` is the process that runs the model of spec.json once.

NAMES: a file with the wanted tensors' names, one a line. It leaves model_inputs/, and references/ with cpu.msgpack.
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np

from host_tools.places import interpreters, model_worker, reference_model, worker
from host_tools.record import reading, replayed, run_folder
from host_tools.record.replayed import CpuNumbers, Reference
from host_tools.record.run_folder import RunFolder
from host_tools.request import inputs, model_facts

_BYTES = 1 << 24


def work(folder: Path, names: Path) -> None:
    spec = RunFolder(folder).spec()
    wanted = set(reading.text(names, _BYTES).splitlines())
    content, _ = reference_model.for_cpu(Path(spec.model.path))
    model_worker.stage("run the model on the CPU")
    made = interpreters.make(
        content, spec.model.name, threads=1, kernels=interpreters.BUILTIN, keeps=True, signature=spec.signature
    )
    arrays = inputs.make(spec.inputs, inputs.of_model(content, spec.signature))
    interpreters.allocate(made, spec.model.name, content, arrays)
    interpreters.set_inputs(made, arrays)
    # The plan gets a state as it is before; afterwards it is another.
    states = {index: made.get_tensor(index).copy() for index in model_facts.variables(content, spec.signature)}
    interpreters.invoke(made, f"{spec.model.name} on the CPU")
    run_folder.write_arrays(folder / "model_inputs", arrays)
    found, kept = CpuNumbers([d.get("tensor", d["name"]) for d in made.get_input_details()]), list[np.ndarray]()
    details = made.get_tensor_details()
    counts = Counter(detail["name"] for detail in details)
    for detail in details:
        if detail["name"] not in wanted or counts[detail["name"]] > 1:
            continue
        try:
            numbers = states[detail["index"]] if detail["index"] in states else made.get_tensor(detail["index"])
        except ValueError:  # of a tensor that has none
            continue
        if numbers.dtype.kind in "biuf":
            scale, zero = detail["quantization"]
            found.references.append(Reference(detail["name"], len(kept), float(scale), int(zero)))
            kept.append(numbers)
    run_folder.write_arrays(folder / "references", kept)
    replayed.write(folder / replayed.CPU, found)


def main(argv: list[str]) -> int:
    folder, names = Path(argv[0]), Path(argv[1])
    return worker.answer(folder, lambda: work(folder, names))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
