"""Facts about this machine and its software, for environment.json."""

import os
import platform
import sys
import time
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, Dict

from host_tools import gpus, spec as specs
from host_tools.place import drivers

_PACKAGES = ("ai-edge-litert", "numpy", "pyopencl", "tflite", "flatbuffers", "pillow")


def facts(library: Path, threads: int) -> Dict[str, Any]:
    """What a reader of a run needs to judge or to repeat it."""
    return {
        "schema_version": 1,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **software(library),
        "driver_settings": drivers.settings(threads),
        **_devices(threads),
    }


def software(library: Path) -> Dict[str, Any]:
    """This machine without its GPUs, and the delegate's file."""
    return {
        "cpu": cpu_name(),
        "cpus": len(os.sched_getaffinity(0)),
        "load_average": [round(v, 2) for v in os.getloadavg()],
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": sys.version.split()[0],
        "packages": {name: _version(name) for name in _PACKAGES},
        "library": library_facts(library),
    }


def library_facts(library: Path) -> Dict[str, Any]:
    return {"path": str(library), "bytes": library.stat().st_size, "sha256": specs.sha256_of(library)}


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@lru_cache(maxsize=None)  # a bench asks once
def _devices(threads: int) -> Dict[str, gpus.Devices]:
    told = drivers.settings(threads)
    return {"opencl_devices": gpus.opencl(told), "gles_devices": gpus.gles(told)}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
