"""What the drivers that run on this machine's CPU are told: PoCL for OpenCL, Mesa's llvmpipe for OpenGL ES.

All of these are the drivers' own settings. Quadra does not know them, and drivers of real GPUs do not look at them.
"""

import os
from functools import cache
from pathlib import Path
from typing import Protocol

# They compile a kernel as it is: a third of the time. For kernels that run once.
UNOPTIMISED = {"POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable", "GALLIVM_PERF": "nopt"}


class Device(Protocol):
    """A GPU as the delegate's report has it, as far as this asks."""

    name: str
    vendor: str


def settings(threads: int) -> dict[str, str]:
    """So many threads compute, as many as XNNPACK gets.

    With one, both drivers compute in the thread that launches a kernel: nothing is handed over, nothing wakes up.
    From two on llvmpipe starts so many threads. PoCL's `basic` devices still compute in the thread that launches: Quadra
    launches in as many threads as there are of them.
    """
    pocl = {"POCL_DEVICES": " ".join(["basic"] * threads)}
    return {**pocl, "LP_NUM_THREADS": str(threads if threads > 1 else 0), **_vector_width()}


def on_cpu(device: Device) -> bool:
    """Whether `device`, as the delegate's report has it, is such a driver: then its work is processor time."""
    return device.vendor == "cpu" or device.name.startswith("llvmpipe")


def caches(folder: Path) -> dict[str, str]:
    """Where the drivers keep what they compiled.

    Mesa's cache does not know how wide the vectors were that a program was compiled for: each width has its own.
    """
    return {"POCL_CACHE_DIR": str(folder), "MESA_SHADER_CACHE_DIR": str(_of_mesa(folder))}


def compiled(folder: Path) -> int:
    """How many things drivers compiled and kept there: kernels of PoCL, entries of Mesa's cache."""
    mesa = str(_of_mesa(folder))
    count = 0
    for where, _, names in os.walk(folder):  # the folder has tens of thousands of entries: rglob takes a second of them
        if where.startswith(mesa):
            count += sum(name != "index" for name in names)
        else:
            count += sum(name.endswith(".so") for name in names)
    return count


def _of_mesa(folder: Path) -> Path:
    return folder / "-".join(["mesa", *_vector_width().values()])


def _vector_width() -> dict[str, str]:
    """llvmpipe uses 256 bits unless it is told that there are more."""
    return {"LP_NATIVE_VECTOR_WIDTH": "512"} if _has_avx512() else {}


@cache
def _has_avx512() -> bool:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    flags = next((line.split(":", 1)[1].split() for line in lines if line.startswith("flags")), [])
    return {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(flags)
