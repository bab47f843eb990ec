"""The device's processes, above all those of apps: an installed APK's runner on this machine's Java, inside Android's
classes.

What is loaded is the APK's: its native libraries, and the class files whose digests its list has. See
host_tools/places/on_jvm.py for what stands around them.
"""

import contextlib
import json
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_tools.android_on_host import bionic, jvm
from host_tools.base import child_process
from host_tools.base.errors import QuadraError
from host_tools.build import artifacts, java, maven, stock_delegate
from host_tools.virtual_device.installed_app import Installed
from host_tools.virtual_device.program import Program
from host_tools.virtual_device.state import State

RUNNER = "org.quadra.runner.QuadraRunner"  # the one Instrumentation that can be run here
_NEEDED = (RUNNER, "org.tensorflow.lite.Interpreter")
_GONE_S = 2.0
_SHIPPED = "libtensorflowlite_gpu_jni.so"
_TAGGED = re.compile(r"(?!INFO|WARNING|ERROR|VERBOSE|DEBUG)([A-Za-z][\w.-]{0,22}): (.*)")
_NATIVE_STDERR = re.compile(r"(INFO|WARNING|ERROR|VERBOSE): ")
_BUILD = {
    "BRAND": "ro.product.brand", "DEVICE": "ro.product.device", "FINGERPRINT": "ro.build.fingerprint",
    "HARDWARE": "ro.hardware", "MANUFACTURER": "ro.product.manufacturer", "MODEL": "ro.product.model",
    "PRODUCT": "ro.product.name", "SOC_MANUFACTURER": "ro.soc.manufacturer", "SOC_MODEL": "ro.soc.model",
}  # fmt: skip


class LoadFailed(Exception):
    """The app cannot be started, as a phone would say it: a Java exception's class and message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind, self.message = kind, message


@dataclass(frozen=True)
class Event:
    """What a process tells: `status`, `finish`, `crash` (an exception), or `end`, where `code` is the exit status."""

    what: str
    code: int
    values: dict[str, str]


class Machine(jvm.Machine):
    """What a Java process needs to be this device's, for one installed APK."""

    def __init__(self, libraries: Path, classes: Path) -> None:  # pylint: disable=super-init-not-called
        self.libraries = sorted(libraries.glob("*.so"))
        self.folder = libraries
        self.class_path = [artifacts.host_classes(), classes, *java.host_libraries()]
        if any(path.name == _SHIPPED for path in self.libraries):
            self.class_path += maven.class_path(*stock_delegate.ALIASES)
        self.compat = bionic.folder_for(self.libraries)

    def start_words(self, properties: dict[str, str], crash_report: Path) -> list[object]:
        """The command line of a process; when native code brings it down, it leaves a report."""
        java_, *words = self.command("org.quadra.host.RunnerOnHost", properties)
        return [java_, f"-XX:ErrorFile={crash_report}", "-XX:-CreateCoredumpOnCrash", *words]

    def _library_path(self) -> str:
        return str(self.folder)


def code_cache(device: State, one: Installed) -> Path:
    """Of the package, on this machine."""
    return device.root / f"{one.data}/code_cache".lstrip("/")


class AppProcess:
    """One running app. `events` has what it tells, the last is its end."""

    def __init__(self, device: State, one: Installed) -> None:
        self.device, self.one, self.pid, self.uid = device, one, next(device.pids), one.uid
        self.name = self.command_line = one.package
        self.events: queue.Queue[Event] = queue.Queue()
        self.output: list[str] = []  # its last lines
        self.runner = RUNNER
        self.killed_for = ""  # why the system ended it
        self.planted_signal = 0  # of a crash that was asked for
        self.crash_report = device.root / "data" / "system" / f"report-{self.pid}"
        self._scratch = device.root / "data" / "system" / f"scratch-{self.pid}"  # Robolectric wants one
        self._process: subprocess.Popen[bytes] | None = None
        self._full = False
        self._told = -1  # the end of a pipe that the process tells its status into

    def start(self, machine: Machine, arguments: Mapping[str, str], env: Mapping[str, str], pause: str = "") -> None:
        """pause: the stage after which it waits for go_on."""
        self._scratch.mkdir(parents=True, exist_ok=True)
        self._told, writer = os.pipe()
        properties = {
            **{f"quadra.argument.{key}": value for key, value in arguments.items()},
            **{f"quadra.build.{field}": self.device.properties.get(name, "") for field, name in _BUILD.items()},
            "quadra.abis": self.device.properties["ro.product.cpu.abilist"],
            "quadra.package": self.one.package,
            "quadra.code_cache": str(code_cache(self.device, self.one)),
            "quadra.version": self.one.version_name,
            "quadra.pause": pause,
            "quadra.thermal": str(self.device.thermal_status()),
            "quadra.battery_ua": "-415000",
            "quadra.status": f"/proc/self/fd/{writer}",
            "java.io.tmpdir": str(self._scratch),
        }
        argv = machine.start_words(properties, self.crash_report)
        try:
            process = self._process = child_process.start_piped(argv, env=env, pass_fds=[writer])
        finally:
            os.close(writer)
        threading.Thread(target=self._watch, args=(process,), daemon=True).start()

    def go_on(self) -> None:
        """After the stage at which it was to wait."""
        if self._process and self._process.stdin:
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.write(b"\n")
                self._process.stdin.flush()

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def send(self, number: int) -> None:
        if self._process and self.alive():
            child_process.end_group(self._process, number)

    def end(self, why: str) -> None:
        """The system ends it; gone when this returns, but for a machine that is very busy."""
        self.killed_for = self.killed_for or why
        self.send(signal.SIGKILL)
        end = time.monotonic() + _GONE_S
        while self.alive() and time.monotonic() < end:
            time.sleep(0.01)

    def no_room(self) -> None:
        """From now on it finds no space on the device."""
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (0, 0))
        self._full = True

    def clean(self, text: str) -> str:
        """As the device would say it: paths are its own."""
        text = text.replace(str(self.device.root), "")
        return text.replace("File too large", "No space left on device") if self._full else text

    def report(self) -> str:
        """What Java's runtime wrote when native code brought it down."""
        try:
            return self.clean(self.crash_report.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return ""

    def _read_events(self) -> None:
        with os.fdopen(self._told, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                row = json.loads(line)
                values = {key: self.clean(str(value)) for key, value in row["values"].items()}
                self.events.put(Event(row["what"], row["code"], values))

    def _log(self, line: str) -> None:
        """Where on a phone it would go: System.out and Android's log are kept, a native stderr is not."""
        tagged = _TAGGED.fullmatch(line)
        if line.startswith("stage: "):
            self.log("I", "System.out", line)
        elif tagged:
            self.log("I", *tagged.groups())
        elif not _NATIVE_STDERR.match(line):
            self.log("W", "System.err", line)

    def log(self, priority: str, tag: str, text: str, buffer: str = "main") -> None:
        self.device.logcat.add(priority, tag, text, pid=self.pid, uid=self.one.uid, buffer=buffer)

    def _watch(self, process: "subprocess.Popen[bytes]") -> None:
        """Reads what it tells and prints, to its end."""
        reader = threading.Thread(target=self._read_events, daemon=True)
        reader.start()
        with contextlib.suppress(OSError), process:  # words that it did not live to read cannot be sent any more
            for raw in process.stdout or ():
                line = self.clean(raw.decode("utf-8", "replace").rstrip("\n"))
                self.output = [*self.output[-60:], line]
                self._log(line)
        child_process.end_group(process)
        reader.join(5)
        shutil.rmtree(self._scratch, ignore_errors=True)
        self.events.put(Event("end", process.wait(), {}))


class Processes:
    """All processes on one device: of apps, and of programs that a shell started."""

    def __init__(self, device: State) -> None:
        self.device = device
        self._table: list[AppProcess | Program] = []
        self._machines: dict[str, Machine] = {}
        self._lock, self._making = threading.Lock(), threading.Lock()

    def all(self) -> list[AppProcess | Program]:
        with self._lock:
            self._table = [one for one in self._table if one.alive()]
            return list(self._table)

    def of(self, package: str) -> list[AppProcess]:
        return [one for one in self.all() if isinstance(one, AppProcess) and one.one.package == package]

    def add(self, program: Program) -> None:
        """It is in the table as long as it runs."""
        with self._lock:
            self._table.append(program)

    def start(
        self, one: Installed, arguments: Mapping[str, str], more: Mapping[str, str], pause: str = ""
    ) -> AppProcess:
        """Starts the package's runner. `more` is for its environment. LoadFailed: it cannot be loaded."""
        machine = self.machine(one)
        process = AppProcess(self.device, one)
        cache = code_cache(self.device, one)
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        env = {**machine.environment(threads(arguments.get("folder", "")), cache), **more}
        with self._lock:
            process.start(machine, arguments, env, pause)
            self._table.append(process)
        return process

    def machine(self, one: Installed) -> Machine:
        """Made once per installed APK."""
        with self._making:
            if one.folder not in self._machines:
                self._machines[one.folder] = _machine(self.device, one)
            return self._machines[one.folder]

    def prepare(self, one: Installed) -> None:
        """Makes what its first start needs, beside what goes on: as phones compile what was installed."""

        def work() -> None:
            with contextlib.suppress(LoadFailed):  # its start will say why
                self.machine(one)

        threading.Thread(target=work, daemon=True).start()

    def end(self, package: str, why: str) -> None:
        """Ends the processes of a package."""
        for process in self.of(package):
            process.end(why)

    def end_all(self, why: str) -> None:
        for process in self.all():
            process.end(why)


def _machine(device: State, one: Installed) -> Machine:
    absent = [name for name in _NEEDED if name not in one.classes]
    try:
        classes = artifacts.classes_of(one.class_list)
    except QuadraError as error:  # no Java here, or no Maven Central
        raise LoadFailed("java.lang.RuntimeException", " ".join(str(error).split())) from error
    if absent or classes is None:
        text = f'Didn\'t find class "{(absent or [RUNNER])[0]}" on path: DexPathList[[zip file "{one.apk}"]]'
        missing = " (this APK's class files are not on this machine: in a clone of Quadra, build it with `./inv apk`)"
        why = "" if absent else missing
        raise LoadFailed("java.lang.ClassNotFoundException", text + why)
    try:
        return Machine(device.root / one.native.lstrip("/"), classes)
    except QuadraError as error:
        raise LoadFailed("java.lang.UnsatisfiedLinkError", f"dlopen failed: {error.came_back}") from error


def threads(folder: str) -> int:
    """As many as the RunSpec in this folder of the host asks for: a driver on the CPU gets what XNNPACK gets."""
    try:
        spec: Any = json.loads((Path(folder) / "spec.json").read_text(encoding="utf-8"))
        return max(1, min(64, int(spec["threads"])))
    except (OSError, ValueError, KeyError, TypeError):
        return 1
