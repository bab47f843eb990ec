"""The host's half of the adb protocol, as small as tests of the device need it: quick, and free to misbehave."""

import socket
import struct

from host_tools.virtual_device import wire

BANNER = b"host::features=shell_v2,cmd,stat_v2,ls_v2"


class Closed(Exception):
    """The device closed the stream."""


class Host:
    """One connection. `wait_s`: how long any answer may take before socket.timeout is raised."""

    def __init__(self, port: int, wait_s: float = 5.0, greet: bool = True) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), wait_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._next = 1
        if greet:
            self.send(wire.Message(wire.CNXN, wire.VERSION, wire.MAX_PAYLOAD, BANNER))
            self.greeting = wire.receive(self.socket)

    def __enter__(self) -> "Host":
        return self

    def __exit__(self, *_) -> None:
        self.socket.close()

    def send(self, message: wire.Message) -> None:
        self.socket.sendall(message.encoded())

    def open(self, service: str) -> "HostStream":
        local, self._next = self._next, self._next + 1
        self.send(wire.Message(wire.OPEN, local, 0, service.encode("utf-8", "surrogateescape") + b"\0"))
        while True:
            answer = wire.receive(self.socket)
            if answer.arg1 != local:
                continue
            if answer.command != wire.OKAY:
                raise Closed(service)
            return HostStream(self, local, answer.arg0)

    def shell(self, text: str, data: bytes = b"") -> tuple[bytes, bytes, int]:
        """Output, errors and status of a command (packets of version 2)."""
        stream = self.open(f"shell,v2,raw:{text}")
        for start in range(0, len(data), 60000):
            piece = data[start : start + 60000]
            stream.write(struct.pack("<BI", 0, len(piece)) + piece)
        stream.write(struct.pack("<BI", 4, 0))
        found = {1: b"", 2: b"", 3: b""}
        while True:
            try:
                channel, length = struct.unpack("<BI", stream.read(5))
                found[channel] += stream.read(length)
            except Closed:
                return found[1], found[2], found[3][0] if found[3] else -1

    def push(self, path: str, data: bytes, mode: int = 0o100644) -> bytes:
        """The device's answer to a file: b"OKAY", or the text of FAIL."""
        stream = self.open("sync:")
        name = f"{path},{mode}".encode("utf-8", "surrogateescape")
        stream.write(b"SEND" + struct.pack("<I", len(name)) + name)
        for start in range(0, len(data), 65536):
            piece = data[start : start + 65536]
            stream.write(b"DATA" + struct.pack("<I", len(piece)) + piece)
        stream.write(b"DONE" + struct.pack("<I", 1700000000))
        word, length = struct.unpack("<4sI", stream.read(8))
        return word if word == b"OKAY" else stream.read(length)

    def pull(self, path: str) -> bytes:
        """A file's bytes; Closed with the text of FAIL."""
        stream = self.open("sync:")
        stream.write(b"RECV" + struct.pack("<I", len(path.encode())) + path.encode())
        whole = b""
        while True:
            word, length = struct.unpack("<4sI", stream.read(8))
            if word == b"DONE":
                return whole
            data = stream.read(length)
            if word != b"DATA":
                raise Closed(data.decode())
            whole += data


class HostStream:
    def __init__(self, host: Host, local: int, remote: int) -> None:
        self.host, self.local, self.remote = host, local, remote
        self._got, self._okays, self.closed = b"", 1, False

    def write(self, data: bytes) -> None:
        """Waits for the device's OKAY to the write before."""
        while not self._okays and not self.closed:
            self._next()
        if self.closed:
            raise Closed(self._got)
        self._okays = 0
        self.host.send(wire.Message(wire.WRTE, self.local, self.remote, data))

    def read(self, count: int) -> bytes:
        while len(self._got) < count:
            if self.closed:
                raise Closed(self._got)
            self._next()
        data, self._got = self._got[:count], self._got[count:]
        return data

    def rest(self) -> bytes:
        """All that comes until the device closes the stream."""
        while not self.closed:
            self._next()
        data, self._got = self._got, b""
        return data

    def close(self) -> None:
        self.host.send(wire.Message(wire.CLSE, self.local, self.remote))

    def _next(self) -> None:
        message = wire.receive(self.host.socket)
        if message.arg1 != self.local:
            return
        if message.command == wire.WRTE:
            self._got += message.payload
            self.host.send(wire.Message(wire.OKAY, self.local, self.remote))
        elif message.command == wire.OKAY:
            self._okays = 1
        elif message.command == wire.CLSE:
            self.closed = True
