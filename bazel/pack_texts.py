"""Writes the texts of the native code, packed, as an assembler's source: delegate_native/base/texts.h says for what.

    pack_texts.py [--plain] SOURCE… > texts.S

Python's own library only: Bazel runs it where nothing else is.
"""

from __future__ import annotations

import argparse
import ast
import lzma
import re
import sys
from pathlib import Path

# Macros and functions whose first argument is a text.
_CALLS = ("QUADRA_TEXT", "QUADRA_NAMES", "TextOf", "Unsupported", "InvalidModel", "DeviceFailed", "Internal")
_CALL = re.compile(rf'\b(?:{"|".join(_CALLS)})\(((?:R"\(.*?\)"|"(?:[^"\\\n]|\\.)*"|\s)+)[,)]', re.DOTALL)
_LITERAL = re.compile(r'R"\((.*?)\)"|("(?:[^"\\\n]|\\.)*")', re.DOTALL)
# QUADRA_NAMES(LIST(NAME)), LIST a macro of names and NAME what makes a literal of one.
_LISTS = re.compile(r"\bQUADRA_NAMES\((\w+)\((\w+)\)\)")
# A row of options.def: its name, its default and its values are texts.
_OPTION = re.compile(r'^QUADRA_OPTION\((\w+), \w+, "([^"]*)", "([^"]*)"', re.MULTILINE)
# Phones' libraries are built without these.
_FOLDERS_FOR_CPUS = ("cpu", "pocl", "llvmpipe")
_ROW = 24  # bytes in a line
# Literals depend on three bits of the byte before them, nothing on where it lies.
SETTINGS = {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 3, "lp": 0, "pb": 0, "nice_len": 273}


def texts(sources: list[str]) -> list[str]:
    """The texts in sources' contents, each once, in their order."""
    found: dict[str, None] = {}
    for source in sources:
        for literals in _CALL.findall(source):
            parts = (raw if not quoted else ast.literal_eval(quoted) for raw, quoted in _LITERAL.findall(literals))
            found["".join(parts)] = None
        for row in _OPTION.findall(source):
            found.update(dict.fromkeys(row))
        for names, name in _LISTS.findall(source):
            found[_listed(names, name, sources)] = None
    return list(found)


def _listed(names: str, name: str, sources: list[str]) -> str:
    """The text of QUADRA_NAMES(names(name))."""
    begin = _definition(rf'{name}\(name[^)]*\) "(\w*)" #name "\\n"$', sources)
    return "".join(
        f"{begin}{one}\n" for one in re.findall(r"\bF\((\w+)", _definition(rf"{names}\(F\)((?:.*\\\n)*.*)", sources))
    )


def _definition(pattern: str, sources: list[str]) -> str:
    """The group of the pattern in the macro's definition."""
    return next(match[1] for source in sources if (match := re.search("^#define " + pattern, source, re.MULTILINE)))


def _is_for_cpus(source: Path) -> bool:
    return source.parent.name in _FOLDERS_FOR_CPUS


def hash_of(text: str) -> int:
    """TextHash of texts.h: FNV-1a."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def symbol_of(text: str) -> str:
    """The C++ name of LibraryText<hash>::kText."""
    return f"_ZN6quadra11LibraryTextILj{hash_of(text)}EE5kTextE"


def compressed(data: bytes) -> bytes:
    """As unpack_texts.cc reads it: LZMA without a header."""
    return lzma.compress(data, format=lzma.FORMAT_RAW, filters=[SETTINGS])


def plain(wanted: list[str]) -> str:
    """The part of the source that defines these texts; each has a section, for the linker to leave out."""
    lines = []
    for text in wanted:
        symbol = symbol_of(text)
        lines += [f'.section .rodata.{symbol},"a"', *_global(symbol), f"{symbol}:", *_bytes(text.encode() + b"\0")]
    return "\n".join(lines)


def packed(wanted: list[str]) -> str:
    """The same, packed."""
    code = [text for text in wanted if ";" in text or "#" in text]
    words = [text for text in wanted if text not in code]
    places, size = {}, 0
    for text in code + words:
        places[text] = size
        size += len(text.encode()) + 1
    data = compressed("".join(text + "\0" for text in code + words).encode())
    lines = [
        ".section .rodata", *_global("quadra_packed_texts"), ".type quadra_packed_texts,%object", "quadra_packed_texts:",
        *_bytes(data), ".size quadra_packed_texts, . - quadra_packed_texts",
        # The library unpacks them when it is loaded.
        '.section .init_array,"aw"', ".balign __SIZEOF_POINTER__", ".hidden quadra_unpack_texts",
        "#if __SIZEOF_POINTER__ == 8", ".quad quadra_unpack_texts", "#else", ".long quadra_unpack_texts", "#endif",
        ".bss", *_global("quadra_texts"), "quadra_texts:", f".skip {size}",
        *_global("quadra_texts_end"), "quadra_texts_end:",
    ]  # fmt: skip
    for text, place in places.items():
        lines += [*_global(symbol_of(text)), f".set {symbol_of(text)}, quadra_texts + {place}"]
    return "\n".join(lines)


def _global(name: str) -> list[str]:
    return [f".globl {name}", f".hidden {name}"]


def _bytes(data: bytes) -> list[str]:
    return [".byte " + ",".join(map(str, data[i : i + _ROW])) for i in range(0, len(data), _ROW)]


def checked(wanted: list[str]) -> list[str]:
    """The same; an error where two have one hash."""
    known: dict[int, str] = {}
    for text in wanted:
        if known.setdefault(hash_of(text), text) != text:
            sys.exit(
                f"pack_texts.py: two texts have one hash; change one of them:\n{known[hash_of(text)]}\n---\n{text}"
            )
    return wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plain", action="store_true", help="not packed: for programs with few texts")
    parser.add_argument("sources", nargs="+", type=Path)
    asked = parser.parse_args()
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(asked.sources)}
    wanted = checked(texts(list(sources.values())))
    if asked.plain:
        print(plain(wanted))
    else:
        of_phones = texts([text for path, text in sources.items() if not _is_for_cpus(path)])
        print('#include "delegate_native/base/cpu_shapes.h"', "#if QUADRA_CPU_SHAPES", packed(wanted), sep="\n")
        print("#else", packed(of_phones), "#endif", sep="\n")
    print('.section .note.GNU-stack,"",%progbits')


if __name__ == "__main__":
    main()
