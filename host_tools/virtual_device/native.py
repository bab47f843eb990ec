"""Programs that a client has pushed and starts: Quadra's own runner, and nothing else.

It must be an executable for Android x86_64 that carries Quadra's note. It runs on this machine inside the libraries of
host_tools/bionic, with this machine's drivers; what it is told of the device's files are paths in the sandbox. The
note keeps accidents away, not attackers: a library that the runner loads is as good as a program.
"""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Callable, Dict, List

from host_tools import bionic, settings, shell, size
from host_tools.errors import QuadraError
from host_tools.place import drivers

if TYPE_CHECKING:
    from host_tools.virtual_device.call import Call

ABI = "x86_64"
_LOADER = "/system/bin/linker64"
_CANNOT_EXECUTE = 126
_KILLED = 128
_DEADLINE_S = 3600.0  # it has one of its own, from the RunSpec
_ELF = b"\x7fELF"


def execute(call: "Call", program: Path) -> int:
    """Runs the file `program` of the sandbox as call.argv[0]; returns its exit status as a shell does."""
    reason = _refusal(program)
    if reason:
        return _refuse(call, reason)
    words = [_real(call, word) for word in call.argv[1:]]
    libraries = [Path(word) for word in words if word.startswith("/") and _is_elf(Path(word))]
    try:
        argv = bionic.command(program, libraries, words)
        done = shell.run(
            argv,
            timeout_s=_DEADLINE_S,
            cwd=Path(_real(call, call.cwd)),
            env={**_drivers(words), **_planted(call)},
            check=False,
            on_line=_telling(call, call.out),
            on_error_line=_telling(call, call.err),
            stop=call.cancelled,
        )
    except QuadraError as error:
        return _refuse(call, error.came_back)
    return done.returncode if done.returncode >= 0 else _KILLED - done.returncode


def _refusal(program: Path) -> str:
    """Why this file is not started; empty: it is."""
    if not _is_elf(program):
        return "it is no ELF file"
    try:
        with size.opened(program) as elf:
            loaders = [s.get_interp_name() for s in elf.iter_segments() if s["p_type"] == "PT_INTERP"]
            if elf["e_machine"] != "EM_X86_64" or loaders != [_LOADER]:
                return f"it is no executable for Android {ABI}"
            return "" if size.made_by(elf) else "it is not Quadra's: this virtual device starts nothing else"
    except Exception as error:  # pushed by anybody: the parser may raise anything
        return f"its ELF parts are damaged ({error})"


def _refuse(call: "Call", reason: str) -> int:
    call.err(os.fsencode(f"/system/bin/sh: {call.argv[0]}: can't execute: {reason}\n"))
    return _CANNOT_EXECUTE


def _is_elf(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == _ELF
    except (OSError, ValueError):
        return False


def _real(call: "Call", word: str) -> str:
    """A word of the command line; a path of the device becomes one of this machine."""
    if "/" not in word and word != "..":
        return word
    try:
        return call.files.real(call.path(word))
    except OSError:
        return os.devnull + "/" + os.path.basename(word)  # nothing is there, as on the device


def _telling(call: "Call", write: Callable[[bytes], None]) -> Callable[[str], None]:
    """Writes lines, with the device's paths in place of ours."""
    from host_tools.virtual_device.call import Stopped

    root = os.fspath(call.device.root)

    def line(text: str) -> None:
        try:
            write(os.fsencode(text.replace(root, "") + "\n"))
        except Stopped:
            call.cancelled.set()

    return line


def _planted(call: "Call") -> Dict[str, str]:
    """What is wrong with the device's GPU is so for every program."""
    from host_tools.virtual_device.instrument import PLANTED

    found = [f for f in call.device.faults.all() if f.kind in PLANTED and not f.cleared.is_set()]
    return {PLANTED[f.kind][0]: f"{f.value or PLANTED[f.kind][1]:g}" for f in found}


def _drivers(words: List[str]) -> Dict[str, str]:
    """As many threads as the RunSpec in `--folder` asks for: a phone's GPU has nothing of the kind to be told."""
    try:
        folder = Path(words[words.index("--folder") + 1])
        threads = int(json.loads((folder / "spec.json").read_text(encoding="utf-8"))["threads"])
    except (ValueError, IndexError, KeyError, TypeError, OSError):
        threads = 1
    cache = settings.make_folder(settings.read().driver_cache_dir, "QUADRA_DRIVER_CACHE_DIR")
    return {**drivers.settings(max(1, min(threads, 64))), **drivers.caches(cache)}
