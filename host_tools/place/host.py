"""Runs a model on this machine, in processes of its own, and leaves a run folder."""

import contextlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from host_tools import bazel, environment, inputs, run_folder, settings, spec as specs
from host_tools.errors import QuadraError
from host_tools.place import drivers
from host_tools.place.child import Child, Show, merge_cold, take_cold
from host_tools.run_folder import RunFolder


def library() -> Path:
    """The delegate for this place; built if that is needed."""
    return bazel.library()


def run(
    spec: specs.RunSpec, library: Path, show: Show = lambda text: None, runs_dir: Optional[Path] = None
) -> RunFolder:
    """Runs `spec` with the delegate `library`; returns the finished run folder, in runs_dir (default: the setting's).

    RunFailed (or the error that the worker met) when it did not come to its end: the folder is kept, marked.
    """
    config = settings.read()
    folder = run_folder.start(spec, runs_dir or config.runs_dir)
    child = _Child(folder, library, spec, show)
    cache = folder / "driver_cache" if spec.cold else config.driver_cache_dir

    def work() -> None:
        if spec.inputs.kind == "picture":
            inputs.for_report(Path(spec.inputs.picture)).save(folder / "picture.png")
        settings.make_folder(cache, "QUADRA_DRIVER_CACHE_DIR")
        starts = {}
        if spec.cold:
            child.work("cold", cache)
            starts["quadra"] = take_cold(folder)
        child.work("run", cache)
        show("gather facts of this machine")
        run_folder.write_json(folder / "environment.json", environment.facts(library, spec.threads))
        if spec.cold:
            merge_cold(folder, starts)
            shutil.rmtree(cache, ignore_errors=True)

    return child.finish(work, lambda: child.dump(cache))


def verdicts(spec: specs.RunSpec, library: Path, folder: Path, show: Show = lambda text: None) -> Dict[str, Any]:
    """The delegate's report by the null backend, without a run folder. `folder` is scratch space."""
    run_folder.write_json(folder / "spec.json", spec.to_json())
    _Child(folder, library, spec, show).work("verdicts", folder)
    return json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))


class _Child(Child):
    """Starts workers."""

    def __init__(self, folder: Path, library: Path, spec: specs.RunSpec, show: Show) -> None:
        super().__init__(folder, spec, show)
        self.library = library

    def work(self, mode: str, cache: Path) -> None:
        argv, env = python_command("host_tools.place.host_worker", self.folder, self.library, mode, cache)
        self.start(mode, argv, {**env, **drivers.settings(self.spec.threads), **drivers.caches(cache)})

    def dump(self, cache: Path) -> None:
        """What was made of the model is worth a look above all when it failed: written down, if that works."""
        if not any(self.folder.glob("partition_*")):
            with contextlib.suppress(QuadraError):
                self.work("dump", cache)


def python_command(module: str, *words: object) -> Tuple[List[object], Dict[str, str]]:
    """Arguments and environment of a process that runs a module of ours."""
    argv = [sys.executable, "-P", "-m", module, *words]
    return argv, {"PYTHONPATH": str(settings.ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
