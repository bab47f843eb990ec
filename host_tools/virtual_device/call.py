"""One command that runs on the device, and the table of all commands.

A command is a function of a Call that returns its exit status:

    @command("getprop")
    def getprop(call: Call) -> int:
        call.line(call.device.properties.get(call.argv[1], ""))
        return 0
"""

import errno
import getopt
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Protocol

from host_tools.virtual_device.faults import Fault
from host_tools.virtual_device.files import Files, failure, normal, write_all

if TYPE_CHECKING:
    from host_tools.virtual_device.device import VirtualDevice

PIECE = 1 << 20
_LONGEST_LINE = 4 << 20


class Stopped(Exception):
    """Nobody listens to this command any more: it ends, with the status of a broken pipe."""


class Input(Protocol):
    def read(self, limit: int) -> bytes:
        """1..limit bytes as soon as there are any, empty at the end."""


@dataclass
class Call:
    """What a command gets. Words are str; bytes that are not UTF-8 are surrogates (os.fsencode gives them back)."""

    argv: list[str]
    device: "VirtualDevice"
    stdin: Input
    out: Callable[[bytes], None]  # raises Stopped when nobody listens any more
    err: Callable[[bytes], None]
    user: str = "shell"  # "shell", or a package, after run-as
    cwd: str = "/"
    cancelled: threading.Event = field(default_factory=threading.Event)  # the host has closed the stream

    @property
    def files(self) -> Files:
        return self.device.files(self.user)

    def path(self, name: str) -> str:
        """A device path from a word of the command line."""
        return normal(name, self.cwd) + ("/" if name.endswith("/") and name.strip("/") else "")

    def options(self, letters: str, long: Sequence[str] = ()) -> tuple[dict[str, str], list[str]]:
        """The options among the words, as `getopt` has them ("r:" takes a value), and the other words."""
        given, words = getopt.gnu_getopt(self.argv[1:], letters, long)
        return dict(given), words

    def line(self, text: str) -> None:
        self.out(os.fsencode(text + "\n"))

    def fail(self, text: str, status: int = 1) -> int:
        """Writes `NAME: text` to the error stream and returns the status."""
        self.err(os.fsencode(f"{self.argv[0]}: {text}\n"))
        return status

    def meet(self, step: str) -> Fault | None:
        """A fault that is due at this step and that the command is to do (see VirtualDevice.meet)."""
        return self.device.meet(step, closed=self.cancelled)

    def wait(self, seconds: float) -> None:
        """Sleeps, but not longer than somebody listens."""
        if self.cancelled.wait(seconds):
            raise Stopped


Command = Callable[[Call], int]
COMMANDS: dict[str, Command] = {}


def command(*names: str) -> Callable[[Command], Command]:
    """Enters a function into the table under these names."""

    def enter(function: Command) -> Command:
        COMMANDS.update(dict.fromkeys(names, function))
        return function

    return enter


def run(call: Call) -> int:
    """Runs a command of the table; 127 when there is none of this name. What the file system refuses is said."""
    folder, slash, name = call.argv[0].rpartition("/")
    function = COMMANDS.get(name) if not slash or folder in ("/system/bin", "/bin") else None
    if function is None:
        call.err(os.fsencode(f"/system/bin/sh: {call.argv[0]}: inaccessible or not found\n"))
        return 127
    try:
        return function(call)
    except getopt.GetoptError as bad:
        return call.fail(f"Unknown option '{bad.opt}' (see \"{name} --help\")")
    except OSError as error:
        return call.fail(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror))


def write(call: Call, file: BinaryIO, data: bytes) -> None:
    """Writes to a file as a command does: the device may be full, or become so."""
    if call.meet("files.write"):
        raise failure(errno.ENOSPC, "")
    call.device.room()
    write_all(file, data)


def pieces(source: Input) -> Iterator[bytes]:
    """All of an input, as it comes."""
    return iter(lambda: source.read(PIECE), b"")


def lines(source: Input) -> Iterator[bytes]:
    """The lines of an input as they come, with their ends. ENOMEM for one without an end."""
    rest = b""
    for piece in pieces(source):
        if len(rest) > _LONGEST_LINE:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest
