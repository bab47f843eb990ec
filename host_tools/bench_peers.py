"""Quadra beside its peers, model by model: XNNPACK and the GPU delegate that TFLite ships.

All run in one process inside Android's runtime, on the same inputs, in turns, with one thread; what is compared are
ratios, because the machine may be busy. Every model and backend leaves a run folder, from which all figures are taken:
a bench that was broken off goes on with those that it has.
"""

import json
import os
import statistics
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from host_tools import bench, compare, environment, models, peers, place, run, run_folder, settings, times, verdicts
from host_tools import spec as specs
from host_tools.errors import FolderNotWritable, JudgementFailed, Misuse, QuadraError
from host_tools.run_folder import RunFolder

PLACE = "app"
QUADRA = "quadra"
STEADY, COLD, WARM = "steady", "cold", "warm"
KINDS = {STEADY: ("median", "minimum", "processor"), COLD: ("median", "processor"), WARM: ("median", "processor")}
# Of the shipped delegate's time on the same backend: OpenCL 4 times as fast, OpenGL ES twice; half of a cold start.
GOALS = {("opencl", STEADY): 0.25, ("gles", STEADY): 0.5, ("opencl", COLD): 0.5, ("gles", COLD): 0.5}
_DEADLINE_S = 600.0
_REPETITIONS = 10  # each row starts three Java processes: many runs of each would tell little more
_WORDS = {"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan"}  # JSON has no such numbers


@dataclass
class Runner:
    """How one of those who ran did with a model. Times in us, 0: not known."""

    error: str = ""  # why it did not run
    nodes_taken: Optional[int] = None  # None: not known
    nodes: Optional[int] = None
    right: Optional[bool] = None
    relative_error: float = 0.0
    steady: Dict[str, float] = field(default_factory=dict)  # median, minimum, processor
    cold: Dict[str, float] = field(default_factory=dict)  # median is the wall's: there is one start
    warm: Dict[str, float] = field(default_factory=dict)


@dataclass
class Row:
    """A model on one backend."""

    model: str
    backend: str
    error: str = ""  # why there are no figures
    device: str = ""
    unsure: bool = False  # the error is as far as rounding moves the output, and more than the usual limit
    run: str = ""  # its folder
    runners: Dict[str, Runner] = field(default_factory=dict)  # by their keys in timings.json

    @property
    def shipped(self) -> str:
        """The key of the shipped delegate on this backend."""
        return peers.key(f"shipped-{self.backend}")

    @property
    def whole(self) -> bool:
        """Whether Quadra took every node: then it is the GPU alone that is compared."""
        ours = self.runners.get(QUADRA)
        return bool(ours and ours.nodes and ours.nodes_taken == ours.nodes)

    def over(self, peer: str, what: str = STEADY, kind: str = "median") -> Optional[float]:
        """Quadra's time over that of `peer`, a key; None where one of the two did not run or is wrong."""
        ours, theirs = self.runners.get(QUADRA), self.runners.get(peer)
        if not ours or not theirs or ours.right is False or theirs.right is False:
            return None
        us, peer_us = getattr(ours, what).get(kind), getattr(theirs, what).get(kind)
        return us / peer_us if us and peer_us else None


@dataclass(frozen=True)
class Mean:
    """Geometric means, by kind, of Quadra's time over a peer's."""

    backend: str
    peer: str
    what: str
    models: int
    whole: bool  # over the models alone that Quadra took wholly
    values: Dict[str, float]
    goal: Optional[float]

    @property
    def met(self) -> bool:
        return self.goal is None or self.values["median"] <= self.goal


@dataclass(frozen=True)
class Asked:
    """What a bench is to measure."""

    models: Tuple[str, ...]
    backends: Tuple[str, ...]
    peers: Tuple[str, ...]
    repetitions: int
    resume: str = ""  # the folder of a bench that was broken off, by name or path: its complete runs are taken


@dataclass(frozen=True)
class Bench:
    """All rows, and what they were made with."""

    folder: Path
    asked: Asked
    rows: Tuple[Row, ...]
    library: Dict[str, Any]
    cpu: str
    cpus: int
    load: float

    @property
    def backends(self) -> Tuple[str, ...]:
        return self.asked.backends

    @property
    def devices(self) -> Dict[str, str]:
        return {b: next((r.device for r in self.of(b) if r.device), "none") for b in self.backends}

    @property
    def finished(self) -> bool:
        return len(self.rows) == len(self.asked.models) * len(self.backends)

    @property
    def busy(self) -> bool:
        return self.load > 1.2 * self.cpus

    def of(self, backend: str) -> List[Row]:
        return [row for row in self.rows if row.backend == backend]

    def mean(self, backend: str, peer: str, what: str, whole: bool = True) -> Optional[Mean]:
        """None where no model has figures of both."""
        rows = [r for r in self.of(backend) if r.over(peer, what) and (r.whole or not whole)]
        if not rows:
            return None
        values = {k: times.geometric_mean(r.over(peer, what, k) or 0 for r in rows) for k in KINDS[what]}
        goal = GOALS.get((backend, what)) if peer in map(peers.key, peers.SHIPPED) and whole else None
        return Mean(backend, peer, what, len(rows), whole, values, goal)

    def means(self) -> List[Mean]:
        """Each backend over XNNPACK and over the shipped delegate; steady, cold and warm; whole models, then all."""
        found = []
        for backend in self.backends:
            for peer in self.peers_of(backend):
                for what in (STEADY, COLD, WARM):
                    pair = [self.mean(backend, peer, what, whole) for whole in (True, False)]
                    if pair[0] and pair[1] and pair[0].models == pair[1].models:
                        pair.pop()
                    found += [mean for mean in pair if mean]
        return found

    def peers_of(self, backend: str) -> List[str]:
        """Keys of those who run beside Quadra on that backend."""
        return [peers.key(name) for name in _beside(self.asked.peers, backend)]

    @property
    def wrong(self) -> List[str]:
        bad = (r for r in self.rows if r.error or r.runners[QUADRA].right is False)
        return [f"{r.model} on {verdicts.APIS[r.backend]}" for r in bad]


def asked(names: Sequence[str], backend: str, beside: str, repetitions: int, resume: str) -> Asked:
    """What the words of the command line ask for; all of it is checked before anything runs.

    names: none means all of the catalogue that are here. backend: none means those of the peers. beside: names of
    peers with a comma between them; none means all.
    """
    wanted = peers.parse(beside) or (peers.XNNPACK, *peers.SHIPPED)
    strange = [name for name in wanted if name != peers.XNNPACK and name not in peers.SHIPPED]
    if strange:
        known = ", ".join((peers.XNNPACK, *peers.SHIPPED))
        raise Misuse("read --peer", f"{strange[0]!r} is not one of {known}", "choose from these")
    own = [b for b in bench.BACKENDS["both"] if f"shipped-{b}" in wanted]
    backends = bench.backends_of(backend) if backend else tuple(own) or ("opencl",)
    wanted = tuple(name for b in backends for name in _beside(wanted, b))
    for name in names:
        models.find(name)
    found = tuple(dict.fromkeys(names)) or here()
    if not found:
        raise Misuse("bench", "no model is here", "`./inv models --fetch`, or set QUADRA_MODELS_DIR")
    return Asked(found, backends, tuple(dict.fromkeys(wanted)), repetitions or _REPETITIONS, resume)


def here() -> Tuple[str, ...]:
    """Models of the catalogue whose files are here, those that run wholly on Quadra first."""
    here = [entry.name for entry, where in models.status() if where]
    return tuple(sorted(here, key=lambda name: name not in bench.MODELS))


def measure(asked: Asked, library: Path, show: Callable[[str], None], keep: Callable[[Bench], Any]) -> Bench:
    """Runs every model on each backend; a model that fails is a row with its reason. `keep` gets the bench after each:
    one that is broken off is not lost."""
    folder, facts = _folder(asked.resume), environment.library_facts(library)
    maker = _RowMaker(asked, library, folder, _finished(folder, facts["sha256"]))
    result = bench_of(folder, asked, (), facts)
    for number, name in enumerate(asked.models, 1):
        for backend in asked.backends:
            head = f"{number}/{len(asked.models)} {name}: {verdicts.APIS[backend]}"
            row = maker.row(name, backend, lambda text: show(f"{head}, {text}"))
            result = bench_of(folder, asked, (*result.rows, row), facts)
            keep(result)
    return result


def bench_of(folder: Path, asked: Asked, rows: Tuple[Row, ...], library_facts: Dict[str, Any]) -> Bench:
    cpus = len(os.sched_getaffinity(0))
    return Bench(folder, asked, rows, library_facts, environment.cpu_name(), cpus, os.getloadavg()[0])


def _folder(resume: str) -> Path:
    runs_dir = settings.read().runs_dir
    if not resume:
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        return settings.make_folder(runs_dir / f"bench-{stamp}", "QUADRA_RUNS_DIR")
    for folder in (runs_dir / resume, Path(resume).expanduser()):
        if folder.is_dir():
            return folder.resolve()
    do_next = "give the name or path of a folder that `inv bench` has made"
    raise Misuse(f"go on with the bench {resume}", f"{runs_dir / resume} is no folder", do_next)


def _finished(folder: Path, library_sha256: str) -> List[RunFolder]:
    """Complete runs with this library that are there already."""
    found = [RunFolder(folder / run_id) for run_id in run_folder.list_ids(folder)]
    whole = [one for one in found if one.is_complete()]
    return [one for one in whole if one.json("environment.json")["library"]["sha256"] == library_sha256]


def _beside(names: Sequence[str], backend: str) -> Tuple[str, ...]:
    """Who runs in the process with Quadra on that backend: the shipped delegate on the same one."""
    return tuple(n for n in names if n == peers.XNNPACK or n == f"shipped-{backend}")


@dataclass(frozen=True)
class _RowMaker:
    """Makes rows: by a run, or from one that is `done`."""

    asked: Asked
    library: Path
    folder: Path
    done: Sequence[RunFolder]

    def row(self, name: str, backend: str, show: Callable[[str], None]) -> Row:
        row = Row(name, backend)
        try:
            fields = {"backend": backend, "place": PLACE, "peers": _beside(self.asked.peers, backend)}
            counts = {"repetitions": self.asked.repetitions, "deadline_s": _DEADLINE_S}
            spec = run.make_spec(name, cold=True, **fields, **counts)
            row.model = spec.model.name
            found = next((one for one in self.done if _same(one.spec(), spec)), None)
            found = found or place.named(PLACE).run(spec, self.library, show, self.folder)
            run.check_backend(found)
            take(row, found)
        except FolderNotWritable:
            raise  # no later model would fare better
        except QuadraError as error:
            row.error = " ".join(f"{error.tried}: {error.came_back}".split())
        return row


def _same(old: specs.RunSpec, new: specs.RunSpec) -> bool:
    """Whether a run answers what is asked; how often it was repeated does not matter."""
    same = all(getattr(old, k) == getattr(new, k) for k in ("options", "inputs", "place", "peers", "threads", "cold"))
    return same and old.model.sha256 == new.model.sha256


def take(row: Row, folder: RunFolder) -> None:
    """Fills a row from a run folder."""
    timings, report = folder.json("timings.json"), verdicts.read(folder.json("verdicts.json"))
    row.device, row.run = report.device, folder.path.name
    ours = Runner(nodes_taken=report.gpu, nodes=report.gpu + report.cpu)
    row.runners = {QUADRA: ours}
    judged = compare.compare(folder) if folder.has("cpu_outputs") else None
    if judged:
        ours.right, row.unsure = judged.ok, judged.unsure
        ours.relative_error = max((o.relative for o in judged.outputs), default=0.0)
    for peer in peers.judge(folder, judged):
        worst = max(peer.relative, default=0.0)
        reason = " ".join(peer.error.split()).partition("; next:")[0]
        found = Runner(reason, peer.nodes_taken, peer.nodes, peer.ok, worst)
        row.runners[peers.key(peer.name)] = found
    for key, runner in row.runners.items():
        _take_times(runner, key, timings)


def _take_times(runner: Runner, key: str, timings: Mapping[str, Any]) -> None:
    steady, cpu = times.steady(timings).get(key), timings.get("cpu_us", {}).get(key)
    if steady:
        runner.steady = {"median": steady.median, "minimum": steady.minimum}
        if cpu:
            runner.steady["processor"] = statistics.median(cpu)
    init = timings["init_us"]
    # XNNPACK compiles nothing: each of its starts is a cold one.
    starts = {COLD: init.get(f"{key}_cold"), WARM: init.get(f"{key}_warm", init.get(key))}
    for what, laps in starts.items():
        laps = laps or (init.get(key) if key == peers.XNNPACK else None)
        if laps:
            setattr(runner, what, {"median": laps["total_us"], "processor": laps.get("cpu_us", 0)})


def to_json(result: Bench) -> Dict[str, Any]:
    rows = []
    for row in result.rows:
        over = {p: {w: row.over(p, w) for w in KINDS} for p in result.peers_of(row.backend)}
        rows.append({**asdict(row), "whole": row.whole, "over": over})
    return {
        "schema_version": 1,
        "kind": "peers",
        "place": PLACE,
        "finished": result.finished,
        "cpu": result.cpu,
        "cpus": result.cpus,
        "load_average": round(result.load, 2),
        "library": result.library,
        "devices": result.devices,
        "threads": 1,
        "xnnpack": "the one in Android's TFLite runtime",
        "peers": list(result.asked.peers),
        "geometric_means": [{**asdict(mean), "met": mean.met} for mean in result.means()],
        "rows": json.loads(json.dumps(rows), parse_constant=_WORDS.get),
    }


def judge(result: Bench, limit: float, limit_shipped: float) -> None:
    """JudgementFailed when a model failed or Quadra is wrong, or a mean is over its limit (0: no limit). A peer that
    fails, or a goal that is missed, is a finding.

    limit: of the first backend, over XNNPACK. limit_shipped: of each, over the shipped delegate.
    """
    if result.wrong:
        did = f"wrong or failed: {', '.join(result.wrong)}"
        raise JudgementFailed("bench", did, "`./inv run MODEL --on app` shows one of them closely")
    limits = [(result.backends[0], peers.XNNPACK, limit)]
    limits += [(backend, peers.key(f"shipped-{backend}"), limit_shipped) for backend in result.backends]
    for backend, peer, most in limits:
        mean = result.mean(backend, peer, STEADY) if most else None
        if most and not (mean and mean.values["median"] <= most):
            value = f"{mean.values['median']:.2f}" if mean else "an unknown share"
            words = f"{verdicts.APIS[backend]} takes {value} of the time of {peers.label(peer)}, over {most:g}"
            raise JudgementFailed("bench", words, "`./inv profile` shows where time goes")
