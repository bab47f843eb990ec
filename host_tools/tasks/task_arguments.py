"""Reads what follows a task on the command line, by that task's own arguments. No word of it is taken for another task:
one command does one task."""

import copy
import math
from collections.abc import Iterator, Sequence

from invoke.parser.argument import Argument
from invoke.parser.context import ParserContext

from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import Misuse
from host_tools.tasks import choices, task_words

# Each means the same in every task that has the option.
LETTERS = {"b": "backend", "o": "on", "p": "precision", "t": "target"}
HELP = ("-h", "--help")
_END = "--"  # what follows it is no option, whatever it begins with
# Former options, and what to type now.
_NOW = {"--remove": "`./inv uninstall`"}
_KINDS = {int: ("a whole number", "INT"), float: ("a number", "NUMBER"), bool: ("", "")}


def read(task: ParserContext, words: Sequence[str]) -> ParserContext:
    """The task's arguments with the values that `words` give them. Misuse names what is wrong."""
    found = copy.deepcopy(task)
    positional: list[str] = []
    options = list(_set_options(found, words, positional))
    _take_words(found, positional)
    _check_subcommand(found, positional, options)
    return found


def asks_for_help(words: Sequence[str]) -> bool:
    """Whether one of the words, before `--`, is -h or --help."""
    end = words.index(_END) if _END in words else len(words)
    return any(word in HELP for word in words[:end])


def flags_of(task: ParserContext) -> list[str]:
    """The task's options for people, with their dashes."""
    hidden = task_words.argument_of(task)
    return [flag for flag, argument in task.flags.items() if argument.name != hidden]


def letter_of(name: str) -> str:
    """Empty: the option has none."""
    return next((letter for letter, option in LETTERS.items() if option == name), "")


def kind_shown(argument: Argument) -> str:
    """What takes the place of a value in help; empty: it takes none."""
    return _KINDS.get(argument.kind, ("", "STRING"))[1]


def is_option(word: str) -> bool:
    """-5 is a number, and - a file by an old custom."""
    return word.startswith("-") and len(word) > 1 and not (word[1].isdigit() or word[1] == ".")


def find_flag(task: ParserContext, word: str) -> tuple[str, str | None]:
    """The option that a word means, and the value that is written in it: --runs=3, -b=gles, -bgles. The option is empty if
    the task does not have it."""
    if word.startswith("--"):
        name, sign, value = word.partition("=")
        return name if name in task.flags else "", value if sign else None
    option = LETTERS.get(word[1], "")
    flag = f"--{option}"
    return flag if option and flag in task.flags else "", word[2:].removeprefix("=") or None


def _set_options(task: ParserContext, words: Sequence[str], positional: list[str]) -> Iterator[str]:
    """The names of the options that are given; appends the other words to `positional`."""
    left, valued = list(words), set[str]()
    while left:
        word = left.pop(0)
        if word == _END:
            positional += left
            return
        if not is_option(word):
            positional.append(word)
            continue
        flag, value = find_flag(task, word)
        if not flag:
            raise _unknown(task, word)
        argument = task.flags[flag]
        if not argument.takes_value:
            if value is not None:
                raise Misuse(f"inv {task.name}", f"{flag} takes no value", f"write {flag} alone, or leave it out")
            argument.set_value(True, cast=False)
        else:
            if value is None:
                value = _next_value(task, flag, left)
            if flag in valued and argument.kind is not list:
                raise Misuse(f"inv {task.name}", f"{flag} is given twice", "give it once")
            valued.add(flag)
            _set(task, argument, flag, value)
        yield argument.name or ""


def _next_value(task: ParserContext, flag: str, left: list[str]) -> str:
    """An optional value that is not given is the first of those that are possible."""
    if not left or left[0] == _END or (is_option(left[0]) and " " not in left[0] and _is_known(task, left[0])):
        known = choices.of(task.name or "", str(task.flags[flag].name))
        if known and task.flags[flag].optional:
            return known.values[0]
        shown = kind_shown(task.flags[flag])
        do_next = f"give one of {', '.join(known.values)}" if known and not known.other else f"write {flag}={shown}"
        raise Misuse(f"inv {task.name}", f"{flag} needs a value", do_next)
    return left.pop(0)


def _is_known(task: ParserContext, word: str) -> bool:
    return word in HELP or word.startswith("--") or bool(find_flag(task, word)[0])


def _set(task: ParserContext, argument: Argument, flag: str, value: str) -> None:
    known = choices.of(task.name or "", str(argument.name))
    unknown = known.unknown(value) if known else None
    if known and unknown is not None:
        one_of = "one of " * (len(known.values) > 1) + ", ".join(known.values)
        raise Misuse(
            f"read {flag}", f"{unknown!r} is not {one_of}", did_you_mean(unknown, known.values, f"give {one_of}")
        )
    try:
        argument.value = value
        if isinstance(argument.value, float) and math.isnan(argument.value):
            raise ValueError
    except ValueError:
        what, _ = _KINDS[argument.kind]
        do_next = f"give one, such as {flag} {argument.default:g}"
        raise Misuse(f"read {flag}", f"{value!r} is not {what}", do_next) from None


def _unknown(task: ParserContext, word: str) -> Misuse:
    name = word.partition("=")[0]
    if name in _NOW:
        return Misuse("read the command line", f"{name} has another name now", _NOW[name])
    listed = f"`./inv --help {task.name}` lists its options"
    if name.startswith("--"):
        do_next = did_you_mean(name, flags_of(task), listed)
    else:
        letters = [f"-{letter} for --{option}" for letter, option in LETTERS.items() if f"--{option}" in task.flags]
        do_next = f"options are written out, but {', '.join(['-h for --help', *letters])}; {listed}"
        name = name[:2]
    return Misuse(f"inv {task.name}", f"there is no option {name}", do_next)


def _take_words(task: ParserContext, given: Sequence[str]) -> None:
    name = task_words.argument_of(task)
    if given and not name:
        do_next = f"`./inv {task.name}`; one command does one task"
        raise Misuse(f"inv {task.name} {given[0]}", "it takes no words", do_next)
    if words := task_words.of(task):
        is_given = task.args[name].got_value  # as an option
        _check_count(f"inv {task.name}", words, given, is_given)
    for word in given:
        task.args[name].value = word


def _check_count(tried: str, words: task_words.Words, given: Sequence[str], is_given: bool = False) -> None:
    if words.least and not given and not is_given:
        came_back = f"no {words.shown} is named" if words.most == 1 else f"it takes {words.shown}, and none is named"
        raise Misuse(
            tried, came_back, f"`./{tried} {words.shown}`; `./inv --help {tried.split()[1]}` says what it takes"
        )
    if not words.least <= len(given) + is_given <= words.most:
        do_next = f"`./{f'{tried} {words.shown}'.strip()}`"
        strange = f"there is only {given[0]!r}" if given else "there is another as an option"
        if len(given) > words.least:
            strange, do_next = f"{given[-1]!r} is one too many", f"{do_next}; one command does one task"
        raise Misuse(tried, f"it takes {words.shown or 'no words'}, {strange}", do_next)


def _check_subcommand(task: ParserContext, given: Sequence[str], options: Sequence[str]) -> None:
    known = task_words.SUBCOMMANDS.get(task.name or "")
    if not known:
        return
    what = given[0] if given else task_words.DEFAULTS.get(task.name or "", "")
    if what not in known:
        came_back = "there is no such subcommand" if what else "no subcommand is named"
        default = task_words.DEFAULTS.get(task.name or "", "")
        listed = f"one of: {', '.join(known)}"
        listed = f"`./inv {task.name} {default} {what}`, or {listed}" if known.get(default) else listed
        do_next = did_you_mean(what, known, listed)
        raise Misuse(f"inv {task.name} {what}".rstrip(), came_back, do_next)
    for option in options:
        takers = task_words.subcommands_of(task.name or "", option)
        if takers and what not in takers:
            flag = f"--{option.replace('_', '-')}"
            came_back = f"{flag} is an option of {' and '.join(takers)}"
            raise Misuse(f"inv {task.name} {what} {flag}", came_back, f"`./inv --help {task.name}`")
    tried, words = f"inv {task.name} {what}", task_words.Words("words", known[what])
    if not words.most and given[1:] and what in task_words.subcommands_of(task.name or "", "name"):
        raise Misuse(f"{tried} {given[1]}", "it takes no further words", f"`./{tried} --name {given[1]}`")
    _check_count(tried, words, given[1:])
