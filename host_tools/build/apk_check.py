"""Inspects an APK: identity, levels, signature, alignment, libraries per ABI, and whether its classes are there."""

import re
import struct
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.markup import escape

from host_tools.base import child_process
from host_tools.base.errors import JudgementFailed
from host_tools.base.text_table import Table, text, word
from host_tools.build import android_check, maven, size

_DEADLINE_S = 120.0
_PACKAGES = "apt-get install aapt zipalign apksigner dexdump"
_PAGE_BYTES = 16384
_MACHINES = {"EM_AARCH64": "arm64-v8a", "EM_ARM": "armeabi-v7a", "EM_X86_64": "x86_64", "EM_386": "x86"}
_OURS = "libquadra.so"
_COMPONENTS = ("application", "activity", "service", "receiver", "provider", "instrumentation")
_ELEMENT = re.compile(r"( *)E: ([\w-]+) ")
_ATTRIBUTE = re.compile(
    r' *A: (?:http://schemas.android.com/apk/res/android:)?(\w+)(?:\(0x[0-9a-f]+\))?=(?:"(.*)" \(Raw: .*\)|(.*))'
)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    found: str
    ok: bool = True


def inspect(apk: Path, classes: Path, abis: Sequence[str], release: bool) -> list[Finding]:
    """Everything about `apk` that must be as it should. `classes`: the folder of those that were dexed."""
    dumped = _dexdump(apk)
    dex = _classes(dumped)
    named = [(one.tag, one.attributes["name"]) for one in manifest(apk).within() if "name" in one.attributes]
    found = [
        *_identity(apk, release),
        *_dex(dex, classes),
        *_lambdas(dumped),
        *_components(named, dex),
        *_opencl(named),
    ]
    return [*found, *_libraries(apk, abis), _aligned(apk), *_signature(apk)]


def show(apk: Path, findings: Sequence[Finding], console: Console) -> None:
    """Prints the table."""
    table = Table([word(""), text(""), text("")])
    for one in findings:
        table.add_row("[green]ok[/]" if one.ok else "[red]WRONG[/]", escape(one.what), escape(one.found))
    console.print(f"{escape(str(apk))}  {apk.stat().st_size:,} bytes", highlight=False)
    table.show(console)


def abi_of(library: Path) -> str:
    """The ABI that an ELF library is for; empty where Android has none like it."""
    with size.opened(library) as elf:
        return _MACHINES.get(elf["e_machine"], "")


def made_by(library: Path) -> str:
    """The toolchain, as the library's own note tells it; empty where it tells none."""
    with size.opened(library) as elf:
        return size.made_by(elf)


def refuse_stand_in(tried: str, libraries: Mapping[str, Path]) -> None:
    """JudgementFailed where a library, by ABI, was not built with an NDK."""
    for abi, path in libraries.items():
        maker = made_by(path)
        if not maker.startswith("NDK "):
            found = f"the library for {abi} was made by {maker or 'nobody who says so'}, which is for tests only"
            raise JudgementFailed(tried, found, "set ANDROID_NDK_HOME to an NDK (r27 or later) and build it again")


def _identity(apk: Path, release: bool) -> list[Finding]:
    said = child_process.run(["aapt2", "dump", "badging", apk], timeout_s=_DEADLINE_S, hint=_PACKAGES).stdout
    package = re.search(r"^package: name='([^']*)' versionCode='([^']*)' versionName='([^']*)'", said, re.MULTILINE)
    names = ("applicationId", "quadra-code", "quadra-name")
    ok = package is not None and package.groups() == tuple(maven.version(name) for name in names)
    found = "{} {} ({})".format(*(package.group(i) for i in (1, 3, 2))) if package else "none"
    levels = {key: re.search(rf"^{word}:'(\d+)'", said, re.MULTILINE) for key, word in _LEVELS.items()}
    shown = {key: match.group(1) if match else "none" for key, match in levels.items()}
    level_ok = all(shown[key] == maven.version(f"android-{key}Sdk") for key in shown)
    debuggable = "application-debuggable" in said
    return [
        Finding("package", found, ok),
        Finding("Android levels", f"from {shown['min']}, made for {shown['target']}", level_ok),
        Finding("debuggable", "yes" if debuggable else "no", debuggable is not release),
    ]


_LEVELS = {"min": "sdkVersion", "target": "targetSdkVersion"}


def _dex(dex: Sequence[str], classes: Path) -> list[Finding]:
    ours = [str(path.relative_to(classes).with_suffix("")) for path in classes.rglob("*.class")]
    absent = sorted(set(ours) - set(dex))
    found = f"{len(dex)} classes, {len(ours)} of them ours" if not absent else f"missing: {', '.join(absent)}"
    return [Finding("classes.dex, read by dexdump", found, bool(dex) and not absent)]


def _lambdas(dumped: str) -> list[Finding]:
    """dx leaves lambdas and method references as they are, for a class that Java has at run time and Android has not."""
    count = len(re.findall(r"^Call site #\d+:", dumped, re.MULTILINE))
    return [
        Finding(
            "no lambdas in the dex", f"{count} call sites, which end the app on a phone" if count else "none", not count
        )
    ]


def _components(named: Sequence[tuple[str, str]], dex: Sequence[str]) -> list[Finding]:
    """Every class that the manifest names is there."""
    package = maven.version("applicationId")
    found = []
    for kind, name in named:
        if kind in _COMPONENTS:
            full = package + name if name.startswith(".") else name
            there = full.replace(".", "/") in dex
            found.append(Finding(f"{kind} of the manifest", full if there else f"{full} is not in the dex", there))
    if not any(one.what.startswith("instrumentation") for one in found):
        found.append(Finding("instrumentation of the manifest", "none", False))
    return found


def _opencl(named: Sequence[tuple[str, str]]) -> list[Finding]:
    names = [name for kind, name in named if kind == "uses-native-library"]
    return [Finding("libraries of the vendor", ", ".join(names) or "none", "libOpenCL.so" in names)]


def _libraries(apk: Path, abis: Sequence[str]) -> list[Finding]:
    """The same libraries for every ABI; ours in pages of 16 KB where the address space has 64 bits."""
    found = []
    with zipfile.ZipFile(apk) as archive, tempfile.TemporaryDirectory(prefix="quadra-apk-") as folder:
        native = [entry for entry in archive.infolist() if entry.filename.startswith("lib/")]
        names = {
            abi: {e.filename.rsplit("/", 1)[1] for e in native if e.filename.startswith(f"lib/{abi}/")} for abi in abis
        }
        strangers = {entry.filename.split("/")[1] for entry in native} - set(abis)
        if strangers:
            found.append(Finding("ABIs", f"{', '.join(sorted(strangers))} was not asked for", False))
        for abi in abis:
            complete = names[abi] == set.union(*names.values()) and _OURS in names[abi]
            found.append(Finding(f"lib/{abi}", ", ".join(sorted(names[abi])) or "nothing", complete))
            found += [_library(Path(archive.extract(f"lib/{abi}/{name}", folder)), abi) for name in sorted(names[abi])]
        stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in native)
        found.append(Finding("libraries are stored", "as they are" if stored else "some are compressed", stored))
    return found


def _library(path: Path, abi: str) -> Finding:
    """Others' libraries are what they are; of ours, the pages are judged."""
    with size.opened(path) as elf:
        wide = elf.elfclass == 64
    pages = android_check.page_bytes(path)
    facts = f"{path.stat().st_size:,} bytes, pages of {pages // 1024} KB"
    ok = abi_of(path) == abi
    if path.name == _OURS:
        facts += f", made by {made_by(path) or 'nobody who says so'}"
        ok = ok and (not wide or pages >= _PAGE_BYTES)
    return Finding(f"lib/{abi}/{path.name}", facts, ok)


def _aligned(apk: Path) -> Finding:
    """Every stored library begins on a page of 16 KB; what else is stored on 4 bytes, to which apksigner 35 moves it."""
    with zipfile.ZipFile(apk) as archive, open(apk, "rb") as file:
        entries = [entry for entry in archive.infolist() if entry.filename.startswith("lib/")]
        crooked = [entry.filename for entry in entries if data_offset(file, entry) % _PAGE_BYTES]
    told = child_process.run(["zipalign", "-c", "-p", 4, apk], timeout_s=_DEADLINE_S, check=False, hint=_PACKAGES)
    ok = not crooked and told.returncode == 0
    return Finding(
        "libraries begin on 16 KB pages", "all" if ok else f"not {', '.join(crooked)}{told.stdout[-200:]}", ok
    )


def data_offset(file: IO[bytes], entry: zipfile.ZipInfo) -> int:
    """Where the data of an entry begins in the APK."""
    file.seek(entry.header_offset + 26)
    lengths: tuple[int, int] = struct.unpack("<HH", file.read(4))  # of the name, and of what stands behind it
    return entry.header_offset + 30 + sum(lengths)


@dataclass(frozen=True)
class Signature:
    """What apksigner says: whether every byte is as it was signed, by which schemes, and who signed."""

    verified: bool
    schemes: tuple[str, ...]  # of those after JAR signing
    name: str
    signer: str  # SHA-256 of the certificate
    said: str


def signature(apk: Path, min_sdk: int) -> Signature:
    """Verifies the APK as devices from level `min_sdk` on do."""
    argv = ["apksigner", "verify", "--verbose", "--print-certs", "--min-sdk-version", min_sdk, apk]
    told = child_process.run(argv, timeout_s=_DEADLINE_S, check=False, hint=_PACKAGES)
    schemes = [v for v in ("v2", "v3") if re.search(rf"Verified using {v} scheme .*: true", told.stdout)]
    name = re.search(r"certificate DN: (.*)", told.stdout)
    digest = re.search(r"^Signer #1 certificate SHA-256 digest: ([0-9a-f]{64})$", told.stdout, re.MULTILINE)
    said = (told.stdout + told.stderr).strip()
    who, signer = (one.group(1) if one else "" for one in (name, digest))
    return Signature(told.returncode == 0, tuple(schemes), who, signer, said)


def _signature(apk: Path) -> list[Finding]:
    told = signature(apk, int(maven.version("android-minSdk")))
    found = f"{' and '.join(told.schemes) or 'none'}, {told.name or told.said[-200:]}"
    return [Finding("signature", found, told.verified and told.schemes == ("v2", "v3"))]


def _dexdump(apk: Path) -> str:
    """What dexdump, which verifies them, says of the dex files; empty where there is none or one is damaged."""
    told = child_process.run(["dexdump", apk], timeout_s=_DEADLINE_S, check=False, hint=_PACKAGES)
    return told.stdout if told.returncode == 0 else ""


def _classes(dumped: str) -> list[str]:
    return re.findall(r"Class descriptor  : 'L([^;]+);'", dumped)


def classes(apk: Path) -> frozenset[str]:
    """Names, as `org.quadra.runner.QuadraRunner`, of the classes in its dex files; none where one is damaged."""
    return frozenset(name.replace("/", ".") for name in _classes(_dexdump(apk)))


@dataclass
class Element:
    """One element of a manifest; attributes by their name, without the name space."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element"] = field(default_factory=list)

    def within(self) -> list["Element"]:
        """All that it holds, at any depth."""
        return [one for child in self.children for one in (child, *child.within())]

    def all(self, tag: str) -> list["Element"]:
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> "Element":
        """The first child of this tag, or an empty one."""
        return (self.all(tag) or [Element(tag)])[0]

    def text(self, name: str) -> str:
        return self.attributes.get(name, "")

    def number(self, name: str, default: int = 0) -> int:
        value = self.attributes.get(name, "")
        return int(value) if value.isdecimal() else default

    def flag(self, name: str, default: bool = False) -> bool:
        return self.attributes.get(name, str(default).lower()) == "true"


def manifest(apk: Path) -> Element:
    """The root element of the binary manifest. CommandFailed where it is damaged."""
    argv = ["aapt2", "dump", "xmltree", "--file", "AndroidManifest.xml", apk]
    root = Element("")
    open_elements = [(-1, root)]
    for line in child_process.run(argv, timeout_s=_DEADLINE_S, hint=_PACKAGES).stdout.splitlines():
        element, attribute = _ELEMENT.match(line), _ATTRIBUTE.match(line)
        if element:
            depth, made = len(element[1]), Element(element[2])
            while open_elements[-1][0] >= depth:
                open_elements.pop()
            open_elements[-1][1].children.append(made)
            open_elements.append((depth, made))
        elif attribute:
            open_elements[-1][1].attributes[attribute[1]] = attribute[2] if attribute[3] is None else attribute[3]
    return (root.children or [root])[0]


def by_digest(apk: Path, name: str) -> dict[str, str]:
    """Class file and SHA-256, of the list that the APK carries."""
    with zipfile.ZipFile(apk) as archive:
        rows = [line.split("  ", 1) for line in archive.read(name).decode().splitlines()]
    return {file: digest for digest, file in rows}
