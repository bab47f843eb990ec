"""One stream of an adb connection: bytes both ways. We have one WRTE in flight, as the protocol asks; adb may have more."""

import threading
from collections import deque
from typing import TYPE_CHECKING

from host_tools.virtual_device import wire

if TYPE_CHECKING:
    from host_tools.virtual_device.connection import Connection


_MOST_WAITING = 64  # WRTEs that nobody has read


class StreamClosed(Exception):
    """The host has closed the stream, or the connection is gone."""


class Stream:
    """`closed` is set as soon as nobody listens any more: commands end when they see it."""

    def __init__(self, connection: "Connection", local: int, remote: int, service: str) -> None:
        self.connection, self.local, self.remote, self.service = connection, local, remote, service
        self.closed = threading.Event()
        self._changed = threading.Condition()
        self._in: deque[memoryview] = deque()  # of each WRTE of the host, what was not read yet
        self._in_flight = False  # a WRTE of ours that the host has not acknowledged

    # What the connection's reader calls.

    def fed(self, data: bytes) -> None:
        """The host sent `data`; it is told to go on when all of it was read. At its input's end adb does not wait for that."""
        with self._changed:
            if len(self._in) == _MOST_WAITING:
                raise wire.BadMessage("the host does not wait for OKAY")
            if data:
                self._in.append(memoryview(data))
            self._changed.notify_all()
        if not data:
            self._say(wire.OKAY)

    def acknowledged(self) -> None:
        """The host took our last WRTE."""
        with self._changed:
            self._in_flight = False
            self._changed.notify_all()

    def lost(self) -> None:
        """The host closed the stream, or the connection ended."""
        with self._changed:
            self.closed.set()
            self._changed.notify_all()

    # What services call.

    def read_some(self, limit: int) -> bytes:
        """1..limit bytes as soon as there are any; empty at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._in or self.closed.is_set())
            if not self._in:
                return b""
            first = self._in.popleft()
            if len(first) > limit:
                self._in.appendleft(first[limit:])
        if len(first) <= limit:
            self._say(wire.OKAY)
        return bytes(first[:limit])

    def read(self, count: int) -> bytes:
        """Exactly `count` bytes; StreamClosed when they do not come."""
        got = bytearray()
        while len(got) < count:
            piece = self.read_some(count - len(got))
            if not piece:
                raise StreamClosed
            got += piece
        return bytes(got)

    def write(self, data: bytes) -> None:
        """Sends `data`; returns when all of it is on its way."""
        limit = self.connection.max_payload
        for start in range(0, len(data), limit):
            with self._changed:
                self._wait_for_okay()
                if self.closed.is_set():
                    raise StreamClosed
                self._in_flight = True
                self.connection.send(wire.Message(wire.WRTE, self.local, self.remote, data[start : start + limit]))

    def close(self) -> None:
        """Ends the stream once the host has taken what was written. Harmless when it has ended."""
        with self._changed:
            self._wait_for_okay()
            ended = self.closed.is_set()
            self.closed.set()
        if not ended:
            self._say(wire.CLSE)
        self.connection.forget(self)

    def _wait_for_okay(self) -> None:
        self._changed.wait_for(lambda: self.closed.is_set() or not self._in_flight)

    def _say(self, command: int) -> None:
        self.connection.send(wire.Message(command, self.local, self.remote))
