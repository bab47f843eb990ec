"""The process that replays: `replayer FOLDER` does the job of the folder and leaves outputs/ and result.msgpack.

A plan's kernels may do anything to their process: this one. Before each dispatch it says which one, so that whoever
started it can tell where it ended.
"""

import contextlib
import sys
from pathlib import Path

import numpy as np

from host_tools.base.errors import Misuse
from host_tools.drivers.oclgrind import Log
from host_tools.judge import tensor_errors
from host_tools.places import model_worker, worker
from host_tools.record import checked_plan, plan_view, reading, replayed, run_folder, schema
from host_tools.record.checked_plan import Plan, Tensor
from host_tools.record.replayed import DispatchFacts, Job, Reference, Replayed, TensorFacts
from host_tools.replay import executor
from host_tools.replay.executor import Executor

_WARM_UP_RUNS = 1


class Replayer:
    """One plan, from its inputs to its outputs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.job = replayed.read(folder / replayed.JOB, Job)
        self.plan = checked_plan.checked(plan_view.read(folder / self.job.plan), self.job.plan)
        self.inputs = [reading.array(folder / "inputs" / f"{i:03d}.npy") for i in range(len(self.plan.inputs))]
        self.relative: dict[int, float] = {}  # errors, by tensor
        self.references = {reference.name: reference for reference in self.job.references}
        self._stage("compile the kernels")
        self.executor = _executor(self.plan, bool(self.job.oclgrind_log))
        self.result = Replayed(self.executor.device, self.executor.notes)

    def _stage(self, text: str) -> None:
        """On a terminal the steps themselves say it."""
        if not (self.job.steps and sys.stdin.isatty()):
            model_worker.stage(text)

    def run(self) -> None:
        log = Log(Path(self.job.oclgrind_log)) if self.job.oclgrind_log else None
        made_whole = _by_maker(self.plan)
        self._write_inputs()
        for number, dispatch in enumerate(self.plan.dispatches):
            self._stage(f"dispatch {dispatch.name}")
            self.executor.run(number)
            facts = DispatchFacts(number, dispatch.name, dispatch.kernel, dispatch.entry, dispatch.nodes)
            facts.findings = log.news() if log else ""
            if self.job.reads_tensors:
                facts.tensors = [self._facts(index, number) for index in made_whole.get(number, ())]
            self.result.dispatches.append(facts)
            if self.job.steps:
                step(facts)
        self._stage("read the outputs")
        outputs = [self.executor.read(self.plan.tensors[io.tensor]) for io in self.plan.outputs]
        run_folder.write_arrays(self.folder / "outputs", outputs)
        if self.job.times:
            self._measure()
        replayed.write(self.folder / replayed.RESULT, self.result)

    def _write_inputs(self) -> None:
        for index, (io, numbers) in enumerate(zip(self.plan.inputs, self.inputs)):
            tensor = self.plan.tensors[io.tensor]
            self.executor.write(tensor, executor.as_stored(tensor, numbers, f"input {index}"))

    def _measure(self) -> None:
        self._stage("measure")
        for run in range(_WARM_UP_RUNS + self.job.times):
            self._write_inputs()  # their memory has served for other tensors since
            for facts, us in zip(self.result.dispatches, self.executor.run_timed()):
                if run >= _WARM_UP_RUNS:
                    facts.us.append(us)

    def _facts(self, index: int, dispatch: int) -> TensorFacts:
        tensor = self.plan.tensors[index]
        numbers = self.executor.read(tensor)
        finite = numbers[np.isfinite(numbers)].astype(np.float64)
        found = TensorFacts(
            index, tensor.name, tensor.shape, tensor.cell,
            nan=int(np.isnan(numbers).sum()), inf=int(np.isinf(numbers).sum()),
        )  # fmt: skip
        if finite.size:
            found.least, found.most, found.mean = float(finite.min()), float(finite.max()), float(finite.mean())
        reference = self.references.get(tensor.name)
        if reference and not tensor.copy_of:
            self._compare(found, tensor, numbers, reference)
            read = [self.relative[other] for other in self.plan.read_by(dispatch) if other in self.relative]
            found.read_relative = max(read, default=-1.0)
            if found.compared:
                self.relative[index] = found.relative
        return found

    def _compare(self, found: TensorFacts, tensor: Tensor, numbers: np.ndarray, reference: Reference) -> None:
        expected = reading.array(self.folder / self.job.references_in / f"{reference.array:03d}.npy")
        if expected.size != numbers.size:  # a pass gave it another shape
            return
        fact = schema.CpuTensor(
            tensor=tensor.copy_of, name=tensor.name, dtype=expected.dtype.name, shape=list(expected.shape),
            scale=reference.scale, zero_point=reference.zero_point,
        )  # fmt: skip
        ours = numbers.ravel()
        theirs = tensor_errors.numbers(expected, fact, ours)
        error = tensor_errors.error(ours, theirs, fact, self.job.tolerance)
        found.compared, found.problem = True, error.problem
        found.max_error, found.relative, found.different = error.max_error, error.relative, error.different
        found.worst_value, found.worst_expected = error.worst_value, error.worst_expected
        place = error.worst_at[0] if error.worst_at else 0
        found.worst_at = [int(i) for i in np.unravel_index(place, numbers.shape)]


def _executor(plan: Plan, simulated: bool) -> Executor:
    """Of the plan's API: a process loads one driver."""
    if plan.api == "opencl":
        from host_tools.replay.opencl_executor import OpenClExecutor

        return OpenClExecutor(plan, simulated)
    from host_tools.replay.gles_executor import GlesExecutor

    if simulated:
        raise Misuse("replay the plan on Oclgrind", "it is of OpenGL ES, Oclgrind knows OpenCL", "omit --oclgrind")
    return GlesExecutor(plan)


def _by_maker(plan: Plan) -> dict[int, list[int]]:
    """Tensors by the dispatch that makes them whole."""
    found: dict[int, list[int]] = {}
    for tensor, dispatch in plan.makers().items():
        found.setdefault(dispatch, []).append(tensor)
    return found


def step(facts: DispatchFacts) -> None:
    """Shows what a dispatch made; on a terminal, waits for Enter."""
    nodes = f" nodes {','.join(map(str, facts.nodes))}" if facts.nodes else ""
    print(f"{facts.name}{nodes}")
    for tensor in facts.tensors:
        print(f"  {words(tensor)}")
    if facts.findings:
        print("  " + facts.findings.replace("\n", "\n  "))
    if sys.stdin.isatty():
        with contextlib.suppress(EOFError):
            input("  Enter: the next one ")


def words(tensor: TensorFacts) -> str:
    """One line of a tensor's numbers."""
    shape = "×".join(map(str, tensor.shape))
    strange = "".join(f", {count} {word}" for count, word in ((tensor.nan, "NaN"), (tensor.inf, "infinite")) if count)
    compared = (
        f", off by {tensor.max_error:.2e}{': ' + tensor.problem if tensor.problem else ''}" if tensor.compared else ""
    )
    return f"{tensor.name} {shape} {tensor.cell.lower()}: {tensor.least:.6g} to {tensor.most:.6g}, mean {tensor.mean:.6g}{strange}{compared}"


def main(argv: list[str]) -> int:
    folder = Path(argv[0])
    try:
        return worker.answer(folder, lambda: Replayer(folder).run())
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
