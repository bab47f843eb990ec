"""Runs a model on this machine, in processes of its own, and leaves a run folder."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from host_tools.base import cpu_drivers, settings
from host_tools.build import artifacts
from host_tools.drivers import driver_table
from host_tools.drivers.driver import Entry
from host_tools.places import environment, further_inputs, one_graph, reference_model, with_peers
from host_tools.places.attempt import add_timings, merge_cold, seconds, take_cold, take_second
from host_tools.places.place import Show, quiet
from host_tools.places.this_machine import LocalAttempt, ThisMachine
from host_tools.record import run_folder, schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import inputs

_SECOND_STARTS = 7
_LONGEST_S = 24 * 3600.0


class Host(ThisMachine):
    """This machine."""

    kind = "host"

    def run(self, spec: RunSpec, show: Show = quiet, runs_dir: Path | None = None) -> RunFolder:
        return _run(_for_driver(spec), self._library_of(spec), show, runs_dir)

    def generate(self, spec: RunSpec, folder: Path, side: str, show: Show = quiet) -> None:
        """One side of `inv generate` (host_tools/places/generation.py). `folder` is no run's; it has the request."""
        spec = _for_driver(spec)
        run_folder.write_json(folder / "spec.json", spec.to_json())
        cache = settings.make_folder(settings.read().driver_cache_dir, "QUADRA_DRIVER_CACHE_DIR")
        HostAttempt(folder, self._library_of(spec), spec, show).generate(side, cache)

    def _library_of(self, spec: RunSpec) -> Path:
        if spec.api == "compiled" and not self.library:
            return artifacts.accelerator().with_name("libquadra.so")
        return self.library or library_for(spec.driver) or self.delegate()

    def _built(self) -> Path:
        return artifacts.library()


def _run(spec: RunSpec, library: Path, show: Show, runs_dir: Path | None) -> RunFolder:
    config = settings.read()
    folder = run_folder.partial(spec, runs_dir or config.runs_dir)
    attempt = HostAttempt(folder, library, spec, show)
    cache = folder / "driver_cache" if spec.cold else config.driver_cache_dir

    def work() -> None:
        if spec.inputs.kind == "picture":
            inputs.for_report(Path(spec.inputs.picture)).save(folder / "picture.png")
        settings.make_folder(cache, "QUADRA_DRIVER_CACHE_DIR")
        if _has_custom_ops(spec):
            attempt.work("kernels", cache)
        starts, again = {}, []
        if spec.cold:
            attempt.work("cold", cache)
            starts["quadra"] = take_cold(folder)
        if spec.cold and spec.options.get("serialization_dir"):
            for _ in range(_SECOND_STARTS):
                attempt.work("second", cache)
                again.append(take_second(folder))
        lost = with_peers.run_with_peers(attempt, lambda mode, names: attempt.work(mode, cache, names))
        if spec.input_set and (count := further_inputs.begin(folder, spec)):
            _patient(attempt, count).work(further_inputs.MODE, cache)
        show("collect system information")
        run_folder.write_json(folder / "environment.json", environment.facts(library, spec.threads, spec.driver))
        add_timings(folder, lost)
        if spec.cold:
            merge_cold(folder, starts)
            add_timings(folder, seconds(again))
            shutil.rmtree(cache, ignore_errors=True)

    return attempt.finish(work, lambda: attempt.dump(cache))


def _patient(attempt: "HostAttempt", count: int) -> "HostAttempt":
    """The same with the deadline for each of so many inputs, which one process computes."""
    spec = structs.replace(attempt.spec, deadline_s=min(attempt.spec.deadline_s * count, _LONGEST_S))
    return HostAttempt(attempt.folder, attempt.library, spec, attempt.show)


def _has_custom_ops(spec: RunSpec) -> bool:
    try:
        return bool(reference_model.custom_ops(Path(spec.model.path).read_bytes()))
    except Exception:  # a damaged model: the worker says so
        return False


def _for_driver(spec: RunSpec) -> RunSpec:
    return structs.replace(spec, options={**entered(spec).options, **spec.options})


def entered(spec: RunSpec) -> Entry:
    """How processes find the driver of the spec. ToolMissing: it is not on this machine."""
    return driver_table.find(spec.driver).enter() if spec.driver else Entry()


def library_for(driver: str) -> Path | None:
    """The delegate that a row of the table of drivers runs with; None: the usual one."""
    own = driver_table.find(driver).library if driver else None
    return own() if own else None


def verdicts(spec: RunSpec, library: Path, folder: Path, show: Show = quiet) -> schema.Verdicts:
    """The delegate's report by the null backend, without a run folder. `folder` is scratch space."""
    run_folder.write_json(folder / "spec.json", spec.to_json())
    HostAttempt(folder, library, spec, show).work("verdicts", folder)
    return RunFolder(folder).read(schema.Verdicts)


def dump(spec: RunSpec, library: Path, folder: Path, show: Show = quiet) -> None:
    """Graphs, kernels and plans of a spec in `folder`, which is no run's: for the null backend. Of a signature, its own."""
    run_folder.write_json(folder / "spec.json", spec.to_json())
    attempt = HostAttempt(folder, library, spec, show)
    if not spec.signature:
        attempt.work("dump", folder)
        return
    attempt.work("plans", folder)
    one_graph.keep(folder)


def repeat(spec: RunSpec, library: Path, folder: Path, show: Show = quiet) -> schema.Repeats:
    """Equal inferences in one process: as many as the spec has repetitions. `folder` is no run's; it keeps arrays in `values/`."""
    run_folder.write_json(folder / "spec.json", spec.to_json())
    cache = settings.make_folder(settings.read().driver_cache_dir, "QUADRA_DRIVER_CACHE_DIR")
    HostAttempt(folder, library, spec, show).work("repeat", cache)
    return RunFolder(folder).read(schema.Repeats)


class HostAttempt(LocalAttempt):
    """Starts workers."""

    def __init__(self, folder: Path, library: Path, spec: RunSpec, show: Show) -> None:
        super().__init__(folder, spec, show)
        self.library, self.entry = library, entered(spec)

    def work(self, mode: str, cache: Path, names: Sequence[str] | None = None) -> None:
        """names: who runs beside Quadra; None: whom the RunSpec names."""
        peers = ",".join(self.spec.peers if names is None else names)
        self._python(mode, cache, "host_tools.places.worker", self.library, mode, cache, peers)

    def generate(self, side: str, cache: Path) -> None:
        self._python(side, cache, "host_tools.places.generation", self.library, side)

    def _python(self, title: str, cache: Path, module: str, *words: object) -> None:
        argv, env = python_command(module, self.folder, *words)
        told = {**cpu_drivers.settings(self.spec.threads), **cpu_drivers.caches(cache), **self.entry.env}
        self.start(title, [*self.entry.prefix, *argv], {**env, **told})


def python_command(module: str, *words: object) -> tuple[list[object], dict[str, str]]:
    """Arguments and environment of a process that runs a module of ours."""
    argv = [sys.executable, "-P", "-m", module, *words]
    return argv, {"PYTHONPATH": str(settings.ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
