"""A run folder as bytes, and back. What arrives is unpacked by the code that unpacks what devices send."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from host_tools.base import digests
from host_tools.base.errors import ReplyNotUnderstood, RunFailed
from host_tools.phone.files.unpack import BLOCK, Limits, Unpacker
from host_tools.record.spec import RunSpec

LIMITS = Limits(file_bytes=128 << 20, total_bytes=256 << 20)


class Packed(Struct):
    """digests: SHA-256 by relative name; tar: the files, uncompressed."""

    digests: dict[str, str] = {}
    tar: bytes = b""


def pack(folder: Path) -> Packed:
    """All regular files of a folder; RunFailed where they are more than a caller takes."""
    own = folder / RunSpec.FILE  # has paths of the host: who asked for the run has its own
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink() and path != own]
    sizes = [path.stat().st_size for path in files]
    if len(files) > LIMITS.files or sum(sizes) > LIMITS.total_bytes or max(sizes, default=0) > LIMITS.file_bytes:
        came_back = f"{len(files)} files, {sum(sizes) >> 20} MiB: at most {LIMITS.files}, {LIMITS.total_bytes >> 20} MiB, and {LIMITS.file_bytes >> 20} MiB each"
        raise RunFailed(f"send the run {folder.name}", came_back, "run the model without the lab")
    stream, found = io.BytesIO(), {}
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in files:
            name = path.relative_to(folder).as_posix()
            found[name] = digests.sha256_of(path)
            archive.add(path, name, recursive=False)
    return Packed(found, stream.getvalue())


def unpack(packed: Packed, folder: Path) -> None:
    """Every file that was announced, with its digest, or a DeviceError."""
    wanted: Mapping[str, str] = packed.digests
    if len(wanted) > LIMITS.files or len(packed.tar) > LIMITS.total_bytes + (3 * len(wanted) + 64) * BLOCK:
        came_back = f"{len(wanted)} files, {len(packed.tar) >> 20} MiB"
        raise ReplyNotUnderstood("unpack a run of the lab", came_back, "nothing of it was kept", step="unpack")
    unpacker = Unpacker(folder, wanted, LIMITS)
    try:
        unpacker.write(packed.tar)
    finally:
        unpacker.close()
    if len(unpacker.done) < len(wanted):
        came_back = f"{len(wanted) - len(unpacker.done)} of {len(wanted)} files did not come"
        raise ReplyNotUnderstood("unpack a run of the lab", came_back, "run it again", step="unpack")
