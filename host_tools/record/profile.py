"""Where the time of a run went: per dispatch, per kind of kernel, and what the interpreter adds.

Times are medians over the profiled runs (profile.json), which a delegate of its own made with profile=1:
asking the driver for times costs a little, so they are not the times of timings.json.
"""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape

from host_tools.base.errors import Misuse
from host_tools.base.text_table import Table, number, text
from host_tools.base.units import counted, ranges_text
from host_tools.record import schema
from host_tools.record.run_folder import RunFolder

CLOCKS = {
    "timers": "dispatch times are the driver's own",
    "waits": "each dispatch was waited for, and its time holds one round trip to the driver",
}


@dataclass(frozen=True)
class Dispatch:
    """One launch of a kernel."""

    partition: int
    name: str
    kernel: str
    nodes: tuple[int, ...]
    ops: str  # "CONV_2D + RELU"
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    time_us: float
    flops: int

    @property
    def gflops_per_s(self) -> float:
        return self.flops / self.time_us / 1e3 if self.time_us > 0 else 0.0


_NEARLY = 0.1  # of an inference


@dataclass(frozen=True)
class Profile:
    dispatches: tuple[Dispatch, ...]  # in the order of execution
    invoke_us: float  # median wall time of the profiled inferences
    overhead_us: float  # median of their time outside of dispatches: interpreter, nodes on the CPU, launches, copies
    runs: int
    clock: str = ""  # how dispatches were measured, in words; empty where that is not known

    @property
    def dispatch_us(self) -> float:
        return sum(d.time_us for d in self.dispatches)

    @property
    def doubt(self) -> str:
        """Why the parts are not the whole; empty where they nearly are."""
        apart = abs(self.invoke_us - self.dispatch_us - self.overhead_us)
        few = apart <= _NEARLY * self.invoke_us
        return "" if few else "each is a median of its own; on a busy machine they do not add up"

    def by_kernel(self) -> list[tuple[str, float, int]]:
        """(kernel, time_us, dispatches), slowest first."""
        totals: dict[str, list[float]] = {}
        for dispatch in self.dispatches:
            totals.setdefault(dispatch.kernel, []).append(dispatch.time_us)
        return sorted(((k, sum(v), len(v)) for k, v in totals.items()), key=lambda row: -row[1])


def to_json(found: Profile) -> dict[str, Any]:
    """All of a profile, and its sums by kernel, the slowest first."""
    kernels = [{"kernel": name, "time_us": us, "dispatches": count} for name, us, count in found.by_kernel()]
    dispatches = [{**asdict(one), "gflops_per_s": one.gflops_per_s} for one in found.dispatches]
    return {**asdict(found), "dispatch_us": found.dispatch_us, "kernels": kernels, "dispatches": dispatches}


def read(folder: RunFolder) -> Profile:
    """The profile of a run; Misuse where the run has none."""
    if not folder.has("profile.json"):
        raise Misuse(
            f"read the profile of {folder.path.name}",
            "the run was made without --profile",
            "run it again: `./inv run MODEL --profile`",
        )
    value = folder.read(schema.Profile)
    facts = {n.index: n for n in (folder.optional(schema.Model) or schema.Model()).nodes}
    walls = value.invoke_us
    outside: list[float] = list(walls)
    # Several dispatches may share the work of a node: each gets its share.
    graph = folder.subgraph()
    main = [p for p in value.partitions if p.subgraph == graph]
    sharing = Counter(node for p in main for row in p.dispatches for node in set(row.nodes))
    dispatches: list[Dispatch] = []
    for partition in value.partitions:
        samples = [i.dispatch_us for i in value.invokes if i.partition == partition.id]
        samples = samples[-len(walls) :]  # the first inference warmed up
        if len(samples) < len(walls):
            continue  # of a subgraph that was not called each time
        outside = [rest - sum(times) for rest, times in zip(outside, samples)]
        known = facts if partition.subgraph == graph else {}  # the facts are those of the graph that ran
        for index, row in enumerate(partition.dispatches):
            times = [s[index] for s in samples]
            dispatches.append(_dispatch(partition.id, row, _median(times), known, sharing))
    clock = CLOCKS.get(value.dispatch_times_by, "")
    return Profile(tuple(dispatches), _median(walls), max(0.0, _median(outside)), len(walls), clock)


def _dispatch(
    partition: int, row: schema.Dispatch, time_us: float, facts: dict[int, schema.ModelNode], sharing: Mapping[int, int]
) -> Dispatch:
    nodes = tuple(row.nodes)
    ops = [facts[n].op for n in nodes if n in facts]
    return Dispatch(
        partition=partition,
        name=row.name,
        kernel=row.kernel,
        nodes=nodes,
        ops=" + ".join(op for op in ops if op not in ("DEQUANTIZE", "DENSIFY")),
        global_size=tuple(row.global_size),
        local_size=tuple(row.local_size),
        time_us=float(time_us),
        flops=sum(facts[n].flops // sharing[n] for n in set(nodes) if n in facts),
    )


def show(profile: Profile, console: Console, top: int) -> None:
    """The slowest dispatches, the totals per kernel, and what lies outside."""
    total = profile.dispatch_us or 1.0
    single = len({d.partition for d in profile.dispatches}) < 2
    slowest = sorted(profile.dispatches, key=lambda d: -d.time_us)
    table = Table([
        text("dispatch"), number("us"), number("share"), number("GFLOP/s", 1), number("global", 2), number("local", 2),
        text("ops"), text("nodes", 1, least=8),
    ])  # fmt: skip
    for d in slowest[:top]:
        table.add_row(
            escape(d.name if single else f"{d.partition}/{d.name}"),
            f"{d.time_us:.0f}",
            f"{100 * d.time_us / total:.1f} %",
            f"{d.gflops_per_s:.1f}" if d.flops else "–",
            "×".join(map(str, d.global_size)),
            "×".join(map(str, d.local_size)),
            escape(d.ops),
            ranges_text(d.nodes),
        )
    table.show(console)
    if len(slowest) > top:
        console.print(f"[dim]and {len(slowest) - top} more; --top shows them[/]")
    console.print()
    kinds = Table([text("kernel"), number("dispatches"), number("us"), number("share")])
    for kernel, time_us, count in profile.by_kernel():
        kinds.add_row(escape(kernel), str(count), f"{time_us:.0f}", f"{100 * time_us / total:.1f} %")
    kinds.show(console)
    console.print(
        f"\n{profile.invoke_us:.0f} us per inference (median of {profile.runs}, profiled): "
        f"{profile.dispatch_us:.0f} us in {counted(len(profile.dispatches), 'dispatch')}, "
        f"{profile.overhead_us:.0f} us outside (interpreter, nodes on the CPU, launches, copies)"
    )
    if profile.doubt:
        console.print(profile.doubt)
    if profile.clock:
        console.print(profile.clock)


def _median(values: Sequence[float]) -> float:
    return float(statistics.median(values)) if values else 0.0
