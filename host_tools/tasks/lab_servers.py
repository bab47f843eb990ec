"""`inv lab`: the processes of a lab that keep running."""

from collections.abc import Sequence

from host_tools.base.errors import Misuse
from host_tools.places.lab import servers


def lab(words: Sequence[str], host: str, listen: str, port: int) -> None:
    """Serves until Ctrl-C. The command line has checked the words."""
    if not 0 < port < 65536:
        raise Misuse(f"inv lab --port {port}", "a port is from 1 to 65535", "give another --port")
    what, *address = words
    if what == "scheduler":
        servers.scheduler("127.0.0.1" if listen == "localhost" else listen, port, _say)
    else:
        servers.worker("".join(address), host, _say)


def _say(text: str) -> None:
    print(text, flush=True)
