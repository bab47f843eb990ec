"""The run folder: everything that happened in one run, for the analysis that comes after. See docs/run_folder.md.

While a run goes on its folder is `.partial-ID`; at the end, good or bad, it becomes `ID` in one rename and
`status.json` says how it ended. So a folder named ID is never written to by a run that still goes on.
"""

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional

import numpy as np

from host_tools import settings, spec as specs
from host_tools.errors import FolderNotWritable, Misuse

SCHEMA_VERSION = 1
PARTIAL = ".partial-"
LATEST = "latest"
COMPLETE = "complete"  # the other states: failed, crashed, timed_out, interrupted


@dataclass(frozen=True)
class RunFolder:
    """Reads one run folder. Every reader says what is missing and why."""

    path: Path

    def spec(self) -> specs.RunSpec:
        return specs.from_json(self.json("spec.json"), str(self.path / "spec.json"))

    def status(self) -> Dict[str, Any]:
        return self.json("status.json")

    def is_complete(self) -> bool:
        return self.has("status.json") and self.status().get("state") == COMPLETE

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def json(self, name: str) -> Any:
        """The value of a JSON file of the folder."""
        file = self.path / name
        try:
            return json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise Misuse(f"read {file}", "the run did not leave it", self._ended()) from error
        except (OSError, ValueError) as error:
            raise Misuse(f"read {file}", f"it is damaged ({error})", "run the model again") from error

    def optional_json(self, name: str, default: Any = None) -> Any:
        return self.json(name) if self.has(name) else default

    def arrays(self, group: str) -> List[np.ndarray]:
        """The arrays of `inputs`, `outputs` or `cpu_outputs`, in the model's order."""
        files = sorted((self.path / group).glob("*.npy"))
        if not files:
            raise Misuse(f"read {self.path / group}", "the run left no arrays there", self._ended())
        return [self._array(file) for file in files]

    def tensors(self, group: str) -> List[Dict[str, Any]]:
        """Names, types, shapes and scales of the arrays of a group (tensors.json)."""
        return self.json("tensors.json").get(group, [])

    def partitions(self) -> List[Path]:
        found = [p for p in self.path.glob("partition_*") if p.is_dir()]
        return sorted(found, key=lambda p: (len(p.name), p.name))

    def _array(self, file: Path) -> np.ndarray:
        try:
            return np.load(file, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise Misuse(f"read {file}", f"it is damaged ({error})", "run the model again") from error

    def _ended(self) -> str:
        if not self.has("status.json"):
            return f"{self.path} is not a run folder, or its run was cut off: run the model again"
        try:
            status = json.loads((self.path / "status.json").read_text(encoding="utf-8"))
            state, stage = status.get("state"), status.get("stage")
        except (OSError, ValueError, AttributeError):
            return "its status.json is damaged too: run the model again"
        if state == COMPLETE:
            return "the run was not asked for it: run the model again with it"
        return f"the run {state} at the stage '{stage}'; {self.path / 'log.txt'} has its output"


def start(spec: specs.RunSpec, runs_dir: Path) -> Path:
    """Makes the partial folder of a run with its spec.json."""
    settings.make_folder(runs_dir, "QUADRA_RUNS_DIR")
    path = runs_dir / (PARTIAL + spec.run_id)
    settings.make_folder(path, "QUADRA_RUNS_DIR")
    write_json(path / "spec.json", spec.to_json())
    return path


def finish(partial: Path, state: str, stage: str = "", error: Optional[Dict[str, Any]] = None) -> RunFolder:
    """Writes status.json, gives the folder its name, and points `latest` to it."""
    status = {"schema_version": SCHEMA_VERSION, "state": state, "stage": stage, **({"error": error} if error else {})}
    write_json(partial / "status.json", status)
    final = partial.with_name(partial.name[len(PARTIAL) :])
    try:
        os.rename(partial, final)
        _point_latest(final)
    except OSError as error_:
        raise FolderNotWritable(f"name the run folder {final}", str(error_), "see to that path") from error_
    return RunFolder(final)


def find(name: str, runs_dir: Path) -> RunFolder:
    """The run that `name` means: `latest`, an id, the beginning of one id, or a path."""
    as_path = Path(name).expanduser()
    for path in (runs_dir / name, as_path):
        if name and path.is_dir() and (path / "spec.json").exists():
            return RunFolder(path.resolve())
    known = list_ids(runs_dir)
    fits = [run_id for run_id in known if name and run_id.startswith(name)]
    if len(fits) == 1:
        return RunFolder(runs_dir / fits[0])
    if not known:
        raise Misuse(f"find the run '{name}'", f"{runs_dir} holds no runs", "make one: `./inv run selfie_segmentation`")
    came_back = f"{len(fits)} runs begin so" if fits else f"no folder of {runs_dir} has that name"
    raise Misuse(
        f"find the run '{name}'", came_back, "use `latest`, a path, or one of: " + ", ".join((fits or known)[-5:])
    )


def list_ids(runs_dir: Path) -> List[str]:
    """Ids of the finished runs, oldest first."""
    if not runs_dir.is_dir():
        return []
    return sorted(
        p.name for p in runs_dir.iterdir() if not p.is_symlink() and (p / "spec.json").exists() and p.name[0] != "."
    )


def write_json(path: Path, value: Any) -> None:
    """Writes the file in one step: a reader sees the old bytes or the new ones."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """As write_json, for text. Lone surrogates of hostile names become replacement signs."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as stream:
                stream.write(text)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise FolderNotWritable(
            f"write {path}", error.strerror or str(error), "free space there, or set QUADRA_RUNS_DIR"
        ) from error


def write_arrays(folder: Path, arrays: List[np.ndarray]) -> None:
    """Writes 000.npy, 001.npy, … into `folder`; a half written group is never seen."""
    temporary = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        for index, array in enumerate(arrays):
            np.save(temporary / f"{index:03d}.npy", array, allow_pickle=False)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(temporary, folder)
    except OSError as error:
        raise FolderNotWritable(
            f"write the arrays of {folder}", error.strerror or str(error), "free space there, or set QUADRA_RUNS_DIR"
        ) from error


def _point_latest(final: Path) -> None:
    link = final.parent / f".{LATEST}-{os.getpid()}"
    link.unlink(missing_ok=True)
    link.symlink_to(final.name)
    os.replace(link, final.parent / LATEST)
