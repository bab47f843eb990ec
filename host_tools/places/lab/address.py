"""Addresses of schedulers, and names of hosts."""

import re

from host_tools.base.errors import Misuse

PORT = 8786  # dask's own default
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,63}")
_ADDRESS = re.compile(r"(?:(tcp|tls)://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?")


def checked(text: str) -> str:
    """tcp://HOST:PORT of `HOST`, `HOST:PORT` or the whole; empty: this machine. Misuse for anything else."""
    scheme, host, port = _parts(text)
    return f"{scheme}://{host}:{port}"


def host_of(text: str) -> str:
    return _parts(text)[1].strip("[]")


def _parts(text: str) -> tuple[str, str, int]:
    match = _ADDRESS.fullmatch(text or "localhost")
    port = int(match[3] or PORT) if match else 0
    if not match or not 0 < port < 65536:
        do_next = "give tcp://HOST:PORT as `./inv lab scheduler` prints it; without a word: localhost"
        raise Misuse(f"read the scheduler's address {text!a}", "it is not HOST:PORT", do_next)
    return match[1] or "tcp", "127.0.0.1" if match[2] == "localhost" else match[2], port
