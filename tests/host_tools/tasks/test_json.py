"""--json of each task that prints a table: one document on stdout, nothing else there, and the same exit status."""

import inspect
import json

import numpy as np
import pytest
from invoke import Task

import tasks
from host_tools.base import settings
from host_tools.record import run_folder
from tests.host_tools import run_folders
from tests.host_tools.record import cache_files, plans
from tests.host_tools.tasks.test_tasks import inv

# What these print is no table of results: paths, a page, progress, findings of the project's own tools; or they write a file.
WITHOUT = {
    *(
        "aar",
        "analyse",
        "apk",
        "build",
        "clean",
        "demo",
        "docs",
        "fuzz",
        "install",
        "lab",
        "lint",
        "lock",
        "open",
        "pull",
    ),
    *("push", "release", "report", "uninstall", "wheel"),
}


def test_every_task_that_prints_a_table_of_results_has_json():
    known = {one.name: inspect.signature(one.body).parameters for one in vars(tasks).values() if isinstance(one, Task)}
    assert {name for name, arguments in known.items() if "json" not in arguments} | {"analyse"} == WITHOUT
    page = (settings.ROOT / "docs" / "run_folder.md").read_text().split("## What tasks print with `--json`")[1]
    assert [
        name
        for name in known
        if name not in WITHOUT | {"test"} and f"`{name}" not in page and f"inv {name}" not in page
    ] == []


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run with a profile, two plans that differ, and a cache with a file that is damaged."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("QUADRA_MODELS_DIR", str(tmp_path))
    right = np.linspace(0, 1, 12, dtype=np.float32)
    run = run_folders.make(tmp_path / "runs", [right + np.float32(0.5)], [right], profile=run_folders.PROFILE)
    (run.path / "partition_0").mkdir()
    whole = plans.write(plans.PLAN, run.path / "partition_0" / "plan.quadra")
    plans.write(plans.changed(precision="f16"), tmp_path / "other.quadra")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / f"a_{'0' * 32}.quadra").write_bytes(cache_files.content(whole.read_bytes()))
    (tmp_path / "cache" / f"b_{'0' * 32}.quadra").write_bytes(b"QUADRAP\n")
    (tmp_path / "mine.tflite").write_bytes(b"a model")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "status", "look"),
    [
        ("compare", 1, lambda found: not found["ok"] and found["outputs"][0]["relative"] > 0.4 and found["folder"]),
        ("profile", 0, lambda found: len(found["dispatches"]) == 2 and found["kernels"][0]["time_us"] == 200),
        ("plan show", 0, lambda found: found[0]["plan"]["dispatches"] and found[0]["path"].endswith("plan.quadra")),
        ("plan diff latest FOLDER/other.quadra", 1, lambda found: found["changes"][0]["words"][0]["b"] == "f16"),
        ("plan diff latest latest", 0, lambda found: not found["changes"][0]["words"]),
        ("cache list FOLDER/cache", 0, lambda found: sorted(bool(one["problem"]) for one in found) == [False, True]),
        ("cache verify FOLDER/cache", 1, lambda found: sum(bool(one["problem"]) for one in found) == 1),
        (f"cache show FOLDER/cache/a_{'0' * 32}.quadra", 0, lambda found: found["key"] and found["plan"]["dispatches"]),
        (
            f"cache diff FOLDER/cache/a_{'0' * 32}.quadra FOLDER/cache/a_{'0' * 32}.quadra",
            0,
            lambda found: found["key"] == [],
        ),
        ("models", 0, lambda found: found[0]["name"] == "mine" and found[0]["bytes"] == 7 and len(found) > 10),
        ("doctor", None, lambda found: {"need", "found", "ok"} <= set(found["checks"][0])),
        ("runs list", 0, lambda found: found["runs"][0]["result"] == "wrong"),
        ("drivers", 0, lambda found: found),
    ],
    ids=lambda one: one.split(" FOLDER")[0] if isinstance(one, str) else "",
)
def test_a_document_is_all_of_stdout(folder, capsys, words, status, look):
    inv(capsys, "compare")  # writes the judgement that the list of runs shows
    found = inv(capsys, *words.replace("FOLDER", str(folder)).split(), "--json")
    assert status in (None, found[0]), found[2]
    assert look(json.loads(found[1]))


def test_bisect_replay_and_size_print_documents(capsys, tmp_path, monkeypatch):
    """On PoCL, with a model of one convolution."""
    from tests.model_builder import one_convolution

    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    (tmp_path / "m.tflite").write_bytes(one_convolution())
    status, out, _ = inv(capsys, "bisect", str(tmp_path / "m.tflite"), "--backend=opencl", "--json")
    (found,) = json.loads(out)
    assert status == 0 and found["signature"] == "" and found["rows"] and run_folder.find("latest", tmp_path / "runs")
    status, out, _ = inv(capsys, "replay", "latest", "--against=cpu", "--json")
    (found,) = json.loads(out)
    assert status == 0 and found["ok"] and found["dispatches"][0]["tensors"][0]["compared"] and found["failure"] == ""
    status, out, _ = inv(capsys, "size", "--json")
    assert status == 0 and json.loads(out)["file_bytes"] > 1e5
