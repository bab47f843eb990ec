"""The table of drivers: one row each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from host_tools.base import cpu_drivers
from host_tools.base.errors import ToolMissing
from host_tools.build import artifacts
from host_tools.drivers import angle, gpu, oclgrind, rows, rusticl
from host_tools.drivers.driver import Driver, Entry


def _pocl() -> Entry:
    icd = cpu_drivers.pocl_icd()
    if icd is None:
        raise ToolMissing("use the driver pocl", "it is not installed", "apt-get install pocl-opencl-icd")
    return Entry(env={"OCL_ICD_VENDORS": str(icd)})


def _mesa(name: str) -> Entry:
    if not list(Path("/usr/lib").glob("*/dri/swrast_dri.so")):
        raise ToolMissing(f"use the driver {name}", "Mesa is not installed", "apt-get install libgl1-mesa-dri libegl1")
    return Entry(env={"GALLIUM_DRIVER": name, "LIBGL_ALWAYS_SOFTWARE": "true"})


_USUAL = (
    Driver(
        name="pocl",
        backend="opencl",
        stands_for="OpenCL by clang, on this machine's CPU: what all other tests use",
        source="Debian's pocl-opencl-icd",
        enter=_pocl,
    ),
    Driver(
        name="llvmpipe",
        backend="gles",
        stands_for="OpenGL ES by Mesa, on this machine's CPU: what all other tests use",
        source="Debian's libgl1-mesa-dri",
        enter=lambda: _mesa("llvmpipe"),
    ),
    Driver(
        name="softpipe",
        backend="gles",
        stands_for="an OpenGL ES driver without llvmpipe's quirks",
        source="Debian's libgl1-mesa-dri",
        enter=lambda: _mesa("softpipe"),
        too_slow_for="all but the first vectors of each op, and small graphs",
        sample_only=True,
    ),
    angle.DRIVER,
    *rusticl.DRIVERS,
    oclgrind.DRIVER,
    *gpu.DRIVERS,
)


def _phone(driver: Driver) -> Driver:
    """The same driver with the library that phones get."""
    about = "the library that phones get, without the kernels for CPUs: what runs on phones alone, executed"
    return replace(driver, name=f"phone-{driver.name}", stands_for=about, library=artifacts.phone_library)


DRIVERS = (*_USUAL, *(_phone(driver) for driver in _USUAL if driver.name in ("pocl", "llvmpipe", "angle")))


def find(name: str) -> Driver:
    """The row of this name. Misuse: there is none."""
    return rows.find("driver", DRIVERS, name)
