"""A suite: which models run with which options on which backends and devices, how often, and what counts as worse.

Read from TOML (docs/regress.md has every key); a wrong key is an error, because it would silently mean nothing.
"""

import itertools
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec

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

    model: str  # a name of the catalogue, or a path; in a file perhaps with `:SIGNATURE` behind it
    backend: str = "auto"
    precision: str = "f32"
    target: str = ""
    sizes: tuple[str, ...] = ()  # of inputs whose sizes are free: NAME=1x64x48x3
    signature: str = ""  # empty: the main graph

    @property
    def key(self) -> str:
        name = Path(self.model).name.removesuffix(".tflite")
        name += f":{self.signature}" if self.signature else ""
        words = (name, self.backend, self.precision, Path(self.target).stem, *self.sizes)
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


_SIZES = "sizes"  # of every cell of a row
_CELLS: dict[str, list[str]] = {"models": [], "backends": ["auto"], "precisions": ["f32"], "targets": [""]}  # defaults
_KEYS = tuple(one.name for one in fields(Suite) if one.name != "name")


def read(name: str) -> Suite:
    """The suite of a file, or of a name in `suites`."""
    path = _find(name)
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Misuse(f"read the suite {path}", str(error), "see docs/regress.md") from error
    try:
        return checked(_parse(path.stem, value))
    except ValueError as error:
        raise Misuse(f"read the suite {path}", str(error), "docs/regress.md lists every key") from error


def _find(name: str) -> Path:
    for path in (Path(name).expanduser(), FOLDER / f"{name}.toml"):
        if path.is_file():
            return path
    known = sorted(p.stem for p in FOLDER.glob("*.toml"))
    do_next = did_you_mean(name, known, f"give a TOML file, or one of: {', '.join(known)}")
    raise Misuse(f"find the suite {name!r}", "there is no such file", do_next)


def _parse(stem: str, value: dict[str, Any]) -> Suite:
    """ValueError: what is wrong with it."""
    _known_keys("", value, _KEYS)
    rows, limits = value.pop("cells", []), value.pop("limits", {})
    if not isinstance(rows, list):
        raise ValueError("cells: write [[cells]], with two brackets")
    _known_keys("limits", limits, LIMITS)
    for metric, row in limits.items():
        _known_keys(f"limits.{metric}", row, [one.name for one in fields(Limit)])
    value["cells"] = list(dict.fromkeys(cell for row in rows for cell in _cells(row)))
    value["limits"] = {metric: {**asdict(limit), **limits.get(metric, {})} for metric, limit in LIMITS.items()}
    try:
        return msgspec.convert({"name": stem, **value}, Suite)
    except msgspec.ValidationError as error:  # its words: Expected `int`, got `str` - at `$.launches`
        what, _, where = str(error).partition(" - at `$.")
        raise ValueError(f"{where.rstrip('`')}: {what[:1].lower()}{what[1:]}") from error


def _known_keys(where: str, value: Any, known: Collection[str]) -> None:
    """ValueError for what is no table, or has a key that would mean nothing."""
    if not isinstance(value, dict):
        raise ValueError(f"{where}: {value!r} is not a table")
    for key in value:
        if key not in known:
            name = f"{where}.{key}" if where else key
            listed = f"the keys{' there' if where else ''} are {', '.join(known)}"
            raise ValueError(f"there is no key {name}; {did_you_mean(key, known, listed)}")


def _cells(row: Any) -> tuple[Cell, ...]:
    """The product of a row's lists, but of its sizes, which all cells have."""
    _known_keys("cells", row, (*_CELLS, _SIZES))
    lists = {**_CELLS, _SIZES: [], **row}
    for key, words in lists.items():
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError(f"cells.{key}: {words!r} is not a list of words")
    if not lists["models"]:
        raise ValueError("cells: models is missing")
    sizes = tuple(lists[_SIZES])
    product = itertools.product(*(lists[key] for key in _CELLS))
    return tuple(Cell(model, backend, precision, target, sizes) for model, backend, precision, target in product)


def checked(suite: Suite) -> Suite:
    """The suite, if its values make sense. ValueError: what does not."""
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
