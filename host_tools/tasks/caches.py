"""The words of `inv cache`: files of the cache of compiled models (the option `serialization_dir`), for people."""

import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from host_tools.base import json_text
from host_tools.base.errors import Misuse
from host_tools.base.text_table import Table, number, text, word
from host_tools.base.units import counted, size_text
from host_tools.judge import plan_diff
from host_tools.judge.plan_diff import Line, PlanDiff
from host_tools.record import cache_file, named_plans
from host_tools.record.cache_file import CacheFile
from host_tools.record.named_plans import NamedPlan
from host_tools.show import plan_diff_table, plan_table

_ABANDONED_S = 3600.0  # no write takes that long
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

_ENDINGS = (cache_file.ENDING, cache_file.VERDICTS, cache_file.WEIGHTS, cache_file.HASHES, cache_file.UNFINISHED)
_MOST_LISTED = 8


@dataclass(frozen=True)
class Entry:
    """A file of the folder."""

    path: Path
    bytes: int
    used_s: float  # since 1970


def do(words: Sequence[str], to: str, top: int, console: Console, as_json: bool = False) -> int:
    """Does one subcommand of `inv cache`; the exit status. The command line has checked the words."""
    what, *given = words
    paths = [Path(word).expanduser() for word in given]
    if not as_json:
        return _ACTIONS[what](paths, to, top, console)
    document, status = _DOCUMENTS[what](paths)
    print(json_text.text(document))
    return status


def entries(folder: Path) -> list[Entry]:
    """The ordinary files of a cache, least recently used first; links and others are none of it."""
    if not folder.is_dir():
        came_back = "that is a file" if folder.exists() else "there is no such folder"
        raise Misuse(f"read the cache {folder}", came_back, "give the folder that serialization_dir names")
    found = []
    for path in folder.iterdir():
        facts = path.lstat()
        if path.suffix in _ENDINGS and stat.S_ISREG(facts.st_mode):
            found.append(Entry(path, facts.st_size, facts.st_mtime))
    return sorted(found, key=lambda entry: (entry.used_s, entry.path.name))


def _list(paths: Sequence[Path], to: str, top: int, console: Console) -> int:
    table = Table([
        word("hash"), text("model", 1), text("target", 1), text("device", 2), text("precision", 1), number("kernels", 3),
        number("plan"), number("binaries", 3), number("last used"),
    ])  # fmt: skip
    found = entries(paths[0])
    weights = [entry for entry in found if entry.path.suffix == cache_file.WEIGHTS]
    for entry in found[::-1]:
        if entry.path.suffix in (cache_file.WEIGHTS, cache_file.HASHES):
            continue
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used_s))
        try:
            kept = cache_file.read(entry.path)
            kernels = "verdicts" if kept.holds_verdicts else str(_kernels(named_plans.of_file(entry.path)))
        except Misuse as error:
            table.add_row(f"{escape(entry.path.name)}: [red]{escape(error.came_back)}[/]")
            continue
        sizes = (size_text(kept.plan_bytes()), size_text(len(kept.parts.binaries)) if kept.parts.binaries else "–")
        words = (_token(entry.path), kept.name_of("target"), kept.name_of("device"), _precision(kept))
        table.add_row(escape(_hash(entry.path)), *map(escape, words), kernels, *sizes, used)
    table.show(console)
    if weights:
        console.print(f"weights: {counted(len(weights), 'file')}, {size_text(sum(entry.bytes for entry in weights))}")
    console.print(f"{counted(len(found), 'file')}, {size_text(sum(entry.bytes for entry in found))}")
    return 0


def _list_document(paths: Sequence[Path]) -> tuple[Any, int]:
    found = []
    for entry in entries(paths[0])[::-1]:
        row = {"path": entry.path, "bytes": entry.bytes, "used": int(entry.used_s), "problem": ""}
        try:
            is_plain = entry.path.suffix == cache_file.WEIGHTS
            row |= {"key": {} if is_plain else cache_file.read(entry.path).said()}
        except Misuse as error:
            row |= {"key": {}, "problem": error.came_back}
        found.append(row)
    return found, 0


def _show_document(paths: Sequence[Path]) -> tuple[Any, int]:
    _refuse_folders("show", paths)
    kept = cache_file.read(paths[0])
    if kept.holds_hashes:
        return {"key": kept.said(), "hashes": kept.known_hashes()}, 0
    if kept.holds_verdicts:
        return {"key": kept.said(), "verdicts": kept.verdicts()}, 0
    return {"key": kept.said(), "plan": named_plans.of_file(paths[0]).value}, 0


def _verify_document(paths: Sequence[Path]) -> tuple[Any, int]:
    found = list(_problems(paths[0]))
    return [{"path": path, "problem": wrong} for path, wrong in found], int(any(wrong for _, wrong in found))


def _diff_document(paths: Sequence[Path]) -> tuple[Any, int]:
    lines, found = _differences(paths)
    return {"key": lines, "plan": found}, 0 if found.equal and not lines else 1


def _kernels(named: NamedPlan) -> int:
    return sum(len(program["kernels"]) for program in named.value["programs"])


def _kept(named: NamedPlan) -> CacheFile:
    if named.kept is None:
        raise Misuse(f"read {named.path}", "it is a plan, no file of a cache", "`./inv plan show` lists it")
    return named.kept


def _token(path: Path) -> str:
    return path.name.rpartition("_")[0]


def _hash(path: Path) -> str:
    """The beginning of the key's hash: enough for `inv cache show FOLDER/*HASH*`."""
    return path.name.rpartition("_")[2][:8]


def _precision(kept: CacheFile) -> str:
    """The precision, with the nodes in float32 and the tuning where a start asked for them."""
    said = str(kept.said().get("precision", ""))
    return said.replace(", in float32 ,", ",").removesuffix(", in float32 ").replace(", tuning none", "")


def _refuse_folders(subcommand: str, paths: Sequence[Path]) -> None:
    for path in paths:
        if path.is_dir():
            do_next = f"give one of its files: `./inv cache list {path}` lists them"
            raise Misuse(f"inv cache {subcommand} {path}", "that is a folder", do_next)


def _show(paths: Sequence[Path], to: str, top: int, console: Console) -> int:
    _refuse_folders("show", paths)
    if paths[0].suffix == cache_file.HASHES:
        return _show_hashes(cache_file.read(paths[0]), console)
    if paths[0].suffix == cache_file.VERDICTS:
        return _show_verdicts(cache_file.read(paths[0]), console)
    named = named_plans.of_file(paths[0])
    kept = _kept(named)
    _show_key(kept, console)
    try:
        compiled = kept.binaries()
    except ValueError as error:
        raise Misuse(f"read {paths[0]}", f"its binaries are damaged: {error}", "remove it") from error
    sizes = sum(len(binary["bytes"]) for binary in compiled)
    console.print(f"binaries of {counted(len(compiled), 'program')}, {size_text(sizes)}")
    console.print()
    plan_table.show(named.value, console, top, in_order=True)
    return 0


def _show_verdicts(kept: CacheFile, console: Console) -> int:
    _show_key(kept, console)
    try:
        found = kept.verdicts()
    except ValueError as error:
        raise Misuse(f"read {kept.path}", f"its verdicts are damaged: {error}", "remove it") from error
    console.print(f"{sum(found.taken)} of {counted(len(found.taken), 'node')} on the GPU")
    if found.untrusted:
        console.print(found.untrusted, markup=False, soft_wrap=True)
    for nodes, graph in found.partitions:
        console.print(f"a partition of {counted(len(nodes), 'node')}; its plan is kept under graph {graph}")
    for place, reason in enumerate(found.reasons):
        if reason:
            console.print(f"node {place}, as they run: {reason}", markup=False, soft_wrap=True)
    return 0


def _show_hashes(kept: CacheFile, console: Console) -> int:
    _show_key(kept, console)
    for one in kept.known_hashes():
        at = f"{one['bytes']} bytes at {one['offset']}"
        console.print(f"{one['hash']}: {at} of the file with inode {one['inode']}", markup=False, soft_wrap=True)
    return 0


def _show_key(kept: CacheFile, console: Console) -> None:
    _, version, _, pointer_bytes = kept.parts.fixed
    console.print(f"format {version}, pointers of {pointer_bytes} bytes")
    for name, value in kept.said().items():
        if isinstance(value, dict):
            told = ", ".join(f"{key} {_short(value[key])}" for key in value if value[key] not in ("", [], {}, None))
            console.print(f"{name}: {told}", markup=False, soft_wrap=True)
        else:
            console.print(f"{name} {value}", markup=False, soft_wrap=True)


def _short(value: object) -> object:
    """A device has two hundred extensions."""
    return f"({len(value)})" if isinstance(value, list) and len(value) > _MOST_LISTED else value


def problem(path: Path) -> str:
    """What is wrong with a file; empty: nothing."""
    try:
        if path.suffix == cache_file.WEIGHTS:
            return cache_file.wrong_weights(path)
        if path.suffix in (cache_file.VERDICTS, cache_file.HASHES):
            return cache_file.read(path).verify()
        named = named_plans.of_file(path)
        named.checked()
        return _kept(named).verify()
    except Misuse as error:
        return error.came_back


def _verify(paths: Sequence[Path], to: str, top: int, console: Console) -> int:
    """1: a file is bad."""
    bad = count = 0
    for file, wrong in _problems(paths[0]):
        count += 1
        bad += bool(wrong)
        console.print(
            f"{escape(file.name)}  {f'[red]bad: {escape(wrong)}[/]' if wrong else '[green]good[/]'}", soft_wrap=True
        )
    console.print(f"{count - bad} of {count} files are good")
    return 1 if bad else 0


def _problems(path: Path) -> Iterator[tuple[Path, str]]:
    """A file, or each of a folder, and what is wrong with it; empty: nothing."""
    for file in [path] if path.is_file() else [entry.path for entry in entries(path)]:
        yield file, "it was not written to its end" if file.suffix == cache_file.UNFINISHED else problem(file)


def _diff(paths: Sequence[Path], to: str, top: int, console: Console) -> int:
    """1: they differ."""
    lines, found = _differences(paths)
    plan_diff_table.lines("kept under", lines, console, 0)
    plan_diff_table.show(found, console, top or 20)
    return 0 if found.equal and not lines else 1


def _differences(paths: Sequence[Path]) -> tuple[list[Line], PlanDiff]:
    """Of the keys and of the plans of two files."""
    _refuse_folders("diff", paths)
    a, b = (named_plans.of_file(path) for path in paths)
    sides = [_flat(_kept(named)) for named in (a, b)]
    names = [*sides[0], *(name for name in sides[1] if name not in sides[0])]
    lines = [Line(n, sides[0].get(n, ""), sides[1].get(n, "")) for n in names if sides[0].get(n) != sides[1].get(n)]
    return lines, plan_diff.compare(a.checked(), b.checked())


def _flat(kept: CacheFile) -> dict[str, str]:
    """The key, one by one: `target.storage`."""
    found = {}
    for name, value in kept.said().items():
        pairs = value.items() if isinstance(value, dict) else [("", value)]
        found.update({f"{name}.{key}" if key else name: str(one) for key, one in pairs})
    return found


def _prune(paths: Sequence[Path], to: str, top: int, console: Console) -> int:
    if not to:
        do_next = f"say how much may stay: `./inv cache prune {paths[0]} --to 300M`; 0 removes all"
        raise Misuse(f"inv cache prune {paths[0]}", "--to is missing", do_next)
    most = parse_size(to)
    found = entries(paths[0])
    weights = {entry.path: entry for entry in found if entry.path.suffix == cache_file.WEIGHTS}
    needed = {entry.path: _weights_of(entry.path) for entry in found if entry.path.suffix == cache_file.ENDING}
    left = sum(entry.bytes for entry in found)
    for entry in found:
        unfinished = entry.path.suffix == cache_file.UNFINISHED
        abandoned = unfinished and time.time() - entry.used_s > _ABANDONED_S
        if entry.path in weights or ((left <= most or unfinished) and not abandoned):
            continue
        left -= _remove(entry, console)
        its = needed.pop(entry.path, set())
        for path in sorted(its & weights.keys() - set[Path]().union(*needed.values())):
            left -= _remove(weights.pop(path), console)
    for entry in weights.values():  # a start writes its plan after its weights
        abandoned = most == 0 or time.time() - entry.used_s > _ABANDONED_S
        if abandoned and not any(entry.path in its for its in needed.values()):
            left -= _remove(entry, console)
    console.print(f"{size_text(left)} left")
    return 0


def _weights_of(path: Path) -> set[Path]:
    """The files that a plan's needs; a damaged one needs none."""
    try:
        return {one.path(path) for one in cache_file.read(path).parts.listed()}
    except (Misuse, ValueError):
        return set()


def _remove(entry: Entry, console: Console) -> int:
    """Its size."""
    try:
        entry.path.unlink(missing_ok=True)
    except OSError as error:
        raise Misuse(f"remove {entry.path}", error.strerror or str(error), "ask the folder's owner") from error
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used_s))
    console.print(f"removed {escape(entry.path.name)}  {size_text(entry.bytes)}, last used {used}", soft_wrap=True)
    return entry.bytes


def parse_size(text: str) -> int:
    """`300M`, `1.5G` or bytes."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise Misuse(f"read --to {text!r}", "not a size", "give bytes, or e.g. --to 300M; 0 removes all")
    return int(float(match[1]) * _UNITS[match[2].upper()])


_ACTIONS: dict[str, Callable[[Sequence[Path], str, int, Console], int]] = {
    "list": _list,
    "show": _show,
    "verify": _verify,
    "diff": _diff,
    "prune": _prune,
}
_DOCUMENTS: dict[str, Callable[[Sequence[Path]], tuple[Any, int]]] = {
    "list": _list_document,
    "show": _show_document,
    "verify": _verify_document,
    "diff": _diff_document,
}
