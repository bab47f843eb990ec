"""The parts of the stand-in: headers, the archives of the C++ library, the compiler's run-time functions, stubs."""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import child_process
from host_tools.build.c_library import Symbol


@dataclass(frozen=True)
class Abi:
    """One Android ABI, in the names that clang, the NDK's folders, musl and zig have for it."""

    name: str
    target: str
    folder: str  # of the sysroot
    arch: str  # in the names of the compiler's libraries
    musl: str
    linux: str
    zig: tuple[str, ...]
    flags: tuple[str, ...] = ()


ABIS = (
    Abi("arm64-v8a", "aarch64-linux-android", "aarch64-linux-android", "aarch64", "aarch64", "aarch64", ("aarch64-linux-android.26",)),
    Abi(
        "armeabi-v7a", "armv7a-linux-androideabi", "arm-linux-androideabi", "arm", "arm", "arm",
        ("arm-linux-androideabi.26", "-mcpu=generic+v7a+thumb2+neon"),
        ("-march=armv7-a", "-mfloat-abi=softfp", "-mfpu=neon", "-mthumb"),
    ),
    Abi("x86_64", "x86_64-linux-android", "x86_64-linux-android", "x86_64", "x86_64", "x86", ("x86_64-linux-android.26",)),
)  # fmt: skip

# What libraries that neither throw nor use RTTI link, without optimising too. A part of the C++ library that is new to them
# is a symbol that the linker misses: its source is a name more here, if the library is worth its bytes. Nothing unwinds.
_SOURCES: dict[str, str] = {
    "libcxx": "functional memory verbose_abort",
    "libcxxabi": "abort_message cxa_guard cxa_virtual private_typeinfo stdlib_exception stdlib_typeinfo",
    "libunwind": "",
}
_WARNINGS_ARE_THEIRS = "-w"


@dataclass(frozen=True)
class Unit:
    """One source file and the archive that its object goes to."""

    archive: str
    source: Path

    @property
    def object(self) -> str:
        return f"{self.archive}-{self.source.name}.o"


def units(lib: Path) -> list[Unit]:
    """Every file to compile. lib: the wheel's folder of sources."""
    return [
        Unit(archive, lib / archive / "src" / f"{name}.cpp")
        for archive, names in _SOURCES.items()
        for name in names.split()
    ]


def archives(prebuilt: Path, abi: Abi) -> dict[str, Path]:
    """Where the NDK keeps each archive."""
    libraries = prebuilt / "sysroot/usr/lib" / abi.folder
    return {
        "libcxx": libraries / "libc++_static.a",
        "libcxxabi": libraries / "libc++abi.a",
        "libunwind": prebuilt / "lib/clang/22/lib/linux" / abi.arch / "libunwind.a",
    }


class Compiler:
    """Clang with the stand-in's headers and the flags that the NDK's own C++ library is built with."""

    def __init__(self, prebuilt: Path, lib: Path, abi: Abi, api_level: int) -> None:
        self._clang = [
            prebuilt / "bin/clang",
            "-no-canonical-prefixes",
            f"--target={abi.target}{api_level}",
            *abi.flags,
        ]
        self._clang += [f"--sysroot={prebuilt}/sysroot", "-Os", "-fPIC", "-ffunction-sections", "-fdata-sections"]
        self._clang += [
            "-fvisibility=hidden",
            "-fvisibility-inlines-hidden",
            "-funwind-tables",
            "-DNDEBUG",
            _WARNINGS_ARE_THEIRS,
        ]
        # No path of the folder that it was made in: two machines make the same bytes.
        self._clang += [f"-ffile-prefix-map={lib}=", f"-ffile-prefix-map={prebuilt}="]
        self._lib, self._abi = lib, abi

    def compile_c(self, source: Path, object_file: Path) -> child_process.Completed:
        return child_process.run([*self._clang, "-xc", "-c", source, "-o", object_file], timeout_s=300, check=False)

    def compile(self, unit: Unit, object_file: Path) -> child_process.Completed:
        lib = self._lib
        flags = [f"-I{lib}/{part}" for part in ("libunwind/include", "libcxx/src", "libcxx/libc")]
        flags += ["-std=c++23", "-D_LIBCPP_BUILDING_LIBRARY", "-D_LIBCXXABI_BUILDING_LIBRARY"]
        flags += ["-DLIBCXX_BUILDING_LIBCXXABI"]
        return child_process.run(
            [*self._clang, *flags, "-c", unit.source, "-o", object_file], timeout_s=300, check=False
        )


def copy_headers(lib: Path, ours: Path, include: Path, abis: Sequence[Abi]) -> None:
    """The C declarations under the NDK's paths: what an ABI has of its own, and what we mend, in the folder searched first."""
    libc = lib / "libc/include"
    shutil.copytree(libc / "generic-musl", include)
    shutil.copytree(libc / "any-linux-any", include, dirs_exist_ok=True)
    shutil.copytree(lib / "libcxx/include", include / "c++/v1")
    shutil.copytree(lib / "libcxxabi/include", include / "c++/v1", dirs_exist_ok=True)
    shutil.copy(ours / "config_site.h", include / "c++/v1/__config_site")
    _mend_config(include / "c++/v1/__config")
    for abi in abis:
        place = include / abi.folder
        shutil.copytree(libc / f"{abi.musl}-linux-musl", place)
        shutil.copytree(libc / f"{abi.linux}-linux-any", place, dirs_exist_ok=True)
        shutil.copytree(ours / "include", place, dirs_exist_ok=True)
        _mend_types(include, place)


def _mend_config(config: Path) -> None:
    """The wheel's libc++ is configured by its compiler; the NDK's by a file beside it."""
    config.write_text("#include <__config_site>\n" + config.read_text())


def _mend_types(include: Path, place: Path) -> None:
    """On 32 bits musl's times and offsets have 64 bits, Bionic's are a long; sizes in what is read of a file have 64."""
    types = place / "bits/alltypes.h"
    text = types.read_text().replace("#define _REDIR_TIME64 1\n", "")  # functions of other names
    for name in ("time_t", "suseconds_t", "off_t"):
        text = text.replace(f"typedef _Int64 {name};", f"typedef long {name};")
    types.write_text(text)
    entry = (include / "bits/dirent.h").read_text()
    (place / "bits/dirent.h").write_text(entry.replace("off_t d_off", "long long d_off"))
    stat = place / "bits/stat.h"
    if stat.exists():
        text = stat.read_text().replace("off_t st_size", "long long st_size")
        times = re.compile(r"struct \{[^}]*\} __st_atim32[^;]*;\s*(ino_t st_ino;\s*)((?:struct timespec \w+;\s*)+)")
        stat.write_text(times.sub(r"\2\1", text))


def link(target: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(os.path.abspath(target))


def make_builtins(prebuilt: Path, zig: Path, abi: Abi, scratch: Path) -> None:
    """The functions that compiled code calls by itself (64-bit division on 32 bits), as the NDK's builtins archive."""
    made = scratch / "builtins.o"
    argv = [zig / "zig", "build-obj", "-target", *abi.zig, "-OReleaseSmall", "-fPIC", "-fno-stack-check", "-fstrip"]
    argv += [f"-femit-bin={made}", zig / "lib/compiler_rt.zig"]
    caches = {"ZIG_GLOBAL_CACHE_DIR": str(scratch / "zig"), "ZIG_LOCAL_CACHE_DIR": str(scratch / "zig")}
    child_process.run([*argv, "-ffunction-sections"], timeout_s=600, env=caches)
    # memcpy and its like, and what ends a smashed stack, are the C library's.
    keep = [
        "--wildcard",
        *(f"--keep-global-symbol={name}" for name in ("__*", "!__aeabi_mem*", "!__stack_chk*", "!__*_chk")),
    ]
    child_process.run([prebuilt / "bin/llvm-objcopy", *keep, made], timeout_s=60)
    place = prebuilt / f"lib/clang/22/lib/linux/libclang_rt.builtins-{abi.arch}-android.a"
    place.parent.mkdir(parents=True, exist_ok=True)
    child_process.run([prebuilt / "bin/llvm-ar", "rcsD", place, made], timeout_s=60)


def make_stub(prebuilt: Path, abi: Abi, library: Path, symbols: Sequence[Symbol]) -> None:
    """A shared library with these symbols and no code: what a linker needs to see of the C library."""
    library.parent.mkdir(parents=True, exist_ok=True)
    source, script = library.with_suffix(".s"), library.with_suffix(".map")
    lines = ['.section .note.GNU-stack,"",%progbits', ".bss"]
    for symbol in symbols:
        kind = "object" if symbol.is_data else "function"
        lines += [
            f".globl {symbol.name}",
            f".type {symbol.name},%{kind}",
            f".size {symbol.name},8",
            f"{symbol.name}: .zero 8",
        ]
    source.write_text("\n".join(lines) + "\n")
    nodes = sorted({"LIBC", *(s.node for s in symbols)})
    listed = {node: " ".join(f"{s.name};" for s in symbols if s.node == node) for node in nodes}
    script.write_text("".join(f"{node} {{ {names and 'global: ' + names} }};\n" for node, names in listed.items()))
    argv = [
        prebuilt / "bin/clang",
        "-no-canonical-prefixes",
        f"--target={abi.target}",
        *abi.flags,
        "-nostdlib",
        "-shared",
    ]
    argv += [
        f"--ld-path={prebuilt}/bin/ld.lld",
        f"-Wl,-soname,{library.name},--version-script,{script}",
        source,
        "-o",
        library,
    ]
    child_process.run(argv, timeout_s=60)
    source.unlink()
    script.unlink()
