"""A compiler of OpenCL C or OpenGL ES shaders that runs on this machine without its device, as a row of the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from host_tools.drivers.driver import Show

_ERROR = re.compile(r"\berror\b", re.IGNORECASE)
_COUNT = re.compile(r"\d+ errors? generated|ERROR: \d+ compilation errors|Got error -?\d+")


@dataclass(frozen=True)
class Compiler:
    """A row. `compile` gives why each source was refused, "" where it was not. `check`, and so `compile`, raises
    ToolMissing, which says how to get the compiler, where it is not on this machine."""

    name: str
    language: str  # of what it compiles: opencl or gles
    stands_for: str  # what it tells of other machines
    source: str  # the package and its version
    check: Callable[[], None]
    compile: Callable[[Sequence[Path]], list[str]]
    fetch: Callable[[Show], None] | None = None  # None: the system has it, or `./inv` installs it
    megabytes: int = 0  # to be fetched
    lacks: str = ""  # what it does not know, of what kernels use
    for_cpus: bool = True  # whether it takes kernels that are made for CPUs: vectors of more than four numbers


def kinds_of(refused: str) -> list[str]:
    """The errors without their places, names and numbers, each once: two of one kind have one cause."""
    lines = [line for line in refused.splitlines() if _ERROR.search(line) and not _COUNT.match(line)]
    return list(dict.fromkeys(_kind(line) for line in lines or refused.splitlines()[:1]))


def _kind(line: str) -> str:
    line = re.sub(r"^(\d+:)+\d*:?\s*(<Spelling=[^>]*>:\s*)?", "", _ERROR.split(line, maxsplit=1)[-1].lstrip(": "))
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'…'", line)).strip()
