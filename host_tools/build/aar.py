"""Makes the AAR that puts the delegate into an app, and publishes it in a local Maven repository, without Gradle.

It has what Gradle's build of android_app/delegate would put there, the libraries that Bazel built, and these once more with
headers for native code (prefab.py). It is inspected before it gets its name.
"""

import io
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from xml.etree import ElementTree

from rich.console import Console

from host_tools.base import settings
from host_tools.base.android import ABIS, ACCELERATOR
from host_tools.base.errors import JudgementFailed
from host_tools.base.progress import progress
from host_tools.build import android_check, apk, apk_check, archives, bazel, java, maven, ndk, prefab
from host_tools.build.apk_check import Finding

NAME = "quadra-gpu-delegate"
GROUP = "org.quadra"
PACKAGE = "org.quadra.gpu"
REPOSITORY = apk.BUILT / "maven"
_MODULE = java.APP / java.DELEGATE
_MANIFEST = _MODULE / "src" / "main" / "AndroidManifest.xml"
_LIBRARIES = (android_check.NAME, ACCELERATOR)
_METADATA = "META-INF/com/android/build/gradle/aar-metadata.properties"
# What Android's Gradle plugin writes for a library that asks for nothing special.
_AAR_METADATA = """aarFormatVersion=1.0
aarMetadataVersion=1.0
minCompileSdk=1
minCompileSdkExtension=0
minAndroidGradlePluginVersion=1.0.0
coreLibraryDesugaringEnabled=false
"""
_ANDROID = "{http://schemas.android.com/apk/res/android}"


@dataclass(frozen=True)
class Published:
    """An AAR in a repository, and what was found in it."""

    coordinates: str
    repository: Path
    path: Path
    findings: list[Finding]


def from_arguments(abi: str, out: str, release: bool) -> Published:
    """make(), with the words of the command line; builds the libraries."""
    abis = apk.parse_abis(abi) or ABIS
    repository = Path(out).expanduser().resolve() if out else REPOSITORY
    if release:
        ndk.require("make an AAR for release")
    return make({abi: one.path for abi, one in bazel.android(abis).items()}, repository, release=release)


def make(libraries: Mapping[str, Path], repository: Path, *, release: bool = False) -> Published:
    """The AAR with these libraries, by ABI, and the accelerator beside each, inspected and published. Nothing is published
    that did not pass. release: every library must be built with an NDK."""
    if release:
        apk_check.refuse_stand_in("make an AAR for release", libraries)
    version = maven.version("quadra-name")
    with tempfile.TemporaryDirectory(prefix="quadra-aar-") as folder, progress("make the AAR") as show:
        show("compile the Java API")
        made = archives.pack(Path(folder) / f"{NAME}-{version}.aar", contents(libraries))
        sources = archives.tree(_MODULE / "src" / "main" / "java", "*.java")
        sources_jar = archives.pack(Path(folder) / f"{NAME}-{version}-sources.jar", sources)
        show("inspect")
        findings = inspect(made, list(libraries))
        wrong = [f"{one.what}: {one.found}" for one in findings if not one.ok]
        if wrong:
            raise JudgementFailed(f"make {made.name}", "; ".join(wrong), "fix what is named; nothing was published")
        show("publish")
        pom = Path(folder) / "pom.xml"
        needs = maven.known()["tensorflow-lite-api"].version
        text = (_MODULE / "pom.xml").read_text(encoding="utf-8")
        pom.write_text(Template(text).substitute(version=version, tensorflow_lite=needs), encoding="utf-8")
        maven.deploy(pom, made, sources_jar, settings.make_folder(repository, "--out"))
    published = repository / GROUP.replace(".", "/") / NAME / version / made.name
    return Published(f"{GROUP}:{NAME}:{version}", repository, published, findings)


def contents(libraries: Mapping[str, Path]) -> dict[str, bytes | Path]:
    """Name in the AAR and content of every entry."""
    native = {
        f"jni/{abi}/{name}": libraries[abi].with_name(name) for abi in ABIS if abi in libraries for name in _LIBRARIES
    }
    return {
        "AndroidManifest.xml": manifest(),
        "classes.jar": java.delegate_jar(),
        "R.txt": b"",
        "proguard.txt": _MODULE / "consumer-rules.pro",
        _METADATA: _AAR_METADATA.encode(),
        **native,
        **prefab.contents(libraries),
    }


def manifest() -> bytes:
    """The delegate's manifest with what Gradle would add to it."""
    ElementTree.register_namespace("android", _ANDROID[1:-1])
    root = ElementTree.parse(_MANIFEST).getroot()
    root.set("package", PACKAGE)
    root.insert(0, ElementTree.Element("uses-sdk", {f"{_ANDROID}minSdkVersion": maven.version("android-minSdk")}))
    ElementTree.indent(root, "    ")
    body: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'.encode()


def inspect(aar: Path, abis: Sequence[str]) -> list[Finding]:
    """Everything about an AAR that must be as it should."""
    with zipfile.ZipFile(aar) as archive, tempfile.TemporaryDirectory(prefix="quadra-aar-") as folder:
        names = set(archive.namelist())
        native = {f"jni/{abi}/{name}" for abi in abis for name in _LIBRARIES}
        expected = {
            "AndroidManifest.xml",
            "classes.jar",
            "R.txt",
            "proguard.txt",
            _METADATA,
            *native,
            *prefab.names(abis),
        }
        strange = [f"no {name}" for name in sorted(expected - names)] + [
            f"also {name}" for name in sorted(names - expected)
        ]
        found = [Finding("entries", ", ".join(strange) or f"{len(names)}", not strange)]
        if strange:
            return found
        found += [_manifest(archive.read("AndroidManifest.xml")), _classes(archive.read("classes.jar"))]
        paths = {name: Path(archive.extract(name, folder)) for name in sorted(native)}
        found += [_library(path, name.split("/")[1]) for name, path in paths.items()]
        found.append(prefab.inspect({name: archive.read(name) for name in names}, abis))
        return [*found, _makers(set(map(apk_check.made_by, paths.values())))]


def show(published: Published, console: Console) -> None:
    """The findings, and what a build script says to take it."""
    apk_check.show(published.path, published.findings, console)
    console.print(f"repository  {published.repository.as_uri()}", highlight=False, soft_wrap=True)
    console.print(f"dependency  {published.coordinates}", highlight=False, soft_wrap=True)


def _manifest(text: bytes) -> Finding:
    root = ElementTree.fromstring(text)
    level = next((one.get(f"{_ANDROID}minSdkVersion") for one in root.iter("uses-sdk")), "none")
    opencl = [one.get(f"{_ANDROID}name", "") for one in root.iter("uses-native-library")]
    ok = root.get("package") == PACKAGE and level == maven.version("android-minSdk") and "libOpenCL.so" in opencl
    return Finding("manifest", f"{root.get('package')}, from Android level {level}; {', '.join(opencl)}", ok)


def _classes(jar: bytes) -> Finding:
    """Those of the API, and no others: neither the runner's nor those of tests."""
    with zipfile.ZipFile(io.BytesIO(jar)) as archive:
        names = archive.namelist()
    prefix = PACKAGE.replace(".", "/") + "/"
    others = [name for name in names if not name.startswith(prefix)]
    ok = not others and f"{prefix}GpuDelegate.class" in names
    return Finding("classes.jar", f"{len(names)} classes of {PACKAGE}" + "".join(f", {one}" for one in others), ok)


def _library(path: Path, abi: str) -> Finding:
    """As `inv size --abi` judges it: for Android, aligned to its pages, within its budget."""
    if path.name == ACCELERATOR:
        checked = android_check.check_accelerator(abi, path)
    else:
        checked = android_check.check(bazel.AndroidLibrary(abi, path, path, []))
    facts = f"{checked.size.file_bytes:,} bytes, pages of {android_check.page_bytes(path) // 1024} KB"
    return Finding(f"jni/{abi}/{path.name}", "; ".join([facts, *checked.wrong]), not checked.wrong)


def _makers(makers: set[str]) -> Finding:
    """Which toolchains built the libraries."""
    ships = all(maker.startswith("NDK ") for maker in makers)
    found = ", ".join(sorted(makers))
    return Finding("made by", found if ships else f"{found}: for tests, refused by --release")
