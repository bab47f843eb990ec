"""What runs when a command is a path: a script, or an ELF program that somebody offers to run."""

import os
from pathlib import Path
from typing import Optional

from host_tools.virtual_device import native
from host_tools.virtual_device.call import Call, run

_MAX_SCRIPT = 1 << 20


def run_path(call: Call, path: str) -> int:
    """As `call.argv` whose first word is this device path."""
    name = call.argv[0]
    folder, _, base = path.rpartition("/")
    if folder in ("/system/bin", "/bin"):
        return run(call)
    try:
        found = call.files.stat(path)
        if call.files.is_folder(path):
            return _cannot(call, name, "Permission denied")
        with call.files.open(path, "rb") as file:
            head = file.read(4)
            text = head + (file.read(_MAX_SCRIPT) if head != b"\x7fELF" else b"")
    except OSError as error:
        if error.errno == 2:
            call.err(os.fsencode(f"/system/bin/sh: {name}: inaccessible or not found\n"))
            return 127
        return _cannot(call, name, error.strerror)
    if not found.mode & 0o111:
        return _cannot(call, name, "Permission denied")
    if head == b"\x7fELF":
        return native.execute(call, Path(call.files.real(path)))
    from host_tools.virtual_device.shell import run_text

    return run_text(call, os.fsdecode(text), tuple(call.argv[1:]))


def _cannot(call: Call, name: str, why: Optional[str]) -> int:
    call.err(os.fsencode(f"/system/bin/sh: {name}: can't execute: {why}\n"))
    return 126
