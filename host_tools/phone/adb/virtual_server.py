"""The adb server of virtual devices: adbutils' bundled adb on a port of its own. So virtual devices do not appear in
the user's tools, and the faults that they inject, some of which end a server, do not reach the user's server.

All processes of the toolkit share it. Each holds a shared lock while it uses it; the last one stops it when it ends.
One that was killed leaves the server to the next, which stops it in its turn. A server that we did not start (the
port of settings is somebody else's) is used and never stopped.
"""

import atexit
import json
import math
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import adbutils

from host_tools.base import child_process, file_lock, portable, settings
from host_tools.base.errors import DeviceError, DeviceTimedOut, ToolMissing
from host_tools.phone.adb.server_connection import Deadline, version

_POLL_S = 0.01
_START_S = 15.0
# It has the devices that we connect: none of USB, of the network or of the emulators' ports. An adb of another version
# does not stop it.
_ALONE = {"ADB_USB": "0", "ADB_MDNS": "0", "ADB_EMU": "0", "ADB_REJECT_KILL_SERVER": "1"}
_USES: dict[int, int] = {}  # port: the file whose shared lock says that this process uses the server
_USING = threading.Lock()
_CHILDREN: list[subprocess.Popen[bytes]] = []


def adb() -> Path:
    """The adb that came with adbutils; where that has none for this machine, the one of PATH."""
    bundled = Path(adbutils.__file__).parent / "binaries" / "adb"
    if bundled.is_file():
        return bundled
    try:
        return Path(adbutils.adb_path())
    except Exception as error:  # adbutils raises its plain base class here
        raise ToolMissing("find adb", str(error), "install Android's platform tools and put adb on PATH") from error


def port() -> int:
    return settings.read().adb_port


def up(deadline: Deadline) -> bool:
    """Makes sure that the server answers. Returns whether it had to be started."""
    number = port()
    first = number not in _USES
    _use(number)
    if answers(number):
        if first:
            _check_user(number)
        return False
    with file_lock.held(_file(number, "start"), deadline.left()):
        if answers(number):
            return False
        _start(number, deadline)
    return True


def answers(number: int) -> bool:
    """Whether an adb server listens on the port."""
    return version("127.0.0.1", number) is not None


def stop(number: int | None = None) -> bool:
    """Stops the server, if it is ours, whoever uses it. Returns whether it was there."""
    number = port() if number is None else number
    record = _file(number, "json")
    pid = _recorded(record)
    record.unlink(missing_ok=True)
    if pid is None or not _is_adb(pid, number):
        return False
    _end(pid, number)
    (Path.home() / ".android" / f"adb.{number}").unlink(missing_ok=True)  # adb writes its path there and leaves it
    return True


def _end(pid: int, number: int) -> None:
    for name in (signal.SIGTERM, portable.KILL):
        try:
            os.kill(pid, name)
        except ProcessLookupError:
            return
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            _reap()
            if not _is_adb(pid, number):
                return
            time.sleep(_POLL_S)


def leave() -> None:
    """This process needs the server no more; stops it where no other process does."""
    for number, handle in list(_USES.items()):
        del _USES[number]
        try:
            if file_lock.alone(handle):
                stop(number)
        finally:
            os.close(handle)


def _use(number: int) -> None:
    with _USING:
        if number in _USES:
            return
        # Held against us only while a last user stops the server.
        handle = file_lock.acquire(_file(number, "users"), shared=True, wait_s=math.inf)
        assert handle is not None, "it waits as long as it takes"
        if not _USES:
            atexit.register(leave)
        _USES[number] = handle


def _start(number: int, deadline: Deadline) -> None:
    stop(number)  # one that hangs: it holds the port
    log = _file(number, "log")
    process = child_process.start_detached([adb(), "-P", number, "nodaemon", "server"], log=log, env=_ALONE)
    _CHILDREN.append(process)
    try:
        _file(number, "json").write_text(json.dumps({"pid": process.pid, "port": number}), encoding="utf-8")
        end = time.monotonic() + min(_START_S, deadline.left())
        while not answers(number):
            if process.poll() is not None:
                raise _not_started(number, log, f"it ended with status {process.returncode}")
            if time.monotonic() > end:
                raise DeviceTimedOut(*_not_started(number, log, "it does not answer").args, step="start the adb server")
            time.sleep(_POLL_S)
    except BaseException:
        stop(number)
        raise


def _check_user(number: int) -> None:
    """A virtual device refuses other users' servers, and all that the toolkit would see is that nothing answers."""
    user = portable.other_user_of_port(number)
    if not user:
        return
    raise DeviceError(
        f"use the adb server of virtual devices on port {number}",
        f"another user of this machine started it ({user}), and your devices refuse other users",
        f"set QUADRA_ADB_PORT to a port of your own, such as {number + 1}, for all that you start",
        step="start the adb server",
    )


def _not_started(number: int, log: Path, reason: str) -> DeviceError:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:] if log.exists() else []
    came_back = reason + "".join(f"\n  | {line}" for line in lines)
    do_next = f"set QUADRA_ADB_PORT to a port that is free, if another program holds {number}"
    return DeviceError(
        f"start the adb server of virtual devices on port {number}", came_back, do_next, step="start the adb server"
    )


def _file(number: int, kind: str) -> Path:
    return settings.make_folder(settings.read().devices_dir, "QUADRA_DEVICES_DIR") / f".adb-{number}.{kind}"


def _recorded(record: Path) -> int | None:
    try:
        pid = json.loads(record.read_text(encoding="utf-8"))["pid"]
        return pid if isinstance(pid, int) and pid > 1 else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_adb(pid: int, number: int) -> bool:
    """Whether the process lives and is that server: a number is given to another process, in time."""
    if Path("/proc/self").exists():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
    else:
        listed = child_process.run(["ps", "-p", pid, "-o", "args="], timeout_s=10, check=False)
        words = listed.stdout.encode().split()
    return b"nodaemon" in words and str(number).encode() in words


def _reap() -> None:
    _CHILDREN[:] = [child for child in _CHILDREN if child.poll() is None]
