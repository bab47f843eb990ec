"""Options that several tasks have are fields of one type: tasks, help, specs and commands follow from it."""

import dataclasses
import inspect

import pytest
from invoke.tasks import Task
from msgspec import structs

import tasks
from host_tools.record.spec import ModelRef, RunSpec
from host_tools.request import as_command, from_arguments, run_options
from host_tools.request.run_options import OPTIONS, RunOptions
from host_tools.tasks import command_line, shared_options
from tests.model_builder import one_convolution


def written(task: Task) -> dict[str, inspect.Parameter]:
    """The parameters that its function is written with."""
    return dict(inspect.signature(inspect.unwrap(task.body)).parameters)


SHARED = {
    one.name: one for one in vars(tasks).values() if isinstance(one, Task) and "options" in written(one)
}  # of a run, all of them
OTHER_VALUES = {int: 7, float: 0.5, bool: True, str: "other", tuple: ("other",)}


def test_run_has_all_of_them_with_their_defaults_and_help(capsys):
    with pytest.raises(SystemExit) as ended:
        command_line.main(["--help", "run"])
    assert not ended.value.code
    shown = "".join(capsys.readouterr().out.split())
    parameters = inspect.signature(tasks.run.body).parameters
    for name, option in OPTIONS.items():
        usual = None if option.default == () else option.default
        default = inspect.Parameter.empty if option.default is dataclasses.MISSING else usual
        text = option.metadata["help"].removesuffix(".").partition(" (default:")[0]
        assert parameters[name].default == default and "".join(text.split()) in shown, name


def test_the_tasks_that_share_them_write_no_parameter_of_their_own():
    assert {"run", "support", "generate", "advise", "bisect", "overflow"} == set(SHARED)
    for name, task in SHARED.items():
        own = {"bisect": {"tolerance"}, "generate": {"seed"}}.get(name, set())  # of the same name, and another meaning
        assert (set(written(task)) & set(OPTIONS)) - {"options"} == own, name


def test_a_task_gets_what_was_typed_and_defaults_of_its_own(monkeypatch):
    made = []
    one = shared_options.task_of_a_run(("model", "precision", "size"), defaults={"precision": "f16"}, help={"top": "x"})
    task = one(lambda c, options, top=3: made.append((options, top)))
    task.body("context", "net", size=["a=1x2"], top=4)
    task.body("context", "net")
    assert made == [(RunOptions("net", precision="f16", size=("a=1x2",)), 4), (RunOptions("net", precision="f16"), 3)]


def test_each_option_of_a_spec_is_in_the_command_that_makes_it_again():
    usual = RunSpec("", ModelRef("net", "net.tflite", ""))
    for option, field in run_options.spec_fields().items():
        if field in usual.__struct_fields__ and field not in ("options", "tolerances", "metrics", "sustained_s"):
            other = OTHER_VALUES[type(getattr(usual, field))]
            command = as_command.run(structs.replace(usual, **{field: other}))
            assert f"--{option.replace('_', '-')}" in command, option


def test_what_is_typed_arrives_in_the_spec(tmp_path):
    model = tmp_path / "net.tflite"
    model.write_bytes(one_convolution())
    (one,) = from_arguments.each(RunOptions(str(model), runs=7, threads=3, for_="2m", peer="", timeout=9, profile=True))
    spec = from_arguments.spec_of(one)
    assert (spec.repetitions, spec.threads, spec.sustained_s, spec.peers, spec.deadline_s) == (7, 3, 120, (), 9.0)
    assert spec.profile and spec.place == "host"


@pytest.mark.parametrize("word", ["--runs=x", "--backend=cuda", "--no-such"])
def test_wrong_words_are_still_told(word, capsys):
    assert command_line.main(["run", "net", word]) == 2 and word.partition("=")[0] in capsys.readouterr().err
