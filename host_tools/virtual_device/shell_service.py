"""The services that run commands: shell (with and without its own packets) and exec."""

import struct
import threading
from typing import TYPE_CHECKING

from host_tools.virtual_device import commands  # noqa: F401  (fills the table)
from host_tools.virtual_device.call import Call, Stopped
from host_tools.virtual_device.hostile import output
from host_tools.virtual_device.shell import run_text
from host_tools.virtual_device.stream import Stream, StreamClosed

if TYPE_CHECKING:
    from host_tools.virtual_device.device import VirtualDevice

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)
_HEADER = struct.Struct("<BI")
_BROKEN_PIPE = 141
_MAX_PACKET = 1 << 20


def serve(device: "VirtualDevice", stream: Stream) -> None:
    """`shell[,v2][,pty][,raw][,TERM=…]:COMMAND`, or `exec:COMMAND`: bytes as they are, both ways."""
    options, _, text = stream.service.partition(":")
    (_Packets if "v2" in options.split(",") else _Raw)(device, stream).serve(text)


class _Raw:
    """Output and errors in one; the input is the stream's bytes."""

    def __init__(self, device: "VirtualDevice", stream: Stream) -> None:
        self.device, self.stream, self._lock = device, stream, threading.Lock()
        self._cut = False

    def serve(self, text: str) -> None:
        call = Call(["sh"], self.device, self, self._write_out, self._write_err, cancelled=self.stream.closed)
        try:
            status = run_text(call, text) if text else call.fail("this device has no terminal: say what to run")
        except Stopped:
            status = _BROKEN_PIPE
        except StreamClosed:
            return
        self._end(status)

    def read(self, limit: int) -> bytes:
        return bytes(self.stream.read_some(limit))

    def _write_out(self, data: bytes) -> None:
        self._write(STDOUT, data)

    def _write_err(self, data: bytes) -> None:
        self._write(STDERR, data)

    def _write(self, channel: int, data: bytes) -> None:
        fault = self.device.meet("shell.output", closed=self.stream.closed)
        if self._cut:
            return
        pieces = [data]
        if fault:
            pieces, self._cut = output(fault, data)
        try:
            with self._lock:
                for piece in pieces:
                    self._send(channel, piece)
                    if len(pieces) > 1:
                        self.stream.flush()
        except StreamClosed:
            raise Stopped from None

    def _send(self, channel: int, data: bytes) -> None:
        self.stream.write(data)

    def _end(self, status: int) -> None:
        self.device.meet("shell.exit", closed=self.stream.closed)


class _Packets(_Raw):
    """Version 2: each piece of output says where it belongs, and the exit status comes at the end."""

    def __init__(self, device: "VirtualDevice", stream: Stream) -> None:
        super().__init__(device, stream)
        self._left, self._input_ended = 0, False

    def read(self, limit: int) -> bytes:
        while not self._left and not self._input_ended:
            try:
                channel, length = _HEADER.unpack(self.stream.read(_HEADER.size))
                if channel == STDIN:
                    self._left = length
                else:
                    self.stream.read(min(length, _MAX_PACKET))
                    self._input_ended = channel == CLOSE_STDIN
            except StreamClosed:
                self._input_ended = True
        if not self._left:
            return b""
        piece = bytes(self.stream.read_some(min(limit, self._left)))
        self._left -= len(piece)
        self._input_ended = self._input_ended or not piece
        return piece

    def _send(self, channel: int, data: bytes) -> None:
        for start in range(0, len(data), _MAX_PACKET):
            piece = data[start : start + _MAX_PACKET]
            self.stream.write(_HEADER.pack(channel, len(piece)) + piece)

    def _end(self, status: int) -> None:
        fault = self.device.meet("shell.exit", closed=self.stream.closed)
        packet = _HEADER.pack(EXIT, 1) + bytes([status & 255])
        if fault and fault.kind == "truncate":
            packet = packet[:3]
        elif fault and fault.kind == "hostile":
            packet = _HEADER.pack(EXIT, 0xFFFFFFFF) + b"\xff" * 300
        elif fault and fault.kind == "crash":
            packet = b""
        if packet:
            self.stream.write(packet)
