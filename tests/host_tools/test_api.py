"""quadra_tools, the package for programs: it runs, judges and plans as the tasks do, and gives values."""

import dataclasses
import inspect
import json
import re

import numpy as np
import pytest

import quadra_tools as q
import tasks
from host_tools.base import child_process, settings
from tests.model_builder import Model

X, Y = np.linspace(-1, 1, 48, dtype=np.float32).reshape(1, 4, 4, 3), np.full((1, 4, 4, 3), 0.25, np.float32)


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Two inputs, `left` and `right`, and their difference; runs go into tmp_path."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("QUADRA_DRIVER_CACHE_DIR", str(tmp_path / "driver"))
    m = Model()
    m.output(m.op("SUB", [m.input(X.shape, name="left"), m.input(X.shape, name="right")], X.shape))
    path = tmp_path / "difference.tflite"
    path.write_bytes(m.bytes())
    return path


@pytest.fixture
def judged(model):
    return q.run(model, inputs={"right": Y, "left": X}, runs=5)


def test_a_run_has_what_it_computed_where_and_how_right(judged, model):
    assert judged.ok is True and judged.model == "difference" and judged.place == "host"
    np.testing.assert_array_equal(judged.array(), X - Y)
    np.testing.assert_array_equal(judged.cpu_array(-1), X - Y)
    (output,), (node,) = judged.outputs, judged.nodes
    assert (
        output.ok and output.shape == X.shape and output.dtype == "float32" and output.relative_error <= output.allowed
    )
    np.testing.assert_array_equal(judged.array(output.name), judged.array(0))
    assert (node.op, node.on, node.reason) == ("SUB", "gpu", "") and judged.nodes_on_cpu == ()
    assert judged.backend == "opencl" and judged.clock == "processor" and judged.gpu
    ours = judged.times["quadra"]
    assert (
        ours.samples == 5 and judged.ms == ours.processor_ms and 0 < ours.minimum_ms <= ours.median_ms < ours.start_ms
    )
    assert judged.report.is_file() and judged.folder == judged.report.parent and judged.check() is judged
    assert "nodes=" not in repr(judged)


def test_inputs_by_order_and_in_a_folder_are_the_same(model, judged, tmp_path):
    np.testing.assert_array_equal(q.run(model, inputs=[X, Y], runs=2).array(), judged.array())
    again = q.run(model, inputs=judged.folder / "inputs", runs=2)
    np.testing.assert_array_equal(again.array(), judged.array())
    command = re.search(r"--inputs=(\S+)", judged.report.read_text())[1]
    assert command == str(judged.folder / "inputs"), "the folder that it was given is gone"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"inputs": [X]}, r"there are 1 arrays \(left\), and its inputs are left, right"),
        ({"inputs": [X, Y, X]}, r"3 arrays \(left, right, \?\)"),
        ({"inputs": {"left": X, "wrong": Y}}, r"\(left, wrong\), and its inputs are left, right"),
        ({"inputs": [X, Y.astype(np.float64)]}, "it is float64"),
        ({"on": "host,jvm"}, "that is 2 places"),
        ({"precision": "f8"}, "'f8' is not one of"),
        ({"library": "/no/such.so"}, "there is no such file"),
        ({"options": {"no_such": True}}, "no option 'no_such'"),
        ({"range": (2, 1)}, "2 is not below 1"),
    ],
)
def test_a_wrong_argument_is_misuse(model, arguments, reason):
    with pytest.raises(q.Misuse, match=reason):
        q.run(model, **arguments)


def test_options_reach_the_run(model):
    made = q.run(
        model,
        backend="gles",
        precision="f16",
        range=(0, 2),
        seed=7,
        runs=3,
        peers=(),
        options={"self_check": True},
        max_error=0.5,
    )
    spec = made._judged.folder.spec()
    assert (made.backend, made.precision, spec.inputs.seed, spec.inputs.value_range) == ("gles", "f16", 7, (0.0, 2.0))
    assert spec.options["self_check"] == "1" and made.outputs[0].allowed == 0.5 and set(made.times) == {"quadra"}
    assert spec.repetitions == 3
    with pytest.raises(q.Misuse, match="'xnnpack' was not timed\n  next: run it with peers=\\['xnnpack'\\]"):
        made.ratio()


def test_limits_are_checked(judged):
    assert judged.check(max_error=1e-3, max_ms=1e6, max_cpu_nodes=0) is judged
    with pytest.raises(
        q.JudgementFailed, match=r"takes .* ms \(processor time, median of 5\), more than 1e-06 ms"
    ) as caught:
        judged.check(max_ms=1e-6)
    assert caught.value.exit_code == 1 and caught.value.do_next
    with pytest.raises(q.Misuse, match="there is no such output"):
        judged.array("nothing")


def rewritten(judged, change):
    """The judged run, with other timings."""
    path = judged.folder / "timings.json"
    timings = json.loads(path.read_text())
    timings |= change
    path.write_text(json.dumps(timings))
    return q.compare(judged)


def test_a_ratio_that_was_not_measured_is_an_error_with_the_reason(judged):
    alike = {"quadra": [4000] * 5, "xnnpack": [2000] * 5}
    assert rewritten(judged, {"samples_us": alike, "cpu_us": alike}).ratio() == 2.0
    waits = {**alike, "quadra": [6500] * 5}
    reason = r"not reliable: every inference waits 2.50 ms or longer without computing.*\n  next: `./inv open .* shows where the time goes"
    waiting = rewritten(judged, {"samples_us": waits})
    assert (waiting.ms, waiting.wait_ms) == (4.0, 2.5) and waiting.check(max_ms=6.5)
    with pytest.raises(q.JudgementFailed, match=reason):
        waiting.ratio("xnnpack")
    with pytest.raises(q.JudgementFailed, match="together more than 6 ms"):
        waiting.check(max_ms=6)
    busy = {**alike, "quadra": [4000] + [6500] * 4}
    with pytest.raises(q.JudgementFailed, match=r"not reliable: the machine was busy.*\n  next: run it again"):
        rewritten(judged, {"samples_us": busy}).ratio("xnnpack")
    with pytest.raises(q.JudgementFailed, match="Quadra was not timed"):
        rewritten(judged, {"samples_us": {"xnnpack": [2000]}}).ratio()


def test_a_driver_that_sleeps_in_every_inference_is_noticed(model, tmp_path, monkeypatch):
    source, library = settings.ROOT / "tests" / "opencl_slow.c", tmp_path / "opencl.so"
    child_process.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], timeout_s=60)
    monkeypatch.setenv("QUADRA_OPENCL_LIBRARY", str(library))
    monkeypatch.setenv("OPENCL_SLEEP", "200000")
    slept = q.run(model, runs=5)
    assert slept.ok and slept.clock == "processor" and slept.wait_ms > 150
    with pytest.raises(
        q.JudgementFailed, match="and every inference waits .* ms or longer without computing, together"
    ):
        slept.check(max_ms=slept.ms + 10)
    with pytest.raises(q.JudgementFailed, match="not reliable: every inference waits"):
        slept.ratio("xnnpack")


def test_what_is_wrong_or_on_the_cpu_is_said(judged, model, fake, tmp_path):
    on_cpu = q.run(model, library=fake, runs=2)
    assert [node.reason for node in on_cpu.nodes_on_cpu] == ["the fake takes nothing"] and on_cpu.ok
    with pytest.raises(q.JudgementFailed, match="1 node stays on the CPU, more than 0 .*the fake takes nothing"):
        on_cpu.check(max_cpu_nodes=0)
    np.save(judged.folder / "outputs" / "000.npy", X)
    wrong = q.compare(judged)
    assert wrong.ok is False and not wrong.outputs[0].ok and wrong.largest_error > 0.1
    for again in (judged.folder.name, "difference.tflite", judged.folder):
        assert q.compare(again).folder in (judged.folder, on_cpu.folder)
    with pytest.raises(q.JudgementFailed, match="is off by"):
        wrong.check()


def test_a_run_that_fails_raises_and_leaves_its_folder(model, fake, monkeypatch):
    monkeypatch.setenv("FAKE_DELEGATE", "crash")
    with pytest.raises(q.RunFailed) as caught:
        q.run(model, library=fake, runs=2)
    assert (caught.value.kept / "log.txt").is_file()


def test_support_says_what_a_gpu_would_run(model, fake):
    found = q.support(model, "adreno-640")
    assert (found.api, found.target, [node.on for node in found.nodes]) == ("opencl", "adreno-640", ["gpu"])
    assert found.nodes_on_cpu == () and found.partitions == 1
    assert q.support(model, "mali-g76", backend="gles").api == "gles"


def test_a_bench_has_figures_a_page_and_ratios(model, fake):
    found = q.bench(model, runs=3, library=fake)
    assert found.page.is_file() and found.document.finished and found.folder == found.page.parent
    try:
        assert found.ratio("difference") > 0
    except q.JudgementFailed as error:
        assert "not reliable: " in str(error)
    with pytest.raises(q.Misuse, match="'other' on opencl is not in it\n  next: it has difference on opencl"):
        found.ratio("other")
    with pytest.raises(q.Misuse, match="'litert-gpu' was not timed"):
        found.ratio("difference", "litert-gpu")


def test_nothing_is_printed_on_stdout(model, judged, capsys):
    q.support(model)
    q.compare(judged)
    assert capsys.readouterr().out == ""


def test_devices_are_those_that_adb_sees(adb, monkeypatch):
    from host_tools.phone.adb import choice

    assert q.devices() == []
    seen = [
        choice.Found("a", "device", "Pixel 9"),
        choice.Found("emulator-5554", "offline"),
        choice.Found("b", "device", virtual=True, busy="in use by 7"),
    ]
    monkeypatch.setattr(choice, "found", lambda: seen)
    assert [(one.kind, one.ready, one.state) for one in q.devices()] == [
        ("phone", True, "device"), ("emulator", False, "offline"), ("virtual", False, "in use by 7"),
    ]  # fmt: skip


def test_all_that_is_public_is_described_and_typed():
    assert q.__all__ == sorted(q.__all__) and all(inspect.getdoc(getattr(q, name)) for name in q.__all__)
    for name in q.__all__:
        one = getattr(q, name)
        public = (
            [one, *(value for key, value in vars(one).items() if inspect.isfunction(value) and key[0] != "_")]
            if inspect.isclass(one)
            else [one]
        )
        for function in public:
            if inspect.isfunction(function):
                assert inspect.getdoc(function), (name, function)
                assert "return" in function.__annotations__, (name, function)


def test_arguments_of_run_are_the_options_of_the_task():
    other = {
        "timeout_s": "timeout",
        "peers": "peer",
        "tolerances": "tolerance",
        "metrics": "metric",
        "sustained_s": "for_",
        "delay_ms": "delay",
    }
    ours = {other.get(name, name) for name in inspect.signature(q.run).parameters}
    theirs = set(inspect.signature(tasks.run.body).parameters) - {"c"}
    assert theirs - ours == {"json", "junit", "max_ms", "max_cpu_nodes", "same"} and not ours - theirs


def test_the_page_names_what_there_is():
    page = (settings.ROOT / "docs" / "python_api.md").read_text()
    for name in q.__all__:
        assert f"`{name}" in page, name
    for kind in (q.Result, q.Support, q.Output, q.Node, q.Sustained, q.Times, q.Bench, q.Device):
        for one in dataclasses.fields(kind):
            assert one.name.startswith("_") or f"`{one.name}`" in page, (kind.__name__, one.name)


def test_the_lines_of_the_page_run(model, monkeypatch, tmp_path):
    """Its first block, with a model of that name."""
    page = (settings.ROOT / "docs" / "python_api.md").read_text()
    first = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1].replace('on="any"', 'on="host"')
    (tmp_path / "model.tflite").write_bytes(model.read_bytes())
    monkeypatch.chdir(tmp_path)
    exec(compile(first, "python_api.md", "exec"), {})


def test_many_inputs_are_judged_together_by_one_process(model):
    given = ({"left": X * scale, "right": Y} for scale in (1, 2, 3))
    made = q.run(
        model,
        inputs=given,
        runs=2,
        tolerances={"": (1e-6, 1e-6)},
        metrics=["top1=1", lambda ours, cpu, name: len(ours)],
    )
    assert made.ok and made.check() is made and not made.nodes_on_cpu
    (output,) = made.over_inputs
    assert output.inputs == ("00000", "00001", "00002") and output.ok and output.cosine == pytest.approx(1)
    for index in range(3):
        np.testing.assert_array_equal(made.array(0, index), X * (index + 1) - Y)
        np.testing.assert_array_equal(made.cpu_array(0, index), X * (index + 1) - Y)
    assert made.metrics["top1"].mean == 1 and made.metrics["<lambda>"].values == dict.fromkeys(output.inputs, 1.0)
    log = (made.folder / "log.txt").read_text()
    assert log.count("== inputs") == 1 and log.count("stage: give the model's nodes to the delegate") == 2, (
        "the run, and all further inputs"
    )
    assert "Over 3 inputs" in made.report.read_text() and f"--inputs={made.folder}" in made.report.read_text()
    np.save(made.folder / "set" / "00002" / "outputs" / "000.npy", X)
    wrong = q.compare(made)
    assert wrong.ok is False and wrong.over_inputs[0].wrong == ("00002",) and wrong.outputs[0].ok
    assert q.compare(made, tolerances={"": (9.0, 0.0)}).ok
    again = q.run(model, inputs=made.folder, runs=2)
    np.testing.assert_array_equal(again.array(0, 2), X * 3 - Y)
