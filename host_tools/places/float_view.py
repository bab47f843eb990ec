"""What a quantised model's integers stand for, computed in floats: a second reference for its outputs.

Each quantised tensor is rounded, and where that turns the answer, kernels that round otherwise differ from the CPU's as
much as the CPU's from this.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from host_tools.record import run_folder
from host_tools.request import float_twins, inputs, model_tree

if TYPE_CHECKING:
    from ai_edge_litert.interpreter import Interpreter

    from host_tools.places.model_worker import Worker

Details = list[dict[str, Any]]  # as the interpreter has them


def keep(worker: "Worker", interpreter: "Interpreter") -> list[list[np.ndarray]]:
    """Writes float_outputs and returns them, where the model of this interpreter has such a view; empty: it has none. QuadraError:
    the twin does not run."""
    made = interpreter.get_output_details()
    arrays = outputs(worker, interpreter.get_input_details(), made)
    if arrays is None:
        return []
    run_folder.write_arrays(worker.folder / "float_outputs", arrays)
    worker.tensors["float_outputs"] = inputs.tensor_json(made)
    run_folder.write_json(worker.folder / "tensors.json", worker.tensors)
    return [arrays]


def outputs(worker: "Worker", given: Details, made: Details) -> list[np.ndarray] | None:
    """Those of the float twin of the CPU's model, on the grids of its own outputs. None: it has no such twin.

    given, made: the quantised model's inputs and outputs. QuadraError: the twin does not run.
    """
    try:
        content = float_twins.twin(worker.cpu_content)
    except (model_tree.CannotPack, ValueError, LookupError, TypeError, AttributeError):
        return None
    if content is None:
        return None
    runtime = worker.interpreters
    interpreter = worker.make(content)
    runtime.allocate(interpreter, worker.model, content, worker.arrays)
    runtime.set_inputs(interpreter, [_floats(array, detail) for array, detail in zip(worker.arrays, given)])
    runtime.invoke(interpreter, f"the floats of {worker.model} on the CPU")
    return [_on_grid(array, detail) for array, detail in zip(runtime.outputs_of(interpreter), made)]


def _floats(array: np.ndarray, detail: dict[str, Any]) -> np.ndarray:
    scale, zero = detail["quantization"]
    if not scale:
        return array
    return ((array.astype(np.float32) - np.float32(zero)) * np.float32(scale)).astype(np.float32)


def _on_grid(array: np.ndarray, detail: dict[str, Any]) -> np.ndarray:
    scale, zero = detail["quantization"]
    if not scale or array.dtype == detail["dtype"]:
        return array
    ends = np.iinfo(detail["dtype"])
    steps = np.nan_to_num(np.round(array.astype(np.float64) / scale)) + zero
    on_grid: np.ndarray = np.clip(steps, ends.min, ends.max).astype(detail["dtype"])
    return on_grid
