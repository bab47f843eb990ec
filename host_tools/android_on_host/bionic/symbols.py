"""What an ELF library asks of others, and what it has."""

from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

from host_tools.base.errors import Misuse
from host_tools.build import size

_WEAK = "STB_WEAK"


@dataclass(frozen=True)
class Wanted:
    """One symbol that `library` asks for. `source` is the library that it expects it of, where it says so."""

    name: str
    library: str
    version: str = ""
    source: str = ""


@dataclass(frozen=True)
class Library:
    """The dynamic symbols of one library. `wanted` leaves out what may be missing (weak symbols)."""

    name: str
    machine: str
    needed: list[str]
    wanted: list[Wanted]
    exported: frozenset[str]


def read(path: Path) -> Library:
    """Reads an ELF library; Misuse where it is none."""
    try:
        with open(path, "rb") as stream:
            return _read(path, ELFFile(stream))
    except (OSError, ELFError) as error:
        came_back = str(error) or "it is no ELF library"
        raise Misuse(f"read the library {path}", came_back, "give a shared library") from error


def _read(path: Path, elf: ELFFile) -> Library:
    versions = _versions(elf)
    by_number = size.find_section(elf, ".gnu.version", GNUVerSymSection)
    wanted, exported = [], set()
    for number, symbol in enumerate(size.section(elf, ".dynsym", SymbolTableSection).iter_symbols()):
        if not symbol.name or symbol["st_info"]["bind"] == "STB_LOCAL":
            continue
        if symbol["st_shndx"] != "SHN_UNDEF":
            exported.add(symbol.name)
        elif symbol["st_info"]["bind"] != _WEAK:
            version = by_number.get_symbol(number)["ndx"] if by_number else 0
            wanted.append(Wanted(symbol.name, path.name, *versions.get(version, ("", ""))))
    needed = size.tags(size.section(elf, ".dynamic", DynamicSection), "DT_NEEDED")
    return Library(path.name, elf["e_machine"], needed, wanted, frozenset(exported))


def _versions(elf: ELFFile) -> dict[int, tuple[str, str]]:
    """(name of the version, library it is expected in) by the number that symbols carry."""
    section = size.find_section(elf, ".gnu.version_r", GNUVerNeedSection)
    if not section:
        return {}
    return {
        aux["vna_other"]: (aux.name, need.name or "") for need, all_aux in section.iter_versions() for aux in all_aux
    }
