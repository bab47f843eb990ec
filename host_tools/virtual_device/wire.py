"""Messages of the adb protocol: 24 bytes of header, then the payload. All numbers are little endian."""

import socket
import struct
from dataclasses import dataclass

VERSION = 0x01000001  # from this version on, checksums are not used
MAX_PAYLOAD = 1 << 20
MAX_HANDSHAKE = 4096  # of CNXN and AUTH, which come before both sides know each other's limit

_HEADER = struct.Struct("<6I")


def word(text: bytes) -> int:
    """The number of a command word, e.g. b"CNXN"."""
    return int.from_bytes(text, "little")


CNXN, AUTH, OPEN, OKAY, CLSE, WRTE = (word(w) for w in (b"CNXN", b"AUTH", b"OPEN", b"OKAY", b"CLSE", b"WRTE"))

AUTH_TOKEN, AUTH_SIGNATURE, AUTH_PUBLIC_KEY = 1, 2, 3


class BadMessage(Exception):
    """What came is not a message of this protocol; the connection cannot go on."""


@dataclass(frozen=True)
class Message:
    command: int
    arg0: int
    arg1: int
    payload: bytes = b""

    def name(self) -> str:
        return self.command.to_bytes(4, "little").decode("ascii", "replace")

    def encoded(self) -> bytes:
        header = _HEADER.pack(self.command, self.arg0, self.arg1, len(self.payload), 0, self.command ^ 0xFFFFFFFF)
        return header + self.payload


def receive(connection: socket.socket) -> Message:
    """The next message. EOFError when the other side has ended; BadMessage when it is none."""
    command, arg0, arg1, length, _, magic = _HEADER.unpack(_exactly(connection, _HEADER.size))
    if magic != command ^ 0xFFFFFFFF:
        raise BadMessage(f"magic {magic:08x} does not belong to command {command:08x}")
    limit = MAX_HANDSHAKE if command in (CNXN, AUTH) else MAX_PAYLOAD
    if length > limit:
        raise BadMessage(f"{length} bytes of payload, more than {limit}")
    return Message(command, arg0, arg1, _exactly(connection, length))


def _exactly(connection: socket.socket, count: int) -> bytes:
    got = bytearray()
    while len(got) < count:
        piece = connection.recv(count - len(got), socket.MSG_WAITALL)
        if not piece:
            raise EOFError
        got += piece
    return bytes(got)
