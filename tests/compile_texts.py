"""All kernel sources of the vectors and of real models, for every target in every precision, through compilers alone.

    python -m tests.compile_texts [--rows clang-pedantic,pocl-1.2] [--library FILE] [--only adreno-640,conv_2d] [--json]

Prints for each compiler how many sources it accepted and refused, and the first refusal of each kind. The exit status is 1
if one was refused. A source that a compiler judged before is not compiled again (`.cache/compiled_texts`).
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from host_tools.base import settings, terminal, text_table
from host_tools.base.errors import QuadraError, ToolMissing
from host_tools.base.progress import progress
from host_tools.base.text_table import Table
from host_tools.build import bazel
from host_tools.drivers import compiler_table
from host_tools.drivers.compiler import Compiler, kinds_of
from host_tools.request import models
from tests import kernel_texts
from tests.delegate import Quadra
from tests.kernel_texts import KernelTexts, Target
from tests.runs import PRECISIONS
from tests.vectors import all_cases
from tests.vectors.batch import batches

JUDGED = settings.ROOT / ".cache" / "compiled_texts"
_AT_ONCE = 64  # sources between two looks at the progress
_PROCESSES = 2

Show = Callable[[str], None]


@dataclass(frozen=True)
class Text:
    """A distinct source, and where it was met first."""

    path: Path
    language: str
    for_cpus: bool
    name: str  # model, target and precision
    kernel: str


@dataclass(frozen=True)
class Refusal:
    """The first of its kind."""

    kind: str
    texts: int  # of that kind
    name: str
    kernel: str
    source: str
    message: str


@dataclass(frozen=True)
class Row:
    """What became of the sources that one compiler takes. skipped: why the compiler was not asked."""

    compiler: str
    texts: int = 0
    accepted: int = 0
    refused: int = 0
    seconds: float = 0.0  # of compiling; what was judged before takes none
    left_out: int = 0  # sources in its language that it does not take
    refusals: tuple[Refusal, ...] = ()
    skipped: str = ""


def named_models() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Vectors, then the catalogue's models and those of QUADRA_MODELS_DIR, with all folders below."""
    for case in batches(case for case in all_cases() if case.place != "cpu"):
        yield case.id, case.model
    found: dict[str, Path] = {}
    for entry, path in models.status():
        if path:
            found[entry.name] = path
    for folder in settings.read().models_dirs:
        found |= {
            path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.tflite"))
        }
    for name, path in found.items():
        yield name, path.read_bytes


def collect(
    quadra: Quadra,
    targets: Sequence[Target],
    show: Show,
    takes: Callable[[str, Target], bool] = lambda name, target: True,
) -> list[Text]:
    """The distinct sources of all models for which `takes` says so, in every precision."""
    store = KernelTexts(quadra)
    found: dict[Path, Text] = {}
    for name, read in named_models():
        wanted = [target for target in targets if takes(name, target)]
        model = read() if wanted else b""
        for target in wanted:
            for precision in PRECISIONS:
                dumped = store.of(model, target, precision)
                if dumped.error:
                    raise AssertionError(f"{name} for {target.name} in {precision}: {dumped.error}")
                words = f"{name}, {target.name}, {precision}"
                for kernel in dumped.kernels:
                    text = Text(kernel.path, target.language, target.is_cpu, words, kernel.name)
                    # A source that a phone's target has, too, is no CPU's.
                    if kernel.path not in found or (found[kernel.path].for_cpus and not target.is_cpu):
                        found[kernel.path] = text
        show(f"{len(found)} sources, up to those of {name}")
    return list(found.values())


def run(names: Sequence[str], texts: Sequence[Text], show: Show = lambda text: None) -> list[Row]:
    """Has each compiler of these names compile the texts in its language."""
    return [_row(compiler_table.find(name), texts, show) for name in names]


def _row(compiler: Compiler, texts: Sequence[Text], show: Show) -> Row:
    mine = [text for text in texts if text.language == compiler.language]
    taken = [text for text in mine if compiler.for_cpus or not text.for_cpus]
    try:
        compiler.check()
    except ToolMissing as error:
        return Row(compiler.name, skipped=f"{error.came_back}; {error.do_next}")
    started = time.monotonic()
    judged = _Judged(compiler)
    refused = judged.of([text.path for text in taken], lambda words: show(f"{compiler.name}: {words}"))
    seconds = time.monotonic() - started
    return Row(
        compiler.name,
        texts=len(taken),
        accepted=sum(not why for why in refused),
        refused=sum(bool(why) for why in refused),
        seconds=seconds,
        left_out=len(mine) - len(taken),
        refusals=tuple(_first_of_each_kind(taken, refused)),
    )


def _first_of_each_kind(texts: Sequence[Text], refused: Sequence[str]) -> Iterator[Refusal]:
    found: dict[str, list[tuple[Text, str]]] = {}
    for text, why in zip(texts, refused, strict=True):
        for kind in kinds_of(why) if why else ():
            found.setdefault(kind, []).append((text, why))
    for kind, several in sorted(found.items(), key=lambda item: -len(item[1])):
        text, why = min(several, key=lambda one: one[0].path.stat().st_size)  # the smallest is read soonest
        line = next((line for line in why.splitlines() if kind in kinds_of(line)), why)
        yield Refusal(kind, len(several), text.name, text.kernel, str(text.path), line.strip())


class _Judged:
    """What a compiler said of sources, kept in a file: by the compiler's package and program, and the source."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        drivers = settings.ROOT / "host_tools" / "drivers"
        mine = inspect.getsourcefile(compiler.compile)
        paths = [drivers / "compile_in_child.py", drivers / "joined_sources.py", *([Path(mine)] if mine else [])]
        code = b"".join(path.read_bytes() for path in paths)
        key = hashlib.sha256(compiler.source.encode() + code).hexdigest()[:12]
        self._file = JUDGED / f"{compiler.name}-{key}.json"
        try:
            self._kept: dict[str, str] = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._kept = {}

    def of(self, paths: Sequence[Path], show: Show) -> list[str]:
        missing = [path for path in paths if path.stem not in self._kept]  # a source's name is its digest
        parts = [missing[at : at + _AT_ONCE] for at in range(0, len(missing), _AT_ONCE)]
        try:
            with ThreadPoolExecutor(_PROCESSES) as pool:
                for turn, (part, told) in enumerate(zip(parts, pool.map(self._compiler.compile, parts), strict=True)):
                    self._kept |= {path.stem: why for path, why in zip(part, told, strict=True)}
                    show(f"{turn * _AT_ONCE + len(part)} of {len(missing)} sources")
        finally:
            if parts:
                self._save()
        return [self._kept[path.stem] for path in paths]

    def _save(self) -> None:
        kernel_texts.write(self._file, json.dumps(self._kept).encode())


def table(rows: Sequence[Row]) -> Table:
    made = Table(
        [
            text_table.identifier("compiler"),
            text_table.number("sources"),
            text_table.number("accepted"),
            text_table.number("refused"),
            text_table.number("left out"),
            text_table.number("s"),
            text_table.text("why it was not asked"),
        ]
    )
    for row in rows:
        counts = (
            ["–"] * 5 if row.skipped else [row.texts, row.accepted, row.refused, row.left_out, f"{row.seconds:.0f}"]
        )
        made.add_row(row.compiler, *map(str, counts), row.skipped)
    return made


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compile_texts")
    every = [compiler.name for compiler in compiler_table.COMPILERS]
    parser.add_argument("--rows", default=",".join(every), help=f"of {', '.join(every)}")
    parser.add_argument("--library", type=Path, help="of the delegate; default: what Bazel builds of this checkout")
    parser.add_argument("--only", default="", help="words: targets by their whole names, models by a part of theirs")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    names = given.rows.split(",")
    for name in names:
        compiler_table.find(name)
    words = [word for word in given.only.split(",") if word]
    with tempfile.TemporaryDirectory(prefix="quadra-targets-") as folder:
        texts = _collected(given.library or bazel.library(), words, Path(folder))
    with progress("compile") as show:
        rows = run(names, texts, show)
    if given.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        _print(rows, given.only)
    return int(any(row.refused for row in rows))


def _collected(library: Path, words: Sequence[str], folder: Path) -> list[Text]:
    targets = kernel_texts.targets(folder)
    of_targets = [word for word in words if word in {target.name for target in targets}]
    of_models = [word for word in words if word not in of_targets]

    def takes(name: str, target: Target) -> bool:
        return (not of_targets or target.name in of_targets) and (not of_models or any(w in name for w in of_models))

    quadra = Quadra(library)
    try:
        with progress("collect kernels") as show:
            return collect(quadra, targets, show, takes)
    finally:
        quadra.close()


def _print(rows: Sequence[Row], only: str) -> None:
    console = terminal.console()
    table(rows).show(console)
    for row in rows:
        for one in row.refusals:
            console.print(f"\n{row.compiler} refuses {one.texts}: {one.message}", markup=False)
            console.print(f"  {one.kernel} of {one.name}\n  {one.source}", markup=False)
    refusing = ",".join(row.compiler for row in rows if row.refused)
    if refusing:
        more = f" --only {only}" if only else ""
        console.print(f"\nagain: .venv/bin/python -m tests.compile_texts --rows {refusing}{more}", markup=False)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except QuadraError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
