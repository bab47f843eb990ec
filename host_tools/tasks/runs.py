"""`inv runs`: lists the runs, benches, regression runs and parity runs that there are, and removes them."""

import re
import shutil
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from host_tools.base import installed, settings
from host_tools.base.errors import Misuse, not_written
from host_tools.base.text_table import Table, number, text, word
from host_tools.base.units import counted, size_text
from host_tools.measure import regress_resume
from host_tools.record import printed, run_folder, run_list, run_names
from host_tools.record.run_list import Entry
from host_tools.tasks import caches

_GOOD, _BAD = ("right", "passed"), ("wrong", "regressed", "failed", "crashed", "timed out", "damaged")
_STAMP = re.compile(r"(?:[a-z]+-)?\d{8}-\d{6}(?:-\d{3}(?!\d))?")  # what a table calls an entry by: a prefix of its name


@dataclass(frozen=True)
class Options:
    """top: how many entries to list; 0: all. all: remove each that a name fits. to: remove the oldest until the others take
    no more."""

    top: int = 20
    json: bool = False
    all: bool = False
    to: str = ""


def do(words: Sequence[str], options: Options, console: Console) -> None:
    """Does one subcommand. The command line has checked the words."""
    what, *names = words or ["list"]
    runs_dir = settings.read().runs_dir
    if what == "list":
        _list(runs_dir, names, options, console)
    else:
        _remove(runs_dir, names, options, console)


def _list(runs_dir: Path, names: Sequence[str], options: Options, console: Console) -> None:
    known = list(run_list.folders(runs_dir))
    wanted = _fitting(names, known, "list runs", runs_dir) if names else known
    shown = wanted[-options.top :] if options.top else wanted
    entries = [run_list.read(runs_dir / name) for name in reversed(shown)]
    if options.json:
        print(printed.text(_document(runs_dir, entries)))
        return
    if not known:
        console.print(f"{escape(str(runs_dir))} holds no runs", soft_wrap=True)
        console.print(installed.said("`./inv run selfie_segmentation` makes one"))
        return
    show(entries, console)
    left_out = len(wanted) - len(shown)
    console.print(
        f"{len(shown)} of {counted(len(wanted), 'folder')} in {escape(str(runs_dir))}", soft_wrap=True, end=""
    )
    console.print(", the newest first; --top 0 lists all" if left_out else ", the newest first")


def show(entries: Sequence[Entry], console: Console) -> None:
    """A row for each."""
    table = Table([
        word("name"), text("model"), text("on", 1, 8), word("result"), word("API", 3), word("precision", 3), number("size"),
        word("ended", 2),
    ])  # fmt: skip
    for one in entries:
        colour = "green" if one.result in _GOOD else "red" if one.result in _BAD else "yellow"
        stamp = _STAMP.match(one.name)
        table.add_row(
            escape(stamp[0] if stamp else one.name), escape(one.subject), escape(one.place), f"[{colour}]{escape(one.result)}[/]",
            escape(one.backend), escape(one.precision), size_text(one.bytes), time.strftime("%Y-%m-%d %H:%M", time.localtime(one.ended)),
        )  # fmt: skip
    table.show(console)


def _document(runs_dir: Path, entries: Sequence[Entry]) -> printed.RunsDocument:
    rows = [
        printed.RunsRow(
            name=one.name, folder=str(one.path), kind=one.kind,  # type: ignore[arg-type]  # its words are those of the type
             subject=one.subject, place=one.place, result=one.result,
            backend=one.backend, precision=one.precision, ended=int(one.ended), bytes=one.bytes,
        )
        for one in entries
    ]  # fmt: skip
    return printed.RunsDocument(folder=str(runs_dir), runs=rows)


def _fitting(names: Sequence[str], known: Sequence[str], tried: str, runs_dir: Path) -> list[str]:
    """Those of `known` that one of the names means, in their order. Misuse: a name means none."""
    found = set[str]()
    for name in names:
        fits = run_names.fitting(name, known) or [run_names.chosen(name, known, tried, str(runs_dir))]
        found |= set(fits)
    return [one for one in known if one in found]


def _remove(runs_dir: Path, names: Sequence[str], options: Options, console: Console) -> None:
    known = list(run_list.folders(runs_dir))
    if bool(names) == bool(options.to):
        do_next = "`./inv runs remove NAME...`, or `./inv runs remove --to 1G`; `./inv runs` lists the names"
        raise Misuse("inv runs remove", "it takes either names or --to", do_next)
    chosen = _oldest(runs_dir, known, caches.parse_size(options.to)) if options.to else []
    for name in names:
        fits = _fitting([name], known, f"remove '{name}'", runs_dir)
        if len(fits) > 1 and not options.all:
            listed = f"name one of {', '.join(fits[-3:])}, or add --all to remove all of them"
            raise Misuse(f"remove '{name}'", f"{len(fits)} folders match", listed)
        chosen += fits
    removed = [run_list.read(runs_dir / name) for name in dict.fromkeys(chosen)]
    for one in removed:
        _remove_one(one)
        console.print(f"removed  {escape(one.name)}, {size_text(one.bytes)}", soft_wrap=True)
    run_folder.renew_latest(runs_dir)
    console.print(f"{counted(len(removed), 'folder')} removed, {size_text(sum(one.bytes for one in removed))}")


def _remove_one(entry: Entry) -> None:
    """Misuse: it is a regression run that goes on in another process."""
    try:
        with regress_resume.alone(entry.path) if entry.kind == "regress" else nullcontext():
            shutil.rmtree(entry.path)
    except OSError as error:
        raise not_written(f"remove {entry.path}", error) from error


def _oldest(runs_dir: Path, known: Sequence[str], most: int) -> list[str]:
    """Those to remove so that the others take no more than `most` bytes."""
    found, left = [], {name: run_list.read(runs_dir / name).bytes for name in known}
    total = sum(left.values())
    for name in known:
        if total <= most:
            break
        found.append(name)
        total -= left[name]
    return found
