"""Reads files that anybody may have written: bounded in size, checked before it is believed.

Whatever is wrong with a file ends in one Misuse, which names the file and the place in it. Nothing here waits for a
pipe, follows a device, or asks for memory that a file only claims to need.
"""

import contextlib
import io
import math
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec
import numpy as np

from host_tools.base import portable
from host_tools.base.errors import Misuse
from host_tools.record import schema

T = TypeVar("T")
K = TypeVar("K", bound=schema.Kept)
JSON_BYTES = 1 << 26
TEXT_BYTES = 1 << 26
ARRAY_BYTES = 1 << 31  # TFLite counts the bytes of a tensor in 31 bits on many of its ways
_HEADER_BYTES = 10000
_LONGEST_SIDE = 1 << 31
_AGAIN = "run the model again"


class Missing(Misuse):
    """The file is not there."""


def content(path: Path, limit_bytes: int) -> bytes:
    """All bytes of a file."""
    with _opened(path, limit_bytes) as stream:
        return stream.read(limit_bytes + 1)[:limit_bytes]


def beginning(path: Path, count: int) -> bytes:
    """The first bytes of a file; fewer where it has no more."""
    with _opened(path, None) as stream:
        return stream.read(count)


def text(path: Path, limit_bytes: int = TEXT_BYTES) -> str:
    """The end of a text, at most limit_bytes of it; bytes that are not UTF-8 become replacement signs."""
    with _opened(path, None) as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - limit_bytes))
        return stream.read(limit_bytes).decode("utf-8", "replace")


def json_file(path: Path, kind: type[T], do_next: str = _AGAIN) -> T:
    """A JSON file as its type."""
    return json_bytes(content(path, JSON_BYTES), kind, str(path), do_next)


def kept(folder: Path, kind: type[K]) -> K:
    """The file of a type in a run's folder."""
    return json_file(folder / kind.FILE, kind)


def json_bytes(data: bytes, kind: type[T], where: str, do_next: str = _AGAIN) -> T:
    """The same of bytes. where: what they are of, for the sentence."""
    try:
        data.decode("utf-8")  # also what no type asks for
        version = msgspec.json.decode(data, type=_Versioned).schema_version
        if version != schema.VERSION:
            found = f"its schema_version is {version}, this Quadra reads {schema.VERSION}"
            raise Misuse(f"read {where}", found, f"{do_next}, or read the folder with the Quadra that made it")
        return msgspec.json.decode(data, type=kind)
    except RecursionError as error:
        raise _damaged(where, "it is nested too deeply", do_next) from error
    except ValueError as error:  # UnicodeDecodeError, and all of msgspec's
        raise _damaged(where, str(error), do_next) from error


def array(path: Path) -> np.ndarray:
    """A numeric array of a .npy file, in this machine's byte order."""
    with _opened(path, ARRAY_BYTES) as stream:
        try:
            shape, by_columns, dtype = _npy_header(stream)
            count = _checked_count(shape, dtype, os.fstat(stream.fileno()).st_size - stream.tell())
            values = np.fromfile(stream, dtype, count)
            shaped = values.reshape(shape[::-1]).T if by_columns else values.reshape(shape)
            return shaped.astype(dtype.newbyteorder("="), copy=False)
        except (
            OSError,
            MemoryError,
            TypeError,
            ValueError,
        ) as error:  # TypeError: a shape of anything but whole numbers
            raise _damaged(str(path), str(error) or type(error).__name__, _AGAIN) from error


def arrays_of_npz(path: Path) -> dict[str, np.ndarray]:
    """The numeric arrays of a .npz file by name, each as `array` reads it."""
    with _opened(path, None) as stream:
        try:
            with zipfile.ZipFile(stream) as packed:
                found = {}
                for member in packed.infolist():
                    if member.file_size > ARRAY_BYTES:
                        raise ValueError(
                            f"{member.filename} has {member.file_size} bytes, at most {ARRAY_BYTES} are read"
                        )
                    found[member.filename.removesuffix(".npy")] = _array_of(packed.read(member))
                return found
        except (
            zipfile.BadZipFile,
            zlib.error,
            NotImplementedError,
            RuntimeError,
            EOFError,
            TypeError,
            ValueError,
        ) as error:
            raise _damaged(str(path), str(error) or type(error).__name__, _AGAIN) from error


def _array_of(content: bytes) -> np.ndarray:
    stream = io.BytesIO(content)
    shape, by_columns, dtype = _npy_header(stream)
    count = _checked_count(shape, dtype, len(content) - stream.tell())
    values = np.frombuffer(content, dtype, count, stream.tell())
    shaped = values.reshape(shape[::-1]).T if by_columns else values.reshape(shape)
    return shaped.astype(dtype.newbyteorder("="))


class _Versioned(msgspec.Struct):
    schema_version: int = schema.VERSION


def _npy_header(stream: BinaryIO) -> Any:
    """Shape, whether by columns, and type."""
    try:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"it has the version {version}")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return read(stream, max_header_size=_HEADER_BYTES)
    except Exception as error:  # numpy hands the text to Python's parser, which raises a dozen kinds
        raise ValueError(f"its header is none ({type(error).__name__}: {error!s:.200})") from error


def _checked_count(shape: Any, dtype: np.dtype, left_bytes: int) -> int:
    """Elements, after what the header says was held against what the file has."""
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise ValueError(f"its type is {dtype}, which no tensor has")
    if any(not 0 <= side < _LONGEST_SIDE for side in shape):
        raise ValueError(f"its shape is {shape!s:.200}")
    count = math.prod(shape)
    if count * dtype.itemsize != left_bytes:
        raise ValueError(f"{dtype} {list(shape)!s:.200} needs {count * dtype.itemsize} bytes, it has {left_bytes}")
    return int(count)


@contextlib.contextmanager
def _opened(path: Path, limit_bytes: int | None) -> Iterator[BinaryIO]:
    """An ordinary file of at most that size, open."""
    try:
        handle = portable.opened(path, waits=False)  # a pipe would keep us waiting for a writer
    except FileNotFoundError as error:
        raise Missing(f"read {path}", "there is no such file", _AGAIN) from error
    except (OSError, ValueError) as error:  # ValueError: no path at all
        raise _damaged(str(path), getattr(error, "strerror", None) or str(error), _AGAIN) from error
    facts = os.fstat(handle)
    if not stat.S_ISREG(facts.st_mode):
        os.close(handle)
        raise _damaged(str(path), "it is not a regular file", _AGAIN)
    with os.fdopen(handle, "rb") as stream:
        if limit_bytes is not None and facts.st_size > limit_bytes:
            raise _damaged(str(path), f"it has {facts.st_size} bytes, at most {limit_bytes} are read", _AGAIN)
        try:
            yield stream
        except (OSError, MemoryError) as error:
            raise _damaged(str(path), str(error) or type(error).__name__, _AGAIN) from error


def _damaged(where: str, how: str, do_next: str) -> Misuse:
    return Misuse(f"read {where}", f"it is damaged ({how})", do_next)
