"""Debian's packages under a program of this machine, without installing them: for that one process, /usr is this
machine's with the packages' files as layers over and under it.

Files that belong together go over this machine's own: a driver, what it was built for, or the C library of a later Debian
with all that was linked to it, in which programs of an earlier one run. The others go under them: they only add what is not there.
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import child_process, portable
from host_tools.base.errors import ToolMissing
from host_tools.drivers import debian_packages, tool_folder
from host_tools.drivers.debian_packages import Apt
from host_tools.drivers.driver import Show

_ENTER = Path(__file__).with_name("enter_layers.sh")
_VERSION, _OVER, _UNDER = "version", "over", "under"
_REFUSED = frozenset(":,\\")  # have a meaning in the options of an overlay


@dataclass(frozen=True)
class Layers:
    """A package with all that it depends on. over: names of packages that go over this machine's; empty: all do."""

    name: str  # of the row
    suites: tuple[str, ...]
    package: str
    version: str
    over: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Other packages are another folder."""
        words = [self.package, self.version, *self.suites, "over", *self.over]
        key = hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
        return tool_folder.driver_folder(f"{self.name}-{key}")

    def fetch(self, show: Show) -> None:
        """Brings the packages once; later calls find them there."""
        tool_folder.make(self.folder, lambda new: self._fill(new, show))

    def _fill(self, new: Path, show: Show) -> None:
        with tempfile.TemporaryDirectory(prefix=".apt-", dir=new) as scratch:
            apt = Apt(Path(scratch), f"the driver {self.name}", self.suites)
            show("fetch the lists of packages")
            apt.update(show)
            version = apt.version(self.package, self.version)
            packages = apt.download([f"{self.package}={version}"], self.suites[-1], show)
            show("unpack")
            over = [one for one in packages if not self.over or one.name.partition("_")[0] in self.over]
            debian_packages.unpack(over, new / _OVER)
            debian_packages.unpack([one for one in packages if one not in over], new / _UNDER)
        (new / _VERSION).write_text(f"{version}\n", encoding="utf-8")

    def prefix(self) -> tuple[str | Path, ...]:
        """Runs the command that follows it. ToolMissing: the packages were not fetched, or this machine does not allow it."""
        if not self.folder.is_dir():
            where, next_step = f"it is not in {self.folder.parent}", f"./inv drivers --fetch {self.name}"
            raise ToolMissing(f"use the driver {self.name}", where, next_step)
        found = self._prefix()
        done = child_process.run([*found, "true"], timeout_s=60, check=False)
        if done.returncode != 0:
            reason = done.stderr.strip() or f"exit status {done.returncode}"
            came_back = f"no overlay can be mounted on /usr for one process: {reason}"
            raise ToolMissing(f"use the driver {self.name}", came_back, "run it as root, or allow user namespaces")
        return found

    def _prefix(self) -> tuple[str | Path, ...]:
        layers = [self.folder / _OVER / "usr", Path("/usr"), self.folder / _UNDER / "usr"]
        if _REFUSED & set(str(self.folder)):
            reason = f"the path {self.folder} has a colon, a comma or a backslash"
            raise ToolMissing(f"use the driver {self.name}", reason, "set QUADRA_TOOLS_DIR to another folder")
        as_root = () if portable.is_root() else ("--map-root-user",)
        joined = ":".join(str(layer) for layer in layers if layer.is_dir())
        return ("unshare", "--mount", *as_root, "sh", _ENTER, joined)
