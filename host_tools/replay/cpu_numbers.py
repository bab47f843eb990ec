"""The CPU's numbers for the plans of a model: asked once, for all of its partitions."""

from functools import cached_property
from pathlib import Path

import numpy as np

from host_tools.base import digests
from host_tools.base.errors import CommandTimedOut, Misuse, QuadraError, RunFailed
from host_tools.record import reading, replayed, run_folder, spec as specs
from host_tools.record.checked_plan import Plan
from host_tools.record.replayed import CpuNumbers, Reference
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import InputSpec, ModelRef, RunSpec
from host_tools.replay.own_process import OwnProcess

Arrays = dict[str, np.ndarray]  # by the tensor's name


class Cpu:
    """Runs the model where its numbers are first asked for. model: the one that was given, if it is not the run's."""

    def __init__(
        self, process: OwnProcess, plans: list[Plan], run: RunFolder | None, model: ModelRef | None, given: InputSpec
    ) -> None:
        self._process, self._plans, self._run, self._model, self._given = process, plans, run, model, given

    @property
    def references(self) -> list[Reference]:
        """What tensors should be; their arrays lie in the folder `references`."""
        return self._answer.references

    @property
    def folder(self) -> Path:
        return self._process.folder / "references"

    def numbers(self) -> Arrays:
        """The model's inputs, and all tensors of the plans that the CPU has."""
        answer = self._answer
        arrays = arrays_of(self.folder, len(answer.references))
        known = {reference.name: arrays[reference.array] for reference in answer.references}
        known.update(zip(answer.inputs, arrays_of(self._process.folder / "model_inputs", len(answer.inputs))))
        return known

    @property
    def _answer(self) -> CpuNumbers:
        if isinstance(self._asked, QuadraError):
            raise self._asked
        return self._asked

    @cached_property
    def _asked(self) -> CpuNumbers | QuadraError:
        """An error, too, is of all partitions: a run that took its whole time is not repeated for the next one."""
        try:
            return self._ask()
        except QuadraError as error:
            return error

    def _ask(self) -> CpuNumbers:
        model = self._model or _model_of(self._run)
        process = self._process
        process.folder.mkdir(exist_ok=True)
        signature = self._run.spec().signature if self._run else ""
        spec = RunSpec(specs.new_run_id(model.name), model, self._given, signature, deadline_s=process.deadline_s)
        run_folder.write_json(process.folder / specs.RunSpec.FILE, spec.to_json())
        names = {name for plan in self._plans for name in (*(t.name for t in plan.tensors), *plan.outside_names()[1])}
        run_folder.write_text(process.folder / "names.txt", "\n".join(sorted(names)))
        try:
            process.run("host_tools.replay.cpu_by_name", {}, process.folder / "names.txt")
        except (RunFailed, CommandTimedOut) as error:
            do_next = "compare with a run that kept its tensors: --against RUN (`inv bisect` makes one)"
            if isinstance(error, CommandTimedOut):
                do_next = f"{error.do_next}, or {do_next}"
            raise type(error)(f"ask the CPU for the tensors of {model.name}", error.came_back, do_next) from error
        return replayed.read(process.folder / replayed.CPU, CpuNumbers)


def arrays_of(folder: Path, count: int) -> list[np.ndarray]:
    """Those that `run_folder.write_arrays` wrote there."""
    return [reading.array(folder / f"{i:03d}.npy") for i in range(count)]


def _model_of(run: RunFolder | None) -> ModelRef:
    """The model of a run, if its file is still the same."""
    if run is None:
        raise Misuse("ask the CPU for the plan's tensors", "it is of no run", "say of which model it is: --model MODEL")
    model, path = run.spec().model, Path(run.spec().model.path)
    try:
        same = path.is_file() and digests.sha256_of(path) == model.sha256
    except (OSError, QuadraError):
        same = False
    if not same:
        found = f"{path} is not there, or another one now"
        raise Misuse(f"ask the CPU for the tensors of {run.path.name}", found, "give it: --model MODEL")
    return model
