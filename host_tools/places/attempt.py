"""The processes that work on one run folder, and how a run ends.

A model runs native code of a driver, an interpreter and a delegate. When one of them crashes or hangs, the
parent lives on, keeps what there was, and says what was being done.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from host_tools.base import child_process, portable
from host_tools.base.errors import CommandTimedOut, DeviceTimedOut, FolderNotWritable, Misuse, QuadraError, RunFailed
from host_tools.places import one_graph
from host_tools.places.place import Show
from host_tools.record import reading, run_folder, schema, spec as specs
from host_tools.record.run_folder import RunFolder

K = TypeVar("K", bound=schema.Kept)
_KINDS = {
    kind.__name__: kind for kind in (Misuse, FolderNotWritable)
}  # of a process's own errors; the others: RunFailed


class Attempt:
    """One try to run a spec, and the folder that it leaves, which finish() makes. Starts processes, one after another;
    knows the stage reached.

    A process says `stage: …` on its standard output, and leaves error.json where it can say why it failed.
    """

    def __init__(self, folder: Path, spec: specs.RunSpec, show: Show) -> None:
        self.folder, self.spec, self.show = folder, spec, show
        self.stage, self.state = "start", "failed"

    def start(self, title: str, argv: Sequence[object], env: Mapping[str, str]) -> None:
        """Runs one to its end; raises what it said, or how it ended."""
        with open(self.folder / "log.txt", "ab", buffering=0) as log:

            def write(line: str) -> None:
                with contextlib.suppress(OSError):  # on a full disk a process is heard to its end, too
                    log.write(f"{line}\n".encode("utf-8", "replace"))

            def on_line(line: str) -> None:
                write(line)
                if line.startswith("stage: "):
                    self.stage = line[7:]
                    self.show(self.stage)

            write(f"== {title}")
            try:
                held = run_folder.lock_of(self.folder)
                done = child_process.run(
                    argv, timeout_s=self.spec.process_deadline_s, env=env, check=False, on_line=on_line, pass_fds=held
                )
            except CommandTimedOut as error:
                raise CommandTimedOut(
                    f"run {self.spec.model.name}",
                    f"it did not end within {self.spec.process_deadline_s:g} s; it was at the stage '{self.stage}'",
                    "give it more time with --timeout",
                ) from error
        if done.returncode != 0:
            raise self._failed(done)

    def finish(self, work: Callable[[], None], after_failure: Callable[[], None]) -> RunFolder:
        """Makes the folder, does `work` and gives the folder its name, good or bad; a QuadraError gets to know where it is kept.

        after_failure is called where a model did not run to its end, before the folder gets its name.
        """
        try:
            run_folder.start(self.spec, self.folder.parent)
            work()
            one_graph.keep(self.folder)
        except QuadraError as error:
            if not run_folder.began(self.folder):
                raise
            late = isinstance(error, (CommandTimedOut, DeviceTimedOut))
            state, at = "timed_out" if late else self.state, self.stage
            if isinstance(error, RunFailed):
                after_failure()
            error.kept = run_folder.finish(self.folder, state, at, error).path
            raise
        except BaseException:
            if run_folder.began(self.folder):
                run_folder.finish(self.folder, "interrupted", self.stage)
            raise
        try:
            return run_folder.finish(self.folder, run_folder.COMPLETE, "done")
        except KeyboardInterrupt:
            if self.folder.exists():
                run_folder.finish(self.folder, run_folder.COMPLETE, "done")
            raise

    def _failed(self, done: child_process.Completed) -> QuadraError:
        known = self._known_error()
        if known:
            return known
        self.state = "crashed"
        came_back = f"the process {_ending(done.returncode)} at the stage '{self.stage}'{_last_lines(done.stderr)}"
        do_next = "this is a bug of the delegate, the driver or the interpreter: report it with the run folder"
        if done.returncode == -portable.KILL:
            do_next = "nobody but the system ends a process so, mostly because memory ran out: free memory, or give smaller inputs"
        return RunFailed(f"run {self.spec.model.name}", came_back, do_next)

    def _known_error(self) -> QuadraError | None:
        try:
            value = _taken(self.folder, schema.ErrorFile)
        except Misuse:  # damaged: then its exit status speaks
            return None
        return _KINDS.get(value.kind, RunFailed)(*value.parts) if value else None


def add_timings(folder: Path, more: Mapping[str, Any]) -> None:
    """Adds keys to timings.json."""
    run_folder.write_json(folder / "timings.json", {**RunFolder(folder).json("timings.json"), **more})


def take_cold(folder: Path) -> schema.Cold:
    """What a process that only started somebody left in cold.json, which goes."""
    return _taken(folder, schema.Cold) or RunFolder(folder).read(schema.Cold)


def merge_cold(folder: Path, starts: Mapping[str, schema.Cold]) -> None:
    """Puts cold starts, by the key of who started, into timings.json; `quadra` is one of them."""
    timings = RunFolder(folder).json("timings.json")
    for who, cold in starts.items():
        laps: dict[str, Any] = dict(cold.known())
        if cold.starts_ns:
            laps["starts_ns"] = cold.starts_ns
        memory = {name: laps.pop(name) for name in schema.Memory.__struct_fields__ if name in laps}
        timings["cold_memory" if who == "quadra" else f"{who}_cold_memory"] = memory
        timings["init_us"][f"{who}_cold"] = laps
    run_folder.write_json(folder / "timings.json", timings)


def take_second(folder: Path) -> schema.Second:
    """What a process that only started Quadra and XNNPACK left in second.json, which goes."""
    return _taken(folder, schema.Second) or RunFolder(folder).read(schema.Second)


def seconds(starts: Sequence[schema.Second]) -> dict[str, Any]:
    """What timings.json says of several."""
    keys = starts[0].starts if starts else {}
    laps = {key: [start.starts[key] for start in starts if key in start.starts] for key in keys}
    return {
        "second_us": {key: [one.total_us for one in all_of] for key, all_of in laps.items()},
        "second_cpu_us": {key: [one.cpu_us or 0 for one in all_of] for key, all_of in laps.items()},
    }


def _taken(folder: Path, kind: type[K]) -> K | None:
    """A file that is read once, and goes; None where there is none."""
    try:
        return reading.kept(folder, kind)
    except reading.Missing:
        return None
    finally:
        (folder / kind.FILE).unlink(missing_ok=True)


def _ending(returncode: int) -> str:
    return f"was ended by signal {-returncode}" if returncode < 0 else f"ended with status {returncode}"


def _last_lines(text: str) -> str:
    return "".join(f"\n  | {line}" for line in text.strip().splitlines()[-12:])
