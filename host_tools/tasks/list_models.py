"""`inv models`: the user's own models, then those that can be fetched."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from host_tools.base import settings
from host_tools.base.errors import FolderNotWritable
from host_tools.base.text_table import Table, number, text
from host_tools.base.units import size_text
from host_tools.request import catalogue, decoder_sizes, make_decoder, models


def show(console: Console) -> None:
    """Prints both lists: names as tasks take them, sizes, and where each file is."""
    own = models.own_files()
    taken: set[str] = set()
    for folder, files in own:
        console.print(f"Your models in {escape(str(folder))} (QUADRA_MODELS_DIR):", soft_wrap=True)
        _show_own(folder, files, taken, console)
    if not own:
        console.print("Your own models: set QUADRA_MODELS_DIR to their folder, or give the path of any .tflite file.")
    for name, wheel in catalogue.wheels().items():
        entries = [(entry, where) for entry, where in models.status() if entry.wheel == name]
        if entries:
            package, size = wheel.requirement.replace("==", " "), size_text(wheel.bytes)
            console.print(f"\nModels of the package {package} ({wheel.licence}; one download of {size}):")
            _show_fetched(entries, taken, console)


def make(sizes: str, seed: int, path: Path) -> Path:
    """Writes a decoder with random weights; its path. Misuse: no such sizes, or the file cannot be written."""
    chosen = decoder_sizes.chosen(sizes)
    try:
        make_decoder.write(chosen, path, seed)
    except OSError as error:
        raise FolderNotWritable(f"write {path}", error.strerror or str(error), "give another --out") from error
    return path


@dataclass(frozen=True)
class Row:
    """A model. name: as tasks take it. path: empty: it is not here. source: the folder or the package that has it."""

    name: str
    path: str
    bytes: int
    source: str
    about: str = ""


def rows() -> list[Row]:
    """All of both lists."""
    found = [
        Row(path.stem, str(path), path.stat().st_size, str(folder))
        for folder, files in models.own_files()
        for path in files
    ]
    packages = {name: wheel.requirement for name, wheel in catalogue.wheels().items()}
    for entry, where in models.status():
        found.append(Row(entry.name, str(where or ""), entry.bytes, packages[entry.wheel], entry.about))
    return found


def _show_own(folder: Path, files: list[Path], taken: set[str], console: Console) -> None:
    """taken: the names of earlier folders, to which this one's are added."""
    if not files:
        console.print(f"  {'no .tflite file' if folder.is_dir() else 'there is no such folder'}")
        return
    table = Table([text("  name", least=44), number("size"), text("", least=24)])
    for path in files:
        hidden = "an earlier folder has this name: give the path" if path.stem in taken else ""
        table.add_row(f"  {escape(path.stem)}", size_text(path.stat().st_size), hidden)
    taken.update(path.stem for path in files)
    table.show(console)


def _show_fetched(entries: list[tuple[catalogue.Entry, Path | None]], taken: set[str], console: Console) -> None:
    downloads = settings.read().downloads_dir
    table = Table([text("  name", least=44), number("size"), text("what it finds", 1, least=12), text("here", least=8)])
    for entry, where in entries:
        place = "no" if not where else "fetched" if downloads in where.parents else escape(str(where.parent))
        place = "your file of this name is used" if entry.name in taken and place in ("no", "fetched") else place
        table.add_row(f"  {entry.name}", size_text(entry.bytes), entry.about, place)
    table.show(console)
    missing = sum(where is None for _, where in entries)
    if missing:
        console.print(
            f"`{models.FETCH}` fetches the {missing} that are not here, into {escape(str(downloads))}.", soft_wrap=True
        )
