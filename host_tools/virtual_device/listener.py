"""Who waits for connections on this machine, and whom they may be from: processes of its own user, and of root.

A device runs what its owner's adb installs. Another user of the machine can reach the port, too, and must not.
"""

import contextlib
import os
import socket
import socketserver
import struct
import threading
from collections.abc import Callable

_TABLE = "/proc/net/tcp"
_TRIES = 3  # the table may change while it is read


class Listener(socketserver.ThreadingTCPServer):
    """Listens on 127.0.0.1 (port 0: one that is free) and serves each connection that is allowed in a thread of its own.

    `refused` is called for each other one. OSError: the port is taken.
    """

    allow_reuse_address = daemon_threads = True
    request_queue_size = 64

    def __init__(
        self, serve: Callable[[socket.socket], None], port: int = 0, refused: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(("127.0.0.1", port), lambda peer, *_: serve(peer))  # type: ignore[arg-type]
        self._refused = refused
        self.port: int = self.socket.getsockname()[1]
        threading.Thread(target=self.serve_forever, daemon=True, name=f"port {self.port}").start()

    def verify_request(self, request: object, client_address: object) -> bool:
        known = isinstance(request, socket.socket) and allowed(request)
        if not known:
            self._refused()
        return known

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # wakes who waits, at once
        self.shutdown()
        self.server_close()


def allowed(peer: socket.socket) -> bool:
    """Whether the other end of a connection is a socket of this process's user, or of root."""
    for _ in range(_TRIES):
        uid = user_of(peer)
        if uid is not None:
            return uid in (0, os.geteuid())
    return False


def user_of(peer: socket.socket) -> int | None:
    """The user whose socket the other end is; None when the kernel does not know it."""
    try:
        ends = [_as_in_table(address) for address in (peer.getpeername(), peer.getsockname())]
        with open(_TABLE, encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return None
    return next((int(row[7]) for row in rows if row[1:3] == ends), None)


def _as_in_table(address: tuple[str, int]) -> str:
    """The kernel prints the four bytes of an address as one number, in this machine's order."""
    number: int = struct.unpack("=I", socket.inet_aton(address[0]))[0]
    return f"{number:08X}:{address[1]:04X}"
