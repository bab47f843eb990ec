"""The services that run commands: shell (with and without its own packets) and exec."""

import struct
import threading
from functools import partial

from host_tools.virtual_device import commands  # noqa: F401  (fills the table)
from host_tools.virtual_device.call import Call, Stopped
from host_tools.virtual_device.faults import Fault
from host_tools.virtual_device.hostile import OUTPUTS, spoiled
from host_tools.virtual_device.shell import run_text
from host_tools.virtual_device.state import State
from host_tools.virtual_device.stream import Stream, StreamClosed

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)
_HEADER = struct.Struct("<BI")
_BROKEN_PIPE = 141
_MAX_PACKET = 1 << 20


def serve(device: State, stream: Stream) -> None:
    """`shell[,v2][,raw][,TERM=…]:COMMAND`, or `exec:COMMAND`: bytes as they are, both ways."""
    options, _, text = stream.service.partition(":")
    _Served(device, stream, "v2" in options.split(",")).run(text)


class _Served:
    """One command's stream. With `packets` each piece of output says where it belongs, and the exit status comes at the
    end; without them output and errors are one, and the input is the stream's bytes."""

    def __init__(self, device: State, stream: Stream, packets: bool) -> None:
        self.device, self.stream, self._packets, self._lock = device, stream, packets, threading.Lock()
        self._cut = False  # a fault has taken the rest of the output
        self._left = 0  # bytes of the packet of input that is being read
        self._input_ended = False

    def run(self, text: str) -> None:
        out, err = (partial(self._write, channel) for channel in (STDOUT, STDERR))
        call = Call(["sh"], self.device, self, out, err, cancelled=self.stream.closed)
        try:
            status = run_text(call, text) if text else call.fail("this device has no terminal: say what to run")
        except Stopped:
            status = _BROKEN_PIPE
        fault = self.device.meet("shell.exit", self.stream.closed.is_set)
        if self._packets:
            self._exit(status, fault)

    def read(self, limit: int) -> bytes:
        if not self._packets:
            return self.stream.read_some(limit)
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

    def _write(self, channel: int, data: bytes) -> None:
        fault = self.device.meet("shell.output", self.stream.closed.is_set)
        if self._cut:
            return
        pieces, self._cut = spoiled(fault, data, OUTPUTS)
        self._cut = self._cut or (fault is not None and fault.kind == "hostile")
        try:
            with self._lock:
                for piece in pieces:
                    for start in range(0, len(piece), _MAX_PACKET):
                        part = piece[start : start + _MAX_PACKET]
                        head = _HEADER.pack(channel, len(part)) if self._packets else b""
                        self.stream.write(head + part)
        except StreamClosed:
            raise Stopped from None

    def _exit(self, status: int, fault: Fault | None) -> None:
        packet = _HEADER.pack(EXIT, 1) + bytes([status & 255])
        wrong = {"truncate": packet[:3], "hostile": _HEADER.pack(EXIT, 0xFFFFFFFF) + b"\xff" * 300, "crash": b""}
        self.stream.write(wrong.get(fault.kind, packet) if fault else packet)
