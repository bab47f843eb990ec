"""What is kept of the tests on a driver: per library and version, whole lines only, the newest shown."""

from __future__ import annotations

import os

import pytest

from host_tools.base import settings
from host_tools.drivers import results
from host_tools.drivers.results import Case, Origin, Record, Session

ORIGIN = Origin("angle", "1f" * 32, "ANGLE, version 1")
RIGHT = Record(
    "tests/test_vectors.py::a[x]", "vectors", "f32", [Case("relu", "right", "", 1.5), Case("sin", "wrong", "off", 0.5)]
)
HALF = Record("tests/test_driver_models.py::m[y]", "models", "f16", [Case("net", "refused", "left to the CPU")])


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path))


def test_results_are_read_as_they_were_kept():
    path = results.begin(ORIGIN, fresh=False)
    for entry in (RIGHT, HALF, Session(60), Session(30.5)):
        results.append(path, entry)
    found = results.read(path)
    assert found.origin == ORIGIN and found.tests == {RIGHT.test: RIGHT, HALF.test: HALF} and found.wall_s == 90.5
    assert not found.whole
    results.append(path, Session(0, whole=True))
    assert results.read(path).whole
    assert found.count("vectors", half=False) == {"right": 1, "wrong": 1} and not found.count("vectors", half=True)
    assert found.count("models", half=True) == {"refused": 1} and found.seconds("vectors", half=False) == 2
    assert [(test.test, case.name) for test, case in found.faults()] == [(RIGHT.test, "sin"), (HALF.test, "net")]


def test_a_second_start_finds_them_unless_it_is_fresh():
    results.append(results.begin(ORIGIN, fresh=False), RIGHT)
    assert results.read(results.begin(ORIGIN, fresh=False)).tests
    assert not results.read(results.begin(ORIGIN, fresh=True)).tests


@pytest.mark.parametrize(
    "other", [Origin("angle", "2e" * 32, ORIGIN.device), Origin("angle", ORIGIN.library, "ANGLE, version 2")]
)
def test_another_library_or_version_begins_anew_and_the_earlier_results_stay(other):
    first = results.begin(ORIGIN, fresh=False)
    results.append(first, RIGHT)
    second = results.begin(other, fresh=False)
    os.utime(first, (1, 1))
    assert second != first and not results.read(second).tests and results.read(first).tests
    assert results.latest("angle").origin == other


def test_the_oldest_files_of_many_go():
    paths = [results.begin(Origin("angle", f"{i:02}" * 32, ""), fresh=False) for i in range(results._KEPT_FILES)]
    for age, path in enumerate(paths):
        os.utime(path, (age, age))
    new = results.begin(ORIGIN, fresh=False)
    assert not paths[0].exists() and all(path.exists() for path in [*paths[1:], new])


@pytest.mark.parametrize("cut", [1, 40])
def test_a_line_of_a_process_that_was_killed_is_left_out(cut):
    path = results.begin(ORIGIN, fresh=False)
    results.append(path, RIGHT)
    results.append(path, HALF)
    path.write_bytes(path.read_bytes()[:-cut])
    results.append(path, Session(1))
    assert list(results.read(path).tests) == [RIGHT.test]


@pytest.mark.parametrize("content", [b"", b"\xff\n", b'{"row": 1}\n', b"[]\n"])
def test_a_file_without_a_beginning_says_nothing(content):
    path = results.begin(ORIGIN, fresh=False)
    path.write_bytes(content)
    assert results.read(path) is None and results.latest("angle") is None


def test_a_row_without_results_has_none():
    assert results.latest("softpipe") is None


def test_the_tests_of_each_kind_are_there():
    assert all((settings.ROOT / file).is_file() for file in results.KINDS.values())
