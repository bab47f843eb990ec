"""The run folder: everything that happened in one run, for the analysis that comes after. See docs/run_folder.md.

While a run goes on its folder is `.partial-ID`; at the end, good or bad, it becomes `ID` in one rename and
`status.json` says how it ended. So a folder named ID is never written to by a run that still goes on.
"""

import contextlib
import os
import re
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, TypeVar

import msgspec
import numpy as np

from host_tools.base import portable, settings
from host_tools.base.errors import FolderNotWritable, Misuse, QuadraError, not_written, shown
from host_tools.record import reading, run_names, schema, spec as specs
from host_tools.record.run_names import LATEST

PARTIAL = ".partial-"
CPU_MODEL = "cpu_model.tflite"  # for the CPU's interpreter, where the model has ops of the delegate alone
COMPLETE: Final = "complete"  # the other states: failed, crashed, timed_out, interrupted
K = TypeVar("K", bound=schema.Kept)
_ABANDONED = re.compile(re.escape(PARTIAL) + specs.RUN_ID.pattern)
_KEPT_FOR_PULL_S = 7 * 24 * 3600.0  # what a device's run left there can still be pulled into its folder
_SMALL_BYTES = 64 << 10  # what a run keeps of a file where the disk is full
_held: dict[Path, int] = {}  # partial folders of this process, each open and locked


@dataclass(frozen=True)
class RunFolder:
    """Reads one run folder. Every reader says what is missing and why; whatever is damaged is a Misuse."""

    path: Path

    def spec(self) -> specs.RunSpec:
        return specs.checked(self.read(specs.RunSpec))

    def status(self) -> schema.Status:
        return self.read(schema.Status)

    def is_complete(self) -> bool:
        return self.has("status.json") and self.status().state == COMPLETE

    def has(self, name: str) -> bool:
        return os.path.exists(self.path / name)

    def read(self, kind: type[K]) -> K:
        """The file of a type of schema.py."""
        with self._said_why_missing():
            return reading.kept(self.path, kind)

    def optional(self, kind: type[K]) -> K | None:
        """The same; None where the run did not write it."""
        return self.read(kind) if self.has(kind.FILE) else None

    def json(self, name: str) -> Any:
        """All of a JSON file, also what its type does not know: for who writes it again with more."""
        with self._said_why_missing():
            content = reading.content(self.path / name, reading.JSON_BYTES)
            reading.json_bytes(content, schema.files()[name], str(self.path / name))
            return reading.json_bytes(content, Any, str(self.path / name))

    def subgraph(self) -> int:
        """The graph of the model that ran: 0, the main one, or a signature's."""
        model = self.optional(schema.Model)
        return model.subgraph if model else 0

    def arrays(self, group: str) -> list[np.ndarray]:
        """The arrays of `inputs`, `outputs` or `cpu_outputs`, in the model's order."""
        files = sorted((self.path / group).glob("*.npy"))
        if not files:
            raise Misuse(f"read {self.path / group}", "the run wrote no arrays there", self._ended())
        return [reading.array(file) for file in files]

    def tensors(self, group: str) -> list[schema.Tensor]:
        """Names, types, shapes and scales of the arrays of a group (tensors.json)."""
        return self.read(schema.Tensors).group(group)

    def log(self, limit_bytes: int = reading.TEXT_BYTES) -> str:
        """The end of log.txt; empty where there is none."""
        try:
            return reading.text(self.path / "log.txt", limit_bytes)
        except Misuse:
            return ""

    def partitions(self) -> list[Path]:
        found = [p for p in self.path.glob("partition_*") if p.is_dir()]
        return sorted(found, key=lambda p: (len(p.name), p.name))

    @contextlib.contextmanager
    def _said_why_missing(self) -> Iterator[None]:
        try:
            yield
        except reading.Missing as error:
            raise Misuse(error.tried, "the run did not write it", self._ended()) from error

    def _ended(self) -> str:
        if not self.has("status.json"):
            return f"{self.path} is not a run folder, or its run was killed: run the model again"
        try:
            status = reading.kept(self.path, schema.Status)
        except Misuse:
            return "its status.json is damaged too: run the model again"
        if status.state == COMPLETE:
            return "the run was not asked for it: run the model again with it"
        return f"the run {status.state} at the stage '{status.stage}'; {self.path / 'log.txt'} has its output"


def partial(spec: specs.RunSpec, runs_dir: Path) -> Path:
    """Where start() makes the folder of this run."""
    return runs_dir / (PARTIAL + spec.run_id)


def start(spec: specs.RunSpec, runs_dir: Path) -> Path:
    """Makes the partial folder of a run with its spec.json. What killed runs left there goes first.

    Ctrl-C may come at any moment: who calls it inside `try` asks began() afterwards. Misuse: another process works there.
    """
    settings.utf8_path(runs_dir, "make a run folder", "set QUADRA_RUNS_DIR to another folder")
    settings.make_folder(runs_dir, "QUADRA_RUNS_DIR")
    path = partial(spec, runs_dir)
    with _alone(runs_dir):
        clear(runs_dir)
        try:
            settings.make_folder(path, "QUADRA_RUNS_DIR")
            if not hold(path):
                tried, came_back = f"start the run {spec.run_id}", f"another process works in {path}"
                raise Misuse(tried, came_back, "wait for its end, then run the model again")
            write_json(path / specs.RunSpec.FILE, spec.to_json())
        except BaseException:
            began(path)
            raise
    return path


def began(partial: Path) -> bool:
    """Whether the folder is ours and has its spec.json, so that finish() can name it. One of ours without it is removed."""
    if not partial.is_dir() or not hold(partial):
        return False
    if (partial / specs.RunSpec.FILE).exists():
        return True
    shutil.rmtree(partial, ignore_errors=True)
    _let_go(partial)
    return False


def hold(partial: Path) -> bool:
    """Says that this process works in the folder, until finish() or its own end, however that comes. False: another does."""
    if portable.LOCKS_FOLDERS and partial not in _held:
        _held[partial] = portable.opened_folder(partial)
        try:
            if not portable.lock(_held[partial]):
                _let_go(partial)
                return False
        except OSError:
            pass  # a file system without locks: then nobody clears anything there
    return True


def take_over(spec: specs.RunSpec, runs_dir: Path) -> specs.RunSpec:
    """`spec` under the id of a run that asked for the same and whose process was killed; its folder is removed. As it is
    where there is none."""
    for path in sorted(runs_dir.glob(f"{PARTIAL}*")):
        try:
            known = RunFolder(path).spec()
        except QuadraError:
            continue
        same = msgspec.structs.replace(known, run_id=spec.run_id) == spec
        if same and path.name == PARTIAL + known.run_id and _ABANDONED.fullmatch(path.name) and hold(path):
            shutil.rmtree(path, ignore_errors=True)
            _let_go(path)
            return known
    return spec


def lock_of(partial: Path) -> list[int]:
    """The descriptor that holds the folder, for processes that work there and may outlive this one."""
    return [_held[partial]] if partial in _held else []


def clear(runs_dir: Path) -> None:
    """Removes the partial folders of runs whose processes were killed: ours, and nobody's now.

    That of a device's run stays for a week: `inv pull` goes on with it.
    """
    for path in runs_dir.glob(f"{PARTIAL}*") if portable.LOCKS_FOLDERS else ():
        with contextlib.suppress(OSError):
            _clear(path)


def _clear(path: Path) -> None:
    if not _ABANDONED.fullmatch(path.name):
        return
    handle = portable.opened_folder(path, links=False)
    try:
        facts = os.fstat(handle)
        if not (portable.is_mine(facts) and stat.S_ISDIR(facts.st_mode) and portable.lock(handle)):
            return
        if time.time() - facts.st_mtime > _KEPT_FOR_PULL_S or not _is_of_device(path):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)


def _is_of_device(path: Path) -> bool:
    try:
        return RunFolder(path).spec().place == "device"
    except QuadraError:
        return False


@contextlib.contextmanager
def _alone(runs_dir: Path) -> Iterator[None]:
    """No other process starts a run there meanwhile: a folder that is made is not yet held."""
    if not portable.LOCKS_FOLDERS:
        yield
        return
    handle = portable.opened_folder(runs_dir)
    try:
        with contextlib.suppress(OSError):
            portable.lock(handle, waits=True)
        yield
    finally:
        os.close(handle)


def finish(partial: Path, state: str, stage: str = "", error: QuadraError | None = None) -> RunFolder:
    """Writes status.json, gives the folder its name, and points `latest` to it. error: why it did not finish.

    Where the folder cannot be written, all but what explains that goes, so that a full disk has room again; a run that
    was complete until then has failed: FolderNotWritable, whose `kept` is the folder. It goes, too, where even that
    cannot be written.
    """
    final = partial.with_name(partial.name[len(PARTIAL) :])
    full: FolderNotWritable | None = None
    try:
        if isinstance(error, FolderNotWritable):
            _make_room(partial)
        try:
            _write_status(partial, state, stage, error)
        except FolderNotWritable as found:
            full = found
            _make_room(partial)
            _write_status(partial, "failed" if state == COMPLETE else state, stage, error or full)
        os.rename(partial, final)
        _point_latest(final)
    except FolderNotWritable:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    except OSError as error_:
        raise not_written(f"name the run folder {final}", error_) from error_
    finally:
        _let_go(partial)
    if full and not error:
        full.kept = final
        raise full
    return RunFolder(final)


def _write_status(partial: Path, state: str, stage: str, error: QuadraError | None) -> None:
    status: dict[str, Any] = {"schema_version": schema.VERSION, "state": state, "stage": stage}
    if error:
        status["error"] = {"exit_code": error.exit_code, "parts": [shown(part) for part in error.args]}
    write_json(partial / schema.Status.FILE, status)


def _make_room(partial: Path) -> None:
    """Removes arrays, plans and whatever else is large; the log keeps its end."""
    for path in partial.iterdir():
        with contextlib.suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name == "log.txt":
                _keep_end(path)
            elif path.lstat().st_size > _SMALL_BYTES:
                path.unlink()


def _keep_end(path: Path) -> None:
    """Of a file that is larger than _SMALL_BYTES; in its own place, which needs no room."""
    with open(path, "r+b") as file:
        start = file.seek(0, os.SEEK_END) - _SMALL_BYTES
        if start > 0:
            file.seek(start)
            end = file.read()
            file.seek(0)
            file.write(end)
            file.truncate()


def _let_go(partial: Path) -> None:
    if partial in _held:
        os.close(_held.pop(partial))


def find(name: str, runs_dir: Path) -> RunFolder:
    """The run that `name` means: `latest`, an id or a prefix of it, a model (its newest run), or a path."""
    as_path = Path(name).expanduser()
    for path in (runs_dir / name, as_path):
        if name and path.is_dir() and (path / "spec.json").exists():
            return RunFolder(path.resolve())
    known = list_ids(runs_dir)
    if name and as_path.is_dir() and not run_names.fitting(name, known):
        raise Misuse(f"find the run '{name}'", "that folder has no spec.json", "give the folder of a run, or its id")
    if not known:
        raise Misuse(f"find the run '{name}'", f"{runs_dir} holds no runs", "make one: `./inv run selfie_segmentation`")
    return RunFolder(runs_dir / run_names.chosen(name, known, f"find the run '{name}'", str(runs_dir)))


def list_ids(runs_dir: Path) -> list[str]:
    """Ids of the finished runs, oldest first."""
    try:
        with os.scandir(runs_dir) as entries:
            names = [e.name for e in entries if e.name[0] != "." and not e.is_symlink()]
    except OSError:
        return []
    return sorted(name for name in names if os.path.exists(runs_dir / name / "spec.json"))


def write_json(path: Path, value: Any) -> None:
    """Writes the file in one step: a reader sees the old bytes or the new ones. value: plain, or of schema.py."""
    value = schema.plain(value) if isinstance(value, msgspec.Struct) else value
    write_text(path, dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """As write_json, for text. Lone surrogates of hostile names become replacement signs."""
    write_bytes(path, text.encode("utf-8", errors="replace"))


def write_bytes(path: Path, content: bytes, variable: str = "QUADRA_RUNS_DIR") -> None:
    """As write_json, for bytes. variable: the setting that moves the folder, for the error FolderNotWritable."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise not_written(f"write {path}", error, variable) from error


def write_arrays(folder: Path, arrays: list[np.ndarray]) -> None:
    """Writes 000.npy, 001.npy, … into `folder`; a half written group is never seen."""
    temporary = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        for index, array in enumerate(arrays):
            with open(temporary / f"{index:03d}.npy", "wb") as stream:
                # np.save would write past Python, and not say that the disk is full.
                np.lib.format.write_array(SimpleNamespace(write=stream.write), array, allow_pickle=False)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(temporary, folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)  # on a full disk there is room again to say so
        raise not_written(f"write the arrays of {folder}", error) from error


def _point_latest(final: Path) -> None:
    link = final.parent / f".{LATEST}-{os.getpid()}-{threading.get_ident()}"  # runs of one process end side by side
    link.unlink(missing_ok=True)
    link.symlink_to(final.name)
    os.replace(link, final.parent / LATEST)


def renew_latest(runs_dir: Path) -> None:
    """Points `latest` to the newest run there is, where the one that it named was removed."""
    link, known = runs_dir / LATEST, list_ids(runs_dir)
    if link.is_symlink() and not link.exists():
        link.unlink()
        if known:
            _point_latest(runs_dir / known[-1])
