"""Whose process is at the other end of a connection on the loopback.

A device runs what its owner's adb installs. Another user of the machine can reach the port, too, and must not.
"""

import os
import socket
import struct
from collections.abc import Iterator

Address = tuple[str, int]
_TABLE = "/proc/net/tcp"
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST = 4, 20, 1
_UID_AT = 64  # in struct inet_diag_msg: 4 bytes, 48 of addresses, then expires, rqueue, wqueue, uid
_TRIES = 3  # the table may change while it is read


def allowed(peer: socket.socket) -> bool:
    """Whether the connection is of this process's user, or of root. Without Linux's table of connections: yes."""
    if not os.path.exists(_TABLE):
        return True
    for _ in range(_TRIES):
        uid = user_of(peer)
        if uid is not None:
            return uid in (0, os.geteuid())
    return False


def user_of(peer: socket.socket) -> int | None:
    """The user whose socket the other end is; None when the kernel does not know it."""
    try:
        there, here = peer.getpeername(), peer.getsockname()
    except OSError:
        return None
    try:
        return _asked(there, here)
    except (OSError, AttributeError):  # a kernel without sock_diag
        return next((uid for local, remote, uid in _rows() if (local, remote) == (there[1], here[1])), None)


def _asked(there: Address, here: Address) -> int | None:
    """By asking the kernel for this one socket, which is a thousand times quicker than to read its whole table."""
    ports = struct.pack(">HH", there[1], here[1])
    addresses = b"".join(socket.inet_aton(name).ljust(16, b"\0") for name, _ in (there, here))
    wanted = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + ports + addresses
    wanted += struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
    request = struct.pack("=IHHII", 16 + len(wanted), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0) + wanted
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(1.0)
        kernel.send(request)
        reply = kernel.recv(8192)
    if len(reply) < 16 + 68 or struct.unpack_from("=H", reply, 4)[0] != _SOCK_DIAG_BY_FAMILY:
        return None
    uid: int = struct.unpack_from("=I", reply, 16 + _UID_AT)[0]
    return uid


def _rows() -> Iterator[tuple[int, int, int]]:
    """Local port, remote port and user of each connection between addresses of the loopback."""
    with open(_TABLE, encoding="ascii") as file:
        rows = [line.split() for line in file.read().splitlines()[1:]]
    for words in rows:
        if all(word.startswith(_LOOPBACK) for word in words[1:3]):
            yield int(words[1][9:], 16), int(words[2][9:], 16), int(words[7])


# As the kernel prints it: a word of four bytes, in this machine's order.
_LOOPBACK = f"{struct.unpack('=I', bytes([127, 0, 0, 1]))[0]:08X}:"
