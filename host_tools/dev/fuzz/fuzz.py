"""`inv fuzz`: cases for so many seconds, what came of them, and the findings that are kept."""

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.markup import escape

from host_tools.base import settings
from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.build import bazel
from host_tools.dev import sanitize
from host_tools.dev.fuzz.finding import Finding, keep

KINDS = ("models", "options", "folders", "cache", "reader")
_KEPT_OF_A_PLACE = 3  # without a sanitizer, different defects may show in the same place


class Fuzzer(Protocol):
    """What a kind of case brings. A finding has a case with a name, a kind, a place and a text."""

    counts: Counter[str]

    def cases(self, seed: int) -> Iterator[Any]: ...

    def run_case(self, case: Any) -> Finding | None: ...

    def minimise(self, finding: Finding) -> Finding: ...

    def close(self) -> None: ...


@dataclass
class Result:
    """What came of a session. seen: how often a finding came from each (kind, place); kept: folders of findings."""

    what: str
    seed: int
    seconds: float
    counts: Counter[str]
    kept: list[Path] = field(default_factory=list)
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)


class _Folders:
    """Damaged run folders, in the same form; their cases need no library, and are small as they come."""

    def __init__(self) -> None:
        from host_tools.dev.fuzz import folder_fuzzer

        self._folders, self._work = folder_fuzzer, tempfile.TemporaryDirectory(prefix="quadra-fuzz-")
        self.counts: Counter[str] = Counter()

    def cases(self, seed: int) -> Iterator[Any]:
        return self._folders.cases(seed)

    def run_case(self, case: Any) -> Finding | None:
        finding = self._folders.run_case(case, Path(self._work.name))
        self.counts["cases"] += 1
        self.counts["read, or refused in a sentence"] += finding is None
        return finding

    def minimise(self, finding: Finding) -> Finding:
        return finding

    def close(self) -> None:
        self._work.cleanup()


def run(
    what: str, seconds: float, seed: int, given: Path | None, sanitizers: str, show: Callable[[str], None]
) -> Result:
    """Runs cases of a kind for so many seconds, or the finding whose folder `what` names.

    The delegate is what is given, or is built, with sanitizers or without. Findings are kept among the run folders.
    """
    kept = Path(what) / "case.json"
    words = json.loads(kept.read_text()) if kept.is_file() else {"kind": what}
    if words["kind"] not in KINDS:
        do_next = did_you_mean(what, KINDS, f"name one of {', '.join(KINDS)}, or the folder of a finding")
        raise Misuse(f"fuzz {what}", "there is neither such a kind nor such a folder", do_next)
    if seconds <= 0:
        raise Misuse(f"fuzz {what}", f"{seconds:g} seconds are none", "give --seconds a number above 0")
    if words["kind"] == "reader":
        return _read(Path(what) if kept.is_file() else None, Result(what, seed, seconds, Counter()), given, show)
    fuzzer = _open(words["kind"], given, sanitizers)
    try:
        if kept.is_file():
            return _run_again(fuzzer, Path(what), words)
        return _run_cases(fuzzer, Result(what, seed, seconds, fuzzer.counts), show)
    finally:
        fuzzer.close()


def show(result: Result, console: Console) -> None:
    """The counts, and where the findings are."""
    console.print(f"{result.what}, seed {result.seed}, {result.seconds:.0f} s", highlight=False, soft_wrap=True)
    for words, count in [*result.counts.items(), ("findings", sum(result.seen.values()))]:
        console.print(f"{count:8}  {words}", highlight=False)
    for (kind, place), count in result.seen.most_common():
        console.print(f"[red]{kind}[/] ×{count}  {escape(place)}", highlight=False)
    for path in result.kept:
        console.print(f"kept  {escape(str(path))}", highlight=False, soft_wrap=True)


def fail_if_wrong(result: Result) -> None:
    """Raises JudgementFailed where there is a finding."""
    if result.seen:
        places = len(result.seen)
        came_back = f"findings in {places} place{'s' if places > 1 else ''}"
        do_next = f"read finding.txt in {result.kept[0]}; `./inv fuzz {result.kept[0]}` runs it again"
        raise JudgementFailed(f"fuzz {result.what} with seed {result.seed}", came_back, do_next)


def _open(kind: str, given: Path | None, sanitizers: str) -> Fuzzer:
    if kind == "folders":
        return _Folders()
    if given and sanitizers:
        do_next = "a library that is given has been built, with sanitizers or without: omit one of the two"
        raise Misuse("fuzz", "both --library and --sanitize are given", do_next)
    built = sanitize.library(sanitize.parse(sanitizers)) if sanitizers else None
    fuzzer: Fuzzer = getattr(_module(kind), kind.capitalize())(given or built or bazel.library())
    return fuzzer


def _module(kind: str) -> Any:
    from host_tools.dev.fuzz import cache_fuzzer, model_fuzzer, option_fuzzer

    return {"models": model_fuzzer, "options": option_fuzzer, "cache": cache_fuzzer}[kind]


def _run_cases(fuzzer: Fuzzer, result: Result, show: Callable[[str], None]) -> Result:
    cases = fuzzer.cases(result.seed)
    first = next(cases)  # what it needs has been made then
    started = time.monotonic()
    for case in chain([first], cases):
        finding = fuzzer.run_case(case)
        if finding:
            _take(fuzzer, finding, result, show)
        spent, found = time.monotonic() - started, sum(result.seen.values())
        show(f"{spent / result.seconds:.0%} of {result.seconds:g} s, {fuzzer.counts['cases']} cases, {found} findings")
        if spent >= result.seconds:
            break
    result.seconds = time.monotonic() - started
    return result


def _run_again(fuzzer: Fuzzer, folder: Path, words: dict[str, Any]) -> Result:
    if words["kind"] == "folders":
        cases: Iterable[Any] = (one for one in fuzzer.cases(words["seed"]) if one.name == words["name"])
        case = next(iter(cases))
    else:
        case = _module(words["kind"]).from_folder(folder, words["case"])
    started = time.monotonic()
    finding = fuzzer.run_case(case)
    result = Result(str(folder), words.get("seed", 0), time.monotonic() - started, fuzzer.counts)
    if finding:
        result.seen[finding.kind, finding.place] += 1
        result.kept.append(folder)
    return result


def _read(folder: Path | None, result: Result, given: Path | None, show: Callable[[str], None]) -> Result:
    """libFuzzer makes the cases itself, and stops at its first finding."""
    from host_tools.dev.fuzz import reader_fuzzer as reader

    started = time.monotonic()
    if folder:
        finding = reader.repeat(folder / reader.FILE, show)
    else:
        finding = reader.search(result.seconds, result.seed, given or bazel.library(), result.counts, show)
    result.seconds = time.monotonic() - started
    if finding:
        result.seen[finding.kind, finding.place] += 1
        words = {"kind": "reader", "seed": result.seed, "name": "reader", "case": {}}
        result.kept.append(folder or _keep("reader", f"{result.seed}", finding, {reader.FILE: finding.case}, words))
    return result


def _take(fuzzer: Fuzzer, finding: Finding, result: Result, show: Callable[[str], None]) -> None:
    """Counts a finding; keeps it, made small, unless there are enough of its place."""
    key = (finding.kind, finding.place)
    result.seen[key] += 1
    if result.seen[key] > (1 if finding.kind == "report" else _KEPT_OF_A_PLACE):
        return
    show(f"makes a finding small: {finding.kind}, {finding.place}")
    small = fuzzer.minimise(finding)
    own = hasattr(small.case, "files")
    words = {
        "kind": result.what,
        "seed": result.seed,
        "name": small.case.name,
        "case": small.case.words() if own else {},
    }
    result.kept.append(_keep(result.what, small.case.name, small, small.case.files() if own else {}, words))


def _keep(what: str, name: str, finding: Finding, files: dict[str, bytes], words: dict[str, Any]) -> Path:
    """Among the run folders."""
    runs = settings.make_folder(settings.read().runs_dir, "QUADRA_RUNS_DIR")
    folder = _free(runs / f"fuzz-{what}" / f"{name}-{finding.kind}")
    return keep(folder, files, words, f"{finding.kind}: {finding.place}\n\n{finding.text}", f"./inv fuzz {folder}")


def _free(folder: Path) -> Path:
    """The folder, or one beside it where an earlier session left the same."""
    names = (folder, *(folder.with_name(f"{folder.name}-{number}") for number in range(2, 1000)))
    return next(name for name in names if not name.exists())
