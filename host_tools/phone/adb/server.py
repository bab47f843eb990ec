"""The two adb servers: the user's, with phones and emulators, and one of our own, with virtual devices.

The user's is where adb itself looks for it (settings.AdbServer). Where none answers, `adb start-server` starts it; it
keeps running, as after any adb command. Nothing here stops it: other programs use it.
"""

import shutil
import sys
from dataclasses import dataclass

from host_tools.base import child_process, file_lock, settings
from host_tools.base.errors import CommandFailed, CommandTimedOut, DeviceError
from host_tools.phone.adb import virtual_server
from host_tools.phone.adb.server_connection import Connection, Deadline, listens, version

VERSION = 41  # of the protocol between adb and its server that we speak; adb 1.0.41 has had it since 2018
_START_S = 20.0  # a scan of all USB ports takes seconds on some machines
_LOCAL = ("localhost", "127.0.0.1", "::1")
_noted: set[tuple[str, int]] = set()  # servers of another version, each told once


@dataclass(frozen=True)
class Server:
    """Where an adb server listens. virtual: ours, with virtual devices."""

    host: str
    port: int
    virtual: bool

    def up(self, deadline: Deadline) -> bool:
        """Makes sure that the server answers. Returns whether it had to be started."""
        return virtual_server.up(deadline) if self.virtual else _users_up(self, deadline)

    def ask(self, request: str, deadline: Deadline) -> str:
        """The server's answer to a request that it answers itself, with a text."""
        with Connection(self.host, self.port, deadline) as connection:
            connection.request(request)
            return connection.block()


def of(*, virtual: bool) -> Server:
    """The server that has virtual devices, or the one that has all others."""
    config = settings.read()
    if virtual:
        return Server("127.0.0.1", config.adb_port, True)
    return Server(config.adb_server.host, config.adb_server.port, False)


def _users_up(server: Server, deadline: Deadline) -> bool:
    found = version(server.host, server.port)
    if found is None:
        _start(server, deadline)
        return True
    if found != VERSION and (server.host, server.port) not in _noted:
        _noted.add((server.host, server.port))
        print(_other_version(server, found), file=sys.stderr)
    return False


def _other_version(server: Server, found: int) -> str:
    return (
        f"note: the adb server at {server.host}:{server.port} has version {found}, Quadra's adb {VERSION}: it is used as it"
        " is, and not stopped\n  next: if devices are missing or refuse commands, update the adb that started it"
        " (`adb version`), then `adb kill-server`"
    )


def _start(server: Server, deadline: Deadline) -> None:
    tried = f"reach the adb server at {server.host}:{server.port}"
    if server.host not in _LOCAL:
        do_next = "start it on that machine (`adb -a nodaemon server start`), or unset ANDROID_ADB_SERVER_ADDRESS"
        raise DeviceError(tried, "no adb server answers there", do_next, step="adb server")
    folder = settings.make_folder(settings.read().devices_dir, "QUADRA_DEVICES_DIR")
    do_next = f"end the program that listens on port {server.port}, or set ANDROID_ADB_SERVER_PORT to another port"
    with file_lock.held(folder / f".adb-user-{server.port}.start", deadline.left()):
        if version(server.host, server.port) is not None:
            return
        if listens(server.host, server.port):  # adb would wait for its answer
            raise DeviceError(tried, "what listens there does not answer as an adb server", do_next, step="adb server")
        # The user's own adb first: a client of another version would stop the server.
        argv = [shutil.which("adb") or virtual_server.adb(), "-P", server.port, "start-server"]
        try:
            child_process.run(argv, timeout_s=min(_START_S, deadline.left()))
        except (CommandFailed, CommandTimedOut) as error:
            raise DeviceError(tried, error.came_back, do_next, step="adb server") from error
