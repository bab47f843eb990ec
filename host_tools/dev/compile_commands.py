"""How each native source is compiled, asked of Bazel, in the form that clang's tools and editors read."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from host_tools.base import settings
from host_tools.build import bazel

NAME = "compile_commands.json"
_GENERATED = "//delegate_native/plan:plan_fbs"  # headers that exist only once they are made
_GCC_ALONE = {"-fno-canonical-system-headers", "-Wno-free-nonheap-object"}  # clang knows no such flags


def write(folder: Path, targets: str = "//delegate_native/...") -> list[Path]:
    """Leaves compile_commands.json in `folder` and makes the headers that it needs; returns the sources that it names."""
    bazel.build([_GENERATED])
    places = bazel.places()
    commands = {source: argv for argv in bazel.compile_commands(targets) if (source := _source(argv)).is_file()}
    entries = [
        {"directory": str(settings.ROOT), "file": str(source), "arguments": _outside_of_bazel(argv, places)}
        for source, argv in sorted(commands.items())
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text(json.dumps(entries, indent=1))
    return sorted(commands)


def _source(argv: Sequence[str]) -> Path:
    """A source appears once for each way in which it is compiled; one is enough. Sources of others lie elsewhere."""
    return settings.ROOT / argv[argv.index("-c") + 1]


def _outside_of_bazel(argv: Sequence[str], places: Mapping[str, Path]) -> list[str]:
    """Bazel compiles in a folder of links; run in the checkout instead, a tool names (and mends) the files themselves."""
    return [_absolute(word, places) for word in argv if word not in _GCC_ALONE]


def _absolute(word: str, places: Mapping[str, Path]) -> str:
    if word.startswith("bazel-out/"):
        return str(places["execution_root"] / word)
    return str(places["output_base"] / word) if word.startswith("external/") else word
