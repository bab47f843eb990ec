"""Every task with every option, from the command line's words to its arguments: right values, wrong ones and none."""

import inspect
import json
import re
import string

import pytest

import tasks
from host_tools.base.errors import Misuse
from host_tools.request import from_arguments
from host_tools.tasks import choices, command_line, task_arguments, task_help, task_words
from tests.task_contexts import CONTEXTS

TASKS = CONTEXTS
OPTIONS = [(name, flag) for name, task in TASKS.items() for flag in task_arguments.flags_of(task)]
VALUED = [(name, flag) for name, flag in OPTIONS if TASKS[name].flags[flag].takes_value]
SINGLE_KINDS = {str: "x", int: "3", float: "0.5", list: "x"}


def argument_of(task, flag):
    return TASKS[task].flags[flag]


def choices_of(task, flag):
    found = choices.of(task, argument_of(task, flag).name)
    return found if found and not found.other else None


def good_value(task, flag):
    known = choices_of(task, flag)
    return known.values[-1] if known else SINGLE_KINDS[argument_of(task, flag).kind]


def needed(task, flag=""):
    """The words that a task cannot do without; those of a subcommand that takes the option."""
    subcommands = task_words.SUBCOMMANDS.get(task, {})
    takers = task_words.subcommands_of(task, argument_of(task, flag).name) if flag else ()
    subcommand = next(iter(takers or subcommands), "")
    words = task_words.of(TASKS[task])
    shown = subcommands.get(subcommand, words.shown if words else "")
    return [*([subcommand] if subcommand else []), *(["w"] * task_words.Words("", shown).least)]


def read(task, words):
    return task_arguments.read(TASKS[task], words)


def refused(task, words):
    with pytest.raises(Misuse) as met:
        read(task, words)
    assert met.value.do_next, "an error says what to do next"
    return str(met.value)


@pytest.mark.parametrize(("task", "flag"), OPTIONS)
def test_an_option_takes_its_value_in_each_form_before_and_behind_the_words(task, flag):
    argument, words = argument_of(task, flag), needed(task, flag)
    value = good_value(task, flag) if argument.takes_value else None
    forms = [[flag]] if value is None else [[flag, value], [f"{flag}={value}"]]
    letter = task_arguments.letter_of(flag.removeprefix("--"))
    if letter:
        forms += [[f"-{letter}", value], [f"-{letter}{value}"], [f"-{letter}={value}"]]
    wanted = True if value is None else [value] if argument.kind is list else argument.kind(value)
    for form in forms:
        for line in ([*words, *form], [*words[:1], *form, *words[1:]], [*form, *words]):
            assert read(task, line).args[argument.name].value == wanted, line


@pytest.mark.parametrize(("task", "flag"), VALUED)
def test_an_option_without_its_value_is_named_unless_it_has_one_of_its_own(task, flag):
    words, argument = needed(task, flag), argument_of(task, flag)
    other = next((one for name, one in OPTIONS if name == task and one != flag), "--help")
    if argument.optional:
        switches = [one for name, one in OPTIONS if name == task and not argument_of(name, one).takes_value]
        for line in ([*words, flag], [*words, flag, *switches]):
            assert read(task, line).args[argument.name].value == choices_of(task, flag).values[0], line
        return
    letter = task_arguments.letter_of(flag.removeprefix("--"))
    for written in (flag, *([f"-{letter}"] if letter else [])):
        for line in ([*words, written], [*words, written, other], [*words, written, "--", "x"]):
            assert f"{flag} needs a value" in refused(task, line), line


@pytest.mark.parametrize(("task", "flag"), OPTIONS)
def test_an_option_that_is_misspelt_is_named_with_the_right_one(task, flag):
    misspelt = f"{flag}q"
    for line in ([misspelt, *needed(task, flag)], [*needed(task, flag), f"{misspelt}=1"]):
        said = refused(task, line)
        assert f"there is no option {misspelt}\n" in said and flag in said.split("did you mean")[1].split("?")[0]


@pytest.mark.parametrize(
    ("task", "flag"), [one for one in VALUED if argument_of(*one).kind in (int, float) or choices_of(*one)]
)
def test_a_wrong_value_is_named_with_its_option(task, flag):
    known = choices_of(task, flag)
    wrong = "no-such" if known else "1x"
    said = refused(task, [*needed(task, flag), flag, wrong])
    assert said.startswith(f"read {flag}: {wrong!r} is not ")
    if known:
        assert f"is not {'one of ' * (len(known.values) > 1)}{', '.join(known.values)}\n" in said
        almost = f"{known.values[0]}0"
        assert f"did you mean {known.values[0]}" in refused(task, [*needed(task, flag), f"{flag}={almost}"])
    if known and known.several:
        both = ", ".join(known.values[:2])
        assert read(task, [*needed(task, flag), flag, both]).args[argument_of(task, flag).name].value == both
        assert "'no-such' is not" in refused(task, [*needed(task, flag), flag, f"{known.values[0]},no-such"])


@pytest.mark.parametrize(("task", "flag"), [one for one in OPTIONS if one not in VALUED])
def test_a_switch_takes_no_value(task, flag):
    assert f"{flag} takes no value" in refused(task, [*needed(task, flag), f"{flag}=1"])


@pytest.mark.parametrize("task", TASKS)
def test_words_that_are_names_of_tasks_stay_words(task):
    words = task_words.of(TASKS[task])
    if not words:
        return
    count = 1 if words.most == 1 else 2
    for name in TASKS:
        value = read(task, [name] * count).args[words.argument].value
        assert value == ([name] * count if isinstance(value, list) else name)


def test_what_once_went_to_another_task():
    fuzz = read("fuzz", ["cache", "--seconds", "20", "--seed=5"])
    assert (fuzz.args["what"].value, fuzz.args["seconds"].value, fuzz.args["seed"].value) == ("cache", 20.0, 5)
    support = read("support", ["cache", "--backend", "gles"])
    assert (support.args["model"].value, support.args["backend"].value) == ("cache", "gles")
    assert "there is no option --bakend\n  next: did you mean --backend?" in refused("run", ["--bakend", "gles", "m"])


@pytest.mark.parametrize("task", TASKS)
def test_too_few_words_and_too_many_are_told(task):
    words = task_words.of(TASKS[task])
    if words is None and task not in task_words.SUBCOMMANDS:
        assert "it takes no words" in refused(task, ["w"])
    for subcommand, shown in task_words.SUBCOMMANDS.get(task, {"": words.shown if words else ""}).items():
        first = [subcommand] if subcommand else []
        counted = task_words.Words("", shown)
        if counted.least:
            assert shown in refused(task, [*first, *["w"] * (counted.least - 1)])
        if counted.most < 9 and shown:
            assert "'last' is one too many" in refused(task, [*first, *["w"] * int(counted.most), "last"])


@pytest.mark.parametrize("task", task_words.SUBCOMMANDS)
def test_subcommands_take_their_own_options(task):
    for flag in task_arguments.flags_of(TASKS[task]):
        takers = task_words.subcommands_of(task, argument_of(task, flag).name)
        assert takers and set(takers) <= set(task_words.SUBCOMMANDS[task]), flag
        value = [good_value(task, flag)] if argument_of(task, flag).takes_value else []
        for other in set(task_words.SUBCOMMANDS[task]) - set(takers):
            assert f"{flag} is an option of {' and '.join(takers)}" in refused(task, [other, flag, *value])
    first = next(iter(task_words.SUBCOMMANDS[task]))
    assert f"did you mean {first}" in refused(task, [f"{first}x"])


def test_what_looks_like_an_option_can_be_a_word_or_a_value():
    assert read("run", ["--", "--strange.tflite"]).args["model"].value == "--strange.tflite"
    assert read("run", ["m", "--range", "-1,1"]).args["range"].value == "-1,1"
    assert read("test", ["--args", "-x tests/host_tools"]).args["args"].value == "-x tests/host_tools"
    assert read("test", ["--args=--slow"]).args["args"].value == "--slow"
    assert read("replay", ["--seed", "-1"]).args["seed"].value == -1
    assert not task_arguments.asks_for_help(["m", "--", "--help"]) and task_arguments.asks_for_help(["-h"])


def test_a_value_that_is_no_number_but_reads_as_one_is_refused():
    assert "'nan' is not a number" in refused("fuzz", ["models", "--seconds", "nan"])
    assert "'2.5' is not a whole number" in refused("run", ["m", "--runs", "2.5"])


def test_letters_are_few_and_mean_the_same_in_every_task():
    assert len(task_arguments.LETTERS) <= 5
    for name, task in TASKS.items():
        for letter in string.ascii_letters:
            option = task_arguments.LETTERS.get(letter)
            wanted = f"--{option}" if f"--{option}" in task.flags else ""
            assert task_arguments.find_flag(task, f"-{letter}") == (wanted, None), (name, letter)
            if not wanted and letter != "h":
                assert f"there is no option -{letter}\n" in refused(name, [f"-{letter}", "x"])
    assert "-b for --backend, -o for --on" in refused("run", ["m", "-k"])


@pytest.mark.parametrize(("task", "flag"), OPTIONS)
def test_help_of_an_option_says_what_it_takes_and_what_omitting_it_means(task, flag, monkeypatch):
    argument, written = argument_of(task, flag), argument_of(task, flag).help
    assert written, "an option has a help text"
    monkeypatch.setenv("COLUMNS", "80")
    lines = task_help.text(TASKS[task], "About it.").splitlines()
    assert max(map(len, lines)) <= 80
    shown = task_help.help_of(TASKS[task], argument)
    default = (
        inspect.signature(vars(tasks)[TASKS[task].name if task != "open" else "open_"].body)
        .parameters[argument.name]
        .default
    )
    if argument.kind in (bool, list):
        assert not default, "a switch that is on by default would need a --no- to turn it off"
    elif default in ("", 0, -1):
        assert re.search(r"\b(no )?default\b", written), "only its text can say what omitting it means"
    else:
        assert f"(default: {default:g})" if isinstance(default, float) else f"(default: {default})" in shown
        assert "default" not in written, "help shows the signature's"
    (line,) = (one for one in lines if re.match(rf"  (-\w, )?{flag}(=| |$)", one))
    known = choices_of(task, flag)
    if known:
        assert all(value in (shown if known.several else line) for value in known.values)


def test_targets_for_tests_alone_are_in_no_list_and_can_be_given():
    listed = from_arguments.listed_targets()
    assert {"adreno-640", "generic", "cpu-avx2"} <= set(listed)
    assert set(choices.of("run", "target").values) == set(listed)
    for path in from_arguments.TARGETS.glob("*.json"):
        no_device = re.match("(not a device|no Mali): tests want", json.loads(path.read_text()).get("why", ""))
        assert (path.stem in listed) == (not no_device), path.stem
        assert from_arguments.target_file(path.stem) == path
    with pytest.raises(Misuse) as wrong:
        from_arguments.target_file("nothing-like-it")
    assert "mali-g76" in wrong.value.do_next and "large-tiles" not in wrong.value.do_next


def test_each_list_of_choices_belongs_to_an_option_or_a_word():
    used = {key for name, task in TASKS.items() for one in task.args for key in (f"{name} {one}", one)}
    assert set(choices.CHOICES) <= used
    for name, task in TASKS.items():
        for option in task.args:
            known = choices.of(name, option)
            default = task.args[option].default
            assert not known or known.values
            assert not known or not default or known.other or known.unknown(str(default)) is None, (name, option)


def test_the_tables_of_words_name_tasks_that_there_are():
    assert {*task_words._OF_TASKS, *task_words.SUBCOMMANDS, *task_words.OPTIONS} <= set(TASKS)
    for name in task_words.DEFAULTS:
        assert task_words.DEFAULTS[name] in task_words.SUBCOMMANDS[name]
    for task in TASKS.values():
        words = task_words.of(task)
        assert not words or words.argument in task.args
        assert task.name in task_words.SUBCOMMANDS or {one.name for one in task.positional_args} <= (
            {words.argument} if words else set()
        )


def test_listing_the_tasks_imports_nothing_that_takes_long(monkeypatch):
    """What values an option may have is looked up when a task is read, not before."""
    source = inspect.getsource(choices)
    assert not re.findall(r"^(?:from|import) host_tools", source, re.MULTILINE)
    assert "help" not in TASKS and command_line._HELP[-1] == "help"


def test_an_option_that_is_given_twice_is_misuse_unless_it_is_a_list():
    assert "--backend is given twice" in str(refused("run", ["w", "--backend", "gles", "--backend=opencl"]))
    assert read("run", ["w", "--size", "a=1", "--size", "b=1"]).args["size"].value == ["a=1", "b=1"]
