"""Runs a model on a device with the test app, and leaves the run folder that every place leaves. See docs/devices.md.

Whatever happens, also Ctrl-C: the app is stopped, its folder of this run removed, settings are put back as they were,
the device is free again, and what the run had left until then is kept.
"""

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from msgspec import structs

from host_tools.base import digests, interrupt, settings
from host_tools.base.errors import DeviceError, DeviceLost, DeviceNotFound, DeviceTooHot, Misuse, QuadraError, RunFailed
from host_tools.build import artifacts
from host_tools.phone.adb import lock
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.adb.retry import Event
from host_tools.phone.app import am_instrument, app_log, install_app, start_app
from host_tools.phone.app.remote_folder import KEPT, RemoteFolder
from host_tools.phone.app.start_app import AppStarter, Finished
from host_tools.phone.files import check_pulled
from host_tools.phone.state import device_facts, readiness
from host_tools.places import on_host, prepare, with_peers
from host_tools.places.attempt import Attempt, add_timings, merge_cold
from host_tools.places.place import Show, aimed, quiet
from host_tools.record import peer_names, run_folder, schema, sustained
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec

ROUTE = "app"  # the other one is the native runner in the shell: their figures are never pooled
# In a driver's cache, and no kernel of a model: what is unfinished, lists, the kernel that tries a device out.
_OTHERS = re.compile(r"/(tempfile_\w+|index|last_accessed|run_kernel\.so)$")
_ATTEMPTS = 2  # at a measurement without throttling


@dataclass
class DevicePlace:
    """A device: what a run by its app and one from its shell have in common.

    library: this one instead of one built for the device. name: a virtual device's, whatever its port. A DeviceError of run()
    says what went wrong with the device.
    """

    device: Device
    library: Path | None = None
    name: str = ""
    kind: ClassVar[str] = "device"

    def __post_init__(self) -> None:
        self.name = self.name or self.device.serial

    def aim(self, spec: RunSpec) -> RunSpec:
        return aimed(spec, self.kind, self.device.serial)

    def stop(self) -> bool:
        self.device.stop()
        return True

    def check(self) -> None:
        """Raises why the device cannot be used, where that is known."""
        if self.device.unusable:
            raise self.device.unusable

    def delegate(self) -> Path:
        """The delegate for this device; built when it is asked for."""
        self.library = self.library or artifacts.android(install_app.abi_of(self.device))
        return self.library


@dataclass
class Phone(DevicePlace):
    """A device, by the test app. apk: this one instead of one made for the device."""

    apk: Path | None = None
    _made: dict[bool, Path] = field(default_factory=dict)  # APKs, by whether TFLite's own delegate is in them

    def aim(self, spec: RunSpec) -> RunSpec:
        """Whatever folder keeps compiled models elsewhere, the app has its own."""
        spec = super().aim(spec)
        if not spec.options.get("serialization_dir"):
            return spec
        return structs.replace(spec, options={**spec.options, "serialization_dir": KEPT})

    def prepare(self, peers: Sequence[str] = ()) -> None:
        self.check()
        self.app(peers)

    def run(self, spec: RunSpec, show: Show = quiet, runs_dir: Path | None = None) -> RunFolder:
        no_target(spec)
        library, apk = self.delegate(), self.app(spec.peers)
        with interrupt.once(), lock.lease(self.device.serial, f"run {spec.model.name}"):
            folder = run_folder.partial(spec, runs_dir or settings.read().runs_dir)
            attempt = PhoneAttempt(folder, spec, show, self.device)
            return attempt.finish(lambda: attempt.work(apk, library), lambda: None)

    def app(self, peers: Sequence[str] = ()) -> Path:
        """The APK of the test app for this device; made when it is asked for."""
        library, shipped = self.delegate(), peer_names.needs_shipped(peers)
        if not self.apk and shipped not in self._made:
            self._made[shipped] = artifacts.apk(install_app.abi_of(self.device), library, shipped)
        return self.apk or self._made[shipped]


def no_target(spec: RunSpec) -> None:
    """Misuse where the spec wants a plan for another device."""
    if spec.options.get("target"):
        do_next = "plan for another device on this machine: omit --on"
        raise Misuse("run with --target on a device", "a device makes the plan for itself", do_next)


class Starter(Protocol):
    """Who starts the model's run over there: AppStarter or ShellStarter."""

    device: Device

    def alive(self) -> bool: ...


class PhoneAttempt(Attempt):
    """One run on a device: here by the app, in a subclass of on_phone_shell.py by the native runner in the shell."""

    route = ROUTE
    folder_kind = RemoteFolder
    more: ClassVar[Mapping[str, str]] = {}  # arguments of the runner
    app_starter: AppStarter

    def __init__(self, folder: Path, spec: RunSpec, show: Show, device: Device) -> None:
        super().__init__(folder, spec, show)
        self.device, self.remote = device, self.folder_kind(device, spec.run_id)
        self.starter: Starter | None = None
        self.watch: readiness.Watch | None = None
        self.model = ""
        self.waited_s = 0.0
        self.events = device.events  # of this run: what came before is none of its business
        self.first_event = len(device.events)
        self.seen: dict[str, Any] = {}

    def work(self, made: Path, library: Path) -> None:
        self._begin("make inputs")
        prepare.prepare(self.spec, self.folder)
        try:
            self._install(made)
            with readiness.ready(self.device, self.show):
                starts, more = self._measure()
                self._begin("pull what it left")
                self._bring()
            self._check()
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
            start_app.stop(self.device)
        self.seen = device_facts.of(self.device)
        self._begin("install the app")
        install_app.install(self.device, made, self.show)
        self.seen["apk_sha256"] = digests.sha256_of(made)
        self.starter = self.app_starter = AppStarter(self.device, self.spec.process_deadline_s)
        self._begin("push the model")
        self.model = self.remote.fill(self.folder, Path(self.spec.model.path), self.show)

    def _measure(self) -> tuple[dict[str, schema.Cold], dict[str, Any]]:
        """Cold starts, and what goes into timings.json besides what the runner wrote."""
        self._begin("wait until the device is cool")
        self.waited_s += readiness.wait_until_cool(self.device, self.show)
        starts = with_peers.cold_starts(self, self._start) if self.spec.cold else {}
        for _ in range(_ATTEMPTS):
            before = set(self.remote.cache_files())
            with self._watched() as self.watch:
                lost = with_peers.run_with_peers(self, self._start)
            compiled = len(
                [name for name in self.remote.cache_files() if name not in before and not _OTHERS.search(name)]
            )
            hot = self.watch.throttled()
            if not hot:
                return starts, {"driver_compiled": compiled, **lost}
            status = hot.status
            self._event("measure", "throttled", f"its thermal status was '{status}' while it was measured")
            self._begin("wait until the device is cool")
            self.waited_s += readiness.wait_until_cool(self.device, self.show)
        raise DeviceTooHot(
            f"measure {self.spec.model.name} on {self.device.serial}",
            f"it throttled in each of {_ATTEMPTS} tries: its thermal status was '{status}'",
            "let it cool down, away from sun and charger; the times in the folder are those of a hot device",
            serial=self.device.serial,
            step="measure",
        )

    def _watched(self) -> readiness.Watch:
        """A long run has fewer readings, as many as its chart can show, and the clocks beside them."""
        seconds = self.spec.sustained_s
        return (
            readiness.Watch(self.device, max(readiness.EVERY_S, sustained.window_s(seconds)), clocks=True)
            if seconds
            else readiness.Watch(self.device)
        )

    def _start(self, mode: str, names: Sequence[str] | None) -> None:
        """The runner once, to its end; raises what it said, or what became of the app."""
        title = f"{mode} {','.join(names or ())}".strip()
        self._begin(f"start the app: {title}")
        arguments = {"folder": self.remote.path, "mode": mode, "model": self.model, **self.more}
        if names is not None:
            arguments["peers"] = ",".join(names)
        if mode == "cold":
            self.remote.empty_cache()
        finished = self.app_starter.start(arguments, self._begin)
        self._log(title, finished)
        if finished.error:
            self.state = "crashed" if finished.crashed else self.state
            raise finished.error
        if finished.outcome.kind == am_instrument.FAILED:
            raise self._said(finished.outcome)
        if mode == "cold" and not self.remote.bring("cold.json", self.folder):
            check_pulled.missing("cold.json", self.device.serial)

    def _said(self, outcome: am_instrument.Outcome) -> QuadraError:
        """What the runner itself says of its failure."""
        known = self._known_error() if self.remote.bring("error.json", self.folder) else None
        do_next = "see log.txt and logcat.txt of the run folder"
        return known or RunFailed(f"run {self.spec.model.name} on {self.device.serial}", outcome.sentence, do_next)

    def _log(self, title: str, finished: Finished) -> None:
        with open(self.folder / "log.txt", "a", encoding="utf-8", errors="replace") as file:
            file.writelines(f"{line}\n" for line in (f"== {title}", *finished.said))
        app_log.keep(finished.lines, self.folder)

    def _rescue(self, error: BaseException) -> None:
        """Keeps what the run left so far, where the device still answers; a Ctrl-C may have come in between."""
        if self.starter is None:
            return
        if self.device.stopped:
            self.device = self.starter.device = self.remote.device = self.device.twin()
        with contextlib.suppress(QuadraError):
            if self.starter.alive():
                self._stop()
                self._bring()
        for name in check_pulled.damaged(self.folder):
            self._event("pull", "damaged", f"{name} of the interrupted run cannot be read: left out")
        if not isinstance(error, QuadraError):
            self._event(self.stage, "interrupted", "Ctrl-C")

    def _bring(self) -> None:
        self.remote.pull(self.folder, self.show)

    def _check(self) -> None:
        """Raises where what came is not what a run leaves."""
        check_pulled.check(self.folder, self.device.serial)

    def _tidy(self) -> None:
        if self.starter is None:
            return
        with contextlib.suppress(DeviceError):
            self._stop()
            self.remote.remove()

    def _stop(self) -> None:
        start_app.stop(self.device)

    def _facts(self, library: Path) -> None:
        """environment.json, also of a run that failed."""
        inside = check_pulled.environment(self.folder)
        thermal = {**(self.watch.to_json() if self.watch else {}), "waited_s": self.waited_s}
        value = device_facts.merged(inside, library, self.seen or {"serial": self.device.serial}, thermal)
        events = [asdict(event) for event in self.events[self.first_event :]]
        run_folder.write_json(self.folder / "environment.json", {**value, "route": self.route, "device_events": events})

    def _complete(self, starts: dict[str, schema.Cold], more: dict[str, Any], library: Path) -> None:
        """What this machine adds: the CPU's reference, the device as a target, starts."""
        add_timings(self.folder, more)
        if starts:
            merge_cold(self.folder, starts)
        device_facts.write_target(self.folder, run_folder.RunFolder(self.folder).read(schema.Verdicts))
        self._begin("make the CPU's reference")
        argv, env = on_host.python_command("host_tools.places.cpu_reference", self.folder)
        self.start("reference", argv, env)

    def _begin(self, stage: str) -> None:
        self.stage = stage
        self.show(stage)
        if self.watch:
            self.watch.at(stage)

    def _event(self, step: str, error: str, text: str) -> None:
        self.events.append(Event(step, error, text))
