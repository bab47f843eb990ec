"""`am instrument`: runs an installed Instrumentation, and tells of it in the words of Android's Instrument.java."""

import os
import queue
import signal
import threading
import time
from dataclasses import dataclass, field

from host_tools.virtual_device import evidence
from host_tools.virtual_device.call import Call, Stopped
from host_tools.virtual_device.faults import Dropped, Fault
from host_tools.virtual_device.files import normal
from host_tools.virtual_device.packages import Installed
from host_tools.virtual_device.processes import AppProcess, Event, LoadFailed

_POLL_S = 0.05
_ANR_S = 2.0  # a phone waits for 10 or 20
_AT = "measure"  # the stage at which faults of app.run happen
PLANTED = {"slow": ("BIONIC_GPU_SLOW", 1.1), "wrong_kernel": ("BIONIC_GPU_WRONG", 1.25)}
_WITH_VALUE = ("--abi", "--user", "-p", "-c")
_SWITCHES = (
    "--no-window-animation",
    "--no-hidden-api-checks",
    "--no-test-api-access",
    "--no-isolated-storage",
    "--no-restart",
)


class BadArguments(Exception):
    """Usage and `Error: …` are shown."""


@dataclass
class Words:
    """The command line of am instrument."""

    component: str = ""
    arguments: dict[str, str] = field(default_factory=dict)
    raw: bool = False
    wait: bool = False
    abi: str = ""


def parse(words: list[str]) -> Words:
    """BadArguments has the sentence of Android's shell command."""
    told, left = Words(), list(words)

    def value(option: str) -> str:
        if not left:
            raise BadArguments(f'Argument expected after "{option}"')
        return left.pop(0)

    while left:
        word = left.pop(0)
        if word in ("-r", "-w"):
            told.raw, told.wait = told.raw or word == "-r", told.wait or word == "-w"
        elif word == "-e":
            key = value("-e")
            told.arguments[key] = value(key)
        elif word in _WITH_VALUE:
            told.abi = value(word) if word == "--abi" else (value(word) and told.abi)
        elif word in _SWITCHES:
            continue
        elif word.startswith("-"):
            raise BadArguments(f"Unknown option: {word}")
        elif told.component:
            break  # Android takes the first and looks no further
        else:
            told.component = word
    if not told.component:
        raise BadArguments("No instrumentation component supplied")
    return told


def run(call: Call, words: Words) -> int:
    """The whole of it; the exit status is 0 for every run that began."""
    return _Run(call, words).run()


class _Run:
    def __init__(self, call: Call, words: Words) -> None:
        self.call, self.words, self.device = call, words, call.device
        self.package, _, runner = words.component.partition("/")
        self.runner = self.package + runner if runner.startswith(".") else runner
        self.trouble: Fault | None = None  # what is to happen at _AT

    def run(self) -> int:
        fault = self.call.meet("instrument")
        if fault and fault.kind == "crash":
            return self._aborted()
        if fault and fault.kind == "hostile":
            return self._hostile(fault)
        if fault and fault.kind == "uninstall":
            self.device.packages.uninstall(self.package)
        one = self.device.packages.get(self.package)
        if one is None or all(self.runner != name for name, _ in one.instrumentations):
            return self._unknown()
        if fault and fault.kind == "refuse":
            return self._unknown()
        if self.words.abi and self.words.abi != one.abi:
            return self._failed(f"INSTRUMENTATION_FAILED: Unsupported instruction set {self.words.abi}")
        self.device.processes.end(one.package, "start instr")
        try:
            process = self._start(one)
        except LoadFailed as error:
            return self._not_loaded(one, error)
        if not self.words.wait:  # it goes on, and nobody is told
            threading.Thread(target=self._follow, args=(process,), daemon=True).start()
            return 0
        try:
            return self._follow(process)
        except (Stopped, Dropped):  # who waited for it is gone: so is the run
            process.end("its host went")
            self.device.evidence.killed(process)
            raise

    def _start(self, one: Installed) -> AppProcess:
        """The process, with what is planted in it."""
        planted = {}
        fault = self.device.faults.due("app.run")
        if fault:
            self.device.note("fault", f"{fault} at app.run")
            if fault.kind in PLANTED:
                planted = {PLANTED[fault.kind][0]: f"{fault.value or PLANTED[fault.kind][1]:g}"}
            else:
                self.trouble = fault
        at_start = self.call.meet("app.start")
        arguments = {key: self._real(value) for key, value in self.words.arguments.items()}
        process = self.device.processes.start(one, arguments, planted, _AT if self.trouble else "")
        process.runner = self.runner
        self.device.evidence.system(
            "I", f"Start proc {process.pid}:{one.package}/u0a{one.uid - 10000} for added application {one.package}"
        )
        if at_start:
            self._happen(at_start, process)
        return process

    def _real(self, value: str) -> str:
        """A word that is a path of the device, as the process finds it."""
        if not value.startswith("/"):
            return value
        try:
            return self.device.files.host(self.device.files.locate(normal(value)))
        except OSError:
            return str(self.device.root) + value

    def _follow(self, process: AppProcess) -> int:
        crash: Event | None = None
        finished = False
        while True:
            event = self._next(process)
            if event.what == "status":
                self._print("INSTRUMENTATION_STATUS", event.values)
                self._say(f"INSTRUMENTATION_STATUS_CODE: {event.code}")
                if event.values.get("stage") == _AT and self.trouble:
                    trouble, self.trouble = self.trouble, None
                    self._happen(trouble, process)
                    process.go_on()
            elif event.what == "finish":
                finished = True
                self._finish(event.values, event.code)
            elif event.what == "crash":
                crash = event
            else:
                self._ended(process, event.code, crash, finished)
                return 0

    def _next(self, process: AppProcess) -> Event:
        while True:
            if self.words.wait and self.call.cancelled.is_set():
                raise Stopped
            process.resident_bytes()
            try:
                return process.events.get(timeout=_POLL_S)
            except queue.Empty:
                continue

    def _ended(self, process: AppProcess, code: int, crash: Event | None, finished: bool) -> None:
        """Says why, where the run itself did not, and keeps the evidence."""
        known = self.device.evidence
        if finished:
            known.system("I", f"Force stopping {self.package} appid={process.one.uid} user=0: finished inst")
            known.ended(
                process,
                evidence.USER_REQUESTED,
                subreason=evidence.FORCE_STOP,
                text=f"stop {self.package} due to finished inst",
            )
            return
        number = None if process.killed_for else evidence.signal_of(process, code)
        if crash or not (process.killed_for or number or code < 0):
            kind = crash.values["class"] if crash else "java.lang.RuntimeException"
            message = crash.values["message"] if crash else f"the process ended with {code}"
            known.exception(process, kind, message, _trace(process, kind))
            self._finish({"shortMsg": kind, "longMsg": f"{kind}: {message}"}, 0)
        elif number:
            known.native(process, number)
            self._finish({"shortMsg": "Native crash", "longMsg": f"Native crash: {evidence.WORDS[number]}"}, 0)
        else:
            if process.killed_for != "anr":
                known.killed(process, -code)
            self._finish({"shortMsg": "Process crashed."}, 0)

    def _happen(self, fault: Fault, process: AppProcess) -> None:
        """A fault of app.start or app.run."""
        if fault.kind == "crash":
            # Drivers and Java's runtime catch SIGSEGV and SIGABRT; the end that nobody catches is told as one.
            process.planted_signal = signal.SIGSEGV
            process.send(signal.SIGKILL)
        elif fault.kind == "uninstall":
            self.device.packages.uninstall(self.package)
        elif fault.kind in ("anr", "stall"):
            process.send(signal.SIGSTOP)
            self._hold(fault, _ANR_S if fault.kind == "anr" else None)
            if fault.kind == "anr":
                self.device.evidence.not_responding(process, "executing service org.quadra.runner: it did not answer")
                process.end("anr")
            process.send(signal.SIGCONT)
        elif fault.kind == "full":
            process.no_room()
        else:
            self.device.happen(fault, "app.run")  # of the whole device

    def _hold(self, fault: Fault, default_s: float | None) -> None:
        seconds = default_s if fault.value is None else fault.value
        end = None if seconds is None else time.monotonic() + seconds
        while not (fault.cleared.is_set() or (end is not None and time.monotonic() >= end)):
            self.call.wait(_POLL_S)

    def _print(self, head: str, values: dict[str, str]) -> None:
        for key in sorted(values):
            self._say(f"{head}: {key}={values[key]}")

    def _finish(self, values: dict[str, str], code: int) -> None:
        self._print("INSTRUMENTATION_RESULT", values)
        self._say(f"INSTRUMENTATION_CODE: {code}")

    def _say(self, text: str) -> None:
        if self.words.wait:
            self.call.line(text)

    def _unknown(self) -> int:
        component = f"ComponentInfo{{{self.package}/{self.runner}}}"
        values = {"id": "ActivityManagerService", "Error": f"Unable to find instrumentation info for: {component}"}
        if self.words.wait:
            self._print("INSTRUMENTATION_STATUS", values)
            self._say("INSTRUMENTATION_STATUS_CODE: -1")
        return self._failed(f"INSTRUMENTATION_FAILED: {self.words.component}")

    def _failed(self, text: str) -> int:
        """It did not begin: Instrument.java prints the exception, too, and ends with 1."""
        if self.words.raw:
            self._say(f"onError: commandError=true message={text}")
        frames = (
            "am.Instrument.run(Instrument.java:546)",
            "am.Am.runInstrument(Am.java:202)",
            "am.Am.onRun(Am.java:80)",
        )
        trace = "".join(f"\tat com.android.commands.{frame}\n" for frame in frames)
        self.call.err(os.fsencode(f"android.util.AndroidException: {text}\n{trace}"))
        return 1

    def _aborted(self) -> int:
        text = "INSTRUMENTATION_ABORTED: System has crashed."
        if self.words.raw:
            self._say(f"onError: commandError=false message={text}")
        self._say(text)
        return 0

    def _not_loaded(self, one: Installed, error: LoadFailed) -> int:
        """The process started and met something that is not in the APK."""
        component = f"ComponentInfo{{{self.package}/{self.runner}}}"
        message = f"Unable to instantiate instrumentation {component}: {error.kind}: {error.message}"
        process = AppProcess(self.device, one, next(self.device.pids))
        process.runner = self.runner
        self.device.evidence.exception(process, "java.lang.RuntimeException", message, [])
        self._finish({"shortMsg": error.kind, "longMsg": f"java.lang.RuntimeException: {message}"}, 0)
        return 0

    def _hostile(self, fault: Fault) -> int:
        """An answer that attacks who reads it."""
        answers = (
            "INSTRUMENTATION_STATUS: stage=" + "A" * (1 << 20) + "\n",
            "INSTRUMENTATION_RESULT: state=complete\nINSTRUMENTATION_CODE: -1",
            "INSTRUMENTATION_STATUS: stage=$(touch /tmp/quadra-hostile); `id`\nINSTRUMENTATION_STATUS_CODE: 0\n",
            "INSTRUMENTATION_RESULT: exit_code=0\x1b[2J\nINSTRUMENTATION_RESULT: error=\u202e\nINSTRUMENTATION_CODE: 99999999999\n",
            "INSTRUMENTATION_CODE: -1\nINSTRUMENTATION_CODE: 0\n",
            "usage: am [subcommand] [options]\n",
            "",
        )
        self.call.out(answers[int(fault.value or 0) % len(answers)].encode())
        return 0


def _trace(process: AppProcess, kind: str) -> list[str]:
    """The stack in the process's last words."""
    at = next((i for i, line in enumerate(process.output) if line.startswith(kind)), None)
    if at is None:
        return []
    more = [line for line in process.output[at + 1 :] if line.startswith(("\tat ", "Caused by: ", "\t..."))]
    return [process.output[at], *more]
