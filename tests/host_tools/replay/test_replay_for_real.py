"""Real models' plans, replayed, give the delegate's own outputs; a fault planted into a kernel's text is named."""

import pytest
from msgspec import structs

from host_tools.judge import plan_diff
from host_tools.places import on_host
from host_tools.record import checked_plan, named_plans, plan_view
from host_tools.record.named_plans import NamedPlan
from host_tools.record.spec import ModelRef
from host_tools.replay import replay_session
from host_tools.replay.replay_session import Asked
from host_tools.request import from_arguments
from tests.fences import fenced

pytestmark = pytest.mark.slow


@pytest.fixture
def ran(model_path, library, tmp_path, monkeypatch):
    """ran(model, **fields): the folder of a run of this machine."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))

    def run(model, keep_tensors=False, **fields):
        path = model if model.endswith(".tflite") else str(model_path(model))
        spec = from_arguments.make_spec(path, repetitions=1, peers=(), **fields)
        return on_host.Host(library).run(structs.replace(spec, keep_tensors=keep_tensors))

    return run


def replay(named, **asked):
    return replay_session.replay([named], Asked(**asked), lambda stage: None)[0]


def same(outcome):
    """Whether every output is the run's, bit by bit."""
    compared = [row for row in outcome.outputs if row.against]
    return compared and all(row.against == "the run" and row.error.different == 0 for row in compared)


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("deeplabv3_257_mv_gpu", {"backend": "opencl"}),
        ("deeplabv3_257_mv_gpu", {"backend": "opencl", "target": "adreno-640", "precision": "f32_f16"}),
        ("deeplabv3_257_mv_gpu", {"backend": "gles"}),
        ("deeplabv3_257_mv_gpu", {"backend": "gles", "target": "adreno-640-gles", "precision": "f32_f16"}),
        ("keras_lstm_mnist_ptq", {"backend": "opencl"}),
        ("mobilenet_v2_1.0_224_quant", {"backend": "opencl"}),
        ("mobilenet_v2_1.0_224_quant", {"backend": "opencl", "target": "mali-g76-buffers"}),
    ],
    ids=[
        "opencl",
        "images of halves",
        "gles",
        "gles images of halves",
        "with a state",
        "quantised",
        "quantised for a phone",
    ],
)
def test_a_replay_is_the_run(model, fields, ran):
    folder = ran(model, **fields)
    (named,) = named_plans.find(str(folder.path))
    outcome = replay(named)
    assert same(outcome), outcome.outputs
    assert not outcome.result.notes


def planted(named, before, after, path):
    """The plan with a part of its kernels' texts replaced by one as long, wherever it is."""
    data, old, new = named.plan_bytes(), before.encode(), after.encode()
    assert old in data and len(old) == len(new)
    path.write_bytes(data.replace(old, new))
    return NamedPlan(path, plan_view.read(path), named.run)


def test_a_fault_in_a_kernels_text_is_named(ran, tmp_path):
    kept = ran("deeplabv3_257_mv_gpu", keep_tensors=True, backend="opencl")
    run = ran("deeplabv3_257_mv_gpu", backend="opencl")
    (named,) = named_plans.find(str(run.path))
    whole = replay(named, against=str(kept.path))
    compared = [t for d in whole.result.dispatches for t in d.tensors if t.compared]
    assert whole.ok and len(compared) > 50 and not any(t.different for t in compared)
    wrong = planted(
        named, "vec4 bias = read_bias(s % dst_s);", "vec4 bias = read_bias(s / dst_s);", tmp_path / "plan.quadra"
    )
    kernels = plan_diff.compare(named.checked(), wrong.checked()).kernels
    assert {(kernel.name, kernel.added, kernel.removed) for kernel in kernels} == {("depthwise_conv2d", 1, 1)}
    model = run.spec().model
    for against in (str(kept.path), "cpu"):
        outcome = replay(wrong, against=against, model=ModelRef(model.name, model.path, model.sha256))
        dispatch, tensor = outcome.result.first_wrong()
        assert (dispatch.name, dispatch.kernel, dispatch.nodes) == ("002_depthwise_conv2d", "depthwise_conv2d", [1])
        assert tensor.relative > 0.1 and not outcome.ok


def test_a_run_with_kept_tensors_is_replayed_with_its_copies(ran):
    kept = ran("mobilenet_v2_1.0_224_quant", keep_tensors=True, backend="opencl")
    (named,) = named_plans.find(str(kept.path))
    outcome = replay(named, against=str(kept.path))
    assert outcome.ok and same(outcome)
    assert not any(t.different for d in outcome.result.dispatches for t in d.tensors if t.compared)


def test_oclgrind_finds_nothing_in_a_whole_plan(ran):
    folder = ran("mobilenet_v1_0.25_128_quant", backend="opencl")
    (named,) = named_plans.find(str(folder.path))
    assert replay(named, oclgrind=True, deadline_s=900.0).ok


def test_partitions_get_what_the_cpu_has_between_them(ran, model_path, tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_SMALL_PARTITIONS_ALLOWED", "1")
    model = tmp_path / "fenced.tflite"
    model.write_bytes(fenced(model_path("selfie_segmentation").read_bytes(), 80))
    folder = ran(str(model), backend="opencl")
    plans = named_plans.find(str(folder.path))
    outcomes = replay_session.replay(plans, Asked(against="cpu", tolerance=1e-3), lambda stage: None)
    assert len(outcomes) > 1 and all(outcome.ok for outcome in outcomes)
    assert {row.against for outcome in outcomes for row in outcome.outputs} == {"the run", "the CPU"}
    kept = ran(str(model), keep_tensors=True, backend="opencl")
    for outcome in replay_session.replay(plans, Asked(against=str(kept.path)), lambda stage: None):
        compared = [t for d in outcome.result.dispatches for t in d.tensors if t.compared]
        assert len(compared) > 5 and not any(t.different for t in compared), outcome.title


def test_checked_plans_of_a_run_are_whole(ran):
    (named,) = named_plans.find(str(ran("deeplabv3_257_mv_gpu", backend="opencl").path))
    plan = checked_plan.checked(named.value, "the run")
    made = plan.makers()
    unmade = [t.name for i, t in enumerate(plan.tensors) if i not in made and t.buffer >= 0]
    assert unmade == ["input_0"]
    assert max(plan.alive_bytes()) <= plan.activation_bytes_lower_bound <= plan.activation_bytes
