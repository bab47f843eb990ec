"""Rusticl, Mesa's OpenCL, on llvmpipe: of two versions, from Debian's packages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from host_tools.drivers.debian_layers import Layers
from host_tools.drivers.driver import Driver, Entry

_PACKAGE = "mesa-opencl-icd"
_ICD = Path(__file__).with_name("rusticl.icd")  # names Mesa's library in /usr
_OF_DEBIAN_12 = Layers("rusticl", ("bookworm",), _PACKAGE, "22.3.6-1+deb12u2", over=(_PACKAGE, "libclc-15"))
_OF_MESA_26 = Layers("rusticl-26", ("trixie", "trixie-backports"), _PACKAGE, "26.1.6-1~bpo13+1")


def _entering(layers: Layers) -> Callable[[], Entry]:
    env = {"OCL_ICD_VENDORS": str(_ICD), "RUSTICL_ENABLE": "llvmpipe"}
    return lambda: Entry(env=env, prefix=layers.prefix())


DRIVERS = (
    Driver(
        name="rusticl",
        backend="opencl",
        stands_for="a second OpenCL compiler and runtime; half images truncate",
        source=f"Debian 12's {_PACKAGE} {_OF_DEBIAN_12.version}",
        enter=_entering(_OF_DEBIAN_12),
        fetch=_OF_DEBIAN_12.fetch,
        megabytes=88,
        lacks="cl_khr_fp16",
    ),
    Driver(
        name="rusticl-26",
        backend="opencl",
        stands_for="what phones have: half arithmetic, images over buffers, dot products, sub-groups",
        source=f"Debian 13's {_PACKAGE} {_OF_MESA_26.version} with Debian 13's C library",
        enter=_entering(_OF_MESA_26),
        fetch=_OF_MESA_26.fetch,
        megabytes=74,
    ),
)
