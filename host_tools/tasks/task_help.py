"""What `./inv --help TASK` prints: how to write the task, its options with their values and defaults; and what a shell
completes."""

import re
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from invoke.parser.argument import Argument
from invoke.parser.context import ParserContext

from host_tools.tasks import choices, task_arguments, task_words

_MARGIN, _LEFT, _WIDEST = 2, 26, 110


def text(task: ParserContext, docstring: str) -> str:
    """The help of a task, as wide as the terminal."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    first, *others = task_words.usage(task)
    has_options = bool(task_arguments.flags_of(task))
    lines = [f"Usage: ./inv {first}", *(f"       ./inv {other}" for other in others)]
    lines = [f"{line} [options]" if has_options else line for line in lines]
    for paragraph in docstring.split("\n\n"):
        lines += ["", *textwrap.wrap(" ".join(paragraph.split()), width)]
    rows = list(_rows(task))
    lines += [""] if rows else []
    for left, right in rows:
        lines += _row(left, right, width)
    return "\n".join(lines)


# The list of tasks, by what one wants to do.
GROUPS = {
    "Run models and judge them": ("run", "generate", "support", "models", "bench", "regress", "demo"),
    "Look at runs": ("runs", "open", "report", "compare", "diff", "profile"),
    "Find faults and lost time": ("bisect", "overflow", "advise", "plan", "replay", "cache", "analyse"),
    "Devices and drivers": ("device", "install", "uninstall", "push", "pull", "lab", "drivers", "doctor"),
    "Build and ship": ("build", "aar", "wheel", "apk", "release", "size"),
    "Work on Quadra itself": ("test", "parity", "lint", "fuzz", "docs", "lock", "clean"),
}


def overview(docstrings: Mapping[str, str]) -> str:
    """The list of these tasks, as wide as the terminal. docstrings: by name."""
    width, left = min(shutil.get_terminal_size().columns, _WIDEST), max(map(len, docstrings)) + 2 * _MARGIN
    lines = []
    for title, names in GROUPS.items():
        there = [name for name in names if name in docstrings]
        lines += ["", title] if there else []
        for name in there:
            about = " ".join(docstrings[name].split("\n\n")[0].split())
            first, *others = textwrap.wrap(about, max(width - left, 20)) or [""]
            lines.append(f"{' ' * _MARGIN}{name:{left - _MARGIN}}{first}".rstrip())
            lines += [f"{' ' * left}{other}" for other in others]
    return "\n".join(["Available tasks", *lines])


def _rows(task: ParserContext) -> Iterator[tuple[str, str]]:
    words = task_words.of(task)
    if words:
        yield words.shown, task.args[words.argument].help or ""
    elif task.name in task_words.SUBCOMMANDS and task.args["words"].help:
        yield "|".join(task_words.SUBCOMMANDS[task.name]), task.args["words"].help
    for flag in sorted(task_arguments.flags_of(task)):
        yield _spec(task, flag), help_of(task, task.flags[flag])
    yield "-h, --help", "Show this."


def _spec(task: ParserContext, flag: str) -> str:
    argument = task.flags[flag]
    letter = task_arguments.letter_of(flag.removeprefix("--"))
    known = choices.of(task.name or "", str(argument.name))
    shown = task_arguments.kind_shown(argument)
    if known and not known.other:
        shown = f"{known.values[0]},…" if known.several else "|".join(known.values)
    return (f"-{letter}, " if letter else "") + flag + (f"={shown}" if shown else "")


def help_of(task: ParserContext, argument: Argument) -> str:
    """What an option does, the values that it may have where the left side has no room for them, and its default."""
    found = argument.help or ""
    takers = task_words.subcommands_of(task.name or "", str(argument.name))
    found = f"{', '.join(takers)}: {found[:1].lower()}{found[1:]}" if takers else found
    known = choices.of(task.name or "", str(argument.name))
    if known and known.several:
        found = f"{', '.join(known.values)}. {found}"
    default = default_of(argument)
    return f"{found.removesuffix('.')} (default: {default})." if default else found


def default_of(argument: Argument) -> str:
    """The default, where it is a value that one may give; empty: omitting the option means something of its own, which its
    help says."""
    if argument.kind in (bool, list) or argument.default in (None, "", 0, -1):
        return ""
    return f"{argument.default:g}" if isinstance(argument.default, float) else str(argument.default)


def _row(left: str, right: str, width: int) -> list[str]:
    """Two columns; a long left side has a line of its own."""
    wrapped = textwrap.wrap(right, width - _MARGIN - _LEFT - 2, break_on_hyphens=False)
    indented = [" " * (_MARGIN + _LEFT + 2) + line for line in wrapped]
    start = " " * _MARGIN + left
    if len(left) > _LEFT or not wrapped:
        return [start, *indented]
    return [f"{start:{_MARGIN + _LEFT + 2}}{wrapped[0]}", *indented[1:]]


def to_complete(typed: Sequence[str], tasks: Mapping[str, ParserContext]) -> list[str]:
    """What may be next on a command line, without the word `inv`. Empty: files, for which the shell has a completion of its
    own. The last word may be a part of one; shells do not all say where it begins, so all that fits there is named."""
    words = [part for word in typed for part in _parts(word)]
    task = tasks.get(words[0]) if words else None
    if not task:
        return sorted(tasks) if len(words) < 2 else []
    *before, last = words
    if (last.startswith("-") and not (flag := task_arguments.find_flag(task, last)[0])) or last == "--":
        return [*sorted(task_arguments.flags_of(task)), "--help"]
    for word in (last, *before[-1:]):
        flag = task_arguments.find_flag(task, word)[0] if word.startswith("-") else ""
        if flag and task.flags[flag].takes_value:
            values = _unfinished(last, _values(task, str(task.flags[flag].name)))
            return [f"{flag}={value}" for value in values] if typed[-1].startswith(f"{flag}=") else values
    if len(words) <= 2 and not last.startswith("-"):
        return _unfinished(last, _first_words(task))
    return []


def _unfinished(last: str, values: list[str]) -> list[str]:
    """The values, unless the last word is one already: then a blank follows it, which bash does not tell of."""
    return [] if last in values and not any(value != last and value.startswith(last) for value in values) else values


def _parts(word: str) -> list[str]:
    """--on=v as --on and v; bash has taken it apart already, into --on, = and v."""
    flag = re.fullmatch(r"(--[\w-]+)=(.*)", word)
    return [part for part in flag.groups() if part] if flag else [] if word == "=" else [word]


def _values(task: ParserContext, option: str) -> list[str]:
    known = choices.of(task.name or "", option)
    return list(known.values) if known else []


def _first_words(task: ParserContext) -> list[str]:
    """Subcommands, suites; models are files, too, and the shell lists these only where nothing else is named."""
    if task.name in task_words.SUBCOMMANDS:
        return list(task_words.SUBCOMMANDS[task.name])
    words = task_words.of(task)
    return _values(task, words.argument) if words and words.argument not in ("model", "models") else []
