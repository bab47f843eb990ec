"""Libraries that let Android's .so files and executables run on this machine: x86_64 ones, and ARM's under qemu.

Such a file asks libc.so, libm.so, libdl.so and liblog.so for symbols of versions LIBC and LIBLOG, and perhaps
libEGL.so, libGLESv3.so and libOpenCL.so for their functions. Here these libraries are made, from the symbols that the
given files really ask for: functions that mean the same (same.txt) are jumps to glibc, others are written in C
(libc.c, arm.c). Graphics and OpenCL are this machine's; under qemu there are those of the folder that `command` is given, if any. A symbol that nobody knows is an
error here, not a crash later.
"""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from host_tools.android_on_host.bionic import machines, symbols
from host_tools.android_on_host.bionic.machines import Machine
from host_tools.base import child_process, installed, settings
from host_tools.base.errors import Misuse, ToolMissing, needs_clone
from host_tools.build import prebuilt

_HERE = Path(__file__).parent
GLES_CALLS = "BIONIC_GLES_CALLS"  # names the file for the calls that gles.c records
_VERSIONS = {"libc.so": "LIBC", "libm.so": "LIBC", "libdl.so": "LIBC", "liblog.so": "LIBLOG"}  # of their symbols
_FORWARDED = {  # Android's name: this machine's, our own part, the Debian package
    "libEGL.so": ("libEGL.so.1", "egl.c", "libegl1"),
    "libGLESv3.so": ("libGLESv2.so.2", "gles.c", "libgles2"),
    "libGLESv2.so": ("libGLESv2.so.2", "", "libgles2"),
    "libOpenCL.so": ("libOpenCL.so.1", "opencl.c", "ocl-icd-libopencl1"),
}
_DATA = {"__sF", "stdin", "stdout", "stderr"}
_DATA_OF_ARM = {"__stack_chk_guard"}
_AEABI = re.compile(r"__aeabi_mem\w+")  # the processor's own names, which glibc has, too
_OF_32_BITS = "LIBC_N"  # their version
_GCC_S = 60.0
_NOTE = '.section .note.GNU-stack,"",%progbits\n'


def folder_for(libraries: Sequence[Path], machine: Machine = machines.HERE) -> Path:
    """A folder for LD_LIBRARY_PATH with which `libraries` load; made once for what they ask for.

    Misuse names a library for another machine, or a symbol that cannot be given and the library that asks for it.
    """
    read = [symbols.read(path) for path in libraries]
    for library in read:
        _check_machine(library, machine)
    asked = _checked(read, machine)
    if installed.INSTALLED and machine == machines.HERE:
        return _packed(asked)
    made = settings.make_folder(settings.read().tools_dir / "bionic", "QUADRA_TOOLS_DIR") / _key(asked, machine)
    if made.is_dir():
        return made
    work = Path(tempfile.mkdtemp(prefix=".new-", dir=made.parent))
    try:
        _make(work, asked, machine)
        try:
            work.rename(made)
        except OSError:
            if not made.is_dir():  # else another process was first
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return made


def command(
    executable: Path, libraries: Sequence[Path], words: Sequence[object], system: Path | None = None
) -> list[object]:
    """What starts an Android executable here, with `words` for it: this machine's loader, in place of Android's. For ARM
    qemu runs it, and what has packed relocations has to be `relocations.unpack`ed before.

    `libraries` are those that it will load. `system`, for ARM: a folder with a glibc of that processor, and what else is
    to be found, as a driver of OpenGL ES. Misuse as above.
    """
    all_of_them = [executable, *libraries]
    machine = machines.of_elf(symbols.read(executable).machine) or machines.HERE
    compiled = installed.INSTALLED and machine == machines.HERE
    if not (compiled or shutil.which(machine.compiler)) or not shutil.which(machine.start[0]):
        advice = f"apt-get install {machine.package}"
        raise ToolMissing(f"run Android's {machine.abi} code here", f"there is no {machine.compiler}", advice)
    among = machine.among(system) if system else machine
    folders = ":".join(filter(None, [str(folder_for(all_of_them, machine)), among.libraries]))
    return [*among.start, "--library-path", folders, executable, *words]


def _packed(asked: dict[str, set[str]]) -> Path:
    """Those that a release made, for the libraries that it has inside."""
    folder = installed.PREBUILT / prebuilt.BIONIC
    absent = {name for library, names in asked.items() for name in names - symbols.read(folder / library).exported}
    if absent:
        raise needs_clone(f"load a library that asks for {', '.join(sorted(absent)[:3])}")
    return folder


def gles_digest() -> str:
    """Of what records calls: another one may write another form."""
    return hashlib.sha256((_HERE / "gles.c").read_bytes()).hexdigest()


def same_functions() -> set[str]:
    """Names of same.txt."""
    lines = (_HERE / "same.txt").read_text(encoding="utf-8").splitlines()
    return {name for line in lines if not line.startswith("#") for name in line.split()}


def own_functions(machine: Machine = machines.HERE) -> set[str]:
    """Names that libc.c has, and arm.c where it is for that."""
    texts = [source.read_text(encoding="utf-8") for source in _sources(machine)]
    return {name for text in texts for name in re.findall(r"\bbionic_(\w+)\(", text)}


def _sources(machine: Machine) -> list[Path]:
    return [_HERE / "libc.c", *([_HERE / "arm.c"] if _is_arm(machine) else [])]


def _is_arm(machine: Machine) -> bool:
    return machine.elf == "EM_ARM"


def _version(name: str, library: str) -> str | None:
    """Of a symbol of one of Android's libraries; None: another library."""
    return _OF_32_BITS if _AEABI.fullmatch(name) else _VERSIONS.get(library)


def _data(machine: Machine) -> set[str]:
    return _DATA | _DATA_OF_ARM if _is_arm(machine) else _DATA


def _checked(libraries: Sequence[symbols.Library], machine: Machine) -> dict[str, set[str]]:
    """Names to be given, by the library that is asked for them."""
    asked: dict[str, set[str]] = {name: set() for name in _VERSIONS}
    known = own_functions(machine) | same_functions() | _data(machine)
    if _is_arm(machine):
        known |= {symbol.name for library in libraries for symbol in library.wanted if _AEABI.fullmatch(symbol.name)}
    others = {name for library in libraries for name in library.exported}
    forwarded = {name: _exports_of(name) for library in libraries for name in library.needed if name in _FORWARDED}
    for library in libraries:
        _check_needed(library, {known.name for known in libraries})
        for symbol in library.wanted:
            source = symbol.source or ("liblog.so" if symbol.name.startswith("__android_log_") else "libc.so")
            if symbol.version in ("", _version(symbol.name, source)) and symbol.name in known:
                asked[source].add(symbol.name)
            elif symbol.name not in others and not any(symbol.name in names for names in forwarded.values()):
                raise _unknown(symbol)
    return asked


def _check_machine(library: symbols.Library, machine: Machine) -> None:
    for_host = any(symbol.version.startswith("GLIBC") for symbol in library.wanted)
    if library.machine != machine.elf or for_host:
        raise Misuse(
            f"load {library.name} as Android would",
            f"it is for {'this machine' if for_host else library.machine.removeprefix('EM_')}, not for Android {machine.abi}",
            f"give the library that `./inv build --abi {machine.abi}` makes",
        )


def _check_needed(library: symbols.Library, loaded: set[str]) -> None:
    strange = [n for n in library.needed if n not in (*_VERSIONS, *_FORWARDED) and n not in loaded]
    if strange:
        raise Misuse(
            f"load {library.name} on this machine",
            f"it needs {', '.join(strange)}, which is not one of Android's libraries that are known here",
            "link it without, or add it to host_tools/android_on_host/bionic",
        )


def _unknown(symbol: symbols.Wanted) -> Misuse:
    version = f" (version {symbol.version})" if symbol.version else ""
    return Misuse(
        f"load {symbol.library} on this machine",
        f"it asks for {symbol.name}{version}, which host_tools/android_on_host/bionic does not know",
        "if Bionic and glibc mean the same by it, add it to host_tools/android_on_host/bionic/same.txt; else write it in libc.c",
    )


def _exports_of(android_name: str) -> set[str]:
    return set(symbols.read(_of_machine(android_name)).exported)


def _of_machine(android_name: str) -> Path:
    """This machine's library behind one of _FORWARDED."""
    name, _, package = _FORWARDED[android_name]
    found = _found(name)
    if not found:
        raise ToolMissing(f"stand in for Android's {android_name}", f"{name} is not here", f"apt-get install {package}")
    return found


def _found(name: str) -> Path | None:
    folders = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib/x86_64-linux-gnu")
    return next((Path(folder) / name for folder in folders if (Path(folder) / name).exists()), None)


def not_here() -> dict[str, str]:
    """This machine's libraries that stand behind Android's and are not there, with their Debian packages."""
    return {name: package for name, _, package in _FORWARDED.values() if not _found(name)}


def _key(asked: dict[str, set[str]], machine: Machine) -> str:
    """Of everything that what is made depends on."""
    digest = hashlib.sha256()
    for path in sorted(_HERE.iterdir()):
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update(repr(sorted((name, sorted(names)) for name, names in asked.items())).encode())
    hint = f"apt-get install {machine.package}"
    digest.update(child_process.run([machine.compiler, "--version"], timeout_s=_GCC_S, hint=hint).stdout.encode())
    digest.update((os.confstr("CS_GNU_LIBC_VERSION") or "").encode())
    return digest.hexdigest()[:16]


def _make(work: Path, asked: dict[str, set[str]], machine: Machine) -> None:
    """Two layers: a function that exports NAME and calls glibc's NAME in one library would call itself."""
    jumps = sorted(set().union(*asked.values()) - own_functions(machine) - _data(machine))
    (work / "inner.s").write_text(_assembler(_jump(machine, f"bionic_{name}", name) for name in jumps))
    own = ["-fno-builtin", *_sources(machine), "inner.s", "-Wl,-z,defs", "-lm"]
    _gcc(machine, work, "libquadra_bionic.so", *own)
    for library, names in asked.items():
        _make_outer(machine, work, library, sorted(names - _data(machine)))
    if machine == machines.HERE:
        for library, (_, source, _) in _FORWARDED.items():
            own_part = [_HERE / source] if source else ["-x", "c", os.devnull, "-x", "none"]
            _gcc(machine, work, library, *own_part, "-Wl,--no-as-needed", _of_machine(library), "-ldl")
    for path in work.glob("*.s"):
        path.unlink()


def _make_outer(machine: Machine, work: Path, library: str, names: list[str]) -> None:
    """The library under Android's name: NAME of its version jumps inside."""
    lines: list[str] = []
    for name in names:
        lines += [_jump(machine, f"outer_{name}", f"bionic_{name}")]
        lines += [f".symver outer_{name},{name}@@{_version(name, library)}"]
    source = work / f"{library}.s"
    source.write_text(_assembler(lines))
    versions = f"{_VERSIONS[library]} {{ local: outer_*; }};\n" + f"{_OF_32_BITS} {{ }};\n" * _is_arm(machine)
    (work / "versions.s").write_text(versions)
    words = ["-nostdlib", source, "-L.", "-lquadra_bionic", "-Wl,-rpath,$ORIGIN", "-Wl,--version-script=versions.s"]
    if library == "libc.so":
        words.insert(1, _HERE / "streams.c")
    _gcc(machine, work, library, *words)


def _jump(machine: Machine, name: str, target: str) -> str:
    return f".globl {name}\n.type {name},%function\n{name}: {machine.branch.format(target)}"


def _assembler(lines: Iterable[str]) -> str:
    return ".text\n" + "\n".join(lines) + f"\n{_NOTE}"


def _gcc(machine: Machine, work: Path, library: str, *words: object) -> None:
    argv = [machine.compiler, "-O2", "-g0", "-Wall", "-fPIC", "-shared", "-o", library, f"-Wl,-soname,{library}"]
    hint = f"apt-get install {machine.package}"
    child_process.run([*argv, "-Wl,-z,relro", *words], timeout_s=_GCC_S, cwd=work, hint=hint)
