"""The project's own upkeep: its tests, its versions, its build products."""

import shlex
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

from host_tools import bazel, settings, shell
from host_tools.errors import CommandFailed, JudgementFailed
from host_tools.progress import progress

_LOCK_HEAD = "# Every Python package of .venv, at one version. To change: edit pyproject.toml, then `./inv lock`.\n"


def run_tests(only: str = "", slow: bool = False, args: str = "") -> None:
    """Native tests, then pytest on the user's terminal, whose closing line comes last."""
    if not only:
        passed = bazel.test()
        print(f"native: {len(passed)} test{'s' if len(passed) != 1 else ''} passed ({', '.join(passed)})", flush=True)
    argv = [sys.executable, "-m", "pytest", *(["--slow"] if slow else []), *(["-k", only] if only else [])]
    code = shell.hand_over([*argv, *shlex.split(args)], cwd=settings.ROOT)
    if code == 1:
        raise JudgementFailed("run the tests", "some failed", "pytest names them above")
    if code != 0:
        meaning = {2: "was interrupted", 4: "was misused", 5: "found no tests"}.get(code, f"ended with {code}")
        raise CommandFailed("run the tests", f"pytest {meaning}", "see its output above")


def clean(everything: bool = False) -> None:
    """Removes build products; with everything also .venv."""
    bazel.clean()
    for name in [".pytest_cache", ".hypothesis", ".cache"] + ([".venv"] if everything else []):
        shutil.rmtree(settings.ROOT / name, ignore_errors=True)


def lock() -> None:
    """Resolves the dependencies of pyproject.toml in an environment of their own and writes requirements.lock."""
    wanted = tomllib.loads((settings.ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    with tempfile.TemporaryDirectory(prefix="quadra-lock-") as folder:
        python = Path(folder) / "bin" / "python"
        with progress("resolve the Python packages") as show:
            shell.run([sys.executable, "-m", "venv", folder], timeout_s=120)
            shell.run([python, "-m", "pip", "install", "--no-input", *wanted], timeout_s=900, on_line=show)
        freeze = shell.run([python, "-m", "pip", "freeze"], timeout_s=60).stdout
    lines = sorted(freeze.splitlines(), key=str.lower)
    (settings.ROOT / "requirements.lock").write_text(_LOCK_HEAD + "\n".join(lines) + "\n")
