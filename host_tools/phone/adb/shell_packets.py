"""Commands on a device: shell protocol v2, which keeps the two outputs and the exit status apart."""

import codecs
import struct
from collections.abc import Callable

from host_tools.phone.adb.server_connection import Connection

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = 0, 1, 2, 3, 4
_HEAD = struct.Struct("<BI")
_PACKET_LIMIT_BYTES = 1 << 24
_LINE_LIMIT = 1 << 16


def read(connection: Connection, on_output: Callable[[int, bytes], None]) -> int:
    """Gives each piece of output (STDOUT or STDERR) to `on_output`; returns the exit status.

    EOFError: the stream ended before the status came. ValueError: it is not the protocol.
    """
    while True:
        kind, length = _HEAD.unpack(connection.exact(_HEAD.size))
        if kind == EXIT:
            if length != 1:
                raise ValueError(f"an exit status of {length} bytes")
            return connection.exact(1)[0]
        if kind not in (STDOUT, STDERR) or length > _PACKET_LIMIT_BYTES:
            raise ValueError(f"a packet of kind {kind} and {length} bytes")
        while length:
            piece = connection.exact(min(length, 1 << 18))
            length -= len(piece)
            on_output(kind, piece)


class Texts:
    """Collects the outputs as text, and tells of each line as it comes. More than the limit is a ValueError."""

    def __init__(self, limit_bytes: int, on_line: Callable[[str], None] | None) -> None:
        self._limit, self._on_line, self._count = limit_bytes, on_line, 0
        self._pieces: list[list[bytes]] = [[], []]
        self._rests = ["", ""]
        self._decoders = [codecs.getincrementaldecoder("utf-8")("replace") for _ in range(2)]

    def take(self, kind: int, piece: bytes) -> None:
        self._count += len(piece)
        if self._count > self._limit:
            raise ValueError(f"more than {self._limit} bytes of output")
        which = kind - STDOUT
        self._pieces[which].append(piece)
        if self._on_line:
            *lines, self._rests[which] = (self._rests[which] + self._decoders[which].decode(piece)).split("\n")
            if len(self._rests[which]) > _LINE_LIMIT:
                lines, self._rests[which] = [*lines, self._rests[which]], ""
            for line in lines:
                self._on_line(line.rstrip("\r"))

    def end(self) -> None:
        """The last lines, which nothing ends."""
        for rest in self._rests:
            if rest and self._on_line:
                self._on_line(rest)

    def text(self, kind: int) -> str:
        return b"".join(self._pieces[kind - STDOUT]).decode("utf-8", "replace")
