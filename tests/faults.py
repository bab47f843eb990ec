"""Drivers that misbehave: the system's EGL and OpenCL libraries with faults, compiled here."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from host_tools.base import child_process, file_lock, settings
from host_tools.drivers import gpus

_EGL = [settings.ROOT / "tests" / "egl" / name for name in ("faults.c", "strict.c")]
_DRIVER_FAULTS = settings.ROOT / "tests" / "driver_faults.cc"
NOWHERE = "/nowhere/libOpenCL.so"


def _compiled(path: Path, argv: list[str], sources: list[Path], *libraries: str) -> Path:
    """A copy at `path` of what is compiled once for its content, whichever of the tests' processes asks first."""
    digest = hashlib.sha256(repr(argv).encode())
    native = settings.ROOT / "delegate_native"
    for file in [*sources, *sorted(native.rglob("*.h")), *sorted(native.rglob("*.def"))]:
        digest.update(file.read_bytes())
    built = settings.ROOT / ".cache" / "tests" / f"{digest.hexdigest()[:16]}.so"
    built.parent.mkdir(parents=True, exist_ok=True)
    with file_lock.held(built.with_name("lock")):
        if not built.exists():
            new = built.with_suffix(".new")
            child_process.run([*argv, "-shared", "-fPIC", "-o", new, *sources, *libraries, "-ldl"], timeout_s=120)
            new.replace(built)
    shutil.copyfile(built, path)  # no link: a process that loads two has two
    return path


def compile_egl_faults(path: Path) -> Path:
    """The EGL library of tests/egl."""
    return _compiled(path, ["cc", "-O1"], _EGL)


def compile_driver_faults(path: Path) -> Path:
    """The OpenCL and EGL library of tests/driver_faults.cc."""
    warnings = ["-Wall", "-Wextra", "-Werror", "-DCL_TARGET_OPENCL_VERSION=300"]
    return _compiled(path, ["c++", "-std=c++17", "-O1", *warnings, f"-I{settings.ROOT}"], [_DRIVER_FAULTS])


def compile_refuse_threads(path: Path) -> Path:
    """The library of tests/refuse_threads.c, to be preloaded."""
    return compile_preload("refuse_threads.c", path)


def compile_preload(name: str, path: Path) -> Path:
    """The library of a C file of tests/, to be preloaded."""
    source = settings.ROOT / "tests" / name
    return _compiled(path, ["cc", "-O1", "-Wall", "-Wextra", "-Werror"], [source])


def compile_opencl_imports(folder: Path) -> Path:
    """The OpenCL library of tests/opencl_imports.c, with what stands for Android's libnativewindow.so beside it."""
    _compiled(folder / "libnativewindow.so", ["cc", "-O1"], [settings.ROOT / "tests" / "nativewindow.c"])
    warnings = ["-Wall", "-Wextra", "-Werror"]
    return _compiled(folder / "libOpenCL.so", ["cc", "-O1", *warnings], [settings.ROOT / "tests" / "opencl_imports.c"])


def compile_egl_fences(path: Path) -> Path:
    """The EGL library of tests/egl/fences.c."""
    source = settings.ROOT / "tests" / "egl" / "fences.c"
    return _compiled(
        path, ["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-Wl,--no-as-needed"], [source], "-l:libEGL.so.1"
    )


def compile_litert_android(folder: Path) -> Path:
    """The accelerator of tests/litert_android.cc, in a folder of its own."""
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{settings.ROOT}"]
    source = settings.ROOT / "tests" / "litert_android.cc"
    return _compiled(folder / "libLiteRtGpuAccelerator.so", ["c++", *flags], [source])


def compile_empty(path: Path) -> Path:
    """A library that has nothing."""
    path.with_suffix(".c").write_text("")
    return _compiled(path, ["cc"], [path.with_suffix(".c")])


def without_function(library: Path, function: str, path: Path) -> Path:
    """A copy of a library that does not export the function: the name of its symbol is another one."""
    name = function.encode() + b"\0"
    path.write_bytes(library.read_bytes().replace(name, name.swapcase(), 1))  # symbols' names come first
    return path


@pytest.fixture(scope="session")
def egl(tmp_path_factory) -> Path:
    """An EGL library that has the faults that EGL_FAULTS names; skips where there is no OpenGL ES to begin with."""
    error = gpus.gles()[0].get("error")
    if error:
        pytest.skip(f"there is no OpenGL ES 3.1 here: {error}")
    return compile_egl_faults(tmp_path_factory.mktemp("egl") / "libEGL_faults.so")


@pytest.fixture(scope="session")
def old_egl(egl) -> Path:
    """An EGL library without eglReleaseThread."""
    return without_function(egl, "eglReleaseThread", egl.with_name("libEGL_old.so"))


@pytest.fixture(scope="session")
def opencl(tmp_path_factory) -> Path:
    """An OpenCL library that has the faults that DRIVER_FAULTS names; skips where there is no OpenCL to begin with."""
    error = gpus.opencl()[0].get("error")
    if error:
        pytest.skip(f"there is no OpenCL here: {error}")
    return compile_driver_faults(tmp_path_factory.mktemp("opencl") / "libOpenCL_faults.so")
