"""The command line: invoke with our tasks, and errors as sentences. Started by ./inv."""

import io
import os
import re
import sys
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from invoke.exceptions import Exit, ParseError
from invoke.program import Program

from host_tools.base import settings
from host_tools.base.errors import Misuse, QuadraError

# Tasks that may be followed by words, and the option that these words mean.
_WORD_OF = {"analyse": "what", "bench": "models", "cache": "words", "compare": "run", "device": "what", "lab": "words", "plan": "words", "profile": "run", "pull": "run", "push": "models",
            "replay": "plan",             "report": "run"}  # fmt: skip
_LACKS = re.compile(r"'([\w-]+)' did not receive required positional arguments: '(\w+)'.*")


def main(argv: list[str] | None = None) -> int:
    """Runs the tasks that argv (default: the command line) names; returns the exit status."""
    words = sys.argv[1:] if argv is None else argv
    if "--help" in words[1:] and not words[0].startswith("-"):
        words = ["--help", words[0]]  # invoke would take it for the word of a task that needs one
    debug = 0
    if isinstance(sys.stdout, io.TextIOWrapper):  # a caller may have put something else there
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files may be no text
    try:
        debug = settings.read().debug
        _Program(name="Quadra", binary="inv", version="0.1.0").run(["inv", f"--search-root={settings.ROOT}", *words])
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

    def execute(self) -> None:
        try:
            super().execute()
        except KeyboardInterrupt:
            raise Exit(message="stopped with Ctrl-C", code=130) from None

    def parse_core(self, argv: list[str] | None) -> None:
        with _misuse():
            super().parse_core(argv)

    def parse_tasks(self) -> None:
        self.core.unparsed = name_words(self.core.unparsed, self.collection.task_names)
        with _misuse():
            super().parse_tasks()

    def parse_cleanup(self) -> None:
        with _misuse():
            super().parse_cleanup()


def name_words(words: list[str], tasks: Collection[str]) -> list[str]:
    """Lets words follow a task whose word has a default: `compare 2026` becomes `compare --run=2026`.

    (invoke takes words without a flag only for what has no default.)
    """
    named, flag = [], ""
    for word in words:
        if word in tasks:
            flag = _WORD_OF.get(word, "")
        elif flag and not word.startswith("-"):
            word = f"--{flag}={word}"
        else:
            flag = ""
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
        raise Misuse(
            "read the command line", str(error), "`./inv` lists the tasks, `./inv --help TASK` its options"
        ) from error


if __name__ == "__main__":
    sys.exit(main())
