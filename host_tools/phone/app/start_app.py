"""Starts the test app on a device, listens to it, and says how it ended."""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from host_tools.base.errors import (
    AppCrashed,
    AppNotResponding,
    DeviceError,
    DeviceLost,
    DeviceNotFound,
    DeviceTimedOut,
    DeviceUnusable,
    ReplyNotUnderstood,
)  # fmt: skip
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.app import am_instrument, app_log, crash
from host_tools.phone.app.install_app import PACKAGE

# What a connection that broke may look like at first: the device may be back by the time that one asks.
BROKEN = (DeviceLost, DeviceNotFound, DeviceUnusable, ReplyNotUnderstood)
_ALIVE_S = 5.0
_STOP_S = 20.0
_OFFLINE_S = 1.0  # adb calls a device so after its connection broke, until the next one is made


@dataclass
class Finished:
    """One start of the app. error: why it did not finish; None: it did, or says itself why not (outcome)."""

    outcome: am_instrument.Outcome
    lines: list[app_log.Line] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  # what the app printed, in order
    error: DeviceError | None = None

    @property
    def crashed(self) -> bool:
        return isinstance(self.error, (AppCrashed, AppNotResponding))


class AppStarter:
    """Starts the app on one device. Made after the app was installed, before it is started."""

    def __init__(self, device: Device, deadline_s: float) -> None:
        self.device, self.deadline_s = device, deadline_s
        self.boot = crash.boot_id(device)
        self.user = app_log.user_of(device, PACKAGE)
        self._known_exit = crash.last_exit(device, PACKAGE)
        self._earlier: set[str] = set()  # lines of the log that belong to an earlier start

    def start(self, arguments: Mapping[str, str], on_stage: Callable[[str], None]) -> Finished:
        """Runs it to its end, at most deadline_s. Only Ctrl-C raises."""
        stages: list[str] = []

        def stage(text: str) -> None:
            stages.append(text)
            on_stage(text)

        parser, since, broken = am_instrument.Parser(stage), "", None
        try:
            since = app_log.now(self.device)
            argv = am_instrument.command(arguments)
            self.device.shell(argv, timeout_s=self.deadline_s, check=False, on_line=parser.line, step="run the app")
        except DeviceError as error:
            broken = error
        finished = Finished(parser.end(), error=broken)
        try:
            self._look_into(finished, since, stages)
        except DeviceError as error:  # gone before it could be asked why the app ended
            finished.error = finished.error or error
        finished.said = (
            finished.said if any(line.startswith("stage: ") for line in finished.said) else _stage_lines(stages)
        )
        return finished

    def _look_into(self, finished: Finished, since: str, stages: list[str]) -> None:
        at = stages[-1] if stages else ""
        if isinstance(finished.error, DeviceTimedOut):
            stop(self.device)
            finished.error = self._late(at)
        elif finished.error is not None and not self.alive():
            return
        elif isinstance(finished.error, BROKEN):
            finished.error = crash.broken(self.device, finished.error, self.boot)
        with contextlib.suppress(DeviceError):
            lines = app_log.fetch(self.device, since, self.user, PACKAGE)
            # `since` is a whole second, in which the start before may have ended.
            finished.lines = [line for line in lines if line.raw not in self._earlier]
            self._earlier = {line.raw for line in lines}
            finished.said = app_log.said_by_app(finished.lines, self.user)
        outcome = finished.outcome
        if finished.error is None and outcome.kind not in (am_instrument.COMPLETE, am_instrument.FAILED):
            crash.check_boot(self.device, self.boot)
            finished.error = self._explain(outcome, finished.lines, at)

    def alive(self) -> bool:
        return alive(self.device)

    def _explain(self, outcome: am_instrument.Outcome, lines: list[app_log.Line], at: str) -> DeviceError:
        ended = crash.last_exit(self.device, PACKAGE)
        evidence = crash.Evidence(outcome, lines, ended, crash.is_installed(self.device, PACKAGE))
        error = crash.error_of(evidence, self.device.serial, PACKAGE, at, self._known_exit)
        self._known_exit = ended
        return error

    def _late(self, at: str) -> DeviceError:
        return DeviceTimedOut(
            f"run the test app on {self.device.serial}",
            f"it did not end within {self.deadline_s:g} s; it was at the stage '{at}'",
            "give it more time with --timeout",
            serial=self.device.serial,
            step=at or "start the app",
        )


def stop(device: Device) -> None:
    """Ends the app's processes; no error where there is none."""
    device.shell(["am", "force-stop", PACKAGE], timeout_s=_STOP_S, check=False, step="stop the app")


def alive(device: Device) -> bool:
    """Whether the device answers, soon. It is asked twice: one that starts again is offline for a moment."""
    for pause_s in (_OFFLINE_S, 0.0):
        try:
            device.shell(["true"], timeout_s=_ALIVE_S, check=False, step="see whether it is there")
            return True
        except DeviceError:
            time.sleep(pause_s)
    return False


def _stage_lines(stages: list[str]) -> list[str]:
    return [f"stage: {stage}" for stage in stages]
