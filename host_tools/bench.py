"""Quadra beside XNNPACK, model by model, at one and two threads; and beside the GPU delegate that TFLite ships.

Every model runs in processes of its own and leaves run folders, from which all figures are taken. Times of the two
are taken in one process, alternated; what is compared is their ratio, because the machine may be busy.
"""

import json
import math
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from host_tools import charts, compare, environment, models, report, run, run_folder, settings, times, verdicts
from host_tools.errors import JudgementFailed, QuadraError
from host_tools.place import host
from host_tools.run_folder import RunFolder

SHIPPED = Path(__file__).with_name("shipped_delegate.json")
THREADS = (1, 2)
KINDS = ("ratio", "ratio_min", "ratio_cpu")  # of medians, of minima, of processor time
GOAL = 1.5  # geometric mean of time over XNNPACK, one thread
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
    """The figures of one model. Ratios are Quadra's time over XNNPACK's. None: not known."""

    model: str
    error: str = ""  # why there are no figures
    nodes_gpu: int = 0
    nodes_cpu: int = 0
    right: Optional[bool] = None
    relative_error: float = 0.0
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


@dataclass(frozen=True)
class Bench:
    """All rows, and what they were made with."""

    folder: Path
    rows: Tuple[Row, ...]
    library: Dict[str, Any]
    cpu: str
    cpus: int
    load: float  # load average at the end: over the number of CPUs, times on the wall say little

    @property
    def busy(self) -> bool:
        return self.load > 1.2 * self.cpus

    def mean(self, threads: int, kind: str = "ratio") -> float:
        """Geometric mean over all models that have it of `ratio`, `ratio_min` or `ratio_cpu`."""
        return times.geometric_mean(getattr(r, kind)[threads] for r in self.rows if threads in getattr(r, kind))

    @property
    def wrong(self) -> List[str]:
        return [r.model for r in self.rows if r.error or r.right is False]


def measure(names: Iterable[str], library: Path, repetitions: int, show: Callable[[str], None]) -> Bench:
    """Runs every model at one and two threads; writes bench.json and bench.html into a folder of its own."""
    folder = settings.read().runs_dir / f"bench-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    settings.make_folder(folder, "QUADRA_RUNS_DIR")
    wanted = list(names)
    rows: List[Row] = []
    for number, name in enumerate(wanted, 1):
        rows.append(
            _measure_model(
                name, library, repetitions, folder, lambda text: show(f"{number}/{len(wanted)} {name}: {text}")
            )
        )
        facts = environment.library_facts(library)
        result = Bench(
            folder, tuple(rows), facts, environment.cpu_name(), len(os.sched_getaffinity(0)), os.getloadavg()[0]
        )
        write(result)  # after every model: a long bench that is cut off is not lost
    return result


def chosen(names: Sequence[str]) -> Tuple[List[str], List[str]]:
    """(models to measure, those of MODELS that are not here). Names that were given must all be found."""
    for name in names:
        models.find(name)
    if names:
        return list(names), []
    status = {entry.name: bool(entry.member or where) for entry, where in models.status()}
    return [n for n in MODELS if status[n]], [n for n in MODELS if not status[n]]


def _measure_model(name: str, library: Path, repetitions: int, folder: Path, show: Callable[[str], None]) -> Row:
    row = Row(name, shipped=shipped().get(name, {}))
    try:
        for threads in THREADS:
            spec = run.make_spec(name, threads=threads, repetitions=repetitions, cold=threads == 1)
            one = host.run(
                spec, library, lambda text: show(f"{threads} thread{'s' if threads > 1 else ''}, {text}"), folder
            )
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
    row.nodes_gpu, row.nodes_cpu = found.gpu, found.cpu
    if folder.has("cpu_outputs"):
        judged = compare.compare(folder)
        row.right, row.relative_error = judged.ok, max((o.relative for o in judged.outputs), default=0.0)
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


def shipped() -> Dict[str, Dict[str, float]]:
    """Figures of the shipped GPU delegate, by model."""
    return json.loads(SHIPPED.read_text(encoding="utf-8"))["models"]


def to_json(result: Bench) -> Dict[str, Any]:
    means = {str(t): {kind: _number(result.mean(t, kind)) for kind in KINDS} for t in THREADS}
    return {
        "schema_version": 1,
        "cpu": result.cpu,
        "cpus": result.cpus,
        "load_average": round(result.load, 2),
        "library": result.library,
        "geometric_mean": means,
        "goal": GOAL,
        "rows": [{**asdict(row), "relative_error": _number(row.relative_error)} for row in result.rows],
    }


def write(result: Bench) -> Path:
    """Writes bench.json and bench.html; returns the latter."""
    run_folder.write_json(result.folder / "bench.json", to_json(result))
    timed = [r for r in result.rows if r.ratio]
    chart = charts.ratios([(r.model, _series(r)) for r in timed], GOAL)
    template = report.environment().get_template("bench.html")
    about = json.loads(SHIPPED.read_text(encoding="utf-8"))
    page = template.render(
        bench=result,
        chart=chart,
        means={t: [result.mean(t, kind) for kind in KINDS] for t in THREADS},
        goal=GOAL,
        shipped=about,
        math=math,
    )
    run_folder.write_text(result.folder / "bench.html", page)
    return result.folder / "bench.html"


def _series(row: Row) -> List[Tuple[str, float]]:
    found = [(f"{t} thread{'s' if t > 1 else ''}", row.ratio[t]) for t in THREADS if t in row.ratio]
    theirs = row.shipped.get("opencl_ms"), row.shipped.get("xnnpack_ms")
    return found + ([("shipped delegate, OpenCL", theirs[0] / theirs[1])] if all(theirs) else [])


def show(result: Bench, console: Console) -> None:
    """The table, the means, and where the page is."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("model", no_wrap=True)
    for column in (
        "GPU nodes",
        "error",
        "Quadra ms",
        "XNNPACK ms",
        "ratio 1T",
        "(min)",
        "(cpu)",
        "ratio 2T",
        "(min)",
        "cold ms",
        "(cpu)",
        "warm ms",
        "programs",
        "peak MiB",
        "activations",
        "bound",
        "shipped: ratio",
        "cold ms",
    ):
        table.add_column(column, justify="right")
    for row in result.rows:
        table.add_row(*(_cells(row)))
    console.print(table)
    for row in result.rows:
        if row.error:
            console.print(f"[red]{escape(row.model)}[/]: {escape(row.error)}")
    for threads in THREADS:
        median, minimum, cpu = (result.mean(threads, kind) for kind in KINDS)
        words = f"{median:.2f} of medians, {minimum:.2f} of minima, {cpu:.2f} of processor time"
        goal = f"  (goal: {GOAL} or less)" if threads == 1 else ""
        console.print(f"geometric mean at {threads} thread{'s' if threads > 1 else ''}: {words}{goal}")
    if result.busy:
        console.print(
            f"[yellow]the machine was busy[/] (load {result.load:.1f} on {result.cpus} CPUs): "
            "believe processor time, then minima"
        )
    console.print(f"library: {report.size_text(result.library['bytes'])}")
    console.print(
        f"page     {escape(str(result.folder / 'bench.html'))}\nfigures  {escape(str(result.folder / 'bench.json'))}"
    )


def _cells(row: Row) -> List[str]:
    if row.error:
        return [escape(row.model), "[red]failed[/]"]
    theirs, base = row.shipped.get("opencl_ms"), row.shipped.get("xnnpack_ms")
    error = f"{row.relative_error:.0e}"
    return [
        escape(row.model),
        f"{row.nodes_gpu}/{row.nodes_gpu + row.nodes_cpu}",
        "–" if row.right is None else error if row.right else f"[red]{error}[/]",
        times.ms(row.quadra_us[1]),
        times.ms(row.xnnpack_us[1]) if row.xnnpack_us else "–",
        *[f"{by.get(1, math.nan):.2f}" for by in (row.ratio, row.ratio_min, row.ratio_cpu)],
        *[f"{by.get(2, math.nan):.2f}" for by in (row.ratio, row.ratio_min)],
        times.ms(row.cold_us),
        times.ms(row.cold_cpu_us),
        times.ms(row.warm_us),
        str(row.programs),
        f"{row.peak_rss_bytes / 2**20:.0f}",
        report.size_text(row.activation_bytes),
        report.size_text(row.lower_bound_bytes),
        f"{theirs / base:.1f}" if theirs and base else "–",
        f"{row.shipped['opencl_cold_ms']:.0f}" if "opencl_cold_ms" in row.shipped else "–",
    ]


def judge(result: Bench, limit: float) -> None:
    """JudgementFailed when a model failed or is wrong, or the mean at one thread is over `limit` (0: no limit)."""
    if result.wrong:
        raise JudgementFailed(
            "bench", f"wrong or failed: {', '.join(result.wrong)}", "`./inv run MODEL` shows one of them closely"
        )
    if limit and not result.mean(1) <= limit:
        raise JudgementFailed(
            "bench",
            f"the geometric mean is {result.mean(1):.2f}, over {limit:g}",
            "`./inv profile` shows where time goes",
        )


def _number(value: float) -> Any:
    return round(value, 9) if math.isfinite(value) else str(value)
