"""Bundles of models: `.litertlm` (LiteRT-LM) and `.task` (MediaPipe), with .tflite files among tokenizers and metadata.

A model in a bundle is copied into the folder of downloads once, since interpreters open files. A bundle comes from outside:
every size and offset is checked before a byte is copied.

    .litertlm: LITERTLM, three words of the version, at 24 the end of the header, at 32 the header (a FlatBuffer), sections
    .task: a zip archive
"""

import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from flatbuffers import number_types
from flatbuffers.table import Table

from host_tools.base import digests, settings
from host_tools.base.errors import Misuse, not_written
from host_tools.base.units import size_text

ENDINGS = (".litertlm", ".task")
_USUAL = "prefill_decode"  # the decoder of a language model
_MAGIC, _END_AT, _HEADER_AT = b"LITERTLM", 24, 32
_MOST_HEADER = 1 << 24
_MOST_SECTIONS = 1024
_MODEL, _WEIGHTS, _TEXT = 3, 7, 9  # kinds of sections; the kind of an item's value
_MOST_RATIO = 8  # of a model's size and the archive's: weights do not compress that well
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Part:
    """A model in a bundle. member: of the archive; empty: the bytes from `begin` to `end`."""

    name: str
    begin: int = 0
    end: int = 0
    member: str = ""


def split(name: str) -> tuple[str, str]:
    """`gemma.litertlm#embedder` as the bundle and the part. Others, and bundles without a part, have an empty part."""
    bundle, mark, part = name.partition("#")
    return (bundle, part) if mark and bundle.endswith(ENDINGS) else (name, "")


def is_bundle(path: Path) -> bool:
    return path.suffix in ENDINGS


def model_in(path: Path, part: str = "") -> Path:
    """The file of a model in a bundle: of this part, of the decoder, or of the only one. Misuse: the bundle is damaged, or has no
    such part."""
    try:
        parts = _of_litertlm(path) if path.suffix == ".litertlm" else _of_task(path)
    except OSError as error:
        raise Misuse(f"read the bundle {path}", error.strerror or str(error), "make the file readable") from error
    chosen = _chosen(path, {one.name: one for one in parts}, part)
    folder = settings.read().downloads_dir / "bundles" / digests.sha256_of(path)[:16]
    file = folder / f"{path.stem}_{chosen.name}.tflite"
    if not file.is_file():
        settings.make_folder(folder, "QUADRA_DOWNLOADS_DIR")
        try:
            _copy(path, chosen, file)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
            raise _damaged(path, f"its part {chosen.name} cannot be read: {error}") from error
        except OSError as error:
            raise not_written(f"copy {chosen.name} of {path} to {file}", error, "QUADRA_DOWNLOADS_DIR") from error
    return file


def _chosen(path: Path, parts: dict[str, Part], wanted: str) -> Part:
    names = ", ".join(parts)
    if not parts:
        raise Misuse(f"open the bundle {path}", "it has no .tflite model", "give a bundle with one")
    if wanted and wanted not in parts:
        raise Misuse(f"open {wanted} of the bundle {path}", f"its models are {names}", f"give one as {path.name}#NAME")
    found = parts.get(wanted or _USUAL) or (next(iter(parts.values())) if len(parts) == 1 else None)
    if not found:
        raise Misuse(f"open the bundle {path}", f"it has several models: {names}", f"give one as {path.name}#NAME")
    return found


def _of_litertlm(path: Path) -> list[Part]:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(_HEADER_AT)
        if start[: len(_MAGIC)] != _MAGIC or len(start) < _HEADER_AT:
            raise _damaged(path, "it does not start as a .litertlm file does")
        (end,) = struct.unpack_from("<Q", start, _END_AT)
        if not _HEADER_AT < end <= min(size, _MOST_HEADER):
            raise _damaged(path, f"its header ends at byte {end} of {size}")
        header = file.read(end - _HEADER_AT)
    try:
        sections = list(_sections(header))
    except (struct.error, IndexError, TypeError, ValueError, OverflowError) as error:
        raise _damaged(path, f"its header is not one ({error})") from error
    parts: list[Part] = []
    for kind, begin, after, name in sections:
        if kind in (_MODEL, _WEIGHTS) and not end <= begin < after <= size:
            raise _damaged(path, f"its section {name or kind} has the bytes {begin} to {after} of {size}")
        if kind == _MODEL:
            parts.append(Part(_plain(name) or f"model_{len(parts)}", begin, after))
    apart = {_plain(name) for kind, _, _, name in sections if kind == _WEIGHTS} & {part.name for part in parts}
    if apart:
        did = f"weights of {', '.join(sorted(apart))} are sections of their own"
        raise Misuse(f"open the bundle {path}", did, "give one that was built with the weights in the model")
    return parts


def _sections(header: bytes) -> Iterator[tuple[int, int, int, str]]:
    """Kind, first byte, end and model_type of each."""
    root = _table(header, Table(header, 0).Indirect(0))
    sections = _inner(root, 1)
    at = sections.Offset(4) if sections else 0
    if not sections or not at:
        return
    count = sections.VectorLen(at)
    if count > _MOST_SECTIONS:
        raise ValueError(f"{count} sections")
    for index in range(count):
        one = _table(header, sections.Indirect(sections.Vector(at) + 4 * index))
        begin, end = (_number(one, slot, number_types.Uint64Flags) for slot in (1, 2))
        yield _number(one, 3, number_types.Uint8Flags), begin, end, _model_type(header, one)


def _model_type(header: bytes, section: Table) -> str:
    at = section.Offset(4)
    for index in range(min(section.VectorLen(at), _MOST_SECTIONS) if at else 0):
        item = _table(header, section.Indirect(section.Vector(at) + 4 * index))
        if _text(item, 0) == "model_type" and _number(item, 1, number_types.Uint8Flags) == _TEXT:
            value = _inner(item, 2)
            return _text(value, 0) if value else ""
    return ""


def _table(data: bytes, at: int) -> Table:
    if not 0 <= at < len(data):
        raise ValueError("an offset points outside of it")
    return Table(data, at)


def _inner(table: Table, slot: int) -> Table | None:
    at = table.Offset(4 + 2 * slot)
    return _table(table.Bytes, table.Indirect(table.Pos + at)) if at else None


def _number(table: Table, slot: int, flags: type) -> int:
    at = table.Offset(4 + 2 * slot)
    return int(table.Get(flags, table.Pos + at)) if at else 0


def _text(table: Table, slot: int) -> str:
    at = table.Offset(4 + 2 * slot)
    raw: bytes = table.String(table.Pos + at) if at else b""
    return raw.decode("utf-8", "replace")


def _of_task(path: Path) -> list[Part]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise _damaged(path, f"it is no zip archive: {error}") from error
    most, parts = _MOST_RATIO * path.stat().st_size + _BLOCK, []
    for member in members[:_MOST_SECTIONS]:
        name = _plain(member.filename)
        if not member.filename.endswith(".tflite") and not member.filename.startswith("TF_LITE_"):
            continue
        if member.file_size > most:
            raise _damaged(path, f"its part {name} says that it has {size_text(member.file_size)}")
        parts.append(Part(name, member=member.filename))
    return parts


def _plain(name: str) -> str:
    """prefill_decode of tf_lite_prefill_decode, TF_LITE_PREFILL_DECODE and models/prefill_decode.tflite: a part of a file's name."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1].lower().removesuffix(".tflite").removeprefix("tf_lite_")
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in last)[
        :100
    ]


@contextmanager
def _opened(path: Path, part: Part) -> Iterator[tuple[BinaryIO, int]]:
    """Where the part's bytes are read, and how many."""
    if part.member:
        with zipfile.ZipFile(path) as archive, archive.open(part.member) as member:
            yield member, archive.getinfo(part.member).file_size  # type: ignore[misc]
        return
    with path.open("rb") as file:
        file.seek(part.begin)
        yield file, part.end - part.begin


def _copy(path: Path, part: Part, to: Path) -> None:
    """Beside its place, and renamed: others see the whole file or none."""
    handle, scratch = tempfile.mkstemp(prefix=".bundle-", dir=to.parent)
    try:
        with os.fdopen(handle, "wb") as out, _opened(path, part) as (source, left):
            while left > 0:
                block = source.read(min(left, _BLOCK))
                if not block:
                    raise EOFError("it ends too early")
                out.write(block)
                left -= len(block)
        shutil.move(scratch, to)
    finally:
        Path(scratch).unlink(missing_ok=True)


def _damaged(path: Path, came_back: str) -> Misuse:
    return Misuse(f"open the bundle {path}", came_back, "copy it again, or fetch it again where it came from")
