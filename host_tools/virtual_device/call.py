"""One command that runs on the device, and the table of all commands.

A command is a function of a Call, of the options among its words (as `getopt` has them; of a repeated one the last counts, or
all of those in `lists`, joined by commas; without letters there are none) and of the other words, and returns its exit status:

    @command("mkdir", letters="pm:", least=1)
    def mkdir(call: Call, given: Given, words: Words) -> int:
        return each(call, words, lambda word: call.files.make_folder(call.path(word)))
"""

import errno
import getopt
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from host_tools.virtual_device.faults import Fault
from host_tools.virtual_device.files import Files, failure, normal, write_all
from host_tools.virtual_device.state import State

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
    device: State
    stdin: Input
    out: Callable[[bytes], None]  # raises Stopped when nobody listens any more
    err: Callable[[bytes], None]
    user: str = "shell"  # "shell", or a package, after run-as
    cwd: str = "/"
    cancelled: threading.Event = field(default_factory=threading.Event)  # the host has closed the stream

    @property
    def files(self) -> Files:
        return Files(self.device, self.user)

    def path(self, name: str) -> str:
        """A device path from a word of the command line."""
        return normal(name, self.cwd) + ("/" if name.endswith("/") and name.strip("/") else "")

    def line(self, text: str) -> int:
        """Writes a line; returns 0, the status of a command that has no more to say."""
        self.out(os.fsencode(text + "\n"))
        return 0

    def fail(self, text: str, status: int = 1) -> int:
        """Writes `NAME: text` to the error stream and returns the status."""
        self.err(os.fsencode(f"{self.argv[0]}: {text}\n"))
        return status

    def meet(self, step: str) -> Fault | None:
        """A fault that is due at this step and that the command is to do (see State.meet)."""
        return self.device.meet(step, self.cancelled.is_set)

    def wait(self, seconds: float) -> None:
        """Sleeps, but not longer than somebody listens."""
        if self.cancelled.wait(seconds):
            raise Stopped


Given = dict[str, str]
Words = list[str]
Command = Callable[[Call, Given, Words], int]


@dataclass(frozen=True)
class _Known:
    function: Command
    letters: str | None
    long: Sequence[str]
    least: int
    lists: Sequence[str]


COMMANDS: dict[str, _Known] = {}


def command(
    *names: str, letters: str | None = None, long: Sequence[str] = (), least: int = 0, lists: Sequence[str] = ()
) -> Callable[[Command], Command]:
    """Enters a function into the table under these names; `least`: how many words it needs beside its options.

    A name may be two words, a command and its verb.
    """

    def enter(function: Command) -> Command:
        COMMANDS.update(dict.fromkeys(names, _Known(function, letters, long, least, lists)))
        return function

    return enter


def run(call: Call) -> int:
    """Runs a command of the table; 127 when there is none of this name. What the file system refuses is said."""
    folder, slash, name = call.argv[0].rpartition("/")
    words = call.argv[1:]
    if words and f"{name} {words[0]}" in COMMANDS:
        name = f"{name} {words.pop(0)}"
    known = COMMANDS.get(name) if not slash or folder in ("/system/bin", "/bin") else None
    if known is None:
        verbs = [one.removeprefix(f"{name} ") for one in sorted(COMMANDS) if one.startswith(f"{name} ")]
        if verbs:
            return call.fail(f"only {', '.join(verbs)}", 255)
        call.err(os.fsencode(f"/system/bin/sh: {call.argv[0]}: inaccessible or not found\n"))
        return 127
    given = list[tuple[str, str]]()
    try:
        if known.letters is not None:
            given, words = getopt.gnu_getopt(words, known.letters, known.long)
        if len(words) < known.least:
            return call.fail(f"Needs {known.least} argument{'s' if known.least > 1 else ''}")
        options = dict(given)
        for name in options.keys() & set(known.lists):
            options[name] = ",".join(value for other, value in given if other == name)
        return known.function(call, options, words)
    except getopt.GetoptError as bad:
        return call.fail(f"Unknown option '{bad.opt}' (see \"{name} --help\")")
    except OSError as error:
        return call.fail(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror))


def each(call: Call, words: Words, action: Callable[[str], None]) -> int:
    """Does it for every word; what the file system refuses is said, and the others go on."""
    status = 0
    for word in words:
        try:
            action(word)
        except OSError as error:
            own = error.filename and error.filename.rstrip("/") != call.path(word).rstrip("/")
            status = call.fail(f"{error.filename if own else word}: {error.strerror}")
    return status


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
