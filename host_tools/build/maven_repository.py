"""Writes a library into a Maven repository in a folder, as `mvn deploy` would: Gradle and Maven take it from there."""

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from host_tools.base import settings
from host_tools.base.errors import Misuse
from host_tools.build.maven import Artifact

_POM = "http://maven.apache.org/POM/4.0.0"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_METADATA = "maven-metadata.xml"
_CHECKSUMS = ("md5", "sha1", "sha256", "sha512")


@dataclass(frozen=True)
class Library:
    """What is published. packaging: aar or jar. needs: what whoever uses it brings along (scope `provided`)."""

    group: str
    name: str
    version: str
    packaging: str
    title: str
    description: str
    needs: Sequence[Artifact] = ()

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"

    @property
    def stem(self) -> str:
        """How the names of its files begin."""
        return f"{self.name}-{self.version}"

    def folder(self, repository: Path) -> Path:
        """Where all its versions lie."""
        return repository / self.group.replace(".", "/") / self.name


def publish(library: Library, files: Mapping[str, Path], repository: Path) -> Path:
    """Puts files into the repository, each under its name there, with the POM and checksums, and names the version in
    maven-metadata.xml beside those that are there. The same version again replaces it. Returns the version's folder."""
    home = library.folder(repository)
    metadata = _metadata(library, home / _METADATA)
    folder = settings.make_folder(home / library.version, "--out")
    for name, file in files.items():
        _write(folder / name, file.read_bytes())
    _write(folder / f"{library.stem}.pom", pom(library))
    _write(home / _METADATA, metadata)  # last: whoever reads it finds what it names
    return folder


def pom(library: Library) -> bytes:
    """The POM."""
    schema = {
        "xmlns": _POM,
        "xmlns:xsi": _XSI,
        "xsi:schemaLocation": f"{_POM} {_POM.replace('POM/', 'xsd/maven-')}.xsd",
    }
    root = ElementTree.Element("project", schema)
    said = {
        "modelVersion": "4.0.0",
        "groupId": library.group,
        "artifactId": library.name,
        "version": library.version,
        "packaging": library.packaging,
        "name": library.title,
        "description": library.description,
    }
    _children(root, said)
    names = {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0.txt"}
    _children(ElementTree.SubElement(ElementTree.SubElement(root, "licenses"), "license"), names)
    dependencies = ElementTree.SubElement(root, "dependencies")
    for one in library.needs:
        row = {"groupId": one.group, "artifactId": one.name, "version": one.version, "type": one.type}
        _children(ElementTree.SubElement(dependencies, "dependency"), {**row, "scope": "provided"})
    return _text(root)


def _metadata(library: Library, file: Path) -> bytes:
    """maven-metadata.xml with this version as the newest. It has no time in it, which Maven does not need: the same
    versions make the same bytes."""
    versions = [one for one in _versions(file) if one != library.version] + [library.version]
    root = ElementTree.Element("metadata")
    _children(root, {"groupId": library.group, "artifactId": library.name})
    versioning = ElementTree.SubElement(root, "versioning")
    _children(versioning, {"latest": library.version, "release": library.version})
    rows = ElementTree.SubElement(versioning, "versions")
    for version in versions:
        _children(rows, {"version": version})
    return _text(root)


def _versions(file: Path) -> list[str]:
    if not file.exists():
        return []
    try:
        return [one.text or "" for one in ElementTree.parse(file).getroot().iterfind("versioning/versions/version")]
    except (OSError, ElementTree.ParseError) as error:
        do_next = "remove it to publish into an empty folder, or name another folder with --out"
        raise Misuse(f"read {file}", str(error), do_next) from error


def _children(parent: ElementTree.Element, texts: Mapping[str, str]) -> None:
    for tag, text in texts.items():
        ElementTree.SubElement(parent, tag).text = text


def _text(root: ElementTree.Element) -> bytes:
    ElementTree.indent(root)
    body: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'.encode()


def _write(path: Path, content: bytes) -> None:
    """A file and its checksums beside it, each whole or not there."""
    digests = {f"{path.name}.{kind}": hashlib.new(kind, content).hexdigest().encode() for kind in _CHECKSUMS}
    with tempfile.TemporaryDirectory(prefix=".publish-", dir=path.parent) as folder:
        for name, data in {path.name: content, **digests}.items():
            partial = Path(folder) / name
            partial.write_bytes(data)
            os.replace(partial, path.with_name(name))
