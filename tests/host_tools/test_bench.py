"""Ratios, means and tables of a bench say what the run folders say."""

import json
import math

import pytest
from rich.console import Console

from host_tools import bench, bench_page, bench_table, charts, models, times
from host_tools.errors import JudgementFailed, Misuse


def row(model, ratio, backend="opencl", **fields):
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
    return bench.Row(model, backend, **{**given, **fields})


def of(tmp_path, *rows):
    backends = tuple(dict.fromkeys(r.backend for r in rows)) or ("opencl",)
    library = {"path": "libquadra.so", "bytes": 500_000, "sha256": "0" * 64}
    return bench.Bench(tmp_path, backends, rows, library, "a processor", 2, 0.5)


def table(result):
    console = Console(width=160, record=True, file=open("/dev/null", "w"))
    bench_table.show(result, console)
    return console.export_text()


def test_the_mean_is_geometric_and_leaves_failed_models_out(tmp_path):
    result = of(tmp_path, row("a", 1.0), row("b", 4.0), bench.Row("c", error="it failed"))
    assert result.mean("opencl", 1) == pytest.approx(2.0) and result.mean("opencl", 2) == pytest.approx(4.0)
    assert result.wrong == ["c on OpenCL"]


def test_no_model_has_no_mean(tmp_path):
    assert math.isnan(of(tmp_path).mean("opencl", 1)) and of(tmp_path).beside_shipped("opencl") is None


def test_each_backend_has_means_of_its_own(tmp_path):
    result = of(tmp_path, row("a", 1.0), row("a", 20.0, "gles"), row("b", 1.0), row("b", 5.0, "gles"))
    assert result.mean("opencl", 1) == 1 and result.mean("gles", 1) == pytest.approx(10)


def test_the_shipped_delegate_is_judged_over_the_models_that_both_ran(tmp_path):
    shipped = {"xnnpack_ms": 2.0, "opencl_ms": 10.0, "gles_ms": 80.0}  # ratios 5 and 40
    rows = (
        row("a", 1.0, shipped=shipped),
        row("a", 10.0, "gles", shipped=shipped, ratio_min={1: 5.0}),
        row("b", 90.0, "gles", shipped={**shipped, "gles_ms": 180.0}),
        row("only Quadra ran it", 1000.0, "gles", shipped={"xnnpack_ms": 2.0, "opencl_ms": 10.0}),
        bench.Row("only the shipped one did", "gles", shipped=shipped, error="it failed"),
    )
    result = of(tmp_path, *rows)
    beside = result.beside_shipped("gles")
    assert beside.models == 2 and beside.ratio == pytest.approx(30) and beside.shipped_ratio == pytest.approx(60)
    assert beside.quotient["ratio"] == pytest.approx(beside.ratio / beside.shipped_ratio) == pytest.approx(0.5)
    assert beside.quotient["ratio_min"] == pytest.approx(0.5 / math.sqrt(2))
    assert beside.goal == 0.5 and result.beside_shipped("opencl").quotient["ratio"] == pytest.approx(0.2)
    text = table(result)
    assert "30.0 of XNNPACK's time, the shipped 60.0" in text and "goal 0.5 or less: m" in text
    bench.judge(of(tmp_path, *rows[:-1]), 0, 0.51)
    with pytest.raises(JudgementFailed, match="OpenGL ES takes 0.50 of the shipped delegate's time, over 0.4"):
        bench.judge(of(tmp_path, *rows[:-1]), 0, 0.4)


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
        ([row("a", 1.0, right=False)], 0, "wrong or failed: a on OpenCL"),
        ([row("a", 1.0), row("a", 9.0, "gles", right=False)], 0, "wrong or failed: a on OpenGL ES"),
        ([bench.Row("a", error="x")], 0, "wrong or failed: a"),
    ],
)
def test_a_bench_that_misses_its_limit_fails(tmp_path, rows, limit, reason):
    with pytest.raises(JudgementFailed, match=reason):
        bench.judge(of(tmp_path, *rows), limit, 0)


def test_a_good_bench_passes(tmp_path):
    bench.judge(of(tmp_path, row("a", 1.4), row("b", 1.0, right=None)), 1.5, 0)


def test_of_both_backends_the_limit_is_for_opencl(tmp_path):
    bench.judge(of(tmp_path, row("a", 1.4), row("a", 30.0, "gles")), 1.5, 0)
    with pytest.raises(JudgementFailed, match="30.00, over 1.5"):
        bench.judge(of(tmp_path, row("a", 30.0, "gles")), 1.5, 0)


def test_a_limit_without_figures_of_the_shipped_delegate_is_missed(tmp_path):
    with pytest.raises(JudgementFailed, match="nan of the shipped"):
        bench.judge(of(tmp_path, row("a", 1.0)), 0, 0.5)


def test_an_unknown_backend_is_misuse():
    with pytest.raises(Misuse, match="'cuda' is not one of opencl, gles, both"):
        bench.backends_of("cuda")


def test_the_page_and_the_figures_are_written(tmp_path):
    shipped = bench.shipped()["models"]["face_detection_front"]
    rows = (row("face_detection_front", 1.25, shipped=shipped), bench.Row("<b>", error="<script>"), row("c", 9.0))
    rows = (*rows, row("face_detection_front", 12.5, "gles", shipped=shipped, device="<script>"))
    page = bench_page.write(of(tmp_path, *rows)).read_text()
    assert "1.25" in page and "4770" in page and "42 %" in page  # 2000 of 4770 ms
    assert "12.5" in page and "0.38" in page and "goal 0.5 or less" in page  # 31 of 0.95 ms
    assert "&lt;script&gt;" in page and "<script" not in page and "<b>QUADRA" in page and "<b></" not in page
    value = json.loads((tmp_path / "bench.json").read_text(), parse_constant=pytest.fail)
    assert value["beside_shipped"]["gles"]["quotient"]["ratio"] == pytest.approx(12.5 / (31 / 0.95))
    assert value["geometric_mean"]["opencl"]["1"]["ratio"] == pytest.approx(math.sqrt(1.25 * 9))


def test_the_table_names_what_failed(tmp_path):
    text = table(of(tmp_path, row("good", 1.0), row("bad", 1.0, right=False), bench.Row("broken", error="no such op")))
    assert "broken on OpenCL: no such op" in text and "over XNNPACK, 1 thread" in text
    assert "OpenGL ES" not in text and text.count("goal 1.5 or less: met") == 1


def test_an_error_that_is_right_only_because_rounding_is_magnified_is_marked(tmp_path):
    result = of(tmp_path, row("m", 1.0, relative_error=2e-4, unsure=True), row("n", 1.0))
    assert "2e-04*" in table(result) and "* float32 says no more here" in table(result)
    page = bench_page.write(result).read_text()
    assert "2.0e-04*" in page and "* float32 says no more here" in page and "1.0e-06*" not in page


def test_two_backends_stand_below_each_other(tmp_path):
    lines = table(of(tmp_path, row("m", 1.0), row("m", 20.0, "gles"))).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("m  "))
    assert "OpenCL" in lines[first] and lines[first + 1].split()[:2] == ["OpenGL", "ES"]
    assert max(map(len, lines)) <= 160


def test_the_shipped_figures_are_of_known_models():
    assert set(bench.shipped()["models"]) <= set(models.catalogue())
    assert set(bench.MODELS) <= set(models.catalogue())


def test_marks_stay_inside_the_chart():
    marks = [charts.Mark(kind, kind, value) for kind, value in (("opencl", 0.02), ("gles", 900.0), ("gles shipped", 0.0))]
    svg = charts.ratios([("m", marks), ("<n>", [])], {"opencl": 1.5})
    places = [float(part.split('"')[0]) for part in svg.split(' cx="')[1:]]
    assert len(places) == 3 and min(places) > 230 and max(places) < 860
    assert "<n>" not in svg and charts.ratios([], {}) == ""
