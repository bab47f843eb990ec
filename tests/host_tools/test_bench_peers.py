"""A bench of peers says what the run folders say, goes on after failures, and goes on with what it has."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from host_tools import bench_peers, bench_peers_page, bench_peers_table, models, place, run_folder
from host_tools.bench_peers import COLD, STEADY, WARM
from host_tools.errors import FolderNotWritable, JudgementFailed, Misuse, RunFailed
from tests.host_tools import run_folders

LAPS = {"interpreter_us": 1, "allocate_us": 1, "first_invoke_us": 1}
DIGEST = "ab" * 32


class Place:
    """Instead of a place: leaves a run folder for each RunSpec, or raises what `fails` has for it."""

    def __init__(self, wrong=(), cpu_nodes=(), **fails):
        self.specs, self.fails, self.wrong, self.cpu_nodes = [], fails, wrong, cpu_nodes
        self.us = {"quadra": 100, "xnnpack": 50, "shipped_opencl": 500, "shipped_gles": 250}
        self.peer_errors = {}

    def run(self, spec, library, show, runs_dir):
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
            "timings": self._timings(["quadra", *keys]),
        }
        for file, value in written.items():
            run_folder.write_json(folder / f"{file}.json", value)
        return run_folder.finish(folder, run_folder.COMPLETE, "done")

    def _timings(self, keys):
        samples = {key: [self.us[key]] * 3 for key in keys}
        init = {key: {**LAPS, "total_us": 10 * self.us[key], "cpu_us": 10 * self.us[key]} for key in keys}
        known = [key for key in keys if key != "xnnpack"]
        cold = {f"{k}_cold": {**LAPS, "total_us": 30 * self.us[k], "cpu_us": 15 * self.us[k]} for k in known}
        init = {**{("quadra_warm" if key == "quadra" else key): laps for key, laps in init.items()}, **cold}
        errors = {f"{name.replace('-', '_')}_error": text for name, text in self.peer_errors.items()}
        return {"schema_version": 1, "threads": 1, "init_us": init, "samples_us": samples, "cpu_us": samples, **errors}


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """measured(place, names, backend, peers, resume): a bench of small files in the place of models."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    library = tmp_path / "libquadra.so"
    library.write_bytes(b"library")
    use_library(monkeypatch, DIGEST)

    def one(where, names=("a", "b"), backend="both", beside="", resume="", keep=bench_peers_page.write):
        monkeypatch.setattr(place, "named", lambda name: where)
        paths = [tmp_path / f"{name}.tflite" for name in names]
        for path in paths:
            path.write_bytes(b"\x1c\0\0\0TFL3" + path.name.encode())
        asked = bench_peers.asked(list(map(str, paths)), backend, beside, 0, resume)
        return bench_peers.measure(asked, library, lambda text: None, keep)

    return one


def use_library(monkeypatch, sha256):
    facts = {"path": "libquadra.so", "bytes": 7, "sha256": sha256}
    monkeypatch.setattr(bench_peers.environment, "library_facts", lambda path: facts)


def table(result):
    console = Console(width=170, record=True, file=open("/dev/null", "w"))
    bench_peers_table.show(result, console)
    return console.export_text()


def test_figures_are_those_of_the_run_folders(measured):
    where = Place()
    result = measured(where)
    assert [(s.model.name, s.options["backend"], s.peers) for s in where.specs[:2]] == [
        ("a", "opencl", ("xnnpack", "shipped-opencl")),
        ("a", "gles", ("xnnpack", "shipped-gles")),
    ]
    assert all(s.cold and s.place == "app" and s.threads == 1 for s in where.specs)
    row = result.of("gles")[0]
    assert row.over("xnnpack") == 2 and row.over("shipped_gles") == 0.4 and row.over("shipped_gles", COLD) == 0.4
    assert row.over("xnnpack", COLD) == 6  # XNNPACK's only start is a cold one
    mean = result.mean("opencl", "shipped_opencl", STEADY)
    assert mean.models == 2 and mean.values["median"] == pytest.approx(0.2) and mean.goal == 0.25 and mean.met
    assert result.mean("opencl", "shipped_opencl", WARM).goal is None and result.finished
    text = table(result)
    assert "5.0 times as fast; goal: 4: met" in text and "2.5 times as fast; goal: 2: met" in text
    assert "the one in Android's TFLite runtime" in text and max(map(len, text.splitlines())) <= 170


def test_a_goal_that_is_missed_is_said_and_a_limit_is_a_judgement(measured):
    where = Place()
    where.us["shipped_opencl"] = 150
    result = measured(where, backend="opencl")
    assert "1.5 times as fast; goal: 4: missed" in table(result)
    bench_peers.judge(result, 0, 0)
    bench_peers.judge(result, 2.0, 0.7)
    with pytest.raises(JudgementFailed, match="OpenCL takes 0.67 of the time of shipped, OpenCL, over 0.5"):
        bench_peers.judge(result, 0, 0.5)
    with pytest.raises(JudgementFailed, match="OpenCL takes 2.00 of the time of XNNPACK, over 1.5"):
        bench_peers.judge(result, 1.5, 0)


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
        "b on OpenCL: shipped, OpenCL did not run: No shader implementation for split",
    ):
        assert line in text and line.replace("<", "&lt;").replace(">", "&gt;") in page
    with pytest.raises(JudgementFailed, match="wrong or failed: a on OpenGL ES"):
        bench_peers.judge(result, 0, 0)


def test_what_is_wrong_has_no_ratio(measured):
    result = measured(Place(wrong=("b",)), backend="gles")
    assert result.of("gles")[1].over("xnnpack") is None and result.mean("gles", "xnnpack", STEADY).models == 1
    assert result.wrong == ["b on OpenGL ES"]


def test_models_that_are_partly_on_the_cpu_have_a_mean_of_their_own(measured):
    result = measured(Place(cpu_nodes=("b",)), backend="opencl")
    found = [(m.whole, m.models, m.goal) for m in result.means() if m.peer == "shipped_opencl" and m.what == STEADY]
    assert found == [(True, 1, 0.25), (False, 2, None)]
    assert "shipped delegate, all models" in table(result)


def test_the_figures_are_written_after_each_model_and_are_json(measured):
    seen = []

    def keep(result):
        page = bench_peers_page.write(result)
        seen.append(json.loads((page.parent / "bench.json").read_text(), parse_constant=pytest.fail))

    where = Place(wrong=("a",))
    where.us["quadra"] = 0  # no ratio can be made
    measured(where, keep=keep)
    assert [len(value["rows"]) for value in seen] == [1, 2, 3, 4]
    assert [value["finished"] for value in seen] == [False, False, False, True]
    assert seen[-1]["rows"][0]["over"]["xnnpack"] == {"steady": None, "cold": None, "warm": None}


def test_a_bench_that_was_broken_off_goes_on(measured):
    first = measured(Place(b_gles=RunFailed("run b", "it crashed", "")))
    where = Place()
    result = measured(where, resume=first.folder.name)
    assert [(s.model.name, s.options["backend"]) for s in where.specs] == [("b", "gles")]
    assert result.folder == first.folder and not result.wrong and len(result.rows) == 4
    with pytest.raises(Misuse, match="go on with the bench nowhere"):
        measured(where, resume="nowhere")


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
    asked = bench_peers.asked(["selfie_segmentation"], "", "xnnpack,shipped-opencl,shipped-gles", 3, "")
    assert asked.backends == ("opencl", "gles") and asked.repetitions == 3
    assert bench_peers.asked(["selfie_segmentation"], "", "shipped-gles", 0, "").backends == ("gles",)
    assert bench_peers.asked(["selfie_segmentation"], "gles", "xnnpack,shipped-opencl", 0, "").peers == ("xnnpack",)
    assert bench_peers.asked(["selfie_segmentation"], "", "xnnpack", 0, "").backends == ("opencl",)
    with pytest.raises(Misuse, match="'nnapi' is not one of xnnpack, shipped-opencl, shipped-gles"):
        bench_peers.asked([], "", "xnnpack,nnapi", 0, "")
    with pytest.raises(Misuse):
        bench_peers.asked(["no such model"], "", "", 0, "")
    monkeypatch.setattr(models, "status", lambda: [])
    with pytest.raises(Misuse, match="no model is here"):
        bench_peers.asked([], "", "", 0, "")


def test_of_all_models_those_that_run_wholly_on_the_gpu_come_first(monkeypatch):
    entries = [SimpleNamespace(name=name) for name in ("split_concat", "face_landmark", "hand_recrop")]
    monkeypatch.setattr(models, "status", lambda: [(entry, entry.name != "hand_recrop" or None) for entry in entries])
    assert bench_peers.asked([], "", "", 0, "").models == ("face_landmark", "split_concat")


def test_no_rows_have_no_means(tmp_path):
    asked = bench_peers.Asked(("a",), ("opencl",), ("xnnpack",), 1)
    result = bench_peers.bench_of(tmp_path, asked, (), {"path": "", "bytes": 1, "sha256": DIGEST})
    assert result.means() == [] and "not finished: 0 of 1" in bench_peers_page.write(result).read_text()
    assert not math.isnan(result.load)
