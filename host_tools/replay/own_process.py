"""The processes of a replay: one that asks the CPU, one for each plan. Their ends become sentences."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import child_process, cpu_drivers, settings
from host_tools.base.errors import CommandTimedOut, Misuse, RunFailed
from host_tools.places import on_host
from host_tools.places.place import Show
from host_tools.record import reading, schema

_KINDS = {"Misuse": Misuse}
_DRIVERS = {"PYOPENCL_NO_CACHE": "1", "PYOPENCL_COMPILER_OUTPUT": "0"}


@dataclass(frozen=True)
class OwnProcess:
    """Runs modules of ours on `folder`, where they leave error.json if they can say why they failed."""

    folder: Path
    what: str  # is replayed, for the sentences
    show: Show
    deadline_s: float
    steps: bool = False  # prints what the process prints; a person at a terminal may answer it

    def run(self, module: str, env: Mapping[str, str], *words: object) -> None:
        """One to its end; raises what it said, or where it ended."""
        (self.folder / schema.ErrorFile.FILE).unlink(missing_ok=True)  # of an earlier process
        argv, path = on_host.python_command(module, self.folder, *words)
        cache = settings.make_folder(settings.read().driver_cache_dir, "QUADRA_DRIVER_CACHE_DIR")
        env = {**path, **cpu_drivers.settings(1), **cpu_drivers.caches(cache), **_DRIVERS, **env}
        if self.steps and sys.stdin.isatty():
            self._raise_unless_done(child_process.hand_over(argv, env=env), "its steps", "")
            return
        stage = "start"

        def on_line(line: str) -> None:
            nonlocal stage
            if line.startswith("stage: "):
                stage = line[7:]
                self.show(stage)
            elif self.steps:
                print(line, flush=True)

        try:
            done = child_process.run(
                argv,
                timeout_s=self.deadline_s,
                env=env,
                check=False,
                on_line=on_line,
                on_error_line=lambda line: None,
            )
        except CommandTimedOut as error:
            found = f"it did not end within {self.deadline_s:g} s; it was at: {stage}"
            raise CommandTimedOut(f"replay {self.what}", found, "give it more time with --timeout") from error
        self._raise_unless_done(done.returncode, stage, done.stderr)

    def _raise_unless_done(self, status: int, stage: str, said: str) -> None:
        if status == 0:
            return
        if (self.folder / schema.ErrorFile.FILE).exists():
            value = reading.kept(self.folder, schema.ErrorFile)
            raise _KINDS.get(value.kind, RunFailed)(*value.parts)
        ended = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        last = "".join(f"\n  | {line}" for line in said.strip().splitlines()[-12:])
        do_next = "if the plan is whole, its kernel or the driver is at fault: --oclgrind tells which access is wrong"
        raise RunFailed(f"replay {self.what}", f"the process {ended} at: {stage}{last}", do_next)
