"""A plan's kernels on a phone's GPU, in figures: those of the machine code, times loop trips and work-items."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from host_tools.analyse import compilers, loop_trips, machine_code, spirv, spirv_trips
from host_tools.analyse.compilers import Said
from host_tools.analyse.loop_trips import Trips
from host_tools.analyse.machine_code import Compiled
from host_tools.analyse.phone_gpus import Gpu
from host_tools.record.checked_plan import Dispatch, Plan

COUNTED = (*machine_code.WORK, "wave_slots", "half_rate_slots")
NOT_READ = "what the compiler said could not be read"


@dataclass(frozen=True)
class Once:
    """Bytes that a dispatch reads and writes, each once: of weights and other constants, of activations."""

    weights: int
    read: int
    written: int


@dataclass(frozen=True)
class Launch:
    """A dispatch with the text that it runs. numbers: of the text's uniforms, by name; Vulkan's: the bytes of its buffers of
    numbers, by binding; None: they are the dispatch's. once: None where it is not known."""

    text: str
    dispatch: Dispatch
    numbers: Mapping[str, Any] | None = None
    once: Once | None = None


@dataclass(frozen=True)
class Memory:
    """Of a model on a GPU, in bytes."""

    intermediates: int  # tensors, without the buffers of inputs and outputs
    weights: int


@dataclass(frozen=True)
class DispatchFigures:
    """One dispatch. work: executed by all its work-items, by COUNTED: wave_slots are those of
    started waves, half_rate_slots the same where the hardware has two of a half's in the time of a float's."""

    name: str
    nodes: tuple[int, ...]  # of the model
    items: int  # work-items that compute
    work: Counter[str]
    is_complete: bool  # False: some loop's trips are not known; it counts as one trip
    lanes: int = 0  # of the waves in which some work-item computes
    once: Once | None = None

    def moved_bytes(self, texel: int, how: Sequence[str] = ("read", "written")) -> int:
        """By instructions: before any cache. texel: bytes of one."""
        return sum(self.work[f"{one}_bytes"] + texel * self.work[f"{one}_texels"] for one in how)

    def least_bytes(self, texel: int) -> int:
        """Each once, and no more than its instructions move: some read a part of a tensor. 0: not known."""
        if self.once is None:
            return 0
        read, written = self.once.weights + self.once.read, self.once.written
        if self.is_complete:
            read = min(read, self.moved_bytes(texel, ("read",)))
            written = min(written, self.moved_bytes(texel, ("written",)))
        return read + written


@dataclass
class KernelFigures:
    """One kernel's text, with the dispatches that run it. failure: why there is no machine code; empty: there is."""

    entry: str
    failure: str
    compiled: Compiled | None
    dispatches: list[DispatchFigures] = field(default_factory=list)
    text: str = ""

    @property
    def is_complete(self) -> bool:
        return self.compiled is not None and all(one.is_complete for one in self.dispatches)

    def work(self, what: str) -> int:
        """Executed by all dispatches."""
        return sum(one.work[what] for one in self.dispatches)


@dataclass
class Figures:
    """A model on a GPU. own_multiply_adds: of the model's ops, by their shapes; 0: not known."""

    gpu: Gpu
    mesa: str  # version of its packages
    precision: str
    target: str  # empty: they were not made for one
    kernels: list[KernelFigures]  # the most slots first
    own_multiply_adds: int = 0
    api: str = "gles"
    memory: Memory | None = None
    outside_bytes: int = 0  # of the model's inputs and outputs

    @property
    def is_complete(self) -> bool:
        return all(kernel.is_complete for kernel in self.kernels)

    @property
    def texel_bytes(self) -> int:
        return 16 if self.precision == "f32" else 8

    def work(self, what: str) -> int:
        return sum(kernel.work(what) for kernel in self.kernels)

    def bytes(self, how: str) -> int:
        """read or written, by instructions: before any cache."""
        return self.work(f"{how}_bytes") + self.texel_bytes * self.work(f"{how}_texels")

    @property
    def failed(self) -> list[KernelFigures]:
        return [kernel for kernel in self.kernels if kernel.failure]


def of(gpu: Gpu, plans: Sequence[Plan], own_multiply_adds: int, show: Callable[[str], None]) -> Figures:
    """Of all partitions of a model, which are for one API. ToolMissing: there is no compiler for it."""
    launches = launches_of(plans)
    found = of_launches(gpu, launches, plans[0].precision, show, plans[0].api)
    found.target, found.own_multiply_adds = plans[0].target, own_multiply_adds
    found.memory = Memory(sum(one.activation_bytes for one in plans), sum(one.constant_bytes for one in plans))
    found.outside_bytes = sum(plan.tensors[io.tensor].bytes for plan in plans for io in (*plan.inputs, *plan.outputs))
    return found


def launches_of(plans: Sequence[Plan]) -> list[Launch]:
    return [
        Launch(_text(plan, dispatch), dispatch, once=once_of(plan, dispatch))
        for plan in plans
        for dispatch in plan.dispatches
    ]


def once_of(plan: Plan, dispatch: Dispatch) -> Once:
    """By its arguments. What two of them name counts once."""
    read, written = (set(plan.regions_of(dispatch, written)) for written in (False, True))
    weights = {region for region in read if plan.buffers[region.buffer].kind == "Constant"}
    return Once(*(sum(region.bytes for region in regions) for regions in (weights, read - weights, written)))


def of_launches(
    gpu: Gpu, launches: Sequence[Launch], precision: str, show: Callable[[str], None], api: str = "gles"
) -> Figures:
    """Of an inference, whoever made its texts. OpenCL's have their build options behind `//` in the first line."""
    texts: dict[str, list[Launch]] = {}
    for launch in launches:
        texts.setdefault(launch.text, []).append(launch)
    version, said = compilers.ask(gpu, api, list(texts), show)
    kernels = [_kernel(gpu, runs, one) for runs, one in zip(texts.values(), said)]
    kernels.sort(key=lambda kernel: (not kernel.failure, -kernel.work("slots")))
    return Figures(gpu, version, precision, "", kernels, api=api)


def _text(plan: Plan, dispatch: Dispatch) -> str:
    """As the runtime hands it to the driver, which has half arithmetic."""
    program = plan.programs[dispatch.program]
    kernel = next(one for one in program.kernels if one.entry == dispatch.entry)  # a checked plan has it
    options = "" if plan.api == "gles" else f"//{program.options}\n"
    return options + program.prelude + kernel.source


def _kernel(gpu: Gpu, runs: Sequence[Launch], said: Said) -> KernelFigures:
    compiled = machine_code.read(gpu.kind, said.words) if said.end == "ok" else None
    failure = "" if compiled else NOT_READ if said.end == "ok" else _reason(said)
    dispatches = [_dispatch(compiled, launch) if compiled else _not_compiled(launch) for launch in runs]
    return KernelFigures(runs[0].dispatch.entry, failure, compiled, dispatches, runs[0].text)


def _trips(launch: Launch) -> Trips:
    if spirv.is_one(launch.text):
        return spirv_trips.of(launch.text, launch.dispatch, launch.numbers or {})
    return loop_trips.of(launch.text, launch.dispatch, launch.numbers)


def _not_compiled(launch: Launch) -> DispatchFigures:
    dispatch = launch.dispatch
    items = _trips(launch).count
    return DispatchFigures(dispatch.name, tuple(dispatch.nodes), items, Counter(), False, once=launch.once)


def _reason(said: Said) -> str:
    if said.end not in ("compile", "link"):
        return said.end
    logs = [line.removeprefix("log: ") for line in said.words.splitlines() if line.startswith("log: ")]
    return f"it does not {said.end}: {logs[-1] if logs else 'no reason is given'}"


def _dispatch(compiled: Compiled, launch: Launch) -> DispatchFigures:
    dispatch = launch.dispatch
    trips = _trips(launch)
    counts = loop_trips.executions(trips, [loop.parent for loop in compiled.loops])
    work: Counter[str] = Counter()
    runs: list[int] = []
    for loop, count in zip(compiled.loops, counts):
        runs.append(count if count is not None else runs[loop.parent])  # once for each trip of the loop around it
        for what in machine_code.WORK:
            work[what] += loop.work[what] * runs[-1]
    lanes = trips.lanes(dispatch.local, compiled.lanes)
    work["wave_slots"] = round(work["slots"] * lanes / max(1, trips.count))
    work["half_rate_slots"] = round((work["slots"] - work["half_slots"] / 2) * lanes / max(1, trips.count))
    nodes = tuple(dispatch.nodes)
    return DispatchFigures(dispatch.name, nodes, trips.count, work, None not in counts, lanes, launch.once)


def to_json(found: Figures) -> dict[str, Any]:
    """For --json: stable fields only."""
    return {
        "schema_version": 1,
        "gpu": found.gpu.name,
        "api": found.api,
        "compiler": f"Mesa {found.mesa}",
        "target": found.target,
        "precision": found.precision,
        "model_multiply_adds": found.own_multiply_adds,
        "executed": {what: found.work(what) for what in COUNTED},
        "read_bytes": found.bytes("read"),
        "written_bytes": found.bytes("written"),
        "memory": vars(found.memory) if found.memory else None,
        "complete": found.is_complete,
        "kernels": [_kernel_json(kernel) for kernel in found.kernels],
    }


def _kernel_json(kernel: KernelFigures) -> dict[str, Any]:
    code = kernel.compiled
    row: dict[str, Any] = {"kernel": kernel.entry, "failure": kernel.failure}
    if code:
        row |= {name: getattr(code, name) for name in ("instructions", "registers", "threads", "spills", "fills")}
        row |= {"loops": len(code.loops) - 1, "complete": kernel.is_complete}
    rows = [
        {
            "name": one.name,
            "nodes": list(one.nodes),
            "work_items": one.items,
            "lanes": one.lanes,
            "complete": one.is_complete,
            **{what: one.work[what] for what in COUNTED},
        }
        for one in kernel.dispatches
    ]
    return row | {"dispatches": rows}
