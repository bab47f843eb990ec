"""What the Android half takes from Maven Central: every coordinate in gradle/libs.versions.toml, every SHA-256 in
android_app/gradle/verification-metadata.xml, where Gradle looks, too. `mvn` brings the files into a repository of our own. A process checks
each file when it first uses it, and again when the file has changed. And what it publishes, which `mvn` puts into a folder.
"""

import hashlib
import http.client
import os
import re
import shutil
import tempfile
import tomllib
import urllib.request
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from host_tools.base import child_process, installed, settings
from host_tools.base.errors import CommandFailed, FetchFailed, Misuse, QuadraError, ToolMissing
from host_tools.base.progress import progress
from host_tools.base.units import size_text

CATALOGUE = installed.SOURCES / "gradle" / "libs.versions.toml"
CHECKSUMS = installed.SOURCES / "android_app" / "gradle" / "verification-metadata.xml"
_GOOGLE = "com.google.ai.edge.litert:"  # of Google's repository: Gradle alone takes it
_XML = "{https://schema.gradle.org/dependency-verification}"
_METADATA = "maven-metadata.xml"
_DEADLINE_S = 1200.0
_SILENCE_S = 60.0
_BLOCK_BYTES = 1 << 20
_NO_NETWORK = (
    "Unknown host",
    "Could not transfer",
    "Connection refused",
    "Network is unreachable",
    "timed out",
    "No route",
)


@dataclass(frozen=True)
class Artifact:
    """One file of Maven Central."""

    group: str
    name: str
    version: str
    file: str
    sha256: str

    @property
    def type(self) -> str:
        return self.file.rsplit(".", 1)[1]

    def path(self, repository: Path) -> Path:
        """Where Maven puts it."""
        return repository / self.group.replace(".", "/") / self.name / self.version / self.file

    def __str__(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"


def version(name: str) -> str:
    """A version of the catalogue."""
    number: str = _catalogue()["versions"][name]
    return number


def bundle(name: str) -> list[str]:
    """The aliases of the libraries in a bundle of the catalogue."""
    return list(_catalogue()["bundles"][name])


@cache
def known() -> dict[str, Artifact]:
    """Every library of the catalogue that Maven Central has, by alias."""
    files, rows = _files(), _catalogue()["libraries"]
    return {alias: _artifact(alias, row, files) for alias, row in rows.items() if not row["module"].startswith(_GOOGLE)}


def artifact(alias: str) -> Path:
    """The file of one library; fetched when it is not here."""
    return artifacts([alias])[alias]


def artifacts(aliases: Iterable[str]) -> dict[str, Path]:
    """The files of libraries, by alias. Missing and damaged ones are fetched, all in one go."""
    wanted = {alias: known()[alias] for alias in aliases}
    repository = settings.read().tools_dir / "maven"
    missing = [one for one in wanted.values() if not _is_good(one, repository)]
    if missing:
        settings.make_folder(repository, "QUADRA_TOOLS_DIR")
        _fetch(missing, repository)
        for one in missing:
            _require_good(one, repository)
    return {alias: one.path(repository) for alias, one in wanted.items()}


def class_path(*aliases: str) -> list[Path]:
    """Jars of the libraries and of whole bundles, in the order given: a jar, or the classes.jar of an AAR."""
    names = [name for alias in aliases for name in (bundle(alias) if alias in _catalogue()["bundles"] else [alias])]
    files = artifacts(names)
    return [aar_file(name, "classes.jar") if files[name].suffix == ".aar" else files[name] for name in names]


def aar_file(alias: str, member: str) -> Path:
    """A file out of an AAR, unpacked beside it."""
    aar = artifact(alias)
    unpacked = aar.with_suffix("") / member
    if unpacked.exists() and unpacked.stat().st_mtime_ns >= aar.stat().st_mtime_ns:
        return unpacked
    try:
        with zipfile.ZipFile(aar) as archive, tempfile.TemporaryDirectory(dir=aar.parent) as scratch:
            made = Path(archive.extract(member, scratch))
            unpacked.parent.mkdir(parents=True, exist_ok=True)
            made.touch()
            made.replace(unpacked)
    except KeyError as error:
        raise Misuse(
            f"take {member} out of {aar.name}", "it is not in there", "ask for a file that the AAR has"
        ) from error
    except (OSError, zipfile.BadZipFile) as error:
        raise FetchFailed(f"take {member} out of {aar.name}", str(error), f"remove {aar} and try again") from error
    return unpacked


def members(alias: str) -> list[str]:
    """Names of the files in a jar or AAR."""
    with zipfile.ZipFile(artifact(alias)) as archive:
        return archive.namelist()


@cache
def _catalogue() -> dict[str, dict[str, Any]]:
    try:
        return tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise Misuse(f"read {CATALOGUE}", str(error), "fix the file, or restore it from the repository") from error


def _files() -> dict[str, Artifact]:
    """What the list of checksums says, by coordinate."""
    found: dict[str, Artifact] = {}
    try:
        for component in ElementTree.parse(CHECKSUMS).getroot().iter(f"{_XML}component"):
            group, name, number = (component.attrib[key] for key in ("group", "name", "version"))
            for file in component.iterfind(f"{_XML}artifact"):
                for digest in file.iterfind(f"{_XML}sha256"):
                    one = Artifact(group, name, number, file.attrib["name"], digest.attrib["value"])
                    found.setdefault(str(one), one)
    except (OSError, ElementTree.ParseError, KeyError) as error:
        came_back = f"an element has no {error}" if isinstance(error, KeyError) else str(error)
        raise Misuse(f"read {CHECKSUMS}", came_back, "fix the file, or restore it from the repository") from error
    return found


def _artifact(alias: str, row: dict[str, Any], files: dict[str, Artifact]) -> Artifact:
    number = row["version"]
    number = version(number["ref"]) if isinstance(number, dict) else number
    where = f"{row['module']}:{number}"
    if where not in files:
        raise Misuse(
            f"look up {alias} in {CATALOGUE.name}", f"{CHECKSUMS.name} has no SHA-256 for {where}", "add it there"
        )
    return files[where]


def _is_good(one: Artifact, repository: Path) -> bool:
    path = one.path(repository)
    return path.is_file() and _digest(path) == one.sha256


def _digest(path: Path) -> str:
    facts = path.stat()
    return _digest_of(path, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


@cache
def _digest_of(path: Path, *facts: int) -> str:
    """facts: of the file, by which another one at the same path is told apart. Android's jar alone has 150 MB."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _require_good(one: Artifact, repository: Path) -> None:
    path = one.path(repository)
    if not path.is_file():
        raise FetchFailed(f"fetch {one}", f"Maven ended well, but {path} is not there", "check Maven's settings.xml")
    found = _digest(path)
    if found != one.sha256:
        path.unlink()
        raise FetchFailed(
            f"fetch {one}",
            f"the fetched file has the SHA-256 {found}, not {one.sha256} of {CHECKSUMS.name}; it was removed",
            "see where Maven's settings.xml takes files from; a changed artifact is not to be trusted",
        )


def _fetch(missing: list[Artifact], repository: Path) -> None:
    """Has Maven bring files into the repository, or downloads them where QUADRA_MAVEN_URL says from where and there is no Maven.
    Damaged ones go first, or Maven would keep them."""
    for one in missing:
        one.path(repository).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="quadra-maven-") as folder, progress("fetch from Maven Central") as show:
        address = settings.read().maven_url
        if not shutil.which("mvn"):
            if not address:
                do_next = (
                    "apt-get install maven; or set QUADRA_MAVEN_URL to the address of Maven Central, or of a mirror"
                )
                raise ToolMissing(f"fetch {missing[0]}", "`mvn` was not found", do_next)
            for one in missing:
                _download(one, address, repository, show)
            return
        pom = Path(folder) / "pom.xml"
        pom.write_text(_pom(missing), encoding="utf-8")
        try:
            _mvn("maven-dependency-plugin", "resolve", ["-U", "-f", pom, "-DexcludeTransitive"], repository, show)
        except CommandFailed as error:
            raise _explained(error, missing) from error


def _download(one: Artifact, central: str, repository: Path, show: Callable[[str], None]) -> None:
    """Brings a file without Maven. Its bytes are judged afterwards, as those that Maven brings."""
    path = one.path(repository)
    address = f"{central}/{path.relative_to(repository).as_posix()}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}")
        with urllib.request.urlopen(address, timeout=_SILENCE_S) as answer, open(part, "wb") as file:
            while block := answer.read(_BLOCK_BYTES):
                file.write(block)
                show(f"{one.file}, {size_text(file.tell())}")
        part.replace(path)
    except (OSError, ValueError, http.client.HTTPException) as error:
        do_next = "connect to the network, see what QUADRA_MAVEN_URL says, or apt-get install maven"
        raise FetchFailed(f"fetch {one}", f"{address}: {error}", do_next) from error


def deploy(pom: Path, file: Path, sources: Path, repository: Path) -> None:
    """Puts a library into the Maven repository in this folder, beside what is there. The time goes out of the metadata,
    where nobody needs it: the same libraries make the same bytes."""
    names = {"url": repository.as_uri(), "pomFile": pom, "file": file, "sources": sources}
    local = settings.make_folder(settings.read().tools_dir / "maven", "QUADRA_TOOLS_DIR")
    try:
        _mvn("maven-deploy-plugin", "deploy-file", [f"-D{name}={word}" for name, word in names.items()], local)
    except CommandFailed as error:
        do_next = "connect to the network once, for Maven's plug-in; or publish into an empty folder"
        raise Misuse(f"publish in {repository}", _last_words(error), do_next) from error
    for metadata in repository.rglob(_METADATA):
        metadata.write_bytes(re.sub(rb"\s*<lastUpdated>\d*</lastUpdated>", b"", metadata.read_bytes()))
        for kind in ("md5", "sha1"):
            digest = hashlib.new(kind, metadata.read_bytes()).hexdigest()
            metadata.with_name(f"{_METADATA}.{kind}").write_text(digest, encoding="utf-8")


def _mvn(plugin: str, goal: str, words: list[Any], local: Path, show: Callable[[str], None] | None = None) -> None:
    """A goal of one of Maven's own plug-ins. local: the folder where Maven keeps what it fetches."""
    found, home = shutil.which("mvn"), settings.read().java_home
    if not found:
        raise ToolMissing(f"run Maven's {goal}", "`mvn` was not found", "apt-get install maven")
    if not home and not shutil.which("java"):
        raise ToolMissing(f"run Maven's {goal}", "no Java was found", "apt-get install default-jdk-headless")
    argv = [found, "-B", f"-Dmaven.repo.local={local}", "-Dstyle.color=never", *words]
    argv.append(f"org.apache.maven.plugins:{plugin}:{version(plugin)}:{goal}")
    env = {"JAVA_HOME": str(home)} if home else {}
    done = child_process.run(argv, timeout_s=_DEADLINE_S, on_line=show, env=env, check=False)
    if done.returncode:  # Maven's errors are in stdout, those of its start in stderr, which is never empty
        raise CommandFailed(f"run Maven's {goal}", done.stdout + done.stderr, "see Maven's words")


def _explained(error: QuadraError, missing: list[Artifact]) -> QuadraError:
    """Maven's own last words, and what they mean."""
    cause = _last_words(error)
    tried = f"fetch {', '.join(str(one) for one in missing[:3])}" + (" and more" if len(missing) > 3 else "")
    if "JAVA_HOME" in error.came_back:
        return ToolMissing(
            tried, "Maven found no Java: JAVA_HOME is wrong", "apt-get install default-jdk-headless, or set JAVA_HOME"
        )
    if any(word in error.came_back for word in _NO_NETWORK):
        return FetchFailed(tried, cause, "connect to the network, or name a mirror in Maven's settings.xml")
    return FetchFailed(tried, cause, "check gradle/libs.versions.toml, and Maven's settings.xml")


def _last_words(error: QuadraError) -> str:
    lines = [line.split("] ", 1)[-1] for line in error.came_back.splitlines() if "ERROR" in line]
    return next((line for line in lines if line.strip()), error.came_back)


def _pom(artifacts_: list[Artifact]) -> str:
    """A project that depends on these files and nothing behind them."""
    rows = "".join(
        f"<dependency><groupId>{escape(a.group)}</groupId><artifactId>{escape(a.name)}</artifactId>"
        f"<version>{escape(a.version)}</version><type>{escape(a.type)}</type>"
        "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"
        for a in artifacts_
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>org.quadra</groupId><artifactId>fetch</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{rows}</dependencies></project>"
    )
