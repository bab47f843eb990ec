"""Inspects an APK: identity, levels, signature, alignment, libraries per ABI, and whether its classes are there."""

import re
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from host_tools.base import child_process
from host_tools.base.errors import JudgementFailed
from host_tools.base.text_table import Table, text, word
from host_tools.build import android_check, apk_facts, maven, size

_PAGE_BYTES = 16384
_MACHINES = {"EM_AARCH64": "arm64-v8a", "EM_ARM": "armeabi-v7a", "EM_X86_64": "x86_64", "EM_386": "x86"}
_OURS = "libquadra.so"
_COMPONENTS = ("application", "activity", "service", "receiver", "provider", "instrumentation")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    found: str
    ok: bool = True


def inspect(apk: Path, classes: Path, abis: Sequence[str], release: bool) -> list[Finding]:
    """Everything about `apk` that must be as it should. `classes`: the folder of those that were dexed."""
    dumped = apk_facts.dexdump(apk)
    dex = apk_facts.classes_in(dumped)
    named = [(one.tag, one.attributes["name"]) for one in apk_facts.manifest(apk).within() if "name" in one.attributes]
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
    said = child_process.run(
        ["aapt2", "dump", "badging", apk], timeout_s=apk_facts.DEADLINE_S, hint=apk_facts.PACKAGES
    ).stdout
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
        crooked = [entry.filename for entry in entries if apk_facts.data_offset(file, entry) % _PAGE_BYTES]
    told = child_process.run(
        ["zipalign", "-c", "-p", 4, apk], timeout_s=apk_facts.DEADLINE_S, check=False, hint=apk_facts.PACKAGES
    )
    ok = not crooked and told.returncode == 0
    return Finding(
        "libraries begin on 16 KB pages", "all" if ok else f"not {', '.join(crooked)}{told.stdout[-200:]}", ok
    )


def _signature(apk: Path) -> list[Finding]:
    told = apk_facts.signature(apk, int(maven.version("android-minSdk")))
    found = f"{' and '.join(told.schemes) or 'none'}, {told.name or told.said[-200:]}"
    return [Finding("signature", found, told.verified and told.schemes == ("v2", "v3"))]


def by_digest(apk: Path, name: str) -> dict[str, str]:
    """Class file and SHA-256, of the list that the APK carries."""
    with zipfile.ZipFile(apk) as archive:
        rows = [line.split("  ", 1) for line in archive.read(name).decode().splitlines()]
    return {file: digest for digest, file in rows}
