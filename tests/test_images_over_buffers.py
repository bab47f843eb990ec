"""Images of any size lie in one arena with the buffers, by their lifetimes, where a driver makes images over buffers. PoCL
makes none: tests/driver_faults.cc does it for PoCL, over the memory that its buffers have. The row rusticl-26 of the table of
drivers makes them itself."""

from __future__ import annotations

import json

import numpy as np
import pytest

from host_tools.record import checked_plan, plan_view
from host_tools.request import models, phone
from tests import cpu
from tests.delegate import TARGETS, TOLERANCE, options
from tests.faults import opencl  # noqa: F401 (a fixture, which skips where there is no driver)
from tests.model_builder import Model

PIXELS = 8  # of the driver; a target may ask for more
SHAPE = (1, 20, 61, 12)
FEED = np.random.default_rng(5).normal(size=SHAPE).astype(np.float32)
MODELS = [
    "deeplabv3_257_mv_gpu",
    "tf2_mobilenet_v2_1.0_224_ptq",
    "pose_detection",
    "selfie_segmentation",
    "face_detection_full_range_sparse",
]
PHONES = ["adreno-630", "adreno-740", "mali-g76", "mali-g610"]


def model() -> bytes:
    """Images of many sizes; some live over others."""
    rng = np.random.default_rng(6)
    m = Model()
    x = m.input(SHAPE)
    kept = []
    for channels, stride in ((24, 1), (40, 1), (8, 1), (16, 2)):
        weights = rng.normal(size=(channels, 3, 3, x.shape[-1])).astype(np.float32) * 0.1
        x = m.conv2d(x, weights, np.zeros(channels, np.float32), stride=(stride, stride), activation="RELU")
        kept.append(x)
    y = m.concatenation(kept[0], m.resize_bilinear(kept[3], SHAPE[1:3]))
    m.output(m.softmax(y), m.unary("TANH", kept[2]))
    return m.bytes()


@pytest.fixture(scope="module")
def expected():
    return cpu.run(model(), [FEED])


@pytest.fixture
def run(quadra, opencl, tmp_path):
    """run(images, **options): the model on a phone's target, on a driver that makes such images."""

    def run(images: str = str(PIXELS), device: str = "", **more: str):
        env = {"DRIVER_FAULTS_GPU": "1", "DRIVER_FAULTS_IMAGES": images}
        env |= {"DRIVER_FAULTS_NAME": device} if device else {}
        given = {"opencl_library": str(opencl), "dump_dir": str(tmp_path / "dump"), **more}
        return quadra.run(model(), [FEED], [FEED], env=env, counter=opencl, **(options("adreno-640") | given))

    return run


def plan_of(folder) -> checked_plan.Plan:
    [path] = folder.glob("*/plan.quadra")
    return checked_plan.checked(plan_view.read(path), str(path))


def partition(outcome):
    [found] = outcome.report["partitions"]
    return found


def places(plan: checked_plan.Plan) -> list[tuple[int, int, int, checked_plan.Tensor]]:
    """Of each activation the buffer whose memory it has, and where there it begins and ends."""
    found = []
    for tensor in plan.activations():
        held = plan.buffers[tensor.buffer]
        if held.lies_in:
            end = held.offset + held.row_bytes * held.height
            found.append((held.lies_in - 1, held.offset, end, tensor))
        else:
            found.append((tensor.buffer, tensor.offset, tensor.offset + tensor.bytes, tensor))
    return found


def assert_apart(plan: checked_plan.Plan) -> None:
    """No two tensors that live at the same time have the same memory."""
    placed = places(plan)
    for i, (buffer, begin, end, one) in enumerate(placed):
        for other_buffer, other_begin, other_end, other in placed[:i]:
            meet = one.first_use <= other.last_use and other.first_use <= one.last_use
            overlap = buffer == other_buffer and begin < other_end and other_begin < end
            assert not (meet and overlap), (one, other)


def images(plan: checked_plan.Plan) -> list[checked_plan.Buffer]:
    return [buffer for buffer in plan.buffers if buffer.kind == "Image"]


@pytest.mark.parametrize("precision", ["f32", "f32_f16", "f16"])
def test_images_lie_in_the_arena(run, expected, tmp_path, precision):
    outcome = run(precision=precision)
    outcome.check(expected, TOLERANCE[precision])
    assert outcome.outputs[0][0].tobytes() == outcome.outputs[1][0].tobytes()
    plan = plan_of(tmp_path / "dump")
    assert len(images(plan)) > 5 and all(image.lies_in for image in images(plan))
    pixel = 16 if precision == "f32" else 8
    for image in images(
        plan
    ):  # the target asks for rows of 64 bytes, and where they begin for more than the driver does
        assert image.row_bytes % (PIXELS * 16) == 0 and image.offset % (64 * pixel) == 0
        assert image.row_bytes < image.width * pixel + PIXELS * 16
    assert_apart(plan)
    assert plan.activation_bytes <= 1.1 * plan.activation_bytes_lower_bound
    assert outcome.driver["images_in_parts"] > 0 and partition(outcome)["notes"] == []


def test_parts_are_released_after_what_lies_in_them(run):
    outcome = run()
    assert outcome.driver["live"]["clMemObject"] == 0
    assert outcome.driver["inner_parts"] >= 0 and outcome.driver["images_in_parts"] > 0
    assert outcome.driver["early_parts"] == 0


def test_kernels_are_those_of_images_with_memory_of_their_own(run, tmp_path):
    texts = []
    for said in ("0", str(PIXELS)):
        run(said, dump_dir=str(tmp_path / said))
        plan = plan_of(tmp_path / said)
        texts.append([(program.prelude, [kernel.source for kernel in program.kernels]) for program in plan.programs])
        assert any(image.lies_in for image in images(plan)) == (said != "0")
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("refused", "where"),
    [
        ("parts", ["rows of images are longer", "images lie over whole buffers"]),
        ("all", ["rows of images are longer", "images lie over whole buffers", "images have memory of their own"]),
    ],
)
def test_what_a_driver_refuses_lies_elsewhere(run, expected, tmp_path, refused, where):
    outcome = run(f"{PIXELS} {refused}")
    outcome.check(expected)
    notes = partition(outcome)["notes"]
    assert [note.rpartition("; ")[2] for note in notes] == where, notes
    assert all("make an image of" in note and "CL_INVALID_OPERATION" in note for note in notes), notes
    plan = plan_of(tmp_path / "dump")
    assert all(bool(image.lies_in) == (refused == "parts") and image.offset == 0 for image in images(plan))
    assert_apart(plan)
    assert outcome.driver["live"]["clMemObject"] == 0


def test_an_adreno_that_tells_rows_in_pixels_after_all_gets_longer_ones(run, expected, tmp_path):
    outcome = run("64", device="QUALCOMM Adreno(TM) 999", target="")
    outcome.check(expected)
    [note] = partition(outcome)["notes"]
    assert note.endswith("; rows of images are longer") and "CL_INVALID_IMAGE_DESCRIPTOR" in note
    found = images(plan_of(tmp_path / "dump"))
    assert found and all(image.lies_in and image.row_bytes % (64 * 16) == 0 for image in found)


def test_a_start_from_the_cache_has_the_same_images(run, expected, tmp_path):
    for said in (str(PIXELS), f"{PIXELS} all"):
        kept = str(tmp_path / said.replace(" ", "_"))
        first, second = (run(said, serialization_dir=kept) for _ in range(2))
        for outcome in (first, second):
            outcome.check(expected)
        assert partition(second)["cache"] == "hit", partition(second)["cache"]
        assert partition(first)["activation_bytes"] == partition(second)["activation_bytes"]
        assert (second.driver["images_in_parts"] > 0) == (said == str(PIXELS))


@pytest.mark.parametrize("how", [{"self_check": "1"}, {"dump_tensors": "1"}, {"profile": "1"}])
def test_images_over_buffers_serve_all_that_looks_at_a_plan(run, expected, how):
    outcome = run(**how)
    outcome.check(expected)
    assert outcome.driver["images_in_parts"] > 0 and outcome.driver["live"]["clMemObject"] == 0


def test_images_are_left_alone_where_longer_rows_take_more_than_is_gained(run, expected, tmp_path):
    target = json.loads((TARGETS / "adreno-640.json").read_text())
    found = []
    for pixels in (64, 4096):
        path = tmp_path / f"{pixels}.json"
        path.write_text(json.dumps({**target, "image_pitch_alignment": pixels}))
        outcome = run(target=str(path))
        outcome.check(expected)
        plan = plan_of(tmp_path / "dump")
        found.append(plan.activation_bytes)
        assert {bool(image.lies_in) for image in images(plan)} == {pixels == 64}
    assert found[0] < found[1]


def memory(quadra, tmp_path, phones_name: str, name: str, precision: str, **decisions) -> checked_plan.Plan:
    """The plan that a phone gets."""
    target = tmp_path / "target.json"
    target.write_text(json.dumps(phone.read(phones_name).target() | decisions))
    folder = tmp_path / f"{phones_name}-{name}-{precision}-{len(decisions)}"
    raw = models.find(name).path.read_bytes()
    outcome = quadra.run(raw, backend="null", precision=precision, dump_dir=str(folder), target=str(target))
    assert not outcome.error, outcome.error
    return plan_of(folder)


@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("phones_name", PHONES)
def test_the_memory_of_a_phone(quadra, tmp_path, phones_name, name, precision):
    if not models.is_here(name):
        pytest.skip(f"{name} is not here")
    plan = memory(quadra, tmp_path, phones_name, name, precision)
    own = memory(quadra, tmp_path, phones_name, name, precision, image_memory="own")
    assert_apart(plan)
    in_parts = phones_name != "mali-g76"
    assert any(image.offset for image in images(plan)) == in_parts
    assert plan.activation_bytes < 0.7 * own.activation_bytes
    assert plan.activation_bytes <= (1.1 if in_parts else 1.6) * plan.activation_bytes_lower_bound
