"""The GPU of this machine, where it has one: the drivers that are installed for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from host_tools.base import cpu_drivers
from host_tools.base.errors import ToolMissing
from host_tools.drivers import gpus
from host_tools.drivers.driver import Driver, Entry

_APIS = {"opencl": "OpenCL", "gles": "OpenGL ES"}


@dataclass(frozen=True)
class _Named:
    name: str
    vendor: str


def _entering(backend: str) -> Callable[[], Entry]:
    def enter() -> Entry:
        found = gpus.opencl() if backend == "opencl" else gpus.gles()
        if any(map(_is_gpu, found)):
            return Entry()
        names = ", ".join(str(device.get("name") or device.get("error")) for device in found) or "nothing"
        raise ToolMissing(
            f"use this machine's GPU with {_APIS[backend]}",
            f"none of its devices is a GPU: {names}",
            "run it on a machine that has one, with the GPU's driver installed (`./inv doctor` lists the devices)",
        )

    return enter


def _is_gpu(device: Mapping[str, Any]) -> bool:
    """OpenCL says so; in OpenGL ES it is what is not known to compute on the CPU."""
    if "error" in device or "type" in device:
        return device.get("type") == "gpu"
    return not cpu_drivers.on_cpu(_Named(device["name"], device["vendor"]))


def _driver(backend: str) -> Driver:
    return Driver(
        name=f"gpu-{backend}",
        backend=backend,
        stands_for=f"{_APIS[backend]} on a real GPU",
        source="the driver of this machine's GPU",
        enter=_entering(backend),
    )


DRIVERS = tuple(map(_driver, _APIS))
