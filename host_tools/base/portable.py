"""What POSIX systems and Windows have differently. No other file of what is installed uses what only POSIX has."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

try:
    import fcntl
    import resource
except ImportError:  # Windows
    fcntl = resource = None  # type: ignore[assignment]

LOCKS_FOLDERS = fcntl is not None  # else nothing says who works in a folder, and nobody clears up behind another
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FOLDER, _NO_LINK, _NO_WAIT = (getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK"))
_FAR = 1 << 30  # Windows lets nobody read a byte that is locked: this is one that no file of ours has


def opened(path: Path, flags: int = os.O_RDONLY, mode: int = 0o600, *, links: bool = True, waits: bool = True) -> int:
    """A descriptor that no child inherits. links: of what a link leads to, too. waits: for the writer of a pipe."""
    return os.open(path, flags | _PLAIN | (0 if links else _NO_LINK) | (0 if waits else _NO_WAIT), mode)


def opened_folder(path: Path, *, links: bool = True) -> int:
    """A descriptor of a folder, to lock it: where LOCKS_FOLDERS."""
    return opened(path, os.O_RDONLY | _FOLDER, links=links)


def lock(handle: int, *, shared: bool = False, waits: bool = False) -> bool:
    """Locks an open file or folder until it is closed; false: another process has it. OSError: the file system has no locks."""
    if fcntl is not None:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if waits else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True
    msvcrt = importlib.import_module("msvcrt")  # whose locks are for one process alone
    before = os.lseek(handle, 0, os.SEEK_CUR)
    os.lseek(handle, _FAR, os.SEEK_SET)
    try:
        msvcrt.locking(handle, msvcrt.LK_LOCK if waits else msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    finally:
        os.lseek(handle, before, os.SEEK_SET)
    return True


def is_mine(facts: os.stat_result) -> bool:
    """Whether a file belongs to the user of this process."""
    return not hasattr(os, "geteuid") or facts.st_uid == os.geteuid()


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def end_group(pid: int, number: int) -> None:
    """Sends a signal to a process that was started in a session of its own, and to all that it started. On Windows it ends."""
    if hasattr(os, "killpg"):
        os.killpg(pid, number)
    else:
        os.kill(pid, number)


def cpus() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_cores(cores: Sequence[int]) -> bool:
    """This process, and what it starts from now on, runs on these processor cores only. False: the system has no such call. An
    OSError: none of them is there, or may be used."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, cores)
    return True


def load() -> list[float]:
    """How many processes wanted to run in the last 1, 5 and 15 minutes; zeros where the system does not say."""
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else [0.0] * 3


def peak_rss_bytes() -> int:
    """The most memory that this process had; 0 where the system does not say."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 if resource is not None else 0


def other_user_of_port(port: int) -> str:
    """The name of the user, neither root nor this one, who listens on a port of 127.0.0.1; empty: there is none, or it is not known."""
    try:
        import pwd

        with open("/proc/net/tcp", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except (ImportError, OSError):  # not Linux
        return ""
    ends = {
        f"{address}:{port:04X}" for address in ("00000000", "0100007F", "7F000001")
    }  # any, and 127.0.0.1 in both orders
    users = {int(row[7]) for row in rows[1:] if row[1] in ends and row[3] == "0A"}  # 0A: it listens
    for user in users - {0, os.geteuid()}:
        try:
            return pwd.getpwuid(user).pw_name
        except KeyError:
            return f"user {user}"
    return ""
