"""The sync service: stat and list in both versions of the protocol, send and receive in the first."""

import errno
import os
import stat as modes
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

from host_tools.virtual_device import hostile
from host_tools.virtual_device.faults import Dropped, Fault, flipped, split
from host_tools.virtual_device.files import Files
from host_tools.virtual_device.stream import Stream, StreamClosed

if TYPE_CHECKING:
    from host_tools.virtual_device.device import VirtualDevice

MAX_DATA = 64 << 10
_MAX_PATH = 1024
_BATCH = 1 << 20

STAT1 = struct.Struct("<4sIII")
STAT2 = struct.Struct("<4sIQQIIIIQqqq")
DENT1 = struct.Struct("<4sIIII")
DENT2 = struct.Struct("<4sIQQIIIIQqqqI")


class Failed(Exception):
    """The request is answered with FAIL and this text; then the stream ends, as adbd's does."""

    def __init__(self, text: str, skip: bool = True) -> None:
        super().__init__(text)
        self.skip = skip  # whether what the host still sends is read to its end first


class Sync:
    """One sync stream. Files are the shell user's."""

    def __init__(self, device: "VirtualDevice", stream: Stream) -> None:
        self.device, self.stream = device, stream
        self.files: Files = device.files()
        self._all_came = False  # DONE, of the file that is being received

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
            self.write(b"FAIL" + struct.pack("<I", len(text)) + text)

    def meet(self, step: str) -> Fault | None:
        """A fault that is due here and not yet dealt with; `refuse` and `full` fail the request."""
        fault = self.device.meet(step, closed=self.stream.closed)
        if fault and fault.kind == "refuse":
            raise Failed("Permission denied")
        if fault and fault.kind == "crash":
            raise Dropped(str(fault), died=True)
        return fault

    def write(self, data: bytes, fault: Fault | None = None) -> None:
        if fault and fault.kind == "split":
            for piece in split(data):
                self.stream.write(piece)
            return
        self.stream.write(data)

    def _header(self) -> tuple[bytes, int]:
        word_and_length = self.stream.read(8)
        return word_and_length[:4], int.from_bytes(word_and_length[4:], "little")

    # stat and list

    def stat(self, word: bytes, path: str) -> None:
        fault = self.meet("sync.stat")
        try:
            found, number = self.files.stat(path, follow=word == b"STA2"), 0
        except OSError as error:
            found, number = None, error.errno or errno.EIO
        if fault and fault.kind == "wrong_size" and found:
            found = os.stat_result((*found[:6], found.st_size + 1, *found[7:10]))
        reply = _stat1(found) if word == b"STAT" else _stat2(word, found, number)
        if fault and fault.kind == "hostile":
            reply = hostile.stat(reply, fault.value)
        if fault and fault.kind == "truncate":
            self.write(reply[: len(reply) // 2])
            raise StreamClosed
        self.write(reply, fault)

    def list(self, word: bytes, path: str) -> None:
        out = bytearray()
        try:
            names = [".", "..", *self.files.names(path)]
        except OSError:
            names = []
        for name in names:
            fault = self.meet("sync.list")
            entry = self._entry(word, path, name)
            if fault and fault.kind == "hostile":
                entry = hostile.entry(entry, word == b"LIS2", fault.value) + entry
            if fault and fault.kind == "truncate":
                self.write(bytes(out) + entry[: len(entry) // 2])
                raise StreamClosed
            out += entry
            if fault and fault.kind == "split":
                self.write(bytes(out), fault)
                out.clear()
        size = (DENT2 if word == b"LIS2" else DENT1).size
        self.write(bytes(out) + b"DONE" + bytes(size - 4))

    def _entry(self, word: bytes, folder: str, name: str) -> bytes:
        raw = os.fsencode(name)
        try:
            found, number = self.files.stat(f"{folder}/{name}", follow=False), 0
        except OSError as error:
            found, number = None, error.errno or errno.EIO
        if word == b"LIST":
            return b"DENT" + _stat1(found)[4:] + struct.pack("<I", len(raw)) + raw
        return _stat2(b"DNT2", found, number) + struct.pack("<I", len(raw)) + raw

    # send: from the host to the device

    def send(self, word: bytes, path: str) -> None:
        path, _, text = path.rpartition(",")
        if not path or not text.isdecimal():
            raise Failed(f"missing , in ID_SEND_V1 ({text})")
        mode = int(text)
        self._all_came = False
        try:
            self._meet_full("sync.send")
            if modes.S_ISLNK(mode):
                raise OSError(errno.EPERM, os.strerror(errno.EPERM))
            self._send_file(path, mode)
        except OSError as error:
            self._skip()
            raise Failed(f"couldn't create file: {error.strerror}") from None
        except Failed as failed:
            if failed.skip:
                self._skip()
            raise

    def _send_file(self, path: str, mode: int) -> None:
        self._remove_old(path)
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
        self.files.set_time(path, mtime)
        self._sent(path)

    def _sent(self, path: str) -> None:
        fault = self.meet("sync.send.done")
        if fault and fault.kind in ("truncate", "corrupt"):
            self._spoil(path, fault.kind)
        if fault and fault.kind == "hostile":
            self.write(hostile.sent(fault.value))
            return
        self.write(b"OKAY" + bytes(4))

    def _drain(self, file: BinaryIO) -> int:
        """Writes what comes until DONE; its time."""
        while True:
            word, length = self._header()
            if word == b"DONE":
                self._all_came = True
                return length
            if word != b"DATA":
                raise Failed("invalid data message", skip=False)
            if length > MAX_DATA:
                raise Failed("oversize data message", skip=False)
            self._piece(file, self.stream.read(length))

    def _piece(self, file: BinaryIO, data: bytes) -> None:
        fault = self._meet_full("sync.send.data")
        if fault and fault.kind == "truncate":
            data = data[: len(data) // 2]
        elif fault and fault.kind == "corrupt":
            data = flipped(data)
        try:
            self.device.room()
            file.write(data)
        except OSError as error:
            raise Failed(f"write failed: {error.strerror}") from None

    def _meet_full(self, step: str) -> Fault | None:
        fault = self.meet(step)
        if fault and fault.kind == "full":
            raise Failed(f"write failed: {os.strerror(errno.ENOSPC)}")
        if fault and fault.kind == "hostile":
            raise Failed(hostile.text(fault.value))
        return fault

    def _skip(self) -> None:
        """Reads on to DONE: the host only listens when it has sent all."""
        while not self._all_came:
            word, length = self._header()
            if word == b"DONE":
                return
            if word != b"DATA" or length > MAX_DATA:
                raise StreamClosed
            self.stream.read(length)

    def _remove_old(self, path: str) -> None:
        try:
            found = self.files.stat(path, follow=False)
        except OSError:
            return
        if modes.S_ISREG(found.st_mode) or modes.S_ISLNK(found.st_mode):
            self.files.remove(path)
        elif modes.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)

    def _spoil(self, path: str, kind: str) -> None:
        """Makes a file that has come whole another one, after the fact."""
        real = self.files.real(path)
        with open(real, "r+b") as file:
            size = os.fstat(file.fileno()).st_size
            if kind == "truncate":
                file.truncate(size // 2)
                return
            byte = os.pread(file.fileno(), 1, size // 2)
            os.pwrite(file.fileno(), flipped(byte), size // 2)

    # receive: from the device to the host

    def receive(self, word: bytes, path: str) -> None:
        fault = self.meet("sync.recv")
        if fault and fault.kind == "hostile":
            raise Failed(hostile.text(fault.value))
        try:
            file = self.files.open(path, "rb")
        except OSError as error:
            what = "read" if error.errno == errno.EISDIR else "open"
            raise Failed(f"{what} failed: {error.strerror}") from None
        with file:
            self._give(file)

    def _give(self, file: BinaryIO) -> None:
        out = bytearray()
        while True:
            data = file.read(MAX_DATA)
            if not data:
                break
            fault = self.meet("sync.recv.data")
            if fault is None:
                out += b"DATA" + struct.pack("<I", len(data)) + data
                if len(out) >= _BATCH:
                    self.write(bytes(out))
                    out.clear()
                continue
            self.write(bytes(out))
            out.clear()
            if self._give_wrong(data, fault):
                break
        self.write(bytes(out) + b"DONE" + bytes(4))

    def _give_wrong(self, data: bytes, fault: Fault) -> bool:
        """One piece with a fault in it; whether it is the last."""
        size = len(data)
        if fault.kind == "truncate":
            data = data[: size // 2]
            size = len(data)
        elif fault.kind == "corrupt":
            data = flipped(data)
        elif fault.kind == "wrong_size":
            size += 7
        elif fault.kind == "hostile":
            size = hostile.size(fault.value)
        self.write(b"DATA" + struct.pack("<I", size) + data, fault)
        return fault.kind in ("truncate", "wrong_size", "hostile")


def _stat1(found: os.stat_result | None) -> bytes:
    if found is None:
        return STAT1.pack(b"STAT", 0, 0, 0)
    return STAT1.pack(b"STAT", found.st_mode, found.st_size & 0xFFFFFFFF, int(found.st_mtime) & 0xFFFFFFFF)


def _stat2(word: bytes, found: os.stat_result | None, number: int) -> bytes:
    if found is None:
        return STAT2.pack(word, number, *(0,) * 10)
    mode, inode, disk, *rest = found[:10]
    return STAT2.pack(word, 0, disk, inode, mode, *rest)


_ACTIONS: dict[bytes, Callable[[Sync, bytes, str], None]] = {
    b"STAT": Sync.stat,
    b"STA2": Sync.stat,
    b"LST2": Sync.stat,
    b"LIST": Sync.list,
    b"LIS2": Sync.list,
    b"SEND": Sync.send,
    b"RECV": Sync.receive,
}
