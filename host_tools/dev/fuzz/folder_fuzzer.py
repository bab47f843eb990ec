"""Damaged run folders. Whoever reads one ends well or with a sentence: never with a traceback, a hang or a signal.

`cases(seed)` is endless and the same each time; a Case alone says what is damaged and who reads it.
"""

import contextlib
import io
import os
import random
import resource
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_tools.dev.fuzz import damage, good_folder
from host_tools.dev.fuzz.finding import Finding

_DEADLINE_S = 20.0  # of one reader; the slowest takes a tenth of a second when nothing is damaged
_MEMORY_BYTES = 8 << 30  # of its address space
_SERIAL = "fuzz:1"


@dataclass(frozen=True)
class Mutation:
    """One damage. `choice` decides where in the file, and which of its kind."""

    kind: str  # of damage.MUTATIONS
    file: str  # inside the run folder
    choice: int


@dataclass(frozen=True)
class Case:
    """What is damaged, and who reads it. Without mutations nothing is damaged."""

    seed: int
    number: int
    reader: str  # of READERS
    mutations: tuple[Mutation, ...]

    @property
    def name(self) -> str:
        return f"{self.seed}-{self.number}-{self.reader}"


def cases(seed: int) -> Iterator[Case]:
    """Cases without end; the same for the same seed."""
    files = good_folder.names()
    for number in range(sys.maxsize):
        chosen = random.Random(f"{seed}/{number}")
        reader = chosen.choice(sorted(READERS))
        count = chosen.choice((1, 1, 1, 2, 4))
        yield Case(seed, number, reader, tuple(_mutation(chosen, files) for _ in range(count)))


def run_case(case: Case, workdir: Path) -> Finding | None:
    """Damages a good folder in `workdir` and lets the reader read it, in a process of its own; None: it ended well.

    The damaged folder lies in workdir/CASE afterwards where there is a finding.
    """
    for reader in READERS.values():  # a child has no time to import
        reader.load()
    runs = workdir / case.name
    shutil.rmtree(runs, ignore_errors=True)
    folder = good_folder.copy(workdir, runs)
    for mutation in case.mutations:
        damage.apply(mutation.kind, folder / mutation.file, random.Random(mutation.choice))
    finding = _watched(case, folder)
    if finding is None:
        shutil.rmtree(runs, ignore_errors=True)
    return finding


def _mutation(chosen: random.Random, files: list[str]) -> Mutation:
    file = chosen.choice(files)
    kinds = damage.KINDS_OF.get(Path(file).suffix, ()) * 3 + damage.OF_ALL
    return Mutation(chosen.choice(kinds), file, chosen.getrandbits(32))


# --- a reader in a process of its own


def _watched(case: Case, folder: Path) -> Finding | None:
    ours, theirs = os.pipe()
    pid = os.fork()  # not shell.run: the readers are loaded once, and a case costs milliseconds
    if pid == 0:
        os.close(ours)
        _child(case.reader, folder, theirs)
    os.close(theirs)
    with open(ours, "rb", buffering=0) as stream:
        said, late = _until(stream.fileno(), time.monotonic() + _DEADLINE_S)
    if late:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if late:
        return Finding(case, "hang", case.reader, f"it did not end within {_DEADLINE_S:g} s")
    if os.WIFSIGNALED(status):
        return Finding(case, "died", case.reader, f"ended by signal {os.WTERMSIG(status)}")
    if not said:
        return None
    place, _, text = said.decode("utf-8", "replace").partition("\n")
    return Finding(case, "traceback", place, text)


def _child(reader: str, folder: Path, pipe: int) -> None:
    """Reads, says the result, and ends without giving anything back to what the parent had begun."""
    said = ""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        os.environ["QUADRA_RUNS_DIR"] = str(folder.parent)
        os.environ["QUADRA_DEVICES_DIR"] = str(folder.parent / "devices")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            READERS[reader].read(folder)
    except BaseException as error:  # also KeyboardInterrupt and SystemExit, which no reader may raise
        said = _told(error)
    with contextlib.suppress(OSError):
        os.write(pipe, said.encode("utf-8", "replace")[:60000])
    os._exit(0)


def _told(error: BaseException) -> str:
    """The place and the traceback; empty where it is a sentence."""
    from host_tools.base.errors import QuadraError

    if isinstance(error, QuadraError):
        return "" if all(isinstance(part, str) for part in error.args) else "errors.py no sentence\n" + repr(error)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "host_tools" in frame.filename]
    last = frames[-1]
    place = f"{Path(last.filename).name}:{last.name} {type(error).__name__}"
    return place + "\n" + "".join(traceback.format_exception(error))


def _until(pipe: int, end: float) -> tuple[bytes, bool]:
    """Everything from the pipe, and whether it was still open at the end."""
    said = b""
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return said, True
        part = os.read(pipe, 1 << 16)
        if not part:
            return said, False
        said += part


# --- who reads run folders


@dataclass(frozen=True)
class Reader:
    """A way into a folder. load() returns the function; imports stay inside, so that this module is quick to load."""

    load: Callable[[], Callable[[Path], Any]]

    def read(self, folder: Path) -> None:
        self.load()(folder)


def _task(name: str, *words: Any) -> Callable[[], Callable[[Path], Any]]:
    """A task of tasks.py with the folder's path for its run."""

    def load() -> Callable[[Path], Any]:
        import tasks
        from host_tools.judge import compare, judged  # noqa: F401
        from host_tools.record import plan_view, profile  # noqa: F401
        from host_tools.run import model_runs  # noqa: F401
        from host_tools.show import perfetto_trace, run_account, run_document, run_pages  # noqa: F401

        return lambda folder: getattr(tasks, name).body(None, str(folder), *words)

    return load


def _find() -> Callable[[Path], Any]:
    from host_tools.record import run_folder

    return lambda folder: run_folder.find(folder.name[:4], folder.parent).is_complete()


def _listed() -> Callable[[Path], Any]:
    from host_tools.record import run_list

    return run_list.read


def _judged(path: Path) -> Any:
    from host_tools.judge import judged
    from host_tools.record import run_folder

    return judged.judge(run_folder.RunFolder(path))


def _account() -> Callable[[Path], Any]:
    from host_tools.base import terminal
    from host_tools.show import run_account

    return lambda folder: run_account.account(_judged(folder), terminal.console())


def _short_account() -> Callable[[Path], Any]:
    from host_tools.show import run_account

    return lambda folder: run_account.short_account(_judged(folder))


def _check() -> Callable[[Path], Any]:
    return lambda folder: _judged(folder).check()


def _launch() -> Callable[[Path], Any]:
    from host_tools.judge.regression import launch

    return lambda folder: launch.of_run(0, 0.0, _judged(folder))


def _table() -> Callable[[Path], Any]:
    from host_tools.base import terminal
    from host_tools.show import run_account

    return lambda folder: run_account.table([_judged(folder)]).show(terminal.console())


def _bench_row() -> Callable[[Path], Any]:
    from host_tools.judge import bench_figures

    return lambda folder: bench_figures.take(bench_figures.Row("a_model", "opencl"), 1, _judged(folder))


def _received() -> Callable[[Path], Any]:
    from host_tools.phone.files import check_pulled
    from host_tools.show import report

    def read(folder: Path) -> None:
        check_pulled.environment(folder)
        check_pulled.damaged(folder)
        report.write(_judged(folder))

    return read


def _checked() -> Callable[[Path], Any]:
    from host_tools.phone.files import check_pulled

    return lambda folder: check_pulled.check(folder, _SERIAL)


def _plan() -> Callable[[Path], Any]:
    import tasks
    from host_tools.places import on_host  # noqa: F401  # which the task imports
    from host_tools.show import memory_map, plan_diff_table, plan_table  # noqa: F401

    return lambda folder: tasks.plan.body(None, ["show", str(folder)])


READERS: dict[str, Reader] = {
    "compare": Reader(_task("compare")),
    "report": Reader(_task("report")),
    "profile": Reader(_task("profile")),
    "plan": Reader(_plan),
    "find": Reader(_find),
    "list": Reader(_listed),
    "account": Reader(_account),
    "short_account": Reader(_short_account),
    "check": Reader(_check),
    "regress": Reader(_launch),
    "table": Reader(_table),
    "bench": Reader(_bench_row),
    "received": Reader(_received),
    "checked": Reader(_checked),
}
