"""Runs a model on this machine, in processes of its own, and leaves a run folder.

A model runs native code of a driver, an interpreter and a delegate. When one of them crashes or hangs, the
parent lives on, keeps what there was, and says what was being done.
"""

import contextlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Optional

from host_tools import environment, inputs, run_folder, settings, shell, spec as specs
from host_tools.errors import CommandTimedOut, Misuse, QuadraError, RunFailed
from host_tools.place import drivers
from host_tools.run_folder import RunFolder

Show = Callable[[str], None]


def run(
    spec: specs.RunSpec, library: Path, show: Show = lambda text: None, runs_dir: Optional[Path] = None
) -> RunFolder:
    """Runs `spec` with the delegate `library`; returns the finished run folder, in runs_dir (default: the setting's).

    RunFailed (or the error that the worker met) when it did not come to its end: the folder is kept, marked.
    """
    config = settings.read()
    folder = run_folder.start(spec, runs_dir or config.runs_dir)
    child = _Child(folder, library, spec, show)
    try:
        if spec.inputs.kind == "picture":
            inputs.for_report(Path(spec.inputs.picture)).save(folder / "picture.png")
        cache = folder / "driver_cache" if spec.cold else config.driver_cache_dir
        settings.make_folder(cache, "QUADRA_DRIVER_CACHE_DIR")
        if spec.cold:
            child.work("cold", cache)
        child.work("run", cache)
        show("gather facts of this machine")
        run_folder.write_json(folder / "environment.json", environment.facts(library, spec.threads))
        if spec.cold:
            _merge_cold(folder)
            shutil.rmtree(cache, ignore_errors=True)
    except QuadraError as error:
        state, at = "timed_out" if isinstance(error, CommandTimedOut) else child.state, child.stage
        if isinstance(error, RunFailed):
            child.dump(cache)
        kept = run_folder.finish(folder, state, at, {"exit_code": error.exit_code, "parts": list(error.args)})
        raise type(error)(error.tried, error.came_back, _also(error.do_next, kept.path)) from error
    except BaseException:
        run_folder.finish(folder, "interrupted", child.stage)
        raise
    return run_folder.finish(folder, run_folder.COMPLETE, "done")


def verdicts(spec: specs.RunSpec, library: Path, folder: Path, show: Show = lambda text: None) -> Dict[str, Any]:
    """The delegate's report by the null backend, without a run folder. `folder` is scratch space."""
    run_folder.write_json(folder / "spec.json", spec.to_json())
    _Child(folder, library, spec, show).work("verdicts", folder)
    return json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))


class _Child:
    """Starts workers for one run folder; knows the stage that was reached."""

    def __init__(self, folder: Path, library: Path, spec: specs.RunSpec, show: Show) -> None:
        self.folder, self.library, self.spec, self.show = folder, library, spec, show
        self.stage, self.state = "start", "failed"

    def work(self, mode: str, cache: Path) -> None:
        argv = [sys.executable, "-P", "-m", "host_tools.place.host_worker", self.folder, self.library, mode, cache]
        environment = {
            "PYTHONPATH": str(settings.ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            **drivers.settings(self.spec.threads),
            **drivers.caches(cache),
        }
        with open(self.folder / "log.txt", "a", encoding="utf-8", errors="replace") as log:
            log.write(f"== {mode}\n")

            def on_line(line: str) -> None:
                log.write(line + "\n")
                log.flush()
                if line.startswith("stage: "):
                    self.stage = line[7:]
                    self.show(self.stage)

            try:
                done = shell.run(argv, timeout_s=self.spec.deadline_s, env=environment, check=False, on_line=on_line)
            except CommandTimedOut as error:
                raise CommandTimedOut(
                    f"run {self.spec.model.name}",
                    f"it did not end within {self.spec.deadline_s:g} s; it was at the stage '{self.stage}'",
                    "give it more time with --timeout",
                ) from error
        if done.returncode != 0:
            raise self._failed(done)

    def dump(self, cache: Path) -> None:
        """What was made of the model is worth a look above all when it failed: written down, if that works."""
        if not any(self.folder.glob("partition_*")):
            with contextlib.suppress(QuadraError):
                self.work("dump", cache)

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


def _merge_cold(folder: Path) -> None:
    """Moves cold.json, which a process of its own left, into timings.json."""
    timings = json.loads((folder / "timings.json").read_text(encoding="utf-8"))
    cold = json.loads((folder / "cold.json").read_text(encoding="utf-8"))
    timings["cold_memory"] = {k: cold.pop(k) for k in ("peak_rss_bytes", "baseline_rss_bytes")}
    timings["init_us"]["quadra_cold"] = cold
    run_folder.write_json(folder / "timings.json", timings)
    (folder / "cold.json").unlink()


def _ending(returncode: int) -> str:
    return f"was ended by signal {-returncode}" if returncode < 0 else f"ended with status {returncode}"


def _last_lines(text: str) -> str:
    return "".join(f"\n  | {line}" for line in text.strip().splitlines()[-12:])


def _also(do_next: str, path: Path) -> str:
    return f"{do_next}\n  kept: {path}" if do_next else f"kept: {path}"
