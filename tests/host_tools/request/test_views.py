"""Outputs become masks, classes, boxes and points that mean what the model meant."""

import dataclasses

import numpy as np
import pytest
from PIL import Image

from host_tools.base import units
from host_tools.record import schema, verdicts
from host_tools.request import models, views
from host_tools.show import pictures
from tests import more_models
from tests.host_tools import run_folders


def test_the_view_of_a_model_knows_both_its_names():
    assert views.of_model("mediapipe/face_detection_short_range") == views.of_model("face_detection_short_range")
    assert views.of_model("selfie_segmentation").value_range == (0.0, 1.0)


def test_a_renamed_file_of_a_catalogue_model_keeps_its_view():
    digest = models.catalogue()["selfie_segmentation"].sha256
    assert views.of_model("mine", digest) == views.of_model("selfie_segmentation") != views.of_model("mine", "0" * 64)
    assert views.of_model("face_landmark", digest) == views.of_model("face_landmark")  # what its name says goes first


def test_every_view_belongs_to_a_model_that_is_known():
    names = {name.rsplit("/", 1)[-1] for name in (*models.catalogue(), *more_models.known())}
    assert set(views._table()["models"]) <= names


@pytest.mark.parametrize("count", sorted(views._ANCHOR_GRIDS))
def test_anchors_are_as_many_as_the_detectors_outputs(count):
    anchors = views._anchors(count)
    assert anchors.shape == (count, 2) and anchors.min() > 0 and anchors.max() < 1


def test_a_planted_face_is_decoded_where_it_was_put():
    boxes, scores = np.zeros((1, 896, 16), np.float32), np.full((1, 896, 1), -20, np.float32)
    anchor = views._anchors(896)[300]
    boxes[0, 300, :6] = [12.8, -6.4, 64, 32, 12.8, 0]  # in pixels of 128, from the anchor
    scores[0, 300] = 4.0
    boxes[0, 301], scores[0, 301] = boxes[0, 300], 3.0  # the same anchor's second box: overlaps, dropped
    (found,) = views.detections([boxes, scores], 128)
    assert found.score == pytest.approx(1 / (1 + np.exp(-4)))
    assert (found.left + found.right) / 2 == pytest.approx(anchor[0] + 0.1)
    assert (found.top + found.bottom) / 2 == pytest.approx(anchor[1] - 0.05)
    assert (found.right - found.left, found.bottom - found.top) == pytest.approx((0.5, 0.25))
    assert found.points[0] == pytest.approx((anchor[0] + 0.1, anchor[1]))


@pytest.mark.parametrize(
    ("name", "shapes", "kind"),
    [
        ("selfie_segmentation", [(1, 256, 256, 1)], "mask"),
        ("unknown", [(1, 33, 33, 1)], "mask"),
        ("unknown", [(1, 33, 33, 21)], "classes"),
        ("unknown", [(1, 896, 16), (1, 896, 1)], "boxes"),
        ("unknown", [(1, 1001)], "scores"),
        ("unknown", [(1, 1)], ""),
        ("unknown", [(1, 7, 7, 512)], ""),
        ("selfie_segmentation", [(1, 3)], ""),  # a file of that name with other outputs
        ("face_landmark", [(1, 1, 1, 1404), (1, 1, 1, 1)], "points"),
        ("pose_landmark_full", [(1, 195), (1, 1), (1, 256, 256, 1)], "points"),
    ],
)
def test_the_kind_follows_the_model_if_its_outputs_fit(name, shapes, kind):
    outputs = [np.zeros(shape, np.float32) for shape in shapes]
    assert views.kind_of(views.of_model(name), outputs) == kind


@pytest.mark.parametrize(
    "outputs",
    [
        [np.full((1, 16, 16, 1), np.nan, np.float32)],
        [np.full((1, 16, 16, 5), -np.inf, np.float32)],
        [np.full((1, 896, 16), np.inf, np.float32), np.full((1, 896, 1), np.inf, np.float32)],
        [np.full((1, 896, 16), 3e38, np.float32), np.full((1, 896, 1), 9, np.float32)],
        [np.full((1, 20, 20), -7, np.int64)],
        [np.full((1, 10), np.nan, np.float32)],
    ],
)
def test_wrong_numbers_can_be_drawn_too(outputs):
    base = Image.new("RGB", (50, 40), (1, 2, 3))
    scene = pictures.scene(views.View(), base, (1, 128, 128, 3), outputs, outputs)
    assert scene.pictures


def test_class_shares_name_the_classes():
    plane = np.array([[0, 3], [3, 3]])
    assert views.class_shares(views.of_model("deeplabv3_257_mv_gpu"), plane) == [
        (3, "bird", 0.75),
        (0, "background", 0.25),
    ]


def test_verdicts_group_nodes_with_the_same_reason():
    found = verdicts.read(schema.of(schema.Verdicts, run_folders.REPORT))
    assert found.sentence() == "2 of 3 nodes on the GPU, in one partition; 1 on the CPU"
    assert [(row.op, row.on, row.nodes) for row in found.rows] == [
        ("ARG_MAX", "cpu", (2,)),
        ("CONV_2D", "gpu", (0,)),
        ("RELU", "gpu", (1,)),
    ]


def test_reasons_that_differ_only_in_names_count_as_one():
    nodes = [
        {
            "index": i,
            "op": "DEQUANTIZE",
            "name": "",
            "on": "cpu",
            "partition": -1,
            "reason": f"node {i} (CONV_2D) reads 'w{i}' on the CPU",
        }
        for i in range(3)
    ]
    found = verdicts.read(schema.of(schema.Verdicts, {"nodes": nodes, "partitions": []}))
    assert [(row.count, row.reason) for row in found.rows] == [(3, "node 0 (CONV_2D) reads 'w0' on the CPU")]
    assert found.sentence() == "all 3 nodes stay on the CPU"


@pytest.mark.parametrize(
    ("on", "partitions", "sentence"),
    [
        ([], 0, "it has no nodes"),
        (["cpu"], 0, "its only node stays on the CPU"),
        (["gpu"], 1, "its only node on the GPU, in one partition"),
        (["gpu", "gpu"], 2, "all 2 nodes on the GPU, in 2 partitions"),
        (["cpu", "cpu"], 0, "all 2 nodes stay on the CPU"),
        (["gpu", "cpu"], 1, "1 of 2 nodes on the GPU, in one partition; 1 on the CPU"),
    ],
)
def test_how_many_nodes_are_where_is_a_sentence(on, partitions, sentence):
    found = verdicts.read(schema.of(schema.Verdicts, run_folders.REPORT))
    found = dataclasses.replace(found, gpu=on.count("gpu"), cpu=on.count("cpu"), partitions=partitions)
    assert found.sentence() == sentence


def test_things_are_counted():
    words = [units.counted(n, what) for n, what in ((0, "node"), (1, "dispatch"), (2, "dispatch"), (2, "process"))]
    assert words == ["0 nodes", "1 dispatch", "2 dispatches", "2 processes"]
