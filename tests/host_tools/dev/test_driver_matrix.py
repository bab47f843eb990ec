"""`inv test --drivers`: what it shows of the rows, which options go together, and that a second start runs only what is left."""

from __future__ import annotations

import io
import json
import os
import re
from dataclasses import replace

import pytest
from rich.console import Console

from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.dev import driver_matrix
from host_tools.dev.driver_matrix import Asked
from host_tools.drivers import driver_table, results
from host_tools.drivers.results import Case, Origin, Record, Session

VECTOR = "tests/test_vectors.py::test_vector_is_right_on_gpu[sin-gles-own]"
MODEL = "tests/test_driver_models.py::test_model_is_right[net-gles-own-f16]"
RECORDS = [
    Record(VECTOR, "vectors", "f32", [Case("relu", "right"), Case("sin", "wrong", "off by [1]")]),
    Record(VECTOR.replace("own", "generic"), "vectors", "f32", [Case("sin", "wrong", "off by 2")]),
    Record("tests/test_lifetime.py::test_forks[gles]", "lifetimes", "f32", [Case("", "skipped", "it has no EGL")]),
    Record("tests/test_dead_lanes.py::test_it[gles]", "dead lanes", "f32", [Case("", "refused", "left to the CPU")]),
    Record(MODEL, "models", "f16", [Case("net", "right", "2e-2 of the range; half storage alone costs 3e-2")]),
]


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path))


@pytest.fixture
def of_angle():
    path = results.begin(Origin("angle", "1f" * 32, "ANGLE 2.1"), fresh=False)
    for entry in (*RECORDS, Session(90)):
        results.append(path, entry)


def shown(found, width=200):
    text = io.StringIO()
    driver_matrix.show(found, Console(file=text, width=width))
    return text.getvalue()


def test_the_matrix_counts_each_outcome_of_each_kind(of_angle):
    text = shown(driver_matrix.kept("angle,softpipe"))
    head, floats, half = (re.split(r"  +", line.strip()) for line in text.splitlines()[:3])
    assert dict(zip(head, floats)) == {
        "driver": "angle", "vectors": "1/3", "models": "–", "dead lanes": "0/1",
        "wrong": "2", "refused": "1", "known": "0", "skipped": "1", "minutes": "1.5",
    }  # fmt: skip
    assert half == ["half", "–", "1/1", "–", "0", "0", "0", "0"]  # kinds of which nothing ran are left out
    assert "ANGLE 2.1, library 1f1f1f1f1f1f" in text
    assert "angle: not all of its tests have run; `./inv test --drivers angle` goes on" in text
    assert "softpipe: not tested: nothing is kept; `./inv test --drivers softpipe`" in text


def test_what_is_wrong_is_told_once_with_what_repeats_it(of_angle):
    text = shown(driver_matrix.kept("angle"))
    assert text.count("wrong angle, sin, 2 times: off by [1]") == 1
    assert f"./inv test --drivers angle --args '{VECTOR}'" in text
    assert "refused angle, tests/test_dead_lanes.py::test_it[gles]: left to the CPU" in text
    assert "net: angle f16: 2e-2 of the range; half storage alone costs 3e-2" in text
    assert "skipped angle, 1: it has no EGL" in text


def test_a_known_fault_of_the_driver_is_told_and_fails_nothing(of_angle, monkeypatch):
    known = replace(
        driver_table.find("angle"), faults=((r"sin-gles-own\]", "its sine is rough"), (r"it\[gles\]", "it is tired"))
    )
    monkeypatch.setattr(driver_table, "DRIVERS", [known])
    found = driver_matrix.kept("angle")
    text = shown(found)
    assert "known angle, 1: its sine is rough" in text and "known angle, 1: it is tired" in text
    assert "wrong angle, sin: off by 2" in text, "on another target it is not known"
    assert found.faults() == 1
    assert found.rows[0].count("vectors", False) == {"right": 1, "known": 1, "wrong": 1}


def test_json_has_all_cells_and_all_that_is_not_simply_right(of_angle, capsys):
    with pytest.raises(JudgementFailed, match="3 cases are wrong or refused"):
        driver_matrix.do(Asked("angle,pocl", results=True, json=True), Console())
    found = json.loads(capsys.readouterr().out)
    [row] = found["rows"]
    assert row["driver"] == "angle" and row["minutes"] == 1.5 and list(found["not_tested"]) == ["pocl"]
    assert row["cells"][0] == {
        "kind": "vectors", "precision": "f32", "right": 1, "wrong": 2, "refused": 0, "known": 0, "skipped": 0, "seconds": 0.0,
    }  # fmt: skip
    assert [case["outcome"] for case in row["cases"]] == ["wrong", "wrong", "skipped", "refused", "right"]


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (Asked("", fresh=True), "(?s)options of --drivers.*add --drivers"),
        (Asked("", json=True), "options of --drivers"),
        (Asked("pocl", sanitizers="address"), "omit --sanitize"),
        (Asked("pocl", only="conv_2d", results=True), "omit --only and --args"),
        (Asked("poc"), "(?s)find the driver poc.*did you mean pocl"),
        (Asked("pocl,"), "no row has this name"),
    ],
)
def test_options_that_do_not_go_together_are_misuse(asked, problem):
    with pytest.raises(Misuse, match=problem):
        driver_matrix.do(asked, Console())


def test_all_rows_are_meant_where_none_is_named():
    assert driver_matrix.chosen("all") == [*driver_table.DRIVERS]
    assert [driver.name for driver in driver_matrix.chosen("softpipe,pocl")] == [
        "pocl",
        "softpipe",
    ]  # the table's order


def test_a_driver_that_is_not_on_this_machine_is_left_out_with_what_fetches_it():
    found = driver_matrix.run("angle", fresh=False, slow=False)
    assert not found.rows and "./inv drivers --fetch angle" in found.absent["angle"]
    driver_matrix.fail_if_wrong(found)
    assert "angle: not tested" in shown(found)


def test_a_second_start_runs_only_what_is_left(library, monkeypatch):
    """On PoCL, for real: a test of lifetimes with four endings."""
    test = "tests/test_lifetime.py::test_a_process_ends_with_live_delegates"
    monkeypatch.setenv("QUADRA_LIBRARY", str(library))
    monkeypatch.setattr(driver_matrix, "_PROCESSES", 1)
    monkeypatch.setattr(driver_matrix, "KINDS", {"lifetimes": f"{test}[pass]"})
    [row] = driver_matrix.run("pocl", fresh=False, slow=False).rows
    assert row.count("lifetimes", half=False) == {"right": 1}
    kept = results.latest("pocl").origin.path.read_bytes()
    monkeypatch.setattr(driver_matrix, "KINDS", {"lifetimes": test})
    [row] = driver_matrix.run("pocl", fresh=False, slow=False).rows
    assert row.count("lifetimes", half=False) == {"right": 4} and "PoCL" in row.origin.device and row.whole
    assert results.latest("pocl").origin.path.read_bytes().startswith(kept)  # the first one was not run again
    assert os.listdir(results.folder()) == ["pocl"]
