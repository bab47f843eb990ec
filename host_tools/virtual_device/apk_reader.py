"""Reads an APK as a phone's package manager does, and refuses what it would refuse, with its codes and sentences.

What depends on the device or on what is installed is in packages.py.
"""

import hashlib
import re
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from host_tools.base.errors import CommandFailed
from host_tools.build import apk_check
from host_tools.build.apk_check import Element

CLASS_LIST = "assets/classes.sha256"
_MANIFEST, _TABLE = "AndroidManifest.xml", "resources.arsc"
_PACKAGE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+")
_LIBRARY = re.compile(r"lib/([A-Za-z0-9_-]+)/(lib[A-Za-z0-9._+-]+\.so)")
_COMPONENTS = ("activity", "service", "receiver", "provider")
_PAGE_BYTES = 4096
_SCHEME_2_FROM, _TABLE_STORED_FROM = 30, 30  # target levels from which Android asks for more
_MAX_MANIFEST_BYTES, _MAX_DEX_BYTES = 4 << 20, 64 << 20


class Refused(Exception):
    """The package manager says no: `Failure [CODE: text]`."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(code, text)
        self.code, self.text = code, text

    def __str__(self) -> str:
        return f"Failure [{self.code}: {self.text}]" if self.text else f"Failure [{self.code}]"


@dataclass(frozen=True)
class Apk:
    """What an APK says about itself."""

    sha256: str
    package: str
    version_code: int
    version_name: str
    min_sdk: int
    target_sdk: int
    debuggable: bool
    test_only: bool
    signer: str  # SHA-256 of its certificate
    instrumentations: tuple[tuple[str, str], ...]  # class, the package that it works on
    components: tuple[tuple[str, str], ...]  # kind, class
    classes: frozenset[str]  # in its dex
    libraries: dict[str, tuple[str, ...]]  # by ABI
    class_list: str  # digests of the class files that were dexed; empty where the APK does not tell


def read(path: Path, min_sdk_of_device: int) -> Apk:
    """Everything about the APK; Refused where no device would take it. The signature is verified from the level of
    the device on."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return _read(path, digest, min_sdk_of_device)


@lru_cache(maxsize=8)
def _read(path: Path, digest: str, level: int) -> Apk:
    try:
        with zipfile.ZipFile(path) as archive:
            return _opened(path, archive, digest, level)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, RuntimeError) as error:
        raise _parse("NOT_APK", path, f"Failed to load asset path ({error})") from error


def _opened(path: Path, archive: zipfile.ZipFile, digest: str, level: int) -> Apk:
    names = archive.namelist()
    if len(set(names)) != len(names):
        raise _parse("NOT_APK", path, "Duplicate entry names")
    if _MANIFEST not in names:
        raise _parse("BAD_MANIFEST", path, f"Missing {_MANIFEST}")
    root = _manifest(path, archive)
    package, sdk, app = root.text("package"), root.first("uses-sdk"), root.first("application")
    if not _PACKAGE.fullmatch(package):
        text = f"Invalid manifest package: {package!r} must have a '.' separator and Java names"
        raise _parse("BAD_PACKAGE_NAME", path, text)
    min_sdk = sdk.number("minSdkVersion", 1)
    if min_sdk > level:
        raise Refused(
            "INSTALL_FAILED_OLDER_SDK",
            f"Failed parse during installPackageLI: {_at(path)} (at Binary XML file line #0): "
            f"Requires newer sdk version #{min_sdk} (current version is #{level})",
        )
    target = sdk.number("targetSdkVersion", min_sdk)
    signer = _signer(path, level, target, package)
    _check_table(path, archive, target)
    stored = not app.flag("extractNativeLibs", target < 23)
    return Apk(
        digest, package, root.number("versionCodeMajor") << 32 | root.number("versionCode"),
        root.text("versionName"), min_sdk, target, app.flag("debuggable"), app.flag("testOnly"), signer,
        tuple((_full(e.text("name"), package), e.text("targetPackage")) for e in root.all("instrumentation")),
        tuple((kind, _full(e.text("name"), package)) for kind in _COMPONENTS for e in app.all(kind)),
        _classes(path, archive, app), _libraries(path, archive, stored), _class_list(archive),
    )  # fmt: skip


def _manifest(path: Path, archive: zipfile.ZipFile) -> Element:
    if archive.getinfo(_MANIFEST).file_size > _MAX_MANIFEST_BYTES:
        raise _parse("BAD_MANIFEST", path, "Manifest is too large")
    try:
        root = apk_check.manifest(path)
    except CommandFailed as error:
        raise _parse("UNEXPECTED_EXCEPTION", path, "Corrupt XML binary file") from error
    if root.tag != "manifest":
        raise _parse("BAD_MANIFEST", path, "No <manifest> tag")
    return root


def _signer(path: Path, level: int, target: int, package: str) -> str:
    """The certificate, once every byte of the APK was verified."""
    signature = apk_check.signature(path, level)
    collect = f"Failed collecting certificates for {_at(path)}"
    if not signature.schemes and not signature.verified and "DOES NOT VERIFY" in signature.said and _has_block(path):
        reason = signature.said.split("ERROR: ", 1)[-1].splitlines()[0]
        raise _parse("NO_CERTIFICATES", path, f"{collect} using APK Signature Scheme v3: {reason}")
    if not signature.verified or not signature.signer:
        raise _parse("NO_CERTIFICATES", path, f"{collect}: Attempt to get length of null array")
    if target >= _SCHEME_2_FROM and not signature.schemes:
        raise _parse(
            "NO_CERTIFICATES", path, f"No signature found in package of version 2 or newer for package {package}"
        )
    return signature.signer


def _has_block(path: Path) -> bool:
    """Whether an APK Signing Block is before the archive's directory."""
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        file.seek(max(0, archive.start_dir - 16))
        return file.read(16) == b"APK Sig Block 42"


def _check_table(path: Path, archive: zipfile.ZipFile, target: int) -> None:
    if target < _TABLE_STORED_FROM or _TABLE not in archive.namelist():
        return
    entry = archive.getinfo(_TABLE)
    with open(path, "rb") as file:
        if entry.compress_type != zipfile.ZIP_STORED or apk_check.data_offset(file, entry) % 4:
            text = (
                "Targeting R+ (version 30 and above) requires the resources.arsc of installed APKs to be stored "
                "uncompressed and aligned on a 4-byte boundary"
            )
            raise Refused(
                "INSTALL_PARSE_FAILED_RESOURCES_ARSC_COMPRESSED", f"Failed parse during installPackageLI: {text}"
            )


def _classes(path: Path, archive: zipfile.ZipFile, app: Element) -> frozenset[str]:
    """Of every dex. A damaged one is found when a class is looked for, as on a phone; none at all is refused."""
    dexes = [entry for entry in archive.infolist() if re.fullmatch(r"classes[0-9]*\.dex", entry.filename)]
    if app.flag("hasCode", True) and not dexes:
        raise Refused("INSTALL_FAILED_INVALID_APK", "Package /data/app/vmdl.tmp/base.apk code is missing")
    return apk_check.classes(path) if sum(entry.file_size for entry in dexes) <= _MAX_DEX_BYTES else frozenset()


def _libraries(path: Path, archive: zipfile.ZipFile, stored: bool) -> dict[str, tuple[str, ...]]:
    """Names of the libraries that Android would see, by ABI."""
    found: dict[str, list[str]] = {}
    with open(path, "rb") as file:
        for entry in archive.infolist():
            match = _LIBRARY.fullmatch(entry.filename)
            if not match:
                continue
            if stored and (
                entry.compress_type != zipfile.ZIP_STORED or apk_check.data_offset(file, entry) % _PAGE_BYTES
            ):
                raise Refused("INSTALL_FAILED_INVALID_APK", "Failed to extract native libraries, res=-2")
            found.setdefault(match.group(1), []).append(match.group(2))
    return {abi: tuple(sorted(names)) for abi, names in found.items()}


def _class_list(archive: zipfile.ZipFile) -> str:
    return archive.read(CLASS_LIST).decode("utf-8", "replace") if CLASS_LIST in archive.namelist() else ""


def _full(name: str, package: str) -> str:
    """A class that the manifest names, as Android completes it."""
    return package + name if name.startswith(".") else name if "." in name else f"{package}.{name}"


def _at(path: Path) -> str:
    return f"/data/app/{path.parent.name}/{path.name}"


def _parse(code: str, path: Path, text: str) -> Refused:
    where = f"Failed to parse {_at(path)}: "
    return Refused(f"INSTALL_PARSE_FAILED_{code}", text if text.startswith("Failed c") else where + text)
