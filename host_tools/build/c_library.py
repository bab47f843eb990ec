"""What native code may ask of Android's C library: the one list, delegate_native/libc_symbols.txt."""

from dataclasses import dataclass

from host_tools.base import settings

LIST = settings.ROOT / "delegate_native" / "libc_symbols.txt"
LIBRARIES = ("libc", "libm", "libdl", "liblog")


@dataclass(frozen=True)
class Symbol:
    """One function or variable: where it is, from which API level on, and its version node."""

    name: str
    library: str
    api_level: int
    node: str
    is_data: bool
    abis: tuple[str, ...]  # empty: all


def all_symbols() -> list[Symbol]:
    """The list, in its order."""
    return [_symbol(line.split()) for line in LIST.read_text().splitlines() if line and not line.startswith("#")]


def symbols(abi: str, library: str = "") -> list[Symbol]:
    """What an ABI has, of one library or of all."""
    return [s for s in all_symbols() if (not s.abis or abi in s.abis) and library in ("", s.library)]


def _symbol(words: list[str]) -> Symbol:
    name, library, api_level, node, *notes = words
    abis = tuple(note for note in notes if note != "data")
    return Symbol(name, library, int(api_level), node, "data" in notes, abis)
