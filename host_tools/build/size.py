"""What a shared library weighs, who made it, and what it shows and asks of its surroundings."""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, Section, Symbol, SymbolTableSection

from host_tools.base import terminal
from host_tools.base.errors import Misuse

S = TypeVar("S", bound=Section)
_NOTE_OWNER = "Quadra"
_NUMBER = re.compile(r"\.\d+$")  # by which the linker tells local symbols of one name apart
_LAYER = re.compile(r"delegate_native/(runtime/\w+|\w+)/_objs/")
# Layers whose literals are kernels' text when they look like code.
_WITH_KERNELS = {"kernel", "ops", "plan"}
_CODE = re.compile(rb"[\n;{}]|\bvec4\b|\$")
_TEXT = re.compile(rb"[\n\t -~]+")
_KERNELS = "kernels' text"
_PACKED = "quadra_packed_texts"  # kernels' texts, messages and names (delegate_native/base/texts.h)
_UNWINDING = re.compile(r"\.(eh_frame|gcc_except|ARM\.ex)")
_LINKING = re.compile(r"\.(dyn|gnu|rel|plt|got|iplt|hash|interp)")


@dataclass(frozen=True)
class Size:
    """Bytes of the file and of its sections; exported symbols; libraries that it needs."""

    path: Path
    file_bytes: int
    stripped: bool
    made_by: str  # in the words of its own note; empty: it has none
    sections: list[tuple[str, int]]  # largest first; what is not loaded is left out
    exports: list[str]
    needed: list[str]


def measure(library: Path) -> Size:
    """Reads an ELF library."""
    with opened(library) as elf:
        loaded = [(s.name, s["sh_size"]) for s in elf.iter_sections() if s["sh_flags"] & 2 and s["sh_size"]]
        symbols = find_section(elf, ".dynsym", SymbolTableSection)
        dynamic = find_section(elf, ".dynamic", DynamicSection)
        return Size(
            path=library,
            file_bytes=library.stat().st_size,
            stripped=elf.get_section_by_name(".symtab") is None,
            made_by=made_by(elf),
            sections=sorted(loaded, key=lambda row: -row[1]),
            exports=sorted(s.name for s in symbols.iter_symbols() if _is_export(s)) if symbols else [],
            needed=tags(dynamic, "DT_NEEDED") if dynamic else [],
        )


@contextmanager
def opened(library: Path) -> Iterator[ELFFile]:
    """The file, parsed; Misuse when it cannot be."""
    try:
        with open(library, "rb") as file:
            yield ELFFile(file)
    except (OSError, ELFError, ValueError, KeyError) as error:  # the last two: of a damaged one
        raise Misuse(f"measure {library}", str(error), "give a shared library") from error


def find_section(elf: ELFFile, name: str, kind: type[S]) -> S | None:
    """The section of this name; None where there is none, or one of another kind, as in damaged files."""
    found = elf.get_section_by_name(name)
    return found if isinstance(found, kind) else None


def section(elf: ELFFile, name: str, kind: type[S]) -> S:
    """The section of this name; ELFError where there is none."""
    found = find_section(elf, name, kind)
    if found is None:
        raise ELFError(f"it has no section {name}")
    return found


def tags(dynamic: DynamicSection, kind: str) -> list[str]:
    """The names that its tags of this kind give: DT_NEEDED or DT_SONAME."""
    return [getattr(tag, kind.removeprefix("DT_").lower()) for tag in dynamic.iter_tags(kind)]


def made_by(elf: ELFFile) -> str:
    """The toolchain, as the library's note tells it."""
    section = find_section(elf, ".note.quadra", NoteSection)
    notes = section.iter_notes() if section else ()
    words: list[bytes] = [note["n_descdata"] for note in notes if note["n_name"] == _NOTE_OWNER]
    return words[0].rstrip(b"\0").decode() if words else ""


def build_of(library: Path) -> tuple[str, int]:
    """Its build ID in hexadecimal, and the bits of its pointers. Misuse: it is no library, or has no such ID."""
    with opened(library) as elf:
        note = find_section(elf, ".note.gnu.build-id", NoteSection)
        found = [str(one["n_desc"]) for one in note.iter_notes()] if note else []
        bits = int(elf.elfclass)
    if not found:
        tried, do_next = f"read the library {library}", "build it with `./inv build`"
        raise Misuse(tried, "it has no build ID, so it keeps no cache", do_next)
    return found[0], bits


def layers(library: Path, unstripped: Path, objects: Sequence[Path]) -> list[tuple[str, int]]:
    """Bytes of the library by layer of the code, largest first; they add up to the file.

    Functions and tables are found by their symbols, literals by the objects that hold them; those that are code are
    "kernels' text". What several layers instantiate is "shared templates"; what none of our objects has comes with
    the C++ library.
    """
    owners = _owners(objects)
    with opened(unstripped) as elf:
        weight: Counter[str] = Counter(_literals(objects, _texts(elf)))
        seen: set[int] = set()
        for symbol in section(elf, ".symtab", SymbolTableSection).iter_symbols():
            kind, address, size = symbol["st_info"]["type"], symbol["st_value"], symbol["st_size"]
            if kind in ("STT_FUNC", "STT_OBJECT") and size and address not in seen and _in_file(elf, symbol):
                seen.add(address)  # identical code is there once
                owner = owners.get(_NUMBER.sub("", symbol.name), set())
                data = _bytes(elf, symbol) if kind == "STT_OBJECT" else b""
                weight["texts, packed" if symbol.name == _PACKED else _row(owner, data)] += size
        for part in elf.iter_sections():
            if part["sh_flags"] & 2 and part["sh_type"] != "SHT_NOBITS":
                name = "unwinding" if _UNWINDING.match(part.name) else "linking" if _LINKING.match(part.name) else ""
                weight[name] += part["sh_size"] if name else 0
    del weight[""]
    weight["headers and padding"] = library.stat().st_size - sum(weight.values())
    return weight.most_common()


def show(size: Size) -> None:
    """Prints the measure."""
    print(f"{size.path}\n  {size.file_bytes:,} bytes{'' if size.stripped else ', not stripped'}")
    print(f"  made by: {size.made_by or 'not said'}")
    for name, count in size.sections[:8]:
        print(f"  {count:>12,}  {name}")
    terminal.say(f"  exports: {', '.join(size.exports) or 'none'}", sys.stdout)
    print(f"  needs:   {', '.join(size.needed) or 'nothing'}")


def _is_export(symbol: Symbol) -> bool:
    return symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK")


def _in_file(elf: ELFFile, symbol: Symbol) -> bool:
    index = symbol["st_shndx"]
    return isinstance(index, int) and elf.get_section(index)["sh_type"] != "SHT_NOBITS"


def _bytes(elf: ELFFile, symbol: Symbol) -> bytes:
    section = elf.get_section(symbol["st_shndx"])
    start = symbol["st_value"] - section["sh_addr"]
    return section.data()[start : start + symbol["st_size"]]


def _row(found: set[str], data: bytes) -> str:
    if not found:
        return "C++ library"
    (layer, *others) = sorted(found)
    if others:
        return "shared templates"
    text = data.rstrip(b"\0")
    return _KERNELS if layer in _WITH_KERNELS and _CODE.search(text) and _TEXT.fullmatch(text) else layer


def _layer(path: Path) -> str:
    match = _LAYER.search(str(path))
    return match.group(1) if match else "other"


def _owners(objects: Sequence[Path]) -> dict[str, set[str]]:
    """symbol: the layers whose objects define it."""
    owners: dict[str, set[str]] = defaultdict(set)
    for path in objects:
        with opened(path) as elf:
            for section in elf.iter_sections():
                if isinstance(section, SymbolTableSection):
                    for symbol in section.iter_symbols():
                        if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_size"]:
                            owners[symbol.name].add(_layer(path))
    return owners


def _texts(elf: ELFFile) -> set[bytes]:
    """What lies between two zeros in the library's constants."""
    constants = [part for part in elf.iter_sections() if part.name.startswith(".rodata")]
    return {text for part in constants for text in part.data().split(b"\0")}


def _literals(objects: Sequence[Path], kept: set[bytes]) -> dict[str, int]:
    """Bytes of string literals by layer. The linker keeps each once, and none that ends another or that nothing names."""
    weight: dict[str, int] = Counter()
    seen: set[bytes] = set()
    for path in objects:
        with opened(path) as elf:
            for section in elf.iter_sections():
                if section.name.startswith(".rodata") and section["sh_flags"] & 0x20:  # SHF_STRINGS
                    for text in kept.intersection(section.data().split(b"\0")) - seen:
                        seen.add(text)
                        layer = _layer(path)
                        kernels = layer in _WITH_KERNELS and _CODE.search(text)
                        weight[_KERNELS if kernels else layer] += len(text) + 1
    return weight
