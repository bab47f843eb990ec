"""`inv run --same`: equal inferences and processes are compared bit by bit, and the dispatch that began a difference is named."""

import itertools
import time
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs

from host_tools.base.errors import JudgementFailed, Misuse, RunFailed
from host_tools.judge import determinism as judgement, judged
from host_tools.places import repeat
from host_tools.record import repeats, run_folder, schema
from host_tools.record.kept_tensors import Kept
from host_tools.record.run_folder import RunFolder
from host_tools.request import from_arguments
from host_tools.run import determinism_search
from host_tools.tasks import command_line
from tests.faults import compile_driver_faults, compile_egl_faults
from tests.host_tools import run_folders
from tests.host_tools.record import schema_check
from tests.model_builder import Model, one_convolution
from tests.vectors.recurrent import LAYERS

TARGETS = {"opencl": "mali-g76", "gles": "mali-g76-gles"}  # a program for each kernel
EVERY = 6
# Of twenty inferences, whether or not the launch when the model is loaded counts: another thread's context may make it.
DIFFERENT = 20 // EVERY


def chain() -> bytes:
    """Convolutions with a pool after the fourth, so that memory is used again."""
    chosen = np.random.default_rng(3)
    m = Model()
    x = m.input((1, 6, 7, 8))
    for layer in range(6):
        weights = chosen.normal(size=(8, 1, 1, 8)).astype(np.float32) / 2
        x = m.conv2d(x, weights, chosen.normal(size=8).astype(np.float32))
        x = m.average_pool2d(x, (3, 3)) if layer == 3 else x
    m.output(x)
    return m.bytes()


@pytest.fixture
def run(tmp_path, monkeypatch, library):
    """Runs the task; returns its status, the folder and what it says of equal inferences."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))

    def run(model: bytes, *words: str):
        path = tmp_path / "model.tflite"
        path.write_bytes(model)
        status = command_line.main(["run", str(path), f"--library={library}", "--runs=1", "--peer=xnnpack", *words])
        (folder,) = (one for one in (tmp_path / "runs").iterdir() if one.name != "latest")
        return status, RunFolder(folder), RunFolder(folder).read(schema.Determinism)

    return run


@pytest.fixture
def drivers(tmp_path, monkeypatch):
    """Drivers that skip each sixth launch of the pool."""
    monkeypatch.setenv("QUADRA_OPENCL_LIBRARY", str(compile_driver_faults(tmp_path / "opencl.so")))
    monkeypatch.setenv("QUADRA_EGL_LIBRARY", str(compile_egl_faults(tmp_path / "egl.so")))
    monkeypatch.setenv("DRIVER_FAULTS_SKIPS", f"average_pool2d@{EVERY}")
    monkeypatch.setenv("EGL_FAULTS", f"skip_in=float((y1 skip_every={EVERY}")


@pytest.mark.parametrize("backend", ["opencl", "gles"])
def test_a_launch_that_is_lost_now_and_then_is_named(backend, run, drivers, capsys):
    status, folder, found = run(chain(), f"--backend={backend}", f"--target={TARGETS[backend]}", "--same=20,2")
    assert (status, found.ok) == (1, False), found.sentence
    assert (found.inferences, found.inferences_different) == (20, DIFFERENT)
    assert (found.processes, found.processes_different, found.failed) == (2, 0, 0)
    (output,) = found.outputs
    assert output.inferences == DIFFERENT and 0 < output.different <= output.numbers == 6 * 7 * 8
    (dispatch,) = found.dispatches
    assert "average_pool2d" in dispatch.dispatch and dispatch.ops == "AVERAGE_POOL_2D", found.sentence
    assert dispatch.first_in == dispatch.inferences == found.copied_different == DIFFERENT and found.copied == 20
    assert dispatch.dispatch in found.sentence and float(dispatch.max_error) > 0.1
    assert schema_check.wrong(folder.path) == []
    assert list((folder.path / "determinism" / "values").glob("*.npy"))
    assert not list((folder.path / "determinism").rglob("tensor_*.bin")), "copies of the last inference are not kept"
    page = (folder.path / "report.html").read_text()
    assert "not the same every time" in page and dispatch.dispatch in page
    assert f"{DIFFERENT} of 20 inferences differ" in capsys.readouterr().out


def test_equal_inferences_are_said_to_be_equal(run, capsys):
    status, folder, found = run(chain(), "--backend=opencl", "--same=5,2")
    assert (status, found.ok, found.inferences, found.processes) == (0, True, 5, 2), found.sentence
    assert "equal bit by bit: 0 of 5 inferences differ, 0 of 2 processes differ" in capsys.readouterr().out
    assert not (folder.path / "determinism").exists()


def test_a_models_state_is_set_back_between_inferences(run):
    layer = next(one for one in LAYERS if one.op == "UNIDIRECTIONAL_SEQUENCE_LSTM")
    status, _, found = run(layer.case().model(), "--backend=opencl", "--same=4,2")
    assert (status, found.ok, found.inferences) == (0, True, 4), found.sentence


def test_a_deadline_ends_the_inferences(tmp_path):
    spec = structs.replace(run_folders.make(tmp_path / "runs").spec(), repetitions=10000, deadline_s=1.0)
    interpreter = SimpleNamespace(reset_all_variables=lambda: time.sleep(0.05))
    api = SimpleNamespace(
        outputs_of=lambda _: [np.zeros(3)], set_inputs=lambda _, arrays: None, invoke=lambda _, what: None
    )
    repeat.repeat(
        SimpleNamespace(
            spec=spec, folder=tmp_path, facts={}, model="m", arrays=[], interpreters=api, keep_report=lambda _: None,
            start_quadra=lambda: (None, interpreter, {}),
        ), 0,
    )  # fmt: skip
    found = RunFolder(tmp_path).read(schema.Repeats)
    assert 1 < len(found.inferences) <= 1 + 1.0 / 0.05


@pytest.mark.parametrize("given", ["1", "x", "5,1", "10001", "3,4,5", "-2", "5,"])
def test_a_number_that_makes_no_sense_is_refused(given, tmp_path, capsys):
    model = tmp_path / "model.tflite"
    model.write_bytes(one_convolution())
    assert command_line.main(["run", str(model), f"--same={given}"]) == 2
    assert "--same" in capsys.readouterr().err


def test_compiled_models_are_refused(tmp_path):
    (tmp_path / "model.tflite").write_bytes(one_convolution())
    with pytest.raises(Misuse, match="state"):
        from_arguments.make_spec(str(tmp_path / "model.tflite"), api="compiled", **from_arguments.same_counts("5"))


# ---- without drivers: what processes leave is made up ----

STEPS = ("001_pack", "002_conv2d", "004_softmax")


class MadeUp:
    """Processes whose results are given: for each, its inferences; a value is what the step or the output has. None: it fails."""

    def __init__(self, folder, plain, copied):
        self.folder, self.left = folder, {False: iter(plain), True: iter(copied)}
        self.started = {False: 0, True: 0}

    def start(self, inferences, keeps):
        self.started[keeps] += 1
        made = next(self.left[keeps])
        if made is None:
            raise RunFailed("run", "the process was ended by signal 11", "report it")
        recorder = repeats.Recorder(self.folder / "values")
        for values in made:
            arrays = [np.array([value, 1.0], np.float32) for value in values]
            names = [f"tensor {i}" for i in range(len(STEPS))] if keeps else []
            recorder.add(dict(zip([*names, "output 0"], arrays, strict=True)))
        kept = [
            Kept(0, name, (i,) if i else (), i, (1, 1, 1, 2), np.dtype("<f4"), self.folder)
            for i, name in enumerate(STEPS)
        ]
        return recorder.as_file(), kept if keeps else []


def search(tmp_path, plain, copied, deadline_s=100.0, **same):
    folder = run_folders.make(tmp_path / "runs")
    spec = structs.replace(folder.spec(), deadline_s=deadline_s, **same)
    source = MadeUp(tmp_path, plain, copied)
    found = schema.Determinism(ok=True, sentence="")
    determinism_search._Search(source, spec, found, lambda text: None).run(
        ["y"], folder, counts_inferences="same_inferences" in same
    )
    judgement.conclude(found, spec)
    return found, source


def test_processes_that_differ_are_started_again_with_copies_until_it_shows(tmp_path):
    wrong, right = [(0, 5, 7, 9)], [(0, 1, 2, 3)]
    plain = [[(3,)], [(3,)], [(9,)], [(3,)]]
    found, source = search(tmp_path, plain, [right, right, right, wrong, right], same_processes=4)
    assert (found.inferences, found.processes, found.processes_different) == (0, 4, 1)
    assert (found.copied, found.copied_different) == (4, 1) and source.started[True] == 4
    assert [(row.dispatch, row.nodes, row.first_in) for row in found.dispatches] == [("002_conv2d", [1], 1)]
    assert (found.dispatches[0].different, found.dispatches[0].numbers, found.dispatches[0].max_error) == (1, 2, 4.0)
    assert found.outputs[0].max_error == 6.0 and not found.ok


def test_of_two_processes_with_copies_neither_is_the_usual_one(tmp_path):
    wrong, right = [(0, 5, 7, 9)], [(0, 1, 2, 3)]
    found, _ = search(tmp_path, [[(3,)], [(3,)], [(9,)]], [wrong, right, right], same_processes=3)
    assert (found.copied, found.copied_different) == (3, 1)
    assert found.dispatches[0].max_error == 4.0


def test_the_usual_result_is_that_of_most_and_each_inference_has_its_own_first_dispatch(tmp_path):
    copied = [[(0, 5, 7, 9), (0, 1, 2, 3), (0, 1, 8, 9), (0, 1, 2, 3), (0, 1, 9, 9), (0, 1, 2, 3), (0, 1, 2, 3)]]
    found, _ = search(tmp_path, [[(9,), (3,), (3,)], [(3,)], [(3,)]], copied, same_inferences=3, same_processes=2)
    assert (found.inferences_different, found.processes_different) == (1, 0)
    assert [(row.dispatch, row.first_in, row.inferences) for row in found.dispatches] == [
        ("002_conv2d", 1, 1), ("004_softmax", 2, 3),
    ]  # fmt: skip
    assert "2 dispatches in all" in found.sentence


def test_what_does_not_show_with_copies_is_said_honestly(tmp_path):
    right = [(0, 1, 2, 3)]
    found, _ = search(tmp_path, [[(3,)], [(9,)], [(3,)]], itertools.repeat(right), deadline_s=0.0, same_processes=3)
    assert not found.dispatches and not found.ok
    assert "1 of 2 processes differ (the deadline came before 3); not reproduced in 3 inferences" in found.sentence


def test_outputs_that_differ_behind_equal_tensors_are_told_apart(tmp_path):
    copied = [[(0, 1, 2, 3), (0, 1, 2, 9), (0, 1, 2, 3)]]
    found, _ = search(tmp_path, [[(3,), (9,), (3,)], [(3,)], [(3,)]], copied, same_inferences=3, same_processes=2)
    assert not found.dispatches and "no tensor of the GPU does" in found.sentence


def test_processes_that_fail_are_counted_and_are_not_equal(tmp_path):
    found, _ = search(tmp_path, [[(3,)], None, [(3,)]], [], same_processes=3)
    assert (found.processes, found.processes_different, found.failed, found.ok) == (2, 0, 1, False)
    assert "1 process failed, first: the process was ended by signal 11" in found.sentence


def test_elsewhere_each_process_is_a_run_of_its_own(tmp_path):
    folder = run_folders.make(tmp_path / "runs")
    values = itertools.chain([1.0, 2.0, 1.0], itertools.repeat(1.0))
    asked = []

    def run(spec, show, runs):
        asked.append(spec)
        return run_folders.make(runs, [np.full((1, 3, 4), next(values), np.float32)])

    place = SimpleNamespace(aim=lambda spec: spec, run=run)
    run_folder.write_json(
        folder.path / "spec.json",
        structs.replace(folder.spec(), same_inferences=5, same_processes=3, cold=True).to_json(),
    )
    found = determinism_search.find(folder, place, lambda text: None)
    assert (found.inferences, found.processes, found.processes_different) == (0, 3, 1), found.sentence
    assert not any(spec.same_processes or spec.cold or spec.peers for spec in asked), "none of them compares again"
    assert [spec.keep_tensors for spec in asked] == [False, False, False, True], "the made up runs keep no tensors"
    assert "no tensor can be copied" in found.sentence
    assert not list((folder.path / "determinism").glob("runs/*"))


def test_a_run_that_is_not_the_same_every_time_is_a_failed_judgement(tmp_path):
    value = schema.plain(schema.Determinism(ok=False, sentence="not the same every time: 3 of 50 inferences differ"))
    folder = run_folders.make(tmp_path, determinism=value)
    with pytest.raises(JudgementFailed, match="3 of 50"):
        judged.judge(folder).check()


def test_every_bit_counts():
    zero = np.zeros(3, np.float32)
    other = np.array([-0.0, 0, 0], np.float32)
    quiet = np.array([0x7FC00000, 0, 0], np.uint32).view(np.float32)
    payload = np.array([0x7FC00001, 0, 0], np.uint32).view(np.float32)
    assert len({repeats.digest(one) for one in (zero, other, quiet, payload, zero.reshape(3, 1))}) == 5
    assert repeats.difference(other, zero) == (1, 0.0)
    assert repeats.difference(payload, quiet) == (1, 0.0)
    assert np.isnan(repeats.difference(quiet, zero)[1])
    assert repeats.difference(np.array([1, 5, 9], np.float32), np.array([1, 4, 2], np.float32)) == (2, 7.0)
    assert repeats.difference(np.array([np.inf], np.float32), np.array([np.inf], np.float32)) == (0, 0.0)
    assert repeats.difference(np.array([255], np.uint8), np.array([1], np.uint8)) == (1, 254.0)
