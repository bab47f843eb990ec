"""`inv lint`: checks the sources with the tools of this field; each finds its settings where it looks for them."""

import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from host_tools.base import child_process, settings
from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.base.progress import progress
from host_tools.base.text_table import Table, number, text, word
from host_tools.build import java, maven
from host_tools.dev import clang_tidy

_DEADLINE_S = 900.0
_FOLDERS = ("android_app", "delegate_native", "host_tools", "tests")
# google-java-format reads the compiler's own trees, which the JDK shows only when asked.
_JAVAC = [f"--add-exports=jdk.compiler/com.sun.tools.javac.{part}=ALL-UNNAMED"
          for part in ("api", "code", "file", "parser", "tree", "util")]  # fmt: skip


@dataclass(frozen=True)
class Check:
    """One tool. `run(fix)` returns what it found, in its own words: "" if nothing. `mends`: --fix helps."""

    name: str
    what: str
    run: Callable[[bool], str]
    mends: bool = True


@dataclass(frozen=True)
class Outcome:
    """What a check came to. `said`: what the tool found, empty if nothing."""

    check: Check
    said: str
    wall_s: float


def checks() -> dict[str, Check]:
    """All checks by name, the quick ones first."""
    found = (
        Check("ruff", "Python: defects, imports, format", _ruff),
        Check("clang-format", "C++: format", _clang_format),
        Check("java-format", "Java: format", _java_format),
        Check("mypy", "Python of the toolkit: types, strict", lambda fix: _said([_script("mypy")]), mends=False),
        Check("clang-tidy", "C++: bugprone, performance", _clang_tidy),
    )
    return {check.name: check for check in found}


def run(only: str, fix: bool) -> list[Outcome]:
    """Runs the checks that `only` names (a comma between them; "": all), at once: some wait for Maven or Bazel. With fix one
    after another: two may fix the same file. ToolMissing, FetchFailed: one cannot run."""
    chosen = _chosen(only)
    with progress("lint") as show, ThreadPoolExecutor(1 if fix else len(chosen)) as pool:

        def outcome(check: Check) -> Outcome:
            show(check.name)
            started = time.monotonic()
            said = check.run(fix)
            return Outcome(check, said, time.monotonic() - started)

        return list(pool.map(outcome, chosen))


def show(outcomes: Sequence[Outcome], console: Console) -> None:
    """What each tool said, and a table of all."""
    table = Table([word("check"), text("of"), word("result"), number("seconds")])
    for one in outcomes:
        if one.said:
            console.print(Text(one.said), "")
        result = "[red]found something[/]" if one.said else "[green]clean[/]"
        table.add_row(one.check.name, one.check.what, result, f"{one.wall_s:.0f}")
    table.show(console)


def fail_if_wrong(outcomes: Sequence[Outcome]) -> None:
    """JudgementFailed where a tool found something."""
    red = [one.check for one in outcomes if one.said]
    if red:
        mends = any(check.mends for check in red)
        next_ = "`./inv lint --fix` fixes what a tool can; see above for the rest" if mends else "see above"
        raise JudgementFailed("check the sources", f"{', '.join(check.name for check in red)} found something", next_)


def _chosen(only: str) -> list[Check]:
    known = checks()
    names = [word.strip() for word in only.split(",") if word.strip()] or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Misuse(f"lint with {unknown[0]!r}", f"the checks are {', '.join(known)}", "name some of them")
    return [known[name] for name in names]


def _said(command: Sequence[object]) -> str:
    """What a tool printed whose exit status is not 0."""
    done = child_process.run(command, cwd=settings.ROOT, timeout_s=_DEADLINE_S, check=False)
    if done.returncode == 0:
        return ""
    return f"{done.stdout}{done.stderr}".strip() or f"{done.argv[0]} ended with {done.returncode} and no output"


def _script(name: str) -> Path:
    """A program that a package of requirements.lock brought."""
    return Path(sysconfig.get_path("scripts")) / name


def _files(*patterns: str) -> Iterator[Path]:
    """Sources of these names, relative to the checkout."""
    for folder in _FOLDERS:
        for pattern in patterns:
            for path in sorted((settings.ROOT / folder).rglob(pattern)):
                relative = path.relative_to(settings.ROOT)
                if not {"build", ".gradle", "__pycache__"} & set(relative.parts):
                    yield relative


def _ruff(fix: bool) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    defects = _said([*ruff, "check", "--quiet", *(["--fix"] if fix else [])])
    return "\n".join(filter(None, [defects, _said([*ruff, "format", "--quiet", *([] if fix else ["--diff"])])]))


def _clang_format(fix: bool) -> str:
    how = ["-i"] if fix else ["--dry-run", "-Werror"]
    return _said([_script("clang-format"), *how, *_files("*.cc", "*.h", "*.c")])


def _java_format(fix: bool) -> str:
    jars = ":".join(str(path) for path in maven.class_path("java-format"))
    how = ["--replace"] if fix else ["--dry-run", "--set-exit-if-changed"]
    main = "com.google.googlejavaformat.java.Main"
    return _said([java.tool("java"), *java.BRIEF, *_JAVAC, "-cp", jars, main, *how, *_files("*.java")])


def _clang_tidy(fix: bool) -> str:
    return "\n".join(map(str, clang_tidy.run(fix=fix)))
