"""glslang, the reference compiler of GLSL, for OpenGL ES compute shaders."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from host_tools.base import child_process
from host_tools.base.errors import ToolMissing
from host_tools.drivers.compiler import Compiler

_PROGRAM = "glslangValidator"
_AT_ONCE = 128  # sources of a process
_DEADLINE_S = 300.0


def check() -> None:
    if not shutil.which(_PROGRAM):
        raise ToolMissing(
            "compile shaders with glslang", f"there is no {_PROGRAM} in PATH", "apt-get install glslang-tools"
        )


def compile_shaders(paths: Sequence[Path]) -> list[str]:
    check()
    refused: list[str] = []
    for first in range(0, len(paths), _AT_ONCE):
        refused += _compile(paths[first : first + _AT_ONCE])
    return refused


def _compile(paths: Sequence[Path]) -> list[str]:
    """What it printed of each source, below the source's path. One that crashes it costs itself."""
    done = child_process.run([_PROGRAM, "-S", "comp", *paths], timeout_s=_DEADLINE_S, check=False)
    if done.returncode not in (0, 1, 2):
        if len(paths) == 1:
            return [f"ERROR: glslang ended with status {done.returncode}"]
        middle = len(paths) // 2
        return _compile(paths[:middle]) + _compile(paths[middle:])
    said: dict[str, list[str]] = {str(path): [] for path in paths}
    lines: list[str] = []
    for line in done.stdout.splitlines():
        if line in said:
            lines = said[line]
        elif line.strip():
            lines.append(line)
    refused = ["\n".join(said[str(path)]) for path in paths]
    assert done.returncode == 0 or any(refused), done.stdout
    return refused


GLSLANG = Compiler(
    name="glslang",
    language="gles",
    stands_for="the published grammar of OpenGL ES 3.1",
    source="Debian's glslang-tools",
    check=check,
    compile=compile_shaders,
)
