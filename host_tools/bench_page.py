"""A bench as figures and as a page: bench.json and bench.html, which need nothing else."""

from pathlib import Path
from typing import List

from host_tools import bench, charts, compare, report, run_folder, verdicts
from host_tools.place import drivers

FILE = "bench.html"


def write(result: bench.Bench) -> Path:
    """Writes bench.json and bench.html; returns the latter."""
    run_folder.write_json(result.folder / "bench.json", bench.to_json(result))
    page = report.environment().get_template(FILE).render(
        bench=result,
        apis=verdicts.APIS,
        chart=charts.ratios(_chart_rows(result), bench.GOAL if "opencl" in result.backends else {}),
        kinds=bench.KINDS,
        unsure=compare.UNSURE,
        goal=bench.GOAL,
        threads=bench.THREADS,
        settings={t: drivers.settings(t) for t in bench.THREADS},
        shipped=bench.shipped(),
    )
    run_folder.write_text(result.folder / FILE, page)
    return result.folder / FILE


def _chart_rows(result: bench.Bench) -> List[charts.RatioRow]:
    """A row per model: Quadra at both numbers of threads, and the shipped delegate, on each backend."""
    rows = []
    for model in dict.fromkeys(r.model for r in result.rows if r.ratio):
        marks: List[charts.Mark] = []
        for row in (r for r in result.rows if r.model == model and r.ratio):
            api = verdicts.APIS[row.backend]
            for threads, value in row.ratio.items():
                words = f"Quadra, {api}, {threads} thread{'s' if threads > 1 else ''}"
                marks.append(charts.Mark(words, row.backend if threads == 1 else f"{row.backend} more", value))
            if row.shipped_ratio:
                marks.append(charts.Mark(f"shipped delegate, {api}", f"{row.backend} shipped", row.shipped_ratio))
        rows.append((model, marks))
    return rows
