"""Quadra beside XNNPACK, model by model, on one backend or both, at one and two threads; and beside the GPU delegate
that TFLite ships.

Every model runs in processes of its own and leaves run folders, from which all figures are taken. Times of Quadra and
XNNPACK are taken in one process, alternated; what is compared is their ratio, because the machine may be busy.
"""

import json
import math
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from host_tools import compare, environment, models, run, settings, times, verdicts
from host_tools.errors import JudgementFailed, Misuse, QuadraError
from host_tools.place import drivers, host
from host_tools.run_folder import RunFolder

SHIPPED = Path(__file__).with_name("shipped_delegate.json")
THREADS = (1, 2)
KINDS = ("ratio", "ratio_min", "ratio_cpu")  # of medians, of minima, of processor time
BACKENDS = {"opencl": ("opencl",), "gles": ("gles",), "both": ("opencl", "gles")}
GOAL = {"opencl": 1.5}  # geometric mean of time over XNNPACK's, one thread
GOAL_BESIDE_SHIPPED = {"gles": 0.5}  # the same, over that of the shipped delegate
MODELS = (
    "body-pix-float-050-8",
    "deeplabv3_257_mv_gpu",
    "face_detection_front",
    "face_detection_full_range_sparse",
    "face_detection_short_range",
    "pose_detection",
    "face_landmark",
    "hand_landmark_full",
    "hand_recrop",
    "iris_landmark",
    "palm_detection_full",
    "palm_detection_lite",
    "pose_landmark_full",
    "selfie_segmentation",
    "selfie_segmentation_landscape",
)


@dataclass
class Row:
    """The figures of one model on one backend. Ratios are Quadra's time over XNNPACK's. None: not known."""

    model: str
    backend: str = "opencl"
    device: str = ""
    error: str = ""  # why there are no figures
    nodes_gpu: int = 0
    nodes_cpu: int = 0
    right: Optional[bool] = None
    relative_error: float = 0.0
    unsure: bool = False  # the error is more than the usual limit, and as far as rounding moves the output
    quadra_us: Dict[int, float] = field(default_factory=dict)  # by threads; medians
    xnnpack_us: Dict[int, float] = field(default_factory=dict)
    ratio: Dict[int, float] = field(default_factory=dict)  # of medians
    ratio_min: Dict[int, float] = field(default_factory=dict)  # of minima
    ratio_cpu: Dict[int, float] = field(default_factory=dict)  # of processor time
    cold_us: int = 0
    cold_cpu_us: int = 0  # processor time of the same
    warm_us: int = 0
    xnnpack_start_us: int = 0
    programs: int = 0  # distinct kernels that were compiled
    dispatches: int = 0
    peak_rss_bytes: int = 0
    cold_peak_rss_bytes: int = 0
    activation_bytes: int = 0
    lower_bound_bytes: int = 0
    shipped: Dict[str, float] = field(default_factory=dict)

    @property
    def shipped_ratio(self) -> Optional[float]:
        """The shipped delegate's time over XNNPACK's, on the same backend."""
        time_ms, xnnpack_ms = self.shipped.get(f"{self.backend}_ms"), self.shipped.get("xnnpack_ms")
        return time_ms / xnnpack_ms if time_ms and xnnpack_ms else None

    def over_shipped(self, kind: str = "ratio") -> Optional[float]:
        """Quadra's ratio at one thread over the shipped delegate's."""
        ours = getattr(self, kind).get(1)
        return ours / self.shipped_ratio if ours and self.shipped_ratio else None


@dataclass(frozen=True)
class Beside:
    """Quadra beside the shipped delegate: geometric means over the models that both have run, at one thread."""

    models: int
    ratio: float  # over XNNPACK
    shipped_ratio: float
    quotient: Dict[str, float]  # of the two, by KINDS
    goal: Optional[float]  # for the quotient of medians

    @property
    def met(self) -> bool:
        return self.goal is None or self.quotient["ratio"] <= self.goal


@dataclass(frozen=True)
class Bench:
    """All rows, and what they were made with."""

    folder: Path
    backends: Tuple[str, ...]
    rows: Tuple[Row, ...]
    library: Dict[str, Any]
    cpu: str
    cpus: int
    load: float  # load average at the end: over the number of CPUs, times on the wall say little

    @property
    def busy(self) -> bool:
        return self.load > 1.2 * self.cpus

    @property
    def devices(self) -> Dict[str, str]:
        """The device that ran with one thread, by backend."""
        return {b: next((r.device for r in self.of(b) if r.device), "none") for b in self.backends}

    def of(self, backend: str) -> List[Row]:
        return [r for r in self.rows if r.backend == backend]

    def mean(self, backend: str, threads: int, kind: str = "ratio") -> float:
        """Geometric mean over all models that have it of `ratio`, `ratio_min` or `ratio_cpu`."""
        return times.geometric_mean(getattr(r, kind)[threads] for r in self.of(backend) if threads in getattr(r, kind))

    def beside_shipped(self, backend: str) -> Optional[Beside]:
        """None where no model has figures of both."""
        rows = [r for r in self.of(backend) if r.over_shipped()]
        if not rows:
            return None
        quotient = {kind: times.geometric_mean(r.over_shipped(kind) or 0 for r in rows) for kind in KINDS}
        ours = times.geometric_mean(r.ratio[1] for r in rows)
        theirs = times.geometric_mean(r.shipped_ratio or 0 for r in rows)
        return Beside(len(rows), ours, theirs, quotient, GOAL_BESIDE_SHIPPED.get(backend))

    @property
    def wrong(self) -> List[str]:
        return [f"{r.model} on {verdicts.APIS[r.backend]}" for r in self.rows if r.error or r.right is False]


def measure(
    names: Sequence[str],
    backend: str,
    library: Path,
    repetitions: int,
    show: Callable[[str], None],
    keep: Callable[["Bench"], Any],
) -> Bench:
    """Runs every model at one and two threads, in a folder of its own. `keep` gets the bench so far after each model:
    a long one that is cut off is not lost."""
    folder = settings.read().runs_dir / f"bench-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    settings.make_folder(folder, "QUADRA_RUNS_DIR")
    backends, facts = backends_of(backend), environment.library_facts(library)
    cpu, cpus = environment.cpu_name(), len(os.sched_getaffinity(0))
    result = Bench(folder, backends, (), facts, cpu, cpus, os.getloadavg()[0])
    for number, name in enumerate(names, 1):
        rows = list(result.rows)
        for one in backends:
            head = f"{number}/{len(names)} {name}: {verdicts.APIS[one]}"
            rows.append(_measure_model(name, one, library, repetitions, folder, lambda text: show(f"{head}, {text}")))
        result = Bench(folder, backends, tuple(rows), facts, cpu, cpus, os.getloadavg()[0])
        keep(result)
    return result


def backends_of(word: str) -> Tuple[str, ...]:
    if word not in BACKENDS:
        raise Misuse("read --backend", f"{word!r} is not one of {', '.join(BACKENDS)}", "choose one of these")
    return BACKENDS[word]


def chosen(names: Sequence[str]) -> Tuple[List[str], List[str]]:
    """(models to measure, those of MODELS that are not here). Names that were given must all be found."""
    for name in names:
        models.find(name)
    if names:
        return list(names), []
    status = {entry.name: bool(entry.member or where) for entry, where in models.status()}
    return [n for n in MODELS if status[n]], [n for n in MODELS if not status[n]]


def _measure_model(
    name: str, backend: str, library: Path, repetitions: int, folder: Path, show: Callable[[str], None]
) -> Row:
    row = Row(name, backend, shipped=shipped()["models"].get(name, {}))
    try:
        for threads in THREADS:
            spec = run.make_spec(name, backend=backend, threads=threads, repetitions=repetitions, cold=threads == 1)
            row.model, words = spec.model.name, f"{threads} thread{'s' if threads > 1 else ''}"
            one = host.run(spec, library, lambda text: show(f"{words}, {text}"), folder)
            run.check_backend(one)
            _take_times(row, threads, one.json("timings.json"))
            if threads == 1:
                _take_facts(row, one)
    except QuadraError as error:
        row.error = f"{error.tried}: {error.came_back}"
    return row


def _take_times(row: Row, threads: int, timings: Dict[str, Any]) -> None:
    steady, ratio = times.steady(timings), times.ratio(timings)
    row.quadra_us[threads] = steady["quadra"].median
    if ratio:
        row.xnnpack_us[threads] = steady["xnnpack"].median
        row.ratio[threads], row.ratio_min[threads] = ratio.median, ratio.minimum
        row.ratio_cpu[threads] = ratio.processor


def _take_facts(row: Row, folder: RunFolder) -> None:
    timings, value = folder.json("timings.json"), folder.json("verdicts.json")
    found = verdicts.read(value)
    row.nodes_gpu, row.nodes_cpu, row.device = found.gpu, found.cpu, found.device
    if folder.has("cpu_outputs"):
        judged = compare.compare(folder)
        row.right, row.relative_error = judged.ok, max((o.relative for o in judged.outputs), default=0.0)
        row.unsure = judged.unsure
    init = timings["init_us"]
    row.cold_us, row.warm_us = init["quadra_cold"]["total_us"], init["quadra_warm"]["total_us"]
    row.cold_cpu_us = init["quadra_cold"].get("cpu_us", 0)
    row.xnnpack_start_us = init.get("xnnpack", {}).get("total_us", 0)
    row.peak_rss_bytes = timings["memory"]["peak_rss_bytes"]
    row.cold_peak_rss_bytes = timings["cold_memory"]["peak_rss_bytes"]
    row.dispatches = sum(len(p["dispatches"]) for p in value["partitions"])
    row.programs = sum(p["programs"] for p in value["partitions"])
    row.activation_bytes = sum(p["activation_bytes"] for p in value["partitions"])
    row.lower_bound_bytes = sum(p["activation_bytes_lower_bound"] for p in value["partitions"])


def shipped() -> Dict[str, Any]:
    """Figures of the shipped GPU delegate, by model, and where they are from."""
    return json.loads(SHIPPED.read_text(encoding="utf-8"))


def to_json(result: Bench) -> Dict[str, Any]:
    means = {
        b: {str(t): {kind: _number(result.mean(b, t, kind)) for kind in KINDS} for t in THREADS}
        for b in result.backends
    }
    beside = {b: asdict(found) for b in result.backends if (found := result.beside_shipped(b))}
    return {
        "schema_version": 2,
        "cpu": result.cpu,
        "cpus": result.cpus,
        "load_average": round(result.load, 2),
        "library": result.library,
        "devices": result.devices,
        "driver_settings": {str(t): drivers.settings(t) for t in THREADS},
        "geometric_mean": means,
        "goal": GOAL,
        "beside_shipped": _numbers(beside),
        "rows": [_numbers(_row_json(row)) for row in result.rows],
    }


def _row_json(row: Row) -> Dict[str, Any]:
    return {**asdict(row), "shipped_ratio": row.shipped_ratio, "over_shipped": row.over_shipped()}


def judge(result: Bench, limit: float, limit_shipped: float) -> None:
    """JudgementFailed when a model failed or is wrong, or a mean at one thread is over its limit (0: no limit).

    limit: of the first backend that was measured, over XNNPACK. limit_shipped: of each, over the shipped delegate.
    """
    if result.wrong:
        raise JudgementFailed(
            "bench", f"wrong or failed: {', '.join(result.wrong)}", "`./inv run MODEL` shows one of them closely"
        )
    first = result.mean(result.backends[0], 1)
    if limit and not first <= limit:
        raise _too_slow(f"the geometric mean is {first:.2f}, over {limit:g}")
    for backend in result.backends if limit_shipped else ():
        beside = result.beside_shipped(backend)
        quotient = beside.quotient["ratio"] if beside else math.nan
        if not quotient <= limit_shipped:
            words = f"{verdicts.APIS[backend]} takes {quotient:.2f} of the shipped delegate's time"
            raise _too_slow(f"{words}, over {limit_shipped:g}")


def _too_slow(came_back: str) -> JudgementFailed:
    return JudgementFailed("bench", came_back, "`./inv profile` shows where time goes")


def _number(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return round(value, 9) if math.isfinite(value) else str(value)


def _numbers(value: Any) -> Any:
    """JSON has no infinity: it becomes a word."""
    return {key: _numbers(one) for key, one in value.items()} if isinstance(value, dict) else _number(value)
