"""Ctrl-C at any moment: the first one ends what goes on, and nothing disturbs the tidying up that follows.

SIGTERM counts as Ctrl-C: whoever stops this process with it finds the device as it was, too.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Guard:
    def __init__(self) -> None:
        self.came = False
        self.held = 0

    def handle(self, number: int, frame: Any) -> None:
        again, self.came = self.came, True
        if again or self.held:
            print("Ctrl-C: tidying up the device, a few seconds", file=sys.stderr, flush=True)
            return
        raise KeyboardInterrupt


_guards: list[_Guard] = []


@contextmanager
def once() -> Iterator[None]:
    """Only the first Ctrl-C raises KeyboardInterrupt inside; one that came while held() does so at the end.

    In the main thread; elsewhere Ctrl-C does not arrive.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    guard = _Guard()
    before = [signal.signal(number, guard.handle) for number in _SIGNALS]
    _guards.append(guard)
    try:
        yield
    finally:
        _guards.remove(guard)
        for number, handler in zip(_SIGNALS, before):
            signal.signal(number, handler)
    if guard.came:
        raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[None]:
    """Inside, Ctrl-C waits."""
    guard = _guards[-1] if _guards and threading.current_thread() is threading.main_thread() else _Guard()
    guard.held += 1
    try:
        yield
    finally:
        guard.held -= 1
