"""`inv replay` runs a plan as it is written down, names the dispatch that is wrong, and outlives any plan."""

from unittest.mock import Mock

import numpy as np
import pytest

from host_tools.base.errors import CommandTimedOut, Misuse, RunFailed
from host_tools.record import named_plans, replayed, run_folder
from host_tools.record.replayed import Reference
from host_tools.record.spec import InputSpec, ModelRef
from host_tools.replay import replay_session as session
from host_tools.replay.cpu_numbers import Cpu
from host_tools.replay.own_process import OwnProcess
from host_tools.replay.replay_session import Asked
from tests.host_tools.record import plans
from tests.host_tools.tasks.test_plans import inv

X = np.linspace(-4, 4, 18, dtype=np.float32).reshape(1, 2, 3, 3)


@pytest.fixture
def replay(tmp_path):
    """replay(plan): its outcome for the input X."""

    def run(plan, **asked):
        file = plans.write(plan, tmp_path / "plan.quadra")
        run_folder.write_arrays(tmp_path / "given", [X])
        wanted = Asked(InputSpec("arrays", arrays=str(tmp_path / "given")), **asked)
        return session.replay(named_plans.find(str(file)), wanted, lambda stage: None)[0]

    return run


def kept(folder, references):
    run_folder.write_arrays(folder / "references", list(references.values()))
    return [Reference(name, i) for i, name in enumerate(references)]


def output(monkeypatch, replay, plan, notes=None):
    """What the plan makes of X; `notes` gets the machine's."""
    found = []

    def keep(self):
        found.append(np.load(self.folder / "outputs" / "000.npy"))
        return []

    monkeypatch.setattr(session._Session, "_outputs", keep)
    outcome = replay(plan)
    if notes is not None:
        notes.extend(outcome.result.notes)
    return found[0]


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (plans.PLAN, X + 1 + 2),
        pytest.param(plans.with_images("Float"), X + 1 + 2, marks=pytest.mark.slow),
        (plans.with_images("Half"), X + 1 + 2),
        (plans.with_a_common_entry(), X + 1 + 4),
        (plans.of_gles(), X + 1 + 2),
        (plans.of_gles("Half"), X + 1 + 2),
    ],
    ids=["buffers", "images", "half images", "a common entry", "OpenGL ES", "OpenGL ES, half"],
)
def test_a_plan_runs_as_it_is_written_down(plan, expected, replay, monkeypatch):
    made = output(monkeypatch, replay, plan)
    halves = any(buffer.get("cell") == "Half" for buffer in plan["buffers"])
    assert np.abs(made - expected).max() <= (4e-3 if halves else 1e-6)


def test_parts_that_this_device_cannot_make_are_buffers_of_their_own(replay, monkeypatch):
    notes = []
    plan = plans.changed(regions__2__offset=112, tensors__1__offset=112)
    assert np.array_equal(output(monkeypatch, replay, plan, notes), X + 1 + 2)
    assert "at multiples of 128 bytes" in notes[0]


def test_the_first_dispatch_that_differs_is_named(tmp_path):
    file = plans.write(plans.PLAN, tmp_path / "plan.quadra")
    wrong = X + 1
    wrong[0, 1, 2, 0] += 3
    references = {"x": X, "middle": wrong, "y": X + 1 + 2}
    folder = tmp_path / "job"
    folder.mkdir()
    run_folder.write_arrays(folder / "inputs", [X])
    named = named_plans.find(str(file))[0]
    (folder / "plan.quadra").write_bytes(named.plan_bytes())
    replayed.write(folder / replayed.JOB, replayed.Job("plan.quadra", reads_tensors=True, tolerance=1e-4, times=3,
                                                       references=kept(folder, references)))  # fmt: skip
    OwnProcess(folder, "it", lambda stage: None, 300.0).run("host_tools.replay.replayer", {})
    result = replayed.read(folder / replayed.RESULT, replayed.Replayed)
    dispatch, tensor = result.first_wrong()
    assert (dispatch.name, dispatch.nodes, tensor.name, tensor.worst_at) == ("001_add", [0], "middle", [0, 1, 2, 0])
    assert tensor.read_relative < 1e-6
    assert result.dispatches[2].tensors[0].read_relative == tensor.relative > 0.25
    assert tensor.max_error == pytest.approx(3) and tensor.worst_value == pytest.approx(X[0, 1, 2, 0] + 1)
    compared = {t.name: t.problem for d in result.dispatches for t in d.tensors if t.compared}
    assert set(compared) == {"x", "middle", "y"} and not compared["x"] and not compared["y"]
    assert [len(d.us) for d in result.dispatches] == [3] * 4 and min(result.dispatches[1].us) > 0


@pytest.mark.parametrize(("error", "next_words"), [(RunFailed, "compare"), (CommandTimedOut, "wait, or compare")])
def test_the_cpu_is_asked_once_and_its_failure_says_so(error, next_words, tmp_path, monkeypatch):
    failed = Mock(side_effect=error("replay a plan", "it ended", "wait"))
    monkeypatch.setattr(OwnProcess, "run", failed)
    process = OwnProcess(tmp_path / "cpu", "a plan", lambda stage: None, 1.0)
    cpu = Cpu(process, [], None, ModelRef("small", "small.tflite", "0" * 64), InputSpec())
    for _ in range(2):  # partitions
        with pytest.raises(error, match="^ask the CPU for the tensors of small: it ended\n  next: " + next_words):
            cpu.numbers()
    assert failed.call_count == 1


def test_the_error_of_an_earlier_process_is_not_this_ones(tmp_path):
    run_folder.write_json(tmp_path / "error.json", {"kind": "Misuse", "exit_code": 2, "parts": ["a", "earlier", "b"]})
    with pytest.raises(RunFailed, match="ended with status 1"):
        OwnProcess(tmp_path, "it", lambda stage: None, 60.0).run("host_tools.no_such_module", {})


def test_oclgrind_tells_which_dispatch_touches_what_is_not_its_own(replay):
    source = plans.ADD.replace("out[i] = a[i]", "out[i + 1] = a[i]")
    outcome = replay(plans.changed(programs__1__kernels__0__source=source), oclgrind=True)
    assert ["Invalid write" in d.findings for d in outcome.result.dispatches] == [False, True, True, False]
    assert not outcome.ok


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"programs__1__kernels__0__source": "nonsense"}, "compile add_1: "),
        ({"programs__1__prelude": f"{plans.GLES_PRELUDE}#extension GL_X_y : require\n"}, "they need GL_X_y"),
        ({"regions__1__offset": 4}, "OpenGL ES error"),
    ],
    ids=["compiler", "extension", "alignment"],
)
def test_so_does_one_of_opengl_es(parts, words, replay):
    with pytest.raises(RunFailed, match=words):
        replay(plans.changed(plans.of_gles(), **parts))


def test_images_of_opengl_es_can_be_looked_at(tmp_path, capsys):
    file = plans.write(plans.of_gles("Half"), tmp_path / "plan.quadra")
    run_folder.write_arrays(tmp_path / "given", [X])
    assert inv("replay", str(file), "--step", "--time", "--inputs", str(tmp_path / "given")) == 0
    said = capsys.readouterr().out
    assert "  middle 1×2×3×3 half: -3 to 5, mean 0.99" in said and "sum of the medians" in said


def _add(before, after):
    assert before in plans.ADD
    return {"programs__1__kernels__0__source": plans.ADD.replace(before, after)}


@pytest.mark.parametrize(
    ("parts", "kind", "words"),
    [
        (_add("out[i] =", "out[i + 2000000000] ="), RunFailed, "was ended by signal 11 at: dispatch 001_add"),
        pytest.param(_add("if (i < n)", "while (1)"), CommandTimedOut, "did not end within 8 s; it was at: dispatch 001_add",
                     marks=pytest.mark.slow),
        (_add("int n, float by", "int n"), RunFailed, "compile add_1"),
        ({"programs__1__kernels__0__source": f"#pragma OPENCL EXTENSION cl_khr_fp17 : enable\n{plans.ADD}"}, RunFailed,
         "they need cl_khr_fp17"),
        ({"dispatches__1__args": [plans.arg("Int")]}, Misuse, "it has 1 arguments, its kernel add_1 takes 4"),
        ({"buffers__0__bytes": 1 << 50}, RunFailed, "the device allows"),
    ],
    ids=["crash", "hang", "compiler", "extension", "arguments", "memory"],
)  # fmt: skip
def test_a_plan_of_any_content_ends_in_a_sentence(parts, kind, words, replay):
    with pytest.raises(kind, match=words):
        replay(plans.changed(**parts), deadline_s=8.0 if kind is CommandTimedOut else 300.0)


def test_steps_show_each_dispatchs_numbers(tmp_path, capsys):
    file = plans.write(plans.PLAN, tmp_path / "plan.quadra")
    run_folder.write_arrays(tmp_path / "given", [X])
    assert inv("replay", str(file), "--step", "--inputs", str(tmp_path / "given")) == 0
    said = capsys.readouterr().out
    assert "001_add nodes 0\n  middle 1×2×3×3 float: -3 to 5, mean 1" in said
    assert "4 dispatches on" in said and "not compared" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--time", "--oclgrind"], "a simulator's times say nothing"),
        (["--against", "cpu"], "say of which model it is: --model MODEL"),
        (["--against", "no-such-run"], "read --against no-such-run"),
        (["--inputs", "/no/such/folder"], "there is no such folder"),
        (["--image", "x.png"], "name it: --model MODEL"),
    ],
)
def test_misuse_is_told(words, said, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path))
    file = plans.write(plans.PLAN, tmp_path / "plan.quadra")
    assert inv("replay", str(file), *words) == 2
    assert said in capsys.readouterr().err


def test_inputs_of_another_size_are_refused(tmp_path):
    file = plans.write(plans.PLAN, tmp_path / "plan.quadra")
    run_folder.write_arrays(tmp_path / "given", [X[:, :1]])
    asked = Asked(InputSpec("arrays", arrays=str(tmp_path / "given")))
    with pytest.raises(Misuse, match="the input input_0 float32"):
        session.replay(named_plans.find(str(file)), asked, lambda stage: None)
