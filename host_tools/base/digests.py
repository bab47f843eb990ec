"""Digests of files."""

import hashlib
from pathlib import Path

from host_tools.base.errors import Misuse


def sha256_of(path: Path) -> str:
    """The digest of a file; Misuse where it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    except OSError as error:
        raise Misuse(f"read {path}", error.strerror or str(error), "give a file that is there and readable") from error
    return digest.hexdigest()
