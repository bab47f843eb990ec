"""Runs a model from a device's shell, by the native runner, and leaves the run folder that every place leaves.

Beside the app (place/device.py): the same model, inputs and judgement, but another process, without Java, with other
rights and other scheduling. The times of the two differ by up to two on the same phone and are never pooled.
"""

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from host_tools import bazel, maven, run_folder, settings, spec as specs
from host_tools.device import app, choose, facts, interrupt, lock, readiness, transfer
from host_tools.device.remote_folder import ShellFolder
from host_tools.device.shell_runner import Ended, ShellRunner
from host_tools.errors import DeviceError
from host_tools.place.child import Show
from host_tools.place.device import OnDevice, library, no_target
from host_tools.progress import counted
from host_tools.run_folder import RunFolder

__all__ = ["library", "made_for", "run"]
ROUTE = "shell"
_RUNTIME = "libtensorflowlite_jni.so"


def made_for(device: Any, library: Path, spec: specs.RunSpec, apk: Optional[Path] = None) -> Dict[str, Any]:
    """What run() wants besides the delegate: the runner for the device's ABI."""
    abi = app.abi_of(device)
    return {"runner": bazel.runners([abi])[abi]}


def run(
    spec: specs.RunSpec,
    library: Path,
    show: Show = lambda text: None,
    runs_dir: Optional[Path] = None,
    device: Any = None,
    runner: Optional[Path] = None,
) -> RunFolder:
    """As place.device.run, for a RunSpec whose route is "shell". runner: this one instead of one built for the device."""
    no_target(spec)
    device = device or choose(spec.device)[0]
    program = runner or made_for(device, library, spec)["runner"]
    runtime = maven.aar_file("tensorflow-lite", f"jni/{app.abi_of(device)}/{_RUNTIME}")
    with interrupt.once(), lock.lease(device.serial, f"run {spec.model.name} from its shell"):
        child = _InShell(run_folder.start(spec, runs_dir or settings.read().runs_dir), spec, show, device)
        child.runtime, child.library = runtime, library
        return child.finish(lambda: child.work(program, library), lambda: None)


class _InShell(OnDevice):
    """One run from the shell."""

    route = ROUTE
    folder_kind = ShellFolder
    runtime: Path
    library: Path

    def _install(self, made: Path) -> None:
        self._begin("look at the device")
        readiness.put_right(self.device)  # what an earlier run was not given the time to
        self.seen = facts.of(self.device)
        self._begin("push the runner and its libraries")
        told = counted(self.show)
        program = transfer.push(self.device, [made], told, mode=0o755).remote[made]
        there = transfer.push(self.device, [self.runtime, self.library], told).remote
        self.words = ["--runtime", there[self.runtime], "--quadra", there[self.library]]
        self.seen["runner_sha256"] = specs.sha256_of(made)
        self.runner = ShellRunner(self.device, program, self.spec.deadline_s)
        self._begin("push the model")
        self.model = self.remote.fill(self.folder, Path(self.spec.model.path), self.show)

    def _start(self, mode: str, names: Optional[Sequence[str]]) -> None:
        title = f"{mode} {','.join(names or ())}".strip()
        words = ["--folder", self.remote.path, "--mode", mode, "--model", self.model, *self.words]
        if names is not None:
            words += ["--peers", ",".join(names) or "none"]
        ended = self.runner.start(words, self._begin)
        self._write_log(title, ended.lines)
        if ended.error:
            self._raise(ended)

    def _raise(self, ended: Ended) -> None:
        self.state = "crashed" if ended.crashed else self.state
        known = self._known_error() if ended.known and self.remote.bring("error.json", self.folder) else None
        raise known or ended.error

    def _write_log(self, title: str, lines: List[str]) -> None:
        with open(self.folder / "log.txt", "a", encoding="utf-8", errors="replace") as file:
            file.writelines(f"{line}\n" for line in (f"== {title}", *lines))

    def _stop(self) -> None:
        """The runner ends with the connection that started it; a deadline of its own sees to the rest."""
        try:
            self.device.shell(["exec", "pkill", "-f", self.remote.path], timeout_s=10, check=False, step="stop the runner")
        except DeviceError:
            pass
