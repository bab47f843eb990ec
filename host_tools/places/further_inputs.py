"""The further inputs of a run with many: in the run's folder a run folder for each, in `set/`.

On this machine one worker process computes them all (`work`, its mode `inputs`): it starts Quadra once. complete_inputs.py has the
other places.
"""

import contextlib
import copy
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from host_tools.base.errors import QuadraError
from host_tools.places import model_worker, reference
from host_tools.places.model_worker import Worker
from host_tools.record import peer_names, run_folder, schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import input_sets, inputs

if TYPE_CHECKING:
    from ai_edge_litert.interpreter import Interpreter

MODE = "inputs"


def specs(spec: RunSpec) -> list[RunSpec]:
    """What the further inputs ask for: one inference, beside XNNPACK, which opens tolerances."""
    peers = tuple(peer for peer in spec.peers if peer == peer_names.XNNPACK)
    one = structs.replace(
        spec,
        input_set="",
        metrics=(),
        repetitions=1,
        peers=peers,
        profile=False,
        cold=False,
        second_starts=0,
        sustained_s=0,
    )
    return [structs.replace(one, inputs=each) for each in input_sets.of(spec)[1:]]


def begin(folder: Path, spec: RunSpec) -> int:
    """Makes their folders, with spec.json in each; returns how many."""
    wanted = specs(spec)
    for index, one in enumerate(wanted, 1):
        place = folder_of(folder, index)
        place.mkdir(parents=True)
        run_folder.write_json(place / RunSpec.FILE, one.to_json())
    return len(wanted)


def work(worker: Worker, baseline_bytes: int) -> None:
    """Computes all of them: outputs/, cpu_outputs/ and XNNPACK's of each."""
    folders = sorted((worker.folder / input_sets.SET).iterdir())
    delegate = interpreter = None
    for number, folder in enumerate(folders, 2):
        model_worker.stage(f"input {number} of {len(folders) + 1}")
        one = _of_input(worker, folder)
        if interpreter is None or not _run_again(one, interpreter):
            delegate, interpreter, _ = one.start_quadra()
        one.outputs = one.keep("outputs", interpreter)
        one.tensors["inputs"] = _inputs_of(one, interpreter)
        run_folder.write_arrays(folder / "inputs", one.arrays)
        one.keep_report(delegate)
        _compare_with_cpu(one)


def _inputs_of(worker: Worker, interpreter: "Interpreter") -> list[dict[str, object]]:
    return inputs.tensor_json(interpreter.get_input_details())


def _of_input(worker: Worker, folder: Path) -> Worker:
    """The worker, for another input and folder: model, facts and what the CPU gets are the same."""
    _ = worker.content, worker.for_cpu
    one = copy.copy(worker)
    one.__dict__.pop("arrays", None)
    one.folder, one.spec = folder, RunFolder(folder).spec()
    one.outputs, one.tensors = [], {}
    return one


def _run_again(worker: Worker, interpreter: "Interpreter") -> bool:
    """Runs an interpreter on another input, with the model's state as at the start. False: it cannot begin anew."""
    if not hasattr(interpreter, "reset_all_variables"):
        return False
    if any(tuple(d["shape"]) != a.shape for d, a in zip(interpreter.get_input_details(), worker.arrays)):
        worker.interpreters.allocate(interpreter, worker.model, worker.content, worker.arrays)
    interpreter.reset_all_variables()
    worker.interpreters.set_inputs(interpreter, worker.arrays)
    worker.interpreters.invoke(interpreter, f"{worker.model} on Quadra")
    return True


def _compare_with_cpu(worker: Worker) -> None:
    reference.write(worker)
    if peer_names.XNNPACK in worker.spec.peers and worker.spec.api == "interpreter":
        with contextlib.suppress(QuadraError):  # the run of the first input said why
            worker.keep("xnnpack_outputs", worker.start_xnnpack()[0])
    run_folder.write_json(worker.folder / schema.Status.FILE, schema.Status(state=run_folder.COMPLETE, stage="done"))


def folder_of(folder: Path, index: int) -> Path:
    """That of a further input, by its number from 1."""
    return folder / input_sets.SET / f"{index:05d}"
