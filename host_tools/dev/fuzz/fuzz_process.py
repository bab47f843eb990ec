"""A process that runs models for the fuzzer, and is started again when a case ended it: crashes and hangs are values."""

import contextlib
import os
import pickle
import re
import resource
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from host_tools.base import child_process, settings
from host_tools.dev import sanitize

KERNELS = "BUILTIN_REF"  # of the CPU, for what the delegate leaves to it: the same in both
INTERPRETER = "the interpreter itself"  # where a report is from that has nothing of Quadra in it
_INTERPRETER = "libpywrap_litert"
_MEMORY_BYTES = 8 << 30  # of a process; sanitizers count in another way
_LOG_LINES = 400
_STAGE = re.compile(r"^stage: (.*)")
_OURS = re.compile(r"#\d+ 0x\w+ in (.+?) (delegate_native/[\w/.]+)")
_FOREIGN = re.compile(r"^ +#\d+ .*(/bin/python3|pybind11|__libc_start|_start )")
_LOOK_S, _PATIENCE = 0.1, 5


@dataclass(frozen=True)
class Request:
    """A model to be run once. Without a library: by the interpreter alone. twice: also with inputs a little off, and again.
    invoke: False stops before the first inference."""

    model: bytes
    library: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    resized: Mapping[int, Sequence[int]] = field(default_factory=dict)
    kernels: str = KERNELS
    twice: bool = False
    invoke: bool = True


@dataclass
class Answer:
    """The result. error: the exception of whoever refused."""

    error: str = ""
    outputs: list[np.ndarray] = field(default_factory=list)
    nudged: list[np.ndarray] = field(default_factory=list)
    again: list[np.ndarray] = field(default_factory=list)
    on_gpu: int = 0
    backend: str = ""
    cached: list[str] = field(default_factory=list)  # what each partition says of the cache


@dataclass(frozen=True)
class Ended:
    """The process did not answer. kind: crash, hang, or report, of a sanitizer; place: where, as far as that is known."""

    kind: str
    place: str
    text: str


class Process:
    """One worker, started when it is needed."""

    def __init__(self, library: Path | None, folder: Path, env: Mapping[str, str]) -> None:
        """Its working folder is `folder`; `library` is the one it may be asked to load."""
        self._folder, self._reports = folder, folder / "reports"
        sanitized = sanitize.environment(library, self._reports) if library else {}
        self._env = {**env, **sanitized}
        self._slower = sanitize.slower(library) if library else 1
        self._limit = 0 if sanitized else _MEMORY_BYTES
        self._child: Any = None
        self._log: deque[str] = deque(maxlen=_LOG_LINES)

    def run(self, request: Request, timeout_s: float) -> Answer | Ended:
        """The answer, or how the process ended; in that case the next request has a new one.

        The timeout is in processor time, so that a busy machine makes no hangs; who waits has several times as long.
        """
        self._start()
        self._log.clear()
        done, late = threading.Event(), threading.Event()
        watchdog = threading.Thread(
            target=self._watch, args=(self._child, self._slower * timeout_s, done, late), daemon=True
        )
        watchdog.start()
        try:
            pickle.dump(request, self._child.stdin)
            self._child.stdin.flush()
            answer: Answer = pickle.load(self._answers)
            return answer
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            return self._ended(self._slower * timeout_s if late.is_set() else 0.0)
        finally:
            done.set()
            watchdog.join()

    def close(self) -> None:
        """Ends the process."""
        if self._child:
            child_process.end_group(self._child)
            self._child.wait()
            self._reader.join()
            for stream in (self._child.stdin, self._child.stdout, self._answers):
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
            self._child = None

    def _start(self) -> None:
        if self._child and self._child.poll() is not None:
            self.close()  # it ended after its last answer
        if self._child:
            return
        ours, theirs = os.pipe()
        argv = [sys.executable, "-P", "-m", "host_tools.dev.fuzz.fuzz_worker", theirs]
        env = {**self._env, "PYTHONPATH": str(settings.ROOT)}
        self._child = child_process.start_piped(argv, env=env, pass_fds=[theirs], cwd=self._folder)
        os.close(theirs)
        if self._limit:
            resource.prlimit(self._child.pid, resource.RLIMIT_AS, (self._limit, self._limit))
        resource.prlimit(self._child.pid, resource.RLIMIT_CORE, (0, 0))
        self._answers = os.fdopen(ours, "rb")
        self._reader = threading.Thread(target=self._read, args=(self._child.stdout,), daemon=True)
        self._reader.start()

    def _read(self, stream: IO[bytes]) -> None:
        for raw in stream:
            self._log.append(raw.decode("utf-8", "replace").rstrip("\n"))

    def _watch(self, child: Any, timeout_s: float, done: threading.Event, late: threading.Event) -> None:
        began, used = time.monotonic(), _processor_s(child.pid)
        while not done.wait(_LOOK_S):
            waited, worked = time.monotonic() - began, _processor_s(child.pid) - used
            if worked > timeout_s or waited > _PATIENCE * timeout_s:
                late.set()
                child_process.end_group(child)
                return

    def _ended(self, timeout_s: float) -> Ended:
        child = self._child
        self.close()
        log = list(self._log)
        stage = next((found[1] for line in reversed(log) if (found := _STAGE.match(line))), "start")
        reports = [_without_foreign_frames(report) for report in sanitize.collect(self._reports)]
        said = "\n".join(reports or [line for line in log if not _STAGE.match(line)][-40:])
        if timeout_s:
            return Ended("hang", stage, f"no answer within {timeout_s:g} s, to: {stage}\n{said}")
        if reports:
            return Ended("report", _place(reports[0]), f"a sanitizer's report, to: {stage}\n{said}")
        status = child.returncode
        cause = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return Ended("crash", f"{cause}, to: {stage}", f"{cause}, to: {stage}\n{said}")


def _place(report: str) -> str:
    """Quadra's innermost function on the stack. Without one it is the interpreter's, or a driver's in a thread of its own."""
    ours = _OURS.search(report)
    if ours:
        return f"{ours[2]}, {ours[1]}"
    return INTERPRETER if _INTERPRETER in report else "no function of Quadra"


def _processor_s(pid: int) -> float:
    """Processor time of a process so far; 0 where it has ended."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _without_foreign_frames(report: str) -> str:
    """Whoever called the interpreter is of no interest."""
    return "\n".join(line for line in report.splitlines() if not _FOREIGN.match(line))
