"""What a fuzzer found, and how it is kept: a folder with all that is needed to see it again."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Finding:
    """A case that did not end well. place: where, the same for the same defect, as far as that is known."""

    case: Any
    kind: str  # crash, hang, report (of a sanitizer), wrong; of a reader of run folders: traceback, hang, died
    place: str
    text: str


def keep(folder: Path, files: dict[str, bytes], words: dict[str, Any], sentence: str, repeat: str) -> Path:
    """Writes a finding into `folder`: its files, case.json with what else the case is, and finding.txt for people."""
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "case.json").write_text(json.dumps(words, indent=1) + "\n")
    (folder / "finding.txt").write_text(f"{sentence}\n\nto see it again: {repeat}\n")
    return folder


def minimise(items: Sequence[Item], fails: Callable[[list[Item]], bool], most_tries: int) -> list[Item]:
    """The least of `items` that still fails, by leaving out ever smaller parts (delta debugging); at most so many tries."""
    left, size = list(items), max(1, len(items) // 2)
    while left and most_tries > 0:
        start, shrunk = 0, False
        while start < len(left) and most_tries > 0:
            most_tries -= 1
            rest = left[:start] + left[start + size :]
            if fails(rest):
                left, shrunk = rest, True
            else:
                start += size
        if size == 1 and not shrunk:
            break
        size = max(1, size // 2)
    return left
