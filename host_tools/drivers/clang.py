"""clang as two strict readers of OpenCL C: one that lets nothing pass but the language, one that does not optimise."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from host_tools.base import child_process
from host_tools.base.errors import CommandTimedOut, ToolMissing
from host_tools.drivers.compiler import Compiler

_AT_ONCE = 128  # sources of a process
_TEXT_S = 20.0
_START_S = 30.0
_SPIR = "-x cl -cl-std=CL1.2 -triple spir64 -finclude-default-header -fdeclare-opencl-builtins -ferror-limit 0"
_STRICT = "-fsyntax-only -Werror -pedantic-errors"
_UNOPTIMISED = "-O0 -emit-llvm"
_HALF = "cl_khr_fp16"
_ENDED_WELL = (0, 1)  # nothing is wrong; a source is
_DECLARED = re.compile(r"^declare [^@\n]*@(\w+)\(", re.MULTILINE)
_MANGLED = re.compile(r"_Z(\d+)(\w+)")


def check() -> None:
    _compiler()


@cache
def _compiler() -> tuple[str, ...]:
    """The compiler proper, which takes many files in one process and is ten times faster so."""
    clang = shutil.which("clang") or shutil.which("clang-15")  # PoCL comes with it
    if not clang:
        raise ToolMissing(
            "compile OpenCL C with clang", "there is no clang or clang-15 in PATH", "apt-get install clang-15"
        )
    own = child_process.run([clang, "-print-resource-dir"], timeout_s=10).stdout.strip()
    return (clang, "-cc1", *_SPIR.split(), "-resource-dir", own, "-internal-isystem", f"{own}/include")


def compile_strictly(paths: Sequence[Path]) -> list[str]:
    return _compile_all(paths, _STRICT.split(), lambda folder, name: "")


def compile_unoptimised(paths: Sequence[Path]) -> list[str]:
    """Refuses what clang does, and calls of a function of the source that has no body, which no linker would find."""
    return _compile_all(paths, _UNOPTIMISED.split(), _without_body)


def _compile_all(paths: Sequence[Path], flags: list[str], find: Callable[[Path, str], str]) -> list[str]:
    """Sources that ask for half arithmetic are other ones where there is none: both must be right."""
    refused = _in_batches(paths, flags, find)
    both = [i for i, path in enumerate(paths) if not refused[i] and _HALF in path.read_text(encoding="utf-8")]
    again = _in_batches([paths[i] for i in both], [*flags, f"-cl-ext=-{_HALF}"], find)
    for i, why in zip(both, again, strict=True):
        refused[i] = why and f"without {_HALF}:\n{why}"
    return refused


def _without_body(folder: Path, name: str) -> str:
    code = (folder / f"{name}.ll").read_text(encoding="utf-8", errors="replace")
    names = [_plain(symbol) for symbol in _DECLARED.findall(code)]
    source = (folder / f"{name}.cl").read_text(encoding="utf-8", errors="replace")
    ours = sorted({one for one in names if _defines(source, one)})
    return "\n".join(f"error: '{one}' is called and has no body" for one in ours)


def _plain(symbol: str) -> str:
    """The function's name; overloaded ones have their types in the symbol."""
    match = _MANGLED.match(symbol)
    return match[2][: int(match[1])] if match else symbol


def _defines(source: str, name: str) -> bool:
    return bool(re.search(rf"\b{re.escape(name)}\s*\([^;{{}}()]*\)\s*\{{", source))


def _in_batches(paths: Sequence[Path], flags: list[str], find: Callable[[Path, str], str]) -> list[str]:
    """find(folder, name): what is wrong with the output of a source that clang accepted."""
    refused: list[str] = []
    for first in range(0, len(paths), _AT_ONCE):
        refused += _batch(paths[first : first + _AT_ONCE], flags, find)
    return refused


def _batch(paths: Sequence[Path], flags: list[str], find: Callable[[Path, str], str]) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="quadra-clang-") as name:
        folder = Path(name)
        names = [f"{i:03}" for i in range(len(paths))]
        for one, path in zip(names, paths, strict=True):
            (folder / f"{one}.cl").symlink_to(path.resolve())
        refused = _compile(folder, names, flags)
        return [refused.get(one) or find(folder, one) for one in names]


def _compile(folder: Path, names: list[str], flags: list[str]) -> dict[str, str]:
    """Those refused, and why. A compiler that crashes costs the source that it crashed on: the half with it is tried apart."""
    argv = [*_compiler(), *flags, *(f"{name}.cl" for name in names)]
    deadline = _START_S + _TEXT_S * len(names)
    try:
        done = child_process.run(argv, timeout_s=deadline, cwd=folder, check=False)
        ended = "" if done.returncode in _ENDED_WELL else f"clang ended with status {done.returncode}"
    except CommandTimedOut:
        ended = f"clang did not end within {deadline:g} s"
    if not ended:
        found = _errors(done.stderr)
        rest = [name for name in names if name not in found]
        if done.returncode == 0 or not found:
            assert done.returncode == 0, done.stderr
            return {}
        return found | (_compile(folder, rest, flags) if rest else {})  # a fatal error leaves the next ones unread
    if len(names) == 1:
        return {names[0]: f"error: {ended}"}
    middle = len(names) // 2
    return _compile(folder, names[:middle], flags) | _compile(folder, names[middle:], flags)


def _errors(output: str) -> dict[str, str]:
    """The lines with errors of each source, by its name."""
    found: dict[str, list[str]] = {}
    for name, line in re.findall(r"^(\d{3})\.cl:(\d+:\d+: (?:fatal )?error: .*)$", output, re.MULTILINE):
        found.setdefault(name, []).append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


PEDANTIC = Compiler(
    name="clang-pedantic",
    language="opencl",
    stands_for="strict front ends: OpenCL C 1.2 as written, without an extension of clang's and without a warning",
    source="Debian's clang-15, with -cl-std=CL1.2 -pedantic-errors -Werror",
    check=check,
    compile=compile_strictly,
)
UNOPTIMISED = Compiler(
    name="clang-O0",
    language="opencl",
    stands_for="drivers that link before they inline, and the option -cl-opt-disable: every function has a body",
    source="Debian's clang-15, with -O0 -emit-llvm",
    check=check,
    compile=compile_unoptimised,
)
