"""A connection to an adb server whose every wait ends: adbutils' transport with a deadline under all its reads.

A server that is not there, or goes, shows as ConnectionError or EOFError; time that ran out as TimeoutError;
a refusal as adbutils' AdbError with the server's words; an answer of another form as ValueError.
"""

import select
import socket
import time
from typing import Self

from adbutils import AdbConnection
from adbutils.errors import AdbError

_CONNECT_S = 3.0
_VERSION_S = 2.0
_TEXT_LIMIT_BYTES = 1 << 16  # what four hexadecimal digits can count
STREAM_PIECE_BYTES = 1 << 18


class Deadline:
    """When an operation must have ended, and for how long of that it may hear nothing at all."""

    def __init__(self, seconds: float, idle_s: float | None = None) -> None:
        self.seconds, self.idle_s = seconds, idle_s
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def wait(self) -> float:
        """The seconds that the next step may take. Raises TimeoutError when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left if self.idle_s is None else min(left, self.idle_s)

    def part(self, seconds: float) -> "Deadline":
        """A deadline of its own, which does not end after this one."""
        return Deadline(min(seconds, self.left()), self.idle_s)

    def text(self) -> str:
        if self.left() > 0 and self.idle_s is not None:
            return f"nothing came for {self.idle_s:g} s"
        return f"it did not end within {self.seconds:g} s"


class Connection(AdbConnection):
    """One conversation with the server at host:port, to be over by the deadline."""

    def __init__(self, host: str, port: int, deadline: Deadline) -> None:
        self._address, self._deadline = (host, port), deadline
        super().__init__(host, port)

    def __enter__(self) -> Self:
        return self

    def _safe_connect(self) -> socket.socket:
        """adbutils would start a server of its own here, on a port of its own choice."""
        made = socket.create_connection(self._address, timeout=min(_CONNECT_S, self._deadline.wait()))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def close(self) -> None:
        """At once, and from any thread: a read of another thread ends, too."""
        if self.closed:
            return
        try:
            self.conn.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.conn.close()

    def request(self, service: str) -> None:
        """Asks for a service and takes its OKAY."""
        words = service.encode("utf-8", "surrogateescape")
        if len(words) > 0xFFFF:
            raise ValueError(f"a request of {len(words)} bytes is longer than adb allows")
        self.send_all(f"{len(words):04x}".encode() + words)
        self.okay()

    def okay(self) -> None:
        word = self.exact(4)
        if word == b"FAIL":
            raise AdbError(self.block())
        if word != b"OKAY":
            raise ValueError(f"{word!r} where OKAY or FAIL must come")

    def block(self) -> str:
        """A text that is preceded by its length."""
        length = self.exact(4)
        if not all(byte in b"0123456789abcdefABCDEF" for byte in length):
            raise ValueError(f"{length!r} where a length must come")
        return self.exact(min(int(length, 16), _TEXT_LIMIT_BYTES)).decode("utf-8", "replace")

    def exact(self, count: int) -> bytes:
        """Exactly so many bytes."""
        buffer = bytearray(count)
        self.exact_into(memoryview(buffer))
        return bytes(buffer)

    def exact_into(self, view: memoryview) -> None:
        done = 0
        while done < len(view):
            self.conn.settimeout(self._deadline.wait())
            got = self.conn.recv_into(view[done:])
            if not got:
                raise EOFError("the stream was closed" + (f" after {done} of {len(view)} bytes" if done else ""))
            done += got

    def some(self) -> bytes:
        """What comes next; nothing at the end of the stream."""
        self.conn.settimeout(self._deadline.wait())
        return self.conn.recv(STREAM_PIECE_BYTES)

    def send_all(self, data: bytes | memoryview) -> None:
        """Pieces small enough that each is progress: what a slow device takes at all, it may take slowly."""
        view = memoryview(data)
        while view:
            self.conn.settimeout(self._deadline.wait())
            view = view[self.conn.send(view[:STREAM_PIECE_BYTES]) :]

    def has_answer(self) -> bool:
        """Whether the other side says something already, or has closed the stream."""
        return bool(select.select([self.conn], [], [], 0)[0])


def version(host: str, port: int) -> int | None:
    """The version of the adb server that listens there; None: nothing there answers as an adb server does."""
    try:
        with Connection(host, port, Deadline(_VERSION_S)) as connection:
            connection.request("host:version")
            return int(connection.block(), 16)
    except (OSError, EOFError, ValueError, AdbError):
        return None


def listens(host: str, port: int) -> bool:
    """Whether any program takes connections there."""
    try:
        socket.create_connection((host, port), timeout=_VERSION_S).close()
        return True
    except OSError:
        return False
