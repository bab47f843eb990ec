"""A port for a server that a test starts later."""

import random
import socket

_BELOW_EPHEMERAL = range(12_000, 32_000)  # Linux deals 32,768 to 60,999 to whoever asks for any port


def free_port() -> int:
    """A port of this machine that nobody listens on. A port that the kernel deals to anybody could be dealt to another
    process between this call and the server's start; one below that range is taken only by who names it."""
    while True:
        port = random.SystemRandom().choice(_BELOW_EPHEMERAL)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
