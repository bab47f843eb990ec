"""Programs that a client has pushed and starts: Quadra's own runner, and nothing else.

It must be an executable for Android x86_64 that carries Quadra's note. It runs on this machine inside the libraries of
host_tools/android_on_host/bionic, with this machine's drivers; what it is told of the device's files are paths in the
sandbox. The note keeps accidents away, not attackers: a library that the runner loads is as good as a program.
"""

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path

from elftools.elf.segments import InterpSegment

from host_tools.android_on_host import bionic
from host_tools.base import child_process, cpu_drivers, settings
from host_tools.base.errors import QuadraError
from host_tools.build import size
from host_tools.virtual_device import faults, processes
from host_tools.virtual_device.call import Call, Stopped
from host_tools.virtual_device.program import Program

ABI = "x86_64"
_LOADER = "/system/bin/linker64"
_CANNOT_EXECUTE, _NOT_FOUND = 126, 127
_KILLED = 128
_DEADLINE_S = 3600.0  # it has one of its own, from the RunSpec
_ELF = b"\x7fELF"
_CASE = "begin "


def execute(call: Call) -> int:
    """Runs the device's file call.argv[0]; returns its exit status as a shell does."""
    try:
        found = call.files.stat(call.path(call.argv[0]))
        call.files.open(call.path(call.argv[0])).close()
        program = Path(call.files.real(call.path(call.argv[0])))
    except FileNotFoundError:
        call.err(os.fsencode(f"/system/bin/sh: {call.argv[0]}: inaccessible or not found\n"))
        return _NOT_FOUND
    except OSError as error:
        return _refuse(call, "Permission denied" if error.errno == errno.EISDIR else str(error.strerror))
    reason = _refusal(program) if found.st_mode & 0o111 else "Permission denied"
    if reason:
        return _refuse(call, reason)
    one = Program(next(call.device.pids), call.argv)
    call.device.processes.add(one)
    try:
        return _run(call, program, one)
    finally:
        one.ended.set()


def _run(call: Call, program: Path, one: Program) -> int:
    words = [call.files.for_process(word, call.cwd) for word in call.argv[1:]]
    libraries = [Path(word) for word in words if word.startswith("/") and _is_elf(Path(word))]
    try:
        done = child_process.run(
            bionic.command(program, libraries, words),
            timeout_s=_DEADLINE_S,
            cwd=Path(call.files.for_process(call.cwd)),
            env=_environment(call, words),
            check=False,
            on_line=_watching(call, one, _telling(call, one, call.out)),
            on_error_line=_telling(call, one, call.err),
            stop=lambda: one.ended.is_set() or call.cancelled.is_set(),
        )
    except QuadraError as error:
        return _refuse(call, error.came_back)
    if one.dropped:
        raise one.dropped
    return done.returncode if done.returncode >= 0 else _KILLED + (one.signal or -done.returncode)


def _refusal(program: Path) -> str:
    """Why this file is not started; empty: it is."""
    if not _is_elf(program):
        return "it is no ELF file"
    try:
        with size.opened(program) as elf:
            loaders = [s.get_interp_name() for s in elf.iter_segments() if isinstance(s, InterpSegment)]
            if elf["e_machine"] != "EM_X86_64" or loaders != [_LOADER]:
                return f"it is no executable for Android {ABI}"
            return "" if size.made_by(elf) else "it is not Quadra's: this virtual device starts nothing else"
    except Exception as error:  # pushed by anybody: the parser may raise anything
        return f"its ELF parts are damaged ({error})"


def _refuse(call: Call, reason: str) -> int:
    call.err(os.fsencode(f"/system/bin/sh: {call.argv[0]}: can't execute: {reason}\n"))
    return _CANNOT_EXECUTE


def _is_elf(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == _ELF
    except (OSError, ValueError):
        return False


def _telling(call: Call, one: Program, write: Callable[[bytes], None]) -> Callable[[str], None]:
    """Writes lines, with the device's paths in place of ours. Another thread than the command's calls it."""
    root = os.fspath(call.device.root)

    def line(text: str) -> None:
        try:
            write(os.fsencode(text.replace(root, "") + "\n"))
        except Stopped:
            call.cancelled.set()
        except faults.Dropped as dropped:
            one.dropped = dropped
            call.cancelled.set()

    return line


def _watching(call: Call, one: Program, tell: Callable[[str], None]) -> Callable[[str], None]:
    """The same, until a crash that was asked for: at the beginning of a case, of a program that runs several."""

    def line(text: str) -> None:
        if not one.alive():
            return
        tell(text)
        fault = call.device.faults.due("app.run") if text.startswith(_CASE) else None
        if fault and fault.kind == "crash":
            one.send(signal.SIGSEGV)

    return line


def _environment(call: Call, words: list[str]) -> dict[str, str]:
    """Threads as the RunSpec in `--folder` says: a phone's GPU has nothing of the kind to be told. What is wrong with
    the device's GPU is so for every program. Kernels of cases run once: optimising them would take most of the time."""
    folder = words[words.index("--folder") + 1] if "--folder" in words[:-1] else ""
    cache = settings.make_folder(settings.read().driver_cache_dir, "QUADRA_DRIVER_CACHE_DIR")
    env = {**cpu_drivers.settings(processes.threads(folder)), **cpu_drivers.caches(cache)}
    if "--cases" in words:
        once = settings.make_folder(cache / "unoptimised", "QUADRA_DRIVER_CACHE_DIR")
        env |= {**cpu_drivers.UNOPTIMISED, **cpu_drivers.caches(once)}
    for fault in call.device.faults.all():
        env |= faults.planted(fault)
    return env
