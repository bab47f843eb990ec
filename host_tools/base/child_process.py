"""The only place that starts a process: argument lists, a deadline, captured output, clear errors."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from host_tools.base import portable
from host_tools.base.errors import CommandFailed, CommandTimedOut, ToolMissing

_KILL_GRACE_S = 5.0
_SHOWN_LINES = 20
_LOOK_S = 0.05  # between looks at whether it is to stop


@dataclass(frozen=True)
class Completed:
    """A process that ended. Output is text; bytes that are not UTF-8 show as replacement signs."""

    argv: list[str]
    returncode: int
    stdout: str
    stderr: str
    wall_s: float

    def command(self) -> str:
        return shlex.join(self.argv)


def run(
    argv: Sequence[object],
    *,
    timeout_s: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = True,
    on_line: Callable[[str], None] | None = None,
    on_error_line: Callable[[str], None] | None = None,
    hint: str = "",
    stop: Callable[[], bool] | None = None,
    pass_fds: Sequence[int] = (),
) -> Completed:
    """Runs `argv` to its end and returns what it printed.

    env is added to the environment. on_line is called, from other threads, with each line of either
    stream as it comes; where on_error_line is given, that one gets those of stderr. With check, an exit status other than 0 raises CommandFailed; hint is its
    "what to do next". At the deadline the whole process group is stopped and CommandTimedOut raised; when `stop` says
    so it is stopped, too, and has ended by a signal; what on_line raises stops it, and is raised. pass_fds: descriptors that it inherits.
    """
    words = [os.fspath(a) if isinstance(a, os.PathLike) else str(a) for a in argv]
    started = time.monotonic()
    process = _start(words, cwd, env, hint, pass_fds)
    assert process.stdout and process.stderr, "both are pipes"
    streams = [_Reader(process, process.stdout, on_line), _Reader(process, process.stderr, on_error_line or on_line)]
    try:
        _wait(process, timeout_s, stop)
        # A grandchild may hold the pipes open: readers get the rest of the time, not for ever.
        for stream in streams:
            stream.join(max(0.1, started + timeout_s - time.monotonic()))
        timed_out = any(stream.is_alive() for stream in streams)
    except subprocess.TimeoutExpired:
        timed_out = True
    except BaseException:
        _stop(process)
        raise
    if timed_out:
        _stop(process)
        for stream in streams:
            stream.join(_KILL_GRACE_S)
    for stream in streams:
        if stream.failure:
            raise stream.failure
    done = Completed(words, process.returncode, streams[0].text(), streams[1].text(), time.monotonic() - started)
    if timed_out:
        raise CommandTimedOut(
            f"run `{done.command()}`",
            f"it did not end within {timeout_s:g} s and was stopped{_tail(done)}",
            hint or "check what it waited for, or give it more time",
        )
    if check and done.returncode != 0:
        raise CommandFailed(f"run `{done.command()}`", f"{_status(done.returncode)}{_tail(done)}", hint)
    return done


def hand_over(argv: Sequence[object], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> int:
    """Runs `argv` on the user's own terminal, without a deadline; returns its exit status."""
    words = [os.fspath(a) if isinstance(a, os.PathLike) else str(a) for a in argv]
    try:
        return subprocess.run(words, cwd=cwd, env={**os.environ, **(env or {})}, check=False).returncode
    except OSError as error:
        raise _not_started(words, error, "") from error


def start_detached(
    argv: Sequence[object], *, log: Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Starts what outlives us, in a session of its own, so that Ctrl-C does not reach it; it prints into `log`.

    Who starts it sees to its end. Poll the process returned while you live: else it stays as a zombie.
    """
    words = [os.fspath(a) if isinstance(a, os.PathLike) else str(a) for a in argv]
    try:
        with open(log, "ab") as output:
            return subprocess.Popen(
                words,
                cwd=cwd,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
    except OSError as error:
        raise _not_started(words, error, "") from error


def start_piped(
    argv: Sequence[object],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Starts what is listened to while it runs: both output streams are one pipe, its input is another.

    In a session of its own; who starts it ends that (end_group) and closes the pipes.
    """
    words = [os.fspath(a) if isinstance(a, os.PathLike) else str(a) for a in argv]
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            words,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            pass_fds=pass_fds,
            start_new_session=True,
        )
    except OSError as error:
        raise _not_started(words, error, "") from error


def start_copier(file: IO[bytes], to: int) -> subprocess.Popen[bytes]:
    """Starts what copies its input, a pipe, to a file and to the descriptor `to`, until all who write have closed the pipe.
    It also has the last words of a writer that crashes."""
    path = f"/dev/fd/{file.fileno()}"
    return subprocess.Popen(["tee", path], stdin=subprocess.PIPE, stdout=to, pass_fds=[file.fileno()])


def end_group(process: subprocess.Popen[bytes], number: int = portable.KILL) -> None:
    """Sends a signal to a process that we started in a session of its own, and to all that it started."""
    with contextlib.suppress(ProcessLookupError):
        portable.end_group(process.pid, number)


def _start(
    words: list[str], cwd: Path | None, env: Mapping[str, str] | None, hint: str, pass_fds: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            words,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=pass_fds,
            start_new_session=True,
        )
    except OSError as error:
        raise _not_started(words, error, hint) from error


def _not_started(words: list[str], error: OSError, hint: str) -> ToolMissing:
    reason = f"{error.filename or words[0]}: {error.strerror or error}"
    return ToolMissing(f"run `{shlex.join(words)}`", reason, hint or "`./inv doctor` says what to install")


def _wait(process: subprocess.Popen[bytes], timeout_s: float, stop: Callable[[], bool] | None) -> None:
    end = time.monotonic() + timeout_s
    while stop is not None and time.monotonic() < end:
        try:
            process.wait(timeout=min(_LOOK_S, max(0.0, end - time.monotonic())))
            return
        except subprocess.TimeoutExpired:
            if stop():
                _stop(process)
                return
    process.wait(timeout=max(0.0, end - time.monotonic()))


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, portable.KILL):
        try:
            portable.end_group(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(timeout=_KILL_GRACE_S)
        except subprocess.TimeoutExpired:
            continue
        if number == signal.SIGTERM:
            time.sleep(0.05)  # the rest of the group may still be ending; then nothing is left to ask


def _status(returncode: int) -> str:
    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        return f"ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"ended by signal {-returncode}"


def _tail(done: Completed) -> str:
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()[-_SHOWN_LINES:]
    return "".join(f"\n  | {line}" for line in lines)


class _Reader(threading.Thread):
    """Collects one stream, line by line."""

    def __init__(
        self, process: subprocess.Popen[bytes], stream: IO[bytes], on_line: Callable[[str], None] | None
    ) -> None:
        super().__init__(daemon=True)
        self._process, self._stream, self._on_line = process, stream, on_line
        self._lines: list[bytes] = []
        self.failure: Exception | None = None  # what on_line raised: it gets no further line
        self.start()

    def run(self) -> None:
        for raw in self._stream:
            self._lines.append(raw)
            if self._on_line and not self.failure:
                try:
                    self._on_line(raw.decode("utf-8", "replace").rstrip("\r\n"))
                except Exception as error:  # of any kind: run() raises it in the caller's thread
                    self.failure = error
                    end_group(self._process, signal.SIGTERM)
        self._stream.close()

    def text(self) -> str:
        return b"".join(self._lines).decode("utf-8", "replace")
