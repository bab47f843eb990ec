"""Texts of Android's small tools: getprop and sha256sum. Pure; what has another form is left out."""

import re
from collections.abc import Collection

_PROPERTY = re.compile(r"^\[([^\]\n]{1,256})\]: \[(.*?)\]$", re.DOTALL | re.MULTILINE)
_DIGEST = re.compile(r"^([0-9a-f]{64}) [ *]?(.+)$")


def parse(text: str) -> dict[str, str]:
    """The properties that `getprop` prints: `[name]: [value]`, where a value may have several lines."""
    return dict(_PROPERTY.findall(text.replace("\r\n", "\n")))


def digests(text: str, paths: Collection[str]) -> dict[str, str]:
    """The SHA-256 by path, of those paths that were asked for. Two answers for one path are none."""
    found: dict[str, str] = {}
    twice = set()
    for line in text.split("\n"):
        match = _DIGEST.match(line)
        if match and match[2] in paths:
            if found.setdefault(match[2], match[1]) != match[1]:
                twice.add(match[2])
    return {path: digest for path, digest in found.items() if path not in twice}
