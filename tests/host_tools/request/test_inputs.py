"""Input values: the same for the same seed, in their range, and pictures scaled as asked."""

import numpy as np
import pytest
from PIL import Image

from host_tools.base.errors import Misuse
from host_tools.record import schema
from host_tools.record.spec import InputSpec
from host_tools.request import inputs
from host_tools.request.inputs import InputTensor

PICTURE_INPUT = InputTensor("image", np.dtype("float32"), (1, 4, 6, 3))


def picture(tmp_path, colour, size=(60, 40), mode="RGB"):
    path = tmp_path / "picture.png"
    Image.new(mode, size, colour).save(path)
    return path


def of_picture(path, tensor, value_range=(0.0, 1.0)):
    return inputs.make(InputSpec("picture", 1, value_range, str(path), ""), [tensor])[0]


def test_a_seed_gives_the_same_values_and_another_gives_others():
    first, again, other = (inputs.make(InputSpec(seed=s), [PICTURE_INPUT])[0] for s in (7, 7, 8))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


@pytest.mark.parametrize("value_range", [(-1.0, 1.0), (0.0, 1.0), (10.0, 12.0)])
def test_random_floats_fill_their_range(value_range):
    low, high = value_range
    values = inputs.make(InputSpec(value_range=value_range), [InputTensor("x", np.dtype("float32"), (1, 50, 50, 3))])[0]
    assert low <= values.min() < low + 0.1 * (high - low) and high - 0.1 * (high - low) < values.max() <= high


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("uint8", 0, 255), ("int8", -128, 127), ("int32", 0, 4), ("int64", 0, 4)]
)
def test_random_integers_have_the_types_range(dtype, low, high):
    values = inputs.make(InputSpec(), [InputTensor("x", np.dtype(dtype), (5000,))])[0]
    assert values.dtype == dtype and values.min() == low and values.max() == high


def test_quantised_inputs_of_16_bits_take_their_whole_range_and_pictures_by_their_scale(tmp_path):
    tensor = InputTensor("x", np.dtype("int16"), (1, 40, 60, 3), 1 / 32768)
    values = inputs.make(InputSpec(), [tensor])[0]
    assert values.dtype == np.int16 and values.min() < -32000 and values.max() > 32000
    made = of_picture(picture(tmp_path, (255, 0, 51)), tensor, (-1.0, 1.0))
    assert made.dtype == np.int16 and made[0, 0, 0].tolist() == [32767, -32768, -19661]


def test_a_picture_is_scaled_to_the_range(tmp_path):
    path = picture(tmp_path, (255, 0, 51))
    values = of_picture(path, PICTURE_INPUT, (-1.0, 1.0))
    assert values.shape == (1, 4, 6, 3) and values.dtype == np.float32
    np.testing.assert_allclose(values[0, 2, 3], [1.0, -1.0, -0.6], atol=1e-6)


def test_width_and_height_are_not_swapped(tmp_path):
    path = tmp_path / "halves.png"
    halves = np.zeros((40, 60, 3), np.uint8)
    halves[:, 30:] = 255  # the right half is white
    Image.fromarray(halves).save(path)
    values = of_picture(path, PICTURE_INPUT)
    assert values[0, :, 0].max() < 0.1 and values[0, :, 5].min() > 0.9


@pytest.mark.parametrize(("dtype", "expected"), [("uint8", [255, 0, 51]), ("int8", [127, -128, -77])])
def test_quantised_inputs_get_the_bytes(tmp_path, dtype, expected):
    tensor = InputTensor("image", np.dtype(dtype), (1, 4, 6, 3), 1 / 255, 0)
    assert of_picture(picture(tmp_path, (255, 0, 51)), tensor)[0, 0, 0].tolist() == expected


def test_batches_repeat_the_picture_and_grey_models_get_grey(tmp_path):
    path = picture(tmp_path, (100, 100, 100))
    batch = of_picture(path, InputTensor("image", np.dtype("float32"), (2, 4, 6, 3)))
    assert np.array_equal(batch[0], batch[1])
    grey = of_picture(path, InputTensor("image", np.dtype("float32"), (1, 4, 6, 1)))
    assert grey.shape == (1, 4, 6, 1) and grey[0, 0, 0, 0] == pytest.approx(100 / 255)


def test_transparent_and_palette_pictures_are_read(tmp_path):
    for mode, colour in (("RGBA", (255, 0, 0, 10)), ("P", 0), ("L", 3), ("CMYK", (0, 0, 0, 0))):
        path = tmp_path / f"{mode}.{'tiff' if mode == 'CMYK' else 'png'}"
        Image.new(mode, (9, 9), colour).save(path)
        assert np.isfinite(of_picture(path, PICTURE_INPUT)).all()


@pytest.mark.parametrize("content", [None, b"", b"no picture", b"\x89PNG\r\n\x1a\n" + b"\0" * 40])
def test_a_file_that_is_no_picture_is_a_sentence(tmp_path, content):
    path = tmp_path / "picture.png"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Misuse, match="open the picture"):
        of_picture(path, PICTURE_INPUT)


@pytest.mark.parametrize("shape", [(1, 10), (1, 4, 6, 2), (4, 6, 3)])
def test_a_model_without_a_picture_input_says_its_inputs(tmp_path, shape):
    with pytest.raises(Misuse, match="omit --image") as caught:
        of_picture(picture(tmp_path, (0, 0, 0)), InputTensor("odd", np.dtype("float32"), shape))
    assert f"odd {list(shape)}" in str(caught.value)


@pytest.mark.parametrize(("dtype", "shape"), [("float32", (1, 0, 3)), ("complex64", (1, 2)), ("U4", (1,))])
def test_values_that_cannot_be_made_are_a_sentence(dtype, shape):
    with pytest.raises(Misuse, match="make values for the input x"):
        inputs.make(InputSpec(), [InputTensor("x", np.dtype(dtype), shape)])


@pytest.mark.parametrize("text", ["", "1", "a,b", "0,1,2"])
def test_a_wrong_range_is_misuse(text):
    with pytest.raises(Misuse, match="--range"):
        inputs.parse_range(text)


def test_inputs_may_be_arrays_of_files(tmp_path):
    tensor = InputTensor("x", np.dtype(np.float32), (1, 2))
    array = np.array([[1.5, np.inf]], np.float32)
    np.save(tmp_path / "000.npy", array)
    spec = InputSpec("arrays", arrays=str(tmp_path))
    assert np.array_equal(inputs.make(spec, [tensor])[0], array)
    assert inputs.describe(spec) == f"arrays of {tmp_path.name}"
    with pytest.raises(Misuse, match="there is no 001.npy"):
        inputs.make(spec, [tensor, tensor])
    with pytest.raises(Misuse, match=r"it is float32 \[1, 2\], the input x float32 \[2, 1\]"):
        inputs.make(spec, [InputTensor("x", np.dtype(np.float32), (2, 1))])


@pytest.mark.parametrize(
    ("dtype", "picture", "random"),
    [
        ("float32", "scaled to -1..1", "-1..1"),
        ("uint8", "its bytes as they are", "0..255 (uint8)"),
        ("int8", "its bytes less 128", "-128..127 (int8)"),
        ("bool", "", "false and true"),
        ("int64", "", "0..4 (int64)"),
    ],
)
def test_what_inputs_are_given_is_told_by_their_types(dtype, picture, random):
    shape = [1, 8, 8, 3]
    given = [schema.Tensor(name="x", dtype=dtype, shape=shape)]
    asked = InputSpec("random", seed=3)
    assert inputs.describe(asked, given) == f"random values {random}, seed 3"
    made = inputs.make(asked, [inputs.InputTensor("x", np.dtype(dtype), tuple(shape))])[0].astype(float)
    if ".." in random:
        low, high = (float(end) for end in random.partition(" ")[0].split(".."))
        assert low <= made.min() < made.max() <= high and made.max() - made.min() > 0.8 * (high - low)
    if picture:
        shown = InputSpec("picture", picture="/x/cat.png")
        assert inputs.describe(shown, given) == f"picture cat.png, {picture}"
    assert inputs.describe(asked) == "random values -1..1, seed 3", "before it ran"


def test_each_type_is_told_once():
    given = [schema.Tensor(name="x", dtype=dtype, shape=[1]) for dtype in ("float32", "int32", "float32")]
    assert inputs.describe(InputSpec("random", seed=1), given) == "random values -1..1, 0..4 (int32), seed 1"
    given = [schema.Tensor(name="x", dtype="int16", shape=[1], scale=0.5)]
    assert inputs.describe(InputSpec("random", seed=1), given) == "random values -32768..32767 (int16), seed 1"
