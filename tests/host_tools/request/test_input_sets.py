"""Many inputs: which files of a folder are one, and in which order."""

import numpy as np
import pytest
from PIL import Image

from host_tools.base.errors import Misuse
from host_tools.request import as_command, from_arguments, input_sets, inputs
from tests.model_builder import Model


@pytest.fixture
def model(tmp_path):
    m = Model()
    m.output(m.unary("RELU", m.input((1, 2, 2, 3), name="x")))
    path = tmp_path / "relu.tflite"
    path.write_bytes(m.bytes())
    return str(path)


def test_folders_and_npz_files_are_inputs(model, tmp_path):
    many, a, b = tmp_path / "many", np.ones((1, 2, 2, 3), np.float32), np.zeros((1, 2, 2, 3), np.float32)
    (many / "b").mkdir(parents=True)
    np.save(many / "b" / "x.npy", b)
    np.savez_compressed(many / "a.npz", a)
    np.savez(many / "c.npz", x=b)
    (many / "notes.txt").write_text("no input")
    spec = from_arguments.make_spec(model, arrays=str(many))
    found = input_sets.of(spec)
    assert [one.label for one in found] == ["a", "b", "c"] and found[0] == spec.inputs
    tensors = inputs.of_model((tmp_path / "relu.tflite").read_bytes())
    assert [float(inputs.make(one, tensors)[0].sum()) for one in found] == [12, 0, 0]
    assert f"--inputs={many}" in as_command.run(spec)
    alone = from_arguments.make_spec(model, arrays=str(many / "c.npz"))
    assert not alone.input_set and inputs.make(alone.inputs, tensors)[0].sum() == 0


def test_pictures_are_inputs(model, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in ("2.png", "1.jpg"):
        Image.new("RGB", (4, 4), (255, 0, 0)).save(folder / name)
    spec = from_arguments.make_spec(model, image=str(folder))
    assert [one.label for one in input_sets.of(spec)] == ["1.jpg", "2.png"] and spec.inputs.kind == "picture"
    assert len({one.picture_sha256 for one in input_sets.of(spec)}) == 2
    assert f"--image={folder}" in as_command.run(spec)


@pytest.mark.parametrize("content", [b"", b"PK\3\4 no archive", b"\x93NUMPY"])
def test_a_damaged_npz_is_told(model, tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    spec = from_arguments.make_spec(model, arrays=str(tmp_path / "x.npz"))
    with pytest.raises(Misuse, match="damaged"):
        inputs.make(spec.inputs, inputs.of_model((tmp_path / "relu.tflite").read_bytes()))


def test_objects_in_an_npz_are_not_made(model, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.array([{}], object))
    spec = from_arguments.make_spec(model, arrays=str(tmp_path / "x.npz"))
    with pytest.raises(Misuse, match="its type is object"):
        inputs.make(spec.inputs, inputs.of_model((tmp_path / "relu.tflite").read_bytes()))


def test_tolerances_are_of_outputs_of_the_model(model):
    (entry,) = from_arguments.entries(model, "", [], ["0.1,0.2"])
    spec = from_arguments.make_spec(**entry, metrics=["top1=0.9"])
    assert spec.tolerances == {"": (0.1, 0.2)} and spec.metrics == ("top1=0.9",)
    assert "--tolerance=0.1" in as_command.run(spec).replace("0.10000000000000001", "0.1")
    for wrong, reason in (("nothing=1,1", "no model has such an output"), ("x=1", "is not NAME=ABS,REL")):
        with pytest.raises(Misuse, match=reason):
            from_arguments.entries(model, "", [], [wrong])
    with pytest.raises(Misuse, match="not a number from 0"):
        from_arguments.make_spec(model, tolerances=["-1,0"])
    with pytest.raises(Misuse, match="both given"):
        from_arguments.make_spec(model, tolerances=["1,0"], max_error=0.5)
