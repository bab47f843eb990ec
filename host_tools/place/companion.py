"""What this machine does for a run in another place: inputs before it, the CPU's reference after it.

The reference is made here wherever the model ran: companion FOLDER is the process that does it.
"""

import json
import sys
from pathlib import Path
from typing import List

import numpy as np
import tflite

from host_tools import inputs, model_facts, reference_model, run_folder, spec as specs
from host_tools.errors import Misuse
from host_tools.place import host_worker

CPU_MODEL = "cpu_model.tflite"
_DTYPES = {getattr(tflite.TensorType, name.upper()): np.dtype(name) for name in (
    "float32", "float16", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool",
)}  # fmt: skip


def prepare(spec: specs.RunSpec, folder: Path) -> None:
    """Writes model.json, inputs/ and, where the CPU needs it, the rewritten model. Misuse: the model is damaged."""
    content = Path(spec.model.path).read_bytes()
    run_folder.write_json(folder / "model.json", model_facts.read(content, spec.model.name))
    if content[4:8] != b"TFL3":
        do_next = "give a .tflite file; a damaged one: fetch it again"
        raise Misuse(f"read the model {spec.model.name}", "it is not a TFLite model", do_next)
    cpu_content, rewrites = reference_model.for_cpu(Path(spec.model.path))
    if rewrites:
        (folder / CPU_MODEL).write_bytes(cpu_content)
    arrays = inputs.make(spec.inputs, inputs_of(content))
    run_folder.write_arrays(folder / "inputs", arrays)
    if spec.inputs.kind == "picture":
        inputs.for_report(Path(spec.inputs.picture)).save(folder / "picture.png")


def inputs_of(content: bytes) -> List[inputs.InputTensor]:
    """The inputs of a model's main graph, as its file has them."""
    graph = tflite.Model.GetRootAs(content, 0).Subgraphs(0)
    return [_input(graph.Tensors(graph.Inputs(i))) for i in range(graph.InputsLength())]


def _input(tensor: tflite.Tensor) -> inputs.InputTensor:
    name = (tensor.Name() or b"").decode("utf-8", "replace")
    dtype = _DTYPES.get(tensor.Type())
    if dtype is None:
        raise Misuse(
            f"make values for the input {name}",
            f"inputs of TFLite's type {tensor.Type()} cannot be made",
            "give a model with numeric inputs",
        )
    shape = tuple(int(tensor.Shape(i)) for i in range(tensor.ShapeLength()))
    quantization = tensor.Quantization()
    if quantization is None or quantization.ScaleLength() != 1:
        return inputs.InputTensor(name, dtype, shape)
    zero = int(quantization.ZeroPoint(0)) if quantization.ZeroPointLength() else 0
    return inputs.InputTensor(name, dtype, shape, float(quantization.Scale(0)), zero)


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
    report = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))
    host_worker.reference(worker, report)
    shared = any(node["on"] == "cpu" for node in report["nodes"])
    done = run_folder.RunFolder(folder)
    if shared and model_facts.is_quantised(worker.content) and done.has("xnnpack_outputs"):
        run_folder.write_arrays(folder / "cpu_outputs", done.arrays("xnnpack_outputs"))
        tensors = {**worker.tensors, "cpu_outputs": worker.tensors["xnnpack_outputs"]}
        run_folder.write_json(folder / "tensors.json", tensors)
        value = {"last_bit_moves": [], **done.json("reference.json"), "kernels": "xnnpack"}
        run_folder.write_json(folder / "reference.json", {k: v for k, v in value.items() if k != "error"})


def main(argv: List[str]) -> int:
    return host_worker.answer(Path(argv[0]), lambda: reference(Path(argv[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
