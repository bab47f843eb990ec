"""The main job, from the spec to the page, with the real delegate: a person's mask from a photograph."""

import itertools

import numpy as np
import pytest

from host_tools.base.errors import Misuse, RunFailed
from host_tools.judge import compare, judged
from host_tools.measure import bench_request, bench_session
from host_tools.places import on_host
from host_tools.record import plan_view, profile, schema, verdicts
from host_tools.request import from_arguments, models, views
from host_tools.run import node_support
from host_tools.show import report
from host_tools.tasks import support as support_task
from tests.host_tools.record import schema_check
from tests.host_tools.show import timelines
from tests.model_builder import Model

MODEL = "selfie_segmentation"


@pytest.fixture(scope="module")
def folder(library, model_path, tmp_path_factory):
    model_path(MODEL)
    spec = from_arguments.make_spec(MODEL, image=str(models.picture()), profile=True, repetitions=3)
    return on_host.Host(library).run(spec, runs_dir=tmp_path_factory.mktemp("runs"))


def test_what_it_leaves_is_as_the_schema_has_it(folder, on_gles):
    assert schema_check.wrong(folder.path) == schema_check.wrong(on_gles.path) == []


def test_every_node_runs_on_the_delegate(folder):
    found = verdicts.read(folder.read(schema.Verdicts))
    assert found.whole, found.rows
    assert found.backend == "opencl"


def test_a_custom_op_that_nobody_has_is_named_before_a_driver_compiles(library, tmp_path):
    m = Model()
    x, zeros = m.input((1, 5, 4, 3)), np.zeros(2, np.float32)
    options = np.array([1, 2, 2], np.int32).tobytes()
    x = m.op("Convolution2DTransposeBias", [x, np.zeros((2, 2, 2, 3), np.float32), zeros], (1, 10, 8, 2),
             custom_options=options)  # fmt: skip
    for _ in range(2):
        x = m.op("MyOp", [m.unary("RELU", x)], x.shape, custom_options=b"\0")
    m.output(x)
    path = tmp_path / "custom.tflite"
    path.write_bytes(m.bytes())
    with pytest.raises(RunFailed, match=r"no kernel for the custom op MyOp \(2 nodes\)") as caught:
        on_host.Host(library).run(from_arguments.make_spec(str(path), cold=True), runs_dir=tmp_path / "runs")
    log = (caught.value.kept / "log.txt").read_text()
    assert "stage: look for kernels of custom ops" in log and "Convolution2DTransposeBias" not in log
    assert "give the model's nodes" not in log and "save the plan" not in log


def test_the_mask_is_the_cpus_and_shows_the_person(folder):
    assert compare.compare(folder).ok
    mask = views.mask(views.of_model(MODEL), folder.arrays("outputs"))
    assert mask.shape == (256, 256)
    assert mask[128, 128] > 0.95 and mask[250, 128] > 0.95, "face and chest"
    assert mask[10, 10] < 0.05 and mask[10, 245] < 0.05, "the flag and the wall"


def test_a_wrong_mask_would_be_found(folder, tmp_path):
    wrong = folder.arrays("outputs")[0].copy()
    wrong[0, 200, 100, 0] += 0.001
    row = compare.measure(0, folder.tensors("outputs")[0], wrong, folder.arrays("cpu_outputs")[0], 1e-4)
    assert not row.ok and row.worst_at == (0, 200, 100, 0)


def test_times_are_those_of_both(folder):
    timings = folder.json("timings.json")
    assert [len(timings["samples_us"][who]) for who in ("quadra", "xnnpack")] == [3, 3]
    for laps in timings["init_us"].values():
        steps = [laps[step] for step in laps["starts_ns"]]
        assert sum(steps) == laps["total_us"] and min(steps) >= 0


def test_every_dispatch_is_profiled(folder):
    found = profile.read(folder)
    (partition,) = folder.json("verdicts.json")["partitions"]
    assert [d.name for d in found.dispatches] == [d["name"] for d in partition["dispatches"]]
    assert all(d.time_us >= 0 for d in found.dispatches)
    assert 0 < found.dispatch_us < 1.2 * found.invoke_us
    flops = sum(n["flops"] for n in folder.json("model.json")["nodes"])
    assert sum(d.flops for d in found.dispatches) == pytest.approx(flops, rel=0.01)
    timelines.check(folder)


def test_the_plan_agrees_with_the_report(folder):
    (path,) = plan_view.of_run(folder)
    plan = plan_view.read(path)
    (partition,) = folder.json("verdicts.json")["partitions"]
    assert [d["name"] for d in plan["dispatches"]] == [d["name"] for d in partition["dispatches"]]
    assert plan["activation_bytes"] == partition["activation_bytes"] >= partition["activation_bytes_lower_bound"] > 0
    for dispatch in plan["dispatches"]:
        assert all(g % n == 0 for g, n in zip(dispatch["global"], dispatch["local"], strict=True)), dispatch["name"]


def test_tensors_that_live_at_the_same_time_do_not_share_memory(folder):
    plan = plan_view.read(plan_view.of_run(folder)[0])
    arenas = {i for i, buffer in enumerate(plan["buffers"]) if buffer["kind"] == "Arena"}
    placed = [t for t in plan["tensors"] if t["buffer"] in arenas]
    assert len(placed) > 50
    for a, b in itertools.combinations(placed, 2):
        apart_in_time = a["last_use"] < b["first_use"] or b["last_use"] < a["first_use"]
        apart = a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"]
        assert apart_in_time or apart or a["buffer"] != b["buffer"], (a, b)
    for tensor in placed:
        assert tensor["offset"] + tensor["bytes"] <= plan["buffers"][tensor["buffer"]]["bytes"]


def test_the_page_shows_it(folder):
    html = report.render(judged.judge(folder))
    assert "all 246 nodes on the GPU" in html and ">right<" in html
    assert html.count("data:image/jpeg;base64,") == 4


@pytest.fixture(scope="module")
def on_gles(library, model_path, tmp_path_factory):
    model_path("face_detection_front")
    spec = from_arguments.make_spec("face_detection_front", backend="gles", profile=True, cold=True, repetitions=3)
    return on_host.Host(library).run(spec, runs_dir=tmp_path_factory.mktemp("runs"))


def test_opengl_es_runs_the_same_job(on_gles):
    found = verdicts.read(on_gles.read(schema.Verdicts))
    assert found.whole and found.backend == "gles" and not found.failures
    result = compare.compare(on_gles)
    assert result.ok and all(output.allowed <= 1e-4 for output in result.outputs), "judged as OpenCL is"
    assert next(d.name for d in profile.read(on_gles).dispatches).endswith("to_slices")
    timelines.check(on_gles)
    assert plan_view.read(plan_view.of_run(on_gles)[0])["api"] == "gles"
    assert next((on_gles.path / "partition_0" / "kernels").glob("*.comp")).read_text().startswith("#version 310 es")


def test_a_cold_start_on_opengl_es_has_to_compile(on_gles):
    starts = on_gles.json("timings.json")["init_us"]
    assert starts["quadra_cold"]["cpu_us"] > 3 * starts["quadra_warm"]["cpu_us"]


def test_the_devices_of_both_apis_are_told_after_a_run_on_either(folder, on_gles):
    for run_folder in (folder, on_gles):
        facts = run_folder.json("environment.json")
        assert facts["opencl_devices"][0]["name"] and facts["gles_devices"][0]["name"]


def test_without_opencl_auto_takes_opengl_es_and_says_so(library, model_path, monkeypatch, tmp_path):
    model_path("face_detection_front")
    monkeypatch.setenv("OCL_ICD_VENDORS", "/nonexistent")
    made = on_host.Host(library).run(
        from_arguments.make_spec("face_detection_front", repetitions=1, peers=()), runs_dir=tmp_path
    )
    found = verdicts.read(made.read(schema.Verdicts))
    assert found.backend == "gles" and found.backend_sentence("auto") == "OpenGL ES, because OpenCL failed"
    assert "CL_PLATFORM_NOT_FOUND" in found.failures[0][1]


def test_a_target_that_the_delegate_cannot_read_is_misuse_with_its_words(library, model_path, tmp_path):
    model_path(MODEL)
    (tmp_path / "odd.json").write_text('{"storage": "paper"}')
    with pytest.raises(Misuse, match='plan selfie_segmentation for .*odd.json: .*"storage"'):
        node_support.ask(node_support.make_spec(MODEL, str(tmp_path / "odd.json")), library)


@pytest.mark.slow
def test_a_bench_of_both_backends(library, model_path, monkeypatch, tmp_path):
    model_path("face_detection_front")
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path))
    shown, kept = [], []
    words = bench_request.Words(("face_detection_front",), backend="both", repetitions=3)
    result = bench_session.measure(bench_request.asked(words)[0], [on_host.Host(library)], shown.append, kept.append)
    opencl, gles = result.rows
    assert not result.wrong and kept[-1].rows == result.rows and "llvmpipe" in gles.device != opencl.device
    for row in result.rows:
        ours = row.runner("quadra")
        assert row.whole and ours.steady.keys() == {1, 2} and ours.us("cold") > ours.us("warm") > 0
        assert row.over(row.shipped) == row.over("xnnpack") / row.peer_over_xnnpack(row.shipped)
    assert opencl.runner("quadra").us() < gles.runner("quadra").us(), (
        "llvmpipe is no match for kernels shaped for a CPU"
    )


def test_coverage_needs_no_driver(library, model_path, monkeypatch):
    model_path(MODEL)
    monkeypatch.setenv("OCL_ICD_VENDORS", "/nonexistent")
    _, found = node_support.ask(node_support.make_spec(MODEL, target="adreno-640"), library)
    assert found.whole and found.target == "adreno-640"


def test_coverage_asks_for_opengl_es_too(library, model_path, monkeypatch, tmp_path):
    model_path(MODEL)
    monkeypatch.setenv("__EGL_VENDOR_LIBRARY_DIRS", "/nonexistent")
    (tmp_path / "small-gles.json").write_text('{"name": "small-gles", "api": "gles", "max_storage_blocks": 4}')
    spec = node_support.make_spec(MODEL, str(tmp_path / "small-gles.json"), "f32", "gles")
    report_value, found = node_support.ask(spec, library)
    assert found.whole and support_task.to_json(spec, report_value, found)["api"] == "gles"


def test_the_same_seed_gives_the_same_run_and_other_targets_agree(library, model_path, tmp_path):
    model_path(MODEL)
    arrays = []
    for target in ("", "", "generic"):
        spec = from_arguments.make_spec(MODEL, seed=5, target=target, repetitions=1, peers=())
        arrays.append(on_host.Host(library).run(spec, runs_dir=tmp_path).arrays("outputs")[0])
    assert np.array_equal(arrays[0], arrays[1])
    assert np.abs(arrays[2] - arrays[0]).max() <= 1e-3 * np.ptp(arrays[0])
