"""A program that a client has pushed and that runs, as the table of processes shows it."""

import os
import signal
import threading

from host_tools.virtual_device import faults
from host_tools.virtual_device.users import SHELL_UID


class Program:
    """One that runs, as the table of processes shows it."""

    uid = SHELL_UID

    def __init__(self, pid: int, words: list[str]) -> None:
        self.pid, self.name, self.command_line = pid, os.path.basename(words[0]), " ".join(words)
        self.ended, self.signal = threading.Event(), 0
        self.dropped: faults.Dropped | None = None  # the connection, while its output was written

    def alive(self) -> bool:
        return not self.ended.is_set()

    def send(self, number: int) -> None:
        """Every signal ends it."""
        self.signal = number
        self.ended.set()

    def end(self, why: str) -> None:
        self.send(signal.SIGKILL)
