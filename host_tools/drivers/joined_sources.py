"""Several OpenCL sources as one, for compilers that read long headers again for each.

Each keeps its functions, types and macros to itself: what is accepted in one source with others is accepted alone. The other
way round is not so certain; what is refused is compiled alone.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_EXTENSION = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+OPENCL[ \t]+EXTENSION[ \t]+(\w+)", re.MULTILINE)
_TYPE = re.compile(r"^typedef [^;{}]*\b(\w+);", re.MULTILINE)
_FUNCTION = re.compile(r"^[ \t]*(?:\w+[ \t*]+)+(\w+)\([^;{}()]*\)\s*\{", re.MULTILINE)
_STATEMENTS = {"if", "for", "while", "switch"}


def join(sources: Sequence[str]) -> str:
    return "".join(_apart(source, number) for number, source in enumerate(sources))


def _apart(source: str, number: int) -> str:
    ours = dict.fromkeys(name for name in _TYPE.findall(source) + _FUNCTION.findall(source) if name not in _STATEMENTS)
    before = [f"#define {name} {name}_of_{number}" for name in ours]
    after = [f"#undef {name}" for name in dict.fromkeys([*ours, *_MACRO.findall(source)])]
    after += [f"#pragma OPENCL EXTENSION {name} : disable" for name in dict.fromkeys(_EXTENSION.findall(source))]
    return "\n".join([*before, source, *after, ""])


def compile_joined(
    paths: Sequence[Path], compile_all: Callable[[Sequence[Path]], list[str]], at_once: int
) -> list[str]:
    """As compile_all(paths), which is given `at_once` sources as one, and those alone of which one is refused."""
    parts = [paths[first : first + at_once] for first in range(0, len(paths), at_once)]
    with tempfile.TemporaryDirectory(prefix="quadra-joined-") as name:
        files = [Path(name) / f"{number}.cl" for number in range(len(parts))]
        for file, part in zip(files, parts, strict=True):
            file.write_text(join([path.read_text(encoding="utf-8") for path in part]), encoding="utf-8")
        told = compile_all(files)
    alone = [path for part, why in zip(parts, told, strict=True) if why for path in part]
    refused = dict(zip(alone, compile_all(alone) if alone else [], strict=True))
    return [refused.get(path, "") for path in paths]
