"""An adb server that says whatever a test wants: between the toolkit and devices that no daemon would be."""

import socket
import struct
from collections.abc import Callable

from host_tools.virtual_device.listener import Listener

Answer = Callable[[str], bytes]


class FakeAdb:
    """Listens on 127.0.0.1. `answer(service)` gives the bytes that follow a service's OKAY; with `hold` the stream
    stays open after them, as with a device that stalls."""

    def __init__(
        self, answer: Answer = lambda service: b"", features: str = "shell_v2,stat_v2,ls_v2", version: str = "0029"
    ) -> None:
        self.answer, self.features, self.version, self.hold = answer, features, version, False
        self.asked: list[str] = []  # services of the device
        self.host_asked: list[str] = []  # requests to the server
        self.wrong: list[AssertionError] = []  # what `answer` did not expect
        listener = Listener(self._serve)
        self.port, self.close = listener.port, listener.close

    def _serve(self, peer: socket.socket) -> None:
        with peer:
            try:
                while self._one(peer):
                    pass
            except (OSError, ValueError):
                pass  # the toolkit has heard enough
            except AssertionError as error:
                self.wrong.append(error)

    def _one(self, peer: socket.socket) -> bool:
        length = _exact(peer, 4)
        service = _exact(peer, int(length, 16)).decode("utf-8", "surrogateescape")
        if service.startswith("host:tport"):
            peer.sendall(b"OKAY" + bytes(8))
            return True
        if service.startswith("host"):
            self.host_asked.append(service)
            known = {"features": self.features, "get-state": "device", "version": self.version}
            said = known.get(service.rsplit(":", 1)[-1], "")
            peer.sendall(b"OKAY" + f"{len(said):04x}{said}".encode())
            return False
        self.asked.append(service)
        peer.sendall(b"OKAY" + self.answer(service))
        if not self.hold:
            peer.shutdown(socket.SHUT_WR)
        while peer.recv(1 << 16):
            pass
        return False


def packet(kind: int, data: bytes) -> bytes:
    """A packet of shell protocol v2: 1 and 2 are the outputs, 3 the exit status."""
    return struct.pack("<BI", kind, len(data)) + data


def printed(text: bytes, status: int = 0) -> bytes:
    """What a command that prints `text` answers."""
    return packet(1, text) + packet(3, bytes([status]))


def _exact(peer: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = peer.recv(count - len(data))
        if not more:
            raise ValueError("the stream ended")
        data += more
    return data
