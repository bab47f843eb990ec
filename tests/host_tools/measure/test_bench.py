"""A bench says what its run folders say, in tables, means, goals, JSON and page; beside XNNPACK, and beside peers that ran."""

import html
import json
import math

import numpy as np
import pytest
from rich.console import Console

from host_tools.base.errors import FolderNotWritable, JudgementFailed, Misuse, RunFailed
from host_tools.judge import bench_figures
from host_tools.judge.bench_figures import COLD, SECOND, STEADY, WARM, XNNPACK, Asked, Bench, Row, Runner
from host_tools.measure import bench_request, bench_rows, bench_session
from host_tools.record import run_folder, schema
from host_tools.request import models
from host_tools.request.models import ModelNotFound
from host_tools.show import bench_page, bench_table, charts
from tests import quantized
from tests.host_tools import run_folders
from tests.signature_models import two_signatures

ALL = "xnnpack,shipped-opencl,shipped-gles"
LAPS = {"interpreter_us": 1, "allocate_us": 1, "first_invoke_us": 1}
DIGEST = "ab" * 32


def asked(*models, **words):
    return bench_request.asked(bench_request.Words(models, **words))


class Place:
    """Instead of a place: leaves a run folder for each RunSpec, or raises what `fails` has for it."""

    name = "here"

    def __init__(self, wrong=(), cpu_nodes=(), **fails):
        self.specs, self.fails, self.wrong, self.cpu_nodes = [], fails, wrong, cpu_nodes
        self.asked = ()
        self.us = {"quadra": 100, "xnnpack": 50, "shipped_opencl": 500, "shipped_gles": 250}
        self.peer_errors = {}

    def prepare(self, peers=()):
        self.asked = tuple(peers)

    def delegate(self):
        return "libquadra.so"

    def aim(self, spec):
        return spec

    def run(self, spec, show, runs_dir):
        self.specs.append(spec)
        key = f"{spec.model.name}_{spec.options['backend']}"
        if key in self.fails:
            raise self.fails[key]
        show("measure")
        return self._leave(spec, runs_dir)

    def _leave(self, spec, runs_dir):
        folder = run_folder.start(spec, runs_dir)
        right, off = np.arange(4, dtype=np.float32), np.float32([0, 1, 2, 9])
        keys = [name.replace("-", "_") for name in spec.peers if name not in self.peer_errors]
        groups = {"outputs": off if spec.model.name in self.wrong else right, "cpu_outputs": right}
        groups.update({f"{key}_outputs": right for key in keys})
        row = {"name": "out", "dtype": "float32", "shape": [4], "scale": 0.0, "zero_point": 0}
        for group, array in groups.items():
            run_folder.write_arrays(folder / group, [array])
        on = ["cpu" if spec.model.name in self.cpu_nodes else "gpu", "gpu"]
        nodes = [{**node, "on": where} for node, where in zip(run_folders.REPORT["nodes"], on)]
        written = {
            "tensors": {"inputs": [], **{group: [row] for group in groups}},
            "verdicts": {**run_folders.REPORT, "nodes": nodes, "backend": spec.options["backend"]},
            "reference": {"kernels": "builtin"},
            "environment": {"library": {"sha256": DIGEST}},
            "timings": self._timings(["quadra", *keys], spec.threads),
        }
        for file, value in written.items():
            run_folder.write_json(folder / f"{file}.json", value)
        return run_folder.finish(folder, run_folder.COMPLETE, "done")

    def _timings(self, keys, threads):
        samples = {key: [self.us[key]] * 3 for key in keys}
        init = {key: {**LAPS, "total_us": 10 * self.us[key], "cpu_us": 10 * self.us[key]} for key in keys}
        known = [key for key in keys if key != "xnnpack"]
        cold = {f"{k}_cold": {**LAPS, "total_us": 30 * self.us[k], "cpu_us": 15 * self.us[k]} for k in known}
        init = {**{("quadra_warm" if key == "quadra" else key): laps for key, laps in init.items()}, **cold}
        errors = {f"{name.replace('-', '_')}_error": text for name, text in self.peer_errors.items()}
        return {
            "schema_version": 1,
            "threads": threads,
            "init_us": init,
            "samples_us": samples,
            "cpu_us": samples,
            "second_us": {key: [20 * self.us[key]] for key in keys},
            "kept_bytes": {"quadra": 9, "shipped_opencl": 9, "shipped_gles": 0},
            **errors,
        }


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """measured(place, names, backend, peers, resume): a bench of small files in the place of models; without peers on the host."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    use_library(monkeypatch, DIGEST)

    def one(place, names=("a", "b"), backend="both", beside=ALL, resume="", keep=bench_page.write, **limits):
        paths = [tmp_path / f"{name}.tflite" for name in names]
        for path in paths:
            path.write_bytes(b"\x1c\0\0\0TFL3" + path.name.encode())
        words = {"backend": backend, "peer": beside, "resume": resume, "on": "jvm" if beside else "", **limits}
        wanted, _ = asked(*map(str, paths), **words)
        return bench_session.measure(wanted, [place], lambda text: None, keep, resume)

    return one


def use_library(monkeypatch, sha256):
    facts = {"path": "libquadra.so", "bytes": 7, "sha256": sha256}
    monkeypatch.setattr(bench_session.machine, "library_facts", lambda path: facts)


def table(result):
    console = Console(width=170, record=True, file=open("/dev/null", "w"))
    bench_table.show(result, console)
    return console.export_text()


def row(model, ratio, backend="opencl", unsure=False, processor=None, **fields):
    """A row of a bench on the host, whose driver computes on the CPU: so often XNNPACK's time with one thread, twice that
    with two. processor: the same of processor time, where it is another."""
    of = lambda us: {"median": us, "minimum": us, "processor": us}  # noqa: E731
    ours_us = {**of(1000.0 * ratio), "processor": 1000.0 * (processor or ratio)}
    ours = {
        "nodes_taken": 3,
        "nodes": 3,
        "right": True,
        "relative_error": 1e-6,
        "cold": of(2e6),
        "warm": of(1e5),
        "second": of(2e5),
        **fields,
    }
    runners = {
        "quadra": Runner(steady={1: ours_us, 2: dict(ours_us)}, **ours),
        "xnnpack": Runner(steady={1: of(1000.0), 2: of(500.0)}, right=True, second=of(1e4)),
    }
    return Row(model, backend, unsure=unsure, on_cpu=True, runners=runners)


def of(tmp_path, *rows, **limits):
    backends = tuple(dict.fromkeys(r.backend for r in rows)) or ("opencl",)
    library = {"path": "libquadra.so", "bytes": 500_000, "sha256": "0" * 64}
    asked = Asked(tuple(dict.fromkeys(r.model for r in rows)), backends, (XNNPACK,), 50, "host", (1, 2), **limits)
    return Bench(tmp_path, asked, rows, library, "a processor", 2, 0.5)


def value(result, backend, peer=XNNPACK, threads=1):
    mean = result.mean(backend, peer, threads=threads)
    return mean and mean.headline.ratio


def test_the_mean_is_geometric_and_leaves_failed_models_out(tmp_path):
    result = of(tmp_path, row("a", 1.0), row("b", 4.0), Row("c", "opencl", error="it failed"))
    assert value(result, "opencl") == pytest.approx(2.0) and value(result, "opencl", threads=2) == pytest.approx(4.0)
    assert result.wrong == ["c on OpenCL"]


def test_a_quantised_model_stands_beside_its_float_twin_and_its_weights_beside_the_files(tmp_path):
    rows = [row("a_quant", 3.0), row("a", 2.0), row("a_quant", 8.0, "gles"), row("a", 2.0, "gles"), row("b", 1.0)]
    for one in rows[0], rows[2]:
        one.twin, one.sizes = "a", {"constant_bytes": 3 << 20, "file_constant_bytes": 1 << 20}
    rows[1].runners["quadra"].steady[1]["median"] = 1.0  # the driver computes on the CPU: processor time counts
    result = of(tmp_path, *rows)
    assert [result.over_twin(r) for r in rows] == [1.5, None, 4.0, None, None]
    rows[3].runners["quadra"].right = False
    assert result.over_twin(rows[2]) is None
    text = table(result)
    assert "× float" in text and " 1.5" in text and "3.00/1.00" in text
    assert bench_figures.document(result).rows[0].over_twin == 1.5
    assert "× float" not in table(of(tmp_path, row("b", 1.0)))


def test_a_bench_brings_the_float_twin_of_a_quantised_model(measured, tmp_path):
    (tmp_path / "a.tflite").write_bytes(b"\x1c\0\0\0TFL3twin")
    result = measured(Place(), names=("a_quant", "b_int8"), backend="opencl")
    assert [(r.model, r.twin) for r in result.rows] == [("a_quant", "a"), ("a", ""), ("b_int8", "")]
    assert result.over_twin(result.rows[0]) == 1.0


def test_each_signature_is_a_row_and_a_finished_one_is_not_taken_for_another(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    use_library(monkeypatch, DIGEST)
    path = tmp_path / "two.tflite"
    path.write_bytes(two_signatures())
    first, second = Place(), Place()
    half, _ = asked(f"{path}:decode", peer="xnnpack")
    result = bench_session.measure(half, [first], lambda text: None, lambda made: None)
    assert {spec.signature for spec in first.specs} == {"decode"}
    whole, _ = asked(str(path), peer="xnnpack", resume=str(result.folder), on="host")
    result = bench_session.measure(whole, [second], lambda text: None, lambda made: None, str(result.folder))
    assert [(row.model, row.error) for row in result.rows] == [("two:encode", ""), ("two:decode", "")]
    assert {spec.signature for spec in second.specs} == {"encode"}


def test_free_sizes_are_measured_as_asked_for_and_stand_beside_the_model(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    use_library(monkeypatch, DIGEST)
    path = tmp_path / "two.tflite"
    path.write_bytes(two_signatures(free=True))
    place = Place()
    wanted, _ = asked(str(path), peer="xnnpack", sizes=("picture=1x7x9x6",))
    bench_session.measure(wanted, [place], lambda text: None, lambda made: None)
    assert {tuple(spec.inputs.sizes["picture"]) for spec in place.specs} == {(1, 7, 9, 6)}
    with pytest.raises(Misuse, match="no model has such an input"):
        asked(str(path), peer="xnnpack", sizes=("pictures=1x7x9x6",))
    made = row("two:decode", 1.0)
    made.shapes = "picture 1×7×9×6"
    assert "two:decode, picture 1×7×9×6" in table(of(tmp_path, made))
    assert "1×7×9×6" in bench_page.write(of(tmp_path, made)).read_text()


def test_a_twin_that_is_not_here_is_made_where_it_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_DOWNLOADS_DIR", str(tmp_path / "downloads"))
    path = tmp_path / "small.tflite"
    path.write_bytes(quantized.model("ADD", quantized.KINDS[0]))
    assert asked(str(path))[0].models == (str(path),)
    found = asked(str(path), twins=True)[0].models
    assert found == (str(path), models.float_twin(str(path))) and found[1].endswith("_float.tflite")
    assert asked(*found, twins=True)[0].models == found  # the twin itself has none


def test_no_model_has_no_mean(tmp_path):
    assert of(tmp_path).mean("opencl", XNNPACK) is None and of(tmp_path).means() == []


def test_each_backend_has_means_of_its_own(tmp_path):
    result = of(tmp_path, row("a", 1.0), row("a", 20.0, "gles"), row("b", 1.0), row("b", 5.0, "gles"))
    assert value(result, "opencl") == 1 and value(result, "gles") == pytest.approx(10)


def test_the_headline_is_processor_time_with_one_thread_and_wall_clock_time_with_two(tmp_path):
    result = of(tmp_path, row("a", 1.08, processor=1.0))
    one, two = (result.mean("opencl", XNNPACK, threads=t).headline for t in (1, 2))
    assert (one.clock, one.ratio) == ("processor", pytest.approx(1.0))
    assert (two.clock, two.ratio) == ("wall", pytest.approx(2.16))
    text = table(result)
    assert "ms: medians of processor time" in text and "wall-clock time" in text and "busy" not in text
    on_gpu = row("a", 1.08, processor=0.1)
    on_gpu.on_cpu = False
    text = table(of(tmp_path, on_gpu))
    assert "ms: medians of wall-clock time" in text and "?" not in text


@pytest.mark.parametrize("ratio", [5.98, 0.2])
def test_a_busy_machine_has_no_large_figure_nothing_green_and_says_so(tmp_path, ratio):
    result = of(tmp_path, row("busy", ratio, processor=1.0), row("quiet", 1.0), limit=50.0)
    text, page = table(result), bench_page.write(result).read_text()
    assert (
        "1.00?" in text
        and "the machine was busy (load 0.5 on 2 CPUs): busy on OpenCL" in text
        and "limit 50: not reliable" in text
    )
    assert "the machine was busy: ratios of 1 of 2 rows are not reliable" in page
    cards = page.partition('class="cards')[2].partition("<section>")[0]
    assert "× <small>" not in cards and "good" not in cards and "not reliable" in cards
    assert 'class="mark opencl doubtful"' in page and ">1.00?</text>" in page
    found = json.loads((tmp_path / "bench.json").read_text())
    steady = [one for one in found["geometric_means"] if one["what"] == "steady"]
    assert [one["headline"]["reliable"] for one in steady] == [False, False]
    assert steady[0]["verdict"] == "not reliable" and steady[0]["headline"]["clock"] == "processor"
    over = [one["over"]["xnnpack"]["steady"] for one in found["rows"]]
    assert [one["reliable"] for one in over] == [False, True] and over[0]["median"] == pytest.approx(ratio)


def test_a_mean_is_not_reliable_where_half_of_its_ratios_are_not(tmp_path):
    rows = [row("slow", 2.0, processor=1.0), row("fast", 0.5, processor=1.0), row("a", 1.0), row("b", 1.0)]
    found = of(tmp_path, *rows).mean("opencl", XNNPACK).headline
    assert found.ratio == pytest.approx(1.0) and found.doubt == "the machine was busy: 2 of 4 ratios are not reliable"
    assert of(tmp_path, *rows, row("c", 1.0)).mean("opencl", XNNPACK).headline.reliable


def test_a_limit_between_the_two_clocks_is_neither_met_nor_exceeded(tmp_path):
    result = of(tmp_path, row("a", 1.52, processor=1.48), limit=1.5)
    found = result.mean("opencl", XNNPACK)
    assert found.verdict == "not reliable" and "too busy to tell on which side of 1.5" in found.headline.doubt
    bench_figures.fail_if_wrong(result)
    assert of(tmp_path, row("a", 1.52, processor=1.48), limit=1.6).mean("opencl", XNNPACK).verdict == "met"


def test_a_limit_that_is_exceeded_fails_on_a_busy_machine_too_and_says_that_it_was_busy(tmp_path):
    rows = [row("busy", 5.98, processor=1.4)]
    said = "OpenCL takes 1.40 of the processor time of XNNPACK, over 1.3; the machine was busy: processor time gives 1.40 ×"
    with pytest.raises(JudgementFailed, match=said) as caught:
        bench_figures.fail_if_wrong(of(tmp_path, *rows, limit=1.3))
    assert "measure again while nothing else runs" in str(caught.value)
    bench_figures.fail_if_wrong(of(tmp_path, *rows, limit=1.5))


def test_a_wait_in_every_inference_exceeds_a_limit_and_is_no_busy_machine(measured, tmp_path):
    waiting = row("waits", 2.0, processor=1.0)
    waiting.runners["quadra"].steady[2]["processor"] = waiting.runners["quadra"].us()
    waiting.runners["quadra"].steady[1]["wait"] = waiting.runners["quadra"].us() / 2
    result = of(tmp_path, waiting, row("quiet", 1.0), limit=1.3)
    assert "every inference waits " in waiting.headline(XNNPACK).doubt and "busy" not in waiting.headline(XNNPACK).doubt
    with pytest.raises(JudgementFailed) as caught:
        bench_figures.fail_if_wrong(result)
    said = (
        "OpenCL takes 1.41 of the wall-clock time of XNNPACK, over 1.3; waits: every inference waits 1.00 ms or longer"
    )
    assert said in str(caught.value)
    assert "`./inv profile` shows where time goes" in str(caught.value)
    assert result.mean("opencl", XNNPACK).verdict == "exceeded" and result.doubtful == []
    text, page = table(result), html.unescape(bench_page.write(result).read_text())
    for one in (text, page):
        assert "waits on OpenCL: every inference waits 1.00 ms or longer" in one and "inferences wait" in one
        assert "the machine was busy" not in one
    assert of(tmp_path, waiting, row("quiet", 1.0), limit=1.5).mean("opencl", XNNPACK).verdict == "not reliable"


def test_a_wait_is_found_in_the_samples_of_a_run(measured):
    class Waiting(Place):
        def _timings(self, keys, threads):
            found = super()._timings(keys, threads)
            computed = {key: [one] * 5 for key, (one, *_) in found["samples_us"].items()}
            walls = {key: [us + 60 * (key == "quadra") for us in one] for key, one in computed.items()}
            return {**found, "samples_us": walls, "cpu_us": computed}

    (found, *_) = measured(Waiting(), names=("a",), backend="opencl", beside="xnnpack").rows
    assert found.runner("quadra").steady[1].get("wait") == (60 if found.clock == "processor" else None)


def test_without_a_limit_no_time_has_a_verdict(tmp_path):
    result = of(tmp_path, row("a", 9.0), row("a", 9.0, "gles"))
    text, page = table(result).partition("page  ")[0], bench_page.write(result).read_text()
    for words in ("goal", "missed", "exceeded", "dashed", "wanted gles", "wanted opencl"):
        assert words not in text and words not in page.partition("</head>")[2], words


@pytest.mark.parametrize(
    ("rows", "limit", "reason"),
    [
        ([row("a", 1.4)], 1.3, "OpenCL takes 1.40 of the processor time of XNNPACK, over 1.3"),
        ([], 1.5, "OpenCL takes an unknown share"),
        ([row("a", 1.0, right=False)], 0, "wrong or failed: a on OpenCL"),
        ([row("a", 1.0), row("a", 9.0, "gles", right=False)], 0, "wrong or failed: a on OpenGL ES"),
        ([Row("a", "opencl", error="x")], 0, "wrong or failed: a"),
    ],
)
def test_a_bench_that_misses_its_limit_fails(tmp_path, rows, limit, reason):
    with pytest.raises(JudgementFailed, match=reason):
        bench_figures.fail_if_wrong(of(tmp_path, *rows, limit=limit))


def test_a_good_bench_passes(tmp_path):
    bench_figures.fail_if_wrong(of(tmp_path, row("a", 1.4), row("b", 1.0, right=None), limit=1.5))


def test_of_both_backends_the_limit_is_for_opencl(tmp_path):
    bench_figures.fail_if_wrong(of(tmp_path, row("a", 1.4), row("a", 30.0, "gles"), limit=1.5))
    with pytest.raises(JudgementFailed, match="OpenGL ES takes 30.00 of the processor time of XNNPACK, over 1.5"):
        bench_figures.fail_if_wrong(of(tmp_path, row("a", 30.0, "gles"), limit=1.5))


def test_a_limit_on_the_stock_delegate_is_for_places_where_it_runs(measured):
    with pytest.raises(Misuse, match="TFLite's stock GPU delegate runs in Android's runtime only"):
        asked(limit_shipped=0.5)
    where = Place()
    where.peer_errors["shipped-opencl"] = "No shader"
    result = measured(where, backend="opencl", limit_shipped=0.5)
    with pytest.raises(JudgementFailed, match="an unknown share of the time of the stock delegate"):
        bench_figures.fail_if_wrong(result)


def test_an_unknown_backend_is_misuse():
    with pytest.raises(Misuse, match="'cuda' is not one of opencl, gles, both"):
        bench_request.backends_of("cuda")


def test_the_page_and_the_figures_are_written(tmp_path):
    rows = (
        row("a", 1.25),
        Row("<b>", "opencl", error="<script>"),
        row("c", 9.0),
        row("a", 12.5, "gles"),
    )
    rows[3].device = "<script>"
    page = bench_page.write(of(tmp_path, *rows)).read_text()
    assert ">1.25<" in page and ">12.5<" in page and "stock" not in page.partition("</head>")[2]
    assert "&lt;script&gt;" in page and "<script" not in page and "<b>QUADRA" in page and "<b></" not in page
    found = json.loads((tmp_path / "bench.json").read_text(), parse_constant=pytest.fail)
    means = {
        (m["backend"], m["peer"], m["threads"]): m["headline"]["ratio"]
        for m in found["geometric_means"]
        if m["what"] == "steady"
    }
    assert means["gles", "xnnpack", 1] == pytest.approx(12.5)
    assert means["opencl", "xnnpack", 1] == pytest.approx(math.sqrt(1.25 * 9))


def test_the_table_names_what_failed(tmp_path):
    text = table(
        of(tmp_path, row("good", 1.0), row("bad", 1.0, right=False), Row("broken", "opencl", error="no such op"))
    )
    assert "broken on OpenCL: no such op" in text and "relative to XNNPACK, 1 thread" in text
    assert "OpenGL ES" not in text and "limit" not in text


def test_an_error_that_is_right_only_because_rounding_is_magnified_is_marked(tmp_path):
    result = of(tmp_path, row("m", 1.0, relative_error=2e-4, unsure=True), row("n", 1.0))
    assert "2e-04*" in table(result) and "* at the limit of float32 precision" in table(result)
    page = bench_page.write(result).read_text()
    assert "2e-04*" in page and "* at the limit of float32 precision" in page and "1e-06*" not in page


def test_two_backends_stand_below_each_other(tmp_path):
    lines = table(of(tmp_path, row("m", 1.0), row("m", 20.0, "gles"))).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("m  "))
    assert "OpenCL" in lines[first] and lines[first + 1].split()[:2] == ["OpenGL", "ES"]
    rows = [line for line in lines if line.startswith(("model  ", "m  ", "   "))]
    assert len(rows) > 4 and max(map(len, rows)) <= 160, "sentences are folded, tables are not"


def test_the_usual_models_are_those_that_can_be_fetched_and_that_xnnpack_can_run():
    assert set(bench_request.MODELS) == set(models.catalogue()) - {"face_landmark_with_attention"}


def test_marks_stay_inside_the_chart():
    marks = [
        charts.Mark(kind, kind, value) for kind, value in (("opencl", 0.02), ("gles", 900.0), ("gles shipped", 0.0))
    ]
    svg = charts.ratios([("m", marks), ("<n>", [])], {"opencl": 1.5})
    places = [float(part.split('%"')[0]) for part in svg.split(' cx="')[1:]]
    assert len(places) == 3 and min(places) >= 0 and max(places) <= 100
    assert "<n>" not in svg and charts.ratios([], {}) == ""


def test_the_legend_names_the_marks_that_there_are(tmp_path):
    page = html.unescape(bench_page.write(of(tmp_path, row("a", 1.25))).read_text())
    legend = page.split("<h2>Time relative to XNNPACK")[1].split("</section>")[0].split('class="legend"')[1]
    assert "Quadra, OpenCL, 1 thread" in legend and "Quadra, OpenCL, 2 threads" in legend
    assert "stock" not in legend and "OpenGL ES" not in legend and "dashed" not in legend
    limited = html.unescape(bench_page.write(of(tmp_path, row("a", 1.25), limit=2.0)).read_text())
    assert "dashed: your limit" in limited


def test_figures_are_those_of_the_run_folders(measured):
    where = Place()
    result = measured(where, limit_shipped=0.3)
    assert [(s.model.name, s.options["backend"], s.peers) for s in where.specs[:2]] == [
        ("a", "opencl", ("xnnpack", "shipped-opencl")),
        ("a", "gles", ("xnnpack", "shipped-gles")),
    ]
    assert all(s.cold and s.place == "jvm" and s.threads == 1 for s in where.specs)
    row = result.of("gles")[0]
    assert row.over("xnnpack") == 2 and row.over("shipped_gles") == 0.4 and row.over("shipped_gles", COLD) == 0.4
    assert row.over("xnnpack", COLD) == 6  # XNNPACK's only start is a cold one
    mean = result.mean("opencl", "shipped_opencl", STEADY)
    assert mean.models == 2 and mean.headline.ratio == pytest.approx(0.2) and mean.verdict == "met"
    assert result.mean("opencl", "shipped_opencl", WARM).verdict == "" and result.finished
    text = table(result)
    assert text.count("limit 0.3: met") == 1 == text.count("limit 0.3: exceeded")  # OpenCL 0.2, OpenGL ES 0.4
    assert (
        row.over("shipped_gles", SECOND) is None and text.count("keeps nothing") == 2
    )  # its time would be a warm start's
    assert result.mean("opencl", "shipped_opencl", SECOND).headline.ratio == pytest.approx(0.2)
    assert row.over("xnnpack", SECOND) == 2 and "second start, relative to TFLite's stock GPU delegate" in text
    assert "the one in Android's TFLite runtime" in text and max(map(len, text.splitlines())) <= 170


def test_a_limit_is_a_judgement_for_whom_it_is_given(measured):
    where = Place()
    where.us["shipped_opencl"] = 150
    bench_figures.fail_if_wrong(measured(where, backend="opencl"))
    bench_figures.fail_if_wrong(measured(where, backend="opencl", limit=2.0, limit_shipped=0.7))
    result = measured(where, backend="opencl", limit_shipped=0.5)
    assert "limit 0.5: exceeded" in table(result)
    said = "OpenCL takes 0.67 of the wall-clock time of the stock delegate, OpenCL, over 0.5"
    with pytest.raises(JudgementFailed, match=said):
        bench_figures.fail_if_wrong(result)
    with pytest.raises(JudgementFailed, match="OpenCL takes 2.00 of the wall-clock time of XNNPACK, over 1.5"):
        bench_figures.fail_if_wrong(measured(where, backend="opencl", limit=1.5))


def test_a_model_or_a_peer_that_fails_is_a_row_with_its_reason(measured, tmp_path):
    where = Place(a_gles=RunFailed("run a", "the process ended\n  | <script>", ""))
    where.peer_errors["shipped-opencl"] = "No shader implementation\nfor split; next: see the log"
    result = measured(where)
    assert [bool(row.error) for row in result.rows] == [False, True, False, False]
    assert result.mean("opencl", "shipped_opencl", STEADY) is None
    assert result.mean("opencl", "xnnpack", STEADY).models == 2
    text, page = table(result), (result.folder / "bench.html").read_text()
    for line in (
        "a on OpenGL ES: run a: the process ended | <script>",
        "b on OpenCL: stock delegate, OpenCL did not run: No shader implementation for split",
    ):
        assert line in text and line.replace("<", "&lt;").replace(">", "&gt;") in page
    with pytest.raises(JudgementFailed, match="wrong or failed: a on OpenGL ES"):
        bench_figures.fail_if_wrong(result)


def test_a_peer_that_is_far_from_the_reference_has_no_ratio_and_the_reason_is_said(tmp_path):
    made = row("a", 1.0)
    made.runners["xnnpack"].right, made.runners["xnnpack"].relative_error = False, 0.28
    sentence = "no ratio to XNNPACK, which is 2.8e-01 of the range from the reference"
    result = of(tmp_path, made)
    assert sentence in " ".join(table(result).split()) and sentence in bench_page.write(result).read_text()


def test_what_is_wrong_has_no_ratio(measured):
    result = measured(Place(wrong=("b",)), backend="gles")
    assert result.of("gles")[1].over("xnnpack") is None and result.mean("gles", "xnnpack", STEADY).models == 1
    assert result.wrong == ["b on OpenGL ES"]


def test_models_that_are_partly_on_the_cpu_have_a_mean_of_their_own(measured):
    result = measured(Place(cpu_nodes=("b",)), backend="opencl", limit_shipped=0.25)
    found = [(m.whole, m.models, m.verdict) for m in result.means() if m.peer == "shipped_opencl" and m.what == STEADY]
    assert found == [(True, 1, "met"), (False, 2, "")]
    assert "TFLite's stock GPU delegate, all models" in table(result)


def test_the_figures_are_written_after_each_model_and_are_json(measured):
    seen = []

    def keep(result):
        page = bench_page.write(result)
        seen.append(json.loads((page.parent / "bench.json").read_text(), parse_constant=pytest.fail))

    where = Place(wrong=("a",))
    where.us["quadra"] = 0  # no ratio can be made
    measured(where, keep=keep)
    assert [len(value["rows"]) for value in seen] == [1, 2, 3, 4]
    assert [value["finished"] for value in seen] == [False, False, False, True]
    assert seen[-1]["rows"][0]["over"]["xnnpack"] == {"steady": None, "cold": None, "warm": None, "second": None}


def test_a_bench_that_was_broken_off_goes_on(measured):
    first = measured(Place(b_gles=RunFailed("run b", "it crashed", "")))
    where = Place()
    result = measured(where, resume=first.folder.name)
    assert [(s.model.name, s.options["backend"]) for s in where.specs] == [("b", "gles")]
    assert result.folder == first.folder and not result.wrong and len(result.rows) == 4
    with pytest.raises(Misuse, match="go on with the bench nowhere"):
        measured(where, resume="nowhere")


def test_a_run_that_is_damaged_or_cannot_be_judged_is_made_again(measured):
    first = measured(Place())
    by_model = {(row.model, row.backend): first.folder / row.runs[0] for row in first.rows}
    (by_model["a", "gles"] / "environment.json").write_text("{")
    (by_model["b", "opencl"] / "timings.json").write_text("{")
    where = Place()
    again = measured(where, resume=first.folder.name)
    assert [(s.model.name, s.options["backend"]) for s in where.specs] == [("a", "gles"), ("b", "opencl")]
    assert not again.wrong and [len(row.runs) for row in again.rows] == [1] * 4
    last = Place()
    measured(last, resume=first.folder.name)
    assert not last.specs, "what was made again is there now"


def test_a_bench_goes_on_only_where_it_ran(measured):
    first = measured(Place())
    for words in ({"lab": "127.0.0.1:1"}, {"on": "host"}):
        with pytest.raises(Misuse, match="it ran on jvm"):
            asked(resume=first.folder.name, **words)
    (first.folder / "bench.json").write_text('{"place": "moon"}')
    assert asked(resume=first.folder.name)[0].place == "jvm", "as where nothing was written yet"


def test_of_a_lab_only_runs_that_can_be_judged_and_rows_of_the_device_are_taken_back(measured):
    first = measured(Place(), names=("a",), backend="opencl")
    figures = bench_rows.Figures(first.folder, first.asked, {}, lambda bench: None)
    (family,) = bench_rows.families(first.asked.models)
    maker = bench_rows.RowMaker(first.asked, first.folder, bench_rows.Finished.of(first.folder, [DIGEST]))
    assert figures.kept(family, maker) and len(figures.rows) == 1
    (row,) = figures.rows.values()
    row.ran_on = "rack2/a"
    figures.drop(family, "rack1/a")
    assert figures.rows, "the next device has begun"
    figures.drop(family, "rack2/a")
    assert not figures.rows
    (first.folder / row.runs[0] / "timings.json").write_text("{")
    assert not figures.kept(family, maker) and not figures.rows


def test_a_bench_with_a_library_for_each_abi_names_none(measured, monkeypatch):
    wanted = measured(Place(), names=("a",), backend="opencl").asked
    facts = lambda path: {"path": path, "bytes": 7, "sha256": {"x": DIGEST, "y": "cd" * 32}[path]}  # noqa: E731
    monkeypatch.setattr(bench_session.machine, "library_facts", facts)
    places = [Place(), Place()]
    for place, name in zip(places, "xy"):
        place.name, place.delegate = name, lambda name=name: name
    result = bench_session.measure(wanted, places, lambda text: None, bench_page.write, "", lambda device: True)
    assert result.library == {} and "one for each ABI" in table(result)
    assert "one for each ABI" in (result.folder / "bench.html").read_text()


def test_runs_of_another_library_are_made_again(measured, monkeypatch):
    first = measured(Place())
    where = Place()
    use_library(monkeypatch, "cd" * 32)
    measured(where, resume=str(first.folder))
    assert len(where.specs) == 4


def test_a_folder_that_cannot_be_written_ends_the_bench(measured):
    where = Place(a_opencl=FolderNotWritable("write", "no space", ""))
    with pytest.raises(FolderNotWritable):
        measured(where)
    assert len(where.specs) == 1


def test_words_are_checked_before_anything_runs(monkeypatch):
    def what(names, backend="", beside="", repetitions=0):
        on = "jvm" if beside else ""
        return asked(*names, backend=backend, peer=beside, repetitions=repetitions, on=on)[0]

    one = ["selfie_segmentation"]
    assert (what(one).place, what(one).threads, what(one).backends, what(one).repetitions) == (
        "host",
        (1, 2),
        ("opencl",),
        50,
    )
    in_app = what(one, beside=ALL, repetitions=3)
    assert (in_app.place, in_app.threads, in_app.backends, in_app.repetitions) == ("jvm", (1,), ("opencl", "gles"), 3)
    assert what(one, beside="shipped-gles").backends == ("gles",)
    assert what(one, "gles", "xnnpack,shipped-opencl").peers == ("xnnpack",)
    assert what(one, beside="xnnpack").backends == ("opencl",)
    with pytest.raises(Misuse, match="'nnapi' is not one of xnnpack, shipped-opencl, shipped-gles"):
        what([], beside="xnnpack,nnapi")
    with pytest.raises(Misuse):
        what(["no such model"], beside=ALL)


@pytest.mark.parametrize("on", ["host", "jvm"])
def test_a_bench_without_words_fetches_nothing_and_measures_what_is_here(monkeypatch, tmp_path, on):
    def fetch(*words):
        raise AssertionError("nobody asked for it")

    monkeypatch.setattr(models, "fetch", fetch)
    monkeypatch.setenv("QUADRA_MODELS_DIR", str(tmp_path))
    monkeypatch.setenv("QUADRA_DOWNLOADS_DIR", str(tmp_path / "none"))
    with pytest.raises(
        ModelNotFound,
        match="(?s)bench: these models are not here yet: face_landmark, .* and 8 more.*models --fetch` .34",
    ):
        asked(on=on)
    (tmp_path / "hand_recrop.tflite").write_bytes(b"\x1c\0\0\0TFL3")
    found, absent = asked(on=on)
    assert (
        found.models == ("hand_recrop",) and len(absent) == len(bench_request.MODELS) - 1 and "face_landmark" in absent
    )


def test_from_the_second_row_on_a_bench_says_how_long_the_rest_takes(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_MODELS_DIR", str(tmp_path))
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    use_library(monkeypatch, DIGEST)
    for name in ("a", "b"):
        (tmp_path / f"{name}.tflite").write_bytes(b"\x1c\0\0\0TFL3" + name.encode())
    said = []
    bench_session.measure(asked("a", "b", on="jvm", peer="xnnpack")[0], [Place()], said.append, bench_page.write)
    assert said == ["1/2 a: OpenCL, measure", "2/2 b (1 min left): OpenCL, measure"]


def test_a_bench_says_before_it_begins_what_it_will_do():
    wanted = Asked(("a", "b", "c", "d"), ("opencl", "gles"), ("xnnpack",), 50, "host", (1, 2))
    said = bench_session._intended(wanted)
    assert (
        "4 models on OpenCL and OpenGL ES, beside XNNPACK: 50 inferences each, 8 rows. The first of them says" in said
    )
    assert "minute" not in said, "a figure that nothing was measured for"


def test_on_the_host_two_threads_are_measured_too_and_the_bench_goes_on_there(measured):
    place = Place(b_gles=RunFailed("run b", "it crashed", ""))
    first = measured(place, beside="")
    assert [(s.place, s.threads, s.cold, s.peers) for s in place.specs[:2]] == [
        ("host", 1, True, ("xnnpack",)),
        ("host", 2, False, ("xnnpack",)),
    ]
    assert len(place.specs) == 7 and [bool(row.error) for row in first.rows] == [False, False, False, True]
    row = first.rows[0]
    assert row.over("xnnpack") == row.over("xnnpack", threads=2) == 2 and len(row.runs) == 2
    again = Place()
    result = measured(again, beside="", resume=first.folder.name)
    assert result.asked.place == "host" and not result.wrong
    assert [(s.options["backend"], s.model.name, s.threads) for s in again.specs] == [
        ("gles", "b", 1),
        ("gles", "b", 2),
    ]


def test_both_apis_of_litert_stand_side_by_side_and_its_own_accelerator_runs_once(measured, tmp_path, monkeypatch):
    place, here = Place(), {"path": "/wheel/accelerator.so", "bytes": 19 << 20}
    place.us["litert_gpu"] = 40000
    monkeypatch.setattr(bench_session.machine, "litert_accelerator", lambda: here)
    path = tmp_path / "a.tflite"
    path.write_bytes(b"\x1c\0\0\0TFL3")
    wanted, _ = asked(str(path), backend="opencl", peer="xnnpack,litert-gpu", api="both")
    result = bench_session.measure(wanted, [place], lambda text: None, bench_page.write)
    assert [(s.api, s.threads, s.peers[1:]) for s in place.specs] == [
        ("interpreter", 1, ()),
        ("interpreter", 2, ()),
        ("compiled", 1, ("litert-gpu",)),
        ("compiled", 2, ()),
    ]
    assert [row.api for row in result.rows] == ["interpreter", "compiled"] and result.finished
    mean = result.mean("opencl", "litert_gpu", api="compiled")
    assert mean.headline.ratio == pytest.approx(1 / 400) and result.mean("opencl", "litert_gpu") is None
    text, page = table(result), (result.folder / "bench.html").read_text()
    assert "OpenCL, compiled  relative to XNNPACK" in text and "relative to LiteRT's GPU accelerator" in text
    assert "0.0025" in text and "19.0 MiB  /wheel/accelerator.so" in text and "OpenCL, compiled" in page
    assert max(map(len, text.splitlines())) <= 170
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "others"))
    place.peer_errors["litert-gpu"] = "compile a: No adapters found; next: give it a GPU"
    result = bench_session.measure(wanted, [place], lambda text: None, bench_page.write)
    assert "a on OpenCL, compiled: LiteRT's GPU accelerator did not run: compile a: No adapters found" in table(result)
    for words, said in (
        ({"api": "compiled", "on": "jvm"}, "Android's runtime has no CompiledModel"),
        ({"api": "c"}, "'c' is not one of interpreter, compiled, both"),
        ({"peer": "shipped-gles"}, "'shipped-gles' is not one of xnnpack, litert-gpu"),
    ):
        with pytest.raises(Misuse, match=said):
            asked(str(path), **words)


def test_defaults_stand_beside_defaults_in_rows_of_their_own(measured):
    place = Place()
    result = measured(place, names=("a",), defaults=True)
    assert [(s.options["backend"], s.options["precision"], s.peer_defaults, s.cold, s.peers) for s in place.specs] == [
        ("opencl", "f32", False, True, ("xnnpack", "shipped-opencl")),
        ("opencl", "f32", True, False, ("shipped-opencl",)),
        ("gles", "f32", False, True, ("xnnpack", "shipped-gles")),
        ("gles", "f32", True, False, ("shipped-gles",)),
    ]
    assert [(row.backend, row.defaults) for row in result.rows] == [
        (b, d) for b in ("opencl", "gles") for d in (False, True)
    ]
    assert result.finished and not result.wrong
    place.us["shipped_opencl"] = 100  # half is faster
    again = measured(Place(), names=("a",), defaults=True, resume=result.folder.name)
    assert [row.runs for row in again.rows] == [row.runs for row in result.rows], "a row was taken for another"
    like, own = (result.mean("opencl", "shipped_opencl", defaults=defaults) for defaults in (False, True))
    assert like.headline.ratio == own.headline.ratio == pytest.approx(0.2) and like.kind != own.kind
    assert {mean.what for mean in result.means() if mean.defaults} == {bench_figures.STEADY}
    text, page = table(result), (result.folder / "bench.html").read_text()
    for words in ("OpenCL, defaults", "each in its default precision", "in rows named defaults each has its own"):
        assert words in text and words in page, words
    starts = text[text.index("Starts") : text.index("geometric mean")]
    assert "stock: TFLite's stock GPU delegate" in starts and "weights" not in starts, "as its columns"
    assert "OpenGL ES" in starts and "defaults" not in starts and not result.rows[1].runner("quadra").us(WARM)
    document = result.folder / "bench.json"
    assert [row["defaults"] for row in json.loads(document.read_text())["rows"]] == [False, True] * 2


def test_the_peers_default_precision_is_said_where_it_is_not_measured(measured):
    result = measured(Place(), names=("a",))
    said = "Quadra's default precision is float32, that of TFLite's stock GPU delegate half (float16) where the driver has it: --defaults adds rows"
    assert f"all compute in float32. {said}" in table(result)
    assert said.partition(":")[0] in html.unescape((result.folder / "bench.html").read_text())
    assert "default precision" not in table(measured(Place(), names=("a",), beside=""))
    with pytest.raises(Misuse, match="XNNPACK computes in float32 by default, as Quadra does"):
        measured(Place(), names=("a",), beside="", defaults=True)


def test_no_rows_have_no_means(tmp_path):
    asked = bench_figures.Asked(("a",), ("opencl",), ("xnnpack",), 1)
    result = bench_rows.bench_of(tmp_path, asked, (), {"path": "", "bytes": 1, "sha256": DIGEST})
    assert result.means() == [] and "not finished: 0 of 1" in bench_page.write(result).read_text()


def test_second_starts_stand_beside_the_cold_one_and_xnnpack(tmp_path):
    slow = row("b", 1.0, second={"median": 4e5, "processor": 4e5})
    result = of(tmp_path, row("a", 1.0), slow)
    said = next(line for line in table(result).splitlines() if line.startswith("a ") and "0.10" in line)
    assert "2000" in said and "200" in said and "20.0" in said  # ms cold, ms from the cache, times XNNPACK's 10 ms
    mean = result.mean("opencl", XNNPACK, bench_figures.SECOND)
    assert mean.headline.ratio == pytest.approx(math.sqrt(20 * 40)) and mean.models == 2
    assert "second start, relative to XNNPACK" in table(result)


def test_second_starts_come_from_the_run_folder(tmp_path):
    timings = schema.Timings(
        threads=1, init_us={}, samples_us={}, second_us={"quadra": [3, 1, 9]}, second_cpu_us={"quadra": [5, 6, 4]}
    )
    runner = Runner()
    bench_figures._take_starts(runner, "quadra", timings)
    assert runner.second == {"median": 3, "processor": 5}


def test_on_the_host_each_cold_start_has_an_empty_folder_for_what_it_keeps(measured):
    place = Place()
    folders = []

    def run(spec, show, runs_dir):
        folder = runs_dir / "kept"
        if spec.cold:
            assert spec.options["serialization_dir"] == str(folder.resolve()) and not list(folder.iterdir())
            (folder / "plan").write_text("")
            folders.append(folder)
        else:
            assert "serialization_dir" not in spec.options
        return Place.run(place, spec, show, runs_dir)

    place.run = run
    measured(place, beside="")
    assert len(folders) == 4 and not folders[0].exists()


def test_a_bench_on_a_device_is_of_that_device_and_goes_on_there_alone(measured):
    place = Place()
    place.name = "5A23"
    first = measured(place, names=("a",), backend="opencl", on="any")
    assert (first.asked.place, first.asked.device) == ("device", "5A23"), "its own name, not the word that chose it"
    assert {(spec.place, spec.device) for spec in place.specs} == {("device", "5A23")}
    assert [row.ran_on for row in first.rows] == ["5A23"] and not first.wrong
    shown, page = table(first), (first.folder / "bench.html").read_text()
    assert "device    5A23" in shown and "on 5A23; each model" in page and "of a lab" not in page
    assert asked(resume=first.folder.name)[0].device == "5A23", "where it ran, without --on"
    again = Place()
    again.name = "5A23"
    measured(again, names=("a",), backend="opencl", on="", resume=first.folder.name)
    assert not again.specs, "it was all measured"
    with pytest.raises(Misuse, match="(?s)it ran on 5A23, and this is 77F0.*omit --on, or --resume"):
        bench_request.check_device(first.folder.name, "77F0")
    for words in ({"lab": "127.0.0.1:1"}, {"on": "host"}):
        with pytest.raises(Misuse, match="it ran on 5A23"):
            asked(resume=first.folder.name, **words)
    place.fails = {"c_opencl": RunFailed("run c", "it crashed", "")}
    with pytest.raises(JudgementFailed, match=r"run MODEL --on 5A23"):
        bench_figures.fail_if_wrong(measured(place, names=("c",), backend="opencl", on="5A23"))


def test_what_cannot_be_measured_on_a_device_says_so(monkeypatch, tmp_path):
    one = "selfie_segmentation"
    assert asked(one, on="5A23")[0].peers == (XNNPACK, "shipped-opencl", "shipped-gles")
    with pytest.raises(Misuse, match="(?s)LiteRT's GPU accelerator is measured .* on this machine only.*omit --on"):
        asked(one, on="5A23", peer="xnnpack,litert-gpu")
    with pytest.raises(Misuse, match="Android's runtime has no CompiledModel"):
        asked(one, on="5A23", api="compiled")
    places = [Place(), Place()]
    places[1].name = "there"
    monkeypatch.setattr(bench_session.where, "parse", lambda *words: places)
    with pytest.raises(Misuse, match="(?s)--on all.*2 places: here, there.*name one; `./inv regress --on` measures on"):
        bench_session.measured(bench_request.Words((one,), on="all"), None)
