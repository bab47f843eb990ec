"""One device: commands, properties and files over adb, each with a deadline that holds, and errors that say what to do.

What a device says is not believed before it is checked. Requests that change nothing, or the same again, are tried up
to three times within their deadline; each time is an Event of the device.
"""

import builtins
import hashlib
import os
import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from host_tools.base.errors import (
    DeviceError,
    DeviceRefused,
    DeviceUnusable,
    Misuse,
    ReplyNotUnderstood,
    TransferFailed,
    not_written,
)
from host_tools.phone.adb import adb_errors, server, shell_packets, sync_client, tool_texts
from host_tools.phone.adb.link import Link
from host_tools.phone.adb.retry import Event, tried
from host_tools.phone.adb.server_connection import Connection, Deadline
from host_tools.phone.adb.sync_client import FileInfo

T = TypeVar("T")
OUTPUT_LIMIT_BYTES = 16 << 20
_COMMAND_LIMIT_BYTES = 32 << 10
_IDLE_S = 20.0  # a transfer of which nothing is heard for so long stands still


class Sink(Protocol):
    """What takes the bytes of a stream: a file, or an Unpacker."""

    def write(self, data: bytes, /) -> int: ...


@dataclass(frozen=True)
class Reply:
    """A command that ended. Outputs are text; bytes that are not UTF-8 show as replacement signs."""

    argv: list[str]
    status: int
    stdout: str
    stderr: str


class Device:
    """A device by its serial; a virtual one has another adb server. Nothing is asked before the first request; threads
    may share it."""

    def __init__(self, serial: str, *, virtual: bool = False, unusable: DeviceError | None = None) -> None:
        self.serial, self.virtual = serial, virtual
        self.unusable = unusable  # why nothing can be asked of it: who works with several leaves it out, and names it
        self.events: list[Event] = []  # every retry, reconnection and restart of the server
        self.idle_s = _IDLE_S
        self._link = Link(serial, self.events, server.of(virtual=virtual))
        self._properties: dict[str, str] | None = None

    @property
    def stopped(self) -> bool:
        """Whether stop() was called."""
        return self._link.stopped

    def twin(self) -> "Device":
        """Another handle on the same device, which stop() of this one does not reach: for cleaning up."""
        made = Device(self.serial, virtual=self.virtual)
        made.events, made.idle_s = self.events, self.idle_s
        made._link = Link(self.serial, self.events, server.of(virtual=self.virtual))
        return made

    def __repr__(self) -> str:
        return f"Device({self.serial})"

    def shell(
        self,
        argv: Sequence[object],
        *,
        timeout_s: float,
        check: bool = True,
        on_line: Callable[[str], None] | None = None,
        step: str = "",
        repeatable: bool = False,
        limit_bytes: int = OUTPUT_LIMIT_BYTES,
    ) -> Reply:
        """Runs a command and returns what it printed.

        Each word of argv is one word for the device, whatever it holds. on_line gets each line of either output as it
        comes. With check, a status other than 0 raises DeviceRefused. repeatable: it may run twice, so what went wrong
        on the way is tried again.
        """
        words = [str(word) for word in argv]
        texts: list[shell_packets.Texts] = []

        def once() -> int:
            texts[:] = [shell_packets.Texts(limit_bytes, on_line)]
            status = self._command(words, deadline, step, texts[0].take)
            texts[0].end()
            return status

        deadline = Deadline(timeout_s)
        status = tried(once, self.events, step, deadline, attempts=3 if repeatable else 1)
        reply = Reply(words, status, texts[0].text(shell_packets.STDOUT), texts[0].text(shell_packets.STDERR))
        if check and status != 0:
            raise self._failed(reply, step)
        return reply

    def stream(
        self,
        argv: Sequence[object],
        *,
        timeout_s: float,
        to: Sink,
        limit_bytes: int,
        step: str = "",
    ) -> int:
        """Runs a command and writes its standard output, byte for byte, into `to`; returns how many bytes.

        Raises DeviceRefused where its status is not 0, ReplyNotUnderstood where more than the limit came.
        """
        words = [str(word) for word in argv]
        counts = [0]
        errors = shell_packets.Texts(OUTPUT_LIMIT_BYTES, None)

        def take(kind: int, piece: bytes) -> None:
            if kind != shell_packets.STDOUT:
                errors.take(kind, piece)
                return
            counts[0] += len(piece)
            if counts[0] > limit_bytes:
                raise ValueError(f"more than {limit_bytes} bytes of output")
            try:
                to.write(piece)
            except OSError as error:
                raise not_written("write what the device sends", error) from error

        status = self._command(words, Deadline(timeout_s), step, take)
        if status != 0:
            raise self._failed(Reply(words, status, "", errors.text(shell_packets.STDERR)), step)
        return counts[0]

    def properties(self) -> dict[str, str]:
        """The system properties, as of the first time that they were asked for."""
        if self._properties is None:
            reply = self.shell(["getprop"], timeout_s=15, step="properties", repeatable=True)
            self._properties = tool_texts.parse(reply.stdout)
        return self._properties

    def features(self, timeout_s: float = 10.0) -> set[str]:
        """What the device's daemon can do."""
        return self._link.features(timeout_s)

    def stat(self, path: str, timeout_s: float = 10.0, *, follow: bool = False) -> FileInfo | None:
        """What is at the path; None: nothing."""
        v2 = "stat_v2" in self.features(timeout_s)
        return self._sync(
            "stat", f"look at {path}", timeout_s, lambda c: sync_client.look(c, path, v2=v2, follow=follow)
        )

    def list(self, path: str, timeout_s: float = 20.0) -> list[FileInfo]:
        """What a folder holds. The names are the device's words: see names before one is used here."""
        v2 = "ls_v2" in self.features(timeout_s)
        return self._sync("list", f"list {path}", timeout_s, lambda c: sync_client.entries(c, path, v2=v2))

    def send(
        self,
        local: Path,
        remote: str,
        mode: int = 0o644,
        timeout_s: float = 600.0,
        *,
        mtime: int | None = None,
        show: Callable[[int], None] = lambda count: None,
        attempts: int = 3,
    ) -> int:
        """Sends a file; returns its bytes. The device may show a part of it until the end: see transfer.push."""

        def once(connection: Connection) -> int:
            with open(local, "rb") as source:
                at = int(os.fstat(source.fileno()).st_mtime) if mtime is None else mtime
                return sync_client.send(connection, source, remote, mode, at, show)

        try:
            return self._sync("send", f"send {local.name} to {remote}", timeout_s, once, attempts)
        except OSError as error:  # what the device does is a DeviceError
            raise Misuse(f"send {local}", error.strerror or str(error), "check that file") from error

    def receive(
        self,
        remote: str,
        local: Path,
        limit_bytes: int,
        timeout_s: float = 600.0,
        *,
        show: Callable[[int], None] = lambda count: None,
        attempts: int = 3,
    ) -> str:
        """Brings a file, whole or not at all: its size and digest agree with the device's. Returns the SHA-256."""
        what = f"bring {remote}"
        deadline = Deadline(timeout_s, self.idle_s)

        def once() -> str:
            handle, temporary = tempfile.mkstemp(dir=local.parent, prefix=".part-")
            try:
                with os.fdopen(handle, "w+b") as to:
                    run = lambda c: sync_client.receive(c, remote, to, limit_bytes, show)  # noqa: E731
                    got = self._sync_once("receive", what, deadline, run)
                    to.seek(0)
                    digest = hashlib.file_digest(to, "sha256").hexdigest()
                there = self.digests([remote], max(0.1, deadline.left())).get(remote)
                if there != digest:
                    came_back = f"the {got} bytes received have another SHA-256 than the file on the device"
                    raise TransferFailed(what, came_back, "try again", serial=self.serial, step="receive")
                os.replace(temporary, local)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
            return digest

        try:
            return tried(once, self.events, "receive", deadline, attempts)
        except OSError as error:
            raise not_written(f"write {local}", error) from error

    def digests(self, paths: Sequence[str], timeout_s: float, prefix: Sequence[str] = ()) -> dict[str, str]:
        """SHA-256 of files, by the device; a file that is not there, or not to be read, is left out."""
        found: dict[str, str] = {}
        deadline = Deadline(timeout_s)
        for start in range(0, len(paths), 100):
            some = list(paths[start : start + 100])
            work = lambda some=some: self._digests([*prefix, "sha256sum", *some], some, deadline)  # noqa: E731
            found.update(tried(work, self.events, "digest", deadline))
        return found

    def _digests(self, argv: builtins.list[str], paths: builtins.list[str], deadline: Deadline) -> dict[str, str]:
        reply = self.shell(argv, timeout_s=max(0.1, deadline.left()), check=False, step="digest")
        found = tool_texts.digests(reply.stdout, paths)
        if reply.status == 127:
            raise self._failed(reply, "digest")
        if reply.status == 0 and len(found) < len(set(paths)):
            what, came_back = f"compare files on {self.serial}", "sha256sum left some out without an error"
            error = ReplyNotUnderstood(what, came_back, "try again", serial=self.serial, step="digest")
            error.retry = True
            raise error
        return found

    def connect(self, timeout_s: float = 10.0) -> None:
        """Connects the server with a device of the network, anew if it was connected."""
        self._link.connect(Deadline(timeout_s))

    def stop(self) -> None:
        """Ends what other threads ask of the device right now: they get an error at once, and so do new requests."""
        self._link.stop()

    def _command(
        self,
        words: builtins.list[str],
        deadline: Deadline,
        step: str,
        take: Callable[[int, bytes], None],
    ) -> int:
        line = shlex.join(words)
        step = step or (words[0] if words else "shell")
        what = f"run `{adb_errors.shown(line, 120)}` on {self.serial}"
        if len(os.fsencode(line)) > _COMMAND_LIMIT_BYTES or "\0" in line:
            raise Misuse(what, "the command is too long, or has a NUL in it", "give it less at a time")
        with self._link.doing(step, what, deadline):
            if "shell_v2" not in self.features(max(0.1, deadline.left())):
                came_back = "its adb daemon has no shell protocol v2"
                do_next = "use a device with Android 7 or later"
                raise DeviceUnusable(what, came_back, do_next, serial=self.serial, step=step)
            with self._link.service(f"shell,v2,TERM=dumb,raw:{line}", deadline) as connection:
                return shell_packets.read(connection, take)

    def _failed(self, reply: Reply, step: str) -> DeviceError:
        said = reply.stderr.strip() or reply.stdout.strip()
        step = step or " ".join(reply.argv[:1])
        what = f"run `{adb_errors.shown(shlex.join(reply.argv), 120)}` on {self.serial}"
        came_back = f"status {reply.status}: {adb_errors.shown(said)}"
        if adb_errors.says_full(said):
            return adb_errors.of_files(came_back, what, self.serial, step)
        return DeviceRefused(what, came_back, "check the device", serial=self.serial, step=step)

    def _sync(self, step: str, what: str, timeout_s: float, work: Callable[[Connection], T], attempts: int = 3) -> T:
        deadline = Deadline(timeout_s, self.idle_s)
        return tried(lambda: self._sync_once(step, what, deadline, work), self.events, step, deadline, attempts)

    def _sync_once(self, step: str, what: str, deadline: Deadline, work: Callable[[Connection], T]) -> T:
        with self._link.doing(step, f"{what} on {self.serial}", deadline, transfer=step in ("send", "receive")):
            with self._link.service("sync:", deadline) as connection:
                return work(connection)
