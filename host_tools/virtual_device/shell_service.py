"""The services that run commands: shell (with and without its own packets) and exec."""

import struct
import threading
from typing import TYPE_CHECKING

from host_tools.virtual_device import commands  # noqa: F401  (fills the table)
from host_tools.virtual_device.call import Call, Stopped
from host_tools.virtual_device.hostile import OUTPUTS, spoiled
from host_tools.virtual_device.shell import run_text
from host_tools.virtual_device.stream import Stream, StreamClosed

if TYPE_CHECKING:
    from host_tools.virtual_device.device import VirtualDevice

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)
_HEADER = struct.Struct("<BI")
_BROKEN_PIPE = 141
_MAX_PACKET = 1 << 20


def serve(device: "VirtualDevice", stream: Stream) -> None:
    """`shell[,v2][,raw][,TERM=…]:COMMAND`, or `exec:COMMAND`: bytes as they are, both ways."""
    options, _, text = stream.service.partition(":")
    (_Packets if "v2" in options.split(",") else _Raw)(device, stream).serve(text)


class _Raw:
    """Output and errors in one; the input is the stream's bytes."""

    def __init__(self, device: "VirtualDevice", stream: Stream) -> None:
        self.device, self.stream, self._lock = device, stream, threading.Lock()
        self._cut = False

    def serve(self, text: str) -> None:
        def out(data: bytes) -> None:
            self._write(STDOUT, data)

        def err(data: bytes) -> None:
            self._write(STDERR, data)

        call = Call(["sh"], self.device, self, out, err, cancelled=self.stream.closed)
        try:
            status = run_text(call, text) if text else call.fail("this device has no terminal: say what to run")
        except Stopped:
            status = _BROKEN_PIPE
        self._end(status)

    def read(self, limit: int) -> bytes:
        return self.stream.read_some(limit)

    def _write(self, channel: int, data: bytes) -> None:
        fault = self.device.meet("shell.output", closed=self.stream.closed)
        if self._cut:
            return
        pieces, self._cut = spoiled(fault, data, OUTPUTS)
        self._cut = self._cut or (fault is not None and fault.kind == "hostile")
        try:
            with self._lock:
                for piece in pieces:
                    self._send(channel, piece)
        except StreamClosed:
            raise Stopped from None

    def _send(self, channel: int, data: bytes) -> None:
        self.stream.write(data)

    def _end(self, status: int) -> None:
        self.device.meet("shell.exit", closed=self.stream.closed)


class _Packets(_Raw):
    """Version 2: each piece of output says where it belongs, and the exit status comes at the end."""

    _left = 0  # bytes of the packet that is being read
    _input_ended = False

    def read(self, limit: int) -> bytes:
        try:
            while not self._left and not self._input_ended:
                channel, length = _HEADER.unpack(self.stream.read(_HEADER.size))
                if channel == STDIN:
                    self._left = length
                else:
                    self.stream.read(min(length, _MAX_PACKET))
                    self._input_ended = channel == CLOSE_STDIN
        except StreamClosed:
            return b""
        piece = self.stream.read_some(min(limit, self._left)) if self._left else b""
        self._left -= len(piece)
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
        self.stream.write(packet)
