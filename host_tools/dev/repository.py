"""The project's own upkeep: its tests, its versions, its build products."""

import os
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from host_tools.base import android, child_process, settings
from host_tools.base.errors import CommandFailed, FetchFailed, JudgementFailed, Misuse, QuadraError
from host_tools.base.progress import progress
from host_tools.build import bazel, ndk
from host_tools.dev import sanitize

_LOCK_HEAD = "# Every Python package of .venv, at one version. To change: edit pyproject.toml, then `./inv lock`.\n"
# What runs with a sanitized delegate: the tests whose functions take it (a fixture), and the instrument's own. Threads are
# what the tests of lifetimes are about; a race detector slows the others down and sees nothing in them.
_LIFETIMES = ("test_lifetime.py", "test_sanitizers.py")
_TAKES_DELEGATE = re.compile(r"^def \w+\([^)]*\b(?:library|quadra|quadra_optimised)\b", re.MULTILINE)
_NOT_SANITIZED = {
    "test_accelerator.py": "the accelerator loads a library of its own",
    "test_driver_models.py": "test_models.py runs the models",
    "test_drivers.py": "its drivers come from packages; test_vectors.py runs the same cases on the usual ones",
    "test_kernel_text.py": "compiles texts: of the delegate little runs that test_vectors.py does not run",
    "test_memory.py": "sanitizers keep freed memory",
    "test_oclgrind.py": "Oclgrind has its own checks, and is too slow with both",
    "test_other_wheels.py": "builds and loads a library of its own",
    "test_places.py": "needs Android's libraries, which have no sanitizers",
}
# Options of pytest whose value, the next word, may look like a file or a test.
_TAKE_A_VALUE = {"-k", "-m", "-o", "-W", "--ignore", "--ignore-glob", "--deselect", "--confcutdir", "--rootdir",
                  "--junitxml", "--junit-xml", "--basetemp", "--durations"}  # fmt: skip


def run_tests(only: str = "", slow: bool = False, args: str = "", sanitizers: str = "", turn: str = "") -> None:
    """Native tests, then pytest on the user's terminal, whose closing line comes last. Files among args are the only
    ones that are run; a native test's is run by Bazel. With sanitizers, the Python tests that run the delegate, which
    is built with them. Whole runs take a process per processor and two more, for while others wait; what they need
    for Android is built before, so that none waits for Bazel. Whole quick runs have of tests with siblings those that `turn`
    chooses (tests/rotation.py): the commit's, unless a word is given.

    Misuse: args name a file that is not there, a native source that is no test, or a native test together with
    sanitizers, or with options that are nobody's."""
    words = shlex.split(args)
    named = _named_files(words)
    native = [word for word in named if word.endswith(".cc")]
    files = [word for word in named if word not in native]
    words = [word for word in words if word not in native]
    if native and words and not files and not only:
        do_next = "omit them, or name the Python tests that they are for, too"
        raise Misuse(f"test {native[0]} with {shlex.join(words)}", "a native test takes no options", do_next)
    # Thousands of processes start: none compiles again what another one has compiled, and the checkout stays clean.
    env = {"PYTHONPYCACHEPREFIX": str(settings.ROOT / ".cache" / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
    chosen: list[str] = []
    if sanitizers:
        if native:
            raise Misuse(f"test {native[0]} with sanitizers", "they are for Python tests", "omit --sanitize")
        names = sanitize.parse(sanitizers)
        env["QUADRA_LIBRARY"] = str(sanitize.library(names))
        if not files:
            chosen = [f"tests/{name}" for name in (_LIFETIMES if "thread" in names else with_delegate())]
    elif native:
        _run_native([_native_target(word) for word in native])
        if not only and not files:
            return
    elif not only and not args:
        with ThreadPoolExecutor(1) as beside:
            beside.submit(ndk.find)  # fetches most of the time, while Bazel compiles; what fails is said below
            _run_native()
        bazel.prepare_android(android.ABIS if slow else android.QUICK_ABIS, android.ABIS)
    elif not only and not files:
        _run_native()
    if not turn and not (only or args or slow or sanitizers):
        turn = _commit()
    of_all = [*(["--slow"] if slow else []), *(["--turn", turn] if turn else []), *(["-k", only] if only else [])]
    argv = [sys.executable, "-m", "pytest", *of_all, *chosen]
    # A part is run by someone who looks on: in order, and with --pdb and -s as ever.
    together = [] if only or args else ["--numprocesses", str((os.cpu_count() or 1) + 2), "--dist", "worksteal"]
    _fail_unless_passed(child_process.hand_over([*argv, *together, *words], cwd=settings.ROOT, env=env), only)


def with_delegate() -> list[str]:
    """The files of tests/ that run with sanitizers."""
    files = sorted((settings.ROOT / "tests").glob("test_*.py"))
    takers = [one.name for one in files if one.name in _LIFETIMES or _TAKES_DELEGATE.search(one.read_text())]
    return [name for name in takers if name not in _NOT_SANITIZED]


def _named_files(words: Sequence[str]) -> list[str]:
    """The tests among pytest's words: what lies in tests/, has a test's name behind its file's, or is a source. Other
    words are options or values of options, also those that a file of this repository happens to be called. Misuse: one
    is not there."""
    found = []
    for before, word in zip(["", *words], words):
        path = os.path.normpath(os.path.relpath(settings.ROOT / word.partition("::")[0], settings.ROOT))
        source = path.split(os.sep)[0] == "tests" or "::" in word or path.endswith((".py", ".cc"))
        if word.startswith("-") or before in _TAKE_A_VALUE or not source:
            continue
        if not (settings.ROOT / path).exists():
            raise Misuse(f"test {word}", "there is no such file", "name files from the repository's root: tests/…")
        found.append(word)
    return found


def _commit() -> str:
    """The checkout's, short; where there is none, a word: the same tests every time."""
    try:
        return child_process.run(
            ["git", "rev-parse", "--short=10", "HEAD"], cwd=settings.ROOT, timeout_s=60
        ).stdout.strip()
    except QuadraError:
        return "none"


def _run_native(targets: Sequence[str] = (bazel.EVERYTHING,)) -> None:
    passed = bazel.test(targets)
    print(f"native: {len(passed)} test{'s' if len(passed) != 1 else ''} passed ({', '.join(passed)})", flush=True)


def _native_target(source: str) -> str:
    """Bazel's label of the test in tests/native/NAME_test.cc."""
    path = settings.ROOT / source
    if path.parent.resolve() != settings.ROOT / "tests/native" or not path.match("*_test.cc") or not path.is_file():
        raise Misuse(f"test {source}", "it is no native test", "name one of tests/native/*_test.cc")
    return f"//tests/native:{path.stem}"


def _fail_unless_passed(code: int, only: str) -> None:
    """By pytest's exit status."""
    if code == 1:
        raise JudgementFailed("run the tests", "some failed", "pytest names them above")
    if code == 5 and only:
        do_next = "cases of ops have the op's name, as conv_2d; --slow adds the slow tests"
        raise CommandFailed("run the tests", f"no quick test's name matches {only!r}", do_next)
    if code != 0:
        meaning = {
            2: "was interrupted",
            4: "was misused",
            5: "found no tests, or only slow ones, which take --slow",
        }.get(code, f"ended with {code}")
        raise CommandFailed("run the tests", f"pytest {meaning}", "see its output above")


def clean(everything: bool = False) -> None:
    """Removes build products; with everything also .venv."""
    bazel.clean()
    for name in [".pytest_cache", ".hypothesis", ".cache"] + ([".venv"] if everything else []):
        shutil.rmtree(settings.ROOT / name, ignore_errors=True)


def packages() -> list[str]:
    """Those that pyproject.toml names, for users and for developers; without Java, which a clone has from Debian."""
    file = tomllib.loads((settings.ROOT / "pyproject.toml").read_text())
    project = file["project"]
    asked = [names for extra, names in project["optional-dependencies"].items() if extra != "virtual-device"]
    extras = dict.fromkeys(chain(*asked))  # two may ask for one package
    return [*project["dependencies"], *extras, *chain(*file["dependency-groups"].values())]


def lock() -> None:
    """Resolves the dependencies of pyproject.toml in an environment of their own and writes requirements.lock."""
    wanted = packages()
    with tempfile.TemporaryDirectory(prefix="quadra-lock-") as folder:
        python = Path(folder) / "bin" / "python"
        with progress("resolve the Python packages") as show:
            child_process.run([sys.executable, "-m", "venv", folder], timeout_s=120)
            try:
                child_process.run([python, "-m", "pip", "install", "--no-input", *wanted], timeout_s=900, on_line=show)
            except CommandFailed as error:
                do_next = (
                    "connect to the network (or point pip at a mirror with PIP_INDEX_URL), then run `./inv lock` again;"
                    " where pip names versions that exclude each other, change pyproject.toml"
                )
                raise FetchFailed("resolve the Python packages of pyproject.toml", error.came_back, do_next) from error
        freeze = child_process.run([python, "-m", "pip", "freeze"], timeout_s=60).stdout
    lines = sorted(freeze.splitlines(), key=str.lower)
    (settings.ROOT / "requirements.lock").write_text(_LOCK_HEAD + "\n".join(lines) + "\n")
