"""The figures of a bench: Quadra beside XNNPACK and TFLite's stock GPU delegate, model by model.

All are taken from run folders. Runtimes in one process are interleaved, on the same inputs; what is compared are ratios of
such times, because the machine may be busy. Where the stock delegate does not run (on the host), figures that were
recorded in Android's runtime stand for it, as ratios to XNNPACK's of then.
"""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from host_tools.base import cpu_drivers
from host_tools.base.errors import JudgementFailed
from host_tools.judge.judged import Judged
from host_tools.record import peer_names, schema, times, verdicts
from host_tools.record.peer_names import LITERT, XNNPACK
from host_tools.record.printed import BenchDocument

RECORDED = Path(__file__).with_name("stock_delegate.json")
QUADRA = "quadra"
STEADY, COLD, WARM, SECOND = "steady", "cold", "warm", "second"
KINDS = {STEADY: ("median", "minimum", "processor"), **dict.fromkeys((COLD, WARM, SECOND), ("median", "processor"))}
# What Quadra's time may be of a peer's, one thread, by place, backend, peer and what is timed. In Android's runtime: on OpenCL a
# quarter of the stock delegate's, on OpenGL ES half; half of a cold start. A start from what an earlier one kept: three of XNNPACK's.
GOALS = {
    ("host", "opencl", XNNPACK, STEADY): 1.5,
    ("host", "gles", "shipped_gles", STEADY): 0.5,
    ("host", "opencl", XNNPACK, SECOND): 3.0,
    ("host", "gles", XNNPACK, SECOND): 3.0,
    ("jvm", "opencl", "shipped_opencl", STEADY): 0.25,
    ("jvm", "gles", "shipped_gles", STEADY): 0.5,
    ("jvm", "opencl", "shipped_opencl", COLD): 0.5,
    ("jvm", "gles", "shipped_gles", COLD): 0.5,
}
_WORDS = {"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan"}  # JSON has no such numbers


@dataclass
class Runner:
    """How one of those who ran did with a model. Times in us, by kind; what is not known is not there."""

    error: str = ""  # why it did not run
    nodes_taken: int | None = None  # None: not known
    nodes: int | None = None
    right: bool | None = None
    relative_error: float = 0.0
    steady: dict[int, dict[str, float]] = field(default_factory=dict)  # by threads: median, minimum, processor
    cold: dict[str, float] = field(default_factory=dict)  # median is the wall's: there is one start; one thread
    warm: dict[str, float] = field(default_factory=dict)
    second: dict[str, float] = field(default_factory=dict)  # with what a first start kept; XNNPACK keeps nothing
    kept_bytes: int | None = None  # what that kept; None: not asked. 0: a second start would be a warm one
    recorded_ratio: float | None = None  # its time over XNNPACK's of then: it did not run

    def us(self, what: str = STEADY, kind: str = "median", threads: int = 1) -> float | None:
        """A time; None: not known."""
        found = self.steady.get(threads, {}) if what == STEADY else getattr(self, what)
        return found.get(kind) or None


@dataclass
class Row:
    """A model on one backend."""

    model: str
    backend: str
    twin: str = ""  # the same model with floats, which is in the bench, too
    api: str = "interpreter"
    error: str = ""  # why there are no figures
    device: str = ""  # the GPU
    ran_on: str = ""  # the device of a lab
    on_cpu: bool = False  # the GPU is a CPU: its work is processor time
    unsure: bool = False  # the error is as far as rounding moves the output, and more than the usual limit
    runs: list[str] = field(default_factory=list)  # their folders
    runners: dict[str, Runner] = field(default_factory=dict)  # by their keys in timings.json
    sizes: dict[str, int] = field(default_factory=dict)  # programs, dispatches and bytes, at one thread

    @property
    def shipped(self) -> str:
        """The key of the stock delegate on this backend."""
        return peer_names.key(f"shipped-{self.backend}")

    @property
    def whole(self) -> bool:
        """Whether Quadra took every node: then it is the GPU alone that is compared."""
        ours = self.runner(QUADRA)
        return bool(ours.nodes and ours.nodes_taken == ours.nodes)

    def runner(self, key: str) -> Runner:
        return self.runners.get(key, Runner())

    def over(self, peer: str, what: str = STEADY, kind: str = "median", threads: int = 1) -> float | None:
        """Quadra's time over that of `peer`, a key; None where one of the two did not run or is wrong."""
        ours, theirs = self.runner(QUADRA), self.runner(peer)
        if self.error or ours.right is False or theirs.right is False:
            return None
        if theirs.recorded_ratio and what == STEADY:
            own = self.over(XNNPACK, what, kind, threads) if threads == 1 else None
            return own / theirs.recorded_ratio if own else None
        us, peer_us = (
            ours.us(what, kind, threads),
            theirs.us(what, "median" if theirs.recorded_ratio else kind, threads),
        )
        return us / peer_us if us and peer_us else None

    def peer_over_xnnpack(self, peer: str) -> float | None:
        """The peer's own time over XNNPACK's, one thread."""
        ours, theirs = self.over(XNNPACK), self.over(peer)
        return ours / theirs if ours and theirs else None


@dataclass(frozen=True)
class Mean:
    """Geometric means, by kind, of Quadra's time over a peer's."""

    backend: str
    peer: str
    what: str
    threads: int
    models: int
    whole: bool  # over the models alone that Quadra took wholly
    values: dict[str, float]
    goal: float | None
    api: str = "interpreter"

    @property
    def met(self) -> bool:
        return self.goal is None or self.values["median"] <= self.goal


@dataclass(frozen=True)
class Asked:
    """What a bench is to measure. place: host, jvm, or device: those of a lab."""

    models: tuple[str, ...]
    backends: tuple[str, ...]
    peers: tuple[str, ...]
    repetitions: int
    place: str = "host"
    threads: tuple[int, ...] = (1,)
    apis: tuple[str, ...] = ("interpreter",)

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """Backend and API of each of a model's rows."""
        return [(backend, api) for backend in self.backends for api in self.apis]


@dataclass(frozen=True)
class Bench:
    """All rows, and what they were made with."""

    folder: Path
    asked: Asked
    rows: tuple[Row, ...]
    library: dict[str, Any]
    cpu: str
    cpus: int
    load: float  # load average at the end: over the number of CPUs, times on the wall say little
    notes: tuple[str, ...] = ()  # what happened to the devices of a lab, as sentences

    @property
    def backends(self) -> tuple[str, ...]:
        return self.asked.backends

    @property
    def devices(self) -> dict[str, str]:
        """The GPU that ran with one thread, by backend; in a lab by device and backend."""
        if self.asked.place == "device":
            return {f"{row.ran_on}, {verdicts.APIS[row.backend]}": row.device for row in self.rows if row.device}
        return {b: next((r.device for r in self.of(b) if r.device), "none") for b in self.backends}

    @property
    def finished(self) -> bool:
        return len(self.rows) == len(self.asked.models) * len(self.asked.kinds)

    @property
    def busy(self) -> bool:
        return self.load > 1.2 * self.cpus

    @property
    def recorded(self) -> bool:
        """Whether the stock delegate's figures are recorded ones: it does not run on the host."""
        return self.asked.place == "host"

    @property
    def wrong(self) -> list[str]:
        bad = (r for r in self.rows if r.error or r.runner(QUADRA).right is False)
        return [self.words_of(row) for row in bad]

    def words_of(self, row: Row) -> str:
        """The model and how it ran."""
        return f"{row.model} on {way(row.backend, row.api)}"

    def of(self, backend: str, api: str = "") -> list[Row]:
        """No api: the first one."""
        return [row for row in self.rows if (row.backend, row.api) == (backend, api or self.asked.apis[0])]

    def peers_of(self, backend: str) -> list[str]:
        """Keys of those whose figures stand beside Quadra's on that backend."""
        found = [peer_names.key(name) for name in peers_beside(self.asked.peers, backend)]
        return found + ([peer_names.key(f"shipped-{backend}")] if self.recorded else [])  # of the interpreter

    def over_twin(self, row: Row) -> float | None:
        """Quadra's time over its own for the same model with floats; processor time where the GPU is a CPU. One thread."""
        twin = next((r for r in self.of(row.backend, row.api) if r.model == row.twin), None)
        if not twin or any(r.error or r.runner(QUADRA).right is False for r in (row, twin)):
            return None
        kind = "processor" if row.on_cpu else "median"
        ours, theirs = (r.runner(QUADRA).us(kind=kind) for r in (row, twin))
        return ours / theirs if ours and theirs else None

    def mean(
        self, backend: str, peer: str, what: str = STEADY, whole: bool = True, threads: int = 1, api: str = ""
    ) -> Mean | None:
        """None where no model has figures of both."""
        api = api or self.asked.apis[0]
        rows = [r for r in self.of(backend, api) if r.over(peer, what, threads=threads) and (r.whole or not whole)]
        if not rows:
            return None
        values = {k: times.geometric_mean(r.over(peer, what, k, threads) or 0 for r in rows) for k in KINDS[what]}
        goal = GOALS.get((self.asked.place, backend, peer, what)) if whole and threads == 1 else None
        return Mean(backend, peer, what, threads, len(rows), whole, values, goal, api)

    def means(self) -> list[Mean]:
        """Each backend over its peers; steady (with each number of threads), starts; whole models, then all."""
        found: list[Mean] = []
        for backend, api in self.asked.kinds:
            for peer in self.peers_of(backend):
                starts = [(SECOND, 1)] if self.recorded else [(COLD, 1), (WARM, 1), (SECOND, 1)]
                for what, threads in [*((STEADY, t) for t in self.asked.threads), *starts]:
                    whole = self.mean(backend, peer, what, True, threads, api)
                    every = self.mean(backend, peer, what, False, threads, api)
                    found += [whole] if whole else []
                    found += [every] if every and (not whole or every.models != whole.models) else []
        return found


def way(backend: str, api: str) -> str:
    """How a model ran: `OpenCL`, or `OpenCL, compiled` through LiteRT's CompiledModel."""
    return f"{verdicts.APIS[backend]}{', compiled' if api == 'compiled' else ''}"


def peers_beside(names: Sequence[str], backend: str) -> tuple[str, ...]:
    """Who runs in the process with Quadra on that backend: the stock delegate on the same one."""
    return tuple(n for n in names if n in (XNNPACK, LITERT, f"shipped-{backend}"))


def take(row: Row, threads: int, judged: Judged) -> None:
    """Fills a row from a run: with one thread everything, with more of them the times alone."""
    timings = judged.folder.read(schema.Timings)
    if threads == 1:
        _take_facts(row, judged, timings)
    for key in (QUADRA, *(peer_names.key(peer.name) for peer in judged.peers)):
        steady, cpu = times.steady(timings).get(key), timings.cpu_us.get(key)
        if steady:
            found = {"median": steady.median, "minimum": steady.minimum}
            row.runners[key].steady[threads] = {**found, **({"processor": statistics.median(cpu)} if cpu else {})}
    row.runs.append(judged.folder.path.name)


def _take_facts(row: Row, judged: Judged, timings: schema.Timings) -> None:
    value = judged.folder.read(schema.Verdicts)
    report = verdicts.read(value)
    row.device, row.on_cpu = report.device, cpu_drivers.on_cpu(value.device)
    ours = Runner(
        nodes_taken=report.gpu, nodes=report.gpu + report.cpu, right=judged.ok, relative_error=judged.largest_error
    )
    row.unsure = bool(judged.comparison and judged.comparison.unsure)
    row.runners[QUADRA] = ours
    for peer in judged.peers:
        reason = " ".join(peer.error.split()).partition("; next:")[0]
        worst = max(peer.relative, default=0.0)
        row.runners[peer_names.key(peer.name)] = Runner(reason, peer.nodes_taken, peer.nodes, peer.ok, worst)
    for key, runner in row.runners.items():
        if not runner.recorded_ratio:
            _take_starts(runner, key, timings)
    parts, memory, cold = value.partitions, timings.memory, timings.cold_memory
    model = judged.folder.optional(schema.Model) or schema.Model()
    row.sizes = {
        "programs": sum(p.programs for p in parts),
        "dispatches": sum(len(p.dispatches) for p in parts),
        "activation_bytes": sum(p.activation_bytes for p in parts),
        "constant_bytes": sum(p.constant_bytes for p in parts),
        "file_constant_bytes": model.constant_bytes,
        "lower_bound_bytes": sum(p.activation_bytes_lower_bound for p in parts),
        "peak_rss_bytes": memory.peak_rss_bytes if memory else 0,
        "rss_bytes": (memory.rss_bytes or 0) if memory else 0,
        "private_bytes": (memory.private_bytes or 0) if memory else 0,
        "cold_peak_rss_bytes": cold.peak_rss_bytes if cold else 0,
    }


def _take_starts(runner: Runner, key: str, timings: schema.Timings) -> None:
    runner.kept_bytes = timings.kept_bytes.get(key)
    if timings.second_us.get(key) and runner.kept_bytes != 0:
        wall, cpu = timings.second_us[key], timings.second_cpu_us.get(key, [])
        runner.second = {"median": statistics.median(wall), **({"processor": statistics.median(cpu)} if cpu else {})}
    init = timings.init_us
    # XNNPACK compiles nothing: each of its starts is a cold one.
    starts = {COLD: init.get(f"{key}_cold"), WARM: init.get(f"{key}_warm", init.get(key))}
    for what, laps in starts.items():
        laps = laps or (init.get(key) if key == XNNPACK else None)
        if laps:
            setattr(runner, what, {"median": laps.total_us, "processor": laps.cpu_us or 0})


def recorded() -> dict[str, Any]:
    """Figures of TFLite's stock GPU delegate, by model, and where they are from."""
    figures: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return figures


def add_recorded(row: Row, sha256: str) -> None:
    """Gives the row the recorded figures of the stock delegate, where there are some of this very file."""
    found: dict[str, Any] = {}
    for figures in recorded()["models"].values():
        found = figures if figures["sha256"] == sha256 else found
    steady, xnnpack, cold = (found.get(key) for key in (f"{row.backend}_ms", "xnnpack_ms", f"{row.backend}_cold_ms"))
    if steady and xnnpack:
        starts = {"median": cold * 1000.0} if cold else {}
        row.runners[row.shipped] = Runner(
            steady={1: {"median": steady * 1000.0}}, cold=starts, recorded_ratio=steady / xnnpack
        )


def document(result: Bench) -> BenchDocument:
    """The bench as bench.json and --json have it."""
    rows = []
    for row in result.rows:
        over = {p: {w: row.over(p, w) for w in KINDS} for p in result.peers_of(row.backend)}
        rows.append({**asdict(row), "whole": row.whole, "over": over, "over_twin": result.over_twin(row)})
    value = {
        **asdict(result.asked),
        "finished": result.finished,
        "cpu": result.cpu,
        "cpus": result.cpus,
        "load_average": round(result.load, 2),
        "library": result.library,
        "devices": result.devices,
        "notes": result.notes,
        "shipped_delegate": "recorded" if result.recorded else "measured",
        "geometric_means": [{**asdict(mean), "met": mean.met} for mean in result.means()],
        "rows": rows,
    }
    return schema.of(BenchDocument, json.loads(json.dumps(value), parse_constant=_WORDS.get))


def fail_if_wrong(result: Bench, limit: float, limit_shipped: float) -> None:
    """JudgementFailed when a model failed or Quadra is wrong, or a mean of one thread is over its limit (0: no limit). A
    peer that fails, or a goal that is missed, is a finding.

    limit: of the first backend, over XNNPACK. limit_shipped: of each, over the stock delegate.
    """
    if result.wrong:
        where = {"jvm": " --on jvm", "device": " --on SERIAL"}.get(result.asked.place, "")
        did = f"wrong or failed: {', '.join(result.wrong)}"
        raise JudgementFailed("bench", did, f"`./inv run MODEL{where}` shows one of them closely")
    limits = [(result.backends[0], XNNPACK, limit)]
    limits += [(backend, peer_names.key(f"shipped-{backend}"), limit_shipped) for backend in result.backends]
    for backend, peer, most in limits:
        mean = (result.mean(backend, peer) or result.mean(backend, peer, whole=False)) if most else None
        if most and not (mean and mean.values["median"] <= most):
            value = f"{mean.values['median']:.2f}" if mean else "an unknown share"
            who = peer_names.label(peer) if peer == XNNPACK else f"the {peer_names.label(peer)}"
            words = f"{verdicts.APIS[backend]} takes {value} of the time of {who}, over {most:g}"
            raise JudgementFailed("bench", words, "`./inv profile` shows where time goes")
