"""128 bits of some bytes, as delegate_native/base/content_hash.h makes them."""

import numpy as np

_A, _B = 0x243F6A8885A308D3, 0x13198A2E03707344
_A_FACTOR, _B_FACTOR = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
_MASK = (1 << 64) - 1
_WALKS = 4
_AT_ONCE = 1 << 20  # bytes that are numbers of Python at a time


def content_hash(data: bytes | memoryview) -> tuple[int, int]:
    """(low, high). About ten megabytes a second: each step needs the one before."""
    in_fours, whole = len(data) // 32 * 32, len(data) // 8 * 8
    walks = [(_A, _B)] * _WALKS
    walks[0] = _mixed(*walks[0], [len(data)])
    for begin in range(0, in_fours, _AT_ONCE):
        words = np.frombuffer(data[begin : min(in_fours, begin + _AT_ONCE)], "<u8").tolist()
        walks = [_mixed(a, b, words[i::_WALKS]) for i, (a, b) in enumerate(walks)]
    rest = np.frombuffer(data[in_fours:whole], "<u8").tolist()
    a, b = _mixed(*walks[0], [*rest, int.from_bytes(data[whole:], "little")])
    for other_a, other_b in walks[1:]:
        (a, _), (_, b) = _mixed(a, b, [other_a]), _mixed(a, b, [other_b])
    return a ^ (b >> 29), b


def _mixed(a: int, b: int, words: list[int]) -> tuple[int, int]:
    for word in words:
        a = ((a ^ word) * _A_FACTOR) & _MASK
        a ^= a >> 32
        b = ((b + word) * _B_FACTOR) & _MASK
        b ^= b >> 29
    return a, b
