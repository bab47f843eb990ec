"""Who waits for connections on this machine."""

import socket
import threading
from collections.abc import Callable


class Listener:
    """Listens on 127.0.0.1 (port 0: one that is free) and serves each connection in a thread of its own. OSError: the port is taken."""

    def __init__(self, serve: Callable[[socket.socket], None], port: int = 0, name: str = "listener") -> None:
        self._serve, self._name = serve, name
        self._socket = socket.create_server(("127.0.0.1", port), backlog=64)
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True, name=name).start()

    def close(self) -> None:
        """Ends the waiting, too: a closed socket alone would leave its thread in accept."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer,), daemon=True, name=f"{self._name}: connection").start()
