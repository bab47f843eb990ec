"""Runs a model on a device with the test app, and leaves the run folder that every place leaves. See docs/devices.md.

Whatever happens, also Ctrl-C: the app is stopped, its folder of this run removed, settings are put back as they were,
the device is free again, and what the run had left until then is kept.
"""

import contextlib
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, Optional, Sequence, Tuple

from host_tools import peers, run_folder, settings, spec as specs
from host_tools.device import app, choose, facts, instrument, interrupt, lock, log, readiness, received
from host_tools.device.remote_folder import RemoteFolder
from host_tools.device.retry import Event
from host_tools.device.runner import Finished, Runner
from host_tools.errors import DeviceError, DeviceLost, DeviceNotFound, DeviceTooHot, Misuse, QuadraError, RunFailed
from host_tools.place import companion, host, turns
from host_tools.place.child import Child, Show, add_timings, merge_cold
from host_tools.run_folder import RunFolder

ROUTE = "app"  # the other one is the native runner in the shell: their figures are never pooled
# In a driver's cache, and no kernel of a model: what is unfinished, lists, the kernel that tries a device out.
_OTHERS = re.compile(r"/(tempfile_\w+|index|last_accessed|run_kernel\.so)$")
_ATTEMPTS = 2  # at a measurement without throttling


def library(device: Any) -> Path:
    """The delegate for this device; built if that is needed."""
    return app.library(device)


def made_for(device: Any, library: Path, spec: specs.RunSpec, apk: Optional[Path] = None) -> Dict[str, Any]:
    """What run() wants besides the delegate, made before a device is kept waiting."""
    return {"apk": apk or app.apk_for(device, library, peers.needs_shipped(spec.peers))}


def run(
    spec: specs.RunSpec,
    library: Path,
    show: Show = lambda text: None,
    runs_dir: Optional[Path] = None,
    device: Any = None,
    apk: Optional[Path] = None,
) -> RunFolder:
    """Runs `spec` on the device of its serial with the delegate `library`; returns the finished run folder.

    apk: this one instead of one made for the device. A DeviceError says what went wrong with the device; the folder is
    kept then, too.
    """
    no_target(spec)
    device = device or choose(spec.device)[0]
    made = made_for(device, library, spec, apk)["apk"]
    with interrupt.once(), lock.lease(device.serial, f"run {spec.model.name}"):
        child = OnDevice(run_folder.start(spec, runs_dir or settings.read().runs_dir), spec, show, device)
        return child.finish(lambda: child.work(made, library), lambda: None)


def no_target(spec: specs.RunSpec) -> None:
    """Misuse where the spec wants a plan for another device."""
    if spec.options.get("target"):
        do_next = "plan for another device on this machine: leave --on away"
        raise Misuse("run with --target on a device", "a device makes the plan for itself", do_next)


class OnDevice(Child):
    """One run on a device, by the app. device_shell.py has the other route."""

    route = ROUTE
    folder_kind = RemoteFolder

    def __init__(self, folder: Path, spec: specs.RunSpec, show: Show, device: Any) -> None:
        super().__init__(folder, spec, show)
        self.device, self.remote = device, self.folder_kind(device, spec.run_id)
        self.runner: Any = None
        self.watch: Optional[readiness.Watch] = None
        self.model = ""
        self.waited_s = 0.0
        self.events = device.events  # of this run: what came before is none of its business
        self.first_event = len(device.events)
        self.seen: Dict[str, Any] = {}

    def work(self, made: Path, library: Path) -> None:
        self._begin("make inputs")
        companion.prepare(self.spec, self.folder)
        try:
            self._install(made)
            with readiness.ready(self.device, self.show):
                starts, more = self._measure()
                self._begin("pull what it left")
                self.remote.pull(self.folder, self.show)
            received.check(self.folder, self.device.serial)
        except BaseException as error:
            stopped = self.device.stopped  # by Ctrl-C, in another thread
            with interrupt.held():
                self._rescue(error if not stopped else KeyboardInterrupt())
            if stopped:
                raise KeyboardInterrupt from error
            if isinstance(error, DeviceNotFound):  # it was there when the run began
                raise DeviceLost(*error.args, serial=error.serial, step=error.step) from error
            raise
        finally:
            with interrupt.held():
                self._tidy()
                self._facts(library)
        self._complete(starts, more, library)

    def _install(self, made: Path) -> None:
        self._begin("look at the device")
        if readiness.put_right(self.device):  # an earlier run was not given the time to
            app.stop(self.device)
        self.seen = facts.of(self.device)
        self._begin("install the app")
        app.install(self.device, made, self.show)
        self.seen["apk_sha256"] = specs.sha256_of(made)
        self.runner = Runner(self.device, self.spec.deadline_s)
        self._begin("push the model")
        self.model = self.remote.fill(self.folder, Path(self.spec.model.path), self.show)

    def _measure(self) -> Tuple[Dict[str, Dict[str, int]], Dict[str, Any]]:
        """Cold starts, and what goes into timings.json besides what the runner wrote."""
        self._begin("wait until the device is cool")
        self.waited_s += readiness.wait_until_cool(self.device, self.show)
        starts = turns.cold_starts(self, self._start) if self.spec.cold else {}
        for _ in range(_ATTEMPTS):
            before = set(self.remote.cache_files())
            with readiness.Watch(self.device) as self.watch:
                lost = turns.run_with_peers(self, self._start)
            compiled = len([name for name in self.remote.cache_files() if name not in before and not _OTHERS.search(name)])
            hot = self.watch.throttled()
            if not hot:
                return starts, {"driver_compiled": compiled, **lost}
            self._event("measure", "throttled", f"its thermal status was '{hot.status}' while it was measured")
            self._begin("wait until the device is cool")
            self.waited_s += readiness.wait_until_cool(self.device, self.show)
        raise DeviceTooHot(
            f"measure {self.spec.model.name} on {self.device.serial}",
            f"it throttled in each of {_ATTEMPTS} tries: its thermal status was '{hot.status}'",
            "let it rest, away from sun and charger; the times in the folder are those of a hot device",
            serial=self.device.serial,
            step="measure",
        )

    def _start(self, mode: str, names: Optional[Sequence[str]]) -> None:
        """The runner once, to its end; raises what it said, or what became of the app."""
        title = f"{mode} {','.join(names or ())}".strip()
        self._begin(f"start the app: {title}")
        arguments = {"folder": self.remote.path, "mode": mode, "model": self.model}
        if names is not None:
            arguments["peers"] = ",".join(names)
        if mode == "cold":
            self.remote.empty_cache()
        finished = self.runner.start(arguments, self._begin)
        self._log(title, finished)
        if finished.error:
            self.state = "crashed" if finished.crashed else self.state
            raise finished.error
        if finished.outcome.kind == instrument.FAILED:
            raise self._said(finished.outcome)
        if mode == "cold" and not self.remote.bring("cold.json", self.folder):
            received.missing("cold.json", self.device.serial)

    def _said(self, outcome: instrument.Outcome) -> QuadraError:
        """What the runner itself says of its failure."""
        known = self._known_error() if self.remote.bring("error.json", self.folder) else None
        do_next = "see log.txt and logcat.txt of the run folder"
        return known or RunFailed(f"run {self.spec.model.name} on {self.device.serial}", outcome.sentence, do_next)

    def _log(self, title: str, finished: Finished) -> None:
        with open(self.folder / "log.txt", "a", encoding="utf-8", errors="replace") as file:
            file.writelines(f"{line}\n" for line in (f"== {title}", *finished.said))
        log.keep(finished.lines, self.folder)

    def _rescue(self, error: BaseException) -> None:
        """Keeps what the run left so far, where the device still answers; a Ctrl-C may have come in between."""
        if self.runner is None:
            return
        if self.device.stopped:
            self.device = self.runner.device = self.remote.device = self.device.twin()
        with contextlib.suppress(QuadraError):
            if self.runner.alive():
                self._stop()
                self.remote.pull(self.folder, self.show)
        for name in received.damaged(self.folder):
            self._event("pull", "damaged", f"{name} of the run that was broken off cannot be read: left out")
        if not isinstance(error, QuadraError):
            self._event(self.stage, "interrupted", "Ctrl-C")

    def _tidy(self) -> None:
        if self.runner is None:
            return
        with contextlib.suppress(DeviceError):
            self._stop()
            self.remote.remove()

    def _stop(self) -> None:
        app.stop(self.device)

    def _facts(self, library: Path) -> None:
        """environment.json, also of a run that failed."""
        inside = received.environment(self.folder)
        thermal = {**(self.watch.to_json() if self.watch else {}), "waited_s": self.waited_s}
        value = facts.merged(inside, library, self.seen or {"serial": self.device.serial}, thermal)
        events = [asdict(event) for event in self.events[self.first_event :]]
        run_folder.write_json(self.folder / "environment.json", {**value, "route": self.route, "device_events": events})

    def _complete(self, starts: Dict[str, Dict[str, int]], more: Dict[str, Any], library: Path) -> None:
        """What this machine adds: the CPU's reference, the device as a target, starts."""
        add_timings(self.folder, more)
        if starts:
            merge_cold(self.folder, starts)
        facts.write_target(self.folder, received.read(self.folder / "verdicts.json"))
        self._begin("make the CPU's reference")
        argv, env = host.python_command("host_tools.place.companion", self.folder)
        self.start("reference", argv, env)

    def _begin(self, stage: str) -> None:
        self.stage = stage
        self.show(stage)
        if self.watch:
            self.watch.at(stage)

    def _event(self, step: str, error: str, text: str) -> None:
        self.events.append(Event(step, error, text))
