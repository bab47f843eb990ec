"""The CPU's reference for a run in another place: `cpu_reference FOLDER` is the process that makes it."""

import sys
from pathlib import Path

from host_tools.places import worker as host_worker
from host_tools.record import run_folder, schema
from host_tools.request import model_facts


class _Finished(host_worker.Worker):
    """A worker whose model has run elsewhere: outputs, inputs and tensors are in the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, Path(), Path())
        done = run_folder.RunFolder(folder)
        self.arrays, self.outputs = done.arrays("inputs"), done.arrays("outputs")
        self.tensors = done.json("tensors.json")


def reference(folder: Path) -> None:
    """Writes cpu_outputs/ and reference.json, as on the host.

    A quantised model that runs partly on the CPU has XNNPACK for its reference, which runs that part beside Quadra
    and rounds integers in its own way: then it must be that of the runtime in which the model ran.
    """
    worker = _Finished(folder)
    done = run_folder.RunFolder(folder)
    report = done.read(schema.Verdicts)
    host_worker.reference(worker, report)
    shared = any(node.on == "cpu" for node in report.nodes)
    if shared and model_facts.is_quantised(worker.content) and done.has("xnnpack_outputs"):
        run_folder.write_arrays(folder / "cpu_outputs", done.arrays("xnnpack_outputs"))
        tensors = {**worker.tensors, "cpu_outputs": worker.tensors["xnnpack_outputs"]}
        run_folder.write_json(folder / "tensors.json", tensors)
        value = {"last_bit_moves": [], **done.json("reference.json"), "kernels": "xnnpack"}
        run_folder.write_json(folder / "reference.json", {k: v for k, v in value.items() if k != "error"})


def main(argv: list[str]) -> int:
    return host_worker.answer(Path(argv[0]), lambda: reference(Path(argv[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
