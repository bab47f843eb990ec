"""The names of the classes in a classes.dex (Dalvik executable format, source.android.com), checked by its sums."""

import hashlib
import struct
import zlib
from typing import FrozenSet

_HEADER_BYTES = 112


class BadDex(Exception):
    """It is no dex, or damaged."""


def classes(content: bytes) -> FrozenSet[str]:
    """Names as in `org.quadra.runner.QuadraRunner`."""
    if content[:4] != b"dex\n" or len(content) < _HEADER_BYTES:
        raise BadDex("Unrecognized magic number")
    checksum, digest = struct.unpack_from("<I20s", content, 8)
    size = struct.unpack_from("<I", content, 32)[0]
    if size != len(content) or zlib.adler32(content[12:]) != checksum or hashlib.sha1(content[32:]).digest() != digest:
        raise BadDex("Bad checksum")
    try:
        return frozenset(_names(content))
    except (struct.error, ValueError, IndexError) as error:
        raise BadDex(f"Bad offsets ({error})") from error


def _names(content: bytes):
    _, strings, _, types = struct.unpack_from("<IIII", content, 56)
    count, definitions = struct.unpack_from("<II", content, 96)
    for i in range(count):
        (kind,) = struct.unpack_from("<I", content, definitions + 32 * i)
        (text,) = struct.unpack_from("<I", content, types + 4 * kind)
        (at,) = struct.unpack_from("<I", content, strings + 4 * text)
        while content[at] & 0x80:  # the length in characters
            at += 1
        end = content.index(b"\0", at + 1)
        yield content[at + 1 : end].decode("utf-8", "replace")[1:-1].replace("/", ".")
