"""A suite: which models run with which options on which backends and devices, how often, and what counts as worse.

Read from TOML (docs/regress.md has every key); a wrong key is an error, because it would silently mean nothing.
"""

import itertools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import Misuse

FOLDER = Path(__file__).with_name("suites")
MEASURES = ("auto", "wall", "processor", "ratio", "processor_ratio")


@dataclass(frozen=True)
class Limit:
    """What is worth an alarm: at least so many percent, and at least so much in the metric's own unit. Where the noise
    could hide `see` percent, nothing is called good."""

    percent: float
    least: float  # us; memory: bytes
    see: float


LIMITS = {
    "init": Limit(5.0, 2000, 15.0),
    "first": Limit(10.0, 1000, 30.0),
    "steady": Limit(2.0, 100, 5.0),
    "memory": Limit(2.0, 1 << 20, 5.0),
}


@dataclass(frozen=True)
class Cell:
    """One model with one set of options: what is compared with itself."""

    model: str  # a name of the catalogue, or a path
    backend: str = "auto"
    precision: str = "f32"
    target: str = ""

    @property
    def key(self) -> str:
        words = (Path(self.model).stem, self.backend, self.precision, Path(self.target).stem)
        return "/".join(filter(None, words))


@dataclass(frozen=True)
class Suite:
    """What the file says; what it does not say has a default."""

    name: str
    cells: tuple[Cell, ...]
    on: str = "host"
    launches: int = 10  # processes of each cell
    more: int = 10  # so many more of a cell that looks suspicious: nothing is called worse before that
    repetitions: int = 20
    threads: int = 1
    seed: int = 1
    peers: tuple[str, ...] = ("xnnpack",)
    cold: bool = False
    profile: bool = True  # of the first launch of each cell, after its times were taken
    deadline_s: float = 300.0
    measure: str = "auto"
    false_alarms: float = 0.002  # of one metric of one cell
    false_discoveries: float = 0.05  # share among all alarms of the suite
    limits: Mapping[str, Limit] = field(default_factory=lambda: dict(LIMITS))


def read(name: str) -> Suite:
    """The suite of a file, or of a name in `suites`."""
    path = _find(name)
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Misuse(f"read the suite {path}", str(error), "see docs/regress.md") from error
    try:
        return _checked(_parse(path.stem, value))
    except (TypeError, ValueError, AttributeError) as error:
        raise Misuse(f"read the suite {path}", str(error), "docs/regress.md lists every key") from error


def _find(name: str) -> Path:
    for path in (Path(name).expanduser(), FOLDER / f"{name}.toml"):
        if path.is_file():
            return path
    known = sorted(p.stem for p in FOLDER.glob("*.toml"))
    do_next = did_you_mean(name, known, f"give a TOML file, or one of: {', '.join(known)}")
    raise Misuse(f"find the suite {name!r}", "there is no such file", do_next)


def _parse(stem: str, value: dict[str, Any]) -> Suite:
    value = dict(value)
    cells = tuple(dict.fromkeys(c for row in value.pop("cells", ()) for c in _cells(row)))
    limits = {**LIMITS}
    for metric, row in value.pop("limits", {}).items():
        if metric not in LIMITS:
            raise ValueError(f"limits.{metric}: no metric has that name; there are {', '.join(LIMITS)}")
        limits[metric] = replace(limits[metric], **row)
    value["peers"] = tuple(value.get("peers", ("xnnpack",)))
    return Suite(**{"name": stem, **value, "cells": cells, "limits": limits})


def _cells(row: dict[str, Any]) -> tuple[Cell, ...]:
    """The product of a row's lists."""
    known = {"models": [], "backends": ["auto"], "precisions": ["f32"], "targets": [""]}
    wrong = row.keys() - known.keys()
    if wrong or not row.get("models"):
        raise ValueError(f"cells: {', '.join(sorted(wrong)) or 'models'} {'is no key' if wrong else 'is missing'}")
    lists = {**known, **row}
    if not all(isinstance(one, list) and all(isinstance(w, str) for w in one) for one in lists.values()):
        raise ValueError("cells: every key has a list of words")
    return tuple(Cell(*words) for words in itertools.product(*(lists[key] for key in known)))


def _checked(suite: Suite) -> Suite:
    if not suite.cells:
        raise ValueError("it has no [[cells]]")
    if suite.measure not in MEASURES:
        raise ValueError(f"measure: {suite.measure!r} is not one of {', '.join(MEASURES)}")
    for name, least in (("launches", 1), ("more", 0), ("repetitions", 1), ("threads", 1)):
        if not getattr(suite, name) >= least:
            raise ValueError(f"{name}: {getattr(suite, name)} is less than {least}")
    for name in ("false_alarms", "false_discoveries"):
        if not 0 < getattr(suite, name) < 1:
            raise ValueError(f"{name}: {getattr(suite, name)} is not between 0 and 1")
    if len({cell.key for cell in suite.cells}) < len(suite.cells):
        raise ValueError("two cells have one name: models in different folders are named alike")
    return suite
