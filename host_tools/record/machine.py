"""This machine and its software, for environment.json."""

import platform
import sys
from importlib import metadata, util
from pathlib import Path
from typing import Any

from host_tools.base import digests, portable

_PACKAGES = ("ai-edge-litert", "numpy", "pyopencl", "tflite", "flatbuffers", "pillow")


def litert_accelerator() -> dict[str, Any]:
    """LiteRT's own GPU accelerator: path and bytes; empty where the wheel has none."""
    found = util.find_spec("ai_edge_litert")
    path = Path(found.origin).with_name("libLiteRtWebGpuAccelerator.so") if found and found.origin else Path()
    return {"path": str(path), "bytes": path.stat().st_size} if path.is_file() else {}


def software(library: Path) -> dict[str, Any]:
    """This machine without its GPUs, and the delegate's file."""
    return {
        "cpu": cpu_name(),
        "cpus": portable.cpus(),
        "load_average": portable.load(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": sys.version.split()[0],
        "packages": {name: _version(name) for name in _PACKAGES},
        "library": library_facts(library),
    }


def library_facts(library: Path) -> dict[str, Any]:
    return {"path": str(library), "bytes": library.stat().st_size, "sha256": digests.sha256_of(library)}


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
