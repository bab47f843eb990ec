"""`inv run --same`: equal inferences and equal processes, compared bit by bit; where one differs, the dispatch that began it.

On this machine worker processes compare. At other places each process is a run of its own, and only their first inferences are
compared. What a difference leaves is in the run's folder, `determinism/`.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from msgspec import structs

from host_tools.base import settings
from host_tools.base.errors import QuadraError
from host_tools.judge import determinism
from host_tools.places import on_host, repeat
from host_tools.places.place import Place, Show
from host_tools.record import kept_tensors, run_folder, schema
from host_tools.record.kept_tensors import Kept
from host_tools.record.repeats import Recorder, Repeats
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec

FOLDER = "determinism"
_LEAST = 2  # processes, whatever the deadline: one alone is compared with nothing
_LEAST_COPIED = 3  # processes with copies of tensors: of two, neither is the usual one
Once = tuple[schema.Repeats, list[Kept]]


class Source(Protocol):
    """Makes processes. folder: where the arrays of what they compare are."""

    folder: Path

    def start(self, inferences: int, keeps: bool) -> Once:
        """One process with so many inferences; keeps: with copies of all tensors, which are returned, too."""


class Workers:
    """Processes of this machine."""

    def __init__(self, folder: Path, spec: RunSpec, library: Path, show: Show) -> None:
        self.folder, self.spec, self.library, self.show = folder, spec, library, show

    def start(self, inferences: int, keeps: bool) -> Once:
        spec = structs.replace(self.spec, repetitions=inferences, keep_tensors=keeps, peers=())
        found = on_host.repeat(spec, self.library, self.folder, self.show)
        return found, _kept(RunFolder(self.folder)) if keeps else []


class Runs:
    """Runs of one inference at any place."""

    def __init__(self, folder: Path, spec: RunSpec, place: Place, show: Show) -> None:
        self.folder, self.place, self.show = folder, place, show
        self.spec = structs.replace(
            spec,
            repetitions=1,
            peers=(),
            profile=False,
            cold=False,
            second_starts=0,
            same_inferences=0,
            same_processes=0,
        )

    def start(self, inferences: int, keeps: bool) -> Once:
        spec = structs.replace(self.spec, keep_tensors=keeps)
        runs = self.folder / "runs"
        try:
            made = self.place.run(self.place.aim(spec), self.show, runs)
            kept = _kept(made) if keeps else []
            recorder = Recorder(self.folder / repeat.VALUES)
            recorder.add(repeat.named(made.arrays("outputs"), [one.numbers() for one in kept]))
        finally:
            shutil.rmtree(runs, ignore_errors=True)
        return recorder.as_file(), kept


def _kept(folder: RunFolder) -> list[Kept]:
    try:
        return kept_tensors.read(folder)
    except QuadraError:
        return []


def find(folder: RunFolder, place: Place, show: Show) -> schema.Determinism:
    """Compares as the run's spec asks; writes determinism.json."""
    spec = folder.spec()
    scratch = settings.make_folder(folder.path / FOLDER, "QUADRA_RUNS_DIR")
    on_this = isinstance(place, on_host.Host)
    source: Source = Workers(scratch, spec, place.delegate(), show) if on_this else Runs(scratch, spec, place, show)
    found = schema.Determinism(ok=True, sentence="")
    names = [tensor.name for tensor in folder.tensors("outputs")]
    try:
        _Search(source, spec, found, show).run(names, folder, counts_inferences=on_this)
        determinism.conclude(found, spec)
    finally:
        _tidy(scratch, found)
    run_folder.write_json(folder.path / schema.Determinism.FILE, found)
    return found


def _tidy(scratch: Path, found: schema.Determinism) -> None:
    """Where nothing differs nothing is kept; else the arrays, the plan and its kernels, not the copies of the last inference."""
    if found.ok:
        shutil.rmtree(scratch, ignore_errors=True)
    for path in scratch.glob("partition_*/tensor_*.bin"):
        path.unlink(missing_ok=True)


class _Search:
    """The steps, with one result."""

    def __init__(self, source: Source, spec: RunSpec, found: schema.Determinism, show: Show) -> None:
        self.source, self.spec, self.found, self.show = source, spec, found, show
        self.folder = source.folder / repeat.VALUES

    def run(self, names: list[str], folder: RunFolder, counts_inferences: bool) -> None:
        found = self.found
        if counts_inferences:
            self.show(f"compare {self.spec.same_inferences} equal inferences")
            inferences = Repeats(self.folder)
            if self._take(inferences, self.spec.same_inferences):
                found.inferences, found.inferences_different = len(inferences.results), len(inferences.different())
                determinism.outputs(found, inferences, names)
        processes = self._processes(Repeats(self.folder))
        found.processes = len(processes.results)
        if processes.results:
            found.processes_different = len(processes.different())
            determinism.outputs(found, processes, names)
        if found.inferences_different or found.processes_different:
            self._find_dispatch(folder)

    def _take(self, into: Repeats, inferences: int) -> bool:
        """Adds the results of one process; False: it failed."""
        try:
            into.take(self.source.start(inferences, keeps=False)[0])
            return True
        except QuadraError as error:
            self.found.failed += 1
            self.found.error = self.found.error or error.came_back
            return False

    def _processes(self, into: Repeats) -> Repeats:
        wanted = self.spec.same_processes
        for number in self._until_deadline(lambda count: count >= wanted, _LEAST):
            self.show(f"compare equal processes: {number + 1} of {wanted}")
            self._take(into, 1)
        return into

    def _find_dispatch(self, folder: RunFolder) -> None:
        """Runs with copies of all tensors until a difference shows, or the deadline comes."""
        within = self.found.inferences_different > 0
        repeats, kept = Repeats(self.folder), list[Kept]()

        def shown(count: int) -> bool:
            enough = within or len(repeats.results) >= _LEAST_COPIED
            return enough and bool(repeats.results) and bool(repeats.different())

        for number in self._until_deadline(shown, 1 if within else _LEAST_COPIED):
            self.show(f"look for the dispatch that differs: process {number + 1} with copies of all tensors")
            try:
                once, kept = self.source.start(self.spec.same_inferences if within else 1, keeps=True)
                repeats.take(once)
            except QuadraError as error:
                self.found.note = f"a process with copies of all tensors failed: {error.came_back}"
                return
            if not kept:
                break
        model, report = folder.optional(schema.Model) or schema.Model(), folder.read(schema.Verdicts)
        ops = {node.index: node.op for node in model.nodes}
        determinism.dispatches(self.found, repeats, kept, ops, sum(node.on == "cpu" for node in report.nodes))

    def _until_deadline(self, done: Callable[[int], bool], least: int) -> Iterator[int]:
        """Counts until `done` of the count, or the deadline, but at least so far."""
        end, count = time.monotonic() + self.spec.deadline_s, 0
        while not done(count) and (time.monotonic() < end or count < least):
            yield count
            count += 1
