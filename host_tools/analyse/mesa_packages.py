"""Mesa's compilers for phones' GPUs, from Debian's packages: fetched by apt, unpacked into the cache, not installed.

Debian 13's backports have the drivers and drm-shim, which pretends that the GPU is there: for Adreno in the packages
for amd64, for Mali only in those for arm64, which run under qemu's user mode.
"""

import shutil
import tempfile
from pathlib import Path

from host_tools.analyse import phone_compilers
from host_tools.analyse.phone_compilers import MESA, QEMU, SUITES, Architecture, Installed
from host_tools.base import child_process, file_lock, settings
from host_tools.base.errors import BuildFailed, FetchFailed, ToolMissing
from host_tools.base.progress import progress
from host_tools.drivers import debian_packages
from host_tools.drivers.debian_packages import Apt
from host_tools.drivers.driver import Show

_CLANG, _LLD = Path("/usr/lib/llvm-22/bin/clang"), Path("/usr/lib/llvm-22/bin/ld.lld")
_WHAT = "Mesa's compilers"
_DEADLINE_S = 1800.0


def install(vendors: list[str]) -> list[Installed]:
    """Fetches what is not there yet. vendors: rows of phone_compilers.ARCHITECTURES."""
    found = []
    for vendor in vendors:
        architecture = phone_compilers.ARCHITECTURES[vendor]
        place = phone_compilers.place_of(architecture)
        settings.make_folder(place.parent, "QUADRA_TOOLS_DIR")
        with (
            file_lock.held(place.parent / "lock"),
            progress(f"fetch Mesa's compiler for {vendor} ({architecture.megabytes} MB)") as show,
        ):
            if not (_CLANG.exists() and _LLD.exists()):
                advice = "apt-get install clang-22 lld-22"
                raise ToolMissing("build the program that asks the driver", f"there is no {_CLANG}", advice)
            if not (place / phone_compilers.VERSION).exists():
                _make(architecture, place, show)
            if not phone_compilers.program_of(place, architecture).exists():
                _build(architecture, place)
        here = phone_compilers.installed(vendor)
        found += [here] if here else []
    return found


def _make(architecture: Architecture, place: Path, show: Show) -> None:
    """The packages, unpacked beside their place, then renamed: they are whole or not there."""
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    try:
        with tempfile.TemporaryDirectory(prefix=".apt-", dir=place.parent) as name:
            version = _unpack(Apt(Path(name), _WHAT, SUITES, architecture.name), architecture, new / "root", show)
            if architecture.name == "arm64":
                _bring_qemu(Path(name), new, show)
        (new / phone_compilers.VERSION).write_text(f"{version}\n", encoding="utf-8")
        new.chmod(0o755)
        new.rename(place)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _unpack(apt: Apt, architecture: Architecture, root: Path, show: Show) -> str:
    """Mesa's version. Backports lose a version when the next comes: then that one is taken."""
    apt.update(show)
    version = apt.version(architecture.of_mesa[0], MESA)
    wanted = [f"{name}={version}" for name in architecture.of_mesa] + list(architecture.others)
    packages = apt.download(wanted, SUITES[-1], show)
    show("unpack")
    debian_packages.unpack(packages, root)
    return version


def _bring_qemu(scratch: Path, new: Path, show: Show) -> None:
    """qemu's user mode for arm64: this machine's, or out of its package, by this machine's own apt."""
    there = shutil.which(QEMU)
    if there:
        shutil.copy(there, new / QEMU)
        return
    folder, package = scratch / "qemu", "qemu-user-static"
    folder.mkdir()
    done = child_process.run(
        ["apt-get", "-q", "download", package], timeout_s=_DEADLINE_S, cwd=folder, check=False, on_line=show
    )
    packages = list(folder.glob("*.deb"))
    if done.returncode != 0 or not packages:
        raise FetchFailed(
            f"fetch {package}", done.stderr.strip() or "apt brought nothing", f"apt-get install {package}"
        )
    child_process.run(["dpkg-deb", "-x", packages[0], folder], timeout_s=300)
    shutil.move(folder / "usr/bin" / QEMU, new / QEMU)


def _build(architecture: Architecture, place: Path) -> None:
    root, program = place / "root", phone_compilers.program_of(place, architecture)
    compiler = root / "usr/lib/gcc" / architecture.triple / "14"
    new = program.with_suffix(".new")
    argv: list[object] = [_CLANG, f"--target={architecture.triple}", f"--sysroot={root}"]
    argv += [f"--gcc-install-dir={compiler}", f"--ld-path={_LLD}", "-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    done = child_process.run([*argv, "-o", new, architecture.program], timeout_s=120, check=False)
    if done.returncode != 0:
        said = done.stderr.strip()
        raise BuildFailed(
            f"compile {architecture.program.name}", f"clang failed\n{said}", "`./inv doctor` shows versions"
        )
    new.replace(program)
