"""Makes a release's software bill of materials: which files it has, and which parts of others are in each, or needed by it.

CycloneDX 1.6 as JSON. The same release gives the same bytes: no time is in it, and its serial number follows from its files.
"""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL
from packaging.requirements import Requirement

from host_tools.base import child_process, digests
from host_tools.base.errors import CommandFailed, ToolMissing
from host_tools.build import maven

NAME = "sbom.cdx.json"
# Debian packages whose headers are compiled into the libraries (bazel/system_dependencies.bzl).
HEADERS = ("libflatbuffers-dev", "opencl-c-headers", "libegl-dev", "libgles-dev", "default-jdk-headless")
_SERIES = uuid.UUID("5d7f3a0e-9a0b-4f53-9b33-6f1b1c1f2f65")  # of our serial numbers; any constant


@dataclass(frozen=True)
class Parts:
    """What a file of the release has of others, and the Python packages that it needs."""

    inside: Sequence[Component]
    needed: Sequence[Component] = ()


def write(out: Path, files: Mapping[Path, Parts]) -> Path:
    """The bill of `files`, which are in the folder `out`."""
    bom = Bom()
    bom.metadata.component = release = Component(
        name="quadra", version=maven.version("quadra-name"), type=ComponentType.APPLICATION, bom_ref="quadra"
    )
    ours = {path: _file(path, out) for path in files}
    others = {str(part.bom_ref): part for parts in files.values() for part in (*parts.inside, *parts.needed)}
    bom.components.update([*ours.values(), *others.values()])
    bom.register_dependency(release, ours.values())
    for path, parts in files.items():
        bom.register_dependency(ours[path], (others[str(part.bom_ref)] for part in (*parts.inside, *parts.needed)))
    bom.serial_number = uuid.uuid5(_SERIES, "".join(sorted(next(iter(one.hashes)).content for one in ours.values())))
    made = json.loads(make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string())
    del made["metadata"]["timestamp"]
    (out / NAME).write_text(json.dumps(made, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return out / NAME


def python_packages(requirements: Iterable[str]) -> list[Component]:
    """The packages that a wheel asks for, at the versions that are tested here."""
    return [_package(Requirement(one).name) for one in requirements]


def headers() -> list[Component]:
    """What the libraries have of others: headers of Debian packages, at the versions of this machine."""
    argv = ["dpkg-query", "--show", "--showformat", "${Package} ${Version}\n", *HEADERS]
    try:
        found = child_process.run(argv, timeout_s=60).stdout
    except (CommandFailed, ToolMissing) as error:
        do_next = "run `./inv setup`, which installs the packages that the build takes headers from"
        raise CommandFailed("list the headers that are compiled in", str(error), do_next) from error
    rows = [line.split(" ", 1) for line in found.splitlines()]
    return [
        Component(name=name, version=version, bom_ref=f"deb/{name}", purl=PackageURL("deb", "debian", name, version))
        for name, version in rows
    ]


def cxx_library(made_by: str) -> Component:
    """The C++ library, which is linked into what is for Android; it comes with the toolchain."""
    return Component(name="libc++", version=made_by, bom_ref="toolchain/libc++")


def java_libraries(*bundles: str) -> list[Component]:
    """Maven Central's files that are packed into the APK."""
    return [
        Component(
            name=one.name,
            group=one.group,
            version=one.version,
            bom_ref=f"maven/{one.group}/{one.name}",
            purl=PackageURL("maven", one.group, one.name, one.version),
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=one.sha256)],
        )
        for one in (maven.known()[alias] for bundle in bundles for alias in maven.bundle(bundle))
    ]


def _file(path: Path, out: Path) -> Component:
    digest = HashType(alg=HashAlgorithm.SHA_256, content=digests.sha256_of(path))
    name = path.relative_to(out).as_posix()
    return Component(
        name=name,
        version=maven.version("quadra-name"),
        type=ComponentType.FILE,
        bom_ref=f"file/{name}",
        hashes=[digest],
        licenses=[DisjunctiveLicense(id="Apache-2.0")],
    )


def _package(name: str) -> Component:
    version = metadata.version(name)
    return Component(name=name, version=version, bom_ref=f"pypi/{name}", purl=PackageURL("pypi", None, name, version))
