"""Names that someone may have meant: one rule for tasks, options, models, targets, devices and runs."""

import difflib
from collections.abc import Iterable

_LIKENESS, _MOST, _LEAST_BEGUN = 0.65, 2, 3


def close(word: str, known: Iterable[str]) -> list[str]:
    """Known names that are like `word`, the likeliest first: those that begin with it, or are spelt almost the same."""
    by_key = {name.lower(): name for name in known}
    key = word.lower()
    begun = [name for name in sorted(by_key) if len(key) >= _LEAST_BEGUN and name.startswith(key)]
    alike = difflib.get_close_matches(key, by_key, n=_MOST, cutoff=_LIKENESS)
    return [by_key[name] for name in dict.fromkeys([*begun, *alike])][:_MOST]


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """What to do next about an unknown name: "did you mean gles? ", and `otherwise` behind it."""
    found = close(word, known)
    return (f"did you mean {' or '.join(found)}? " if found else "") + otherwise
