"""The rows of a bench: each from run folders that are there, or from runs on a device."""

import contextlib
import math
import shutil
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from host_tools.base import portable
from host_tools.base.errors import FolderNotWritable, QuadraError
from host_tools.judge import judged
from host_tools.judge.bench_figures import Asked, Bench, Kind, Row, peers_beside, take, way
from host_tools.measure import device_lanes
from host_tools.measure.cell_queue import Deal
from host_tools.places.place import Place, Show, quiet
from host_tools.record import machine, peer_names, run_folder, schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import from_arguments

_DEADLINE_S = {"host": 300.0, "jvm": 600.0, "device": 600.0}
_SECOND_STARTS = 3  # each of each runtime is a Java process
# What a run must have been asked for; how often it was repeated does not matter.
_ASKED = (
    "signature",
    "options",
    "inputs",
    "place",
    "device",
    "api",
    "peers",
    "peer_defaults",
    "threads",
    "cpus",
    "warm_up",
    "delay_ms",
    "cold",
    "second_starts",
)


@dataclass(frozen=True)
class Family:
    """A model and what it is compared with, its float twin, on each backend: one device measures all of it."""

    models: tuple[str, ...]

    @property
    def key(self) -> str:
        return from_arguments.label(self.models[0])


def families(names: Sequence[str]) -> list[Family]:
    """The models, each with those that have the same twin."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(from_arguments.float_twin(name) or name, []).append(name)
    return [Family(tuple(group)) for group in found.values()]


@dataclass(frozen=True)
class Finished:
    """Complete runs that are there already."""

    runs: Sequence[tuple[RunSpec, RunFolder]]

    @classmethod
    def of(cls, folder: Path, libraries: Collection[str]) -> "Finished":
        """Those with one of these libraries, by their SHA-256, the newest first. A damaged one is none."""
        found = []
        for run_id in reversed(run_folder.list_ids(folder)):
            one = RunFolder(folder / run_id)
            with contextlib.suppress(QuadraError):
                if one.is_complete() and one.read(schema.Environment).library.sha256 in libraries:
                    found.append((one.spec(), one))
        return cls(found)

    def run(self, spec: RunSpec) -> RunFolder | None:
        """What answers this."""
        for old, folder in self.runs:
            if old.model.sha256 == spec.model.sha256 and all(getattr(old, k) == getattr(spec, k) for k in _ASKED):
                return folder
        return None

    def devices(self) -> list[str]:
        return list(dict.fromkeys(spec.device for spec, _ in self.runs))


@dataclass(frozen=True)
class RowMaker:
    """Makes rows: by runs, or from those that are finished."""

    asked: Asked
    folder: Path
    finished: Finished

    @cached_property
    def sizes(self) -> dict[str, list[str]]:
        """By model, those that its inputs get."""
        return from_arguments.sizes_of_each(self.asked.models, self.asked.sizes)

    @property
    def kept(self) -> Path:
        """Where Quadra keeps what a second start finds. Empty before each run: its first start is a cold one."""
        return self.folder / "kept"

    def empty(self, name: str, kind: Kind, device: str, error: str = "") -> Row:
        """A row without figures yet. device: its name; empty where it is no device."""
        backend, api, defaults = kind
        twin = from_arguments.float_twin(name)
        made = from_arguments.label(twin) if twin else ""
        return Row(from_arguments.label(name), backend, made, api, defaults=defaults, ran_on=device, error=error)

    def row(self, name: str, kind: Kind, device: str, show: Show = quiet, place: Place | None = None) -> Row:
        """Without a place from finished runs alone: they must be there."""
        row = self.empty(name, kind, device)
        for threads in self.asked.threads_of(kind):
            words = f"{threads} thread{'s' if threads > 1 else ''}, " if len(self.asked.threads) > 1 else ""
            self._measure(row, threads, self._spec(name, kind, threads, device), _after(words, show), place)
        return row

    def finished_on(self, family: Family) -> list[str]:
        """The devices of a lab that have all runs of these models."""
        return [one for one in self.finished.devices() if all(self._had(family, one))]

    def begun_on(self, family: Family) -> list[str]:
        """The devices that have some of them."""
        return [one for one in self.finished.devices() if any(self._had(family, one))]

    def _had(self, family: Family, device: str) -> list[bool]:
        asked = self.asked
        rows = [(name, kind, t) for name in family.models for kind in asked.kinds for t in asked.threads_of(kind)]
        return [self.finished.run(self._spec(*one, device)) is not None for one in rows]

    def _spec(self, name: str, kind: Kind, threads: int, device: str) -> RunSpec:
        (backend, api, defaults), place = kind, self.asked.place
        cold = threads == 1 and not defaults  # starts differ little by the precision
        peers = peers_beside(self.asked.peers, backend)
        if defaults:
            peers = tuple(peer for peer in peers if peer != peer_names.XNNPACK)  # it always computes in float32
        elif (
            not cold or api != self.asked.apis[-1]
        ):  # it has one API, and takes seconds: once for each model and backend
            peers = tuple(peer for peer in peers if peer != peer_names.LITERT)
        model, signature = from_arguments.split(name)
        return from_arguments.make_spec(
            model,
            signature=signature,
            backend=backend,
            place=place,
            device=device,
            api=api,
            peers=peers,
            peer_defaults=defaults,
            repetitions=self.asked.repetitions,
            threads=threads,
            cold=cold,
            cache=str(self.kept) if cold and place == "host" else "",
            second_starts=_SECOND_STARTS if cold and place == "jvm" else 0,
            deadline_s=_DEADLINE_S[place],
            sizes=self.sizes[name],
        )

    def _measure(self, row: Row, threads: int, spec: RunSpec, show: Show, place: Place | None) -> None:
        """Takes the figures of a finished run; where there is none, or it cannot be judged, those of a new one."""
        try:
            spec = place.aim(spec) if place else spec
            found = self.finished.run(spec)
            if found:
                try:
                    return _take(row, threads, found)
                except QuadraError:
                    if place is None:
                        raise
            assert place, "the caller looked for it"
            _take(row, threads, place.run(spec, show, self.folder))
        finally:
            shutil.rmtree(self.kept, ignore_errors=True)


def _without_figures(name: str, kind: Kind, error: str, device: str = "") -> Row:
    backend, api, defaults = kind
    return Row(from_arguments.label(name), backend, api=api, defaults=defaults, ran_on=device, error=error)


def _take(row: Row, threads: int, folder: RunFolder) -> None:
    found = judged.judge(folder)
    found.check_backend()
    take(row, threads, found)


def _after(words: str, show: Show) -> Show:
    """Shows what goes on with these words before it."""
    return lambda text: show(words + text)


@dataclass
class Figures:
    """The bench as it grows, for several lanes. keep: gets it after each row."""

    folder: Path
    asked: Asked
    library: dict[str, Any]
    keep: Callable[[Bench], Any]
    rows: dict[tuple[str, Kind], Row] = field(default_factory=dict)  # by model, as asked for
    notes: list[str] = field(default_factory=list)
    _change: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, row: Row) -> None:
        with self._change:
            self.rows[name, row.kind] = row
            self.keep(self.bench())

    def kept(self, family: Family, maker: RowMaker) -> bool:
        """Takes the rows of models that a device of a lab has finished; whether one has. Runs that cannot be judged are
        made again."""
        pairs = [(name, kind) for name in family.models for kind in self.asked.kinds]
        for device in maker.finished_on(family):
            try:
                rows = [(name, maker.row(name, kind, device)) for name, kind in pairs]
            except QuadraError:
                continue
            for name, row in rows:
                self.add(name, row)
            return True
        return False

    def drop(self, family: Family, device: str) -> None:
        """Another device measures these models, and may have begun: figures of two are not compared."""
        with self._change:
            self.rows = {k: row for k, row in self.rows.items() if k[0] not in family.models or row.ran_on != device}

    def fail(self, cells: Sequence[Family], device: str, error: str) -> None:
        """What a device that is lost has not measured."""
        names = [name for family in cells for name in family.models]
        for name, kind in [(name, kind) for name in names for kind in self.asked.kinds]:
            if (name, kind) not in self.rows:
                self.add(name, _without_figures(name, kind, error, device))

    def close(self, notes: Sequence[str]) -> None:
        """notes: what happened to the devices of a lab. A model that none of them ran says so."""
        self.notes = list(notes)
        for name in self.asked.models:
            for kind in self.asked.kinds:
                if (name, kind) not in self.rows:
                    error = "; ".join(notes) or "no device ran it"
                    self.rows[name, kind] = _without_figures(name, kind, error)
        self.keep(self.bench())

    def bench(self) -> Bench:
        """With the rows in the order in which they were asked for."""
        asked = self.asked
        keys = [(name, kind) for name in asked.models for kind in asked.kinds]
        return bench_of(self.folder, asked, [self.rows[k] for k in keys if k in self.rows], self.library, self.notes)


def bench_of(
    folder: Path, asked: Asked, rows: Sequence[Row], library_facts: dict[str, Any], notes: Sequence[str] = ()
) -> Bench:
    if asked.place == "device":  # this machine measured nothing
        return Bench(folder, asked, tuple(rows), library_facts, "", 0, 0.0, tuple(notes))
    cpus = portable.cpus()
    return Bench(folder, asked, tuple(rows), library_facts, machine.cpu_name(), cpus, portable.load()[0])


class Lane(device_lanes.Lane[Family]):
    """What one place measures."""

    def __init__(
        self, place: Place, deal: Deal[Family], maker: RowMaker, figures: Figures, in_lab: bool, show: Show
    ) -> None:
        super().__init__(place, deal)
        self.maker, self.figures, self.show = maker, figures, show
        self.device, self.in_lab = place.name if maker.asked.place == "device" else "", in_lab
        self.started, self.done = time.monotonic(), 0

    def run(self, cells: Sequence[Family]) -> None:
        for index, family in enumerate(cells):
            for name in family.models:
                for kind in self.maker.asked.kinds:
                    error = self._row(name, kind)
                    if error and self._gave_up(error, name, kind, cells[index:]):
                        return

    def _row(self, name: str, kind: Kind) -> QuadraError | None:
        asked = self.maker.asked
        words = f"{asked.models.index(name) + 1}/{len(asked.models)} {from_arguments.label(name)}{self._left()}: {way(kind)}, "
        show = _after(words, self.show)

        def once(at: float) -> None:
            self.figures.add(name, self.maker.row(name, kind, self.device, show, self.place))

        error = self.attempt(once, lambda at, error, stopped: None)
        self.done += 1
        if isinstance(error, FolderNotWritable):
            raise error  # no later model would fare better
        return error

    def _left(self) -> str:
        """How long the rest takes if it goes on like this; of a lab nobody knows who does what."""
        asked = self.maker.asked
        left = len(asked.models) * len(asked.kinds) - self.done
        if self.in_lab or not self.done:
            return ""
        return f" ({math.ceil((time.monotonic() - self.started) / self.done * left / 60)} min left)"

    def _gave_up(self, error: QuadraError, name: str, kind: Kind, unfinished: Sequence[Family]) -> bool:
        """Whether this device is done with these models: others measure them, or it is lost."""
        text = " ".join(f"{error.tried}: {error.came_back}".split())
        if self.hand_back(error, unfinished[0], text, unfinished):
            self.figures.drop(unfinished[0], self.device)
            return True
        self.figures.add(name, self.maker.empty(name, kind, self.device, text))
        if not device_lanes.is_lost(error):
            return False
        self.figures.fail(unfinished, self.device, text)
        return True
