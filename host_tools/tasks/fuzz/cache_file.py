"""Files of the delegate's cache of compiled models (delegate_native/cache/plan_file.h), taken apart and put together
again with hashes that fit: so a test gets behind the hashes."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

_FIELDS = struct.Struct("<8sIIIIQQ")
_HASH = struct.Struct("<QQ")
HEADER_BYTES = _FIELDS.size + 4 * _HASH.size
_ALIGNMENT = 64
_WORD = (1 << 64) - 1


def content_hash(data: bytes) -> bytes:
    """What base/content_hash.h makes of the bytes: 128 bits, the low half first, little endian."""
    count = len(data) // 8
    words = struct.unpack_from(f"<{count}Q", data)
    shared = count // 4 * 4  # by the four walks in turn; the first takes the others
    first = (len(data), *words[:shared:4], *words[shared:], int.from_bytes(data[8 * count :], "little"))
    walks = [_walk(first), *(_walk(words[k:shared:4]) for k in (1, 2, 3))]
    a, b = walks[0]
    for other_a, other_b in walks[1:]:
        a, b = _mixed_a(a, other_a), _mixed_b(b, other_b)
    return _HASH.pack(a ^ (b >> 29), b)


def _walk(words: Sequence[int]) -> tuple[int, int]:
    a, b = 0x243F6A8885A308D3, 0x13198A2E03707344
    for word in words:
        a, b = _mixed_a(a, word), _mixed_b(b, word)
    return a, b


def _mixed_a(a: int, word: int) -> int:
    a = ((a ^ word) * 0x9E3779B97F4A7C15) & _WORD
    return a ^ (a >> 32)


def _mixed_b(b: int, word: int) -> int:
    b = ((b + word) * 0xC2B2AE3D27D4EB4F) & _WORD
    return b ^ (b >> 29)


@dataclass
class CacheFile:
    """The parts of a file: the words that it was kept under, the plan and its programs' binaries (FlatBuffers)."""

    words: bytes
    plan: bytes
    binaries: bytes
    fixed: tuple[bytes, int, int, int]  # magic, format, byte order, bytes of a pointer

    @classmethod
    def parse(cls, data: bytes) -> "CacheFile":
        """ValueError: it is none, by its sizes."""
        if len(data) < HEADER_BYTES:
            raise ValueError("shorter than a header")
        *fixed, words_bytes, plan_bytes, binaries_bytes = _FIELDS.unpack_from(data)
        plan_at = _aligned(HEADER_BYTES + words_bytes)
        binaries_at = _aligned(plan_at + plan_bytes)
        if binaries_at + binaries_bytes != len(data):
            raise ValueError("its parts are not what its header says")
        return cls(
            data[HEADER_BYTES : HEADER_BYTES + words_bytes],
            data[plan_at : plan_at + plan_bytes],
            data[binaries_at:],
            (fixed[0], fixed[1], fixed[2], fixed[3]),
        )

    def pack(self) -> bytes:
        """The file, every hash that of what is there."""
        parts = (self.words, self.plan, self.binaries)
        header = _FIELDS.pack(*self.fixed, *map(len, parts)) + b"".join(map(content_hash, parts))
        data = header + content_hash(header)
        for part in parts:
            data = data.ljust(_aligned(len(data)), b"\0") if part is not self.words else data
            data += part
        return data


def _aligned(at: int) -> int:
    return -(-at // _ALIGNMENT) * _ALIGNMENT
