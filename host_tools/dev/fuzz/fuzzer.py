"""What the fuzzers that run models share: processes, a folder for them, and that a finding must come again."""

import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path
from typing import Any

from host_tools.base import cpu_drivers
from host_tools.dev.fuzz.finding import Finding
from host_tools.dev.fuzz.fuzz_process import Process


class Fuzzer(ABC):
    """counts: what came of the cases."""

    def __init__(self, library: Path, processes: int = 1) -> None:
        self._library = library
        self._folder = tempfile.TemporaryDirectory(prefix="quadra-fuzz-")
        self._home = Path(self._folder.name)
        env = _driver_settings(self._home)
        self._processes = [Process(library, self._home, env) for _ in range(processes)]
        self.counts: Counter[str] = Counter()

    def close(self) -> None:
        self._restart()
        self._folder.cleanup()

    def run_case(self, case: Any) -> Finding | None:
        """The finding that a case is, if it is one: it comes again in processes that are new."""
        finding = self._try(case, self.counts)
        if finding is None:
            return None
        self._restart()
        if self._try(finding.case, Counter()):
            return finding
        self.counts["not repeatable"] += 1
        return None

    def _restart(self) -> None:
        for process in self._processes:
            process.close()

    @abstractmethod
    def _try(self, case: Any, counts: Counter[str]) -> Finding | None:
        """Runs a case once."""


def _driver_settings(folder: Path) -> dict[str, str]:
    """What drivers are told: to compile quickly, for each case has kernels of its own, and to keep that in `folder`."""
    quickly = {"POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable", "GALLIVM_PERF": "nopt"}
    return {**cpu_drivers.settings(threads=1), **cpu_drivers.caches(folder / "drivers"), **quickly}
