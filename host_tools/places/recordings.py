"""What was recorded of another delegate, kept packed in the cache folder: it is recorded once."""

import gzip
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from host_tools.base import settings

T = TypeVar("T")


def kept(file: Path, read: Callable[[bytes], T], make: Callable[[], bytes]) -> T:
    """What `read` makes of the file; of what `make` gives, and the file gets, where that fails."""
    try:
        return read(gzip.decompress(file.read_bytes()))
    except (OSError, EOFError, ValueError, zlib.error):  # whatever is wrong with it: it is made again
        pass
    content = make()
    settings.make_folder(file.parent, "QUADRA_TOOLS_DIR")
    new = file.with_suffix(f".{os.getpid()}")
    new.write_bytes(gzip.compress(content, 1))
    new.replace(file)
    return read(content)
