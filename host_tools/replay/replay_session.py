"""Replays a plan in a process of its own: gives it inputs and references, and judges its outputs."""

import dataclasses
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from host_tools.base import child_process, cpu_drivers, digests, settings
from host_tools.base.errors import CommandTimedOut, Misuse, QuadraError, RunFailed
from host_tools.judge import compare
from host_tools.places import on_host
from host_tools.places.place import Show
from host_tools.record import kept_tensors, plan_view, reading, replayed, run_folder, schema, spec as specs
from host_tools.record.checked_plan import Plan
from host_tools.record.named_plans import NamedPlan
from host_tools.record.replayed import CpuNumbers, Job, Reference, Replayed
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import InputSpec, ModelRef, RunSpec
from host_tools.replay import oclgrind
from host_tools.request import inputs

CPU = "cpu"
_KINDS = {"Misuse": Misuse}
_DRIVERS = {"PYOPENCL_NO_CACHE": "1", "PYOPENCL_COMPILER_OUTPUT": "0"}
Arrays = dict[str, np.ndarray]  # by the tensor's name


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
    """A plan that was replayed."""

    named: NamedPlan
    result: Replayed
    outputs: tuple[OutputRow, ...]

    @property
    def ok(self) -> bool:
        findings = any(dispatch.findings for dispatch in self.result.dispatches)
        wrong = any(row.error and row.error.problem for row in self.outputs)
        return not (findings or wrong or self.result.first_wrong())


def replay(named: NamedPlan, asked: Asked, show: Show) -> Outcome:
    """Runs a plan. Misuse: it makes no sense, or an input is missing; RunFailed: it did not come to its end, and where."""
    with tempfile.TemporaryDirectory(prefix="quadra-replay-") as name:
        return _Session(named, asked, show, Path(name)).run()


class _Session:
    def __init__(self, named: NamedPlan, asked: Asked, show: Show, folder: Path) -> None:
        self.named, self.asked, self.show, self.folder = named, asked, show, folder
        self.plan: Plan = named.checked()
        self.input_names, self.output_names = self.plan.outside_names()
        self.against = None if asked.against in ("", CPU) else _run_of(asked.against)
        self.run_of_inputs = named.run or self.against
        self.references: list[Reference] = []
        self.tolerance = asked.tolerance or compare.TOLERANCE.get(self.plan.precision, max(compare.TOLERANCE.values()))

    def run(self) -> Outcome:
        arrays = self._inputs()
        if self.against:
            self.references = self._kept(self.against)
        run_folder.write_arrays(self.folder / "inputs", arrays)
        (self.folder / plan_view.FILE).write_bytes(self.named.plan_bytes())
        log = self.folder / "oclgrind.log" if self.asked.oclgrind else None
        reads = self.asked.steps or bool(self.asked.against)
        job = Job(
            plan_view.FILE, self.asked.steps, reads, self.asked.times, str(log or ""), self.tolerance,
            self.references if self.asked.against else [],
        )  # fmt: skip
        replayed.write(self.folder / replayed.JOB, job)
        self._start("host_tools.replay.replayer", oclgrind.environment(log) if log else {}, self.folder)
        result = replayed.read(self.folder / replayed.RESULT, Replayed)
        return Outcome(self.named, result, tuple(self._outputs()))

    def _inputs(self) -> list[np.ndarray]:
        """In the plan's order."""
        run, plan = self.run_of_inputs, self.plan
        known: Arrays = {}
        if run and not self.asked.inputs:
            known = dict(zip((t.name for t in run.tensors("inputs")), run.arrays("inputs")))
        wants_cpu = self.asked.against == CPU or (self.asked.inputs and self._has_model())
        if wants_cpu or (self._has_model() and not set(self.input_names) <= set(known)):
            known.update(self._ask_cpu())
        elif not known:
            shapes = [
                inputs.InputTensor(f"input_{i}", plan.tensors[io.tensor].dtype, tuple(io.shape))
                for i, io in enumerate(plan.inputs)
            ]
            return inputs.make(self.asked.inputs or InputSpec(), shapes)
        missing = [name for name in self.input_names if name not in known]
        if missing:
            found = f"no numbers are known for {', '.join(repr(name) for name in missing[:5])}"
            raise Misuse(
                f"replay {self.named.path}", found, "give --model MODEL, whose CPU makes them, or --inputs FOLDER"
            )
        return [known[name] for name in self.input_names]

    def _has_model(self) -> bool:
        return bool(self.asked.model or self.run_of_inputs)

    def _ask_cpu(self) -> Arrays:
        """Inputs and all tensors of the plan as the CPU makes them; these are references, too."""
        run, model = self.run_of_inputs, self.asked.model
        if model is None and run is None:
            raise Misuse(
                "ask the CPU for the plan's tensors", "it is of no run", "say of which model it is: --model MODEL"
            )
        model = model or _model_of(run)
        given = self.asked.inputs or (InputSpec("arrays", arrays=str(run.path / "inputs")) if run else self.asked.usual)
        spec = RunSpec(specs.new_run_id(model.name), model, given, deadline_s=self.asked.deadline_s)
        run_folder.write_json(self.folder / specs.RunSpec.FILE, spec.to_json())
        names = [tensor.name for tensor in self.plan.tensors] + self.output_names
        run_folder.write_text(self.folder / "names.txt", "\n".join(names))
        try:
            self._start("host_tools.replay.cpu_by_name", {}, self.folder, self.folder / "names.txt")
        except RunFailed as error:
            do_next = "compare with a run that kept its tensors: --against RUN (`inv bisect` makes one)"
            raise RunFailed(f"ask the CPU for the tensors of {model.name}", error.came_back, do_next) from error
        found = replayed.read(self.folder / replayed.CPU, CpuNumbers)
        self.references = found.references
        arrays = _arrays(self.folder / "references", len(found.references))
        known = {reference.name: arrays[reference.array] for reference in found.references}
        known.update(zip(found.inputs, _arrays(self.folder / "model_inputs", len(found.inputs))))
        return known

    def _kept(self, run: RunFolder) -> list[Reference]:
        """The tensors that a run kept, by the names that its own plan has for them."""
        plans = {path.parent: NamedPlan(path, plan_view.read(path), run).checked() for path in plan_view.of_run(run)}
        arrays, found = list[np.ndarray](), list[Reference]()
        for kept in kept_tensors.read(run):
            if kept.partition != self.named.partition:
                continue
            plan = plans[kept.path.parent]
            copy = plan.tensors[int(kept.path.stem.removeprefix("tensor_"))]
            found.append(Reference(plan.partner(copy, read=False), len(arrays)))
            arrays.append(kept.numbers())
        run_folder.write_arrays(self.folder / "references", arrays)
        return found

    def _start(self, module: str, env: Mapping[str, str], *words: object) -> None:
        """Runs one of our processes to its end; raises what it said, or where it ended."""
        argv, path = on_host.python_command(module, *words)
        cache = settings.make_folder(settings.read().driver_cache_dir, "QUADRA_DRIVER_CACHE_DIR")
        env = {**path, **cpu_drivers.settings(1), **cpu_drivers.caches(cache), **_DRIVERS, **env}
        if self.asked.steps and sys.stdin.isatty():
            self._raise_unless_done(child_process.hand_over(argv, env=env), "its steps", "")
            return
        stage = "start"

        def on_line(line: str) -> None:
            nonlocal stage
            if line.startswith("stage: "):
                stage = line[7:]
                self.show(stage)
            elif self.asked.steps:
                print(line, flush=True)

        try:
            done = child_process.run(
                argv,
                timeout_s=self.asked.deadline_s,
                env=env,
                check=False,
                on_line=on_line,
                on_error_line=lambda line: None,
            )
        except CommandTimedOut as error:
            found = f"it did not end within {self.asked.deadline_s:g} s; it was at: {stage}"
            raise CommandTimedOut(f"replay {self.named.path}", found, "give it more time with --timeout") from error
        self._raise_unless_done(done.returncode, stage, done.stderr)

    def _raise_unless_done(self, status: int, stage: str, said: str) -> None:
        if status == 0:
            return
        if (self.folder / schema.ErrorFile.FILE).exists():
            value = reading.kept(self.folder, schema.ErrorFile)
            raise _KINDS.get(value.kind, RunFailed)(*value.parts)
        ended = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        last = "".join(f"\n  | {line}" for line in said.strip().splitlines()[-12:])
        do_next = "if the plan is whole, its kernel or the driver is at fault: --oclgrind tells which access is wrong"
        raise RunFailed(f"replay {self.named.path}", f"the process {ended} at: {stage}{last}", do_next)

    def _outputs(self) -> list[OutputRow]:
        """Each output beside the run's, or the CPU's where the run has none of that name."""
        made = _arrays(self.folder / "outputs", len(self.plan.outputs))
        of_run: dict[str, tuple[schema.Tensor, np.ndarray]] = {}
        of_cpu: dict[str, tuple[schema.Tensor, np.ndarray]] = {}
        if self.run_of_inputs and not self.asked.inputs:
            run = self.run_of_inputs
            of_run = {t.name: (t, a) for t, a in zip(run.tensors("outputs"), run.arrays("outputs"))}
        for reference in () if self.against else self.references:
            array = reading.array(self.folder / "references" / f"{reference.array:03d}.npy")
            name, shape = reference.name, list(array.shape)
            row = schema.Tensor(name=name, dtype=array.dtype.name, shape=shape, scale=reference.scale)
            of_cpu[name] = row, array
        names = _matched(self.output_names, made, {name: array for name, (_, array) in of_run.items()})
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


def _arrays(folder: Path, count: int) -> list[np.ndarray]:
    return [reading.array(folder / f"{i:03d}.npy") for i in range(count)]


def _run_of(word: str) -> RunFolder:
    try:
        return run_folder.find(word, settings.read().runs_dir)
    except Misuse as error:
        raise Misuse(f"read --against {word}", error.came_back, f"give cpu, or a run: {error.do_next}") from error


def _model_of(run: RunFolder | None) -> ModelRef:
    """The model of a run, if its file is still the same."""
    assert run
    model, path = run.spec().model, Path(run.spec().model.path)
    try:
        same = path.is_file() and digests.sha256_of(path) == model.sha256
    except (OSError, QuadraError):
        same = False
    if not same:
        found = f"{path} is not there, or another one now"
        raise Misuse(f"ask the CPU for the tensors of {run.path.name}", found, "give it: --model MODEL")
    return model
