"""Tries again what may succeed a moment later, and writes down each time that it had to."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from host_tools.base.errors import DeviceError, DeviceTimedOut
from host_tools.phone.adb.server_connection import Deadline

T = TypeVar("T")
_PAUSES_S = (0.05, 0.5)  # before the second and the third try


@dataclass(frozen=True)
class Event:
    """Something that went wrong on the way, and was made good or tried again."""

    step: str
    error: str  # the class of the error, or what was done: reconnect, restart
    text: str
    time_s: float = field(default_factory=time.time)


def tried(work: Callable[[], T], events: list[Event], step: str, deadline: Deadline, attempts: int = 3) -> T:
    """What `work` returns. Only errors of the device that may pass (`retry`) are tried again, while time is left.

    Where another try ends with the deadline, the error that made it necessary says more, and is raised.
    """
    before: DeviceError | None = None
    for attempt in range(1, attempts + 1):
        try:
            return work()
        except DeviceError as error:
            if before and isinstance(error, DeviceTimedOut) and deadline.left() <= 0:
                raise before from error
            if not error.retry or attempt == attempts:
                raise
            pause = _PAUSES_S[min(attempt, len(_PAUSES_S)) - 1]
            if deadline.left() <= pause:
                raise
            before = error
            events.append(Event(error.step or step, type(error).__name__, error.came_back))
        time.sleep(pause)
    raise AssertionError("the last attempt returns or raises")
