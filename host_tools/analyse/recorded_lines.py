"""Recordings of calls: lines of words, some of them with bytes behind."""

from collections.abc import Callable, Mapping

from host_tools.base.errors import RunFailed

MOST_BYTES = 1 << 40


def read(
    api: str, calls: bytes, line: Callable[[list[str]], None], with_bytes: Mapping[str, Callable[[str, bytes], None]]
) -> None:
    """Gives the words of each line to `line`. A line NAME NUMBER SIZE, whose name is in `with_bytes`, has so many bytes
    behind it: its number and these go there. RunFailed: one of them raised KeyError or ValueError, or the bytes are cut off."""
    at = 0
    while at < len(calls):
        end = calls.find(b"\n", at)
        end = end if end >= 0 else len(calls)
        text = calls[at:end].decode("utf-8", "replace")
        at = end + 1
        words = text.split() or [""]
        try:
            if words[0] in with_bytes and len(words) == 3:
                size = whole_number(words[2], len(calls) - at)
                with_bytes[words[0]](words[1], calls[at : at + size])
                at += size + 1
            else:
                line(words)
        except (KeyError, ValueError) as error:
            came_back = f"the line {text[:80]!r} is not of its form"
            raise RunFailed(f"read recorded calls of {api}", came_back, "record them again") from error


def whole_number(word: str, most: int = MOST_BYTES) -> int:
    """ValueError: it is no number, or a larger one."""
    if not (word.isascii() and word.isdecimal()) or len(word) > 15 or int(word) > most:
        raise ValueError(word)
    return int(word)
