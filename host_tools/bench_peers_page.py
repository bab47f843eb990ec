"""A bench of peers as figures and as a page: bench.json and bench.html, which need nothing else."""

from pathlib import Path
from typing import List

from host_tools import bench_page, bench_peers, charts, compare, peers, report, run_folder, verdicts
from host_tools import bench_peers_table as table
from host_tools.bench_peers import COLD, GOALS, KINDS, STEADY
from host_tools.place import drivers

TEMPLATE = "bench_peers.html"


def write(result: bench_peers.Bench) -> Path:
    """Writes bench.json and bench.html; returns the latter."""
    run_folder.write_json(result.folder / "bench.json", bench_peers.to_json(result))
    page = report.environment().get_template(TEMPLATE).render(
        bench=result,
        apis=verdicts.APIS,
        cards=[mean for mean in result.means() if mean.whole and (mean.goal or mean.what == STEADY)],
        steady_chart=charts.ratios(_beside_xnnpack(result), {}),
        shipped_chart=charts.ratios(_over_shipped(result, STEADY), _goals(result, STEADY)),
        cold_chart=charts.ratios(_over_shipped(result, COLD), _goals(result, COLD)),
        failures=table.failures(result),
        note=table.XNNPACK_NOTE,
        unsure=compare.UNSURE,
        words=table,
        kinds=KINDS,
        settings=drivers.settings(1),
    )
    run_folder.write_text(result.folder / bench_page.FILE, page)
    return result.folder / bench_page.FILE


def _beside_xnnpack(result: bench_peers.Bench) -> List[charts.RatioRow]:
    """Times over XNNPACK's: Quadra's and the shipped delegate's, on each backend."""
    rows = []
    for model in dict.fromkeys(r.model for r in result.rows):
        marks: List[charts.Mark] = []
        for row in (r for r in result.rows if r.model == model):
            ours, beside = row.over(peers.XNNPACK), row.over(row.shipped)
            if not ours:
                continue
            api = verdicts.APIS[row.backend]
            marks.append(charts.Mark(f"Quadra, {api}", row.backend, ours))
            if beside:
                marks.append(charts.Mark(peers.label(row.shipped), f"{row.backend} shipped", ours / beside))
        rows.append((model, marks))
    return [(model, marks) for model, marks in rows if marks]


def _over_shipped(result: bench_peers.Bench, what: str) -> List[charts.RatioRow]:
    """Quadra's times over the shipped delegate's, where the GPU alone is compared."""
    rows = []
    for model in dict.fromkeys(r.model for r in result.rows):
        found = [(r, r.over(r.shipped, what)) for r in result.rows if r.model == model and r.whole]
        marks = [charts.Mark(f"Quadra, {verdicts.APIS[r.backend]}", r.backend, value) for r, value in found if value]
        if marks:
            rows.append((model, marks))
    return rows


def _goals(result: bench_peers.Bench, what: str):
    return {backend: GOALS[backend, what] for backend in result.backends}
