"""Replays plans, each in a process of its own: gives them inputs and references, and judges their outputs.

The plans of one model are its partitions. Each gets what was there when it ran: the run's own numbers where that kept them, else those
that the CPU has between the partitions. So a fault in one of them shows in that one alone.
"""

import dataclasses
import importlib.util
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from host_tools.base import settings
from host_tools.base.errors import Misuse, QuadraError
from host_tools.drivers import oclgrind
from host_tools.judge import compare
from host_tools.places.place import Show
from host_tools.record import kept_tensors, plan_view, reading, replayed, run_folder, schema
from host_tools.record.checked_plan import Plan
from host_tools.record.kept_tensors import Kept
from host_tools.record.named_plans import NamedPlan
from host_tools.record.replayed import Job, Reference, Replayed
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import InputSpec, ModelRef
from host_tools.replay.cpu_numbers import Arrays, Cpu, arrays_of
from host_tools.replay.own_process import OwnProcess
from host_tools.request import inputs

CPU = "cpu"


@dataclasses.dataclass(frozen=True)
class Asked:
    """What the command line wants."""

    inputs: InputSpec | None = None  # None: the run's; of a plan alone random values
    model: ModelRef | None = None  # of a plan that is of no run,
    usual: InputSpec = dataclasses.field(default_factory=InputSpec)  # and what `inv run` would give that
    against: str = ""  # cpu, or a run that kept its tensors
    steps: bool = False
    times: int = 0  # runs to be timed
    oclgrind: bool = False
    tolerance: float = 0.0  # of a tensor's range; 0: that of the precision
    deadline_s: float = 300.0


@dataclasses.dataclass(frozen=True)
class OutputRow:
    """An output of the plan and what it was compared with: `run`, `cpu`, or nothing."""

    name: str
    against: str = ""
    error: compare.OutputError | None = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A plan that was replayed. failure: why it did not finish; then there is no more than that."""

    named: NamedPlan
    of: int  # partitions, this is one of
    nodes: tuple[int, ...]
    result: Replayed = dataclasses.field(default_factory=lambda: Replayed(""))
    outputs: tuple[OutputRow, ...] = ()
    failure: QuadraError | None = None

    @property
    def title(self) -> str:
        """Which partition it is; nothing where there is one."""
        return title_of(self.named, self.of)

    @property
    def compared(self) -> bool:
        """Whether anything was."""
        tensors = any(tensor.compared for dispatch in self.result.dispatches for tensor in dispatch.tensors)
        return tensors or any(row.error for row in self.outputs)

    @property
    def ok(self) -> bool:
        findings = any(dispatch.findings for dispatch in self.result.dispatches)
        wrong = any(row.error and row.error.problem for row in self.outputs)
        return not (self.failure or findings or wrong or self.result.first_wrong())


def title_of(named: NamedPlan, count: int) -> str:
    """`partition_1 (of 3)`, by the name that the run gave it; nothing where it is the only one."""
    return f"partition_{named.partition} (of {count})" if count > 1 else ""


def replay(plans: Sequence[NamedPlan], asked: Asked, show: Show) -> list[Outcome]:
    """Runs the plans of one model. Where there are several, one that fails is an outcome, too.

    Misuse: a plan makes no sense, or an input is missing; RunFailed: it did not finish, and where.
    """
    against = None if asked.against in ("", CPU) else _run_of(asked.against)
    run = plans[0].run or against
    found = []
    with tempfile.TemporaryDirectory(prefix="quadra-replay-") as name:
        checked = [named.checked() for named in plans]
        of_run = asked.usual
        if run:
            of_run = InputSpec("arrays", arrays=str(run.path / "inputs"), sizes=run.spec().inputs.sizes)
        process = OwnProcess(Path(name) / "cpu", str(plans[0].path), show, asked.deadline_s)
        cpu = Cpu(process, checked, run, asked.model, asked.inputs or of_run)
        for index, (named, plan) in enumerate(zip(plans, checked)):
            folder = Path(name) / f"plan_{index}"
            folder.mkdir()
            told = _after(title_of(named, len(plans)), show)
            session = _Session(named, plan, asked, told, folder, cpu, against, len(plans) == 1)
            nodes = tuple(sorted({node for dispatch in plan.dispatches for node in dispatch.nodes}))
            outcome = Outcome(named, len(plans), nodes)
            try:
                if asked.steps and outcome.title:
                    print(f"== {outcome.title}", flush=True)
                result, outputs = session.run()
                found.append(dataclasses.replace(outcome, result=result, outputs=tuple(outputs)))
            except QuadraError as error:
                if len(plans) == 1:
                    raise
                found.append(dataclasses.replace(outcome, failure=error))
    return found


def _after(title: str, show: Show) -> Show:
    return (lambda text: show(f"{title}: {text}")) if title else show


class _Session:
    """One plan."""

    def __init__(
        self, named: NamedPlan, plan: Plan, asked: Asked, show: Show, folder: Path, cpu: Cpu, against: RunFolder | None,
        alone: bool,
    ) -> None:  # fmt: skip
        self.named, self.plan, self.asked, self.folder, self.cpu, self.against = (
            named,
            plan,
            asked,
            folder,
            cpu,
            against,
        )
        self.alone = alone  # it is the model's only partition
        self.process = OwnProcess(folder, str(named.path), show, asked.deadline_s, asked.steps)
        self.input_names, self.output_names = plan.outside_names()
        self.run_of_inputs = named.run or against
        self.references: list[Reference] = []
        self.references_in = folder / "references"
        self.tolerance = asked.tolerance or compare.TOLERANCE.get(plan.precision, max(compare.TOLERANCE.values()))

    def run(self) -> tuple[Replayed, list[OutputRow]]:
        arrays = self._inputs()
        if self.against:
            self._take_references(self.against)
        run_folder.write_arrays(self.folder / "inputs", arrays)
        (self.folder / plan_view.FILE).write_bytes(self.named.plan_bytes())
        log = self.folder / "oclgrind.log" if self.asked.oclgrind else None
        reads = self.asked.steps or bool(self.asked.against)
        job = Job(
            plan_view.FILE, self.asked.steps, reads, self.asked.times, str(log or ""), self.tolerance,
            self.references if self.asked.against else [], str(self.references_in),
        )  # fmt: skip
        replayed.write(self.folder / replayed.JOB, job)
        if self.plan.api == "opencl" and not importlib.util.find_spec("pyopencl"):
            raise ModuleNotFoundError("No module named 'pyopencl'", name="pyopencl")
        self.process.run("host_tools.replay.replayer", oclgrind.environment(log) if log else {})
        return replayed.read(self.folder / replayed.RESULT, Replayed), self._outputs()

    def _inputs(self) -> list[np.ndarray]:
        """In the plan's order."""
        run, plan = self.run_of_inputs, self.plan
        known: Arrays = {}
        if run and not self.asked.inputs:
            known = dict(zip((t.tensor or t.name for t in run.tensors("inputs")), run.arrays("inputs")))
        has_model = bool(self.asked.model or run)
        wants_cpu = bool(self.asked.inputs) or not self.alone or not set(self.input_names) <= set(known)
        if self.asked.against == CPU or (has_model and wants_cpu):
            known.update(self.cpu.numbers())
            self.references, self.references_in = self.cpu.references, self.cpu.folder
        elif not known:
            shapes = [
                inputs.InputTensor(f"input_{i}", plan.tensors[io.tensor].dtype, tuple(io.shape))
                for i, io in enumerate(plan.inputs)
            ]
            return inputs.make(self.asked.inputs or InputSpec(), shapes)
        known.update(self._kept_inputs(known))
        missing = [name for name in self.input_names if name not in known]
        if missing:
            found = f"no numbers are known for {', '.join(repr(name) for name in missing[:5])}"
            raise Misuse(
                f"replay {self.named.path}", found, "give --model MODEL, whose CPU makes them, or --inputs FOLDER"
            )
        return [known[name] for name in self.input_names]

    def _kept_inputs(self, known: Arrays) -> Arrays:
        """The partition's inputs as a run kept them, where these are the model's own numbers: those of floats."""
        own = self.named.run if any(tensor.copy_of for tensor in self.plan.tensors) else None
        run = self.against or own
        if not run or self.asked.inputs or self.asked.against == CPU:
            return {}
        found = {name: kept.numbers() for kept, name in _kept(run, self.named.partition) if kept.is_input}
        return {
            name: numbers
            for name, numbers in found.items()
            if name in known and known[name].dtype == numbers.dtype == np.float32 and known[name].size == numbers.size
        }

    def _take_references(self, run: RunFolder) -> None:
        """The tensors that a run kept, by the names that its own plan has for them."""
        kept = _kept(run, self.named.partition)
        self.references = [Reference(name, index) for index, (_, name) in enumerate(kept)]
        self.references_in = self.folder / "references"
        run_folder.write_arrays(self.references_in, [tensor.numbers() for tensor, _ in kept])

    def _outputs(self) -> list[OutputRow]:
        """Each output beside the run's, or the CPU's where the run has none of that name."""
        made = arrays_of(self.folder / "outputs", len(self.plan.outputs))
        of_run: dict[str, tuple[schema.Tensor, np.ndarray]] = {}
        of_cpu: dict[str, tuple[schema.Tensor, np.ndarray]] = {}
        if self.run_of_inputs and not self.asked.inputs:
            run = self.run_of_inputs
            of_run = {t.tensor or t.name: (t, a) for t, a in zip(run.tensors("outputs"), run.arrays("outputs"))}
        for reference in () if self.against else self.references:
            array = reading.array(self.references_in / f"{reference.array:03d}.npy")
            name, shape = reference.name, list(array.shape)
            row = schema.Tensor(name=name, dtype=array.dtype.name, shape=shape, scale=reference.scale)
            of_cpu[name] = row, array
        names = self.output_names
        if self.alone:  # an output of a partition may be as large as one of the model, and be none
            names = _matched(names, made, {name: array for name, (_, array) in of_run.items()})
        return [
            self._row(index, name, numbers, of_run.get(matched), of_cpu.get(name))
            for index, (name, matched, numbers) in enumerate(zip(self.output_names, names, made))
        ]

    def _row(
        self,
        index: int,
        name: str,
        numbers: np.ndarray,
        of_run: tuple[schema.Tensor, np.ndarray] | None,
        of_cpu: tuple[schema.Tensor, np.ndarray] | None,
    ) -> OutputRow:
        found = of_run or of_cpu
        if found and found[1].dtype == np.int64 and numbers.dtype == np.int32 and numbers.size == 2 * found[1].size:
            numbers = np.ascontiguousarray(numbers).view(np.int64)
        if found is None or found[1].size != numbers.size:
            return OutputRow(name)
        tensor, array = found
        if array.dtype.kind in "iu" and numbers.dtype.kind == "f":  # inside the model such a tensor is still floats
            return OutputRow(name)
        ours = numbers.astype(array.dtype).reshape(array.shape)
        error = compare.measure(index, tensor, ours, array, self.tolerance)
        return OutputRow(tensor.name, "the run" if of_run else "the CPU", error)


def _matched(names: Sequence[str], made: Sequence[np.ndarray], expected: Arrays) -> list[str]:
    """The run's output for each made one; a reshape or rounding at the end leaves another name, but then only one fits.
    States are made, too, and are none of the run's."""
    found = [name if name in expected and expected[name].size == m.size else "" for name, m in zip(names, made)]
    for index, array in enumerate(made):
        left = [name for name, other in expected.items() if name not in found and other.size == array.size]
        alike = sum(not name and m.size == array.size for name, m in zip(found, made))
        if not found[index] and len(left) == 1 and alike == 1:
            found[index] = left[0]
    return found


def _run_of(word: str) -> RunFolder:
    try:
        return run_folder.find(word, settings.read().runs_dir)
    except Misuse as error:
        raise Misuse(f"read --against {word}", error.came_back, f"give cpu, or a run: {error.do_next}") from error


def _kept(run: RunFolder, partition: int) -> list[tuple[Kept, str]]:
    """What a run kept of a partition, with the names that its own plan has for them."""
    found = [kept for kept in kept_tensors.read(run) if kept.partition == partition]
    if not found:
        return []
    path = found[0].path.parent / plan_view.FILE
    plan = NamedPlan(path, plan_view.read(path), run).checked()
    copies = (plan.tensors[int(kept.path.stem.removeprefix("tensor_"))] for kept in found)
    makers = [plan.partner(copy, read=False) for copy in copies]
    return [(kept, maker.name if maker else "") for kept, maker in zip(found, makers)]
