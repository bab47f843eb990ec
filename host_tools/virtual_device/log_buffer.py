"""What apps and the system have written to Android's log; `logcat` reads it."""

import threading
import time
from collections import deque
from dataclasses import dataclass

BUFFERS = ("main", "system", "crash")
_KEPT = 20000


@dataclass(frozen=True)
class Entry:
    number: int
    time_s: float  # since 1970
    pid: int
    tid: int
    uid: int
    priority: str  # one of V D I W E F
    tag: str
    text: str
    buffer: str


class LogBuffer:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._entries: deque[Entry] = deque(maxlen=_KEPT)
        self._next = 1

    def add(
        self,
        priority: str,
        tag: str,
        text: str,
        *,
        pid: int = 1,
        tid: int = 0,
        uid: int = 1000,
        buffer: str = "main",
    ) -> None:
        """One entry per line of `text`."""
        with self._changed:
            for line in text.splitlines() or [""]:
                now = time.time()
                self._entries.append(Entry(self._next, now, pid, tid or pid, uid, priority, tag, line, buffer))
                self._next += 1
            self._changed.notify_all()

    def since(self, number: int = 0) -> list[Entry]:
        """All entries after this one."""
        with self._changed:
            return [e for e in self._entries if e.number > number]

    def wait(self, number: int, timeout_s: float) -> list[Entry]:
        """Entries after this one, as soon as there are any; empty when none came in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._next > number + 1, timeout_s)
        return self.since(number)

    def clear(self, buffer: str = "") -> None:
        """One buffer, or all."""
        with self._changed:
            kept = [e for e in self._entries if buffer and e.buffer != buffer]
            self._entries = deque(kept, maxlen=_KEPT)
