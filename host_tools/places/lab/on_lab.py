"""A device of a lab as a place: the run happens on its host; the run folder arrives here, as a local run leaves it."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from host_tools.base import errors, settings
from host_tools.base.errors import DeviceError, FolderNotWritable, QuadraError, RunFailed
from host_tools.build import artifacts
from host_tools.places.lab import contents, packing
from host_tools.places.lab.client import Lab, Stopped
from host_tools.places.lab.host import Offered, Order, Reply, source_digest
from host_tools.places.place import Show, aimed, quiet
from host_tools.record import peer_names, run_folder
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec

# What a reply may raise here, by name; another name is a RunFailed.
_KINDS = {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, QuadraError)
}


@dataclass
class LabDevice:
    """One device of a lab. library: this delegate instead of one built for its ABI."""

    lab: Lab
    offered: Offered
    library: Path | None = None
    kind: ClassVar[str] = "device"
    _apks: dict[bool, Path] = field(default_factory=dict)  # by whether TFLite's own delegate is in them
    _stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def name(self) -> str:
        return self.offered.full_name

    def delegate(self) -> Path:
        self.library = self.library or artifacts.android(self.offered.abi)
        return self.library

    def prepare(self, peers: Sequence[str] = ()) -> None:
        self._apk(peers)

    def aim(self, spec: RunSpec) -> RunSpec:
        return aimed(spec, self.kind, self.name)  # two hosts may have the same serial

    def run(self, spec: RunSpec, show: Show = quiet, runs_dir: Path | None = None) -> RunFolder:
        """As Place.run; a run whose caller was killed goes on: its host does what has one name once."""
        runs_dir = runs_dir or settings.read().runs_dir
        files, spec = self._files(spec), run_folder.take_over(spec, runs_dir)
        order = Order(self.offered.name, spec, {}, source_digest())
        order.files = {kind: contents.name_of(path) for kind, path in files.items()}
        partial = run_folder.partial(spec, runs_dir)
        try:
            run_folder.start(spec, runs_dir)
            show(f"on {self.name}")
            reply = self.lab.run(self.offered, order, files, self._stopped)
            packing.unpack(reply.packed, partial)
        except Stopped as error:
            kept = run_folder.finish(partial, "interrupted", "lab")
            stopped = RunFailed(f"run on {self.name}", "it was stopped", "run it again")
            stopped.kept = kept.path
            raise stopped from error
        except QuadraError as error:
            if run_folder.began(partial):
                error.kept = run_folder.finish(partial, "failed", "lab", error).path
            raise
        except BaseException:
            if run_folder.began(partial):
                run_folder.finish(partial, "interrupted", "lab")
            raise
        return self._finish(partial, reply)

    def stop(self) -> bool:
        self._stopped.set()
        return True

    def _finish(self, partial: Path, reply: Reply) -> RunFolder:
        if not reply.error:
            return run_folder.finish(partial, run_folder.COMPLETE, "done")
        error = self._raised(reply)
        error.kept = run_folder.finish(partial, reply.state, reply.stage, error).path
        raise error

    def _raised(self, reply: Reply) -> QuadraError:
        kind = _KINDS.get(reply.error, RunFailed)
        parts = (*reply.parts, "", "", "")[:3]
        if issubclass(kind, FolderNotWritable):  # of the host: other devices go on
            return RunFailed(f"run on {self.name}", f"{parts[0]}: {parts[1]}", f"on that host: {parts[2]}")
        if issubclass(kind, DeviceError):
            return kind(*parts, serial=self.offered.serial)
        return kind(*parts)

    def _files(self, spec: RunSpec) -> dict[str, Path]:
        """What the host needs, by what it is for."""
        return {"model": Path(spec.model.path), "apk": self._apk(spec.peers), "library": self.delegate()}

    def _apk(self, peers: Sequence[str]) -> Path:
        shipped = peer_names.needs_shipped(peers)
        if shipped not in self._apks:
            self._apks[shipped] = artifacts.apk(self.offered.abi, self.delegate(), shipped)
        return self._apks[shipped]
