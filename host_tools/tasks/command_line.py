"""The command line: invoke with our tasks, and errors as sentences. Started by ./inv."""

import inspect
import io
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from invoke.exceptions import Exit, ParseError
from invoke.parser import Parser
from invoke.parser.context import ParserContext
from invoke.program import Program

from host_tools.base import readable, settings
from host_tools.base.errors import Misuse, QuadraError

# Tasks that may be followed by words: the option that these words mean, and how they are shown.
_WORDS = {
    "analyse": ("what", "[MODEL|RUN|PLAN]"),
    "bench": ("models", "[MODEL...]"),
    "cache": ("words", "list|show|verify|diff|prune PATH..."),
    "compare": ("run", "[RUN]"),
    "device": ("words", "[list|start|stop|fault|faults]"),
    "diff": ("runs", "RUN RUN"),
    "lab": ("words", "scheduler|worker [HOST:PORT]"),
    "open": ("run", "[RUN]"),
    "plan": ("words", "show|diff|make RUN|FILE|MODEL..."),
    "profile": ("run", "[RUN]"),
    "pull": ("run", "[RUN]"),
    "push": ("models", "MODEL..."),
    "replay": ("plan", "[RUN|PLAN]"),
    "report": ("run", "[RUN]"),
}
# Former names of tasks and options, and what to type now.
_NOW = {
    "coverage": "`./inv support MODEL`",
    "devices": "`./inv device list`",
    "shell-run": "`./inv run MODEL --on any --via shell`",
    "--remove": "`./inv uninstall`",
}
_UNKNOWN = re.compile(r"No idea what '(\S+)' is!?")
_NO_NUMBER = re.compile(r"(?:invalid literal for int\(\) with base 10|could not convert string to float): (.*)")
_SUBCOMMANDS = re.compile(r"\[?([a-z]+(?:\|[a-z]+)+)")
_FLAG = re.compile(r"--[\w-]+")
_VALUES = {float: "=NUMBER", list: "=STRING"}  # invoke shows those of texts and integers
_LACKS = re.compile(r"'([\w-]+)' did not receive required positional arguments: '(\w+)'.*")


def main(argv: list[str] | None = None) -> int:
    """Runs the tasks that argv (default: the command line) names; returns the exit status."""
    words = sys.argv[1:] if argv is None else argv
    if "--help" in words[1:] and not words[0].startswith("-"):
        words = ["--help", words[0]]  # invoke would take it for the word of a task that needs one
    debug = 0
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a caller may have put something else there
            stream.reconfigure(errors=readable.HANDLER)  # names of files may be no text; the encoding may lack a `×`
    try:
        debug = settings.read().debug
        _Program(name="Quadra", binary="inv", binary_names=["inv", "./inv"], version="0.1.0").run(
            ["inv", f"--search-root={settings.ROOT}", *words]
        )
    except QuadraError as error:
        if debug:
            traceback.print_exc()
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of `inv … | head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell reports a process that a closed pipe ended
    return 0


class _Program(Program):
    """invoke's, except that `inv` alone lists the tasks and misuse has its own exit status."""

    def no_tasks_given(self) -> None:
        self.list_tasks()
        print("`./inv --help TASK` says what a task takes.")
        raise Exit

    def print_task_help(self, name: str) -> None:
        """What a task takes: its words, then its options without those that stand for the words."""
        context = self.parser.contexts[name]
        words = {one.name: str(one.name).upper() for one in context.positional_args}
        if name in _WORDS:
            words = dict([_WORDS[name]])
        print(" ".join(["Usage: ./inv", name, *words.values(), *(["[options]"] if context.flags else [])]), end="\n\n")
        print(inspect.getdoc(self.collection[name]), end="\n\n")
        options = [
            row for row in context.help_tuples() if not {f"--{word}" for word in words} & set(_FLAG.findall(row[0]))
        ]
        rows = [(shown, context.args[word].help) for word, shown in words.items()]
        rows += [(spec + _VALUES.get(context.flags[_FLAG.findall(spec)[0]].kind, ""), text) for spec, text in options]
        if rows:
            self.print_columns(rows)

    def execute(self) -> None:
        try:
            super().execute()
        except KeyboardInterrupt:
            raise Exit(message="stopped with Ctrl-C", code=130) from None

    def parse_core(self, argv: list[str] | None) -> None:
        with _misuse():
            super().parse_core(argv)

    def _make_parser(self) -> Parser:
        """The parser of the tasks' arguments, which the words are then read with."""
        parser: Parser = super()._make_parser()
        self.core.unparsed = name_words(self.core.unparsed, parser.contexts)
        return parser

    def parse_tasks(self) -> None:
        with _misuse():
            super().parse_tasks()

    def parse_cleanup(self) -> None:
        if (
            self.args.complete.value
            and (words := _words_to_complete(self.core.remainder, self.parser.contexts)) is not None
        ):
            print("\n".join(words))
            raise Exit
        with _misuse():
            super().parse_cleanup()


def _words_to_complete(typed: str, tasks: Mapping[str, ParserContext]) -> Sequence[str] | None:
    """What may follow a task that takes words: its subcommands, or nothing, for which a shell offers files. None: invoke
    knows, of options and names of tasks."""
    _, *words = typed.split() or [""]
    task = next((word for word in words if word in tasks), "")
    if not task or words[-1].startswith("-") or not (task in _WORDS or tasks[task].positional_args):
        return None
    subcommands = _SUBCOMMANDS.match(_WORDS.get(task, ("", ""))[1])
    first = len(words) - words.index(task) <= 2
    return subcommands[1].split("|") if subcommands and first else []


def name_words(words: Sequence[str], tasks: Mapping[str, ParserContext]) -> list[str]:
    """Lets words follow a task whose words have a default: `compare 2026` becomes `compare --run=2026`. Such a task takes
    all words up to the end, though one of them is a task's name: `plan diff A B`.

    (invoke takes words without a flag only for what has no default.)
    """
    task: ParserContext | None = None
    named, is_value = [], False
    for word in words:
        flag = _WORDS.get(task.name or "", ("", ""))[0] if task else ""
        if is_value:
            is_value = False
        elif word.startswith("-"):
            is_value = task is not None and word in task.flags and bool(task.flags[word].takes_value)
        elif flag:
            word = f"--{flag}={word}"
        else:
            task = tasks.get(word, task)
        named.append(word)
    return named


@contextmanager
def _misuse() -> Iterator[None]:
    try:
        yield
    except (ParseError, ValueError) as error:
        lacks = _LACKS.fullmatch(str(error))
        if lacks:
            task, word = lacks[1], lacks[2].upper()
            do_next = f"`./inv {task} {word}`; `./inv --help {task}` says what it takes"
            raise Misuse(f"inv {task}", f"no {word} is named", do_next) from None
        unknown = _UNKNOWN.fullmatch(str(error))
        if unknown and unknown[1] in _NOW:
            raise Misuse("read the command line", f"{unknown[1]} has another name now", _NOW[unknown[1]]) from None
        came_back = str(error)
        if unknown:
            came_back = f"there is no {'option' if unknown[1].startswith('-') else 'task'} {unknown[1]}"
        elif no_number := _NO_NUMBER.fullmatch(came_back):
            came_back = f"{no_number[1]} is not a number of the kind that this option takes"
        raise Misuse(
            "read the command line", came_back, "`./inv` lists the tasks, `./inv --help TASK` its options"
        ) from error


if __name__ == "__main__":
    sys.exit(main())
