"""The outputs of the CPU interpreter, which Quadra's are compared with, and how far they may be off themselves."""

import contextlib
import itertools
from typing import TYPE_CHECKING

import numpy as np

from host_tools.base.errors import QuadraError
from host_tools.judge import compare
from host_tools.places import float_view, reference_model
from host_tools.record import run_folder, schema

if TYPE_CHECKING:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    from host_tools.places.model_worker import Worker

STAGE = "run the CPU reference"
_CLOSE = 2e-5  # of an output's range: no need to ask how far the CPU itself may be off
_LAST_BIT_RUNS = 5


def write(worker: "Worker") -> None:
    """Writes cpu_outputs, float_outputs where there are such, and reference.json.

    The interpreter's plain kernels are the reference, with floats where they would round activations to meet integer
    weights (reference_model.for_reference); or XNNPACK where those cannot run the model.
    """
    found = schema.Reference(kernels="", rewrites=worker.rewrites)
    ran = run_folder.RunFolder(worker.folder).optional(schema.Verdicts)
    nodes = [node for node in (ran.nodes if ran else ()) if node.subgraph in worker.facts["subgraphs"]]
    on_cpu = {(node.subgraph, node.index) for node in nodes if node.on == "cpu"}
    models = reference_model.for_reference(worker.cpu_content, on_cpu)
    for model, name in itertools.product(models, ("builtin", "xnnpack")):
        try:
            found = _run_reference(worker, model, name, found.error)
            break
        except QuadraError as error:
            found.error = f"{error.tried}: {error.came_back}"
    run_folder.write_json(worker.folder / "reference.json", found)


def _run_reference(worker: "Worker", model: reference_model.Exact, name: str, error: str) -> schema.Reference:
    """Writes cpu_outputs; returns reference.json. error: of earlier tries."""
    kernels = worker.interpreters.XNNPACK if name == "xnnpack" else worker.interpreters.BUILTIN
    interpreter = _run_on_cpu(worker, model.content, kernels)
    worker.keep("cpu_outputs", interpreter)
    expected = [array.copy() for array in worker.interpreters.outputs_of(interpreter)]
    found = schema.Reference(
        kernels=name, rewrites=worker.rewrites + model.rewrites(), quantised=model.quantised, error=error
    )
    rounded = [expected] if model.float_weights else []
    with contextlib.suppress(QuadraError):
        rounded += [_outputs_on_cpu(worker, kernels)] if model.float_weights else []
    with contextlib.suppress(QuadraError):
        rounded += float_view.keep(worker, interpreter) if model.quantised else []
    tensors = [schema.Tensor(**row) for row in worker.tensors["cpu_outputs"]]
    if rounded:
        apart = [[compare.spread(*one) for one in zip(tensors, other, expected)] for other in rounded]
        found.rounding = [schema.number(max(of_output)) for of_output in zip(*apart)]
    if any(compare.distance(a, b) >= _CLOSE for a, b in zip(worker.outputs, expected)):
        moves = last_bit_moves(worker, interpreter, expected)
        if model.quantised and "xnnpack" not in worker.spec.peers:  # as a peer it leaves its outputs
            with contextlib.suppress(QuadraError):
                others = _outputs_on_cpu(worker, worker.interpreters.XNNPACK)
                explained = [
                    compare.is_explained(found, i, *one) for i, one in enumerate(zip(tensors, others, expected))
                ]
                apart_by = map(compare.distance, others, expected)
                moves = [max(m, by) if is_so else m for m, by, is_so in zip(moves, apart_by, explained)]
        found.last_bit_moves = [schema.number(move) for move in moves]
    return found


def _outputs_on_cpu(worker: "Worker", kernels: "OpResolverType") -> list[np.ndarray]:
    """Those of the model with its own weights."""
    arrays: list[np.ndarray] = worker.interpreters.outputs_of(_run_on_cpu(worker, worker.cpu_content, kernels))
    return arrays


def _run_on_cpu(worker: "Worker", content: bytes, kernels: "OpResolverType") -> "Interpreter":
    """An interpreter that has run the model once."""
    interpreter = worker.make(content, kernels=kernels)
    worker.interpreters.allocate(interpreter, worker.model, content, worker.arrays)
    worker.interpreters.set_inputs(interpreter, worker.arrays)
    worker.interpreters.invoke(interpreter, f"{worker.model} on the CPU")
    return interpreter


def last_bit_moves(worker: "Worker", interpreter: "Interpreter", expected: list[np.ndarray]) -> list[float]:
    """How far each output of the CPU moves, of its range, when the last bit of the float inputs changes.

    Nobody can be asked to be closer than that: the inputs themselves are not known better.
    """
    moves = [0.0] * len(expected)
    for seed in range(_LAST_BIT_RUNS):
        signs = np.random.default_rng(seed)
        for detail, array in zip(interpreter.get_input_details(), worker.arrays):
            if array.dtype == np.float32:
                array = np.nextafter(array, signs.choice(np.array([-np.inf, np.inf], np.float32), array.shape))
            interpreter.set_tensor(detail["index"], array)
        worker.interpreters.invoke(interpreter, f"{worker.model} on the CPU")
        distances = map(compare.distance, worker.interpreters.outputs_of(interpreter), expected)
        moves = [max(pair) for pair in zip(moves, distances)]
    return moves
