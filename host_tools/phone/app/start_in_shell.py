"""Starts the native runner in a device's shell, listens to it, and says how it ended."""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from host_tools.base.errors import DeviceError, DeviceRefused, DeviceTimedOut, QuadraError, RunFailed
from host_tools.phone.adb.adb_device import OUTPUT_LIMIT_BYTES, Device
from host_tools.phone.app import crash
from host_tools.phone.app.start_app import BROKEN, alive

_SIGNALLED = 128  # a shell's status of a program that a signal ended is this plus its number
_CANNOT_START = (126, 127)


@dataclass
class Ended:
    """One start. error: why it failed, where it does not say so itself; known: it left error.json."""

    lines: list[str] = field(default_factory=list)
    error: QuadraError | None = None
    crashed: bool = False
    known: bool = False


class ShellStarter:
    """Starts the program that lies at `program` on the device."""

    def __init__(self, device: Device, program: str, deadline_s: float) -> None:
        self.device, self.program, self.deadline_s = device, program, deadline_s
        self.boot = crash.boot_id(device)

    def alive(self) -> bool:
        return alive(self.device)

    def start(
        self,
        words: Sequence[str],
        on_stage: Callable[[str], None],
        takes: Callable[[str], bool] = lambda line: False,
        limit_bytes: int = OUTPUT_LIMIT_BYTES,
    ) -> Ended:
        """Runs it to its end, at most deadline_s. takes: keeps a line for itself. Only Ctrl-C raises."""
        ended, stages = Ended(), ["start"]

        def line(text: str) -> None:
            if takes(text):
                return
            ended.lines.append(text)
            if text.startswith("stage: "):
                stages.append(text[7:])
                on_stage(stages[-1])

        try:
            # exec: the daemon's hang-up then reaches the program itself.
            argv = ["exec", self.program, *words]
            done = self.device.shell(
                argv,
                timeout_s=self.deadline_s,
                check=False,
                on_line=line,
                step="run the runner",
                limit_bytes=limit_bytes,
            )
        except DeviceTimedOut:
            ended.error = self._late(stages[-1])
        except DeviceError as error:
            broken = isinstance(error, BROKEN) and self.alive()
            ended.error = crash.broken(self.device, error, self.boot) if broken else error
        else:
            self._look_into(ended, done.status, stages[-1])
        return ended

    def _look_into(self, ended: Ended, status: int, at: str) -> None:
        tried, last = f"run the runner on {self.device.serial}", "".join(f"\n  | {line}" for line in ended.lines[-12:])
        if status == 0:
            return
        if status in _CANNOT_START and at == "start":
            do_next = "check that /data/local/tmp may hold programs, and that the runner is for this device's ABI"
            found = f"the shell does not start it{last}"
            ended.error = DeviceRefused(tried, found, do_next, serial=self.device.serial, step="start the runner")
        elif status > _SIGNALLED:
            ended.crashed = True
            found = f"it was ended by {_name(status - _SIGNALLED)} at the stage '{at}'{last}"
            do_next = "this is a bug of the delegate, the driver or the interpreter: report it with the run folder"
            ended.error = RunFailed(tried, found, do_next)
        else:
            ended.known = True
            ended.error = RunFailed(
                tried, f"it ended with status {status} at the stage '{at}'{last}", "see log.txt of the run folder"
            )

    def _late(self, at: str) -> DeviceError:
        return DeviceTimedOut(
            f"run the runner on {self.device.serial}",
            f"it did not end within {self.deadline_s:g} s; it was at the stage '{at}'",
            "give it more time with --timeout",
            serial=self.device.serial,
            step=at,
        )


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
