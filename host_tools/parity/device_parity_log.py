"""What a parity run on a device has found so far: a folder that grows line by line, so that nothing is done twice."""

import hashlib
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from host_tools.base import settings
from host_tools.base.errors import not_written
from host_tools.record import run_folder

PREFIX = "parity-"
_STATE, _LINES = "state.json", "results.jsonl"


class Log:
    """The folder of one parity run. Each line has a key; the last line of a key counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: dict[str, dict[str, Any]] = {}
        for text in _texts(folder / _LINES):
            try:
                line = json.loads(text)
                self.lines[line["key"]] = line
            except (ValueError, KeyError, TypeError):
                continue  # the line that was being written when the machine went down

    def has(self, key: str) -> bool:
        return key in self.lines

    def add(self, key: str, **values: Any) -> None:
        line = {"key": key, **values}
        try:
            with open(self.folder / _LINES, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise not_written(f"write {self.folder / _LINES}", error) from error
        self.lines[key] = line

    def of(self, kind: str) -> Iterator[tuple[list[str], dict[str, Any]]]:
        """The rest of the key, and the line."""
        for key, line in self.lines.items():
            first, *rest = key.split("|")
            if first == kind:
                yield rest, line

    def finished(self) -> bool:
        return json.loads((self.folder / _STATE).read_text(encoding="utf-8"))["finished"] is True

    def finish(self) -> None:
        state = json.loads((self.folder / _STATE).read_text(encoding="utf-8"))
        run_folder.write_json(self.folder / _STATE, {**state, "finished": True})


def key(*words: object) -> str:
    return "|".join(str(word).replace("|", "/") for word in words)


def opened(same: list[str], fresh: bool) -> Log:
    """The unfinished log of the same device, library and cases; else a new one. same: what must be equal."""
    runs_dir = settings.read().runs_dir
    mark = hashlib.sha256("\0".join(same).encode()).hexdigest()
    for folder in [] if fresh else sorted(runs_dir.glob(f"{PREFIX}*"), reverse=True):
        try:
            state = json.loads((folder / _STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if state == {"same": mark, "finished": False}:
            return Log(folder)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    names = itertools.chain([stamp], (f"{stamp}-{number}" for number in itertools.count(2)))  # several in a second
    path = next(path for path in (runs_dir / f"{PREFIX}{name}" for name in names) if not path.exists())
    folder = settings.make_folder(path, "QUADRA_RUNS_DIR")
    run_folder.write_json(folder / _STATE, {"same": mark, "finished": False})
    return Log(folder)


def _texts(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
