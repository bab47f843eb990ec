"""Whose process is at the other end of a connection on the loopback.

A device runs what its owner's adb installs. Another user of the machine can reach the port, too, and must not.
"""

import os
import socket
import struct
from typing import Iterator, Optional

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST = 4, 20, 1
_UID_AT = 64  # in struct inet_diag_msg: 4 bytes, 48 of addresses, then expires, rqueue, wqueue, uid
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
    """The user whose socket the other end is; None when the kernel does not know it."""
    try:
        there, here = peer.getpeername(), peer.getsockname()
    except OSError:
        return None
    try:
        return _asked(peer.family, there, here)
    except (OSError, AttributeError):
        pass  # a kernel without sock_diag
    for table in _TABLES:
        for local, remote, uid in _rows(table):
            if (local, remote) == (there[1], here[1]):
                return uid
    return None


def _asked(family: int, there: tuple, here: tuple) -> Optional[int]:
    """By asking the kernel for this one socket, which is a thousand times quicker than to read its whole table."""
    ports = struct.pack(">HH", there[1], here[1])
    addresses = b"".join(socket.inet_pton(family, name[0]).ljust(16, b"\0") for name in (there, here))
    wanted = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + ports + addresses
    wanted += struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
    request = struct.pack("=IHHII", 16 + len(wanted), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0) + wanted
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(1.0)
        kernel.send(request)
        reply = kernel.recv(8192)
    if len(reply) < 16 + 68 or struct.unpack_from("=H", reply, 4)[0] != _SOCK_DIAG_BY_FAMILY:
        return None
    return struct.unpack_from("=I", reply, 16 + _UID_AT)[0]


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
