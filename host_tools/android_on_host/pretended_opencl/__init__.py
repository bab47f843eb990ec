"""An OpenCL library of a phone that is not there (calls.c): built here, and put before a program by its environment."""

import hashlib
import shutil
import tempfile
from pathlib import Path

from host_tools.base import child_process, settings

LIBRARY = "libOpenCL.so"
_HERE = Path(__file__).parent
_SOURCES, _HEADERS = ("calls.c", "refused.c"), ("answers.h",)
_PHONE, _CALLS = "PRETENDED_OPENCL_PHONE", "PRETENDED_OPENCL_CALLS"
_GCC_S = 60.0


def library() -> Path:
    """Alone in its folder, for LD_LIBRARY_PATH; built once. ToolMissing: there is no compiler."""
    folder = settings.read().tools_dir / "pretended_opencl" / digest()
    if (folder / LIBRARY).exists():
        return folder / LIBRARY
    settings.make_folder(folder, "QUADRA_TOOLS_DIR")
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        new = Path(work) / LIBRARY
        argv: list[object] = ["gcc", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", new]
        argv += [*(_HERE / source for source in _SOURCES), f"-Wl,-soname,{LIBRARY}", "-Wl,-z,defs", "-pthread"]
        child_process.run(argv, timeout_s=_GCC_S, hint="apt-get install gcc opencl-c-headers")
        shutil.move(new, folder / LIBRARY)
    return folder / LIBRARY


def digest() -> str:
    """Of what answers and records: another one may write another form."""
    content = b"\0".join((_HERE / name).read_bytes() for name in (*_SOURCES, *_HEADERS))
    return hashlib.sha256(content).hexdigest()[:16]


def environment(phone: str, folder: Path, calls: Path) -> dict[str, str]:
    """Of a process that has `library` as its OpenCL. phone: its answers, by lines; folder: for them. calls: the recording."""
    answers = folder / "phone"
    answers.write_text(phone, encoding="utf-8")
    return {_PHONE: str(answers), _CALLS: str(calls)}
