"""One command that runs on the device, and the table of all commands.

A command is a function of a Call that returns its exit status:

    @command("getprop")
    def getprop(call: Call) -> int:
        call.line(call.device.properties.get(call.argv[1], ""))
        return 0
"""

import errno
import os
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, Deque, Dict, List, Optional, Protocol

from host_tools.virtual_device.faults import Fault
from host_tools.virtual_device.files import View, normal

if TYPE_CHECKING:
    from host_tools.virtual_device.device import VirtualDevice

_PIPE_BYTES = 1 << 20
_MOST_HELD = 128 << 20
_LONGEST_LINE = 4 << 20


class Stopped(Exception):
    """Nobody listens to this command any more: it ends, with the status of a broken pipe."""


class BadOption(Exception):
    """An option that the command does not have."""


class Input(Protocol):
    def read(self, limit: int = -1) -> bytes:
        """1..limit bytes as soon as there are any, empty at the end; without a limit, all to the end."""


@dataclass
class Call:
    """What a command gets. Words are str; bytes that are not UTF-8 are surrogates (os.fsencode gives them back)."""

    argv: List[str]
    device: "VirtualDevice"
    stdin: Input
    out: Callable[[bytes], None]  # raises Stopped when nobody listens any more
    err: Callable[[bytes], None]
    user: str = "shell"  # "shell", "root" or a package, after run-as
    cwd: str = "/"
    env: Dict[str, str] = field(default_factory=dict)
    cancelled: threading.Event = field(default_factory=threading.Event)  # the host has closed the stream

    @property
    def files(self) -> View:
        return self.device.files.view(self.user)

    def path(self, name: str) -> str:
        """A device path from a word of the command line."""
        return normal(name, self.cwd) + ("/" if name.endswith("/") and name.strip("/") else "")

    def line(self, text: str) -> None:
        self.out(os.fsencode(text + "\n"))

    def fail(self, text: str, status: int = 1) -> int:
        """Writes `NAME: text` to the error stream and returns the status."""
        self.err(os.fsencode(f"{self.argv[0]}: {text}\n"))
        return status

    def meet(self, step: str) -> Optional[Fault]:
        """A fault that is due at this step and that the command is to do (see VirtualDevice.meet)."""
        return self.device.meet(step, closed=self.cancelled)

    def wait(self, seconds: float) -> None:
        """Sleeps, but not longer than somebody listens."""
        if self.cancelled.wait(seconds):
            raise Stopped

    def run(self, argv: List[str], **changes) -> int:
        """Runs another command in this one's place; `changes` are fields of Call."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return run(Call(**{**fields, "env": dict(self.env), **changes, "argv": argv}))


Command = Callable[[Call], int]
COMMANDS: Dict[str, Command] = {}


def command(*names: str) -> Callable[[Command], Command]:
    """Enters a function into the table under these names."""

    def enter(function: Command) -> Command:
        for name in names:
            COMMANDS[name] = function
        return function

    return enter


def run(call: Call) -> int:
    """Runs a command of the table; 127 when there is none of this name. What the file system refuses is said."""
    name = call.argv[0]
    function = COMMANDS.get(name.rpartition("/")[2]) if _in_path(name) else None
    if function is None:
        call.err(os.fsencode(f"/system/bin/sh: {name}: inaccessible or not found\n"))
        return 127
    try:
        return function(call)
    except BadOption as bad:
        return call.fail(f"Unknown option '{bad}' (see \"{call.argv[0]} --help\")")
    except OSError as error:
        if error.strerror is None:
            raise
        name = error.filename if isinstance(error.filename, str) else ""
        return call.fail(f"{name}: {error.strerror}" if name else error.strerror)


def _in_path(name: str) -> bool:
    return "/" not in name or name.rpartition("/")[0] in ("/system/bin", "/bin", "/system/xbin", "/vendor/bin")


class Bytes:
    """An Input of bytes that are known."""

    def __init__(self, data: bytes = b"") -> None:
        self._left = memoryview(data)

    def read(self, limit: int = -1) -> bytes:
        size = len(self._left) if limit < 0 else limit
        piece, self._left = self._left[:size], self._left[size:]
        return bytes(piece)


class Pipe:
    """Between two commands. The reader ends it with stop(), the writer with end()."""

    def __init__(self, cancelled: threading.Event) -> None:
        self._changed = threading.Condition()
        self._pieces: Deque[bytes] = deque()
        self._size, self._ended, self._stopped = 0, False, False
        self._cancelled = cancelled

    def write(self, data: bytes) -> None:
        with self._changed:
            while self._size > _PIPE_BYTES and not self._stopped:
                self._changed.wait(0.1)
                if self._cancelled.is_set():
                    self._stopped = True
            if self._stopped:
                raise Stopped
            if data:
                self._pieces.append(bytes(data))
                self._size += len(data)
                self._changed.notify_all()

    def read(self, limit: int = -1) -> bytes:
        if limit < 0:
            return whole(self)
        with self._changed:
            while not self._pieces and not self._ended:
                self._changed.wait(0.1)
                if self._cancelled.is_set():
                    return b""
            if not self._pieces:
                return b""
            piece = self._pieces.popleft()
            if len(piece) > limit:
                self._pieces.appendleft(piece[limit:])
                piece = piece[:limit]
            self._size -= len(piece)
            self._changed.notify_all()
            return piece

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


def whole(source: Input) -> bytes:
    """All to the end, unless that is more than one command may hold: ENOMEM."""
    pieces, size = [], 0
    while True:
        piece = source.read(1 << 20)
        if not piece:
            return b"".join(pieces)
        size += len(piece)
        if size > _MOST_HELD:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        pieces.append(piece)


def lines(stdin: Input):
    """The lines of an input as they come, with their ends."""
    rest = b""
    while True:
        piece = stdin.read(1 << 16)
        if not piece:
            break
        if len(rest) > _LONGEST_LINE:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest
