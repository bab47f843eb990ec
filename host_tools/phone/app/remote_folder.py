"""The folder of a run on a device, filled before the run, pulled and removed after it: private to the test app, or the
shell's.
"""

import io
import json
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from host_tools.base.errors import DeviceRefused, Misuse, ReplyNotUnderstood, TransferFailed
from host_tools.base.progress import counted
from host_tools.phone.adb import adb_errors
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.app.install_app import PACKAGE
from host_tools.phone.files import check_pulled, pull, transfer
from host_tools.record import reading, schema
from host_tools.record.run_folder import CPU_MODEL
from host_tools.record.spec import RUN_ID, RunSpec, checked

Show = Callable[[str], None]

RUNS = "files/quadra/runs"
PRIVATE = f"/data/data/{PACKAGE}"
CACHE = "code_cache"
KEPT = "quadra"  # in it, what the delegate keeps for its next start
OWN_CACHE = f"{CACHE}/{KEPT}"
SET = "set"  # for what comes of many inputs
SET_FILE = "set.json"  # their list
CACHE_HERE = "cache"  # its name in a run folder
_TIMEOUT_S = 20.0
_FILE_LIMIT_BYTES = 1 << 20  # of one that is brought alone
_PULLED = ".pulled"


class RemoteFolder:
    """One run's, in the app's folders."""

    package = PACKAGE  # as whom it is looked into
    runs = RUNS  # from the app's folder, where run-as starts
    place = PRIVATE

    def __init__(self, device: Device, run_id: str) -> None:
        self.device, self.run_id = device, run_id
        self.inside = f"{self.runs}/{run_id}"
        self.path = f"{self.place}/{self.inside}" if self.place else self.inside

    @property
    def run_as(self) -> list[str]:
        return ["run-as", self.package] if self.package else []

    def fill(self, folder: Path, model: Path, show: Show) -> str:
        """Puts spec.json, the inputs and the rewritten model there; returns where the model lies on the device."""
        given = [folder / "spec.json", *sorted((folder / "inputs").glob("*.npy"))]
        if (folder / CPU_MODEL).exists():
            given.append(folder / CPU_MODEL)
        pushed = transfer.push(self.device, [model, *given], counted(show))
        self._as_app(["mkdir", "-p", f"{self.inside}/inputs"], "make the run's folder")
        there = {f"{self.inside}/{file.relative_to(folder)}": file for file in given}
        for name, file in there.items():
            self._as_app(["cp", pushed.remote[file], name], "copy the inputs")
        digests = self.device.digests(list(there), _TIMEOUT_S, prefix=self.run_as)
        for name, file in there.items():
            if digests.get(name) != transfer.sha256(file):
                tried, found = f"copy {name} into the run's folder", "what lies there is not what was copied"
                raise TransferFailed(
                    tried, found, "check whether the device is full", serial=self.device.serial, step="copy"
                )
        return pushed.remote[model]

    def fill_set(self, folder: Path, named: Mapping[str, Sequence[Path]], anew: bool, show: Show) -> list[str]:
        """Puts the arrays of many inputs, by the inputs' names, into the store, and the list of them, set.json, into the run's
        folder, and a copy of it into `folder`; returns where the arrays lie. anew: each input begins with the model's first state."""
        pushed = transfer.push(self.device, [array for arrays in named.values() for array in arrays], counted(show))
        rows = [
            {"name": name, "arrays": [PurePosixPath(pushed.remote[array]).name for array in arrays]}
            for name, arrays in named.items()
        ]
        listed = folder / SET_FILE
        listed.write_text(json.dumps({"schema_version": 1, "anew": anew, "inputs": rows}), encoding="utf-8")
        at = transfer.push(self.device, [listed], counted(show)).remote[listed]
        self._as_app(["rm", "-rf", f"{self.inside}/{SET}"], "empty the folder of the inputs")
        self._as_app(["cp", at, f"{self.inside}/{SET_FILE}"], "copy the list of inputs")
        return [*pushed.remote.values(), at]

    def pull_set(self, folder: Path, show: Show) -> list[Path]:
        """Brings what came of many inputs; returns the folder of each that is whole."""
        scratch = folder / _PULLED
        show("pull the outputs")
        pull.pull_app(self.device, self.package, f"{self.inside}/{SET}", scratch, show=counted(show))
        whole = []
        for one in sorted(path for path in scratch.iterdir() if path.is_dir()):
            names = [str(file.relative_to(one)) for file in one.rglob("*") if file.is_file()]
            if check_pulled.of_input(one, names):
                for name in check_pulled.accepted(names):
                    (folder / one.name / name).parent.mkdir(parents=True, exist_ok=True)
                    (one / name).replace(folder / one.name / name)
                whole.append(folder / one.name)
        shutil.rmtree(scratch, ignore_errors=True)
        return whole

    def pull(self, folder: Path, show: Show) -> None:
        """Brings what the runner left: files of names that a runner may leave, checked, nothing else."""
        self._as_app(
            ["rm", "-rf", f"{self.inside}/inputs", f"{self.inside}/{CPU_MODEL}", f"{self.inside}/spec.json"], "pull"
        )
        scratch = folder / _PULLED
        try:
            show("pull outputs, times and plans")
            pull.pull_app(self.device, self.package, self.inside, scratch, show=counted(show))
            files = [file for file in sorted(scratch.rglob("*")) if file.is_file()]
            names = [str(file.relative_to(scratch)) for file in files]
            for name in check_pulled.accepted(names):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (scratch / name).replace(folder / name)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self.pull_cache(folder, OWN_CACHE, show)

    def pull_cache(self, folder: Path, inside: str, show: Show) -> int:
        """Brings serialized plans from the app's code cache; returns how many files. None there: none."""
        count = len(self.cache_files(inside))
        if count:
            show("pull the cache")
            shutil.rmtree(folder / CACHE_HERE, ignore_errors=True)
            pull.pull_app(self.device, self.package, inside, folder / CACHE_HERE, show=counted(show))
        return count

    def cache_files(self, inside: str = CACHE) -> list[str]:
        """What drivers and the delegate keep for the next start."""
        said = self.ask(["find", inside, "-type", "f"], "look into the cache")
        return [line for line in said.splitlines() if line.startswith(inside)]

    def empty_cache(self) -> None:
        """As after an installation: the next start is a cold one."""
        self._as_app(["rm", "-rf", CACHE], "empty the cache")
        self._as_app(["mkdir", "-p", CACHE], "empty the cache")

    def bring(self, name: str, folder: Path) -> bool:
        """Brings one small JSON file; false where it is not there."""
        content = io.BytesIO()
        try:
            argv = [*self.run_as, "cat", f"{self.inside}/{name}"]
            self.device.stream(argv, timeout_s=_TIMEOUT_S, to=content, limit_bytes=_FILE_LIMIT_BYTES, step="pull")
            reading.json_bytes(content.getvalue(), schema.files()[name], f"{name} of the run")
        except Misuse as error:
            raise ReplyNotUnderstood(*error.args, serial=self.device.serial, step="pull") from error
        except DeviceRefused:
            return False
        (folder / name).write_bytes(content.getvalue())
        return True

    def remove(self) -> None:
        argv = [*self.run_as, "rm", "-rf", self.inside]
        self.device.shell(argv, timeout_s=_TIMEOUT_S, check=False, step="remove the run's folder")

    def _as_app(self, argv: list[str], step: str) -> None:
        reply = self.device.shell([*self.run_as, *argv], timeout_s=_TIMEOUT_S, check=False, step=step)
        if reply.status != 0:
            tried = f"run `{shlex.join(argv)}` in the run's folder"
            raise adb_errors.of_run_as(reply.stderr.strip() or reply.stdout, tried, self.device.serial, step)

    def ask(self, argv: list[str], step: str) -> str:
        """What a command that looks at it printed."""
        return self.device.shell([*self.run_as, *argv], timeout_s=_TIMEOUT_S, check=False, step=step).stdout


class ShellFolder(RemoteFolder):
    """One run's, where the shell may write. There is no cache: only an app has one."""

    package = place = ""
    runs = f"{transfer.HOME}/shell"

    def cache_files(self, inside: str = CACHE) -> list[str]:
        return []


def left(device: Device) -> list[RemoteFolder]:
    """The runs whose folders lie on the device: the app's, then those from the shell."""
    found: list[RemoteFolder] = []
    for kind in (RemoteFolder, ShellFolder):
        said = kind(device, "").ask(["ls", kind.runs], "look for runs")
        ids = sorted(line.strip() for line in said.splitlines() if RUN_ID.fullmatch(line.strip()))
        found += [kind(device, run_id) for run_id in ids]
    return found


def spec_of(remote: RemoteFolder) -> RunSpec:
    """The spec.json of an interrupted run there; Misuse where there is none that can be read."""
    said = remote.ask(["cat", f"{remote.inside}/spec.json"], "read a run's spec")
    return checked(reading.json_bytes(said.encode("utf-8"), RunSpec, f"spec.json of {remote.run_id}"))
