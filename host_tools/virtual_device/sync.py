"""The sync service: stat and list in both versions of the protocol, send and receive in the first."""

import contextlib
import errno
import os
import stat as modes
import struct
from collections.abc import Callable
from typing import BinaryIO

from host_tools.virtual_device import hostile
from host_tools.virtual_device.faults import Dropped, Fault, flipped
from host_tools.virtual_device.files import Files, write_all
from host_tools.virtual_device.hostile import pick, spoiled
from host_tools.virtual_device.state import State
from host_tools.virtual_device.stream import Stream, StreamClosed

MAX_DATA = 64 << 10
_MAX_PATH = 1024
_BATCH = 1 << 20

_STATUS1 = struct.Struct("<4sIII")
_STATUS2 = struct.Struct("<4sIQQIIIIQqqq")


class Failed(Exception):
    """The request is answered with FAIL and this text; then the stream ends, as adbd's does."""


class Sync:
    """One sync stream. Files are the shell user's."""

    def __init__(self, device: State, stream: Stream) -> None:
        self.device, self.stream = device, stream
        self.files = Files(device)
        self._out = bytearray()  # answers that go as one

    def run(self) -> None:
        """Requests until QUIT, the end of the stream or a failure."""
        try:
            while True:
                word, length = self._header()
                if word == b"QUIT":
                    return
                if length > _MAX_PATH:
                    raise Failed("path too long")
                path = os.fsdecode(self.stream.read(length))
                action = _ACTIONS.get(word)
                if action is None:
                    raise Failed(f"unknown command {word!r}")
                self.device.note(word.decode(), path)
                action(self, word, path)
        except Failed as failed:
            text = os.fsencode(str(failed))
            self.stream.write(b"FAIL" + struct.pack("<I", len(text)) + text)

    def meet(self, step: str) -> Fault | None:
        """A fault that is due here and not yet dealt with: those that fail the request are."""
        fault = self.device.meet(step, self.stream.closed.is_set)
        if fault is None:
            return None
        if fault.kind == "crash":
            raise Dropped(str(fault), died=True)
        failures = {"refuse": "Permission denied", "full": f"write failed: {os.strerror(errno.ENOSPC)}"}
        if step in ("sync.send", "sync.recv"):
            failures["hostile"] = pick(hostile.TEXTS, fault.value)
        if fault.kind in failures:
            raise Failed(failures[fault.kind])
        return fault

    def _put(self, data: bytes, fault: Fault | None = None, attacks: tuple[bytes, ...] = (), last: bool = True) -> None:
        """Sends `data`, or what a fault makes of it; unless it is the last, it may wait for more."""
        pieces, ends = spoiled(fault, data, attacks)
        for piece in pieces:
            self._out += piece
            if fault or last or len(self._out) >= _BATCH:
                self.stream.write(bytes(self._out))
                self._out.clear()
        if ends:
            raise StreamClosed

    def _header(self) -> tuple[bytes, int]:
        word_and_length = self.stream.read(8)
        return word_and_length[:4], int.from_bytes(word_and_length[4:], "little")

    # stat and list

    def stat(self, word: bytes, path: str) -> None:
        fault = self.meet("sync.stat")
        more = 1 if fault and fault.kind == "wrong_size" else 0
        reply = self._status(word, path, follow=word == b"STA2", more=more)
        self._put(reply, fault, hostile.statuses(reply))

    def list(self, word: bytes, path: str) -> None:
        entry_word, status = (b"DNT2", _STATUS2) if word == b"LIS2" else (b"DENT", _STATUS1)
        try:
            names = [".", "..", *self.files.names(path)]
        except OSError:
            names = []
        for name in names:
            fault = self.meet("sync.list")
            head, raw = self._status(entry_word, f"{path}/{name}", follow=False), os.fsencode(name)
            entry = head + struct.pack("<I", len(raw)) + raw
            self._put(
                entry, fault, tuple(attack + entry for attack in hostile.entries(head)) if fault else (), last=False
            )
        self._put(b"DONE" + bytes(status.size))

    def _status(self, word: bytes, path: str, follow: bool, more: int = 0) -> bytes:
        """What stat says, in the version of `word`; `more` bytes are added to the size."""
        first = word in (b"STAT", b"DENT")
        try:
            mode, inode, disk, links, uid, gid, size, *times = self.files.stat(path, follow)[:10]
        except OSError as error:
            number = error.errno or errno.EIO
            return _STATUS1.pack(word, 0, 0, 0) if first else _STATUS2.pack(word, number, *(0,) * 10)
        size += more
        if first:
            return _STATUS1.pack(word, mode, size & 0xFFFFFFFF, int(times[1]) & 0xFFFFFFFF)
        return _STATUS2.pack(word, 0, disk, inode, mode, links, uid, gid, size, *times)

    # send: from the host to the device

    def send(self, word: bytes, path: str) -> None:
        path, _, mode = path.rpartition(",")
        if not path or not mode.isdecimal():
            raise Failed(f"missing , in ID_SEND_V1 ({mode})")
        try:
            self.meet("sync.send")
            if modes.S_ISLNK(int(mode)):
                raise OSError(errno.EPERM, os.strerror(errno.EPERM))
            self._send_file(path, int(mode))
        except (OSError, Failed) as error:
            self._skip()
            text = f"couldn't create file: {error.strerror}" if isinstance(error, OSError) else str(error)
            raise Failed(text) from None
        fault = self.meet("sync.send.done")
        if fault and fault.kind in ("truncate", "corrupt"):
            self._spoil(path, fault.kind)
        if fault and fault.kind == "hostile":
            self.stream.write(pick(hostile.SENT, fault.value))
        else:
            self.stream.write(b"OKAY" + bytes(4))

    def _send_file(self, path: str, mode: int) -> None:
        if self.files.is_folder(path, follow=False):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        with contextlib.suppress(FileNotFoundError):
            self.files.remove(path)
        self.files.make_folders(os.path.dirname(path) or "/", 0o775)
        with self.files.open(path, "xb") as file:
            mode &= 0o777
            mode |= (mode >> 3) & 0o070
            mode |= (mode >> 3) & 0o007
            os.fchmod(file.fileno(), mode)
            try:
                mtime = self._drain(file)
            except (Failed, StreamClosed, Dropped) as error:
                if not getattr(error, "died", False):
                    self.files.remove(path)
                raise
            os.utime(file.fileno(), (mtime, mtime))

    def _drain(self, file: BinaryIO) -> int:
        """Writes what comes until DONE; its time."""
        while True:
            word, length = self._header()
            if word == b"DONE":
                return length
            data = self._data(word, length)
            pieces, _ = spoiled(self.meet("sync.send.data"), data)
            try:
                self.device.room()
                write_all(file, b"".join(pieces))
            except OSError as error:
                raise Failed(f"write failed: {error.strerror}") from None

    def _skip(self) -> None:
        """Reads on to DONE: the host only listens when it has sent all."""
        while (header := self._header())[0] != b"DONE":
            self._data(*header)

    def _data(self, word: bytes, length: int) -> bytes:
        if word != b"DATA" or length > MAX_DATA:
            raise StreamClosed
        return self.stream.read(length)

    def _spoil(self, path: str, kind: str) -> None:
        """Makes a file that has come whole another one, after the fact."""
        with open(self.files.real(path), "r+b") as file:
            data = file.read()
            file.seek(0)
            file.write(flipped(data))
            file.truncate(len(data) // 2 if kind == "truncate" else len(data))

    # receive: from the device to the host

    def receive(self, word: bytes, path: str) -> None:
        self.meet("sync.recv")
        try:
            file = self.files.open(path, "rb")
        except OSError as error:
            what = "read" if error.errno == errno.EISDIR else "open"
            raise Failed(f"{what} failed: {error.strerror}") from None
        with file:
            for data in iter(lambda: file.read(MAX_DATA), b""):
                if not self._give(data):
                    break
        self._put(b"DONE" + bytes(4))

    def _give(self, data: bytes) -> bool:
        """Sends one piece of a file; whether more is to come."""
        fault = self.meet("sync.recv.data")
        kind = fault.kind if fault else ""
        if kind in ("truncate", "corrupt"):
            data = spoiled(fault, data)[0][0]
        size = len(data)
        if fault and kind in ("wrong_size", "hostile"):
            size = size + 7 if kind == "wrong_size" else pick(hostile.SIZES, fault.value)
        self._put(b"DATA" + struct.pack("<I", size) + data, fault if kind == "split" else None, last=False)
        return kind not in ("truncate", "wrong_size", "hostile")


_ACTIONS: dict[bytes, Callable[[Sync, bytes, str], None]] = {
    b"STAT": Sync.stat,
    b"STA2": Sync.stat,
    b"LST2": Sync.stat,
    b"LIST": Sync.list,
    b"LIS2": Sync.list,
    b"SEND": Sync.send,
    b"RECV": Sync.receive,
}
