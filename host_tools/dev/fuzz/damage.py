"""What can go wrong with a file of a run folder: each kind takes the file and a generator, which decides where and how."""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

_LONG = 1 << 20  # of a string
_MOST_BYTES = 1 << 26  # of a file that is damaged once more


def apply(kind: str, file: Path, chosen: random.Random) -> None:
    """Damages the file, unless an earlier damage left nothing there that is one."""
    if not file.is_symlink() and file.is_file() and file.stat().st_size < _MOST_BYTES:
        MUTATIONS[kind](file, chosen)


# --- damage: bytes of any file


def _flip(file: Path, chosen: random.Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(chosen.randint(1, 8)):
        if data:
            data[chosen.randrange(len(data))] = chosen.randrange(256)
    _put(file, bytes(data))


def _truncate(file: Path, chosen: random.Random) -> None:
    data = file.read_bytes()
    _put(file, data[: chosen.randrange(len(data) + 1)])


def _garbage(file: Path, chosen: random.Random) -> None:
    endings = (b"\0" * 64, b"\xff\xfe", b"}", b"[" * 200000, b'{"a":' * 200000, bytes(range(256)))
    data, more = file.read_bytes(), chosen.choice(endings)
    _put(file, chosen.choice((data + more, more + data, more)))


# --- damage: another thing in the place of a file


def _missing(file: Path, chosen: random.Random) -> None:
    file.unlink()
    if chosen.random() < 0.2 and file.parent.name.endswith("puts"):
        shutil.rmtree(file.parent)


def _other_thing(file: Path, chosen: random.Random) -> None:
    file.unlink()
    kind = chosen.randrange(5)
    if kind == 0:
        file.mkdir()
    elif kind == 1:
        os.mkfifo(file)
    elif kind == 2:
        with open(file, "wb") as stream:
            stream.truncate(1 << 38)  # no blocks: it only says that it is long
    else:
        file.symlink_to(chosen.choice(("/dev/zero", "/dev/full", file.name, "missing", "/proc/self/mem", "..")))


# --- damage: JSON


def _swap(file: Path, chosen: random.Random) -> None:
    def change(inner: Any, key: Any) -> None:
        others: tuple[Any, ...] = (None, True, 0, -1, 0.5, "", "x", [], {}, [[]], [None], {"a": 1}, ["x"], 2**63)
        inner[key] = chosen.choice(others)

    _edit(file, chosen, change)


def _delete(file: Path, chosen: random.Random) -> None:
    def change(inner: Any, key: Any) -> None:
        del inner[key]

    _edit(file, chosen, change)


def _number(file: Path, chosen: random.Random) -> None:
    numbers = (10**400, -(10**400), 2**53 + 1, 2**64, -(2**63) - 1, 1e308, -1e308, 5e-324, float("nan"), float("inf"))

    def change(inner: Any, key: Any) -> None:
        inner[key] = chosen.choice(numbers)

    _edit(file, chosen, change, numbers_only=chosen.random() < 0.8)


def _hostile(file: Path, chosen: random.Random) -> None:
    words = ("\ud800", "x" * _LONG, "\x1b]0;x\x07\x1b[2J", "[/][bold]", "{{7*7}}", "<script>", "../../../etc/passwd", "\0", "inf", "nan",
             "%s%n", "\u202e", "a\nb\r\n", "0" * 5000)  # fmt: skip

    def change(inner: Any, key: Any) -> None:
        inner[key] = chosen.choice(words)

    _edit(file, chosen, change)


def _sizes(file: Path, chosen: random.Random) -> None:
    """Lists and objects with too few or too many entries, and keys that nobody knows."""

    def change(inner: Any, key: Any) -> None:
        value = inner[key]
        if isinstance(value, list):
            inner[key] = chosen.choice((value * 1000, value[:-1], value[::-1], [*value, *value]))
        elif isinstance(value, dict):
            keys = list(value)
            chosen.shuffle(keys)
            inner[key] = {f"{chosen.choice('xyz')}{k}" if chosen.random() < 0.3 else k: value[k] for k in keys}
        else:
            inner[key] = [value]

    _edit(file, chosen, change)


def _edit(file: Path, chosen: random.Random, change: Callable[[Any, Any], None], numbers_only: bool = False) -> None:
    """Changes one place of a JSON file."""
    try:
        whole = {"": json.loads(file.read_text(encoding="utf-8"))}
    except (ValueError, RecursionError):
        return  # damaged already
    places = [place for place in _places(whole) if not numbers_only or isinstance(place[0][place[1]], (int, float))]
    if places:
        change(*chosen.choice(places))
    text = json.dumps(whole[""]) if "" in whole else ""
    _put(file, text.encode("utf-8"))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place inside a value, as the container and its key."""
    rows = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in rows:
        yield value, key
        yield from _places(value[key])


# --- damage: arrays

_HEADERS = (
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000000000, 1000), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 4), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (True, 12), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 300 + ")" * 300 + ", }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1," * 70 + "), }",
    "{'descr': '<f4', 'fortran_order': 3, 'shape': (12,), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (6,), }",
    "{'descr': '|S4', 'fortran_order': False, 'shape': (12,), }",
    "{'descr': '<U1', 'fortran_order': False, 'shape': (12,), }",
    "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (6,), }",
    "{'descr': '<c8', 'fortran_order': False, 'shape': (6,), }",
    "{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (6,), }",
    "{'descr': '|V0', 'fortran_order': False, 'shape': (12,), }",
    "{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000000,), }",
    "{'descr': '>f4', 'fortran_order': True, 'shape': (3, 4), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 99999999999999999), }",
    "{'descr': '<f4', 'fortran_order': False, }",
    "{'descr': '<f4, 'fortran_order': False",
    "'" * 40,
    "(" * 9000,
    "\0" * 60,
    "[x for x in ()]",
    "'''",
    "1e",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1_0__0,), }",
)


def _header(file: Path, chosen: random.Random) -> None:
    text = chosen.choice(_HEADERS)
    if chosen.random() < 0.5:  # without a single letter, or with one too many
        at = chosen.randrange(len(text))
        text = text[:at] + chosen.choice(("", "(", "'", "9", "\n", "\xe9")) + text[at + 1 :]
    size = chosen.choice((len(text) + 1, len(text) + 1, 0xFFFF, 0))
    version = chosen.choice((b"\x01\x00",) * 4 + (b"\x02\x00", b"\x03\x00", b"\x09\x09"))
    length = size.to_bytes(2 if version == b"\x01\x00" else 4, "little")
    _put(file, b"\x93NUMPY" + version + length + text.encode("latin-1") + b"\n" + bytes(48))


def _other_array(file: Path, chosen: random.Random) -> None:
    """A sound array, but another one than the others go with."""
    kinds = (np.float32, np.float16, np.int8, np.uint8, np.int64, np.bool_, np.float64, np.uint64)
    shape = chosen.choice(((), (0,), (1,), (1, 3, 4), (12,), (1, 8, 8, 2), (2, 0, 3), (1, 16, 16, 1), (1, 896, 16)))
    values = np.random.default_rng(chosen.getrandbits(32)).integers(0, 2, shape).astype(chosen.choice(kinds))
    if values.dtype.kind == "f" and chosen.random() < 0.5:
        with np.errstate(invalid="ignore"):  # infinity times zero is meant
            values = values * np.array(chosen.choice((np.nan, np.inf, -np.inf, 6e4, 1e-300)), values.dtype)
    file.unlink()
    np.save(file.with_name(chosen.choice((file.name, "000.npy", "001.npy", "007.npy", "x.npy"))), np.asarray(values))


def _put(file: Path, data: bytes) -> None:
    """Never through a link."""
    file.unlink(missing_ok=True)
    file.write_bytes(data)


MUTATIONS: dict[str, Callable[[Path, random.Random], None]] = {
    "flip": _flip,
    "truncate": _truncate,
    "garbage": _garbage,
    "missing": _missing,
    "other_thing": _other_thing,
    "swap": _swap,
    "delete": _delete,
    "number": _number,
    "hostile": _hostile,
    "sizes": _sizes,
    "header": _header,
    "other_array": _other_array,
}
OF_ALL = ("flip", "truncate", "garbage", "missing", "other_thing")
KINDS_OF = {".json": ("swap", "delete", "number", "hostile", "sizes"), ".npy": ("header", "other_array")}
