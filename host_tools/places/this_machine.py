"""What the places on this machine, host and jvm, have in common."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from host_tools.base.errors import QuadraError
from host_tools.places.attempt import Attempt
from host_tools.places.place import Show, aimed, quiet
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec


@dataclass
class ThisMachine(ABC):
    """A place on this machine, named as its kind. library: the delegate to run with (default: built)."""

    library: Path | None = None
    _made: Path | None = field(default=None, init=False, repr=False)
    kind: ClassVar[str]

    @property
    def name(self) -> str:
        return self.kind

    def prepare(self, peers: Sequence[str] = ()) -> None:
        self.delegate()

    def aim(self, spec: RunSpec) -> RunSpec:
        return aimed(spec, self.kind)

    @abstractmethod
    def run(self, spec: RunSpec, show: Show = quiet, runs_dir: Path | None = None) -> RunFolder: ...

    def stop(self) -> bool:
        return False

    def delegate(self) -> Path:
        """The delegate for this place; built if that is needed."""
        if self.library:
            return self.library
        self._made = self._made or self._built()
        return self._made

    @abstractmethod
    def _built(self) -> Path: ...


class LocalAttempt(Attempt, ABC):
    """Processes of this machine that work on a run folder."""

    @abstractmethod
    def work(self, mode: str, cache: Path) -> None:
        """Starts one; drivers keep what they compile in `cache`."""

    def dump(self, cache: Path) -> None:
        """What was made of the model is worth a look above all when it failed: written down, if that works."""
        if not any(self.folder.glob("partition_*")):
            with contextlib.suppress(QuadraError):
                self.work("dump", cache)
