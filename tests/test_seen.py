"""What a person sees of quantised models, and of a detector, on pictures: the class map, points and boxes are the CPU's.

Numbers of a quantised model may be a step off, and where two classes, or two places, are about as likely, a step decides. So
what is compared is what stays: which pixels, points and boxes."""

from __future__ import annotations

import numpy as np
import pytest

from host_tools.record.run_folder import RunFolder, find
from host_tools.request import views
from host_tools.tasks import command_line
from tests.runs import BACKENDS

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("backend", BACKENDS)]


@pytest.fixture
def seen(backend, tmp_path, monkeypatch, library, model_path):
    """seen(model, picture): what Quadra and the CPU made of a picture that lies beside the models."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path))

    def run(model: str, picture: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
        path = model_path(model)
        image = path.with_name(picture)
        if not image.exists():
            pytest.skip(f"{picture} does not lie beside {path}")
        words = [str(path), f"--image={image}", f"--backend={backend}", f"--library={library}", "--runs=1"]
        assert command_line.main(["run", *words]) == 0, "judged wrong"
        folder: RunFolder = find("latest", tmp_path)
        return folder.arrays("outputs"), folder.arrays("cpu_outputs")

    return run


def test_the_classes_of_a_segmentation_are_the_cpus(seen):
    ours, theirs = (
        views.classes(outputs) for outputs in seen("deeplabv3_mnv2_dm05_pascal_quant", "bird_segmentation.bmp")
    )
    assert (ours == theirs).mean() > 0.98
    assert ((ours > 0) == (theirs > 0)).mean() > 0.995  # the bird's outline
    bird = 3
    assert np.bincount(ours.ravel()).argsort()[-2] == np.bincount(theirs.ravel()).argsort()[-2] == bird


def test_the_points_of_a_pose_are_the_cpus(seen):
    ours, theirs = (
        outputs[0].reshape(17, 3) for outputs in seen("movenet_single_pose_lightning_ptq", "grace_hopper.bmp")
    )
    sure = theirs[:, 2] > 0.45  # those that are in the picture
    assert sure.sum() >= 5
    assert np.abs(ours - theirs)[sure, :2].max() < 0.03  # of the picture


def test_the_box_of_a_face_is_the_cpus(seen):
    ours, theirs = (views.detections(outputs, 128) for outputs in seen("face_detection_front", "grace_hopper.bmp"))
    assert len(ours) == len(theirs) == 1
    for side in ("score", "left", "top", "right", "bottom"):
        assert getattr(ours[0], side) == pytest.approx(getattr(theirs[0], side), abs=1e-4)
    assert np.allclose(ours[0].points, theirs[0].points, atol=1e-4)
