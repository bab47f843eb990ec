"""Puts the stand-in together in the cache: once for its inputs, then it is only found.

It is made beside its place and renamed, so that it is whole or not there. Stub C libraries are a layer of their
own: a symbol more in the list does not compile libc++ anew.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from host_tools.base import child_process, file_lock, settings
from host_tools.base.errors import BuildFailed, FetchFailed, ToolMissing
from host_tools.base.progress import progress
from host_tools.build import c_library
from host_tools.build.stand_in import parts
from host_tools.build.stand_in.parts import ABIS, Abi

HERE = Path(__file__).resolve().parent
LLVM = Path("/usr/lib/llvm-22")
API_LEVEL = 26
PREBUILT = "toolchains/llvm/prebuilt/linux-x86_64"
_TOOLS = ("clang", "ld.lld", "llvm-ar", "llvm-objcopy", "llvm-nm", "llvm-strip", "llvm-objdump", "llvm-cov", "llvm-dwp")
_PACKAGES = {"clang": "clang-22", "ld.lld": "lld-22", "llvm-ar": "llvm-22", "llvm-objcopy": "llvm-22"}

Show = Callable[[str], None]


def stand_in() -> Path:
    """The stand-in's folder, of the shape of an NDK; puts it together where that was not done yet."""
    _check_tools()
    folder = settings.make_folder(settings.read().tools_dir / "ndk", "QUADRA_TOOLS_DIR")
    base = folder / f"base-{_key(_base_inputs())}"
    whole = folder / f"stand-in-{_key([base.name.encode(), c_library.LIST.read_bytes()])}"
    if not (whole / "source.properties").exists():
        with file_lock.held(folder / "lock"), progress("assemble the stand-in NDK") as show:
            if not base.exists():
                _appear(base, lambda new: _make_base(new, show))
            if not whole.exists():
                _appear(whole, lambda new: _make_whole(new, base))
    return whole


def versions() -> str:
    """What it is made of, in the words that every library it makes will carry."""
    return f"clang {_clang_version()}, {_wheel_line().split()[0].replace('==', ' ')}"


def _check_tools() -> None:
    absent = [name for name in _PACKAGES if not (LLVM / "bin" / name).exists()]
    if absent:
        packages = " ".join(sorted({_PACKAGES[name] for name in absent}))
        raise ToolMissing(
            "assemble the stand-in NDK",
            f"{LLVM}/bin has no {', '.join(absent)}",
            f"apt-get install {packages}, or set ANDROID_NDK_HOME to an NDK (r27 or later)",
        )


def _clang_version() -> str:
    return child_process.run([LLVM / "bin" / "clang", "-dumpversion"], timeout_s=60).stdout.strip()


def _wheel_line() -> str:
    lines = (HERE / "requirements.txt").read_text().splitlines()
    return next(line for line in lines if line and not line.startswith("#"))


def _base_inputs() -> list[bytes]:
    ours = sorted(p for p in HERE.rglob("*") if p.is_file() and p.suffix != ".pyc")
    return [_clang_version().encode(), *(p.read_bytes() for p in ours)]


def _key(inputs: Sequence[bytes]) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(i).digest() for i in inputs)).hexdigest()[:12]


def _appear(place: Path, make: Callable[[Path], None]) -> None:
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    try:
        make(new)
        new.chmod(0o755)
        new.rename(place)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _make_base(new: Path, show: Show) -> None:
    with tempfile.TemporaryDirectory(prefix=".wheel-", dir=new.parent) as folder:
        zig = _unpacked_wheel(Path(folder), show)
        prebuilt = new / PREBUILT
        _link_tools(prebuilt)
        parts.copy_headers(zig / "lib", HERE, prebuilt / "sysroot/usr/include", ABIS)
        for abi in ABIS:
            _make_abi(prebuilt, zig, abi, show)


def _unpacked_wheel(folder: Path, show: Show) -> Path:
    wanted = HERE / "requirements.txt"
    show(f"fetch {_wheel_line().split()[0]} (101 MB)")
    flags = ["--no-input", "--disable-pip-version-check", "--no-cache-dir", "--progress-bar=off", "--no-deps"]
    flags += ["--only-binary=:all:", "--require-hashes"]
    argv = [sys.executable, "-m", "pip", "download", *flags, "-r", wanted, "-d", folder]
    done = child_process.run(argv, timeout_s=1800, check=False, on_line=show)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        said = [line for line in done.stderr.splitlines() if line.strip()][-6:]
        raise FetchFailed(
            f"fetch {_wheel_line().split()[0]} for the stand-in NDK",
            "pip failed" + "".join(f"\n  | {line}" for line in said),
            "connect to the network (or set PIP_INDEX_URL), or set ANDROID_NDK_HOME to an NDK",
        )
    show("unpack it")
    with zipfile.ZipFile(wheels[0]) as wheel:
        for name in wheel.namelist():
            wheel.extract(name, folder)
    os.chmod(folder / "ziglang" / "zig", 0o755)
    return folder / "ziglang"


def _link_tools(prebuilt: Path) -> None:
    for name in _TOOLS:
        parts.link(LLVM / "bin" / name, prebuilt / "bin" / name)
    parts.link(LLVM / "lib/clang/22/include", prebuilt / "lib/clang/22/include")


def _make_abi(prebuilt: Path, zig: Path, abi: Abi, show: Show) -> None:
    with tempfile.TemporaryDirectory(prefix="objects-", dir=prebuilt) as folder:
        objects = Path(folder)
        compiler = parts.Compiler(prebuilt, zig / "lib", abi, API_LEVEL)
        units = parts.units(zig / "lib")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            builtins = pool.submit(parts.make_builtins, prebuilt, zig, abi, objects)
            jobs = {pool.submit(compiler.compile, unit, objects / unit.object): unit for unit in units}
            for number, (job, unit) in enumerate(jobs.items(), 1):
                _compiled(job.result(), unit.source, abi)
                show(f"{abi.name}: {number} of {len(jobs)} files of libc++")
            show(f"{abi.name}: the compiler's run-time functions")
            builtins.result()
        for archive, place in parts.archives(prebuilt, abi).items():
            members = [objects / u.object for u in units if u.archive == archive]
            place.parent.mkdir(parents=True, exist_ok=True)
            child_process.run([prebuilt / "bin/llvm-ar", "rcsD", place, *members], timeout_s=60)
        start = prebuilt / "sysroot/usr/lib" / abi.folder / str(API_LEVEL)
        start.mkdir(parents=True)
        for name in ("crtbegin_so", "crtbegin_dynamic"):
            _compiled(compiler.compile_c(HERE / f"{name}.c", start / f"{name}.o"), HERE / f"{name}.c", abi)
        for name in ("crtend_so", "crtend_android"):
            _compiled(compiler.compile_c(Path(os.devnull), start / f"{name}.o"), Path(name), abi)


def _compiled(done: child_process.Completed, source: Path, abi: Abi) -> None:
    if done.returncode != 0:
        said = "".join(f"\n  | {line}" for line in done.stderr.splitlines()[:12])
        raise BuildFailed(
            f"compile {source.name} for {abi.name}", f"clang failed{said}", "`./inv doctor` shows versions"
        )


def _make_whole(new: Path, base: Path) -> None:
    """The base by links, and stub C libraries of today's list."""
    prebuilt = new / PREBUILT
    for part in ("bin", "lib", "sysroot/usr/include"):
        parts.link(base / PREBUILT / part, prebuilt / part)
    for abi in ABIS:
        place = prebuilt / "sysroot/usr/lib" / abi.folder / str(API_LEVEL)
        for made in (base / PREBUILT / "sysroot/usr/lib" / abi.folder).rglob("*.[ao]"):
            parts.link(made, new / made.relative_to(base))
        for library in c_library.LIBRARIES:
            parts.make_stub(prebuilt, abi, place / f"{library}.so", c_library.symbols(abi.name, library))
    description = f"Pkg.Desc = Quadra's stand-in NDK\nPkg.Revision = {_clang_version()}\n"
    (new / "source.properties").write_text(f"{description}Quadra.StandIn = {versions()}\nQuadra.Base = {base}\n")
