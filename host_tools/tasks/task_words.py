"""What may follow a task without `--`: MODEL, [RUN], or a subcommand with its own words and options."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from invoke.parser.context import ParserContext

# Tasks whose words may be left out, or are several: the argument that takes them, and how they are shown.
_OF_TASKS = {
    "analyse": ("what", "[MODEL|RUN|PLAN]"),
    "bench": ("models", "[MODEL...]"),
    "compare": ("run", "[RUN]"),
    "diff": ("runs", "RUN RUN"),
    "drivers": ("names", "[NAME...]"),
    "open": ("run", "[RUN|BENCH|REGRESSION]"),
    "parity": ("op", "[OP...]"),
    "profile": ("run", "[RUN]"),
    "pull": ("run", "[RUN]"),
    "push": ("models", "[MODEL...]"),  # none with --clean
    "replay": ("plan", "[RUN|PLAN]"),
    "report": ("run", "[RUN]"),
}
# Tasks with subcommands, and the words of each. The argument that takes them all is `words`.
SUBCOMMANDS: dict[str, dict[str, str]] = {
    "cache": {"list": "FOLDER", "show": "FILE", "verify": "FOLDER|FILE", "diff": "FILE FILE", "prune": "FOLDER"},
    "device": {"list": "", "start": "", "stop": "", "fault": "[FAULT...]", "faults": ""},
    "lab": {"scheduler": "", "worker": "[HOST:PORT]"},
    "plan": {"show": "[RUN|FILE]", "diff": "RUN|FILE RUN|FILE", "make": "MODEL"},
    "runs": {"list": "[NAME...]", "remove": "[NAME...]"},  # remove takes --to instead of names
}
DEFAULTS = {"device": "list", "plan": "show", "runs": "list"}  # the subcommand, where none is given
# Options that only some subcommands take; the others take none of these.
OPTIONS: dict[str, dict[str, Sequence[str]]] = {
    "cache": {"to": ["prune"], "top": ["show", "diff"], "json": ["list", "show", "verify", "diff"]},
    "device": {"name": ["start", "stop", "fault"], "fault": ["start"], "json": ["list"]},
    "lab": {"host": ["worker"], "listen": ["scheduler"], "port": ["scheduler"]},
    "plan": {
        "top": ["show", "diff"],
        "in_order": ["show"],
        "map": ["show"],
        "texts": ["diff"],
        "json": ["show", "diff"],
        **{name: ["make"] for name in ("target", "precision", "backend", "out", "cache", "reader", "library")},
    },
    "runs": {"top": ["list"], "json": ["list"], "all": ["remove"], "to": ["remove"]},
}
_ONE = re.compile(r"(\[)?([A-Z:|]+)(\.\.\.)?\]?")


@dataclass(frozen=True)
class Words:
    """The words of a task. shown: as usage lines have them. least, most: how many there may be."""

    argument: str
    shown: str

    @property
    def least(self) -> int:
        return sum(not optional for optional, _, _ in _ONE.findall(self.shown))

    @property
    def most(self) -> float:
        found = _ONE.findall(self.shown)
        return float("inf") if any(more for _, _, more in found) else len(found)


def of(task: ParserContext) -> Words | None:
    """None: the task takes no words, or has subcommands."""
    if task.name in _OF_TASKS:
        return Words(*_OF_TASKS[task.name])
    if task.positional_args and task.name not in SUBCOMMANDS:
        (argument,) = task.positional_args  # more would need no name either
        return Words(argument.name or "", str(argument.name).upper())
    return None


def argument_of(task: ParserContext) -> str:
    """The argument that stands for the words, which is no option for people; empty: there is none."""
    found = of(task)
    return "words" if task.name in SUBCOMMANDS else found.argument if found else ""


def subcommands_of(task: str, option: str) -> Sequence[str]:
    """The subcommands that take an option; none: the task has no subcommands."""
    return OPTIONS.get(task, {}).get(option, [])


def usage(task: ParserContext) -> list[str]:
    """One line for each way to write it, without options."""
    subcommands: Mapping[str, str] = SUBCOMMANDS.get(task.name or "", {})
    if subcommands:
        return [f"{task.name} {_optional(task, name)} {words}".rstrip() for name, words in subcommands.items()]
    found = of(task)
    return [f"{task.name} {found.shown if found else ''}".rstrip()]


def _optional(task: ParserContext, subcommand: str) -> str:
    return f"[{subcommand}]" if DEFAULTS.get(task.name or "") == subcommand else subcommand
