"""The processes that work on one run folder, and how a run ends.

A model runs native code of a driver, an interpreter and a delegate. When one of them crashes or hangs, the
parent lives on, keeps what there was, and says what was being done.
"""

import json
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from host_tools import run_folder, shell, spec as specs
from host_tools.errors import CommandTimedOut, DeviceTimedOut, Misuse, QuadraError, RunFailed
from host_tools.run_folder import RunFolder

Show = Callable[[str], None]


class Child:
    """Starts processes for one run folder, one after another; knows the stage that was reached.

    A process says `stage: …` on its standard output, and leaves error.json where it can say why it failed.
    """

    def __init__(self, folder: Path, spec: specs.RunSpec, show: Show) -> None:
        self.folder, self.spec, self.show = folder, spec, show
        self.stage, self.state = "start", "failed"

    def start(self, title: str, argv: Sequence[object], env: Mapping[str, str]) -> None:
        """Runs one to its end; raises what it said, or how it ended."""
        with open(self.folder / "log.txt", "a", encoding="utf-8", errors="replace") as log:
            log.write(f"== {title}\n")

            def on_line(line: str) -> None:
                log.write(line + "\n")
                log.flush()
                if line.startswith("stage: "):
                    self.stage = line[7:]
                    self.show(self.stage)

            try:
                done = shell.run(argv, timeout_s=self.spec.deadline_s, env=env, check=False, on_line=on_line)
            except CommandTimedOut as error:
                raise CommandTimedOut(
                    f"run {self.spec.model.name}",
                    f"it did not end within {self.spec.deadline_s:g} s; it was at the stage '{self.stage}'",
                    "give it more time with --timeout",
                ) from error
        if done.returncode != 0:
            raise self._failed(done)

    def finish(self, work: Callable[[], None], after_failure: Callable[[], None]) -> RunFolder:
        """Does `work` and gives the folder its name, good or bad; errors say where it is kept.

        after_failure is called where a model did not run to its end, before the folder gets its name.
        """
        try:
            work()
        except QuadraError as error:
            late = isinstance(error, (CommandTimedOut, DeviceTimedOut))
            state, at = "timed_out" if late else self.state, self.stage
            if isinstance(error, RunFailed):
                after_failure()
            said = {"exit_code": error.exit_code, "parts": list(error.args)}
            kept = run_folder.finish(self.folder, state, at, said)
            error.args = (error.tried, error.came_back, _also(error.do_next, kept.path))
            error.do_next = error.args[2]
            raise
        except BaseException:
            run_folder.finish(self.folder, "interrupted", self.stage)
            raise
        return run_folder.finish(self.folder, run_folder.COMPLETE, "done")

    def _failed(self, done: shell.Completed) -> QuadraError:
        known = self._known_error()
        if known:
            return known
        self.state = "crashed"
        return RunFailed(
            f"run {self.spec.model.name}",
            f"the process {_ending(done.returncode)} at the stage '{self.stage}'{_last_lines(done.stderr)}",
            "this is a bug of the delegate, the driver or the interpreter: report it with the run folder",
        )

    def _known_error(self) -> Optional[QuadraError]:
        file = self.folder / "error.json"
        if not file.exists():
            return None
        value = json.loads(file.read_text(encoding="utf-8"))
        file.unlink()
        kind = Misuse if value["kind"] == "Misuse" else RunFailed
        return kind(*value["parts"])


def add_timings(folder: Path, more: Mapping[str, Any]) -> None:
    """Adds keys to timings.json."""
    timings = json.loads((folder / "timings.json").read_text(encoding="utf-8"))
    run_folder.write_json(folder / "timings.json", {**timings, **more})


def take_cold(folder: Path) -> Dict[str, int]:
    """What a process that only started somebody left in cold.json, which goes."""
    laps = json.loads((folder / "cold.json").read_text(encoding="utf-8"))
    (folder / "cold.json").unlink()
    return laps


def merge_cold(folder: Path, starts: Mapping[str, Dict[str, int]]) -> None:
    """Puts cold starts, by the key of who started, into timings.json; `quadra` is one of them."""
    timings = json.loads((folder / "timings.json").read_text(encoding="utf-8"))
    for who, laps in starts.items():
        memory = {k: laps[k] for k in ("peak_rss_bytes", "baseline_rss_bytes")}
        timings["cold_memory" if who == "quadra" else f"{who}_cold_memory"] = memory
        timings["init_us"][f"{who}_cold"] = {k: v for k, v in laps.items() if k not in memory}
    run_folder.write_json(folder / "timings.json", timings)


def _ending(returncode: int) -> str:
    return f"was ended by signal {-returncode}" if returncode < 0 else f"ended with status {returncode}"


def _last_lines(text: str) -> str:
    return "".join(f"\n  | {line}" for line in text.strip().splitlines()[-12:])


def _also(do_next: str, path: Path) -> str:
    return f"{do_next}\n  kept: {path}" if do_next else f"kept: {path}"
