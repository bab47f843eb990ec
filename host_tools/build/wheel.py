"""Makes the Python wheel of the delegate, for this machine: a small module (delegate_native/python) and both libraries.

auditwheel says which Linux systems the libraries run on, and that is the wheel's tag. It has no Python ABI: the module calls
the libraries through ctypes.
"""

import json
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from hatchling.builders.wheel import WheelBuilder
from rich.console import Console

from host_tools.base import child_process, settings
from host_tools.base.android import ACCELERATOR
from host_tools.base.errors import JudgementFailed
from host_tools.base.progress import progress
from host_tools.build import android_check, bazel

SOURCE = settings.ROOT / "delegate_native" / "python"
BUILT = settings.ROOT / ".cache" / "wheel"
_DEADLINE_S = 120.0


@dataclass(frozen=True)
class Made:
    """A wheel, and the newest versions of the symbols that it asks for, as GLIBC_2.34."""

    path: Path
    symbols: list[str]


class _Builder(WheelBuilder):
    """Of a wheel for one platform, with any Python 3."""

    tag = ""

    def get_default_build_data(self) -> dict[str, Any]:
        return {**super().get_default_build_data(), "pure_python": False, "tag": f"py3-none-{self.tag}"}


def from_arguments(out: str) -> Made:
    """make(), with the words of the command line; builds the libraries."""
    return make(bazel.accelerator().parent, Path(out).expanduser().resolve() if out else BUILT)


def make(libraries: Path, out: Path) -> Made:
    """The wheel in the folder `out`, with the two libraries of the folder `libraries`."""
    settings.make_folder(out, "--out")
    with tempfile.TemporaryDirectory(prefix="quadra-wheel-") as folder, progress("make the wheel") as show:
        staged = _stage(libraries, Path(folder) / "source")
        show("check which systems it runs on")
        found = _audit(_build(staged, _this_platform(), Path(folder)))
        symbols = _newest(chain(*found["versioned_symbols"].values()))
        if found["overall_tag"].startswith("linux_"):  # of no manylinux policy
            needs = ", ".join([*found["external_libs"], *symbols])
            do_next = "link the libraries to nothing but libc, libm and libstdc++, on an older system"
            raise JudgementFailed("make the wheel", f"auditwheel knows no systems that have {needs}", do_next)
        made = _build(staged, found["overall_tag"], Path(folder))
        os.replace(shutil.copyfile(made, out / f".{made.name}"), out / made.name)
    return Made(out / made.name, symbols)


def requirements() -> list[str]:
    """The packages that the wheel asks for."""
    listed: list[str] = tomllib.loads((SOURCE / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "dependencies"
    ]
    return listed


def show(made: Made, console: Console) -> None:
    """Where it is, what it needs, and how it is installed."""
    console.print(f"{made.path}  {made.path.stat().st_size:,} bytes", highlight=False, soft_wrap=True)
    console.print(f"needs       {', '.join(made.symbols)}; ai-edge-litert", highlight=False, soft_wrap=True)
    console.print(f"install     pip install {made.path}", highlight=False, soft_wrap=True)


def _stage(libraries: Path, staged: Path) -> Path:
    """A copy of the package's source with the libraries in their place."""
    shutil.copytree(SOURCE, staged, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(settings.ROOT / "LICENSE", staged / "LICENSE")
    folder = staged / "quadra" / "lib"
    folder.mkdir()
    for name in (android_check.NAME, ACCELERATOR):
        shutil.copyfile(libraries / name, folder / name)
        (folder / name).chmod(0o644)
    return staged


def _build(staged: Path, platform: str, out: Path) -> Path:
    builder = _Builder(str(staged))
    builder.tag = platform
    return Path(next(builder.build(directory=str(out))))


def _audit(wheel: Path) -> dict[str, Any]:
    argv = [sys.executable, "-m", "auditwheel", "show", "--json", wheel]
    found: dict[str, Any] = json.loads(child_process.run(argv, timeout_s=_DEADLINE_S).stdout)
    return found


def _this_platform() -> str:
    return f"linux_{os.uname().machine}"


def _newest(symbols: Iterable[str]) -> list[str]:
    """Of GLIBC_2.2.5, GLIBC_2.34 and CXXABI_1.3: GLIBC_2.34 and CXXABI_1.3."""
    kinds: dict[str, list[int]] = {}
    for symbol in symbols:
        kind, _, version = symbol.rpartition("_")
        kinds[kind] = max(kinds.get(kind, []), [int(number) for number in version.split(".")])
    return [f"{kind}_{'.'.join(map(str, numbers))}" for kind, numbers in sorted(kinds.items())]
