"""Runs many small cases on a device, in one process of its shell, by the native runner.

The shell and not the app: nothing is installed, a case that brings the process down is followed by another process within
a second, and a program in /data/local/tmp may load the vendor's libraries where an app needs its manifest to say so.
"""

import json
import math
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from host_tools.base.errors import DeviceError, DeviceLost, DeviceNotFound, DeviceTimedOut, QuadraError, TransferFailed
from host_tools.base.progress import counted
from host_tools.build import artifacts
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.app import install_app
from host_tools.phone.app.start_batch import Listener, start
from host_tools.phone.app.start_in_shell import ShellStarter
from host_tools.phone.files import transfer
from host_tools.record.case_set import CaseSet

CASE_S = 60  # then the runner ends itself: a driver that hangs
_START_S = 60.0
_SILENCE_S = 30.0  # longer than a case may take
_LOOK_EVERY_S = 1.0
_MOST_S = 3600.0  # of one process
_DAMAGED = 3  # times in a row that results may arrive damaged
_ALARM = "SIGALRM"
HUNG = "no end within"


@dataclass(frozen=True)
class Job:
    """A case of a set, with options of the delegate and keys of a target file; no target: the device's own."""

    case: int
    options: Mapping[str, str]
    target: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Result:
    """What came of a job. died: what ended the process; error: why the model did not run."""

    outputs: tuple[np.ndarray, ...] = ()
    report: Mapping[str, Any] | None = None
    laps_us: Mapping[str, int] | None = None
    error: str = ""
    died: str = ""


@dataclass
class Parts:
    """What is pushed besides cases."""

    runner: Path
    runtime: Path
    library: Path


def parts(device: Device, library: Path | None, runner: Path | None = None) -> Parts:
    """Those for this device; built where they are not given."""
    abi = install_app.abi_of(device)
    return Parts(runner or artifacts.runner(abi), artifacts.runtime(abi), library or artifacts.android(abi))


class CasesOnDevice:
    """One device, on which lists of cases are run. Counts what it took."""

    def __init__(self, device: Device, made: Parts, show: Callable[[str], None]) -> None:
        self.device, self._made, self._show = device, made, show
        self.sent_bytes = self.received_bytes = self.processes = 0
        self._program, self._words = "", list[str]()

    def push(self) -> None:
        """The runner and its libraries."""
        self._program = self._pushed([self._made.runner], 0o755)[self._made.runner]
        there = self._pushed([self._made.runtime, self._made.library])
        self._words = ["--runtime", there[self._made.runtime], "--quadra", there[self._made.library]]

    def run(
        self,
        cases: CaseSet,
        jobs: Sequence[Job],
        on_result: Callable[[int, Result], None],
        on_begin: Callable[[int], None],
    ) -> None:
        """Runs all jobs; on_result and on_begin get their numbers. A job that kills its process is a result, and the others go
        on in a new process. A DeviceError says that the device, or the way to it, failed."""
        pack = self._pushed([cases.pack])[cases.pack]
        first, damaged = 0, 0
        while first < len(jobs):
            listener = self._listener(jobs, first, on_result, on_begin)
            device = self.device.twin()  # so that silence can stop it alone
            starter = ShellStarter(device, self._program, min(_MOST_S, _START_S + CASE_S * len(jobs)))
            with self._list(cases, jobs[first:]) as there, _Silence(device, listener) as silence:
                ended, damage = start(starter, [*self._words, "--pack", pack, "--cases", there], listener)
            if silence.lasted:
                raise self._silent()
            self.processes += 1
            self.received_bytes += listener.bytes
            died = ended.crashed and listener.begun >= listener.ended
            if not ended.error and not damage and first + listener.ended < len(jobs):
                damage = "results are missing from what arrived"
            damaged = damaged + 1 if damage else 0
            if ended.error and not died and not damage:
                raise self._lost(ended.error)
            if damaged == _DAMAGED:
                raise self._garbled(damage)
            first += listener.ended
            if died and not damage:
                on_result(first, Result(died=_died(str(ended.error))))
                first += 1

    def _listener(
        self,
        jobs: Sequence[Job],
        first: int,
        on_result: Callable[[int, Result], None],
        on_begin: Callable[[int], None],
    ) -> Listener:
        def result(number: int, values: dict[str, Any], data: bytes) -> None:
            on_result(first + number, _result(values, data))

        return Listener(result, lambda number: on_begin(first + number))

    def _list(self, cases: CaseSet, jobs: Sequence[Job]) -> "_Listed":
        return _Listed(self, cases, jobs)

    def _pushed(self, files: Sequence[Path], mode: int = 0o644) -> dict[Path, str]:
        done = transfer.push(self.device, files, counted(self._show), mode=mode)
        self.sent_bytes += done.sent_bytes
        return done.remote

    def _silent(self) -> DeviceTimedOut:
        return DeviceTimedOut(
            f"run cases on {self.device.serial}",
            f"nothing was heard of it for {CASE_S + _SILENCE_S:g} s, though a case may take {CASE_S} s",
            "look whether the device still answers; restart it otherwise",
            serial=self.device.serial,
            step="run the runner",
        )

    def _garbled(self, damage: str) -> TransferFailed:
        serial = self.device.serial
        return TransferFailed(
            f"run cases on {serial}", damage, "check the cable, then try again", serial=serial, step="run the runner"
        )

    @staticmethod
    def _lost(error: QuadraError) -> QuadraError:
        if isinstance(error, DeviceNotFound):  # it was there when this began
            return DeviceLost(*error.args, serial=error.serial, step=error.step)
        return error


class _Silence:
    """Ends what is asked of a device where no case has begun or ended for too long: a driver may hold the process in the
    kernel, where no signal reaches it."""

    def __init__(self, device: Device, listener: Listener) -> None:
        self._device, self._listener = device, listener
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.lasted = False

    def __enter__(self) -> "_Silence":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        heard, since = self._listener.bytes, time.monotonic()
        while not self._done.wait(_LOOK_EVERY_S):
            if self._listener.bytes != heard:
                heard, since = self._listener.bytes, time.monotonic()
            elif time.monotonic() - since > CASE_S + _SILENCE_S:
                self.lasted = True
                self._device.stop()
                return


class _Listed:
    """A list of jobs and its targets, on the device while it is needed."""

    def __init__(self, runner: CasesOnDevice, cases: CaseSet, jobs: Sequence[Job]) -> None:
        self._runner, self._cases, self._jobs = runner, cases, jobs
        self._there: list[str] = []

    def __enter__(self) -> str:
        with tempfile.TemporaryDirectory(prefix="quadra-cases-") as folder:
            targets = {text: Path(folder) / f"{i}.json" for i, text in enumerate(self._targets())}
            for text, path in targets.items():
                path.write_text(text)
            pushed = self._runner._pushed(list(targets.values())) if targets else {}
            names = {text: Path(pushed[path]).name for text, path in targets.items()}
            listed = Path(folder) / "cases.json"
            listed.write_text(
                json.dumps({"case_seconds": CASE_S, "cases": [self._row(job, names) for job in self._jobs]})
            )
            there = self._runner._pushed([listed])[listed]
        self._there = [there, *pushed.values()]
        return there

    def __exit__(self, *_: object) -> None:
        try:
            argv = ["rm", "-f", *self._there]
            self._runner.device.twin().shell(argv, timeout_s=5, check=False, step="remove the list")
        except DeviceError:
            pass  # it is away: a list of small files stays

    def _targets(self) -> Iterator[str]:
        yield from dict.fromkeys(json.dumps(job.target) for job in self._jobs if job.target is not None)

    def _row(self, job: Job, names: Mapping[str, str]) -> dict[str, Any]:
        case = self._cases.cases[job.case]
        target = {"target": names[json.dumps(job.target)]} if job.target is not None else {}
        return {"places": [case.model, *case.inputs], "options": {**job.options, **target}}


def _result(values: Mapping[str, Any], data: bytes) -> Result:
    if "error" in values:
        tried, came_back, _ = values["error"]["parts"]
        return Result(error=f"{tried}: {came_back}")
    outputs, at = [], 0
    for row in values["outputs"]:
        dtype = np.dtype(row["dtype"])
        size = math.prod(row["shape"]) * dtype.itemsize
        outputs.append(np.frombuffer(data[at : at + size], dtype).reshape(row["shape"]))
        at += size
    laps = {key: value for key, value in values.items() if key.endswith("_us")}
    return Result(tuple(outputs), json.loads(data[at:]), laps)


def _died(sentence: str) -> str:
    """In few words: the signal."""
    words = sentence.split("it was ended by ")[-1].split("\n")[0]
    return f"{HUNG} {CASE_S} s" if words.startswith(_ALARM) else f"it ended the process: {words}"
