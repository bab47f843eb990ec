"""Equal inferences in a worker: the same inputs, and the model's state as at the start. repeats.json has their digests.

`repetitions` of the RunSpec says how many; with `keep_tensors` every tensor that a dispatch makes is a value, too.
"""

import time
from typing import TYPE_CHECKING

import numpy as np

from host_tools.base.errors import Misuse
from host_tools.record import kept_tensors, run_folder
from host_tools.record.repeats import Recorder
from host_tools.record.run_folder import RunFolder

if TYPE_CHECKING:
    from host_tools.places.model_worker import Worker

VALUES = "values"  # the folder of their arrays
OUTPUT, TENSOR = "output", "tensor"  # names of values: "output 0"
_SHARE = 0.8  # of the deadline, for inferences: what was found is to be kept
_MOST_RESULTS = 32  # of inferences with all tensors: they are large, and a few are enough
_LEAST = 2  # inferences: one alone is compared with nothing
_SAID_EVERY_S = 2.0


def repeat(worker: "Worker", baseline_bytes: int) -> None:
    """Compares as many inferences as the RunSpec asks for, or as the deadline allows."""
    end = time.monotonic() + _SHARE * worker.spec.deadline_s
    keeps, wanted = worker.spec.keep_tensors, worker.spec.repetitions
    run_folder.write_json(worker.folder / "model.json", worker.facts)
    delegate, interpreter, _ = worker.start_quadra(
        **({"dump_dir": str(worker.folder), "dump_tensors": "1"} if keeps else {})
    )
    worker.keep_report(delegate)
    kept = _kept(worker) if keeps else []
    recorder = Recorder(worker.folder / VALUES)

    def record() -> None:
        outputs = worker.interpreters.outputs_of(interpreter)
        recorder.add(named(outputs, [one.numbers() for one in kept]))

    record()
    said = time.monotonic()
    while len(recorder.results) < min(wanted, _LEAST) or (len(recorder.results) < wanted and time.monotonic() < end):
        if keeps and recorder.distinct >= _MOST_RESULTS:
            break
        if time.monotonic() > said + _SAID_EVERY_S:
            print(f"stage: inference {len(recorder.results)} of {wanted}", flush=True)
            said = time.monotonic()
        interpreter.reset_all_variables()
        worker.interpreters.set_inputs(interpreter, worker.arrays)
        worker.interpreters.invoke(interpreter, f"{worker.model} once more")
        record()
    run_folder.write_json(worker.folder / "repeats.json", recorder.as_file())


def named(outputs: list[np.ndarray], tensors: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Values by name: tensors in the order of execution, then outputs."""
    found = {f"{TENSOR} {index}": array for index, array in enumerate(tensors)}
    return {**found, **{f"{OUTPUT} {index}": array for index, array in enumerate(outputs)}}


def _kept(worker: "Worker") -> list[kept_tensors.Kept]:
    """None where no node is on the GPU."""
    try:
        return kept_tensors.read(RunFolder(worker.folder))
    except Misuse:
        return []
