"""Real models: wholly on the delegate, and right within 1e-4 of each output's range. The others run partly."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from host_tools.places import reference_model
from host_tools.request import models
from tests import more_models
from tests.delegate import Refused, options
from tests.judge import errors, mismatch
from tests.runs import BACKENDS
from tests.vectors import transpose_conv_bias
from tests.vectors.case import generator

WHOLE = [
    "selfie_segmentation",
    "iris_landmark",
    "mediapipe/face_detection_full_range_sparse",
    "mediapipe/face_detection_short_range",
    "mediapipe/pose_detection",
    "deeplabv3_257_mv_gpu",
    "body-pix-float-050-8",
    "face_detection_front",
    "pose_detection",
    "face_detection_short_range",
    "face_detection_full_range_sparse",
    "face_landmark",
    "hand_landmark_full",
    "hand_landmark_lite",
    "hand_recrop",
    "palm_detection_full",
    "palm_detection_lite",
    "pose_landmark_full",
    "selfie_segmentation_landscape",
]
CUSTOM = ["hair_segmentation", "face_landmark_with_attention"]  # with custom ops that no CPU here has
PARTLY = ["split_concat"]
QUANTISED = [
    "keras_lstm_mnist_ptq",
    "mobilenet_v1_0.25_128_quant",
    "style_transfer_quantized_dynamic",
    "mobilenet_v2_1.0_224_quant",
    "tf2_mobilenet_v2_1.0_224_ptq",
    "movenet_single_pose_lightning_ptq",
    "deeplabv3_mnv2_dm05_pascal_quant",
]
PLAIN = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"  # TFLite's own kernels, without XNNPACK


def open_on_cpu(model: bytes, kernels: str = "BUILTIN") -> Interpreter:
    interpreter = Interpreter(model_content=model, num_threads=2, experimental_op_resolver_type=OpResolverType[kernels])
    interpreter.allocate_tensors()
    return interpreter


def random_feeds(interpreter: Interpreter) -> list[np.ndarray]:
    feeds = []
    for detail in interpreter.get_input_details():
        numbers = generator(detail["name"]).random(detail["shape"])
        feeds.append((numbers * (255 if detail["dtype"] in (np.uint8, np.int8) else 1)).astype(detail["dtype"]))
    return feeds


def limits(model: bytes, feeds: list[np.ndarray], expected: list[np.ndarray]) -> list[float]:
    """For each output 1e-4 of its range, or three times what TFLite's kernels are apart on these numbers: noise drives
    some networks to where rounding alone makes more. The rule of host_tools/judge/compare.py."""
    plain = on_cpu(open_on_cpu(model, PLAIN), feeds)
    apart = [float(errors(got, want)[0].max()) for got, want in zip(plain, expected)]
    return [max(1e-4, min(3 * noise, 1e-2)) for noise in apart]


def sensitivity(interpreter: Interpreter, feeds: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """What a millionth more in the inputs changes, as a part of the range: weights quantized with float activations
    round those in steps, and a step taken early moves everything after it."""
    nudged = [feed * np.float32(1 + 1e-6) if feed.dtype == np.float32 else feed for feed in feeds]
    return max(float(errors(got, want)[0].max()) for got, want in zip(on_cpu(interpreter, nudged), expected))


def on_cpu(interpreter: Interpreter, feeds: list[np.ndarray]) -> list[np.ndarray]:
    for detail, feed in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(detail["index"], feed)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WHOLE)
def test_model_runs_wholly_on_gpu_and_is_right(quadra_optimised, model_path, name, backend):
    path = model_path(name)
    reference = reference_model.for_cpu(path)[0]
    interpreter = open_on_cpu(reference)
    feeds = random_feeds(interpreter)
    expected = on_cpu(interpreter, feeds)
    outcome = quadra_optimised.run(path.read_bytes(), feeds, timeout_s=600, **options(backend=backend))
    outcome.check(expected, tolerance=limits(reference, feeds, expected))
    assert len(outcome.report["partitions"]) == 1 and outcome.report["backend"] == backend


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PARTLY)
def test_other_model_runs_partly_and_is_right(quadra_optimised, model_path, name, backend):
    """Nodes on the CPU run with the same kernels in both."""
    path = model_path(name)
    interpreter = open_on_cpu(path.read_bytes(), PLAIN)
    feeds = random_feeds(interpreter)
    outcome = quadra_optimised.run(path.read_bytes(), feeds, timeout_s=600, resolver=PLAIN, **options(backend=backend))
    expected = on_cpu(interpreter, feeds)
    outcome.check(expected, tolerance=max(1e-2, 2 * sensitivity(interpreter, feeds, expected)), everything_on_gpu=False)
    assert all(node["reason"] for node in outcome.nodes if node["on"] == "cpu")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", QUANTISED)
def test_quantised_model_runs_wholly_on_gpu_as_near_to_the_reference_as_xnnpack(
    quadra_optimised, model_path, name, backend
):
    """Each tensor is rounded, and what one rounds up the other rounds down: on the mean of an output, no further from
    the reference kernels than XNNPACK by more than half, or within a quarter of a step."""
    raw = model_path(name).read_bytes()
    feeds = random_feeds(open_on_cpu(raw, "BUILTIN_REF"))
    outcome = quadra_optimised.run(raw, feeds, timeout_s=600, **options(backend=backend))
    check_quantised(raw, feeds, outcome)


def check_quantised(raw: bytes, feeds: list[np.ndarray], outcome) -> None:
    expected, peer = on_cpu(open_on_cpu(raw, "BUILTIN_REF"), feeds), on_cpu(open_on_cpu(raw), feeds)
    assert not outcome.error, outcome.error
    if outcome.on_cpu():
        raise Refused(f"left to the CPU: {outcome.on_cpu()}")
    for got, want, other in zip(outcome.outputs[-1], expected, peer, strict=True):
        ours, theirs = (float(np.abs(x.astype(np.float64) - want).mean()) for x in (got, other))
        step = np.ptp(want) / 255 if want.dtype == np.float32 else 1
        assert ours <= max(1.5 * theirs, 0.25 * step), (ours, theirs)


@pytest.mark.parametrize("name", CUSTOM)
def test_model_that_no_cpu_runs_is_whole_and_gives_the_same_on_both(quadra_optimised, model_path, name):
    """The vectors say that each op is right; here that whole models of them are."""
    model = model_path(name).read_bytes()
    graph = schema.ModelT.InitFromPackedBuf(model, 0).subgraphs[0]
    feeds = [generator(name).random(list(graph.tensors[i].shape)).astype(np.float32) for i in graph.inputs]
    opencl, gles = (quadra_optimised.run(model, feeds, timeout_s=600, **options(backend=b)) for b in BACKENDS)
    opencl.check(gles.outputs[-1], tolerance=1e-4)
    assert not gles.on_cpu()


@pytest.mark.parametrize("case", transpose_conv_bias.CASES, ids=lambda case: case.id)
def test_model_rewritten_for_cpu_means_the_same(tmp_path, case):
    """The toolkit's rewrite of Convolution2DTransposeBias agrees with the numpy reference of the custom op."""
    path = tmp_path / "model.tflite"
    path.write_bytes(case.model())
    interpreter = open_on_cpu(reference_model.for_cpu(path)[0], "BUILTIN_REF")
    assert not mismatch(on_cpu(interpreter, case.feeds())[0], case.expected()[0], 1e-5)


def test_every_model_that_is_known_is_tried():
    assert {*WHOLE, *PARTLY, *QUANTISED, *CUSTOM} == {*models.catalogue(), *more_models.known()}
