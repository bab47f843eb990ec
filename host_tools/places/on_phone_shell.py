"""Runs a model from a device's shell, by the native runner, and leaves the run folder that every place leaves.

Beside the app (on_phone.py): the same model, inputs and judgement, but another process, without Java, with other
rights and other scheduling. The times of the two differ by up to two on the same phone and are never pooled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import digests, interrupt, settings
from host_tools.base.errors import DeviceError
from host_tools.base.progress import counted
from host_tools.build import artifacts
from host_tools.phone.adb import lock
from host_tools.phone.app import install_app
from host_tools.phone.app.remote_folder import ShellFolder
from host_tools.phone.app.start_in_shell import ShellStarter
from host_tools.phone.files import transfer
from host_tools.phone.state import device_facts, readiness
from host_tools.places.on_phone import DevicePlace, PhoneAttempt, no_target
from host_tools.places.place import Show, quiet
from host_tools.record import run_folder
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec

ROUTE = "shell"


@dataclass
class PhoneShell(DevicePlace):
    """A device, from its shell, for RunSpecs whose route is "shell". runner: this one instead of one built for the device."""

    runner: Path | None = None

    def prepare(self, peers: Sequence[str] = ()) -> None:
        self.check()
        self.delegate()
        self.program()

    def run(self, spec: RunSpec, show: Show = quiet, runs_dir: Path | None = None) -> RunFolder:
        no_target(spec)
        library, runner = self.delegate(), self.program()
        runtime = artifacts.runtime(install_app.abi_of(self.device))
        with interrupt.once(), lock.lease(self.device.serial, f"run {spec.model.name} from its shell"):
            folder = run_folder.partial(spec, runs_dir or settings.read().runs_dir)
            attempt = ShellAttempt(folder, spec, show, self.device)
            attempt.runtime, attempt.library = runtime, library
            return attempt.finish(lambda: attempt.work(runner, library), lambda: None)

    def program(self) -> Path:
        """The native runner for this device; built when it is asked for."""
        if not self.runner:
            self.runner = artifacts.runner(install_app.abi_of(self.device))
        return self.runner


class ShellAttempt(PhoneAttempt):
    """One run on a device, by the native runner in its shell; the app is neither installed nor started."""

    route = ROUTE
    folder_kind = ShellFolder
    runtime: Path
    library: Path
    shell_starter: ShellStarter

    def _install(self, made: Path) -> None:
        self._begin("look at the device")
        readiness.put_right(self.device)  # what an earlier run was not given the time to
        self.seen = device_facts.of(self.device)
        self._begin("push the runner and its libraries")
        told = counted(self.show)
        program = transfer.push(self.device, [made], told, mode=0o755).remote[made]
        there = transfer.push(self.device, [self.runtime, self.library], told).remote
        self.words = ["--runtime", there[self.runtime], "--quadra", there[self.library]]
        self.seen["runner_sha256"] = digests.sha256_of(made)
        self.starter = self.shell_starter = ShellStarter(self.device, program, self.spec.process_deadline_s)
        self._begin("push the model")
        self.model = self.remote.fill(self.folder, Path(self.spec.model.path), self.show)

    def _start(self, mode: str, names: Sequence[str] | None) -> None:
        title = f"{mode} {','.join(names or ())}".strip()
        words = ["--folder", self.remote.path, "--mode", mode, "--model", self.model, *self.words]
        for argument, value in self.more.items():
            words += [f"--{argument}", value]
        if names is not None:
            words += ["--peers", ",".join(names) or "none"]
        ended = self.shell_starter.start(words, self._begin)
        self._write_log(title, ended.lines)
        if ended.error:
            self.state = "crashed" if ended.crashed else self.state
            known = self._known_error() if ended.known and self.remote.bring("error.json", self.folder) else None
            raise known or ended.error

    def _write_log(self, title: str, lines: list[str]) -> None:
        with open(self.folder / "log.txt", "a", encoding="utf-8", errors="replace") as file:
            file.writelines(f"{line}\n" for line in (f"== {title}", *lines))

    def _stop(self) -> None:
        """The runner ends with the connection that started it; a deadline of its own sees to the rest."""
        try:
            self.device.shell(
                ["exec", "pkill", "-f", self.remote.path], timeout_s=10, check=False, step="stop the runner"
            )
        except DeviceError:
            pass
