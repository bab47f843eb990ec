"""TFLite_Detection_PostProcess of a quantised detector: numbers, places and anchors of uint8, as SSD MobileNet's files have."""

import numpy as np
import pytest
from flatbuffers import flexbuffers

from tests import cpu
from tests.delegate import options
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.vectors.case import generator

COUNT, CLASSES, MOST = 120, 4, 10


@pytest.fixture(scope="module")
def detector() -> bytes:
    m = Model()
    numbers = generator("detector")
    boxes = m.input((1, COUNT, 4), "uint8", scale=0.05, zero_point=128)
    scores = m.input((1, COUNT, CLASSES + 1), "uint8", scale=1 / 256, zero_point=0)
    anchors = m.const(numbers.integers(20, 255, (COUNT, 4)).astype(np.uint8), scale=0.004, zero_point=3)
    given = {
        "max_detections": MOST, "max_classes_per_detection": 1, "nms_score_threshold": 1e-8, "nms_iou_threshold": 0.6,
        "num_classes": CLASSES, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
    }  # fmt: skip
    shapes = [(1, MOST, 4), (1, MOST), (1, MOST), (1,)]
    m.output(
        *m.op(
            "TFLite_Detection_PostProcess",
            [boxes, scores, anchors],
            shapes,
            custom_options=bytes(flexbuffers.Dumps(given)),
        )
    )
    return m.bytes()


@pytest.mark.parametrize("backend", BACKENDS)
def test_boxes_of_uint8_are_the_cpus(quadra, detector, backend):
    numbers = generator("detector/inputs")
    feeds = [numbers.integers(0, 256, shape).astype(np.uint8) for shape in ((1, COUNT, 4), (1, COUNT, CLASSES + 1))]
    expected = cpu.run(detector, feeds)
    outcome = quadra.run(detector, feeds, **options("", backend))
    outcome.check(expected, 1e-5)
    assert expected[3][0] == MOST and len(set(expected[2].ravel())) > 1
