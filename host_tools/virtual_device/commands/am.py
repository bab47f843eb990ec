"""The activity manager's commands: `am …` and `cmd activity …`.

`am instrument` runs an installed Instrumentation, and tells of it in the words of Android's Instrument.java.
"""

import os
import queue
import signal

from host_tools.virtual_device import evidence, faults
from host_tools.virtual_device.call import Call, Given, Stopped, Words, command
from host_tools.virtual_device.faults import Dropped, Fault
from host_tools.virtual_device.hostile import INSTRUMENTATIONS, pick
from host_tools.virtual_device.installed_app import Installed
from host_tools.virtual_device.processes import AppProcess, Event, LoadFailed

_POLL_S = 0.05
_ANR_S = 2.0  # a phone waits for 10 or 20
_AT = "measure"  # the stage at which faults of app.run happen
_FIRST = "start"  # the stage behind which no fault of app.start may fall


@command("am instrument")
def instrument(call: Call, given: Given, words: Words) -> int:
    try:
        run = _Run(call, words)
    except ValueError as error:
        return call.fail(str(error))
    return run.run()


@command("am force-stop", letters="", long=["user="], least=1)
def force_stop(call: Call, given: Given, words: Words) -> int:
    call.device.processes.end(words[0], f"from pid {next(call.device.pids)}")
    call.device.evidence.system("I", f"Force stopping {words[0]} appid=0 user=0: from shell")
    return 0


class _Run:
    """One `am instrument`, from its words. Like Android's with -w, it always waits for the end.

    The exit status is 0 for every run that began.
    """

    def __init__(self, call: Call, words: list[str]) -> None:
        """ValueError has the sentence of Android's shell command."""
        self.call, self.device = call, call.device
        self.component, self.raw, self.arguments = "", False, dict[str, str]()
        self.trouble: Fault | None = None  # what is to happen at _AT
        left = iter(words)
        for word in left:
            if word == "-e":
                key = next(left, "-e")
                if (value := next(left, None)) is None:
                    raise ValueError(f'Argument expected after "{key}"')
                self.arguments[key] = value
            elif word == "--user":
                next(left, None)
            elif word in ("-r", "-w"):
                self.raw |= word == "-r"
            elif word.startswith("-"):
                raise ValueError(f"Unknown option: {word}")
            else:  # Android takes the first and looks no further
                self.component = word
                break
        if "/" not in self.component:
            raise ValueError(f"No instrumentation found for: {self.component}")
        self.package, _, runner = self.component.partition("/")
        self.runner = self.package + runner if runner.startswith(".") else runner

    def run(self) -> int:
        fault = self.call.meet("instrument")
        if fault and fault.kind == "crash":
            return self._aborted()
        if fault and fault.kind == "hostile":
            self.call.out(pick(INSTRUMENTATIONS, fault.value).encode())
            return 0
        if fault and fault.kind == "uninstall":
            self.device.packages.uninstall(self.package)
        one = self.device.apps.get(self.package)
        known = one and any(self.runner == name for name, _ in one.instrumentations)
        if one is None or not known or (fault and fault.kind == "refuse"):
            return self._unknown()
        self.device.processes.end(one.package, "start instr")
        try:
            process = self._start(one)
        except LoadFailed as error:
            return self._not_loaded(one, error)
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
            planted = faults.planted(fault)
            self.trouble = None if planted else fault
        at_start = self.call.meet("app.start")
        files = self.call.files
        arguments = {k: files.for_process(v) if v[:1] == "/" else v for k, v in self.arguments.items()}
        pause = _AT if self.trouble else _FIRST if at_start else ""
        process: AppProcess = self.device.processes.start(one, arguments, planted, pause)
        process.runner = self.runner
        self.device.evidence.system(
            "I", f"Start proc {process.pid}:{one.package}/u0a{one.uid - 10000} for added application {one.package}"
        )
        if at_start:
            self._happen(at_start, process)
        if pause == _FIRST:
            process.go_on()
        return process

    def _follow(self, process: AppProcess) -> int:
        crash: Event | None = None
        finished = False
        while True:
            event = self._next(process)
            if event.what == "status":
                self._print("INSTRUMENTATION_STATUS", event.values)
                self.call.line(f"INSTRUMENTATION_STATUS_CODE: {event.code}")
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
            if self.call.cancelled.is_set():
                raise Stopped
            try:
                return process.events.get(timeout=_POLL_S)
            except queue.Empty:
                continue

    def _ended(self, process: AppProcess, code: int, crash: Event | None, finished: bool) -> None:
        """Says why, where the run itself did not, and keeps the evidence."""
        known = self.device.evidence
        if finished:
            known.stopped(process, "finished inst")
            return
        number = None if process.killed_for else evidence.signal_of(process, code)
        if crash or not (process.killed_for or number or code < 0):
            kind = crash.values["class"] if crash else "java.lang.RuntimeException"
            message = crash.values["message"] if crash else f"the process ended with {code}"
            known.exception(process, kind, message, _trace(process, kind))
            self._finish({"shortMsg": kind, "longMsg": f"{kind}: {message}"}, 0)
        elif number:
            known.native(process, number)
            what = f"Native crash: {signal.strsignal(number)}"
            self._finish({"shortMsg": "Native crash", "longMsg": what}, 0)
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
            seconds = _ANR_S if fault.kind == "anr" and fault.value is None else fault.value
            self.device.stall(fault, seconds, self.call.cancelled.is_set)
            if fault.kind == "anr":
                self.device.evidence.not_responding(process, "executing service org.quadra.runner: it did not answer")
                process.end("anr")
            process.send(signal.SIGCONT)
        elif fault.kind == "full":
            process.no_room()
        else:
            self.device.happen(fault, "app.run")  # of the whole device

    def _print(self, head: str, values: dict[str, str]) -> None:
        for key in sorted(values):
            self.call.line(f"{head}: {key}={values[key]}")

    def _finish(self, values: dict[str, str], code: int) -> None:
        self._print("INSTRUMENTATION_RESULT", values)
        self.call.line(f"INSTRUMENTATION_CODE: {code}")

    def _unknown(self) -> int:
        """It did not begin: Instrument.java throws, and ends with 1."""
        component = f"ComponentInfo{{{self.package}/{self.runner}}}"
        values = {"id": "ActivityManagerService", "Error": f"Unable to find instrumentation info for: {component}"}
        self._print("INSTRUMENTATION_STATUS", values)
        self.call.line("INSTRUMENTATION_STATUS_CODE: -1")
        text = f"INSTRUMENTATION_FAILED: {self.component}"
        if self.raw:
            self.call.line(f"onError: commandError=true message={text}")
        self.call.err(os.fsencode(f"android.util.AndroidException: {text}\n"))
        return 1

    def _aborted(self) -> int:
        text = "INSTRUMENTATION_ABORTED: System has crashed."
        if self.raw:
            self.call.line(f"onError: commandError=false message={text}")
        self.call.line(text)
        return 0

    def _not_loaded(self, one: Installed, error: LoadFailed) -> int:
        """The process started and met something that is not in the APK."""
        component = f"ComponentInfo{{{self.package}/{self.runner}}}"
        message = f"Unable to instantiate instrumentation {component}: {error.kind}: {error.message}"
        process = AppProcess(self.device, one)
        process.runner = self.runner
        self.device.evidence.exception(process, "java.lang.RuntimeException", message, [])
        self._finish({"shortMsg": error.kind, "longMsg": f"java.lang.RuntimeException: {message}"}, 0)
        return 0


def _trace(process: AppProcess, kind: str) -> list[str]:
    """The stack in the process's last words."""
    at = next((i for i, line in enumerate(process.output) if line.startswith(kind)), None)
    if at is None:
        return []
    more = [line for line in process.output[at + 1 :] if line.startswith(("\tat ", "Caused by: ", "\t..."))]
    return [process.output[at], *more]
