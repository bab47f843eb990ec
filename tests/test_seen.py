"""What a person sees of quantised models, and of detectors, on pictures: the class map, points and boxes are the CPU's.

Numbers of a quantised model may be a step off, and where two classes, or two places, are about as likely, a step decides. So
what is compared is what stays: which pixels, points and boxes."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from host_tools.record.run_folder import RunFolder, find
from host_tools.request import views
from host_tools.tasks import command_line
from tests import quantize
from tests.runs import BACKENDS

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("backend", BACKENDS)]


@pytest.fixture
def seen(backend, tmp_path, monkeypatch, library, model_path):
    """seen(model, picture): what Quadra and the CPU made of a picture that lies beside the models, as floats where it
    has a scale. changed(content, image): another model in the place of that one."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path))

    def run(model: str, picture: str, changed=None) -> tuple[list[np.ndarray], list[np.ndarray]]:
        path = model_path(model)
        image = path.with_name(picture)
        if not image.exists():
            pytest.skip(f"{picture} does not lie beside {path}")
        if changed:
            (tmp_path / path.name).write_bytes(changed(path.read_bytes(), image))
            path = tmp_path / path.name
        words = [str(path), f"--image={image}", f"--backend={backend}", f"--library={library}", "--runs=1"]
        assert command_line.main(["run", *words]) == 0, "judged wrong"
        folder: RunFolder = find("latest", tmp_path)
        rows = folder.tensors("outputs")
        return tuple(
            [
                (a.astype(np.float32) - t.zero_point) * t.scale if t.scale else a
                for t, a in zip(rows, folder.arrays(group))
            ]
            for group in ("outputs", "cpu_outputs")
        )

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


def test_the_box_of_a_quantised_detector_is_the_cpus(seen):
    """The same detector, of int8: a step of its boxes is a pixel or two of 128."""

    def to_int8(raw: bytes, image) -> bytes:
        with Image.open(image) as picture:
            pixels = np.asarray(picture.convert("RGB").resize((128, 128)), np.float32)[None]
        floats = pixels / np.float32(127.5) - 1
        return quantize.to_int8(raw, [floats, floats[:, :, ::-1].copy()])

    outputs = seen("face_detection_front", "grace_hopper.bmp", to_int8)
    (ours,), (theirs,) = (views.detections(side, 128) for side in outputs)
    for side in ("left", "top", "right", "bottom"):
        assert getattr(ours, side) == pytest.approx(getattr(theirs, side), abs=0.02)
    assert ours.score == pytest.approx(theirs.score, abs=0.1)
    assert np.allclose(ours.points, theirs.points, atol=0.03)
