"""What a built library says of itself."""

from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from host_tools.base.errors import Misuse


def build_of(library: Path) -> tuple[str, int]:
    """Its build ID in hexadecimal, and the bits of its pointers. Misuse: it is no library, or has none."""
    try:
        with open(library, "rb") as stream:
            elf = ELFFile(stream)
            notes = [
                note for part in elf.iter_sections() if isinstance(part, NoteSection) for note in part.iter_notes()
            ]
            found = [str(note["n_desc"]) for note in notes if note["n_type"] == "NT_GNU_BUILD_ID"]
            bits = int(elf.elfclass)
    except (OSError, ELFError, UnicodeDecodeError, ValueError, KeyError) as error:
        raise Misuse(
            f"read the library {library}", str(error), "give a libquadra.so that `./inv build` made"
        ) from error
    if not found:
        raise Misuse(
            f"read the library {library}", "it has no build ID, so it keeps no cache", "build it with `./inv build`"
        )
    return found[0], bits
