"""What this machine does before a run in another place: the model's facts, and its inputs."""

from pathlib import Path

import numpy as np
import tflite

from host_tools.base.errors import Misuse
from host_tools.places import reference_model
from host_tools.record import run_folder, spec as specs
from host_tools.record.run_folder import CPU_MODEL
from host_tools.request import inputs, model_facts

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


def inputs_of(content: bytes) -> list[inputs.InputTensor]:
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
