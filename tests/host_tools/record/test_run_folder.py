"""Run folders are found, survive damage with a sentence, and are never half written."""

import os
import re

import numpy as np
import pytest
from msgspec import structs

from host_tools.base.errors import FolderNotWritable, Misuse
from host_tools.record import run_folder, spec as specs
from tests.host_tools import run_folders


def test_ids_sort_by_time():
    ids = [specs.new_run_id("m", moment) for moment in (0.0, 0.5, 1e9, 1e9 + 0.002)]
    assert ids == sorted(ids) and len(set(ids)) == 4


@pytest.mark.parametrize("name", ["../../etc/passwd", "a b\nc", "", "mediapipe/x", "ü" * 300])
def test_ids_are_single_names_of_files(name):
    run_id = specs.new_run_id(name)
    assert "/" not in run_id and "\n" not in run_id and len(run_id) < 100 and not run_id.startswith(".")


def test_an_id_has_the_models_name_as_its_file_has_it(tmp_path):
    model = specs.ModelRef("body-pix-float-050-8", "/m.tflite", "0" * 64)
    spec = specs.RunSpec(specs.new_run_id(model.name), model)
    assert spec.run_id.endswith("-body-pix-float-050-8") and specs.new_run_id("--x-").endswith("-x")
    left = run_folder.start(spec, tmp_path)
    run_folder._let_go(left)  # as if its process had been killed: the next run knows the name, and removes it
    run_folder.start(specs.RunSpec("20990101-000000-000-x", model), tmp_path)
    assert not left.exists()


def test_a_run_is_found_by_id_beginning_path_and_latest(tmp_path):
    first = run_folders.make(tmp_path, name="first")
    os.rename(first.path, tmp_path / "20200101-000000-000-first")
    second = run_folders.make(tmp_path, name="second")
    for name in (second.path.name, "latest", str(second.path)):
        assert run_folder.find(name, tmp_path).path == second.path
    assert run_folder.find("2020", tmp_path).path.name.endswith("-first")


def test_an_unknown_or_ambiguous_name_lists_runs(tmp_path):
    with pytest.raises(Misuse, match="holds no runs"):
        run_folder.find("latest", tmp_path / "none")
    ids = {run_folders.make(tmp_path, name=name).path.name for name in ("a", "b")}
    with pytest.raises(Misuse, match="2 folders match") as caught:
        run_folder.find("20", tmp_path)
    assert all(run_id in str(caught.value) for run_id in ids)
    with pytest.raises(Misuse, match="no folder of"):
        run_folder.find("", tmp_path)
    with pytest.raises(Misuse, match="did you mean latest\\?"):
        run_folder.find("lastest", tmp_path)


def test_a_run_that_goes_on_is_not_listed(tmp_path):
    spec = run_folders.make(tmp_path).spec()
    run_folder.start(specs.RunSpec("20990101-000000-000-x", spec.model), tmp_path)
    assert run_folder.list_ids(tmp_path) == [spec.run_id]


def test_ctrl_c_while_a_run_starts_leaves_nothing(tmp_path, monkeypatch):
    spec = run_folders.make(tmp_path / "other").spec()

    def interrupted(path, value):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_folder, "write_json", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_folder.start(spec, tmp_path / "runs")
    assert os.listdir(tmp_path / "runs") == []


def test_a_failed_run_is_kept_and_marked(tmp_path):
    spec = run_folders.make(tmp_path).spec()
    partial = run_folder.start(specs.RunSpec("20990101-000000-000-x", spec.model), tmp_path)
    folder = run_folder.finish(partial, "crashed", "measure")
    assert not folder.is_complete()
    with pytest.raises(Misuse, match="the run crashed at the stage 'measure'"):
        folder.json("timings.json")
    with pytest.raises(Misuse, match="the run crashed at the stage 'measure'"):
        folder.arrays("outputs")


def test_the_spec_survives_the_way_through_json(tmp_path):
    spec = structs.replace(
        run_folders.make(tmp_path).spec(), cold=True, peers=(), inputs=specs.InputSpec(seed=7, value_range=(0.0, 0.5))
    )
    run_folder.write_json(tmp_path / "spec.json", spec.to_json())
    assert run_folder.RunFolder(tmp_path).spec() == spec


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema_version": 2}, "schema_version is 2"),
        ({"options": {"backend": "cuda"}}, "'cuda' is not one of"),
        ({"repetitions": 0}, "--runs"),
        ({"threads": "many"}, r"Expected `int`, got `str` - at `$.threads`"),
        ({"unknown": 1}, "unknown field `unknown`"),
        ({"inputs": {"kind": "random", "value_range": [1, 1]}}, "1 is not below 1"),
        ({"model": None}, "Expected `object`, got `null` - at `$.model`"),
    ],
)
def test_a_wrong_spec_names_the_field(tmp_path, change, reason):
    folder = run_folders.make(tmp_path)
    run_folder.write_json(folder.path / "spec.json", {**folder.spec().to_json(), **change})
    with pytest.raises(Misuse, match=re.escape(reason)):
        folder.spec()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[1, 2"])
def test_damaged_json_is_a_sentence(tmp_path, content):
    folder = run_folders.make(tmp_path)
    (folder.path / "verdicts.json").write_bytes(content)
    with pytest.raises(Misuse, match="it is damaged"):
        folder.json("verdicts.json")


@pytest.mark.parametrize("size", [0, 3, 60, 130])
def test_damaged_arrays_are_a_sentence(tmp_path, size):
    folder = run_folders.make(tmp_path)
    file = folder.path / "outputs" / "000.npy"
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(Misuse, match="it is damaged"):
        folder.arrays("outputs")


def test_arrays_with_code_inside_are_refused(tmp_path):
    folder = run_folders.make(tmp_path)
    np.save(folder.path / "outputs" / "000.npy", np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(Misuse, match="it is damaged"):
        folder.arrays("outputs")


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    run_folder.write_json(tmp_path / "a.json", {"old": 1})
    with pytest.raises(ValueError):
        run_folder.write_json(tmp_path / "a.json", {"bad": float("nan")})
    assert (tmp_path / "a.json").read_text() == '{\n "old": 1\n}\n'
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderNotWritable, match="QUADRA_RUNS_DIR"):
        run_folder.write_json(tmp_path / "file" / "a.json", {})
    with pytest.raises(FolderNotWritable, match="QUADRA_RUNS_DIR"):
        run_folder.start(specs.RunSpec("id", specs.ModelRef("m", "", "")), tmp_path / "file")
