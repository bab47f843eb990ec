"""What the functions of quadra_tools return: plain values. What they are made from is imported when it is needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np

    from host_tools.judge.judged import Judged
    from host_tools.phone.adb.choice import Found
    from host_tools.record import schema
    from host_tools.record.printed import BenchDocument, BenchRunner
    from host_tools.record.run_folder import RunFolder


@dataclass(frozen=True)
class Node:
    """A node of a model. index: in its subgraph; subgraph 0 is the main one, others are bodies of loops and branches.

    op: TFLite's name. reason: why it stays on the CPU; empty on the GPU. name: of its first output.
    """

    index: int
    op: str
    on: Literal["gpu", "cpu"]
    reason: str = ""
    name: str = ""
    subgraph: int = 0


@dataclass(frozen=True)
class Output:
    """An output of a run, judged against the CPU's.

    relative_error: the largest error, divided by the output's range on the CPU (of labels, the share that differs).
    largest_error: the same in the output's own unit. allowed: what relative_error may be. problem: why it is wrong, as the
    end of a sentence; empty: it is right.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    relative_error: float
    largest_error: float
    allowed: float
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem


@dataclass(frozen=True)
class OverInputs:
    """An output of a run over all its inputs; errors in the output's own unit.

    quantiles: by share (0.5, 0.9, 0.99, 0.999), what so many numbers are off by at most. cosine: the least of all inputs. psnr_db:
    infinite where all is equal. Of labels these are NaN or empty. relative_errors: by input, as `Output.relative_error`. wrong: the
    names of the inputs with which it is wrong.
    """

    name: str
    inputs: tuple[str, ...] = field(repr=False)
    largest_error: float
    mean_error: float
    rms_error: float
    quantiles: dict[float, float]
    cosine: float
    psnr_db: float
    relative_errors: tuple[float, ...] = field(repr=False)
    wrong: tuple[str, ...] = ()
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem


@dataclass(frozen=True)
class Measured:
    """A metric. mean, least, most: over the inputs. values: by the name of the input. problem: which limit it misses; empty: none."""

    name: str
    mean: float
    least: float
    most: float
    values: dict[str, float] = field(repr=False)
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem


@dataclass(frozen=True)
class Times:
    """Of one runtime, in ms; None: not measured.

    start: up to the end of the first inference, of which first is a part. median and minimum: wall-clock time of an inference
    after the warm-up. processor: the median of its processor time. samples: how many inferences.
    """

    start_ms: float | None
    first_ms: float | None
    median_ms: float | None
    minimum_ms: float | None
    processor_ms: float | None
    samples: int


@dataclass(frozen=True)
class Sustained:
    """Quadra without a pause: medians of an inference's wall-clock time in the first and the last tenth of the time.

    series: what is known of the device meanwhile, by name with unit ("skin temperature, °C"), as (seconds, value).
    """

    seconds: float
    inferences: int
    first_ms: float
    last_ms: float
    series: dict[str, list[tuple[float, float]]] = field(repr=False)


@dataclass(frozen=True)
class Result:
    """A run of a model at one place, and its judgement.

    model, signature (empty: the main graph). place: host, jvm or a device's serial. backend: opencl or gles; none: no GPU API
    works there. gpu: the device's name. precision: f32, f32_f16 or f16. nodes: of the model, with where each ran. outputs: empty
    if the CPU has no result to judge by (`ok` is None then). times: by runtime: quadra, xnnpack, …. clock: processor or wall,
    the time that `ms` and `ratio` are of: processor time where the driver computes on the CPU with one thread. report: the page.
    """

    model: str
    signature: str
    place: str
    backend: str
    gpu: str
    precision: str
    nodes: tuple[Node, ...] = field(repr=False)
    outputs: tuple[Output, ...]
    times: dict[str, Times] = field(repr=False)
    clock: Literal["processor", "wall"]
    folder: Path
    report: Path
    _judged: Judged = field(repr=False, compare=False)

    @property
    def ok(self) -> bool | None:
        """Whether all outputs are right; None: the CPU has no result to judge by."""
        return self._judged.ok

    @property
    def nodes_on_cpu(self) -> tuple[Node, ...]:
        """Those that did not run on the GPU, each with its reason."""
        return tuple(node for node in self.nodes if node.on == "cpu")

    @property
    def largest_error(self) -> float:
        """Of all outputs, relative to their ranges."""
        return self._judged.largest_error

    @property
    def sustained(self) -> Sustained | None:
        """Of a run with `sustained_s`."""
        from host_tools.record import sustained

        found = sustained.of(self._judged.folder)
        if not found:
            return None
        series = dict(found.series())
        return Sustained(found.seconds, found.inferences, found.first_us / 1000, found.last_us / 1000, series)

    @property
    def ms(self) -> float | None:
        """The median time of an inference, by `clock`; None: none was timed."""
        found = self.times.get("quadra")
        return (found.processor_ms if self.clock == "processor" else found.median_ms) if found else None

    @property
    def wait_ms(self) -> float:
        """How long every inference waits without computing, at least, as in a sleep or at a lock, where `clock` is processor:
        `ms` does not show it."""
        from host_tools.record import schema, times

        folder = self._judged.folder
        return times.wait_us(folder.read(schema.Timings), folder.read(schema.Verdicts)) / 1000

    def ratio(self, peer: str = "xnnpack") -> float:
        """Quadra's time relative to another runtime's, by `clock`: below 1 Quadra is faster.

        Misuse: the other one was not asked for. JudgementFailed: one of the two was not timed, or the figure is not reliable,
        because the machine was busy or every inference waits.
        """
        from host_tools.base.errors import JudgementFailed, Misuse
        from host_tools.record import peer_names, schema, times

        folder, key = self._judged.folder, peer_names.key(peer)
        timings = folder.read(schema.Timings)
        found = times.ratio(timings, folder.read(schema.Verdicts), key)
        if found and found.reliable:
            return found.ratio
        tried = f"divide the time of {self._judged.folder.spec().label} by {peer_names.label(peer)}'s"
        if found:
            raise JudgementFailed(tried, f"not reliable: {found.doubt}", self._after_doubt(found.ratios.waits))
        if "quadra" not in times.steady(timings):
            raise JudgementFailed(tried, "Quadra was not timed", f"see {folder.path / 'log.txt'}")
        if why := timings.error_of(key):
            raise JudgementFailed(tried, f"{peer_names.label(peer)} did not run: {why}", "compare with another one")
        raise Misuse(tried, f"{peer!r} was not timed", f"run it with peers=[{peer!r}]")

    def _after_doubt(self, waits: bool) -> str:
        if waits:
            return f"`./inv open {self.folder.name}` shows where the time goes; limits of check() count the wait"
        return "run it again while less else runs on the machine, or with more `runs`; `times` has what was measured"

    @property
    def over_inputs(self) -> tuple[OverInputs, ...]:
        """Each output over all inputs, one or many; none if the CPU has no result to judge by."""
        from host_tools.judge import over_inputs

        judged = self._judged
        if not judged.comparison:
            return ()
        found = judged.over or over_inputs.judge(judged.folder, judged.comparison, keep=False)
        return tuple(_over_inputs_of(row, found.names) for row in found.outputs)

    @property
    def metrics(self) -> dict[str, Measured]:
        """Those that were asked for, by name."""
        found = self._judged.metrics
        return {row.name: _measured(row, found.names) for row in found.metrics} if found else {}

    def array(self, output: int | str = 0, input: int = 0) -> np.ndarray:
        """The values of an output, by its index or its name, as Quadra computed them; input: which of many."""
        return self._folder_of(input).arrays("outputs")[self._index(output)]

    def cpu_array(self, output: int | str = 0, input: int = 0) -> np.ndarray:
        """The same as the CPU's interpreter computed them."""
        return self._folder_of(input).arrays("cpu_outputs")[self._index(output)]

    def _folder_of(self, input: int) -> RunFolder:
        from host_tools.base.errors import Misuse
        from host_tools.judge import over_inputs

        folders = over_inputs.folders(self._judged.folder)
        if not -len(folders) <= input < len(folders):
            raise Misuse(f"read the input {input}", f"there are {len(folders)}", f"give 0 to {len(folders) - 1}")
        return folders[input]

    def check(
        self, *, max_error: float | None = None, max_ms: float | None = None, max_cpu_nodes: int | None = None
    ) -> Result:
        """The result itself, if all outputs are right and no limit is exceeded. None: no such limit.

        max_error: of `largest_error`, besides the tolerance that the run was judged by (`run(max_error=…)` replaces that).
        max_ms: of `ms` and `wait_ms` together. JudgementFailed: something is wrong or exceeded. ToolMissing: the backend that was asked for is not here.
        """
        from host_tools.judge.limits import Limits

        self._judged.check()
        Limits(max_ms, max_cpu_nodes, max_error).check(self._judged)
        return self

    def _index(self, output: int | str) -> int:
        from host_tools.base.errors import Misuse

        names = [tensor.name for tensor in self._judged.folder.tensors("outputs")]
        if isinstance(output, str) and output in names:
            return names.index(output)
        if isinstance(output, int) and -len(names) <= output < len(names):
            return output
        raise Misuse(
            f"read the output {output!r}", "there is no such output", f"give an index, or one of: {', '.join(names)}"
        )


@dataclass(frozen=True)
class Support:
    """Which nodes of a model would run on the GPU of a target. api: opencl or gles."""

    model: str
    api: str
    target: str
    precision: str
    partitions: int
    nodes: tuple[Node, ...] = field(repr=False)

    @property
    def nodes_on_cpu(self) -> tuple[Node, ...]:
        """Those that would not run on the GPU, each with its reason."""
        return tuple(node for node in self.nodes if node.on == "cpu")


@dataclass(frozen=True)
class Bench:
    """A bench. document: its figures, as `bench --json` prints them (docs/run_folder.md has its fields). page: an HTML file."""

    folder: Path
    page: Path
    document: BenchDocument

    def ratio(self, model: str, peer: str = "xnnpack", backend: str = "opencl", what: str = "steady") -> float:
        """Quadra's time relative to a peer's with one thread, of an inference (steady) or a start (cold, warm, second).

        Misuse: it was not asked for. JudgementFailed: one of the two did not run or is wrong, or the figure is not reliable.
        `document` has all figures.
        """
        from host_tools.base.errors import JudgementFailed, Misuse
        from host_tools.record import peer_names

        key = peer_names.key(peer)
        tried = f"divide the time of {model} on {backend} by {peer_names.label(peer)}'s"
        row = next((one for one in self.document.rows if (one.model, one.backend) == (model, backend)), None)
        if not row:
            there = ", ".join(dict.fromkeys(f"{one.model} on {one.backend}" for one in self.document.rows))
            raise Misuse(tried, f"{model!r} on {backend} is not in it", f"it has {there or 'nothing'}")
        found = row.over.get(key, {}).get(what)
        if found and found.reliable:
            return float(found.ratio)
        if found:
            raise JudgementFailed(tried, f"not reliable: {found.doubt}", "measure again while less else runs there")
        if key not in row.runners:
            raise Misuse(tried, f"{peer!r} was not timed", f"ask for it with peers=[{peer!r}]")
        reasons = (row.error, *(_why_no_time(who, row.runners.get(who)) for who in ("quadra", key)))
        why = next(filter(None, reasons), f"there is no time of a {what} start or inference of both")
        raise JudgementFailed(tried, why, f"see {self.page}")


@dataclass(frozen=True)
class Device:
    """A device that adb sees. kind: phone, emulator or virtual. ready: it can be used now; why not says `state`."""

    serial: str
    kind: Literal["phone", "emulator", "virtual"]
    model: str
    state: str
    ready: bool


def nodes_of(report: schema.Verdicts) -> tuple[Node, ...]:
    return tuple(Node(one.index, one.op, one.on, one.reason, one.name, one.subgraph) for one in report.nodes)


def result_of(judged: Judged) -> Result:
    """A judged run as a value."""
    from host_tools.record import schema, times
    from host_tools.show import report

    folder = judged.folder
    spec, told, timings = folder.spec(), folder.read(schema.Verdicts), folder.read(schema.Timings)
    rows = judged.comparison.outputs if judged.comparison else ()
    return Result(
        model=spec.model.name,
        signature=spec.signature,
        place=spec.device or spec.place,
        backend=told.backend,
        gpu=told.device.name,
        precision=told.precision or str(spec.options.get("precision", "f32")),
        nodes=nodes_of(told),
        outputs=tuple(
            Output(one.name, one.shape, one.dtype, one.relative, one.max_error, one.allowed, one.problem)
            for one in rows
        ),
        times={who: _times_of(who, timings) for who in times.NAMES if who in timings.samples_us},
        clock=times.clock(timings, told),
        folder=folder.path,
        report=folder.path / report.FILE,
        _judged=judged,
    )


def _why_no_time(key: str, found: BenchRunner | None) -> str:
    """Why a runner of a bench has no time that counts; empty: it has one."""
    from host_tools.record import times

    name = times.NAMES.get(key, key)
    if not found or found.error:
        return f"{name} did not run: {found.error if found else 'the bench has nothing of it'}"
    return f"the outputs of {name} are wrong" if found.right is False else ""


def _over_inputs_of(row: schema.OutputOverInputs, names: list[str]) -> OverInputs:
    return OverInputs(
        name=row.name,
        inputs=tuple(names),
        largest_error=float(row.max_error),
        mean_error=float(row.mean_error),
        rms_error=float(row.rms_error),
        quantiles={float(share): float(value) for share, value in row.quantiles.items()},
        cosine=float(row.cosine),
        psnr_db=float(row.psnr_db),
        relative_errors=tuple(map(float, row.relative)),
        wrong=tuple(names[index] for index in row.wrong),
        problem=row.problem,
    )


def _measured(row: schema.MetricRow, names: list[str]) -> Measured:
    values = dict(zip(names, map(float, row.values)))
    return Measured(row.name, float(row.mean), float(row.least), float(row.most), values, row.problem)


def _times_of(who: str, timings: schema.Timings) -> Times:
    from host_tools.show import run_document

    found = run_document.times_of(who, timings)
    in_us = (found.start, found.first, found.median, found.minimum, found.processor)
    start, first, median, minimum, processor = (None if us is None else us / 1000 for us in in_us)
    return Times(start, first, median, minimum, processor, found.samples)


def device_of(found: Found) -> Device:
    emulator = found.serial.startswith("emulator-")
    kind: Literal["phone", "emulator", "virtual"] = "virtual" if found.virtual else "emulator" if emulator else "phone"
    ready = found.state == "device" and not found.busy
    return Device(found.serial, kind, found.model, found.busy or found.state, ready)
