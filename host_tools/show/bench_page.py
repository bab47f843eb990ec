"""A bench as figures and as a page: bench.json and bench.html, which need nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import cpu_drivers
from host_tools.judge import bench_figures, compare
from host_tools.judge.bench_figures import COLD, STEADY, Bench
from host_tools.record import run_folder, verdicts
from host_tools.record.peer_names import XNNPACK
from host_tools.show import bench_columns, charts, report

FILE, FIGURES = "bench.html", "bench.json"


def write(result: Bench) -> Path:
    """Writes bench.json and bench.html; returns the latter."""
    run_folder.write_json(result.folder / FIGURES, bench_figures.document(result))
    measured = not result.on_host
    asked = result.asked
    shipped_limits = dict.fromkeys(result.backends, asked.limit_shipped)
    page = (
        report.environment()
        .get_template(FILE)
        .render(
            bench=result,
            apis=verdicts.APIS,
            cards=[mean for mean in result.means() if mean.whole and mean.what == STEADY],
            way=bench_figures.way,
            steady_chart=_chart(result, _over_xnnpack(result), {result.backends[0]: asked.limit}),
            shipped_chart=_chart(result, _over_shipped(result, STEADY), shipped_limits) if measured else None,
            cold_chart=_chart(result, _over_shipped(result, COLD), {}) if measured else None,
            inference=bench_columns.inference(result),
            starts=bench_columns.starts(result),
            failures=bench_columns.failures(result),
            notes=[note for b in result.backends if (note := bench_columns.shipped_note(result, b))],
            xnnpack_note=bench_columns.xnnpack_note(result),
            precision_note=bench_columns.precision_note(result),
            unsure=compare.UNSURE,
            words=bench_columns,
            clock=bench_columns.clock_words(result),
            doubt=bench_columns.doubt_words(result),
            settings=cpu_drivers.settings(1),
        )
    )
    run_folder.write_text(result.folder / FILE, page)
    return result.folder / FILE


@dataclass(frozen=True)
class _Chart:
    """Ratios as a picture. legend: words by the kind of mark, of those that it has."""

    svg: str
    legend: Mapping[str, str]
    limits: bool


def _chart(result: Bench, rows: Sequence[charts.RatioRow], limits: Mapping[str, float]) -> _Chart | None:
    """limits: the user's, by backend; 0: none. None: there is nothing to draw."""
    svg = charts.ratios(rows, limits)
    threads = result.asked.threads
    words: dict[str, str] = {}
    for backend in result.backends:
        ours = f"Quadra, {verdicts.APIS[backend]}"
        words[backend] = ours + (", 1 thread" if len(threads) > 1 else "")
        words[f"{backend} more"] = f"{ours}, {threads[-1]} threads"
        words[f"{backend} shipped"] = f"TFLite's stock GPU delegate, {verdicts.APIS[backend]}"
    present = {mark.kind for _, marks in rows for mark in marks}
    legend = {kind: text for kind, text in words.items() if kind in present}
    return _Chart(svg, legend, any(limits.values())) if svg else None


def _over_xnnpack(result: Bench) -> list[charts.RatioRow]:
    """Times over XNNPACK's: Quadra's with each number of threads, and the stock delegate's, on each backend."""
    rows: list[charts.RatioRow] = []
    for model in dict.fromkeys(r.model for r in result.rows):
        marks: list[charts.Mark] = []
        for row in (r for r in result.rows if r.model == model):
            api = bench_figures.way(row.kind)
            for threads in result.asked.threads:
                found = row.headline(XNNPACK, threads=threads)
                words = f"Quadra, {api}, {threads} thread{'s' if threads > 1 else ''}"
                kind = row.backend if threads == 1 else f"{row.backend} more"
                if found:
                    marks.append(charts.Mark(words, kind, found.ratio, not found.reliable))
            theirs = row.peer_over_xnnpack(row.shipped)
            if theirs:
                marks.append(charts.Mark(f"the stock delegate, {api}", f"{row.backend} shipped", theirs))
        rows.append((model, marks))
    return [(model, marks) for model, marks in rows if marks]


def _over_shipped(result: Bench, what: str) -> list[charts.RatioRow]:
    """Quadra's times over the stock delegate's, where the GPU alone is compared."""
    rows: list[charts.RatioRow] = []
    for model in dict.fromkeys(r.model for r in result.rows):
        found = [
            (r, r.headline(r.shipped, what)) for r in result.rows if r.model == model and r.whole and not r.defaults
        ]
        marks = [
            charts.Mark(f"Quadra, {verdicts.APIS[r.backend]}", r.backend, h.ratio, not h.reliable)
            for r, h in found
            if h
        ]
        if marks:
            rows.append((model, marks))
    return rows
