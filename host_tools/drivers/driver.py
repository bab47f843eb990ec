"""A driver of OpenCL or OpenGL ES that runs on this machine, as a row of the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Show = Callable[[str], None]
Fetch = Callable[[Show], None]


@dataclass(frozen=True)
class Entry:
    """How a process is started so that the delegate in it finds this driver and no other."""

    options: Mapping[str, str] = field(default_factory=dict)  # of the delegate: egl_library, opencl_library
    env: Mapping[str, str] = field(default_factory=dict)  # environment variables; they replace the usual ones
    prefix: tuple[str | Path, ...] = ()  # a program and its arguments that run the command which follows them

    def command(self, argv: Sequence[str | Path]) -> list[str | Path]:
        return [*self.prefix, *argv]


@dataclass(frozen=True)
class Driver:
    """A row. `enter` raises ToolMissing, which says how to get the driver, where it is not on this machine."""

    name: str
    backend: str  # the delegate's option: opencl or gles
    stands_for: str  # what it tells of other machines
    source: str  # the package and its version
    enter: Callable[[], Entry]
    fetch: Fetch | None = None  # None: the system has it, or `./inv` installs it
    megabytes: int = 0  # to be fetched
    lacks: str = ""  # what it has not, of what the tests ask for
    too_slow_for: str = ""  # what is left out for its speed
    library: Callable[[], Path] | None = None  # the delegate that runs on it; None: the usual one
    # Its own faults, for which Quadra has no remedy: in which tests (a regular expression of pytest's name), and what they are.
    faults: tuple[tuple[str, str], ...] = ()
    sample_only: bool = False  # of the tests, for its speed: the first vectors of each op, few random graphs

    def fault(self, test: str) -> str:
        """The known fault of the driver that a test runs into; empty: none is known."""
        return next((what for where, what in self.faults if re.search(where, test)), "")

    def check(self) -> None:
        self.enter()
