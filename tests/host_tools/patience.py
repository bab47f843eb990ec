"""How long something took, without the time in which this machine did something else."""

import threading
import time

_EVERY_S = 0.02


class Patience:
    """`with Patience() as clock: …`; then clock.took_s: the wall's time less what a thread that only sleeps was late."""

    def __enter__(self) -> "Patience":
        self.took_s, self._late_s, self._ended = 0.0, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        self._started = time.monotonic()
        return self

    def __exit__(self, *_) -> None:
        wall = time.monotonic() - self._started
        self._ended.set()
        self._thread.join()
        self.took_s = max(0.0, wall - self._late_s)

    def _watch(self) -> None:
        while not self._ended.is_set():
            before = time.monotonic()
            self._ended.wait(_EVERY_S)
            if not self._ended.is_set():
                self._late_s += max(0.0, time.monotonic() - before - 2 * _EVERY_S)
