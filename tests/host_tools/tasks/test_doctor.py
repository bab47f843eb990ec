"""The doctor finds what is missing and names the command that mends it, wherever it runs."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from host_tools.base import settings
from host_tools.drivers import gpus
from host_tools.tasks import doctor
from host_tools.tasks.doctor import Check

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


def test_a_python_3_9_can_read_it_and_all_that_it_imports():
    script = "import sys, host_tools.tasks.doctor as d; print(*(m.__file__ for n, m in sys.modules.items() if 'host_tools' in n))"
    done = subprocess.run([sys.executable, "-c", script], cwd=settings.ROOT, capture_output=True, text=True, check=True)
    for path in map(Path, done.stdout.split()):
        tree = ast.parse(path.read_text(), path, feature_version=(3, 9))
        parts = [getattr(node, key, None) for node in ast.walk(tree) for key in ("annotation", "returns")]
        new = any(isinstance(node, ast.BinOp) for part in parts if part for node in ast.walk(part))
        assert not new or "from __future__ import annotations" in path.read_text(), f"{path}: X | Y is for Python 3.10"


def test_a_folder_that_cannot_be_written_is_told(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "set QUADRA_RUNS_DIR to a folder you may write" in doctor.advice(doctor.check_all())


def test_a_models_folder_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setenv("QUADRA_MODELS_DIR", "/no/such/folder")
    assert "set QUADRA_MODELS_DIR right, or unset it" in doctor.advice(doctor.check_all())


def test_a_java_home_that_is_no_jdk_or_too_new_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert any(
        line.startswith("set JAVA_HOME to a JDK of version 17 to 21") for line in doctor.advice(doctor.check_all())
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "javac").symlink_to(sys.executable)
    for version, ok in (("17.0.15", True), ("25.0.1", False)):
        (tmp_path / "release").write_text(f'JAVA_VERSION="{version}"\n')
        check = next(c for c in doctor.check_all() if c.need == "the JDK of JAVA_HOME")
        assert check.ok is ok and f"version {version[:2]}" in check.found


def test_the_devices_of_both_apis_are_really_asked():
    found = {c.need: c for c in doctor.check_all()}
    for need, name in (("an OpenCL device", "OpenCL"), ("an OpenGL ES 3.1 device", "OpenGL ES 3.")):
        assert found[need].ok and name in found[need].found, found[need]


@pytest.mark.parametrize(
    ("variable", "need", "package"),
    [
        ("OCL_ICD_VENDORS", "an OpenCL device", "PoCL"),
        ("__EGL_VENDOR_LIBRARY_DIRS", "an OpenGL ES 3.1 device", "libegl-mesa0"),
    ],
)
def test_an_api_without_a_driver_is_told(monkeypatch, variable, need, package):
    monkeypatch.setenv(variable, "/no/such/folder")
    checks = {c.need: c for c in doctor.check_all()}
    assert not checks[need].ok and package in checks[need].do_next
    assert sum(not c.ok for c in checks.values()) == 1, "the other API is not to blame"


def test_a_driver_too_old_for_compute_is_no_device(monkeypatch):
    monkeypatch.setattr(gpus, "gles", lambda: [{"error": "eglCreateContext(OpenGL ES 3.1) failed"}])
    check = next(c for c in doctor.check_all() if c.need == "an OpenGL ES 3.1 device")
    assert not check.ok and "eglCreateContext" in check.found


def test_compilers_of_phones_gpus_are_named_and_not_required(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path))
    check = doctor._phone_compilers()
    assert check.ok and "Adreno: not fetched (./inv analyse --install does it)" in check.found
