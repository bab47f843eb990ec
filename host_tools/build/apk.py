"""Makes the test app's APK without Gradle and without an SDK: javac, dx, aapt2, zipalign, apksigner.

Sources, manifest, versions and libraries are those that Gradle would take (android_app/, gradle/libs.versions.toml).
What was made is inspected before it gets its name (host_tools/build/apk_check.py).
"""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console

from host_tools.base import child_process, settings
from host_tools.base.android import ABIS, ACCELERATOR, DELEGATE
from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.base.progress import progress
from host_tools.build import apk_check, apk_facts, archives, bazel, java, maven, ndk

TEST_KEY = (
    java.APP / "test.keystore"
)  # published: the same sources make the same APK everywhere, and one replaces the other
MANIFEST = java.APP / "runner" / "src" / "main" / "AndroidManifest.xml"
BUILT = settings.ROOT / ".cache" / "android"
LIBRARIES = BUILT / "libs"  # Gradle takes libquadra.so from here, too
DEBUG_LIBRARIES = BUILT / "debug"
NAME = DELEGATE
PAGE_BYTES = 16384
CLASS_LIST = "assets/classes.sha256"

_ANDROID = "{http://schemas.android.com/apk/res/android}"
_DEADLINE_S = 300.0
_DEX_MAIN = "com.android.dx.command.Main"
_TEST_PASSWORD = "android"  # as everybody's debug key has


def found_in(folder: Path, abis: Sequence[str] = ()) -> dict[str, Path]:
    """FOLDER/ABI/libquadra.so for each ABI asked for; none asked for: for each that is there."""
    wanted = abis or [abi for abi in ABIS if (folder / abi / NAME).is_file()]
    missing = [abi for abi in wanted if not (folder / abi / NAME).is_file()]
    if missing or not wanted:
        absent = f"{folder / (missing or ['ABI'])[0] / NAME} is not there"
        raise Misuse(
            "find the delegate for the APK", absent, "build it: `./inv build --abi all`, or name another --libraries"
        )
    return {abi: folder / abi / NAME for abi in wanted}


@dataclass(frozen=True)
class Made:
    """An APK and what was found in it."""

    path: Path
    findings: list[apk_check.Finding]


def from_arguments(abi: str, libraries: str, out: str, *, release: bool = False, peers: bool = False) -> Made:
    """make(), with the words of the command line: ABIs with commas, a folder, a path. No folder: builds the libraries."""
    abis = parse_abis(abi)
    name = "quadra-runner-release.apk" if release else "quadra-runner.apk"
    path = Path(out).expanduser().resolve() if out else BUILT / name
    if libraries:
        return make(found_in(Path(libraries).expanduser().resolve(), abis), path, release=release, peers=peers)
    if release:
        ndk.require("make an APK for release")
    built = bazel.android(abis or ABIS)
    return make({abi: one.path for abi, one in built.items()}, path, release=release, peers=peers)


def parse_abis(words: str) -> list[str]:
    """ABIs with commas between them; none for all."""
    abis = [word for word in words.split(",") if word and word != "all"]
    unknown = [word for word in abis if word not in ABIS]
    if unknown:
        raise Misuse("read --abi", f"there is no ABI {unknown[0]}", f"choose from {', '.join(ABIS)}")
    return abis


def show(made: Made, console: Console) -> None:
    apk_check.show(made.path, made.findings, console)


def make(libraries: Mapping[str, Path], out: Path, *, release: bool = False, peers: bool = False) -> Made:
    """The APK with these libraries, by ABI, inspected; `out` is only replaced by one that passed.

    release: not debuggable, signed with the key of QUADRA_KEYSTORE, no library by the stand-in toolchain.
    peers: with TFLite's stock GPU delegate.
    """
    _check_abis(libraries)
    if release:
        apk_check.refuse_stand_in("make an APK for release", libraries)
        _release_key()
    maven.artifacts([*java.COMPILE_LIBRARIES, *maven.bundle("shipped"), "dalvik-dx"])  # in one go
    classes = java.app_classes()
    settings.make_folder(out.parent, "the folder of the APK")
    with tempfile.TemporaryDirectory(prefix=".apk-", dir=out.parent) as folder, progress("make the APK") as show:
        scratch = Path(folder)
        show("dex")
        dex = _dex(classes, peers, scratch)
        show("link")
        linked = _link(scratch, release)
        _add(linked, dex, apk_facts.class_list(classes), _native(libraries, peers))
        show("align and sign")
        made = _sign(_align(linked, scratch), scratch / out.name, release)
        show("inspect")
        findings = apk_check.inspect(made, classes, list(libraries), release)
        wrong = [finding for finding in findings if not finding.ok]
        if wrong:
            text = "; ".join(f"{one.what}: {one.found}" for one in wrong)
            raise JudgementFailed(f"make {out.name}", text, "fix the errors above; no APK was kept")
        os.replace(made, out)
    _keep_for_gradle(libraries)
    return Made(out, findings)


def keep(abi: str, library: Path, folder: Path | None = None) -> Path:
    """Puts a library, and the accelerator beside it, where the packager and Gradle look for that ABI's; returns the place.
    Another folder: beside it."""
    place = (folder or LIBRARIES) / abi / NAME
    for source, target in ((library, place), (library.with_name(ACCELERATOR), place.with_name(ACCELERATOR))):
        if source.is_file() and not (target.exists() and target.samefile(source)):
            settings.make_folder(target.parent, "the checkout")
            target.unlink(missing_ok=True)
            shutil.copyfile(source, target)
    return place


def classes_of(listed: str) -> Path | None:
    """Folder of the class files that an APK's list has, byte for byte; None: they are not on this machine."""
    folders = [java.app_classes(), *sorted(java.BUILT.glob("*/classes"))]
    return next((folder for folder in folders if apk_facts.class_list(folder) == listed), None)


def manifest(release: bool) -> str:
    """The runner's manifest with what Gradle would add to it."""
    ElementTree.register_namespace("android", _ANDROID[1:-1])
    root = ElementTree.parse(MANIFEST).getroot()
    root.set("package", maven.version("applicationId"))
    root.set(f"{_ANDROID}versionCode", maven.version("quadra-code"))
    root.set(f"{_ANDROID}versionName", maven.version("quadra-name"))
    levels = {f"{_ANDROID}{key}SdkVersion": maven.version(f"android-{key}Sdk") for key in ("min", "target")}
    root.insert(0, ElementTree.Element("uses-sdk", levels))
    application = root.find("application")
    if application is None:
        raise Misuse(f"read {MANIFEST}", "it has no application", "fix the file, or restore it from the repository")
    application.set(f"{_ANDROID}extractNativeLibs", "false")
    if not release:
        application.set(f"{_ANDROID}debuggable", "true")
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _check_abis(libraries: Mapping[str, Path]) -> None:
    tried = "make the APK"
    for abi, path in libraries.items():
        if abi not in ABIS:
            raise Misuse(tried, f"there is no ABI {abi}", f"choose from {', '.join(ABIS)}")
        found = apk_check.abi_of(path)
        if found != abi:
            raise Misuse(
                tried, f"{path} is a library for {found or 'no Android ABI'}, not for {abi}", "build it for that ABI"
            )


def _dex(classes: Path, peers: bool, scratch: Path) -> Path:
    dex = scratch / "classes.dex"
    jars = [classes, *maven.class_path("tflite", *(["shipped"] if peers else []))]
    level = f"--min-sdk-version={maven.version('android-minSdk')}"
    dx = maven.class_path("dalvik-dx")
    java.run_java(_DEX_MAIN, ["--dex", level, f"--output={dex}", *jars], dx, timeout_s=_DEADLINE_S)
    return dex


def framework() -> Path:
    """Android's resources, for aapt2: a small APK out of the jar that has Android's classes."""
    jar = maven.artifact("android-all")
    made = jar.with_name("framework.apk")
    if not made.is_file() or made.stat().st_mtime_ns < jar.stat().st_mtime_ns:
        with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
            partial = Path(folder) / made.name
            with zipfile.ZipFile(jar) as source, zipfile.ZipFile(partial, "w") as target:
                for name in ("AndroidManifest.xml", "resources.arsc"):
                    target.writestr(zipfile.ZipInfo(name, archives.WHEN), source.read(name))
            partial.replace(made)
    return made


def _link(scratch: Path, release: bool) -> Path:
    source, linked = scratch / "AndroidManifest.xml", scratch / "linked.apk"
    source.write_text(manifest(release), encoding="utf-8")
    argv = ["aapt2", "link", "--warn-manifest-validation", "--manifest", source, "-I", framework(), "-o", linked]
    child_process.run(argv, timeout_s=_DEADLINE_S, hint=apk_facts.PACKAGES)
    return linked


def _native(libraries: Mapping[str, Path], peers: bool) -> dict[str, Path]:
    """Name in the APK and file of every native library."""
    files = {}
    for abi, path in libraries.items():
        files[f"lib/{abi}/{NAME}"] = path
        if path.with_name(ACCELERATOR).is_file():
            files[f"lib/{abi}/{ACCELERATOR}"] = path.with_name(ACCELERATOR)
        for alias in ["tensorflow-lite", *(["tensorflow-lite-gpu"] if peers else [])]:
            for member in maven.members(alias):
                if member.startswith(f"jni/{abi}/"):
                    files[f"lib/{abi}/{Path(member).name}"] = maven.aar_file(alias, member)
    return files


def _add(apk: Path, dex: Path, classes: str, native: Mapping[str, Path]) -> None:
    """Libraries are stored as they are: Android maps them from the APK."""
    with zipfile.ZipFile(apk, "a") as archive:
        archive.writestr(archives.entry("classes.dex"), dex.read_bytes())
        archive.writestr(archives.entry(CLASS_LIST), classes)
        for name, path in sorted(native.items()):
            archive.writestr(archives.entry(name, zipfile.ZIP_STORED), path.read_bytes())


def _align(apk: Path, scratch: Path) -> Path:
    aligned = scratch / "aligned.apk"
    child_process.run(["zipalign", "-f", PAGE_BYTES, apk, aligned], timeout_s=_DEADLINE_S, hint=apk_facts.PACKAGES)
    return aligned


def _sign(apk: Path, signed: Path, release: bool) -> Path:
    keystore, password = _release_key() if release else (TEST_KEY, _TEST_PASSWORD)
    schemes = ["--v1-signing-enabled", "false", "--v2-signing-enabled", "true", "--v3-signing-enabled", "true"]
    argv: list[object] = ["apksigner", "sign", "--ks", keystore, "--ks-pass", "env:QUADRA_SIGN_PASSWORD", *schemes]
    argv += ["--min-sdk-version", maven.version("android-minSdk"), "--out", signed, apk]
    child_process.run(argv, timeout_s=_DEADLINE_S, env={"QUADRA_SIGN_PASSWORD": password}, hint=apk_facts.PACKAGES)
    return signed


def _release_key() -> tuple[Path, str]:
    config = settings.read()
    if not config.keystore or not config.keystore.is_file():
        found = f"{config.keystore} is not there" if config.keystore else "QUADRA_KEYSTORE is not set"
        raise Misuse(
            "sign an APK for release", found, "set QUADRA_KEYSTORE and QUADRA_KEYSTORE_PASSWORD to your own key"
        )
    return config.keystore, config.keystore_password


def _keep_for_gradle(libraries: Mapping[str, Path]) -> None:
    for abi in ABIS:
        if abi in libraries:
            keep(abi, libraries[abi])
        else:
            (LIBRARIES / abi / NAME).unlink(missing_ok=True)
