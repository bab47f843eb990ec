"""One stream of an adb connection: bytes both ways. We have one WRTE in flight, as the protocol asks; adb may have more."""

import queue
import threading

from host_tools.virtual_device import wire
from host_tools.virtual_device.device_parts import Link

_MOST_WAITING = 64  # WRTEs that nobody has read


class StreamClosed(Exception):
    """The host has closed the stream, or the connection is gone."""


class Stream:
    """`closed` is set as soon as nobody listens any more: commands end when they see it. One thread reads, one writes."""

    def __init__(self, connection: Link, local: int, remote: int, service: str) -> None:
        self.connection, self.local, self.remote, self.service = connection, local, remote, service
        self.closed = threading.Event()
        self._in: queue.SimpleQueue[bytes] = queue.SimpleQueue()  # the host's WRTEs; an empty one is the end
        self._unread = memoryview(b"")  # of the first of them
        self._free = threading.Event()  # the host has acknowledged what we have written
        self._free.set()

    # What the connection's reader calls.

    def fed(self, data: bytes) -> None:
        """The host sent `data`; it is told to go on when all of it was read. At its input's end adb does not wait for that."""
        if self._in.qsize() >= _MOST_WAITING:
            raise wire.BadMessage("the host does not wait for OKAY")
        if data:
            self._in.put(data)
        else:
            self._say(wire.OKAY)

    def acknowledged(self) -> None:
        """The host took our last WRTE."""
        self._free.set()

    def lost(self) -> None:
        """The host closed the stream, or the connection ended."""
        self.closed.set()
        self._free.set()
        self._in.put(b"")

    # What services call.

    def read_some(self, limit: int) -> bytes:
        """1..limit bytes as soon as there are any; empty at the end."""
        if not self._unread:
            self._unread = memoryview(self._in.get())
            if not self._unread:
                self._in.put(b"")  # the end stays the end
                return b""
        piece, self._unread = bytes(self._unread[:limit]), self._unread[limit:]
        if not self._unread:
            self._say(wire.OKAY)
        return piece

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
            self._free.wait()
            self._free.clear()
            if self.closed.is_set():
                self._free.set()
                raise StreamClosed
            self.connection.send(wire.Message(wire.WRTE, self.local, self.remote, data[start : start + limit]))

    def close(self) -> None:
        """Ends the stream once the host has taken what was written. Harmless when it has ended."""
        self._free.wait()
        if not self.closed.is_set():
            self.closed.set()
            self._say(wire.CLSE)
        self.connection.forget(self)

    def _say(self, command: int) -> None:
        self.connection.send(wire.Message(command, self.local, self.remote))
