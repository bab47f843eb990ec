"""The compilers of phones' GPUs in the cache: where they are, how they are started. Runs on a bare Python 3.9, too."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from host_tools.base import settings
from host_tools.base.errors import ToolMissing

_PROGRAM = Path(__file__).with_name("ask_driver.c")
_OPENCL_PROGRAM_IN_C = Path(__file__).with_name("ask_opencl_driver.c")
OPENCL_PROGRAM = Path(__file__).with_name("ask_opencl_driver.py")
_VULKAN_PROGRAM = Path(__file__).with_name("ask_vulkan_driver.c")
MESA = "26.1.6-1~bpo13+1"  # the version that figures are made with: those of two versions are not comparable
SUITES = ("trixie", "trixie-backports")
PACKAGES_OF_MESA = ("mesa-drm-shim", "libegl-mesa0", "mesa-libgallium", "libgbm1")
OTHER_PACKAGES = ("libegl1", "libgles2", "libc6", "libc6-dev", "libgcc-14-dev")
INSTALL = "./inv analyse --install"
OPENCL_DRIVER = "rusticl-26"  # of the table of drivers: the same Mesa
QEMU = "qemu-aarch64-static"
VERSION = "mesa_version"


@dataclass(frozen=True)
class Architecture:
    """Of packages: which vendor's compiler is in them."""

    name: str  # Debian's
    triple: str
    loader: str
    shim: str
    megabytes: int  # of downloads
    of_mesa: tuple[str, ...] = PACKAGES_OF_MESA
    others: tuple[str, ...] = OTHER_PACKAGES
    program: Path = _PROGRAM
    api: str = "gles"
    driver: str = "libEGL.so.1"  # what the program opens, of the packages' libraries


_ADRENO = Architecture("amd64", "x86_64-linux-gnu", "ld-linux-x86-64.so.2", "libfreedreno_noop_drm_shim.so", 65)
_MALI = Architecture("arm64", "aarch64-linux-gnu", "ld-linux-aarch64.so.1", "libpanfrost_noop_drm_shim.so", 75)
MALI_OPENCL = "mali-opencl"  # Adreno's for OpenCL is OPENCL_DRIVER


def _for_vulkan(architecture: Architecture, megabytes: int, driver: str) -> Architecture:
    return replace(
        architecture,
        megabytes=megabytes,
        of_mesa=("mesa-drm-shim", "mesa-vulkan-drivers"),
        others=("libvulkan-dev", "libc6", "libc6-dev", "libgcc-14-dev"),
        program=_VULKAN_PROGRAM,
        api="vulkan",
        driver=driver,
    )


ARCHITECTURES = {
    "adreno": _ADRENO,
    "mali": _MALI,
    MALI_OPENCL: replace(
        _MALI,
        megabytes=135,
        of_mesa=(*PACKAGES_OF_MESA, "mesa-opencl-icd"),
        others=(*OTHER_PACKAGES, "ocl-icd-libopencl1"),
        program=_OPENCL_PROGRAM_IN_C,
        api="opencl",
        driver="libOpenCL.so.1",
    ),
    "adreno-vulkan": _for_vulkan(_ADRENO, 75, "libvulkan_freedreno.so"),
    "mali-vulkan": _for_vulkan(_MALI, 85, "libvulkan_panfrost.so"),
}


# Mali's driver of Vulkan does not start without it for GPUs on which it is not finished: only its compiler is asked.
_UNFINISHED = {"PAN_I_WANT_A_BROKEN_VULKAN_DRIVER": "1"}


class Tool(Protocol):
    """A compiler that can be asked."""

    @property
    def version(self) -> str:
        """Of Mesa's packages."""
        ...

    @property
    def more(self) -> tuple[str, ...]:
        """What else decides what it says."""
        ...

    def command(self, files: list[Path]) -> list[object]: ...

    def environment(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class Installed:
    """One vendor's compiler in the cache, for one API."""

    folder: Path
    architecture: Architecture
    version: str  # of Mesa's packages
    more: tuple[str, ...] = ()

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def libraries(self) -> Path:
        """The folder of the driver's and of all that it needs, glibc and its loader included."""
        return self.root / "usr/lib" / self.architecture.triple

    def command(self, files: list[Path]) -> list[object]:
        """Has the driver compile these files. Its own loader and C library go before this machine's."""
        libraries, loader = self.libraries, self.libraries / self.architecture.loader
        is_opencl = self.architecture.api == "opencl"
        # The emulator finds files of absolute paths, as OpenCL's own functions are, in the packages first.
        emulator = [self.folder / QEMU, *(["-L", self.root] if is_opencl else [])]
        folders = [libraries, *(sorted(self.root.glob("usr/lib/llvm-*/lib")) if is_opencl else [])]
        shim = libraries / self.architecture.shim
        start: list[object] = [*(emulator if self.architecture.name == "arm64" else []), loader, "--library-path"]
        start += [":".join(map(str, folders)), "--preload", shim, program_of(self.folder, self.architecture)]
        return [*start, self.architecture.driver, *files]

    def environment(self) -> dict[str, str]:
        """For any GPU of the vendor."""
        vendor = self.root / "usr/share/glvnd/egl_vendor.d/50_mesa.json"
        opencl = {"OCL_ICD_VENDORS": str(self.root / "etc/OpenCL/vendors"), "RUSTICL_ENABLE": "panfrost"}
        return {
            "__EGL_VENDOR_LIBRARY_FILENAMES": str(vendor),
            "EGL_PLATFORM": "surfaceless",
            "GALLIUM_THREAD": "0",  # with a thread of its own the driver's messages get lost
            "MESA_SHADER_CACHE_DISABLE": "true",  # what comes from Mesa's own cache is not told
            "LD_PRELOAD": "",
            **(opencl if self.architecture.api == "opencl" else {}),
            **(_UNFINISHED if self.architecture.api == "vulkan" else {}),
        }


@dataclass(frozen=True)
class InstalledOpenCl:
    """Adreno's for OpenCL: Rusticl of the same Mesa (a row of the table of drivers), before the device that drm-shim pretends."""

    shim: Path
    version: str
    prefix: tuple[str | Path, ...]  # runs a command where Rusticl is
    env: dict[str, str]
    more: tuple[str, ...] = ("opencl",)

    def command(self, files: list[Path]) -> list[object]:
        # The shim needs the C library that is there only behind the prefix.
        return [*self.prefix, "env", f"LD_PRELOAD={self.shim}", sys.executable, OPENCL_PROGRAM, *files]

    def environment(self) -> dict[str, str]:
        return {
            **self.env,
            "RUSTICL_ENABLE": "freedreno",
            "GALLIUM_THREAD": "0",
            "MESA_SHADER_CACHE_DISABLE": "true",
            "PYOPENCL_NO_CACHE": "1",
        }


def installed(vendor: str) -> Installed | None:
    """The compiler of this row of ARCHITECTURES, where it is in the cache."""
    architecture = ARCHITECTURES[vendor]
    folder = place_of(architecture)
    try:
        version = (folder / VERSION).read_text(encoding="utf-8").strip()
    except OSError:
        return None
    more = () if architecture.api == "gles" else (architecture.api,)
    there = program_of(folder, architecture).exists()
    return Installed(folder, architecture, version, more) if there else None


def vulkan_headers() -> Path:
    """The folder of Vulkan's headers. ToolMissing: no compiler for Vulkan is there, whose packages have them."""
    for vendor in ("adreno", "mali"):
        found = installed(row_of(vendor, "vulkan"))
        if found:
            return found.root / "usr/include"
    raise ToolMissing("build a pretended Vulkan driver", "there are no headers of Vulkan", install_of("vulkan"))


def install_of(api: str) -> str:
    """What brings the compilers."""
    more = {"opencl": " --backend opencl", "vulkan": " --peer ml-drift"}
    return INSTALL + more.get(api, "")


def row_of(vendor: str, api: str) -> str:
    """Of ARCHITECTURES."""
    if api == "vulkan":
        return f"{vendor}-vulkan"
    return MALI_OPENCL if api == "opencl" and vendor == "mali" else vendor


def require(vendor: str, api: str = "gles") -> Tool:
    """The vendor's for the API. ToolMissing: it is not there."""
    found = installed(row_of(vendor, api))
    if found is None:
        about = {"opencl": " about OpenCL", "vulkan": " about Vulkan"}.get(api, "")
        tried = f"ask the compiler for {vendor.capitalize()} GPUs{about}"
        raise ToolMissing(tried, "it is not in the cache", install_of(api))
    if not (api == "opencl" and vendor == "adreno"):
        return found
    if not importlib.util.find_spec("pyopencl"):
        tried = f"ask the compiler for {vendor.capitalize()} GPUs about OpenCL"
        raise ToolMissing(tried, "the Python package pyopencl is not installed", "pip install 'quadra-tools[analyse]'")
    return _with_opencl(found)


def _with_opencl(found: Installed) -> InstalledOpenCl:
    from host_tools.drivers import driver_table

    entry = driver_table.find(OPENCL_DRIVER).enter()
    return InstalledOpenCl(found.libraries / found.architecture.shim, found.version, entry.prefix, dict(entry.env))


def place_of(architecture: Architecture) -> Path:
    """Another list of packages is another folder."""
    words = [MESA, *SUITES, *architecture.of_mesa, *architecture.others, architecture.name]
    key = hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
    return settings.read().tools_dir / "phone_compilers" / f"{architecture.name}-{key}"


def program_of(folder: Path, architecture: Architecture) -> Path:
    """Another source is another program beside the packages."""
    source = architecture.program
    return folder / f"{source.stem}-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"
