"""A run on this machine: complete, refused, crashed, hung. The delegate is a fake that takes no node."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from host_tools.base import cpu_drivers, settings
from host_tools.base.errors import CommandTimedOut, Misuse, RunFailed, ToolMissing
from host_tools.drivers import gpus
from host_tools.judge import compare, judged
from host_tools.places import environment, interpreters, model_worker, on_host, reference
from host_tools.record import run_folder, schema
from host_tools.request import float_twins, from_arguments
from host_tools.run import node_support
from host_tools.show import report, run_account
from host_tools.tasks import support as support_task
from tests.host_tools import run_folders
from tests.model_builder import Model
from tests.vectors.integer_weights import Integers


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("QUADRA_DRIVER_CACHE_DIR", str(tmp_path / "driver"))
    m = Model()
    x = m.input((1, 8, 8, 3))
    m.output(m.add(x, np.ones((1, 8, 8, 3), np.float32)))
    path = tmp_path / "sum.tflite"
    path.write_bytes(m.bytes())
    return str(path)


def latest():
    return run_folder.find("latest", settings.read().runs_dir)


def test_a_run_leaves_a_complete_folder(model, fake):
    stages = []
    folder = on_host.Host(fake).run(from_arguments.make_spec(model, cold=True, repetitions=4), stages.append)
    assert folder.is_complete() and folder.path == latest().path
    np.testing.assert_allclose(folder.arrays("outputs")[0], folder.arrays("inputs")[0] + 1, rtol=1e-6)
    timings = folder.json("timings.json")
    assert {"quadra_cold", "quadra_warm", "xnnpack"} == set(timings["init_us"])
    assert [len(timings["samples_us"][who]) for who in ("quadra", "xnnpack")] == [4, 4]
    assert {"spec.json", "verdicts.json", "environment.json", "model.json", "log.txt"} <= {
        p.name for p in folder.path.iterdir()
    }
    assert "measure" in stages
    assert not (folder.path / "driver_cache").exists()


def test_starts_from_what_a_cold_one_kept_are_timed_each_in_a_process_of_its_own(model, fake, tmp_path):
    stages = []
    spec = from_arguments.make_spec(model, cold=True, repetitions=2, cache=str(tmp_path / "kept"))
    timings = on_host.Host(fake).run(spec, stages.append).read(schema.Timings)
    for kind in (timings.second_us, timings.second_cpu_us):
        assert {who: len(times) for who, times in kind.items()} == {"quadra": 7, "xnnpack": 7}
    assert stages.count("first inference of Quadra") == 9 and not (latest().path / "second.json").exists()


def test_a_crash_is_reported_with_what_was_being_done(model, fake, monkeypatch):
    monkeypatch.setenv("FAKE_DELEGATE", "crash")
    with pytest.raises(RunFailed, match="signal 6 at the stage 'give the model's nodes to the delegate'") as caught:
        on_host.Host(fake).run(from_arguments.make_spec(model))
    folder = latest()
    assert folder.status().state == "crashed" and str(folder.path) in str(caught.value)


def test_ctrl_c_while_a_run_ends_leaves_it_whole(model, fake, monkeypatch):
    write, came = run_folder.write_json, []

    def interrupted(path, value):
        if path.name == "status.json" and not came:
            came.append(path)
            raise KeyboardInterrupt
        write(path, value)

    monkeypatch.setattr(run_folder, "write_json", interrupted)
    with pytest.raises(KeyboardInterrupt):
        on_host.Host(fake).run(from_arguments.make_spec(model))
    assert came and latest().is_complete() and not list(settings.read().runs_dir.glob(".partial*"))


def test_what_failed_is_written_down_in_a_process_of_its_own(model, fake, monkeypatch):
    modes = []
    work = on_host.HostAttempt.work
    monkeypatch.setattr(
        on_host.HostAttempt, "work", lambda self, mode, *rest: (modes.append(mode), work(self, mode, *rest))
    )
    monkeypatch.setenv("FAKE_DELEGATE", "crash")
    with pytest.raises(RunFailed):
        on_host.Host(fake).run(from_arguments.make_spec(model))
    assert modes == ["run", "dump"] and latest().status().stage == "give the model's nodes to the delegate"


def test_a_hang_ends_at_the_deadline(model, fake, monkeypatch):
    monkeypatch.setenv("FAKE_DELEGATE", "hang")
    with pytest.raises(CommandTimedOut, match="within 3 s; it was at the stage 'give the model's nodes"):
        on_host.Host(fake).run(from_arguments.make_spec(model, deadline_s=3.0))
    assert latest().status().state == "timed_out"


def test_a_refused_option_is_misuse_with_the_delegates_words(model, fake):
    with pytest.raises(Misuse, match="backend: gles is not in this fake"):
        on_host.Host(fake).run(from_arguments.make_spec(model, backend="gles"))
    assert latest().status().state == "failed"


def test_a_library_that_is_no_delegate_is_a_sentence(model, tmp_path):
    (tmp_path / "bad.so").write_bytes(b"\x7fELF rubbish")
    with pytest.raises(RunFailed, match="load .*bad.so"):
        on_host.Host(tmp_path / "bad.so").run(from_arguments.make_spec(model))


def test_a_model_that_was_cut_off_is_a_sentence(model, fake, tmp_path):
    content = (tmp_path / "sum.tflite").read_bytes()
    (tmp_path / "cut.tflite").write_bytes(content[: len(content) // 2])
    with pytest.raises(Misuse, match="read the model cut: the file ends at byte .*cut off"):
        on_host.Host(fake).run(from_arguments.make_spec(str(tmp_path / "cut.tflite")))
    with pytest.raises(Misuse, match="read the model cut: the file ends at byte .*cut off"):
        node_support.ask(node_support.make_spec(str(tmp_path / "cut.tflite")), fake)


def test_coverage_asks_and_leaves_no_run(model, fake):
    spec = node_support.make_spec(model)
    report, found = node_support.ask(spec, fake)
    assert (found.gpu, found.cpu) == (0, 1) and found.rows[0].reason == "the fake takes nothing"
    assert json.loads(json.dumps(support_task.to_json(spec, report, found)))["cpu"] == 1
    assert not settings.read().runs_dir.exists()


def test_coverage_takes_a_target_of_the_api_that_is_asked_for(model, tmp_path, monkeypatch):
    for name, words in (
        ("a", "{}"),
        ("a-gles", '{"api": "gles"}'),
        ("generic", "{}"),
        ("generic-gles", '{"api": "gles"}'),
    ):
        (tmp_path / f"{name}.json").write_text(words)
    monkeypatch.setattr(from_arguments, "TARGETS", tmp_path)

    def target(*words):
        return node_support.make_spec(model, *words).options.get("target", "").rsplit("/", 1)[-1]

    assert target() == "" and target("a") == "a.json" and target("a-gles") == "a-gles.json"
    assert target("", "f32", "gles") == "generic-gles.json"
    assert target("a", "f32", "gles") == target("a-gles", "f32", "gles") == "a-gles.json"
    assert target("a", "f32", "opencl") == "a.json"
    with pytest.raises(Misuse, match="the target a-gles is of OpenGL ES"):
        target("a-gles", "f32", "opencl")
    with pytest.raises(Misuse, match="is of OpenCL"):
        target(str(tmp_path / "a.json"), "f32", "gles")
    with pytest.raises(Misuse, match="not one of opencl, gles"):
        target("a", "f32", "auto")


def test_a_picture_is_kept_for_the_report(model, fake, tmp_path):
    from PIL import Image

    Image.new("RGB", (2000, 1000), (9, 9, 9)).save(tmp_path / "p.png")
    folder = on_host.Host(fake).run(from_arguments.make_spec(model, image=str(tmp_path / "p.png"), repetitions=1))
    with Image.open(folder.path / "picture.png") as kept:
        assert kept.size == (640, 320)


def test_how_far_the_last_bit_moves_an_output_is_asked_where_it_matters(tmp_path, monkeypatch):
    class OneModel:  # output = 1000 * (input - 1), which magnifies the last bit of inputs near 1
        def get_input_details(self):
            return [{"index": 0}]

        def set_tensor(self, index, array):
            self.array = array

    monkeypatch.setattr(interpreters, "invoke", lambda interpreter, what: None)
    monkeypatch.setattr(interpreters, "outputs_of", lambda i: [np.float32(1000) * (i.array - np.float32(1))])
    inputs = np.linspace(1, 1.01, 8, dtype=np.float32)
    worker = SimpleNamespace(arrays=[inputs], model="m", interpreters=interpreters)
    (move,) = reference.last_bit_moves(worker, OneModel(), [np.float32(1000) * (inputs - np.float32(1))])
    assert move == pytest.approx(2**-23 * 1000 / 10, rel=0.1)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_what_a_quantised_models_integers_stand_for_is_a_second_reference(dtype, tmp_path):
    """Computed in floats, on the grid of its output."""
    m, least = Model(), np.iinfo(dtype).min
    x = m.input((1, 40), dtype=dtype, scale=1 / 16, zero_point=least + 128)
    y = m.op("LOGISTIC", [x], x.shape, version=2, output={"dtype": dtype, "scale": 1 / 256, "zero_point": least})
    path = tmp_path / "bytes.tflite"
    m.output(y)
    path.write_bytes(m.bytes())
    folder = run_folder.start(from_arguments.make_spec(str(path)), tmp_path / "runs")
    asked = model_worker.Worker(folder, tmp_path, tmp_path)
    asked.arrays = [np.arange(88, 128, dtype=np.int16).astype(dtype).reshape(1, 40)]
    asked.outputs = [np.full((1, 40), least, dtype)]
    reference.write(asked)
    done = run_folder.RunFolder(folder)
    steps = 1 / (1 + np.exp(-(asked.arrays[0].astype(float) - least - 128) / 16)) * 256 + least
    [found] = done.arrays("float_outputs")
    assert found.dtype == dtype and np.array_equal(found, np.clip(np.round(steps), least, least + 255))
    [row] = done.tensors("float_outputs")
    assert (row.dtype, row.scale) == (dtype, 1 / 256)


def of_integer_weights(tmp_path, rows=4):
    """A worker whose model is a product with weights of int8, as if Quadra had run it; what floats give."""
    weights, m = Integers("reference", (16, 64), "int8"), Model()
    x = m.input((rows, 64))
    m.output(m.op("FULLY_CONNECTED", [x, weights.add(m), None], (rows, 16), "FullyConnectedOptions", 12))
    path = tmp_path / "weights.tflite"
    path.write_bytes(m.bytes())
    folder = run_folder.start(from_arguments.make_spec(str(path)), tmp_path / "runs")
    asked = model_worker.Worker(folder, tmp_path, tmp_path)
    asked.arrays = [np.random.default_rng(1).uniform(-1, 1, (rows, 64)).astype(np.float32)]
    right = asked.arrays[0] @ weights.floats.T
    asked.outputs = [right]
    return asked, right


def test_the_reference_of_integer_weights_rounds_no_activations_and_says_what_rounding_does(tmp_path):
    asked, right = of_integer_weights(tmp_path)
    reference.write(asked)
    done = run_folder.RunFolder(asked.folder)
    found = done.read(schema.Reference)
    assert compare.distance(done.arrays("cpu_outputs")[0], right) < 1e-6
    assert not found.quantised and float(found.rounding[0]) > 1e-4
    assert found.rewrites == [
        "the reference has floats instead of the integer weights of 1 node: it rounds no activations"
    ]


def test_where_integer_weights_meet_activations_on_the_cpu_the_run_itself_rounds_these(tmp_path):
    asked, right = of_integer_weights(tmp_path)
    for on, quantised in (("cpu", True), ("gpu", False)):
        report = {**run_folders.REPORT, "nodes": [{"index": 0, "op": "FULLY_CONNECTED", "on": on}]}
        run_folder.write_json(asked.folder / "verdicts.json", report)
        reference.write(asked)
        done = run_folder.RunFolder(asked.folder)
        assert done.read(schema.Reference).quantised == quantised
        assert (compare.distance(done.arrays("cpu_outputs")[0], right) > 1e-4) == quantised


def test_a_model_that_does_not_run_with_float_weights_has_the_kernels_of_integers_as_reference(tmp_path, monkeypatch):
    asked, right = of_integer_weights(tmp_path)

    def refused(content):
        raise ValueError("no such grid")

    def without_floats(content, model, make=interpreters.make, **how):
        if content != asked.cpu_content:
            raise RunFailed("make an interpreter", "no kernel of floats", "")
        return make(content, model, **how)

    for target, name, value in (
        (interpreters, "make", without_floats),
        (float_twins, "with_float_weights", refused),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(target, name, value)
            reference.write(asked)
        done = run_folder.RunFolder(asked.folder)
        found = done.read(schema.Reference)
        assert found.quantised and not found.rewrites and found.kernels == "builtin", name
        assert compare.distance(done.arrays("cpu_outputs")[0], right) > 1e-4, name


def test_a_quantised_model_moves_as_far_as_xnnpack_where_that_is_no_peer_and_rounding_explains_it(
    tmp_path, monkeypatch
):
    m = Model()
    x = m.input((1, 40), dtype="int8", scale=1 / 16, zero_point=0)
    m.output(m.op("LOGISTIC", [x], x.shape, version=2, output={"dtype": "int8", "scale": 1 / 256, "zero_point": -128}))
    path = tmp_path / "bytes.tflite"
    path.write_bytes(m.bytes())
    folder = run_folder.start(from_arguments.make_spec(str(path), peers=()), tmp_path / "runs")
    asked = model_worker.Worker(folder, tmp_path, tmp_path)
    asked.arrays = [np.arange(-20, 20, dtype=np.int8).reshape(1, 40)]
    asked.outputs = [np.zeros((1, 40), np.int8)]
    real = reference._outputs_on_cpu
    for far, explained in ((2, True), (90, False)):
        shifted = np.zeros((1, 40), np.int8)
        shifted[0, 0] = far

        def xnnpack(worker, kernels, shifted=shifted):
            return [array + shifted for array in real(worker, kernels)]

        monkeypatch.setattr(reference, "_outputs_on_cpu", xnnpack)
        reference.write(asked)
        [move] = run_folder.RunFolder(folder).read(schema.Reference).last_bit_moves
        assert (float(move) > 0) == explained, far


def test_drivers_get_as_many_threads_as_xnnpack_and_one_stays_in_the_calling_thread():
    one, two = cpu_drivers.settings(1), cpu_drivers.settings(2)
    assert (one["POCL_DEVICES"], one["LP_NUM_THREADS"]) == ("basic", "0")
    assert (two["POCL_DEVICES"], two["LP_NUM_THREADS"]) == ("basic basic", "2")


@pytest.mark.parametrize("avx512", [False, True])
def test_mesa_has_a_cache_for_each_vector_width(monkeypatch, tmp_path, avx512):
    monkeypatch.setattr(cpu_drivers, "has_avx512", lambda: avx512)
    folder = tmp_path / ("mesa-512" if avx512 else "mesa")
    assert cpu_drivers.caches(tmp_path)["MESA_SHADER_CACHE_DIR"] == str(folder)
    assert cpu_drivers.settings(1).get("LP_NATIVE_VECTOR_WIDTH") == ("512" if avx512 else None)
    (folder / "ab").mkdir(parents=True)
    for name in ("index", "ab/cdef"):
        (folder / name).touch()
    (tmp_path / "kernel.so").touch()
    assert cpu_drivers.compiled(tmp_path) == 2


def test_devices_are_in_the_folder_whatever_becomes_of_asking(model, fake, monkeypatch):
    monkeypatch.setattr(environment, "_devices", environment._devices.__wrapped__)
    monkeypatch.setenv("OCL_ICD_VENDORS", "/nonexistent")
    facts = on_host.Host(fake).run(from_arguments.make_spec(model, repetitions=1)).json("environment.json")
    assert "PLATFORM_NOT_FOUND" in facts["opencl_devices"][0]["error"]
    assert facts["gles_devices"] and facts["driver_settings"]["LP_NUM_THREADS"] == "0"


def test_a_driver_that_hangs_or_dies_costs_nothing_but_the_answer(monkeypatch, tmp_path):
    for body, said in (("import time; time.sleep(60)", "did not end within"), ("import os; os.abort()", "SIGABRT")):
        (tmp_path / "pyopencl.py").write_text(body)
        monkeypatch.setattr(gpus, "_DEADLINE_S", 2.0)
        monkeypatch.setattr(gpus.settings, "ROOT", f"{tmp_path}:{settings.ROOT}")
        assert said in gpus.opencl()[0]["error"]


def test_a_backend_that_is_not_here_is_no_success(tmp_path):
    report = {**run_folders.REPORT, "backend": "none", "backend_notes": ["opencl: no platform"]}
    with pytest.raises(ToolMissing, match="opencl: no platform"):
        judged.judge(run_folders.make(tmp_path, report=report)).check()


@pytest.mark.parametrize(
    ("asked", "backend", "notes", "sentence"),
    [
        ("opencl", "opencl", [], "OpenCL, as asked"),
        ("auto", "opencl", [], "OpenCL, the first choice"),
        ("auto", "gles", ["opencl: no platform"], "OpenGL ES, because OpenCL failed"),
        ("auto", "opencl", ["opencl: no room", "gles: no EGL"], "OpenCL, which still takes the most nodes"),
        ("auto", "none", ["opencl: no platform", "gles: no EGL"], "no GPU API works here"),
    ],
)
def test_the_account_and_the_page_say_which_backend_ran_and_why(tmp_path, asked, backend, notes, sentence):
    made = run_folders.make(tmp_path, report={**run_folders.REPORT, "backend": backend, "backend_notes": notes})
    stated = made.json("spec.json")
    stated["options"]["backend"] = asked
    run_folder.write_json(made.path / "spec.json", stated)
    console = Console(width=160, record=True, file=open("/dev/null", "w"))
    run_account.account(judged.judge(made), console)
    text, page = console.export_text(), report.render(judged.judge(made))
    assert sentence in text and sentence in page
    for note in notes:
        assert note.split(": ")[1] in text and note.split(": ")[1] in page


@pytest.mark.parametrize("content", ["", "[]", "{", "not JSON"])
def test_a_target_that_is_no_json_object_is_misuse(model, tmp_path, content):
    (tmp_path / "target.json").write_text(content)
    with pytest.raises(Misuse, match="read the target"):
        from_arguments.make_spec(model, target=str(tmp_path / "target.json"))


def test_an_unknown_target_lists_the_known_ones(model):
    with pytest.raises(Misuse, match="adreno-640"):
        from_arguments.make_spec(model, target="no-such-target")
