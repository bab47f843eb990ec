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
        self._lock = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=_KEPT)
        self._count = 0

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
        with self._lock:
            for line in text.splitlines() or [""]:
                self._count += 1
                self._entries.append(Entry(self._count, time.time(), pid, tid or pid, uid, priority, tag, line, buffer))

    def since(self, number: int = 0) -> list[Entry]:
        """All entries after this one."""
        with self._lock:
            return [e for e in self._entries if e.number > number]

    def clear(self, buffer: str = "") -> None:
        """One buffer, or all."""
        with self._lock:
            self._entries = deque((e for e in self._entries if buffer and e.buffer != buffer), maxlen=_KEPT)
