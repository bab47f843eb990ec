"""Output to an encoding that lacks a character: the error handler `readable` writes ASCII that reads alike, `8x8` for `8×8`."""

import codecs

HANDLER = "readable"
_ASCII = {"×": "x", "–": "-", "−": "-", "─": "-", "…": "...", "·": "*", "≥": ">=", "≤": "<=", "←": "<-", "→": "->"}
_ASCII |= {"✓": "+", "✗": "x", "µ": "u", "°": " deg ", "“": '"', "”": '"'}


def _readable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_ASCII.get(one, one.encode("ascii", "backslashreplace").decode()) for one in lacking), error.end


codecs.register_error(HANDLER, _readable)


def in_encoding(text: str, encoding: str) -> str:
    """`text` as it will look when it is written in `encoding`: for its width."""
    return text.encode(encoding, HANDLER).decode(encoding)
