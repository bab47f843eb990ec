"""`inv runs` lists what there is, by any name that it has, and removes it; other tasks take the same names."""

import json
import os
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from host_tools.base import portable
from host_tools.judge import judged
from host_tools.record import printed, run_folder, run_list, schema
from tests.host_tools import run_folders
from tests.host_tools.tasks.test_tasks import inv

RIGHT = np.linspace(0, 1, 12, dtype=np.float32)
CELL = {"key": "a", "device": "host", "verdict": "pass", "error": ""}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A run that is right, one that is wrong, a bench, an unfinished regression run, and a run that crashed."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    folder = tmp_path / "runs"
    named(folder, "20260101-000000-001-selfie", [RIGHT])
    named(folder, "20260102-000000-001-mediapipe_face", [RIGHT + np.float32(0.5)], model="mediapipe/face")
    write(folder / "bench-20260103-000000-selfie" / "bench.json", {
        "schema_version": 4, "place": "host", "models": ["selfie"], "backends": ["opencl"], "finished": True,
        "rows": [{"model": "selfie", "backend": "opencl", "whole": True, "over": {}, "runners": {"quadra": {"right": True}}}],
    })  # fmt: skip
    (folder / "regress-20260104-000000-001-quick").mkdir()
    named(folder, "20260105-000000-001-selfie", [RIGHT], state="timed_out")
    run_folder._point_latest(folder / "20260105-000000-001-selfie")
    for age, path in enumerate(sorted(folder.iterdir(), key=lambda path: path.name.removeprefix("bench-"))):
        for file in (path, *path.rglob("*.json")) if not path.is_symlink() else ():
            os.utime(file, (1.7e9 + age, 1.7e9 + age))
    os.utime(folder / "regress-20260104-000000-001-quick", (1.7e9 + 3, 1.7e9 + 3))
    os.utime(folder / "20260105-000000-001-selfie" / "status.json", (1.7e9 + 9, 1.7e9 + 9))
    return folder


def named(folder, name, outputs, model="selfie", state="complete"):
    made = run_folders.make(folder, outputs, [RIGHT], name=model)
    judged.judge(made)
    status = made.json("status.json")
    run_folder.write_json(made.path / "status.json", {**status, "state": state})
    os.rename(made.path, folder / name)


def write(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))


def listed(capsys, *words):
    status, out, _ = inv(capsys, "runs", "list", *words, "--json")
    assert status == 0 and schema.unknown(printed.RunsDocument, json.loads(out)) == []
    return msgspec.json.decode(out, type=printed.RunsDocument).runs


def test_the_list_has_each_with_what_it_is_looked_for_by(runs, capsys):
    rows = [(row.name[-12:], row.kind, row.subject, row.place, row.result, row.backend) for row in listed(capsys)]
    assert rows == [
        ("0-001-selfie", "run", "selfie", "host", "timed out", "opencl"),
        ("00-001-quick", "regress", "quick", "", "unfinished", ""),
        ("00000-selfie", "bench", "selfie", "host", "right", "opencl"),
        ("diapipe_face", "run", "mediapipe/face", "host", "wrong", "opencl"),
        ("0-001-selfie", "run", "selfie", "host", "right", "opencl"),
    ]
    (row,) = listed(capsys, "20260101")
    files = [path for path in Path(row.folder).rglob("*") if path.is_file()]
    assert row.bytes == sum(path.stat().st_size for path in files) > 1000 and row.precision == "f32"
    status, out, _ = inv(capsys, "runs")
    assert (
        status == 0
        and "5 of 5 folders" in out
        and re.search("^20260102-000000-001 +mediapipe/face ", out, re.MULTILINE)
    )


def test_a_name_a_kind_and_a_number_choose_of_the_list(runs, capsys):
    assert [row.kind for row in listed(capsys, "selfie")] == ["run", "bench", "run"]
    assert [row.subject for row in listed(capsys, "bench", "mediapipe/face")] == ["selfie", "mediapipe/face"]
    assert len(listed(capsys, "--top=2")) == 2
    _, out, _ = inv(capsys, "runs", "--top=2")
    assert "2 of 5 folders" in out and "--top 0 lists all" in out
    status, _, err = inv(capsys, "runs", "list", "selfy")
    assert status == 2 and "did you mean selfie" in err


@pytest.mark.parametrize(
    ("cells", "state", "result"),
    [
        ([{}], "complete", "passed"),
        ([{}, {"verdict": "inconclusive"}], "complete", "inconclusive"),
        ([{"verdict": "regressed"}, {"verdict": "inconclusive"}], "complete", "regressed"),
        ([{"verdict": "regressed"}, {"error": "it crashed"}], "complete", "failed"),
        ([{}], "interrupted", "interrupted"),
    ],
)
def test_a_regression_run_has_the_worst_of_its_cells(tmp_path, cells, state, result):
    path = tmp_path / "regress-20260104-000000-001-quick"
    write(path / "regress.json", {"suite": "quick", "state": state, "cells": [CELL | cell for cell in cells]})
    assert (run_list.read(path).result, run_list.read(path).place) == (result, "host")


@pytest.mark.parametrize("name", ["20260101-000000-001-selfie/spec.json", "bench-20260103-000000-selfie/bench.json"])
@pytest.mark.parametrize("content", [b"{", b"[" * 100_000, b'{"rows": 1}', b"\xff"])
def test_what_is_damaged_is_listed_as_that_and_can_be_removed(runs, capsys, name, content):
    (runs / name).write_bytes(content)
    assert next(row for row in listed(capsys) if row.name == Path(name).parent.name).result == "damaged"
    assert inv(capsys, "runs", "remove", Path(name).parent.name)[0] == 0 and not (runs / name).parent.exists()


def test_one_is_removed_by_its_name_several_only_with_all(runs, capsys):
    def names():
        return [path.name for path in runs.iterdir() if not path.is_symlink()]

    status, _, err = inv(capsys, "runs", "remove", "selfie")
    assert status == 2 and "3 folders match" in err and "--all" in err and len(names()) == 5
    status, out, _ = inv(capsys, "runs", "remove", "20260105", "bench")
    assert status == 0 and "2 folders removed" in out and len(names()) == 3
    assert os.readlink(runs / "latest") == "20260102-000000-001-mediapipe_face"
    assert inv(capsys, "runs", "remove", "selfie", "mediapipe/face", "--all")[0] == 0
    assert names() == ["regress-20260104-000000-001-quick"] and not os.path.lexists(runs / "latest")


def test_a_name_that_means_none_removes_nothing(runs, capsys):
    status, _, err = inv(capsys, "runs", "remove", "20260105", "nothing")
    assert status == 2 and "no folder of" in err and (runs / "20260105-000000-001-selfie").exists()
    for words, reason in (
        ([], "either names or --to"),
        (["20260105", "--to=1G"], "either names or --to"),
        (["--to=x"], "not a size"),
    ):
        status, _, err = inv(capsys, "runs", "remove", *words)
        assert status == 2 and reason in err and len(list(runs.iterdir())) == 6


def test_the_oldest_are_removed_down_to_a_size(runs, capsys):
    newest = listed(capsys)[:3]
    left = sum(row.bytes for row in newest)
    assert inv(capsys, "runs", "remove", f"--to={left}")[0] == 0
    assert [row.name for row in listed(capsys)] == [row.name for row in newest]
    inv(capsys, "runs", "remove", f"--to={left}")
    assert len(listed(capsys)) == 3


@pytest.mark.skipif(not portable.LOCKS_FOLDERS, reason="no locks here")
def test_a_regression_run_that_goes_on_is_not_removed(runs, capsys):
    with open(runs / "regress-20260104-000000-001-quick" / ".lock", "wb") as held:
        portable.lock(held.fileno())
        status, _, err = inv(capsys, "runs", "remove", "regress")
    assert status == 2 and "another process runs this session" in err
    assert inv(capsys, "runs", "remove", "regress")[0] == 0


def test_a_folder_without_runs_says_how_to_make_one(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "none"))
    status, out, _ = inv(capsys, "runs")
    assert status == 0 and "holds no runs" in out and "`./inv run selfie_segmentation` makes one" in out
    assert inv(capsys, "runs", "remove", "x")[0] == 2


def test_links_are_neither_listed_nor_followed(runs, capsys, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "spec.json").write_text("{}")
    (runs / "20260106-000000-001-selfie").symlink_to(tmp_path / "elsewhere")
    (runs / "20260105-000000-001-selfie" / "link").symlink_to(tmp_path / "elsewhere")
    assert len(listed(capsys)) == 5
    inv(capsys, "runs", "remove", "--to=0")
    assert listed(capsys) == [] and (tmp_path / "elsewhere" / "spec.json").exists()


def test_other_tasks_take_the_same_names(runs, capsys):
    assert inv(capsys, "compare", "mediapipe/face")[0] == 1
    status, out, _ = inv(capsys, "report", "face")
    assert status == 2
    status, out, _ = inv(capsys, "report", "mediapipe")
    assert status == 0 and "20260102-000000-001-mediapipe_face" in out
    assert "20260105-000000-001-selfie/report.html" in inv(capsys, "open", "selfie")[1]
    (runs / "bench-20260103-000000-selfie" / "bench.html").touch()
    assert "bench-20260103-000000-selfie/bench.html" in inv(capsys, "open", "selfie")[1], "it is newer now"
    for word in ("bench", "bench-20260103"):
        assert "bench-20260103-000000-selfie/bench.html" in inv(capsys, "open", word)[1]
