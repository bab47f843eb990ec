"""The README and the pages of docs/ name the tasks, options and exit statuses that there are, and their commands can be
typed as they stand."""

import inspect
import re
import shlex
from itertools import pairwise

import pytest
from invoke import Task

import tasks
from host_tools.base import errors, settings
from host_tools.base.errors import Misuse
from host_tools.tasks import choices, task_arguments, task_words
from tests import more_models, parity, quantized
from tests.task_contexts import CONTEXTS

_TOP = [settings.ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [*_TOP, *sorted((settings.ROOT / "docs").glob("*.md"))]
TASKS = {task.name.replace("_", "-"): task for task in vars(tasks).values() if isinstance(task, Task)}


def test_the_readme_has_a_row_for_each_task():
    table = PAGES[0].read_text().split("| task |")[1].split("\n\n")[0]
    named = re.findall(r"`([\w-]+)`", " ".join(re.findall(r"^\|((?: `[\w-]+`,?)+) \|", table, re.MULTILINE)))
    assert sorted(named) == sorted(TASKS)


def test_the_readme_has_the_letters_of_options():
    told = dict(re.findall(r"`-(\w)` `--(\w+)`", PAGES[0].read_text().split("## Tasks")[1].split("| task |")[0]))
    assert told == {**task_arguments.LETTERS, "h": "help"}


def test_the_readme_has_every_op_and_its_integer_form():
    table = PAGES[0].read_text().split("| kind | ops |\n|---|---|\n")[1].split("\n\n")[0]
    told = [op.strip() for row in table.splitlines() for op in row.split("|")[2].split(",")]
    assert sorted(op.strip("*") for op in told) == sorted(parity.op_names())
    integer = {name.split()[0] for name in quantized.BUILDERS} | {"UNIDIRECTIONAL_SEQUENCE_LSTM", "SVDF"}
    assert {op.strip("*") for op in told if op.startswith("*")} == integer


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_that_a_page_names_is_its_tasks(page):
    for name, words in re.findall(r"\binv ([a-z][a-z-]*)\b((?: [^\s`;|&#)]+)*)", page.read_text()):
        assert name in TASKS, name
        known = {f"--{flag.strip('_')}".replace("_", "-") for flag in inspect.signature(TASKS[name].body).parameters}
        assert set(re.findall(r"(?<=\s)--[\w-]+", words)) <= known, f"inv {name}{words}"


_ANYTHING = re.compile(
    r"[^a-z]+|.*[A-Z/{$…].*|.*\.(tflite|toml|json|quadra)|my_model"
)  # stands for a value, or is a file


def commands(text):
    """What a page tells to type: each `./inv …` of its blocks and of its sentences, as words."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL) + re.findall(
        r"(?:^    .+\n)+", text, re.MULTILINE
    )
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    for line in [*(re.sub(r"(^|\s)#.*", "", line) for line in lines), *spans]:
        for found in re.findall(r"(?:^|\s)[\w~./]*/inv ([a-z][^|;&>\")]*)", line):
            words = shlex.split(found)
            yield [one for before, one in zip(["", *words], words) if one != "…" or before.startswith("-")]


def filled_in(task, *words):
    """The words behind a task, with a value where a page has the like of --abi ABI."""
    for before, word in zip((task, *words), words):
        known = choices.of(task, before.removeprefix("--")) if before.startswith("--") else None
        yield known.values[0] if known and word.isupper() else word


def is_name(words):
    """Whether a page only names a task, or a subcommand: `inv plan diff`."""
    return len(words) == 1 or (len(words) == 2 and words[1] in task_words.SUBCOMMANDS.get(words[0], ()))


def wrong(words):
    """Why a command cannot be typed; empty: it can."""
    if words[0] not in CONTEXTS:
        return f"there is no task {words[0]}"
    try:
        parsed = task_arguments.read(CONTEXTS[words[0]], list(filled_in(*words)))
    except Misuse as error:
        return str(error)
    for name, argument in parsed.args.items():
        known = choices.of(parsed.name, name) if name != "on" else None  # devices have any name
        value = argument.value if isinstance(argument.value, list) else [argument.value]
        given = [one for word in value if isinstance(word, str) for one in word.split(",") if one]
        values = {*(known.values if known else given), *more_models.known()}
        strange = [one for one in given if one not in values and not _ANYTHING.fullmatch(one)]
        if strange:
            return f"{name} is none of {', '.join(known.values)}: {strange[0]}"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_can_be_typed(page):
    found = [words for words in commands(page.read_text()) if not is_name(words)]
    assert [f"{shlex.join(words)}: {why}" for words in found if (why := wrong(words))] == []


def test_the_page_of_measurements_has_every_model_that_nothing_fetches():
    section = (settings.ROOT / "docs" / "measurements.md").read_text().split("## The models")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\S+) \| (.+) \| (.+) \| `(\w{16})` \|$", section, re.MULTILINE)
    known = more_models.known().items()
    assert sorted(rows) == sorted((name, one.about, one.origin, one.sha256[:16]) for name, one in known)


def test_a_wrong_command_is_noticed():
    text = "```\n./inv run m.tflite # ./inv no\ncd x && ./inv bench \\\n  --backend both | tail\n```\nSay `./inv diff A B`, not `inv run --on`.\n"
    assert list(commands(text)) == [["run", "m.tflite"], ["bench", "--backend", "both"], ["diff", "A", "B"]]
    for words, reason in (
        ("run", "no MODEL is named"),
        ("run m.tflite --bakend gles", "did you mean --backend"),
        ("run m.tflite --backend", "needs a value"),
        ("run m.tflite --backend both", "'both' is not one of auto, opencl"),
        ("run selfie_segmentatoin", "model is none of"),
        ("device begin", "there is no such subcommand"),
        ("device fault --name b --fault app.run:slow=1.1", "--fault is an option of start"),
        ("lab worker localhost:1 --port x", ""),
    ):
        assert reason in wrong(words.split()) and wrong(words.split()), words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_site_shows_lists_as_lists(page):
    """MkDocs asks for an empty line before a list, and for four spaces before a list in one."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    lines = [(before, line) for before, line in pairwise(text.splitlines()) if re.match(r" *([-*]|\d+\.) ", line)]
    assert [line for before, line in lines if before and not re.match(r"([-*]|\d+\.|#+) | ", before)] == []
    assert [line for _, line in lines if (len(line) - len(line.lstrip())) % 4] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page):
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_files_that_contributing_names_are_there():
    named = re.findall(r"`([a-z_.]+/[a-z_./]*)`", (settings.ROOT / "CONTRIBUTING.md").read_text())
    folders = (settings.ROOT, settings.ROOT / "delegate_native")
    assert len(named) > 10
    assert [name for name in named if not any((folder / name).exists() for folder in folders)] == []


def test_the_files_in_the_table_of_tests_are_there():
    rows = re.findall(r"^\| (`.*?) \|", (settings.ROOT / "docs" / "testing.md").read_text(), re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([\w/]+\.(?:py|cc))`", row)]
    tests = [str(path.relative_to(settings.ROOT / "tests")) for path in (settings.ROOT / "tests").rglob("*.*")]
    assert len(named) > 40
    assert [name for name in named if not any(f"/{there}".endswith(f"/{name}") for there in tests)] == []


def test_the_pages_have_each_exit_status_of_devices():
    rows = "\n".join((settings.ROOT / "docs" / name).read_text() for name in ("devices.md", "transfers.md"))
    told = {name: int(status) for status, name in re.findall(r"^\| (\d+) \| `(\w+)` \|", rows, re.MULTILINE)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.DeviceError)]
    assert told == {kind.__name__: kind.exit_code for kind in kinds if kind is not errors.DeviceError}
