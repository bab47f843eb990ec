"""Zip files (APK, AAR, JAR, wheel) whose bytes depend on their content alone."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

WHEN = (1980, 1, 1, 0, 0, 0)  # in every entry: the same input makes the same bytes


def entry(name: str, how: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    """The head of an entry: no time, readable by all."""
    head = zipfile.ZipInfo(name, WHEN)
    head.compress_type, head.external_attr = how, 0o644 << 16
    return head


def pack(path: Path, content: Mapping[str, bytes | Path]) -> Path:
    """Writes a zip file with these entries, in this order; returns `path`."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(entry(name), data if isinstance(data, bytes) else data.read_bytes())
    return path


def tree(folder: Path, pattern: str) -> dict[str, Path]:
    """The files below a folder that match, by their names in an archive, sorted."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob(pattern))}
