"""A host of the lab: its devices, the files that it was sent, and the runs that it does. A worker carries one."""

import contextlib
import functools
import hashlib
import json
import re
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
from distributed.diagnostics.plugin import WorkerPlugin
from msgspec import Struct, structs

from host_tools.base import settings
from host_tools.base.errors import DeviceError, DeviceNotFound, Misuse, QuadraError, RunFailed
from host_tools.phone.adb import choice
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.app import install_app
from host_tools.places.lab import packing
from host_tools.places.lab.contents import Contents
from host_tools.places.lab.packing import Packed
from host_tools.places.on_phone import Phone
from host_tools.places.place import Place, quiet
from host_tools.record import spec as specs
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.virtual_device import registry

_KEPT = re.compile(specs.RUN_ID.pattern + "-[0-9a-f]{32}")
_KEPT_RUNS = 50  # finished run folders: who lost the connection asks for them again
_STOPPING_S = 20.0


class Offered(Struct, frozen=True):
    """A device of a host. name: a virtual device's, or the serial."""

    host: str
    name: str
    serial: str
    abi: str

    @property
    def full_name(self) -> str:
        return f"{self.host}/{self.name}"

    @property
    def resource(self) -> str:
        """Its one slot, as dask's scheduler knows it."""
        return resource_of(self.full_name)


def resource_of(full_name: str) -> str:
    return f"device {full_name}"


def host_slot(host: str) -> str:
    """What a small request to a host takes: there are many of them."""
    return f"host {host}"


class Order(Struct):
    """One run. spec: as the caller aimed it; files: names of contents, by model, apk and library."""

    device: str
    spec: RunSpec
    files: dict[str, str]
    source: str  # digest of the caller's Quadra

    @property
    def folder(self) -> str:
        """The name of the folder for its run: an order for another device, spec, or files has another one."""
        asked = json.dumps(msgspec.to_builtins(self), sort_keys=True)
        return f"{self.spec.run_id}-{hashlib.sha256(asked.encode()).hexdigest()[:32]}"


class Reply(Struct):
    """What came of an order. error: the class of a QuadraError and its parts; empty: none. stage: where it failed."""

    packed: Packed
    error: str = ""
    exit_code: int = 0
    parts: tuple[str, ...] = ()
    state: str = ""
    stage: str = ""
    was_there: bool = False  # an equal order had done it


@functools.cache  # what runs is what was loaded
def source_digest() -> str:
    """Of this toolkit's Python files: both ends of a lab must be the same Quadra."""
    folder, digest = settings.ROOT / "host_tools", hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class Host(WorkerPlugin):  # type: ignore[misc]
    """One host. Its methods are called by several threads; a device does one run at a time."""

    name = "quadra"

    def __init__(self, host: str, folder: Path) -> None:
        self.host, self.source = host, source_digest()
        self.contents = Contents(folder / "contents")
        self.runs = settings.make_folder(folder / "runs", "QUADRA_DEVICES_DIR")
        self._offered: dict[str, Offered] = {}
        self._turns: dict[str, threading.Lock] = {}
        self._running: dict[str, Place] = {}  # by the order's folder
        self._change = threading.Lock()

    def look(self) -> list[Offered]:
        """The devices that are ready now. A device that cannot be asked is none."""
        found = []
        for one in choice.found():
            name = registry.shown(one.name) if one.virtual else one.serial
            if one.state != choice.READY or (one.busy and not self._is_ours(name)):
                continue
            known = self._offered.get(name)
            try:
                abi = (
                    known.abi
                    if known and known.serial == one.serial
                    else install_app.abi_of(Device(one.serial, virtual=one.virtual))
                )
            except DeviceError:
                continue
            found.append(Offered(self.host, name, one.serial, abi))
        self._offered = {one.name: one for one in found}
        return found

    def _is_ours(self, name: str) -> bool:
        """Whether who works with the device is this host."""
        with self._change:
            return any(place.name == name for place in self._running.values())

    def offered(self) -> list[Offered]:
        """The devices of the last look."""
        return list(self._offered.values())

    def place(self, device: Offered, order: Order) -> Place:
        """Where the order is run."""
        files = {kind: self.contents.path(name) for kind, name in order.files.items()}
        virtual = registry.is_shown(device.name)
        return Phone(Device(device.serial, virtual=virtual), files.get("library"), device.name, files.get("apk"))

    def run(self, order: Order) -> Reply:
        """Does an order. A run that was done for an equal order is not done again: its folder is sent again."""
        try:
            return self._run(order)
        except QuadraError as error:
            return self._failed(error)
        except KeyboardInterrupt:  # a stopped device says so; it would end the worker
            return self._failed(RunFailed(f"run on {order.device}", "it was stopped", "run it again"))

    def stop(self, run_id: str = "") -> None:
        """Ends a run, or all of them."""
        with self._change:
            places = [place for one, place in self._running.items() if run_id in ("", one.rpartition("-")[0])]
        for place in places:
            place.stop()
        end = time.monotonic() + _STOPPING_S
        while not run_id and self._running and time.monotonic() < end:
            time.sleep(0.05)

    def _run(self, order: Order) -> Reply:
        spec = specs.checked(order.spec)
        if not specs.RUN_ID.fullmatch(spec.run_id):
            raise Misuse("take an order", f"{spec.run_id!a} is no name of a run", "send it again")
        if order.source != self.source:
            came_back = f"{self.host} runs another version of Quadra than the caller"
            raise Misuse("take an order", came_back, "check out the same commit on both")
        with self._change:
            turn = self._turns.setdefault(order.device, threading.Lock())
        with turn:  # an order that lost its caller may still be at work here
            folder = RunFolder(self.runs / order.folder / spec.run_id)
            was_there = folder.path.is_dir() and folder.is_complete()
            if not was_there:
                folder = self._do(order, spec, folder.path)
            packed = packing.pack(folder.path)
        self._tidy()
        return Reply(packed, state="complete", was_there=was_there)

    def _do(self, order: Order, spec: RunSpec, folder: Path) -> RunFolder:
        device = self._offered.get(order.device)
        if device is None:
            came_back = f"{self.host} has {', '.join(self._offered) or 'no device'} now"
            raise DeviceNotFound(f"run on {order.device}", came_back, "connect it again", serial=order.device)
        shutil.rmtree(folder, ignore_errors=True)
        place = self.place(device, order)
        model = structs.replace(spec.model, path=str(self.contents.path(order.files["model"])))
        here = structs.replace(spec, model=model, device=device.serial)
        with self._change:
            self._running[order.folder] = place
        try:
            return place.run(here, quiet, folder.parent)
        finally:
            with self._change:
                self._running.pop(order.folder, None)

    def _failed(self, error: QuadraError) -> Reply:
        packed, state, stage = Packed(), "failed", ""
        if error.kept:
            try:
                packed = packing.pack(error.kept)
                status = RunFolder(error.kept).status()
                state, stage = status.state, status.stage
            except QuadraError:
                pass  # the error says more than what is left of its folder
        parts = tuple(str(part) for part in error.args)
        return Reply(packed, type(error).__name__, error.exit_code, parts, state, stage)

    def _tidy(self) -> None:
        """By this host's clock; run ids have their callers'."""
        with self._change:
            running = set(self._running)
        aged = []
        for path in self.runs.iterdir():
            if _KEPT.fullmatch(path.name) and path.name not in running:
                with contextlib.suppress(FileNotFoundError):
                    aged.append((path.stat().st_mtime, path))
        for _, path in sorted(aged)[:-_KEPT_RUNS]:
            shutil.rmtree(path, ignore_errors=True)


def of_worker(worker: Any) -> Host:
    """The host that a worker carries."""
    found = worker.plugins.get(Host.name)
    assert isinstance(found, Host), "only `inv lab worker` starts workers of a lab"
    return found
