"""Mesa's compilers for phones' GPUs, from Debian's packages: fetched by apt, unpacked into the cache, not installed.

Debian 13's backports have the drivers and drm-shim, which pretends that the GPU is there: for Adreno in the packages
for amd64, for Mali only in those for arm64, which run under qemu's user mode. apt checks every signature and checksum.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from host_tools.analyse import phone_compilers
from host_tools.analyse.phone_compilers import MESA, PACKAGES_OF_MESA, QEMU, SUITES, Architecture, Installed
from host_tools.base import child_process, file_lock, settings
from host_tools.base.errors import BuildFailed, CommandFailed, FetchFailed, ToolMissing
from host_tools.base.progress import progress

_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_CLANG, _LLD = Path("/usr/lib/llvm-22/bin/clang"), Path("/usr/lib/llvm-22/bin/ld.lld")
_UNNEEDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/lintian", "usr/share/bug")
_DEADLINE_S = 1800.0

Show = Callable[[str], None]


def install(vendors: list[str]) -> list[Installed]:
    """Fetches what is not there yet."""
    found = []
    for vendor in vendors:
        architecture = phone_compilers.ARCHITECTURES[vendor]
        place = phone_compilers.place_of(architecture)
        settings.make_folder(place.parent, "QUADRA_TOOLS_DIR")
        with (
            file_lock.held(place.parent / "lock"),
            progress(f"fetch Mesa's compiler for {vendor.capitalize()} ({architecture.megabytes} MB)") as show,
        ):
            if not (_CLANG.exists() and _LLD.exists()):
                advice = "apt-get install clang-22 lld-22"
                raise ToolMissing("build the program that asks the driver", f"there is no {_CLANG}", advice)
            if not (place / phone_compilers.VERSION).exists():
                _make(architecture, place, show)
            if not phone_compilers.program_of(place).exists():
                _build(architecture, place)
        found.append(phone_compilers.require(vendor))
    return found


def _make(architecture: Architecture, place: Path, show: Show) -> None:
    """The packages, unpacked beside their place, then renamed: they are whole or not there."""
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    try:
        with tempfile.TemporaryDirectory(prefix=".apt-", dir=place.parent) as name:
            version = _unpack(_Apt(Path(name), architecture), new / "root", show)
            if architecture.name == "arm64":
                _bring_qemu(Path(name), new, show)
        (new / phone_compilers.VERSION).write_text(f"{version}\n", encoding="utf-8")
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
        lines = [f"deb [signed-by={_KEYS}] {mirror} {suite} main\n" for suite in SUITES]
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
                "connect to the network, and check that apt's sources name a mirror of all of Debian",
            ) from error

    def newest(self) -> str:
        """Of Mesa, in these suites; empty: none."""
        environment = {"APT_CONFIG": str(self.folder / "apt.conf"), "LC_ALL": "C"}
        argv = ["apt-cache", "madison", PACKAGES_OF_MESA[0]]
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
    apt.get("update", "--error-on=any", show=show)  # without that, what failed comes to light only in the next step
    version = apt.newest()
    wanted = [f"{name}={version}" for name in PACKAGES_OF_MESA] + list(phone_compilers.OTHER_PACKAGES)
    flags = ["install", "-y", "--download-only", "--no-install-recommends", "-t", SUITES[-1]]
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
    root, program = place / "root", phone_compilers.program_of(place)
    compiler = root / "usr/lib/gcc" / architecture.triple / "14"
    new = program.with_suffix(".new")
    argv: list[object] = [_CLANG, f"--target={architecture.triple}", f"--sysroot={root}"]
    argv += [f"--gcc-install-dir={compiler}", f"--ld-path={_LLD}", "-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    done = child_process.run([*argv, "-o", new, phone_compilers.PROGRAM], timeout_s=120, check=False)
    if done.returncode != 0:
        said = done.stderr.strip()
        raise BuildFailed(
            f"compile {phone_compilers.PROGRAM.name}", f"clang failed\n{said}", "`./inv doctor` shows versions"
        )
    new.replace(program)
