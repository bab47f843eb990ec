"""The figures of a bench: Quadra beside XNNPACK and TFLite's stock GPU delegate, model by model.

All are taken from run folders. Runtimes in one process are interleaved, on the same inputs; what is compared are ratios of
such times, because the machine may be busy. Which time of an inference counts, and when it is not reliable, is what
`record/headline.py` decides. Starts are wall-clock times: several threads compile.
"""

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from host_tools.base.errors import JudgementFailed
from host_tools.judge.judged import Judged
from host_tools.record import device_condition, headline, peer_names, printed, schema, times, verdicts
from host_tools.record.headline import Clock, Headline, Ratios
from host_tools.record.peer_names import LITERT, XNNPACK
from host_tools.record.printed import BenchDocument

QUADRA = "quadra"
STEADY, COLD, WARM, SECOND = "steady", "cold", "warm", "second"
WAIT = "wait"  # how long every inference of Quadra's waits without computing, of more than nothing
KINDS = {STEADY: ("median", "minimum", "processor"), **dict.fromkeys((COLD, WARM, SECOND), ("median", "processor"))}
_WORDS = {"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan"}  # JSON has no such numbers


class Kind(NamedTuple):
    """How a row ran. defaults: each side in the precision that is its own default, not both in the same."""

    backend: str
    api: str
    defaults: bool = False


@dataclass
class Runner:
    """How one of those who ran did with a model. Times in us, by kind; what is not known is not there."""

    error: str = ""  # why it did not run
    nodes_taken: int | None = None  # None: not known
    nodes: int | None = None
    right: bool | None = None
    relative_error: float = 0.0
    steady: dict[int, dict[str, float]] = field(default_factory=dict)  # by threads: median, minimum, processor, wait
    cold: dict[str, float] = field(default_factory=dict)  # median is the wall's: there is one start; one thread
    warm: dict[str, float] = field(default_factory=dict)
    second: dict[str, float] = field(default_factory=dict)  # with what a first start kept; XNNPACK keeps nothing
    kept_bytes: int | None = None  # what that kept; None: not asked. 0: a second start would be a warm one

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
    defaults: bool = False  # peers in the precision that is their default
    ran_on: str = ""  # the device
    who: str = ""  # the device in words, with its Android
    heat: str = ""  # of a device while it was measured
    on_cpu: bool = False  # the GPU is a CPU: its work is processor time
    shapes: str = ""  # in which its inputs ran whose sizes are free
    unsure: bool = False  # the error is as far as rounding moves the output, and more than the usual limit
    runs: list[str] = field(default_factory=list)  # their folders
    runners: dict[str, Runner] = field(default_factory=dict)  # by their keys in timings.json
    sizes: dict[str, int] = field(default_factory=dict)  # programs, dispatches and bytes, at one thread

    @property
    def shown(self) -> str:
        """The model, and what was measured of it."""
        return f"{self.model}, {self.shapes}" if self.shapes else self.model

    @property
    def kind(self) -> Kind:
        """How it ran."""
        return Kind(self.backend, self.api, self.defaults)

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
        us, peer_us = ours.us(what, kind, threads), theirs.us(what, kind, threads)
        return us / peer_us if us and peer_us else None

    def headline(self, peer: str, what: str = STEADY, threads: int = 1) -> Headline | None:
        """Quadra's time over that of `peer`, as it is shown; None where one of the two did not run or is wrong."""
        ratios = _ratios({kind: self.over(peer, what, kind, threads) for kind in KINDS[what]})
        waits = self.runner(QUADRA).steady.get(threads, {}).get(WAIT, 0.0)
        if ratios and what == STEADY and waits:
            both = (self.runner(key).us(threads=threads) or math.inf for key in (QUADRA, peer))
            ratios = replace(ratios, least_us=min(both), wait_us=waits)
        return _headline(peer, what, self.on_cpu, threads, ratios) if ratios else None

    @property
    def clock(self) -> Clock:
        """Of the headline with one thread."""
        return headline.clock_of(self.on_cpu, 1, bool(self.runner(QUADRA).us(kind="processor")))

    def steady_us(self, key: str) -> float | None:
        """The median of an inference by that clock, one thread."""
        return self.runner(key).us(kind="processor" if self.clock == "processor" else "median")

    def peer_over_xnnpack(self, peer: str) -> float | None:
        """The peer's own time over XNNPACK's, one thread."""
        ours, theirs = self.headline(XNNPACK), self.headline(peer)
        return ours.ratio / theirs.ratio if ours and theirs else None


def _ratios(over: dict[str, float | None]) -> Ratios | None:
    """Ratios by kind; None where that of the medians is not known."""
    median, minimum, processor = (over.get(kind) or math.nan for kind in ("median", "minimum", "processor"))
    return None if math.isnan(median) else Ratios(median, minimum, processor)


def _headline(
    peer: str, what: str, on_cpu: bool, threads: int, ratios: Ratios, limits: Sequence[float] = ()
) -> Headline:
    if what != STEADY:  # few of them, and several threads compile: nothing checks it
        return Headline("wall", ratios)
    like_threads = peer != peer_names.key(LITERT)
    return headline.decide(on_cpu, threads, ratios, limits, like_threads=like_threads)


@dataclass(frozen=True)
class Mean:
    """The geometric mean of Quadra's time over a peer's."""

    backend: str
    peer: str
    what: str
    threads: int
    models: int
    whole: bool  # over the models alone that Quadra took wholly
    headline: Headline
    limit: float = 0.0  # of the user; 0: none
    api: str = "interpreter"
    defaults: bool = False
    waits: bool = False  # inferences of Quadra's, which processor time does not show

    @property
    def kind(self) -> Kind:
        """How its rows ran."""
        return Kind(self.backend, self.api, self.defaults)

    @property
    def verdict(self) -> str:
        """Whether the limit was met; empty: there is none."""
        if not self.limit:
            return ""
        if not self.headline.reliable:
            return "exceeded" if self.waits and self.exceeded else "not reliable"
        return "exceeded" if self.exceeded else "met"

    @property
    def exceeded(self) -> bool:
        """Also where it is not reliable: a limit that is exceeded fails. Where inferences wait, the wall clock counts, too."""
        return bool(self.limit) and not self.judged <= self.limit

    @property
    def judged(self) -> float:
        """The ratio that a limit is for."""
        return max(self.headline.ratio, self.headline.ratios.median) if self.waits else self.headline.ratio


@dataclass(frozen=True)
class Asked:
    """What a bench is to measure. place: host, jvm, or device: the one of `device`, or those of a lab."""

    models: tuple[str, ...]
    backends: tuple[str, ...]
    peers: tuple[str, ...]
    repetitions: int
    place: str = "host"
    threads: tuple[int, ...] = (1,)
    apis: tuple[str, ...] = ("interpreter",)
    limit: float = 0.0  # of the mean over XNNPACK, one thread, on the first backend; 0: none
    limit_shipped: float = 0.0  # of the mean over the stock delegate, on each
    sizes: tuple[str, ...] = ()  # of inputs whose sizes are free: NAME=1x64x48x3
    defaults: bool = False  # also each side in the precision that is its default
    device: str = ""  # the name of the one that --on gives; before it is chosen, the word that says which

    @property
    def in_lab(self) -> bool:
        return self.place == "device" and not self.device

    @property
    def kinds(self) -> list[Kind]:
        """How each of a model's rows runs."""
        return [
            kind
            for backend in self.backends
            for kind in (
                *(Kind(backend, api) for api in self.apis),
                *([Kind(backend, self.apis[-1], True)] if self.defaults else []),
            )
        ]

    def threads_of(self, kind: Kind) -> tuple[int, ...]:
        """Of its runs: GPU delegates have no more threads than the GPU has."""
        return self.threads[:1] if kind.defaults else self.threads


@dataclass(frozen=True)
class Bench:
    """All rows, and what they were made with."""

    folder: Path
    asked: Asked
    rows: tuple[Row, ...]
    library: dict[str, Any]
    cpu: str
    cpus: int
    load: float  # load average at the end
    notes: tuple[str, ...] = ()  # what happened to the devices of a lab, as sentences

    @property
    def started(self) -> tuple[Row, ...]:
        """Those of which starts were measured."""
        return tuple(row for row in self.rows if not row.defaults)

    @property
    def backends(self) -> tuple[str, ...]:
        return self.asked.backends

    @property
    def devices(self) -> dict[str, str]:
        """The GPU that ran with one thread, by backend; in a lab by device and backend."""
        if self.asked.in_lab:
            return {f"{row.ran_on}, {verdicts.APIS[row.backend]}": row.device for row in self.rows if row.device}
        return {b: next((r.device for r in self.of(b) if r.device), "none") for b in self.backends}

    @property
    def finished(self) -> bool:
        return len(self.rows) == len(self.asked.models) * len(self.asked.kinds)

    @property
    def on_host(self) -> bool:
        return self.asked.place == "host"

    @property
    def doubtful(self) -> list[str]:
        """Whose ratio to a peer is not reliable because the machine was busy."""
        found = []
        for row in self.rows:
            ratios = self._headlines(row)
            waits = any(one.ratios.waits for one in ratios)
            found += [self.words_of(row)] if not waits and any(not one.reliable for one in ratios) else []
        return found

    @property
    def waiting(self) -> list[str]:
        """A sentence for each row whose inferences all wait."""
        found = []
        for row in self.rows:
            us = max((one.ratios.wait_us for one in self._headlines(row) if one.ratios.waits), default=0.0)
            found += [f"{self.words_of(row)}: {headline.waits(us)}"] if us else []
        return found

    def _headlines(self, row: Row) -> list[Headline]:
        ratios = (row.headline(p, threads=t) for p in self.peers_of(row.backend) for t in self.asked.threads)
        return [one for one in ratios if one]

    @property
    def wrong(self) -> list[str]:
        bad = (r for r in self.rows if r.error or r.runner(QUADRA).right is False)
        return [self.words_of(row) for row in bad]

    def words_of(self, row: Row) -> str:
        """The model and how it ran."""
        return f"{row.model} on {way(row.kind)}"

    def of(self, backend: str, api: str = "", defaults: bool = False) -> list[Row]:
        """No api: the first one."""
        wanted = Kind(backend, api or self.asked.apis[0], defaults)
        return [row for row in self.rows if row.kind == wanted]

    def peers_of(self, backend: str) -> list[str]:
        """Keys of those whose figures stand beside Quadra's on that backend."""
        return [peer_names.key(name) for name in peers_beside(self.asked.peers, backend)]

    def over_twin(self, row: Row) -> float | None:
        """Quadra's time over its own for the same model with floats, by the headline's clock. One thread."""
        twin = next((r for r in self.of(*row.kind) if r.model == row.twin), None)
        if not twin or any(r.error or r.runner(QUADRA).right is False for r in (row, twin)):
            return None
        ours, theirs = row.steady_us(QUADRA), twin.steady_us(QUADRA)
        return ours / theirs if ours and theirs and row.clock == twin.clock else None

    def mean(
        self,
        backend: str,
        peer: str,
        what: str = STEADY,
        whole: bool = True,
        threads: int = 1,
        api: str = "",
        defaults: bool = False,
    ) -> Mean | None:
        """None where no model has figures of both."""
        api = api or self.asked.apis[0]
        rows = [
            r for r in self.of(backend, api, defaults) if r.over(peer, what, threads=threads) and (r.whole or not whole)
        ]
        if not rows:
            return None
        over = {k: [r.over(peer, what, k, threads) for r in rows] for k in KINDS[what]}
        ratios = _ratios({k: times.geometric_mean(v or 0 for v in values) for k, values in over.items() if all(values)})
        assert ratios, "the rows have medians"
        judged = (
            threads == 1 and (whole or not any(r.whole for r in rows)) and api == self.asked.apis[0] and not defaults
        )
        limit = self._limit(backend, peer) if judged and what == STEADY else 0.0
        found = _headline(peer, what, all(r.on_cpu for r in rows), threads, ratios, [limit] if limit else [])
        headlines = [(r, one) for r in rows if (one := r.headline(peer, what, threads))]
        doubts = [one for _, one in headlines if not one.reliable]
        waiting = [(r, one) for r, one in headlines if one.ratios.waits]
        if found.reliable and 2 * len(doubts) >= len(rows):
            found = replace(found, doubt=f"the machine was busy: {len(doubts)} of {len(rows)} ratios are not reliable")
        if waiting:
            row, one = max(waiting, key=lambda pair: pair[1].ratios.wait_us)
            found = replace(found, doubt=f"{row.model}: {headline.waits(one.ratios.wait_us)}")
        return Mean(backend, peer, what, threads, len(rows), whole, found, limit, api, defaults, bool(waiting))

    def _limit(self, backend: str, peer: str) -> float:
        """The user's, on a mean of one inference with one thread."""
        if peer == XNNPACK:
            return self.asked.limit if backend == self.backends[0] else 0.0
        return self.asked.limit_shipped if peer == peer_names.key(f"shipped-{backend}") else 0.0

    def means(self) -> list[Mean]:
        """Each backend over its peers; steady (with each number of threads), starts; whole models, then all."""
        found: list[Mean] = []
        for kind in self.asked.kinds:
            backend, api, defaults = kind
            for peer in self.peers_of(backend):
                starts = [(SECOND, 1)] if self.on_host else [(COLD, 1), (WARM, 1), (SECOND, 1)]
                starts = [] if defaults else starts
                for what, threads in [*((STEADY, t) for t in self.asked.threads_of(kind)), *starts]:
                    whole = self.mean(backend, peer, what, True, threads, api, defaults)
                    every = self.mean(backend, peer, what, False, threads, api, defaults)
                    found += [whole] if whole else []
                    found += [every] if every and (not whole or every.models != whole.models) else []
        return found


def way(kind: Kind) -> str:
    """How a model ran: `OpenCL`, `OpenCL, compiled` through LiteRT's CompiledModel, `OpenCL, defaults`."""
    compiled, defaults = ", compiled" if kind.api == "compiled" else "", ", defaults" if kind.defaults else ""
    return f"{verdicts.APIS[kind.backend]}{compiled}{defaults}"


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
    if waits := times.wait_us(timings, judged.folder.read(schema.Verdicts)):
        row.runners[QUADRA].steady[threads][WAIT] = waits
    row.runs.append(judged.folder.path.name)


def _take_facts(row: Row, judged: Judged, timings: schema.Timings) -> None:
    value = judged.folder.read(schema.Verdicts)
    report, model = verdicts.read(value), judged.folder.optional(schema.Model)
    ran = {tensor.name: tensor.shape for tensor in judged.folder.tensors("inputs")} if model else {}
    row.shapes = ", ".join(
        f"{name} {'×'.join(map(str, ran[name]))}" for name in (model.free_sizes if model else ()) if name in ran
    )
    row.device, row.on_cpu = report.device, headline.computes_on_cpu(value)
    environment = judged.folder.optional(schema.Environment)
    if environment and environment.device.serial:
        row.who, row.heat = device_condition.label(environment.device), device_condition.heat(environment.thermal)
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
        if not row.defaults:  # nothing was there before it, and nothing was taken away: neither a cold nor a warm start
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


def document(result: Bench) -> BenchDocument:
    """The bench as bench.json and --json have it."""
    rows = []
    for row in result.rows:
        over = {p: {w: _document(row.headline(p, w)) for w in KINDS} for p in result.peers_of(row.backend)}
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
        "geometric_means": [
            {**asdict(mean), "headline": _document(mean.headline), "verdict": mean.verdict} for mean in result.means()
        ],
        "rows": rows,
    }
    return schema.of(BenchDocument, json.loads(json.dumps(value), parse_constant=_WORDS.get))


def _document(found: Headline | None) -> Any:
    return schema.plain(printed.ratio(found)) if found else None


def fail_if_wrong(result: Bench) -> None:
    """JudgementFailed when a model failed or Quadra is wrong, or a mean of one thread is over the user's limit, also where
    the machine was busy. A peer that fails is a finding.
    """
    if result.wrong:
        where = {"jvm": " --on jvm", "device": f" --on {result.asked.device or 'SERIAL'}"}.get(result.asked.place, "")
        did = f"wrong or failed: {', '.join(result.wrong)}"
        raise JudgementFailed("bench", did, f"`./inv run MODEL{where}` shows one of them closely")
    limits = [(result.backends[0], XNNPACK, result.asked.limit)]
    limits += [(one, peer_names.key(f"shipped-{one}"), result.asked.limit_shipped) for one in result.backends]
    for backend, peer, most in limits:
        mean = (result.mean(backend, peer) or result.mean(backend, peer, whole=False)) if most else None
        if most and (not mean or mean.exceeded):
            who = peer_names.label(peer) if peer == XNNPACK else f"the {peer_names.label(peer)}"
            raise JudgementFailed("bench", _over_limit(backend, who, mean, most), _after_limit(mean))


def _over_limit(backend: str, who: str, mean: Mean | None, most: float) -> str:
    words = (
        headline.CLOCKS["wall"] if mean and mean.judged > mean.headline.ratio else mean.headline.words if mean else ""
    )
    value = f"{mean.judged:.2f} of the {words}" if mean else "an unknown share of the time"
    busy = f"; {mean.headline.doubt}" if mean else ""
    return f"{verdicts.APIS[backend]} takes {value} of {who}, over {most:g}{busy.rstrip('; ')}"


def _after_limit(mean: Mean | None) -> str:
    if mean and not mean.headline.reliable and not mean.waits:
        return "measure again while nothing else runs"
    return "`./inv profile` shows where time goes"
