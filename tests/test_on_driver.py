"""The instrument of `inv test --drivers`: which tests a session on a row runs, what it keeps of each, and that the next start
goes on where it was. The tests that it runs here are made up; pytest, its processes and the table of drivers are real."""

from __future__ import annotations

import sys

import pytest

from host_tools.base import child_process, settings
from host_tools.drivers import results
from host_tools.drivers.results import Origin
from tests.delegate import Refused

_CONFTEST = """
import pytest
from tests import on_driver

def pytest_addoption(parser):
    parser.addoption("--driver", default="")
    parser.addoption("--driver-results", default="")

def pytest_configure(config):
    on_driver.begin(config)

@pytest.fixture
def cases(request):
    return on_driver.Cases(request)
"""
_TESTS = """
import os
from types import SimpleNamespace
import pytest
from tests.delegate import Refused, WorkerDied

half = pytest.mark.parametrize("run", [SimpleNamespace(backend="opencl", precision="f16")], ids=["half"])
opencl = pytest.mark.parametrize("backend", ["opencl"])

def fail(problem):
    raise problem

@pytest.mark.parametrize("backend", ["opencl", "gles"])
def test_passes(backend):
    print("ran passes")

@half
def test_of_cases(cases, run):
    print("ran cases")
    cases("right", lambda: None)
    cases("noted", lambda: "half costs more")
    cases("wrong", lambda: fail(AssertionError("off by 3")))
    cases("died", lambda: fail(WorkerDied("the process ended: SIGSEGV")))
    cases("refused", lambda: fail(Refused("left to the CPU: 0 SIN")))

@opencl
def test_batch(cases, backend):
    def check(names):
        if "bad" in names:
            raise AssertionError("bad is wrong")
    names = ["one", "bad", "two"]
    cases.together(names, lambda: check(names), lambda i: check(names[i]))

@opencl
def test_batch_that_is_wrong_only_together(cases, backend):
    cases.together(["three", "four"], lambda: fail(AssertionError("they collide")), lambda i: None)

@opencl
def test_skips(backend):
    pytest.skip("it has no hands")

@opencl
def test_is_refused(backend):
    raise Refused("no backend")

def test_of_no_driver():
    print("ran of no driver")
"""
_DEADLY = """
@opencl
def test_kills_pytest(backend):
    os._exit(3)
"""
ALL = {"passes[opencl]", "of_cases[half]", "batch[opencl]", "batch_that_is_wrong_only_together[opencl]", "skips[opencl]", "is_refused[opencl]"}  # fmt: skip


@pytest.fixture
def start(tmp_path, monkeypatch):
    """start(words): a session on the row pocl; what it printed. Its results are in start.path."""
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "tools"))
    project = tmp_path / "project"
    (project / "tests").mkdir(parents=True)
    (project / "conftest.py").write_text(_CONFTEST)
    (project / "tests" / "test_vectors.py").write_text(_TESTS)
    (project / "pytest.ini").write_text("[pytest]\n")
    path = results.begin(Origin("pocl", "1f" * 32, "PoCL"), fresh=False)

    def run(*words: str) -> str:
        argv = [
            sys.executable,
            "-P",
            "-m",
            "pytest",
            "-rP",
            "-p",
            "no:cacheprovider",
            "--import-mode=importlib",
            "--driver=pocl",
        ]
        env = {"PYTHONPATH": str(settings.ROOT), "PYTEST_ADDOPTS": ""}
        argv += [f"--driver-results={path}", *words, "tests/test_vectors.py"]
        return child_process.run(argv, cwd=project, env=env, timeout_s=100, check=False).stdout

    run.path, run.project = path, project
    return run


def kept(start) -> dict[str, list[tuple[str, str, str]]]:
    found = results.read(start.path)
    return {
        test.split("::test_")[1]: [(case.name, case.outcome, case.reason) for case in one.cases]
        for test, one in found.tests.items()
    }


@pytest.mark.parametrize("processes", [[], ["-n2"]], ids=["one", "two"])
def test_each_case_is_kept_with_what_came_of_it(start, processes):
    printed = start(*processes)
    assert "ran of no driver" not in printed
    found = kept(start)
    assert set(found) == ALL
    assert found["passes[opencl]"] == [("", "right", "")]
    assert found["of_cases[half]"] == [
        ("right", "right", ""),
        ("noted", "right", "half costs more"),
        ("wrong", "wrong", "off by 3"),
        ("died", "wrong", "WorkerDied: the process ended: SIGSEGV"),
        ("refused", "refused", "left to the CPU: 0 SIN"),
    ]
    assert found["batch[opencl]"] == [("one", "right", ""), ("bad", "wrong", "bad is wrong"), ("two", "right", "")]
    assert found["batch_that_is_wrong_only_together[opencl]"][-1] == ("together: three, four", "wrong", "they collide")
    assert found["skips[opencl]"] == [("", "skipped", "it has no hands")]
    assert found["is_refused[opencl]"] == [("", "refused", "no backend")]
    half = {test for test, one in results.read(start.path).tests.items() if one.precision == "f16"}
    assert half == {"tests/test_vectors.py::test_of_cases[half]"}


def test_the_next_start_runs_only_what_is_not_kept(start):
    start("-k", "passes")
    assert set(kept(start)) == {"passes[opencl]"}
    printed = start("-n2")
    assert "ran cases" in printed and "ran passes" not in printed and set(kept(start)) == ALL
    assert results.read(start.path).wall_s > 0


def test_a_test_that_ends_pytests_process_is_wrong_and_costs_only_itself(start):
    with open(start.project / "tests" / "test_vectors.py", "a") as file:
        file.write(_DEADLY)
    start("-n2")
    found = kept(start)
    assert set(found) == ALL | {"kills_pytest[opencl]"}
    [(_, outcome, reason)] = found["kills_pytest[opencl]"]
    assert outcome == "wrong" and "crashed" in reason


def test_a_row_that_is_not_in_the_table_is_misuse(start):
    done = child_process.run(
        [sys.executable, "-m", "pytest", "--driver=softpip", "tests/test_judge.py"],
        cwd=settings.ROOT, timeout_s=100, check=False,
    )  # fmt: skip
    assert done.returncode == 4 and "did you mean softpipe" in done.stderr and "Traceback" not in done.stderr


def test_a_node_on_the_cpu_is_refused_and_no_wrong_number():
    from tests.delegate import Outcome

    outcome = Outcome([[]], {"nodes": [{"index": 0, "op": "SIN", "on": "cpu", "reason": "no room"}]})
    with pytest.raises(Refused, match="0 SIN: no room"):
        outcome.check([])
