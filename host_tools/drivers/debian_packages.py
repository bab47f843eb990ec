"""Debian's packages of any suite, unpacked into folders of ours: fetched by apt, not installed.

apt has lists, status and cache of its own: it resolves as on an empty machine and touches no other. It checks every
signature and checksum.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from host_tools.base import child_process
from host_tools.base.errors import CommandFailed, FetchFailed
from host_tools.drivers.driver import Show

_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_UNNEEDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/lintian", "usr/share/bug")
_DEADLINE_S = 1800.0


class Apt:
    """apt for these suites and this architecture; its files are in `folder`. what: is fetched, for the sentences."""

    def __init__(self, folder: Path, what: str, suites: Sequence[str], architecture: str = "amd64") -> None:
        self.folder, self.archives, self.what = folder, folder / "cache/archives", what
        for part in ("parts", "preferences", "state/lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True)
        (folder / "status").touch()
        from_where = mirror()
        lines = [f"deb [signed-by={_KEYS}] {from_where} {suite} main\n" for suite in suites]
        (folder / "sources.list").write_text("".join(lines), encoding="utf-8")
        chosen = {
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": folder / "parts",
            "Dir::Etc::preferencesparts": folder / "preferences",
            "Dir::State": folder / "state",
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder / "cache",
            "APT::Architecture": architecture,
            "APT::Architectures": architecture,
            "APT::Keep-Downloaded-Packages": "true",
            "Binary::apt-get::APT::Keep-Downloaded-Packages": "true",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        }
        text = "".join(f'{key} "{value}";\n' for key, value in chosen.items())
        (folder / "apt.conf").write_text(text, encoding="utf-8")

    def get(self, *words: str, show: Show) -> None:
        try:
            argv = ["apt-get", "-q", *words]
            child_process.run(argv, timeout_s=_DEADLINE_S, env=self._environment(), on_line=show)
        except CommandFailed as error:
            raise FetchFailed(
                f"fetch {self.what} from Debian's packages",
                error.came_back,
                "connect to the network, and check that apt's sources name a mirror of all of Debian",
            ) from error

    def update(self, show: Show) -> None:
        self.get(
            "update", "--error-on=any", show=show
        )  # without that, what failed comes to light only in the next step

    def download(self, packages: Iterable[str], suite: str, show: Show) -> list[Path]:
        """These packages (name or name=version) and all that they depend on; of what several suites have, this one's."""
        flags = ["install", "-y", "--download-only", "--no-install-recommends", "-t", suite]
        self.get(*flags, *packages, show=show)
        return sorted(self.archives.glob("*.deb"))

    def version(self, package: str, wanted: str) -> str:
        """The wanted version of a package, or the newest where the suites have lost that one; empty: they have none."""
        argv = ["apt-cache", "madison", package]
        rows = child_process.run(argv, timeout_s=60, env=self._environment()).stdout.splitlines()
        versions = [row.split("|")[1].strip() for row in rows if row.count("|") == 2]
        return wanted if wanted in versions else next(iter(versions), "")

    def _environment(self) -> dict[str, str]:
        return {"APT_CONFIG": str(self.folder / "apt.conf"), "LC_ALL": "C"}


def mirror() -> str:
    """The first one of Debian itself that this machine's apt is set up with."""
    argv = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    found = child_process.run(argv, timeout_s=60, hint="this needs Debian's apt").stdout.split()
    mirrors = [uri for uri in found if "security" not in uri and uri.rstrip("/").endswith("/debian")]
    if not mirrors:
        raise FetchFailed("find a mirror of Debian", "apt's sources name none", "add one to /etc/apt/sources.list.d")
    return mirrors[0]


def unpack(packages: Iterable[Path], root: Path) -> None:
    """Puts the files of packages into `root`, which is made; documentation is left out."""
    root.mkdir()
    for package in packages:
        child_process.run(["dpkg-deb", "-x", package, root], timeout_s=300)
    for link in ("lib", "lib64"):  # that no script of a package made
        if (root / "usr" / link).is_dir() and not (root / link).exists():
            os.symlink(f"usr/{link}", root / link)
    for name in _UNNEEDED:
        shutil.rmtree(root / name, ignore_errors=True)
