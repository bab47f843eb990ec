"""The words of the delegate's packed texts, chosen for the texts of today: `python -m host_tools.build.packed_words` writes them
anew. delegate_native/base/packing.h says how they are used."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from host_tools.base import settings

NATIVE = settings.ROOT / "delegate_native"
_LITERALS = r'((?:R"\(.*?\)"|"(?:[^"\\\n]|\\.)*"|\s)+)'
_LITERAL = re.compile(r'R"\((.*?)\)"|("(?:[^"\\\n]|\\.)*")', re.DOTALL)
_ONE_BYTE, _MOST, _LONGEST = 128, 1500, 63
_ROUNDS = 3


@dataclass(frozen=True)
class Table:
    """A list of words: its file, the struct there, what the file says of itself, and the calls whose first argument is packed."""

    path: Path
    struct: str
    about: str
    calls: str
    placeholders: str  # letters that stay plain, as does what follows


TABLES = (
    Table(
        NATIVE / "kernel" / "kernel_words.h",
        "KernelWords",
        "What kernels' texts say most.",
        "QUADRA_TEXT|TextOf",
        "$@%",
    ),
    Table(
        NATIVE / "base" / "sentence_words.h",
        "SentenceWords",
        "What messages and names repeat.",
        "Unsupported|InvalidModel|DeviceFailed|Internal|QUADRA_NAMES",
        "",
    ),
)


def texts(table: Table) -> list[str]:
    """The literals that the table's words pack, each once."""
    call = re.compile(rf"\b(?:{table.calls})\({_LITERALS}[,)]", re.DOTALL)
    found: dict[str, None] = {}
    for path in sorted(p for p in NATIVE.rglob("*") if p.suffix in (".cc", ".h", ".def")):
        for literals in call.findall(path.read_text(encoding="utf-8")):
            parts = (raw if not plain else ast.literal_eval(plain) for raw, plain in _LITERAL.findall(literals))
            found["".join(parts)] = None
    return [text for text in found if text]


def choose(table: Table) -> list[str]:
    """The words that save most, those first that are said most: they take one byte."""
    said = texts(table)
    words = _merged(said, table.placeholders)
    for _ in range(_ROUNDS):
        uses = Counter(word for text in said for word in parse(text, words, table.placeholders))
        places = {word: place for place, word in enumerate(words)}
        otherwise = {}
        for word in words:
            parts = parse(word, words, table.placeholders, len(word))
            otherwise[word] = sum(_size(part, places.get(part, 0)) for part in parts)
            uses.update(parts)
        said_most = [word for word, _ in uses.most_common() if len(word) > 1]
        words = [
            word
            for place, word in enumerate(said_most)
            # What it saves, less its own bytes and the zero.
            if (otherwise[word] - _size(word, place)) * uses[word] > otherwise[word] + 1
        ]
    return words


def packed_bytes(table: Table, words: list[str]) -> int:
    """Bytes of all texts with these words, and of the words themselves, each with the zero behind it."""
    places = {word: place for place, word in enumerate(words)}
    parsed = [parse(text, words, table.placeholders) for text in texts(table)]
    parsed += [parse(word, words, table.placeholders, len(word)) for word in words]
    return sum(1 + sum(_size(part, places.get(part, 0)) for part in parts) for parts in parsed)


def parse(text: str, words: list[str], placeholders: str, longest: int = 1 << 30) -> list[str]:
    """The fewest bytes for the text: its words and single letters. Words as long as `longest` are not used."""
    begin = _index(tuple(words))
    bytes_from, part = [0] * (len(text) + 1), [""] * len(text)
    for at in range(len(text) - 1, -1, -1):
        bytes_from[at], part[at] = 1 + bytes_from[at + 1], text[at]
        if at and text[at - 1] in placeholders:
            continue
        for word, size in begin.get(text[at : at + 2], ()):
            if len(word) < longest and text.startswith(word, at) and size + bytes_from[at + len(word)] < bytes_from[at]:
                bytes_from[at], part[at] = size + bytes_from[at + len(word)], word
    return list(_walk(part))


def _walk(part: list[str]) -> Iterator[str]:
    at = 0
    while at < len(part):
        yield part[at]
        at += len(part[at])


_indexed: dict[tuple[str, ...], dict[str, list[tuple[str, int]]]] = {}


def _index(words: tuple[str, ...]) -> dict[str, list[tuple[str, int]]]:
    if words not in _indexed:
        _indexed.clear()
        index = _indexed[words] = defaultdict(list)
        for place, word in enumerate(words):
            index[word[:2]].append((word, 1 if place < _ONE_BYTE else 2))
    return _indexed[words]


def _size(word: str, place: int) -> int:
    return 2 if len(word) > 1 and place >= _ONE_BYTE else 1


def _merged(said: Iterable[str], placeholders: str) -> list[str]:
    """Byte pair encoding: again and again the pair that stands most often becomes a word."""
    cut = rf"[{re.escape(placeholders)}].?|\|" if placeholders else r"\|"
    rows = [list(part) for text in said for part in re.split(cut, text, flags=re.DOTALL) if len(part) > 1]
    pairs = [Counter(pairwise(row)) for row in rows]
    total = Counter[tuple[str, str]]()
    for one in pairs:
        total.update(one)
    words: list[str] = []
    while len(words) < _MOST and total:
        pair = max(total, key=lambda p: (total[p], p))
        if total[pair] < 3 or len(pair[0] + pair[1]) > _LONGEST:
            del total[pair]
            if not total or max(total.values()) < 3:
                break
            continue
        words.append(pair[0] + pair[1])
        for i, row in enumerate(rows):
            if pair in pairs[i]:
                total.subtract(pairs[i])
                rows[i] = _joined(row, pair)
                pairs[i] = Counter(pairwise(rows[i]))
                total.update(pairs[i])
    return words


def _joined(row: list[str], pair: tuple[str, str]) -> list[str]:
    made: list[str] = []
    for part in row:
        if made and (made[-1], part) == pair:
            made[-1] += part
        else:
            made.append(part)
    return made


def header(table: Table, words: list[str]) -> str:
    """The C++ file with these words."""
    guard = f"QUADRA_{str(table.path.relative_to(NATIVE)).upper().replace('/', '_').replace('.', '_')}_"
    escaped = [word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for word in words]
    lines = [""]
    for i, word in enumerate(escaped):
        word += "|" if i + 1 < len(escaped) else ""
        if len(lines[-1]) + len(word) > 88:
            lines.append("")
        lines[-1] += word
    body = "\n".join(f'      "{line}"' for line in lines)
    plain = " || ".join(f"c == '{c}'" for c in table.placeholders)
    argument = "char c" if plain else "char"
    return f"""// {table.about} Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef {guard}
#define {guard}

namespace quadra {{

struct {table.struct} {{
  static constexpr bool IsPlaceholder({argument}) {{ return {plain or "false"}; }}
  static constexpr char kWords[] =
{body};
}};

}}  // namespace quadra

#endif  // {guard}
"""


def committed(table: Table) -> list[str]:
    """The words of the table's file."""
    _, _, after = table.path.read_text(encoding="utf-8").partition("kWords[] =")
    return "".join(ast.literal_eval(plain) for _, plain in _LITERAL.findall(after.partition(";\n}")[0])).split("|")


if __name__ == "__main__":
    for made in TABLES:
        made.path.write_text(header(made, choose(made)), encoding="utf-8")
