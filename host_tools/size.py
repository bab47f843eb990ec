"""What a shared library weighs, and what it shows and asks of its surroundings."""

from dataclasses import dataclass
from pathlib import Path
from typing import List, Tuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from host_tools.errors import Misuse


@dataclass(frozen=True)
class Size:
    """Bytes of the file and of its sections; exported symbols; libraries that it needs."""

    path: Path
    file_bytes: int
    stripped: bool
    sections: List[Tuple[str, int]]  # largest first; what is not loaded is left out
    exports: List[str]
    needed: List[str]


def measure(library: Path) -> Size:
    """Reads an ELF library."""
    try:
        with open(library, "rb") as file:
            elf = ELFFile(file)
            loaded = [(s.name, s["sh_size"]) for s in elf.iter_sections() if s["sh_flags"] & 2 and s["sh_size"]]
            symbols = elf.get_section_by_name(".dynsym")
            dynamic = elf.get_section_by_name(".dynamic")
            return Size(
                path=library,
                file_bytes=library.stat().st_size,
                stripped=elf.get_section_by_name(".symtab") is None,
                sections=sorted(loaded, key=lambda row: -row[1]),
                exports=sorted(s.name for s in symbols.iter_symbols() if _is_export(s)) if symbols else [],
                needed=[t.needed for t in dynamic.iter_tags("DT_NEEDED")] if dynamic else [],
            )
    except (OSError, ELFError) as error:
        raise Misuse(f"measure {library}", str(error), "give a shared library") from error


def show(size: Size) -> None:
    """Prints the measure."""
    print(f"{size.path}\n  {size.file_bytes:,} bytes{'' if size.stripped else ', not stripped'}")
    for name, count in size.sections[:8]:
        print(f"  {count:>12,}  {name}")
    print(f"  exports: {', '.join(size.exports) or 'none'}")
    print(f"  needs:   {', '.join(size.needed) or 'nothing'}")


def _is_export(symbol) -> bool:
    return symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK")
