"""Ratios, means and tables of a bench say what the run folders say."""

import json
import math

import pytest
from rich.console import Console

from host_tools import bench, charts, models, times
from host_tools.errors import JudgementFailed


def row(model, ratio, **fields):
    ratios = {1: ratio, 2: 2 * ratio}
    given = {
        "nodes_gpu": 3,
        "right": True,
        "relative_error": 1e-6,
        "quadra_us": {1: 1000 * ratio, 2: 900.0},
        "xnnpack_us": {1: 1000.0, 2: 500.0},
        "ratio": ratios,
        "ratio_min": ratios,
        "ratio_cpu": ratios,
        "cold_us": 2_000_000,
        "warm_us": 100_000,
    }
    return bench.Row(model, **{**given, **fields})


def of(tmp_path, *rows):
    return bench.Bench(tmp_path, rows, {"path": "", "bytes": 500_000, "sha256": "0" * 64}, "a processor", 2, 0.5)


def test_the_mean_is_geometric_and_leaves_failed_models_out(tmp_path):
    result = of(tmp_path, row("a", 1.0), row("b", 4.0), bench.Row("c", error="it failed"))
    assert result.mean(1) == pytest.approx(2.0) and result.mean(2) == pytest.approx(4.0)
    assert result.wrong == ["c"]


def test_no_model_has_no_mean(tmp_path):
    assert math.isnan(of(tmp_path).mean(1))


def test_ratios_are_of_medians_minima_and_processor_time():
    timings = {
        "samples_us": {"quadra": [30, 10, 20], "xnnpack": [10, 5, 10]},
        "cpu_us": {"quadra": [30, 30, 30], "xnnpack": [10, 10, 10]},
    }
    assert times.ratio(timings) == times.Ratio(median=2.0, minimum=2.0, processor=3.0)
    assert times.ratio({"samples_us": {"quadra": [1]}}) is None


@pytest.mark.parametrize(
    ("rows", "limit", "reason"),
    [
        ([row("a", 1.4)], 1.3, "the geometric mean is 1.40, over 1.3"),
        ([], 1.5, "the geometric mean is nan"),
        ([row("a", 1.0, right=False)], 0, "wrong or failed: a"),
        ([bench.Row("a", error="x")], 0, "wrong or failed: a"),
    ],
)
def test_a_bench_that_misses_its_limit_fails(tmp_path, rows, limit, reason):
    with pytest.raises(JudgementFailed, match=reason):
        bench.judge(of(tmp_path, *rows), limit)


def test_a_good_bench_passes(tmp_path):
    bench.judge(of(tmp_path, row("a", 1.4), row("b", 1.0, right=None)), 1.5)


def test_the_page_and_the_figures_are_written(tmp_path):
    shipped = bench.shipped()["face_detection_front"]
    rows = (row("face_detection_front", 1.25, shipped=shipped), bench.Row("<b>", error="<script>"), row("c", 9.0))
    page = bench.write(of(tmp_path, *rows)).read_text()
    assert "1.25" in page and "4770" in page and "42 %" in page  # 2000 of 4770 ms
    assert "&lt;script&gt;" in page and "<script" not in page and "<b>QUADRA" in page and "<b></" not in page
    value = json.loads((tmp_path / "bench.json").read_text(), parse_constant=pytest.fail)
    assert value["geometric_mean"]["1"]["ratio"] == pytest.approx(math.sqrt(1.25 * 9))


def test_the_table_names_what_failed(tmp_path):
    console = Console(width=230, record=True, file=open("/dev/null", "w"))
    bench.show(
        of(tmp_path, row("good", 1.0), row("bad", 1.0, right=False), bench.Row("broken", error="no such op")), console
    )
    text = console.export_text()
    assert "broken: no such op" in text and "geometric mean at 1 thread: 1.00" in text


def test_the_shipped_figures_are_of_known_models():
    assert set(bench.shipped()) <= set(models.catalogue())
    assert set(bench.MODELS) <= set(models.catalogue())


def test_bars_stay_inside_the_chart():
    svg = charts.ratios([("m", [("a", 40.0), ("b", 0.0)])], 1.5)
    widths = [float(part.split('"')[0]) for part in svg.split(' width="')[1:]]
    assert max(widths) < 700 and min(widths) >= 1.0
