"""Answers of the sync service that attack who reads them. A fault's VALUE picks one; they are numbered from 0."""

import struct
from typing import Optional

NAMES = (
    b"../../../../../../../../tmp/escaped",
    b"..",
    b"/tmp/escaped",
    b"a/b",
    b"a\0b",
    b"a\nb",
    b"-rf",
    b"$(touch escaped)",
    b"`touch escaped`; touch escaped",
    b"\xff\xfe\x80",
    b"\x1b[2Jcleared",
    b"n" * 256,
    b"n" * 4096,
    b"",
    "\u202egnp.exe".encode(),
)

TEXTS = (
    "\x1b]0;title\x07\x1b[2Jwrong",
    "x" * 60000,
    "OKAY",
    "\0\0\0",
    "line\nline\nerror: all is well",
    "<script>alert(1)</script>",
)

_SIZES = (0xFFFFFFFF, 0x80000000, (64 << 10) + 1, 0)


def _pick(table: tuple, value: Optional[float]):
    return table[int(value or 0) % len(table)]


def entry(like: bytes, second: bool, value: Optional[float]) -> bytes:
    """An entry of a folder with a name that must not be used; the rest is as in the entry `like`."""
    name = _pick(NAMES, value)
    fixed = 76 if second else 20
    body = bytearray(like[: fixed - 4])
    if second:
        body[24:28] = struct.pack("<I", 0o100644)
    else:
        body[4:8] = struct.pack("<I", 0o100644)
    return bytes(body) + struct.pack("<I", len(name)) + name


def stat(reply: bytes, value: Optional[float]) -> bytes:
    """Another word, numbers out of all bounds, or too much."""
    choices = (
        b"EVIL" + reply[4:],
        reply[:4] + b"\xff" * (len(reply) - 4),
        b"FAIL" + struct.pack("<I", 0xFFFFFFFF),
        reply + b"\0" * 100,
    )
    return _pick(choices, value)


def text(value: Optional[float]) -> str:
    """What FAIL says."""
    return _pick(TEXTS, value)


def size(value: Optional[float]) -> int:
    """The length that a DATA header claims."""
    return _pick(_SIZES, value)


def sent(value: Optional[float]) -> bytes:
    """The answer to a file that has come."""
    words = TEXTS[0].encode()
    choices = (
        b"FAIL" + struct.pack("<I", 0xFFFFFFFF) + b"x",
        b"EVIL" + bytes(4),
        b"OKAY" + struct.pack("<I", 0x7FFFFFFF),
        b"FAIL" + struct.pack("<I", len(words)) + words,
        b"DATA" + struct.pack("<I", 4) + b"more",
    )
    return _pick(choices, value)
