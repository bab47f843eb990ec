"""Locks on files: one process at a time, or several that share. The system frees a lock when its owner ends, however it ends."""

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from host_tools.base import portable

_POLL_S = 0.02
_LOOK_S = 0.5  # is_held has a lock for a moment: that is no reason to give up


def acquire(path: Path, *, shared: bool = False, wait_s: float = 0.0) -> int | None:
    """A descriptor that has the lock of the file, which is made where there is none; None: it was not free within `wait_s`.

    os.close frees the lock.
    """
    handle = portable.opened(path, os.O_RDWR | os.O_CREAT, links=False)
    end = time.monotonic() + max(wait_s, _LOOK_S)
    try:
        while not portable.lock(handle, shared=shared):
            if time.monotonic() >= end:
                os.close(handle)
                return None
            time.sleep(_POLL_S)
    except BaseException:
        os.close(handle)
        raise
    return handle


@contextmanager
def held(path: Path, wait_s: float = math.inf) -> Iterator[int]:
    """Has the lock meanwhile. TimeoutError where it was not free in time."""
    handle = acquire(path, wait_s=wait_s)
    if handle is None:
        raise TimeoutError
    try:
        yield handle
    finally:
        os.close(handle)


def alone(handle: int) -> bool:
    """Makes a shared lock an exclusive one; false where another process shares it."""
    return portable.lock(handle)


def is_held(path: Path) -> bool:
    """Whether a process has the file's lock for itself."""
    try:
        handle = portable.opened(path)
    except OSError:
        return False
    try:
        return not portable.lock(handle, shared=True)
    finally:
        os.close(handle)
