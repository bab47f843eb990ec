"""Models that some tests need and nothing fetches: files in the folders of QUADRA_MODELS_DIR, known by their digests."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from host_tools.base import digests, settings

_FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Known:
    """origin: who publishes it."""

    about: str
    sha256: str
    origin: str


@cache
def known() -> dict[str, Known]:
    return {name: Known(**row) for name, row in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()}


def located(name: str) -> Path | None:
    """The file of this name, with the content that tests know."""
    files = [folder / f"{name}.tflite" for folder in settings.read().models_dirs]
    return next((f for f in files if f.is_file() and digests.sha256_of(f) == known()[name].sha256), None)
