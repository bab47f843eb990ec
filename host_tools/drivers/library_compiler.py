"""Compilers that are libraries: each compiles in a process of its own, so that a crash costs one source and no other process
sees the library."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from host_tools.base import child_process
from host_tools.base.errors import RunFailed

_CHILD = Path(__file__).with_name("compile_in_child.py")
_MOST_S = 3600.0
_START_S = 60.0


@dataclass(frozen=True)
class Library:
    """kind: as compile_in_child knows it. text_s: the longest that one source may take."""

    kind: str
    path: Path
    env: Mapping[str, str] = field(default_factory=dict)
    text_s: float = 60.0
    cache_variable: str = ""  # the environment variable of a folder that it writes to

    def compile(self, paths: Sequence[Path]) -> list[str]:
        """Why each source was refused, or "". Where one ends the process, another process goes on behind it."""
        refused: list[str] = []
        while len(refused) < len(paths):
            refused += self._process(paths[len(refused) :])
        return refused

    def _process(self, paths: Sequence[Path]) -> list[str]:
        """Of the first sources: of all, or up to the one that the process did not survive."""
        watch = _Watch(self.text_s)
        with tempfile.TemporaryDirectory(prefix=f"quadra-{self.kind}-") as name:
            listed = Path(name) / "sources"
            listed.write_text("".join(f"{path.resolve()}\n" for path in paths), encoding="utf-8")
            cache = {self.cache_variable: name} if self.cache_variable else {}
            argv = [sys.executable, "-I", "-S", _CHILD, self.kind, self.path, listed]
            done = child_process.run(
                argv,
                timeout_s=_MOST_S,
                env={**self.env, **cache},
                check=False,
                on_line=watch.take,
                stop=watch.is_late,
            )
        if watch.began > len(watch.refused):
            ended = f"ended with status {done.returncode}"
            words = f"did not end within {self.text_s:g} s" if watch.is_late() else ended
            return [*watch.refused, f"error: the compiler {words}"]
        if not watch.refused:
            raise RunFailed(f"compile with {self.path.name}", done.stderr.strip() or f"status {done.returncode}")
        return watch.refused


class _Watch:
    """What the process said so far, and when."""

    def __init__(self, text_s: float) -> None:
        self.refused: list[str] = []
        self.began = 0
        self._text_s, self._until = text_s, time.monotonic() + _START_S

    def take(self, line: str) -> None:
        try:
            said = json.loads(line)
        except ValueError:  # of a library that was loaded and prints
            return
        self._until = time.monotonic() + self._text_s
        if "begin" in said:
            self.began += 1
        else:
            self.refused.append(said["refused"])

    def is_late(self) -> bool:
        return time.monotonic() > self._until
