"""Mesa's compilers for phones' GPUs, from Debian's packages: fetched by apt, unpacked into the cache, not installed.

Debian 13's backports have the drivers and drm-shim, which pretends that the GPU is there: for Adreno in the packages
for amd64, for Mali only in those for arm64, which run under qemu's user mode. apt checks every signature and checksum.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import child_process, file_lock, settings
from host_tools.base.errors import BuildFailed, CommandFailed, FetchFailed, ToolMissing
from host_tools.base.progress import progress

PROGRAM = Path(__file__).with_name("ask_driver.c")
MESA = "26.1.6-1~bpo13+1"  # the version that figures are made with: those of two versions are not comparable
INSTALL = "./inv analyse --install"
_SUITES = ("trixie", "trixie-backports")
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_OF_MESA = ("mesa-drm-shim", "libegl-mesa0", "mesa-libgallium", "libgbm1")
_OTHERS = ("libegl1", "libgles2", "libc6", "libc6-dev", "libgcc-14-dev")
_CLANG, _LLD = Path("/usr/lib/llvm-22/bin/clang"), Path("/usr/lib/llvm-22/bin/ld.lld")
_QEMU = "qemu-aarch64-static"
_VERSION = "mesa_version"
_UNNEEDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/lintian", "usr/share/bug")
_DEADLINE_S = 1800.0

Show = Callable[[str], None]


@dataclass(frozen=True)
class Architecture:
    """Of packages: which vendor's compiler is in them."""

    name: str  # Debian's
    triple: str
    loader: str
    shim: str
    megabytes: int  # of downloads


ARCHITECTURES = {
    "adreno": Architecture("amd64", "x86_64-linux-gnu", "ld-linux-x86-64.so.2", "libfreedreno_noop_drm_shim.so", 65),
    "mali": Architecture("arm64", "aarch64-linux-gnu", "ld-linux-aarch64.so.1", "libpanfrost_noop_drm_shim.so", 75),
}


@dataclass(frozen=True)
class Installed:
    """One vendor's compiler in the cache."""

    folder: Path
    architecture: Architecture
    version: str  # of Mesa's packages

    @property
    def _libraries(self) -> Path:
        return self.folder / "root/usr/lib" / self.architecture.triple

    def command(self, files: list[Path]) -> list[object]:
        """Has the driver compile these files. Its own loader and C library go before this machine's."""
        libraries, loader = self._libraries, self._libraries / self.architecture.loader
        emulator = [self.folder / _QEMU] if self.architecture.name == "arm64" else []
        shim = libraries / self.architecture.shim
        start = [*emulator, loader, "--library-path", libraries, "--preload", shim]
        return [*start, _program(self.folder), "libEGL.so.1", *files]

    def environment(self) -> dict[str, str]:
        """For any GPU of the vendor."""
        vendor = self.folder / "root/usr/share/glvnd/egl_vendor.d/50_mesa.json"
        return {
            "__EGL_VENDOR_LIBRARY_FILENAMES": str(vendor),
            "EGL_PLATFORM": "surfaceless",
            "GALLIUM_THREAD": "0",  # with a thread of its own the driver's messages get lost
            "MESA_SHADER_CACHE_DISABLE": "true",  # what comes from Mesa's own cache is not told
            "LD_PRELOAD": "",
        }


def installed(vendor: str) -> Installed | None:
    """The vendor's compiler, where it is in the cache."""
    architecture = ARCHITECTURES[vendor]
    folder = _place(architecture)
    try:
        version = (folder / _VERSION).read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return Installed(folder, architecture, version) if _program(folder).exists() else None


def require(vendor: str) -> Installed:
    """The same. ToolMissing: it is not there."""
    found = installed(vendor)
    if found is None:
        raise ToolMissing(f"ask the compiler for {vendor.capitalize()} GPUs", "it is not in the cache", INSTALL)
    return found


def install(vendors: list[str]) -> list[Installed]:
    """Fetches what is not there yet."""
    found = []
    for vendor in vendors:
        architecture = ARCHITECTURES[vendor]
        place = _place(architecture)
        settings.make_folder(place.parent, "QUADRA_TOOLS_DIR")
        with (
            file_lock.held(place.parent / "lock"),
            progress(f"fetch Mesa's compiler for {vendor.capitalize()} ({architecture.megabytes} MB)") as show,
        ):
            if not (_CLANG.exists() and _LLD.exists()):
                advice = "apt-get install clang-22 lld-22"
                raise ToolMissing("build the program that asks the driver", f"there is no {_CLANG}", advice)
            if not (place / _VERSION).exists():
                _make(architecture, place, show)
            if not _program(place).exists():
                _build(architecture, place)
        found.append(require(vendor))
    return found


def _place(architecture: Architecture) -> Path:
    """Another list of packages is another folder."""
    words = [MESA, *_SUITES, *_OF_MESA, *_OTHERS, architecture.name]
    key = hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
    return settings.read().tools_dir / "phone_compilers" / f"{architecture.name}-{key}"


def _program(folder: Path) -> Path:
    """Another source is another program beside the packages."""
    return folder / f"ask_driver-{hashlib.sha256(PROGRAM.read_bytes()).hexdigest()[:12]}"


def _make(architecture: Architecture, place: Path, show: Show) -> None:
    """The packages, unpacked beside their place, then renamed: they are whole or not there."""
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    try:
        with tempfile.TemporaryDirectory(prefix=".apt-", dir=place.parent) as name:
            version = _unpack(_Apt(Path(name), architecture), new / "root", show)
            if architecture.name == "arm64":
                _bring_qemu(Path(name), new, show)
        (new / _VERSION).write_text(f"{version}\n", encoding="utf-8")
        new.chmod(0o755)
        new.rename(place)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


class _Apt:
    """apt with lists, status and cache of its own: it resolves as on an empty machine and touches no other."""

    def __init__(self, folder: Path, architecture: Architecture) -> None:
        self.folder, self.archives = folder, folder / "cache/archives"
        for part in ("parts", "preferences", "state/lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True)
        (folder / "status").touch()
        mirror = _mirror()
        lines = [f"deb [signed-by={_KEYS}] {mirror} {suite} main\n" for suite in _SUITES]
        (folder / "sources.list").write_text("".join(lines), encoding="utf-8")
        chosen = {
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": folder / "parts",
            "Dir::Etc::preferencesparts": folder / "preferences",
            "Dir::State": folder / "state",
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder / "cache",
            "APT::Architecture": architecture.name,
            "APT::Architectures": architecture.name,
            "APT::Keep-Downloaded-Packages": "true",
            "Binary::apt-get::APT::Keep-Downloaded-Packages": "true",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        }
        text = "".join(f'{key} "{value}";\n' for key, value in chosen.items())
        (folder / "apt.conf").write_text(text, encoding="utf-8")

    def get(self, *words: str, show: Show) -> None:
        environment = {"APT_CONFIG": str(self.folder / "apt.conf"), "LC_ALL": "C"}
        try:
            child_process.run(["apt-get", "-q", *words], timeout_s=_DEADLINE_S, env=environment, on_line=show)
        except CommandFailed as error:
            raise FetchFailed(
                "fetch Mesa's compilers from Debian's packages",
                error.came_back,
                "connect to the network, and see that apt's sources name a mirror of all of Debian",
            ) from error

    def newest(self) -> str:
        """Of Mesa, in these suites; empty: none."""
        environment = {"APT_CONFIG": str(self.folder / "apt.conf"), "LC_ALL": "C"}
        argv = ["apt-cache", "madison", _OF_MESA[0]]
        rows = child_process.run(argv, timeout_s=60, env=environment).stdout.splitlines()
        versions = [row.split("|")[1].strip() for row in rows if row.count("|") == 2]
        return MESA if MESA in versions else next(iter(versions), "")


def _mirror() -> str:
    """The first one of Debian itself that this machine's apt is set up with."""
    argv = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    found = child_process.run(argv, timeout_s=60, hint="this needs Debian's apt").stdout.split()
    mirrors = [uri for uri in found if "security" not in uri and uri.rstrip("/").endswith("/debian")]
    if not mirrors:
        raise FetchFailed("find a mirror of Debian", "apt's sources name none", "add one to /etc/apt/sources.list.d")
    return mirrors[0]


def _unpack(apt: _Apt, root: Path, show: Show) -> str:
    """Mesa's version. Backports lose a version when the next comes: then that one is taken."""
    apt.get("update", show=show)
    version = apt.newest()
    wanted = [f"{name}={version}" for name in _OF_MESA] + list(_OTHERS)
    flags = ["install", "-y", "--download-only", "--no-install-recommends", "-t", _SUITES[-1]]
    apt.get(*flags, *wanted, show=show)
    show("unpack")
    root.mkdir()
    for package in sorted(apt.archives.glob("*.deb")):
        child_process.run(["dpkg-deb", "-x", package, root], timeout_s=300)
    for link in ("lib", "lib64"):  # that no script of a package made
        if (root / "usr" / link).is_dir() and not (root / link).exists():
            os.symlink(f"usr/{link}", root / link)
    for name in _UNNEEDED:
        shutil.rmtree(root / name, ignore_errors=True)
    return version


def _bring_qemu(scratch: Path, new: Path, show: Show) -> None:
    """qemu's user mode for arm64: this machine's, or out of its package, by this machine's own apt."""
    there = shutil.which(_QEMU)
    if there:
        shutil.copy(there, new / _QEMU)
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
    shutil.move(folder / "usr/bin" / _QEMU, new / _QEMU)


def _build(architecture: Architecture, place: Path) -> None:
    root, program = place / "root", _program(place)
    compiler = root / "usr/lib/gcc" / architecture.triple / "14"
    new = program.with_suffix(".new")
    argv: list[object] = [_CLANG, f"--target={architecture.triple}", f"--sysroot={root}"]
    argv += [f"--gcc-install-dir={compiler}", f"--ld-path={_LLD}", "-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    done = child_process.run([*argv, "-o", new, PROGRAM], timeout_s=120, check=False)
    if done.returncode != 0:
        said = done.stderr.strip()
        raise BuildFailed(f"compile {PROGRAM.name}", f"clang failed\n{said}", "`./inv doctor` shows versions")
    new.replace(program)
