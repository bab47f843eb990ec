"""Relocations in Android's packed form, which desktop loaders do not know, as plain ones: the code stays what it is.

The packed form: "APS2", then signed LEB128 numbers, in groups that share what their relocations have in common
(bionic/linker/linker_reloc_iterators.h).
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from host_tools.android_on_host.bionic import symbols
from host_tools.base.errors import Misuse
from host_tools.build import size

_BY_INFO, _BY_OFFSET_DELTA, _BY_ADDEND, _HAS_ADDEND = 1, 2, 4, 8
# Tags of the packed table and its size, and what they become: DT_REL or DT_RELA, its size, the size of an entry.
_TAGS = {False: (0x6000000F, 0x60000010, 17, 18, 19), True: (0x60000011, 0x60000012, 7, 8, 9)}
_DT_SONAME, _DT_DEBUG, _PT_LOAD, _PT_NOTE, _READ = 14, 21, 1, 4, 4


def unpack(path: Path, to: Path) -> None:
    """Writes `path` with plain relocations, in a segment of their own after the others. A file without packed ones is
    copied. Misuse: it is no library, or damaged."""
    symbols.read(path)  # says what is wrong with a file that is no library
    data = bytearray(path.read_bytes())
    with open(path, "rb") as stream:
        elf = ELFFile(stream)
        wide = elf.elfclass == 64
        dynamic = size.section(elf, ".dynamic", DynamicSection)
        entries = [(tag.entry.d_tag, tag.entry.d_val) for tag in dynamic.iter_tags()]
        where, order = dynamic["sh_offset"], "<" + ("qQ" if wide else "iI")
        segments = [(segment["p_type"], segment["p_vaddr"] + segment["p_memsz"]) for segment in elf.iter_segments()]
        notes = [number for number, (kind, _) in enumerate(segments) if kind == "PT_NOTE"]
        table_of_segments = elf["e_phoff"], elf["e_phentsize"]
    raw = [struct.unpack_from(order, data, where + number * struct.calcsize(order)) for number in range(len(entries))]
    packed, packed_size, plain, plain_size, plain_entry = _TAGS[wide]
    values = dict(raw)
    if packed not in values:
        to.write_bytes(data)
        return
    table = b"".join(_plain(data[values[packed] : values[packed] + values[packed_size]], wide))
    page = 0x10000
    place = -(-max(len(data), *(end for _, end in segments)) // page) * page  # in the file and in memory
    if not notes or not {_DT_SONAME, _DT_DEBUG} & values.keys():
        raise Misuse(f"load {path.name} here", "there is no room for plain relocations in its tables", "build it anew")
    spare = _DT_SONAME if _DT_SONAME in values else _DT_DEBUG  # neither is needed where a path names the file
    changed = {packed: (plain, place), packed_size: (plain_size, len(table)), spare: (plain_entry, 24 if wide else 8)}
    for number, (tag, _) in enumerate(raw):
        if tag in changed:
            struct.pack_into(order, data, where + number * struct.calcsize(order), *changed[tag])
    first, step = table_of_segments
    at = first + notes[-1] * step
    if wide:
        struct.pack_into("<IIQQQQQQ", data, at, _PT_LOAD, _READ, place, place, place, len(table), len(table), page)
    else:
        struct.pack_into("<IIIIIIII", data, at, _PT_LOAD, place, place, place, len(table), len(table), _READ, page)
    to.write_bytes(data + bytes(place - len(data)) + table)
    to.chmod(0o755)


def _plain(packed: bytes | bytearray, wide: bool) -> Iterator[bytes]:
    if packed[:4] != b"APS2":
        raise Misuse(
            "read packed relocations", f"they begin with {bytes(packed[:4])!r}, not with APS2", "build it anew"
        )
    numbers = _signed_leb128(packed[4:])
    left, offset, info, addend = next(numbers), next(numbers), 0, 0
    while left > 0:
        count, flags = next(numbers), next(numbers)
        delta = next(numbers) if flags & _BY_OFFSET_DELTA else 0
        info = next(numbers) if flags & _BY_INFO else info
        if not flags & _HAS_ADDEND:
            addend = 0
        elif flags & _BY_ADDEND:
            addend += next(numbers)
        for _ in range(count):
            offset += delta if flags & _BY_OFFSET_DELTA else next(numbers)
            info = info if flags & _BY_INFO else next(numbers)
            if flags & _HAS_ADDEND and not flags & _BY_ADDEND:
                addend += next(numbers)
            yield struct.pack("<QQq", offset, info, addend) if wide else struct.pack("<II", offset, info)
        left -= count


def _signed_leb128(data: bytes | bytearray) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            yield value - (1 << shift) if byte & 64 else value
            value = shift = 0
