"""The services that run commands: shell (with and without its own packets), exec and abb_exec."""

import os
import struct
import threading
from typing import TYPE_CHECKING, List, Optional

from host_tools.virtual_device import commands  # noqa: F401  (fills the table)
from host_tools.virtual_device.call import Call, Stopped, lines, run, whole
from host_tools.virtual_device.shell import run_text
from host_tools.virtual_device.shell_hostile import output
from host_tools.virtual_device.stream import Stream, StreamClosed

if TYPE_CHECKING:
    from host_tools.virtual_device.device import VirtualDevice

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN, WINDOW_SIZE = range(6)
_HEADER = struct.Struct("<BI")
_BROKEN_PIPE = 141
_MAX_PACKET = 1 << 20


def shell(device: "VirtualDevice", stream: Stream) -> None:
    """`shell[,v2][,pty][,raw][,TERM=…]:[COMMAND]`."""
    options, _, text = stream.service.partition(":")
    words = options.split(",")[1:]
    session = _Packets(device, stream) if "v2" in words else _Raw(device, stream)
    pty = "pty" in words or not words and not text
    session.serve(lambda call: run_text(call, text) if text else _interactive(call, pty))


def execute(device: "VirtualDevice", stream: Stream) -> None:
    """`exec:COMMAND`: bytes as they are, both ways."""
    text = stream.service.partition(":")[2]
    _Raw(device, stream).serve(lambda call: run_text(call, text))


def binder(device: "VirtualDevice", stream: Stream) -> None:
    """`abb:` and `abb_exec:SERVICE\\0WORD\\0…`: as `cmd SERVICE WORD…`, without a shell."""
    kind, _, text = stream.service.partition(":")
    words: List[str] = text.split("\0")

    def serve(call: Call) -> int:
        call.argv = ["cmd", *words]
        return run(call)

    (_Packets if kind == "abb" else _Raw)(device, stream).serve(serve)


def _interactive(call: Call, pty: bool) -> int:
    """Lines of the input are commands. A terminal gets a prompt, and sees what is typed."""
    status = 0
    prompt = os.fsencode(f"{call.device.properties.get('ro.product.device', 'virtual')}:/ $ ")
    if pty:
        call.out(prompt)
    for line in lines(_Terminal(call) if pty else call.stdin):
        text = os.fsdecode(line).strip()
        if text.split(" ")[0] == "exit":
            return run_text(call, text)
        status = run_text(call, text) if text else status
        if pty:
            call.out(prompt)
    return status


class _Terminal:
    """Shows what is typed; Return ends a line."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def read(self, limit: int = -1) -> bytes:
        data = self._call.stdin.read(limit).replace(b"\r", b"\n")
        if b"\x04" in data:
            return b""
        self._call.out(data.replace(b"\n", b"\r\n"))
        return data


class _Raw:
    """Output and errors in one; the input is the stream's bytes."""

    def __init__(self, device: "VirtualDevice", stream: Stream) -> None:
        self.device, self.stream, self._lock = device, stream, threading.Lock()
        self._cut = False

    def serve(self, work) -> None:
        call = Call(["sh"], self.device, self, self._write_out, self._write_err, cancelled=self.stream.closed)
        try:
            status = work(call)
        except Stopped:
            status = _BROKEN_PIPE
        except StreamClosed:
            return
        self._end(status)

    def read(self, limit: int = -1) -> bytes:
        if limit < 0:
            return whole(self)
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

    def read(self, limit: int = -1) -> bytes:
        if limit < 0:
            return whole(self)
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
        packet: Optional[bytes] = _HEADER.pack(EXIT, 1) + bytes([status & 255])
        if fault and fault.kind == "truncate":
            packet = packet[:3]
        elif fault and fault.kind == "hostile":
            packet = _HEADER.pack(EXIT, 0xFFFFFFFF) + b"\xff" * 300
        elif fault and fault.kind == "crash":
            packet = None
        if packet:
            self.stream.write(packet)
