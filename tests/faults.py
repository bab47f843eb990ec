"""Drivers that misbehave: the system's EGL and OpenCL libraries with faults, compiled here."""

from __future__ import annotations

from pathlib import Path

import pytest

from host_tools import gpus, settings, shell

_EGL = [settings.ROOT / "tests" / "egl" / name for name in ("faults.c", "strict.c")]
_OPENCL = [settings.ROOT / "tests" / "opencl_faults.c"]
NOWHERE = "/nowhere/libOpenCL.so"


def _compiled(path: Path, sources: list[Path], *flags: str) -> Path:
    shell.run(["cc", "-O1", "-shared", "-fPIC", *flags, "-o", path, *sources, "-ldl"], timeout_s=60)
    return path


@pytest.fixture(scope="session")
def egl(tmp_path_factory) -> Path:
    """An EGL library that has the faults that EGL_FAULTS names; skips where there is no OpenGL ES to begin with."""
    error = gpus.gles()[0].get("error")
    if error:
        pytest.skip(f"there is no OpenGL ES 3.1 here: {error}")
    return _compiled(tmp_path_factory.mktemp("egl") / "libEGL_faults.so", _EGL)


@pytest.fixture(scope="session")
def old_egl(egl) -> Path:
    """An EGL library without eglReleaseThread."""
    return _compiled(egl.with_name("libEGL_old.so"), _EGL, "-DLACKS_RELEASE_THREAD")


@pytest.fixture(scope="session")
def opencl(tmp_path_factory) -> Path:
    """An OpenCL library that has the faults that OPENCL_FAULTS names; skips where there is no OpenCL to begin with."""
    error = gpus.opencl()[0].get("error")
    if error:
        pytest.skip(f"there is no OpenCL here: {error}")
    return _compiled(tmp_path_factory.mktemp("opencl") / "libOpenCL_faults.so", _OPENCL)
