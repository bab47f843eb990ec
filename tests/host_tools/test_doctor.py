"""The doctor finds what is missing and names the command that mends it, wherever it runs."""

import os
import subprocess
import sys

from host_tools import doctor, settings
from host_tools.doctor import Check

INV = settings.ROOT / "inv"


def run_inv(*words, cwd=None, **env):
    """`./inv` with nothing but env in its environment."""
    return subprocess.run([INV, *words], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


def test_all_packages_are_in_one_install_line():
    checks = [Check("a", "", False, package="pkg-b"), Check("b", "", False, package="pkg-a"), Check("c", "", True)]
    first, *others = doctor.advice(checks)
    assert first.endswith("apt-get install pkg-a pkg-b") and not others


def test_nothing_missing_means_no_advice():
    assert doctor.advice([Check("a", "here", True, package="p", do_next="n")]) == []


def test_every_line_of_the_package_list_has_three_parts():
    assert all(len(row) == 3 for row in doctor.package_table())


def test_an_empty_path_names_the_commands_that_are_not_found(tmp_path):
    done = run_inv("doctor", PATH=str(tmp_path), HOME=str(tmp_path))
    assert done.returncode == 73
    line = next(line for line in done.stdout.splitlines() if "apt-get install" in line)
    assert {"bazel-bootstrap", "flatbuffers-compiler", "g++", "glslang-tools"} <= set(line.split())
    assert "Traceback" not in done.stderr


def test_a_python_that_is_too_old_is_told(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    check = next(c for c in doctor.check_all() if c.need.startswith("Python 3.11"))
    assert not check.ok and check.package == "python3"


def test_a_folder_that_cannot_be_written_is_told(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "set QUADRA_RUNS_DIR to a folder you may write" in doctor.advice(doctor.check_all())


def test_a_models_folder_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setenv("QUADRA_MODELS_DIR", "/no/such/folder")
    assert "set QUADRA_MODELS_DIR right, or unset it" in doctor.advice(doctor.check_all())
