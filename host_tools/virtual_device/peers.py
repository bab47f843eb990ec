"""Whose process is at the other end of a connection on the loopback.

A device runs what its owner's adb installs. Another user of the machine can reach the port, too, and must not.
"""

import os
import socket
import struct
from typing import Iterator, Optional

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_TRIES = 3  # the table may change while it is read


def allowed(peer: socket.socket) -> bool:
    """Whether the connection is of this process's user, or of root. Without Linux's table of connections: yes."""
    if not os.path.exists(_TABLES[0]):
        return True
    for _ in range(_TRIES):
        uid = user_of(peer)
        if uid is not None:
            return uid in (0, os.geteuid())
    return False


def user_of(peer: socket.socket) -> Optional[int]:
    """The user whose socket the other end is; None when the table does not have it."""
    try:
        there, here = peer.getpeername()[1], peer.getsockname()[1]
    except OSError:
        return None
    for table in _TABLES:
        for local, remote, uid in _rows(table):
            if local == there and remote == here:
                return uid
    return None


def _rows(table: str) -> Iterator[tuple]:
    """Local port, remote port and user of each connection between addresses of the loopback."""
    try:
        with open(table, encoding="ascii") as file:
            lines = file.read().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        words = line.split()
        if len(words) > 7 and _loopback(words[1]) and _loopback(words[2]):
            yield int(words[1].rpartition(":")[2], 16), int(words[2].rpartition(":")[2], 16), int(words[7])


_LOOPBACKS = {
    # As the kernel prints them: words of four bytes, each in this machine's order.
    "".join(f"{word:08X}" for word in struct.unpack(f"={len(address) // 4}I", address))
    for address in (
        bytes([127, 0, 0, 1]),
        bytes(15) + b"\x01",
        bytes(10) + b"\xff\xff" + bytes([127, 0, 0, 1]),
    )
}


def _loopback(text: str) -> bool:
    return text.rpartition(":")[0] in _LOOPBACKS
