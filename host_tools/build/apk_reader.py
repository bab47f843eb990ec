"""Reads an APK as a phone's package manager does, and refuses what it would refuse, with its codes and sentences.

What depends on what is installed is in packages.py.
"""

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

import msgspec

from host_tools.base import digests, installed
from host_tools.base.errors import CommandFailed
from host_tools.build import apk_facts, prebuilt
from host_tools.build.apk_facts import Element

CLASS_LIST = "assets/classes.sha256"
_MANIFEST, _TABLE = "AndroidManifest.xml", "resources.arsc"
_PACKAGE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+")  # it becomes part of paths
_LIBRARY = re.compile(r"lib/([A-Za-z0-9_-]+)/(lib[A-Za-z0-9._+-]+\.so)")
_PAGE_BYTES = 4096
_SCHEME_2_FROM, _TABLE_STORED_FROM = 30, 30  # target levels from which Android asks for more


class Refused(Exception):
    """The package manager says no: `Failure [CODE: text]`."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"Failure [{code}: {text}]")


@dataclass
class Apk:
    """What an APK says about itself."""

    package: str
    version_code: int
    version_name: str
    target_sdk: int
    debuggable: bool
    test_only: bool
    signer: str  # SHA-256 of its certificate
    instrumentations: list[list[str]]  # class, the package that it works on
    classes: list[str]  # in its dex
    libraries: dict[str, list[str]]  # by ABI
    class_list: str  # digests of the class files that were dexed; empty where the APK does not tell


class _Told(msgspec.Struct):
    """See told()."""

    sha256: str
    level: int
    apk: Apk


def read(path: Path, level: int) -> Apk:
    """Everything about the APK; Refused where a device of this level would not take it."""
    known = _known(path, level)
    if known:
        return known
    try:
        with zipfile.ZipFile(path) as archive:
            return _opened(path, archive, level)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, RuntimeError) as error:
        raise Refused("INSTALL_PARSE_FAILED_NOT_APK", f"Failed to load asset path ({error})") from error


def told(apk: Apk, path: Path, level: int) -> bytes:
    """What was read of this file, for those who have the file and no tools to read it with."""
    return msgspec.json.encode({"sha256": digests.sha256_of(path), "level": level, "apk": apk})


def _known(path: Path, level: int) -> Apk | None:
    """What was read of this file when the toolkit that is installed was made."""
    if not installed.INSTALLED:
        return None
    facts = msgspec.json.decode((installed.PREBUILT / prebuilt.READ_APK).read_bytes(), type=_Told)
    return facts.apk if (facts.sha256, facts.level) == (digests.sha256_of(path), level) else None


def _opened(path: Path, archive: zipfile.ZipFile, level: int) -> Apk:
    root = _manifest(path, archive)
    package, sdk, app = root.text("package"), root.first("uses-sdk"), root.first("application")
    min_sdk = sdk.number("minSdkVersion", 1)
    if min_sdk > level:
        text = f"Requires newer sdk version #{min_sdk} (current version is #{level})"
        raise Refused("INSTALL_FAILED_OLDER_SDK", text)
    target = sdk.number("targetSdkVersion", min_sdk)
    signer = _signer(path, level, target)
    _check_table(path, archive, target)
    return Apk(
        package=package,
        version_code=root.number("versionCodeMajor") << 32 | root.number("versionCode"),
        version_name=root.text("versionName"),
        target_sdk=target,
        debuggable=app.flag("debuggable"),
        test_only=app.flag("testOnly"),
        signer=signer,
        instrumentations=[
            [_full(e.text("name"), package), e.text("targetPackage")] for e in root.all("instrumentation")
        ],
        classes=_classes(path, archive, app),
        libraries=_libraries(path, archive, stored=not app.flag("extractNativeLibs", target < 23)),
        class_list=archive.read(CLASS_LIST).decode("utf-8", "replace") if CLASS_LIST in archive.namelist() else "",
    )


def _manifest(path: Path, archive: zipfile.ZipFile) -> Element:
    if _MANIFEST not in archive.namelist():
        raise Refused("INSTALL_PARSE_FAILED_BAD_MANIFEST", f"Missing {_MANIFEST}")
    try:
        root = apk_facts.manifest(path)
    except CommandFailed as error:
        raise Refused("INSTALL_PARSE_FAILED_UNEXPECTED_EXCEPTION", "Corrupt XML binary file") from error
    package = root.text("package")
    if not _PACKAGE.fullmatch(package):
        text = f"Invalid manifest package: {package!r} must have a '.' separator and Java names"
        raise Refused("INSTALL_PARSE_FAILED_BAD_PACKAGE_NAME", text)
    return root


def _signer(path: Path, level: int, target: int) -> str:
    """The certificate, once every byte of the APK was verified."""
    signature = apk_facts.signature(path, level)
    if not signature.verified or not signature.signer:
        reason = signature.said.split("ERROR: ", 1)[-1].partition("\n")[0]
        raise Refused("INSTALL_PARSE_FAILED_NO_CERTIFICATES", f"Failed collecting certificates: {reason}")
    if target >= _SCHEME_2_FROM and not signature.schemes:
        raise Refused("INSTALL_PARSE_FAILED_NO_CERTIFICATES", "No signature found in package of version 2 or newer")
    return signature.signer


def _check_table(path: Path, archive: zipfile.ZipFile, target: int) -> None:
    if target >= _TABLE_STORED_FROM and _TABLE in archive.namelist() and not _stored(path, archive.getinfo(_TABLE), 4):
        text = (
            "Targeting R+ (version 30 and above) requires the resources.arsc of installed APKs to be stored "
            "uncompressed and aligned on a 4-byte boundary"
        )
        raise Refused("INSTALL_PARSE_FAILED_RESOURCES_ARSC_COMPRESSED", text)


def _stored(path: Path, entry: zipfile.ZipInfo, alignment: int) -> bool:
    """Whether an entry is uncompressed and aligned."""
    with open(path, "rb") as file:
        return entry.compress_type == zipfile.ZIP_STORED and apk_facts.data_offset(file, entry) % alignment == 0


def _classes(path: Path, archive: zipfile.ZipFile, app: Element) -> list[str]:
    """Of every dex. A damaged one is found when a class is looked for, as on a phone; none at all is refused."""
    if app.flag("hasCode", True) and "classes.dex" not in archive.namelist():
        raise Refused("INSTALL_FAILED_INVALID_APK", "Package /data/app/vmdl.tmp/base.apk code is missing")
    return sorted(apk_facts.classes(path))


def _libraries(path: Path, archive: zipfile.ZipFile, stored: bool) -> dict[str, list[str]]:
    """Names of the libraries that Android would see, by ABI."""
    found: dict[str, list[str]] = {}
    for entry in archive.infolist():
        match = _LIBRARY.fullmatch(entry.filename)
        if not match:
            continue
        if stored and not _stored(path, entry, _PAGE_BYTES):
            raise Refused("INSTALL_FAILED_INVALID_APK", "Failed to extract native libraries, res=-2")
        found.setdefault(match.group(1), []).append(match.group(2))
    return found


def _full(name: str, package: str) -> str:
    """A class that the manifest names, as Android completes it."""
    return package + name if name.startswith(".") else name if "." in name else f"{package}.{name}"
