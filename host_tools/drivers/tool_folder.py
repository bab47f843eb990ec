"""Folders of the tools folder that are made once: whole, or not there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from host_tools.base import file_lock, settings


def driver_folder(name: str) -> Path:
    """The place of what one row fetched."""
    return settings.read().tools_dir / "drivers" / name


def make(place: Path, fill: Callable[[Path], None]) -> None:
    """Fills a new folder beside `place`, then renames it. One process at a time; nothing happens where `place` is there."""
    if place.exists():
        return
    settings.make_folder(place.parent, "QUADRA_TOOLS_DIR")
    with file_lock.held(place.parent / f".{place.name}.lock"):
        if place.exists():  # another process made it meanwhile
            return
        prefix = f".new-{place.name}-"
        for left in place.parent.glob(f"{prefix}*"):  # by a process that was killed: whoever lives has the lock
            shutil.rmtree(left, ignore_errors=True)
        new = Path(tempfile.mkdtemp(prefix=prefix, dir=place.parent))
        try:
            fill(new)
            new.chmod(0o755)
            new.rename(place)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
