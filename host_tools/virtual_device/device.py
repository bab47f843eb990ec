"""The virtual device: its state, what serves it, and a listener on the loopback."""

import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from host_tools.virtual_device import layout
from host_tools.virtual_device.connection import Connection
from host_tools.virtual_device.evidence import Evidence
from host_tools.virtual_device.listener import Listener
from host_tools.virtual_device.log_buffer import LogBuffer
from host_tools.virtual_device.packages import Packages
from host_tools.virtual_device.processes import Processes
from host_tools.virtual_device.state import Note, State

_POLL_S = 0.02


class VirtualDevice(State):
    """A phone for adb at 127.0.0.1:`port`, with its files under `root`.

    Starts with start() or as a context manager. `faults` injects faults; `log` says what was asked.
    """

    def __init__(
        self,
        root: Path,
        *,
        name: str = "virtual",
        port: int = 0,
        faults: Sequence[str] = (),
        on_note: Callable[[Note], None] | None = None,
    ) -> None:
        super().__init__(root, name, port, faults, on_note)
        self._listener: Listener | None = None
        layout.make(self.root)
        self.logcat = LogBuffer()
        self.processes, self.evidence = Processes(self), Evidence(self)
        self.packages = Packages(self)

    def start(self) -> "VirtualDevice":
        self._listener = Listener(self._serve, self.port, lambda: self.note("refused", "a connection of another user"))
        self.port = self._listener.port
        self.note("start", f"{self.name} at {self.serial}")
        return self

    def stop(self) -> None:
        self.stopping.set()
        if self._listener:
            self._listener.close()
        self.processes.end_all("shutdown")
        self.drop_all()

    def __enter__(self) -> "VirtualDevice":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _serve(self, peer: socket.socket) -> None:
        connection = Connection(self, peer)
        self._connections.add(connection)
        try:
            self._hold(connection)
            connection.run()
        finally:
            self._connections.discard(connection)

    def _hold(self, connection: Connection) -> None:
        """A device that starts again, or is offline, does not answer."""
        while not self.stopping.is_set() and not connection.lost():
            if time.monotonic() >= self.away_until and not self.faults.lasting("offline"):
                return
            self.stopping.wait(_POLL_S)
