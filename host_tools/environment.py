"""Facts about this machine and its software, for environment.json. Asked for last: it loads OpenCL by itself."""

import os
import platform
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any, Dict, List

from host_tools import spec as specs

_PACKAGES = ("ai-edge-litert", "numpy", "pyopencl", "tflite", "flatbuffers", "pillow")


def facts(library: Path, spec: specs.RunSpec) -> Dict[str, Any]:
    """What a reader of the run needs to judge or to repeat it."""
    return {
        "schema_version": 1,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cpu": cpu_name(),
        "cpus": len(os.sched_getaffinity(0)),
        "load_average": [round(v, 2) for v in os.getloadavg()],
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": sys.version.split()[0],
        "packages": {name: _version(name) for name in _PACKAGES},
        "library": library_facts(library),
        "opencl_devices": opencl_devices(),
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


def opencl_devices() -> List[Dict[str, Any]]:
    """Devices that pyopencl sees; one entry with `error` where there are none."""
    try:
        import pyopencl

        found = []
        for platform_ in pyopencl.get_platforms():
            for device in platform_.get_devices():
                found.append(
                    {
                        "platform": f"{platform_.name} {platform_.version}",
                        "name": device.name,
                        "vendor": device.vendor,
                        "version": device.version,
                        "driver": device.driver_version,
                        "compute_units": device.max_compute_units,
                        "global_memory_bytes": device.global_mem_size,
                        "local_memory_bytes": device.local_mem_size,
                        "max_work_group_size": device.max_work_group_size,
                        "extensions": device.extensions.split(),
                    }
                )
        return found
    except Exception as error:  # a broken driver must not cost the run: its results are already there
        return [{"error": f"{type(error).__name__}: {error}"}]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
