"""Results that are shown to others: nothing in them says whose device or computer they come from."""

import re
from collections.abc import Iterable
from typing import Any

_PATH = re.compile(r"(?<![\w.:])/(?:[\w.+@ -]+/)+([\w.+@-]*)")
_SHORTEST = 3  # a name of two letters is a part of many words
_HIDDEN = "…"


def cleaned(value: Any, names: Iterable[str]) -> Any:
    """A JSON value whose texts hold none of `names`, and of paths the last part only."""
    words = [re.escape(name) for name in names if len(name) >= _SHORTEST]
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(words)})(?![A-Za-z0-9])") if words else None
    return _cleaned(value, pattern)


def _cleaned(value: Any, pattern: re.Pattern[str] | None) -> Any:
    if isinstance(value, dict):
        return {key: _cleaned(one, pattern) for key, one in value.items()}
    if isinstance(value, list):
        return [_cleaned(one, pattern) for one in value]
    if not isinstance(value, str):
        return value
    text = _PATH.sub(r"\1", value)
    return pattern.sub(_HIDDEN, text) if pattern else text
