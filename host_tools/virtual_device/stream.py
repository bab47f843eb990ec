"""One stream of an adb connection: bytes both ways, one WRTE in flight per direction, as the protocol asks."""

import threading
from collections import deque
from typing import TYPE_CHECKING

from host_tools.virtual_device import wire

if TYPE_CHECKING:
    from host_tools.virtual_device.connection import Connection

_HELD_IN = 4 << 20  # bytes that may wait to be read here before the host's next WRTE is not answered
_HELD_OUT = 2 << 20  # bytes that may wait to be sent before write() waits


class StreamClosed(Exception):
    """The host has closed the stream, or the connection is gone."""


class Stream:
    """`closed` is set as soon as nobody listens any more: commands end when they see it."""

    def __init__(self, connection: "Connection", local: int, remote: int, service: str) -> None:
        self.connection, self.local, self.remote, self.service = connection, local, remote, service
        self.closed = threading.Event()
        self._changed = threading.Condition()
        self._in: deque[memoryview] = deque()
        self._in_bytes = 0
        self._owes_okay = False
        self._out = bytearray()
        self._in_flight = False
        self._ended = False  # we have said CLSE

    # What the connection's reader calls.

    def fed(self, data: bytes) -> None:
        """The host sent `data`; it is told to go on unless too much waits here already."""
        with self._changed:
            if data:
                self._in.append(memoryview(data))
                self._in_bytes += len(data)
            self._owes_okay = self._in_bytes > _HELD_IN
            owes = self._owes_okay
            self._changed.notify_all()
        if not owes:
            self._say(wire.OKAY)

    def acknowledged(self) -> None:
        """The host took our last WRTE."""
        with self._changed:
            self._in_flight = False
            self._send_next()
            self._changed.notify_all()

    def lost(self) -> None:
        """The host closed the stream, or the connection ended."""
        with self._changed:
            self.closed.set()
            self._changed.notify_all()

    # What services call.

    def read_some(self, limit: int) -> memoryview:
        """1..limit bytes as soon as there are any; empty at the end."""
        with self._changed:
            while not self._in:
                if self.closed.is_set() or self._ended:
                    return memoryview(b"")
                self._changed.wait()
            head = self._in[0]
            if len(head) <= limit:
                self._in.popleft()
                piece = head
            else:
                piece, self._in[0] = head[:limit], head[limit:]
            self._in_bytes -= len(piece)
            owes, self._owes_okay = self._owes_okay, self._owes_okay and self._in_bytes > _HELD_IN // 2
            owes = owes and not self._owes_okay
        if owes:
            self._say(wire.OKAY)
        return piece

    def read(self, count: int) -> bytes:
        """Exactly `count` bytes; StreamClosed when they do not come."""
        got = self.read_some(count) if count else memoryview(b"")
        if len(got) == count:
            return bytes(got)
        whole = bytearray(got)
        while len(whole) < count:
            piece = self.read_some(count - len(whole))
            if not piece:
                raise StreamClosed
            whole += piece
        return bytes(whole)

    def write(self, data: bytes) -> None:
        """Sends `data`; returns when it is on its way or waits in a short queue."""
        with self._changed:
            while len(self._out) > _HELD_OUT and not self.closed.is_set():
                self._changed.wait()
            if self.closed.is_set() or self._ended:
                raise StreamClosed
            self._out += data
            self._send_next()

    def flush(self) -> None:
        """Waits until the host has taken all that was written."""
        with self._changed:
            while (self._out or self._in_flight) and not self.closed.is_set():
                self._changed.wait()

    def close(self) -> None:
        """Sends what is left, then ends the stream. Harmless when it has ended."""
        self.flush()
        with self._changed:
            if self._ended:
                return
            self._ended = True
            told = self.closed.is_set()
            self.closed.set()
            self._changed.notify_all()
        if not told:
            self._say(wire.CLSE)
        self.connection.forget(self)

    def _send_next(self) -> None:
        if self._in_flight or not self._out or self.closed.is_set():
            return
        size = min(len(self._out), self.connection.max_payload)
        piece = bytes(memoryview(self._out)[:size])
        del self._out[:size]
        self._in_flight = True
        self.connection.send(wire.Message(wire.WRTE, self.local, self.remote, piece))

    def _say(self, command: int) -> None:
        self.connection.send(wire.Message(command, self.local, self.remote))
