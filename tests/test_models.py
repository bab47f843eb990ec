"""Real models: wholly on the delegate, and right within 1e-4 of each output's range. The others run partly."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from host_tools import models, reference_model
from tests.delegate import options
from tests.judge import mismatch
from tests.vectors import transpose_conv_bias
from tests.vectors.case import generator

WHOLE = ["selfie_segmentation", "iris_landmark", "deeplabv3_257_mv_gpu", "body-pix-float-050-8", "face_detection_front",
         "pose_detection", "face_detection_short_range", "face_detection_full_range_sparse", "face_landmark",
         "hand_landmark_full", "hand_recrop", "palm_detection_full", "palm_detection_lite", "pose_landmark_full",
         "selfie_segmentation_landscape"]
PARTLY = ["split_concat", "mobilenet_v1_0.25_128_quant", "keras_lstm_mnist_ptq", "style_transfer_quantized_dynamic",
          "hair_segmentation", "mobilenet_v2_1.0_224_quant", "tf2_mobilenet_v2_1.0_224_ptq",
          "movenet_single_pose_lightning_ptq", "deeplabv3_mnv2_dm05_pascal_quant", "face_landmark_with_attention"]
QUICK = {"selfie_segmentation", "iris_landmark", "split_concat", "mobilenet_v1_0.25_128_quant"}
RUNNABLE_ON_CPU = [name for name in PARTLY if name not in ("hair_segmentation", "face_landmark_with_attention")]


def names(those: list[str]) -> list:
    return [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in those]


def random_feeds(model: bytes) -> tuple[Interpreter, list[np.ndarray]]:
    """A CPU interpreter of the model and numbers for its inputs."""
    interpreter = Interpreter(model_content=model, num_threads=2)
    interpreter.allocate_tensors()
    feeds = []
    for detail in interpreter.get_input_details():
        numbers = generator(detail["name"]).random(detail["shape"])
        feeds.append((numbers * (255 if detail["dtype"] in (np.uint8, np.int8) else 1)).astype(detail["dtype"]))
    return interpreter, feeds


def on_cpu(interpreter: Interpreter, feeds: list[np.ndarray]) -> list[np.ndarray]:
    for detail, feed in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(detail["index"], feed)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


@pytest.mark.parametrize("name", names(WHOLE))
def test_model_runs_wholly_on_gpu_and_is_right(quadra, model_path, name):
    path = model_path(name)
    interpreter, feeds = random_feeds(reference_model.for_cpu(path)[0])
    outcome = quadra.run(path.read_bytes(), feeds, timeout_s=600, **options())
    outcome.check(on_cpu(interpreter, feeds), tolerance=1e-4)
    assert len(outcome.report["partitions"]) == 1


@pytest.mark.parametrize("name", names(RUNNABLE_ON_CPU))
def test_other_model_runs_partly_and_is_right(quadra, model_path, name):
    """Quantized ones differ by a few steps even between TFLite's own kernels."""
    path = model_path(name)
    interpreter, feeds = random_feeds(reference_model.for_cpu(path)[0])
    outcome = quadra.run(path.read_bytes(), feeds, timeout_s=600, resolver="BUILTIN_WITHOUT_DEFAULT_DELEGATES",
                         **options())
    expected = on_cpu(interpreter, feeds)
    quantized = any(output.dtype != np.float32 for output in expected) or name.endswith(("ptq", "quant", "dynamic"))
    outcome.check(expected, tolerance=0.05 if quantized else 1e-4, everything_on_gpu=False)
    assert all(node["reason"] for node in outcome.nodes if node["on"] == "cpu")


@pytest.mark.parametrize("case", transpose_conv_bias.CASES, ids=lambda case: case.id)
def test_model_rewritten_for_cpu_means_the_same(tmp_path, case):
    """The toolkit's rewrite of Convolution2DTransposeBias agrees with the numpy reference of the custom op."""
    path = tmp_path / "model.tflite"
    path.write_bytes(case.model())
    interpreter = Interpreter(model_content=reference_model.for_cpu(path)[0],
                              experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    assert not mismatch(on_cpu(interpreter, case.feeds())[0], case.expected()[0], 1e-5)


def test_every_model_of_the_catalogue_is_tried():
    tried = {*WHOLE, *PARTLY}
    assert {name.removeprefix("mediapipe/") for name in models.catalogue()} - tried == {"hand_landmark_lite"}
