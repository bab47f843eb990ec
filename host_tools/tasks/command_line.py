"""The command line: invoke runs our tasks, and errors are sentences. Started by ./inv, or as `quadra` where it is installed.

invoke finds and calls the tasks. Their arguments are read by `task_arguments`: invoke's own parser takes any word that is a
task's name for that task, and an option that it does not know for nothing at all.
"""

import importlib.util
import inspect
import io
import os
import sys
import traceback
from pathlib import Path
from typing import NoReturn

from invoke.collection import Collection
from invoke.completion.complete import print_completion_script
from invoke.exceptions import Exit
from invoke.parser import ParseResult
from invoke.parser.context import ParserContext
from invoke.program import Program

from host_tools.base import installed, readable, settings, terminal
from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import Misuse, QuadraError, ToolMissing, needs_clone
from host_tools.tasks import task_arguments, task_help

_SHELLS = ("bash", "zsh", "fish")
# Instead of a task. `help` too: one may try it.
_HELP, _LIST = (*task_arguments.HELP, "help"), ("-l", "--list")
_VERSION, _COMPLETE, _SCRIPT = "--version", "--complete", "--print-completion-script"
_INSTEAD = (*task_arguments.HELP, *_LIST, _VERSION, _SCRIPT)
# Tasks that need the sources, a compiler or the tests; and the extra of quadra-tools that has each of the packages which it
# does not come with.
_OF_A_CLONE = (
    "aar",
    "apk",
    "build",
    "clean",
    "demo",
    "docs",
    "fuzz",
    "lint",
    "lock",
    "release",
    "size",
    "test",
    "wheel",
)
_EXTRAS = {"dask": "lab", "distributed": "lab", "pyopencl": "host"}
# Former names of tasks, and what to type now.
_NOW = {
    "coverage": "`./inv support MODEL`",
    "devices": "`./inv device list`",
    "shell-run": "`./inv run MODEL --on any --via shell`",
}


def main(argv: list[str] | None = None) -> int:
    """Runs the task that argv (default: the command line) names; returns the exit status."""
    words = sys.argv[1:] if argv is None else argv
    debug = 0
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a caller may have put something else there
            stream.reconfigure(errors=readable.HANDLER)  # names of files may be no text; the encoding may lack a `×`
    try:
        debug = settings.read().debug
        _run(words)
    except QuadraError as error:
        if debug:
            traceback.print_exc()
        terminal.say(f"error: {error}", sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of `inv … | head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell reports a process that a closed pipe ended
    return 0


def _run(words: list[str]) -> None:
    """ToolMissing names the extra of quadra-tools that has a package which is not here."""
    try:
        _Program(words).run([installed.COMMAND])
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if not extra:
            raise
        do_next = f"pip install 'quadra-tools[{extra}]'"
        raise ToolMissing(" ".join([installed.COMMAND, *words[:1]]), str(error), do_next) from error


def _tasks() -> Collection:
    """Those of tasks.py; installed, without those that need a clone."""
    spec = importlib.util.find_spec(installed.TASKS)
    assert spec and spec.loader, "it lies where the toolkit does"
    module = importlib.util.module_from_spec(spec)  # of this command line alone: invoke takes the help out of tasks
    spec.loader.exec_module(module)
    found = Collection.from_module(module)
    there = [task for name, task in found.tasks.items() if not (installed.INSTALLED and name in _OF_A_CLONE)]
    return Collection(*there)


class _Program(Program):
    """invoke's, except for how the command line is read. `words` are those that follow `./inv`."""

    def __init__(self, words: list[str]) -> None:
        names = [Path(installed.COMMAND).name, installed.COMMAND]
        super().__init__(name="Quadra", binary=names[0], binary_names=names, version="0.1.0", namespace=_tasks())
        self.words = words

    def parse_tasks(self) -> None:
        """The task to run, with its arguments; or prints what is asked for instead."""
        self.parser = self._make_parser()
        first, *rest = self.words or _LIST
        if first in _HELP and rest:
            self._help(self._task(rest[0]))
        elif first in (*_HELP, *_LIST):
            self._overview()
        elif first == _VERSION:
            self.print_version()
            raise Exit
        elif first == _COMPLETE:
            self._complete(" ".join(rest).removeprefix("-- "))
        elif first == _SCRIPT:
            self._completion_script(rest)
        task = self._task(first)
        if task_arguments.asks_for_help(rest):
            self._help(task)
        self.tasks = ParseResult([task_arguments.read(task, rest)])

    def parse_cleanup(self) -> None:
        """There is nothing left to do before the task."""

    def execute(self) -> None:
        try:
            super().execute()
        except KeyboardInterrupt:
            raise Exit(message="stopped with Ctrl-C", code=130) from None

    def _task(self, word: str) -> ParserContext:
        tasks = self.parser.contexts
        if word in tasks:
            task: ParserContext = tasks[word]
            return task
        if installed.INSTALLED and word in _OF_A_CLONE:
            raise needs_clone(f"{installed.COMMAND} {word}")
        if word in _NOW:
            raise Misuse("read the command line", f"{word} has another name now", _NOW[word])
        listed = "`./inv` lists the tasks"
        if word.startswith("-"):
            do_next = did_you_mean(word, _INSTEAD, f"a task's options follow it: `./inv TASK {word}`; {listed}")
            raise Misuse("read the command line", f"there is no option {word} before a task", do_next)
        raise Misuse("read the command line", f"there is no task {word}", did_you_mean(word, tasks, listed))

    def _help(self, task: ParserContext) -> NoReturn:
        print(installed.said(task_help.text(task, inspect.getdoc(self.collection[task.name]) or "")))
        raise Exit

    def _overview(self) -> NoReturn:
        docstrings = {name: inspect.getdoc(self.collection[name]) or "" for name in self.parser.contexts}
        print(installed.said(f"{task_help.overview(docstrings)}\n\n`./inv --help TASK` says what a task takes."))
        raise Exit

    def _complete(self, typed: str) -> NoReturn:
        print("\n".join(task_help.to_complete(typed.split()[1:], dict(self.parser.contexts))))
        raise Exit

    def _completion_script(self, rest: list[str]) -> NoReturn:
        if not rest or rest[0] not in _SHELLS:
            raise Misuse("print a completion script", "no known shell is named", f"give one of {', '.join(_SHELLS)}")
        print_completion_script(shell=rest[0], names=self.binary_names)
        raise Exit


if __name__ == "__main__":
    sys.exit(main())
