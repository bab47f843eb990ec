"""clang-tidy over the native code, with the checks of .clang-tidy: each finding is a defect, or is silenced where it stands."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import child_process, settings
from host_tools.base.errors import CommandFailed, Misuse, ToolMissing
from host_tools.dev import compile_commands, tidy_groups
from host_tools.dev.tidy_groups import Group

NATIVE = settings.ROOT / "delegate_native"
_COMMANDS = settings.ROOT / ".cache" / "clang"
_TOGETHER = _COMMANDS / "together"
_DEADLINE_S = 300.0  # of one source, or a group
_NOT_COMPILED = "clang-diagnostic-error"
_FINDING = re.compile(
    r"^(?P<path>[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?:warning|error): (?P<text>.*) \[(?P<check>[\w.,-]+)\]$",
    re.MULTILINE,
)
_AS_ERROR = ",-warnings-as-errors"


@dataclass(frozen=True, order=True)
class Finding:
    """What a check has to say about one place."""

    path: Path  # in the checkout
    line: int
    column: int
    check: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.text} [{self.check}]"


def run(
    paths: Sequence[Path] = (), fix: bool = False, show: Callable[[str], None] = lambda text: None
) -> list[Finding]:
    """Checks the sources at `paths` (files or folders; none: all) and the headers that they include.

    A header among the paths is checked through the first source that includes it. With fix, what clang-tidy can mend
    is fixed; the findings are those that there were. `show` is told what is being checked. All sources are read in groups
    (tidy_groups.py), and a group that does not compile one by one.
    """
    tool = _tool()
    sources = _chosen(compile_commands.write(_COMMANDS), [Path(path).resolve() for path in paths])
    alone = [Group(source, (source,)) for source in sources]
    groups = alone if fix or paths else tidy_groups.write(_COMMANDS, sources, _TOGETHER)

    def check(group: Group) -> list[Finding]:
        first, *others = group.sources
        show(str(first.relative_to(settings.ROOT)) + f" and {len(others)} more" * bool(others))
        return _check_group(tool, group) if others else _check(tool, _COMMANDS, first, fix)

    # Two that fix at once would fix a header twice.
    with ThreadPoolExecutor(1 if fix else os.cpu_count()) as pool:
        return sorted({finding for findings in pool.map(check, groups) for finding in findings})


def _check_group(tool: str, group: Group) -> list[Finding]:
    try:
        findings = _check(tool, _TOGETHER, group.path, fix=False)
    except CommandFailed:
        findings = None
    if findings is not None and all(finding.check != _NOT_COMPILED for finding in findings):
        return findings
    # Words that only together mean two things are no defect.
    return [finding for source in group.sources for finding in _check(tool, _COMMANDS, source, fix=False)]


def _check(tool: str, commands: Path, source: Path, fix: bool) -> list[Finding]:
    argv = [tool, "-p", commands, "--quiet", *(["--fix"] if fix else []), source]
    done = child_process.run(argv, cwd=settings.ROOT, timeout_s=_DEADLINE_S, check=False)
    findings = list(_findings(done.stdout))
    if done.returncode != 0 and not findings:
        tail = "\n".join((done.stderr or done.stdout).splitlines()[-20:])
        raise CommandFailed(f"run `{done.command()}`", f"exit status {done.returncode}\n{tail}", "see .clang-tidy")
    return findings


def _findings(output: str) -> Iterator[Finding]:
    for match in _FINDING.finditer(output):
        path = Path(os.path.relpath(settings.ROOT / match["path"], settings.ROOT))
        check = match["check"].removesuffix(_AS_ERROR)
        yield Finding(path, int(match["line"]), int(match["column"]), check, match["text"])


def _chosen(sources: Sequence[Path], paths: Sequence[Path]) -> list[Path]:
    if not paths:
        return list(sources)
    chosen: list[Path] = []
    for path in paths:
        found = [source for source in sources if source.is_relative_to(path)]
        if path.suffix in (".h", ".def") and path.is_relative_to(NATIVE):
            found = [source for source in sources if _includes(source, path)][:1]
        if not found:
            raise Misuse(f"check {path}", "no source of delegate_native/ is there", "name a file or folder of it")
        chosen += found
    return sorted(set(chosen))


def _includes(source: Path, header: Path) -> bool:
    return f'#include "{header.relative_to(settings.ROOT)}"' in source.read_text()


def _tool() -> str:
    """The one of our Python environment before any other: checks come and go with versions."""
    found = shutil.which("clang-tidy", path=str(Path(sys.executable).parent)) or shutil.which("clang-tidy")
    if not found:
        raise ToolMissing("check the native code", "`clang-tidy` was not found", "`./inv doctor` says what to install")
    return found
