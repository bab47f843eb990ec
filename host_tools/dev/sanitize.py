"""Builds of the delegate with gcc's sanitizers: what a process needs that loads one, and what they reported.

A report ends the process that caused it, and lies as a text in a folder, so none is overlooked, wherever it was made.
"""

from functools import cache
from pathlib import Path

from host_tools.base.errors import Misuse
from host_tools.build import bazel, size

# Each is a config of .bazelrc; its runtime is a shared library that comes with gcc.
RUNTIMES = {"address": "libasan", "undefined": "libubsan", "thread": "libtsan"}
# These see everything that a process allocates, so they are loaded before all else; and libstdc++ with them, or they
# know no exceptions, which TFLite throws.
_FIRST = ("libasan", "libtsan")
_STATUS = "exitcode=99"
_ASAN = (
    "detect_leaks=0",  # Python and drivers leave memory to the end of the process
    "handle_segv=2:handle_sigbus=2:handle_sigfpe=2",  # or faulthandler would take them
    # Mesa's kernels allocate pages for each work-group: a long queue of freed ones would always be new memory.
    "quarantine_size_mb=16",
    # LLVM, in a driver's compiler, puts a signal stack of its own into our threads, and ASan would unmap that.
    "use_sigaltstack=0",
)
_SLOWER = 4  # so many times; more where a driver allocates much


def parse(text: str) -> tuple[str, ...]:
    """The sanitizers that `text` names, a comma between them."""
    names = tuple(sorted({word.strip() for word in text.split(",")}))
    unknown = [name for name in names if name not in RUNTIMES]
    if unknown:
        came_back = f"{unknown[0]!r} is none of {', '.join(RUNTIMES)}"
        raise Misuse(f"sanitize with {text!r}", came_back, "name one, or address,undefined")
    if {"address", "thread"} <= {*names}:
        raise Misuse(f"sanitize with {text!r}", "address and thread do not go together", "run one after the other")
    return names


def library(names: tuple[str, ...]) -> Path:
    """Builds the delegate with these sanitizers; returns libquadra.so."""
    return bazel.library(sanitizers=names)


def is_sanitized(library: Path) -> bool:
    """Whether `library` was built so: then what a process keeps of memory says nothing, for freed memory is kept, too."""
    return bool(_runtimes(library))


def slower(library: Path) -> int:
    """How many times as long a process may take that loads `library`."""
    return _SLOWER if is_sanitized(library) else 1


def environment(library: Path, folder: Path) -> dict[str, str]:
    """What a process that loads `library` needs, so that reports go to `folder`. Nothing for a usual library."""
    runtimes = _runtimes(library)
    if not runtimes:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    log = f"log_path={folder / 'report'}"
    first = [name for name in runtimes if name.startswith(_FIRST)]
    return {
        "LD_PRELOAD": " ".join([*first, "libstdc++.so.6"]),
        "ASAN_OPTIONS": f"{log}:{_STATUS}:{':'.join(_ASAN)}",
        "UBSAN_OPTIONS": f"{log}:{_STATUS}:print_stacktrace=1",
        "TSAN_OPTIONS": f"{log}:{_STATUS}:halt_on_error=1",
    }


def collect(folder: Path) -> list[str]:
    """The reports that lie in `folder`, which is empty afterwards."""
    paths = sorted(folder.glob("report.*"))
    texts = [path.read_text(errors="replace") for path in paths]
    for path in paths:
        path.unlink()
    return texts


@cache
def _runtimes(library: Path) -> tuple[str, ...]:
    if not library.is_file():
        return ()
    return tuple(name for name in size.measure(library).needed if name.startswith(tuple(RUNTIMES.values())))
