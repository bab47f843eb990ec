"""What the drivers that run on this machine's CPU are told: PoCL for OpenCL, Mesa's llvmpipe for OpenGL ES.

All of these are the drivers' own settings. Quadra does not know them, and drivers of real GPUs do not look at them.
"""

import os
from functools import cache
from pathlib import Path
from typing import Protocol

from host_tools.base.settings import read

_VENDORS = Path("/etc/OpenCL/vendors")
_GPUS = ("dri/renderD*", "nvidia[0-9]*", "kfd", "mali[0-9]*", "dxg")  # in /dev, of any vendor
_DEVICES = Path("/dev")
# They compile a kernel as it is: a third of the time. For kernels that run once.
UNOPTIMISED = {"POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable", "GALLIVM_PERF": "nopt"}


class Device(Protocol):
    """A GPU as the delegate's report has it, as far as this asks."""

    @property
    def name(self) -> str: ...

    @property
    def vendor(self) -> str: ...


def settings(threads: int) -> dict[str, str]:
    """So many threads compute, as many as XNNPACK gets.

    With one, both drivers compute in the thread that launches a kernel: nothing is handed over, nothing wakes up.
    From two on llvmpipe starts so many threads. PoCL's `basic` devices still compute in the thread that launches: Quadra
    launches in as many threads as there are of them.
    """
    pocl = {"POCL_DEVICES": " ".join(["basic"] * threads)}
    return {**pocl, "LP_NUM_THREADS": str(threads if threads > 1 else 0), **_vector_width(), **only_pocl()}


def only_pocl() -> dict[str, str]:
    """Hides other OpenCL drivers of this machine where it has no GPU: an installed Rusticl, or Intel's, has more compute
    units than PoCL is told to have, and would become the device of every run. OCL_ICD_VENDORS in the environment goes before."""
    pocl = pocl_icd()
    if pocl is None or len(list(_VENDORS.glob("*.icd"))) == 1 or read().opencl_drivers or has_gpu():
        return {}
    return {"OCL_ICD_VENDORS": str(pocl)}


def pocl_icd() -> Path | None:
    """The file that names PoCL's library to OpenCL programs. None: PoCL is not installed."""
    return next(iter(sorted(_VENDORS.glob("pocl*.icd"))), None)


def has_gpu() -> bool:
    return any(True for name in _GPUS for _ in _DEVICES.glob(name))


def on_cpu(device: Device) -> bool:
    """Whether `device`, as the delegate's report has it, is such a driver: then its work is processor time."""
    return device.vendor == "cpu" or device.name.startswith(("llvmpipe", "softpipe")) or "SwiftShader" in device.name


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
    return {"LP_NATIVE_VECTOR_WIDTH": "512"} if has_avx512() else {}


@cache
def has_avx512() -> bool:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    flags = next((line.split(":", 1)[1].split() for line in lines if line.startswith("flags")), [])
    return {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(flags)
