"""Sources that clang-tidy reads as one, by a file that includes them: nearly all of its time goes into headers, which the
sources of a folder share."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import settings
from host_tools.dev import compile_commands

MOST = 8  # sources of a group: more of them save little, and two processors would wait for the last one
_CHECK = "bugprone-suspicious-include"  # which a file that includes sources is
# What a source may define for itself, at the beginning of a line: two that have a word in common stay apart.
_DEFINED = re.compile(
    r"^(?!\s|//|namespace|using namespace|return|#|\}|template|extern \"C\")[^\n(={;]*?\b(\w+)\s*[(=\[{;]", re.MULTILINE
)
_TYPE = re.compile(r"^(?:struct|class|enum class|enum|union|using|#\s*define|typedef)\s+(\w+)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_RAW_TEXT = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)  # kernels
_OF_ONE = {"-MF", "-o", "-c"}  # words whose next one is the source's, or a file's that is made of it


@dataclass(frozen=True)
class Group:
    """`path`: what clang-tidy is given, a source or a file that includes `sources`."""

    path: Path
    sources: tuple[Path, ...]


def write(commands: Path, sources: Sequence[Path], folder: Path) -> list[Group]:
    """Leaves in `folder` the files of the groups, and the commands of these and of all sources. commands: the folder whose
    compile_commands.json says how sources are compiled; those that are compiled in other ways stay apart. The largest
    groups come first."""
    entries = {Path(one["file"]): one for one in json.loads((commands / compile_commands.NAME).read_text())}
    folder.mkdir(parents=True, exist_ok=True)
    groups, more = [], []
    for number, members in enumerate(_together(sources, entries)):
        path = members[0]
        if len(members) > 1:
            path = folder / f"{number}.cc"
            path.write_text(_including(members))
            words = list(entries[members[0]]["arguments"])
            words[words.index("-c") + 1] = str(path)
            more.append({"directory": str(settings.ROOT), "file": str(path), "arguments": words})
        groups.append(Group(path, tuple(members)))
    (folder / compile_commands.NAME).write_text(json.dumps([*entries.values(), *more]))
    return groups


def _including(sources: Iterable[Path]) -> str:
    lines = "".join(f'#include "{source.relative_to(settings.ROOT)}"\n' for source in sources)
    return f"// NOLINTBEGIN({_CHECK})\n{lines}// NOLINTEND({_CHECK})\n"


def _together(sources: Iterable[Path], entries: dict[Path, dict[str, list[str]]]) -> list[list[Path]]:
    open_: dict[tuple[str, ...], list[tuple[list[Path], _Words]]] = {}  # by the floor, and how it is compiled
    for source in sources:
        words = _Words.of(source.read_text(encoding="utf-8"))
        floor = source.parent.relative_to(settings.ROOT).parts[:2]
        groups = open_.setdefault((*floor, *_shared(entries[source]["arguments"])), [])
        for members, theirs in groups:
            if len(members) < MOST and not theirs.meet(words):
                members.append(source)
                theirs.add(words)
                break
        else:
            groups.append(([source], words))
    return sorted((members for groups in open_.values() for members, _ in groups), key=len, reverse=True)


@dataclass(frozen=True)
class _Words:
    """Of sources: what they define, the types among it, and all words."""

    defined: set[str]
    types: set[str]
    used: set[str]

    @staticmethod
    def of(text: str) -> "_Words":
        code = _RAW_TEXT.sub("", text)
        types = set(_TYPE.findall(code))
        return _Words({*_DEFINED.findall(code), *types}, types, set(_WORD.findall(code)))

    def meet(self, other: "_Words") -> bool:
        """Both define a word, or one uses a header's type that the other has another one of."""
        return bool(self.defined & other.defined or self.types & other.used or self.used & other.types)

    def add(self, other: "_Words") -> None:
        self.defined.update(other.defined)
        self.types.update(other.types)
        self.used.update(other.used)


def _shared(arguments: Sequence[str]) -> tuple[str, ...]:
    """Of a command what is not of its source alone."""
    words = zip(arguments, ["", *arguments])
    return tuple(w for w, before in words if before not in _OF_ONE and not w.startswith("-frandom-seed="))
