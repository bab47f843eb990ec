"""One host's connection: the handshake, then the streams it opens, each served in a thread of its own."""

import itertools
import os
import select
import socket
import threading
import traceback
from collections.abc import Callable

from host_tools.virtual_device import hostile, shell_service, wire
from host_tools.virtual_device.faults import Dropped, Fault, split
from host_tools.virtual_device.state import State
from host_tools.virtual_device.stream import Stream, StreamClosed
from host_tools.virtual_device.sync import Sync

FEATURES = "shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir"
_LOOK_S = 0.05
_Handler = Callable[[State, Stream], None]


class Connection:
    """`run` reads messages until the host goes or `drop` is called. `gone` is set at the end."""

    def __init__(self, device: State, peer: socket.socket) -> None:
        self.device, self.max_payload, self.gone = device, wire.MAX_HANDSHAKE, threading.Event()
        self._peer = peer
        self._sending = threading.Lock()
        self._streams: dict[int, Stream] = {}
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._accepted = self._asked = False
        self._wrong: Fault | None = None  # what is to happen to the next message that we send
        self._banner: bytes | None = None
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run(self) -> None:
        try:
            while True:
                self._handle(wire.receive(self._peer))
        except (EOFError, OSError):
            pass
        except (wire.BadMessage, Dropped) as error:
            self.device.note("connection", str(error))
        finally:
            self.drop()

    def drop(self) -> None:
        """Ends the connection at once, as an unplugged cable does."""
        self.gone.set()
        try:
            self._peer.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        with self._lock:
            streams = list(self._streams.values())
            self._streams.clear()
        for stream in streams:
            stream.lost()

    def lost(self) -> bool:
        """Whether the host has gone, seen without reading what it may have sent before."""
        if self.gone.is_set():
            return True
        look = select.poll()
        try:
            look.register(self._peer, select.POLLRDHUP)
            return bool(look.poll(0))
        except (OSError, ValueError):
            return True

    def _gone(self) -> bool:
        """For a stall of the whole connection: what its host had sent before it went is not done any more."""
        if self.lost():
            raise Dropped("the host went while the device did nothing")
        return False

    def send(self, message: wire.Message) -> None:
        """What cannot be sent any more is dropped: the reader sees the end of the connection."""
        try:
            with self._sending:
                fault, self._wrong = self._wrong, None
                pieces = [message.encoded()]
                if fault and fault.kind == "split":
                    pieces = split(pieces[0])
                elif fault:
                    attacks = fault.kind == "hostile"
                    pieces = [hostile.message(fault.value, message) if attacks else hostile.bad_magic(message)]
                for piece in pieces:
                    self._peer.sendall(piece)
        except OSError:
            self.gone.set()

    def forget(self, stream: Stream) -> None:
        with self._lock:
            self._streams.pop(stream.local, None)

    def _handle(self, message: wire.Message) -> None:
        self._wrong = self.device.meet("message", self._gone) or self._wrong
        if message.command == wire.CNXN:
            self._greeted(message)
        elif message.command == wire.AUTH:
            if message.arg0 == wire.AUTH_SIGNATURE:  # what comes next, the host's key, is for the user to judge
                self._authorise()
        elif not self._accepted:
            raise wire.BadMessage(f"{message.name()} before the handshake")
        elif message.command == wire.OPEN:
            self._open(message)
        else:
            self._for_stream(message)

    def _for_stream(self, message: wire.Message) -> None:
        with self._lock:
            stream = self._streams.get(message.arg1)
            if stream and message.command == wire.CLSE:
                del self._streams[message.arg1]
        if stream is None:
            if message.command == wire.OKAY:  # as adbd: somebody still waits for a stream that has ended
                self.send(wire.Message(wire.CLSE, message.arg1, message.arg0))
        elif message.command == wire.WRTE:
            stream.fed(message.payload)
        elif message.command == wire.OKAY:
            stream.acknowledged()
        elif message.command == wire.CLSE:
            stream.lost()

    def _greeted(self, message: wire.Message) -> None:
        self.max_payload = max(1, min(message.arg1, wire.MAX_PAYLOAD))
        fault = self.device.meet("connect", self._gone)
        if fault and fault.kind == "hostile":
            self._banner = hostile.pick(hostile.BANNERS, fault.value)
        self._authorise()

    def _authorise(self) -> None:
        """Lets the host in, or asks it for a key, which is good when the fault is over."""
        if self._accepted:
            return
        fault = self.device.meet("auth", self._gone)
        if not fault:
            self._let_in()
            return
        self.send(wire.Message(wire.AUTH, wire.AUTH_TOKEN, 0, os.urandom(20)))
        if not self._asked:
            self._asked = True
            threading.Thread(target=self._until_allowed, args=(fault,), daemon=True, name="auth").start()

    def _until_allowed(self, fault: Fault) -> None:
        while not (fault.cleared.wait(_LOOK_S) or self.gone.is_set() or self.device.stopping.is_set()):
            pass
        if fault.cleared.is_set():
            self._let_in()

    def _let_in(self) -> None:
        self._accepted = True
        banner = self.device.banner(FEATURES) if self._banner is None else self._banner
        self.send(wire.Message(wire.CNXN, wire.VERSION, wire.MAX_PAYLOAD, banner))

    def _open(self, message: wire.Message) -> None:
        name = message.payload.rstrip(b"\0").decode("utf-8", "surrogateescape")
        handler = _HANDLERS.get(_kind(name)) if ":" in name else None
        if handler is None or message.arg0 == 0 or message.arg1 != 0:
            self.device.note("refused", name)
            self.send(wire.Message(wire.CLSE, 0, message.arg0))
            return
        stream = Stream(self, next(self._ids), message.arg0, name)
        with self._lock:
            self._streams[stream.local] = stream
        threading.Thread(target=self._serve, args=(stream, handler), daemon=True, name=name[:30]).start()

    def _serve(self, stream: Stream, handler: _Handler) -> None:
        try:
            self.device.note("open", stream.service)
            fault = self.device.meet("open." + _kind(stream.service), stream.closed.is_set)
            if fault and fault.kind == "hostile":
                self.send(hostile.unasked())
            elif fault:
                self.forget(stream)
                self.send(wire.Message(wire.CLSE, 0, stream.remote))
                return
            if stream.closed.is_set():  # the host has given up while nothing happened
                return
            self.send(wire.Message(wire.OKAY, stream.local, stream.remote))
            handler(self.device, stream)
            stream.close()
        except StreamClosed:
            stream.close()
        except Dropped:
            self.drop()
        except Exception:  # a bug of ours must look like one device's fault, and be found in its log
            self.device.note("bug", f"{stream.service}: {traceback.format_exc()}")
            stream.close()


def _kind(service: str) -> str:
    """shell, exec, sync, reboot …"""
    return service.split(":", 1)[0].split(",", 1)[0]


def _reboot(device: State, stream: Stream) -> None:
    stream.close()
    device.reboot()


_HANDLERS: dict[str, _Handler] = {
    "shell": shell_service.serve,
    "exec": shell_service.serve,
    "sync": lambda device, stream: Sync(device, stream).run(),
    "reboot": _reboot,
    "root": lambda _, stream: stream.write(b"adbd cannot run as root in production builds\n"),
}
