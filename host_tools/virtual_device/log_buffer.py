"""Android's log: what apps and the system have written to it."""

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from host_tools.virtual_device.users import USERS

BUFFERS = ("main", "system", "crash")
PRIORITIES = "VDIWEFS"
KEPT = 20000


def moment(time_s: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A time since 1970 in the device's time zone, with milliseconds."""
    return datetime.fromtimestamp(time_s, UTC).strftime(f"{form}.%f")[:-3]


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

    def at_least(self, priority: str) -> bool:
        return PRIORITIES.index(self.priority) >= PRIORITIES.index(priority)

    def line(self, with_user: bool) -> str:
        """In the form `threadtime`, which is adb's own."""
        name = USERS.get(self.uid, "")
        user = f"{name if name and len(name) <= 5 else self.uid:>5} " if with_user else ""
        begin = f"{moment(self.time_s, '%m-%d %H:%M:%S')} {user}{self.pid:5d} {self.tid:5d}"
        return f"{begin} {self.priority} {self.tag:<8}: {self.text}\n"


class LogBuffer:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=KEPT)
        self._count = 0

    def add(
        self, priority: str, tag: str, text: str, pid: int = 1, uid: int = 1000, buffer: str = "main", tid: int = 0
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

    def clear(self, buffers: Sequence[str] = BUFFERS) -> None:
        with self._lock:
            self._entries = deque((e for e in self._entries if e.buffer not in buffers), maxlen=KEPT)
