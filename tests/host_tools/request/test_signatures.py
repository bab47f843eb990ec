"""Where a run enters a model: its signatures, their inputs in a run's order, and the graphs that they reach."""

import re

import numpy as np
import pytest

from host_tools.base.errors import Misuse
from host_tools.record import spec as specs
from host_tools.request import from_arguments, inputs, model_tree, models, signatures
from tests.model_builder import Model, one_convolution
from tests.signature_models import KEYS, OFFSET, PICTURE, two_signatures, with_signatures
from tests.test_subgraphs import SHAPE, loop, model_of_signatures, small_turn


def test_a_signatures_inputs_are_sorted_by_name_and_the_main_graphs_as_in_the_file():
    content = two_signatures()
    decode = signatures.entry(content, "decode")
    assert (decode.subgraph, [name for name, _ in decode.inputs]) == (1, ["offset", "picture"])
    assert [t.shape for t in inputs.of_model(content, "decode")] == [OFFSET, PICTURE]
    assert [t.name for t in inputs.of_model(content)] == ["picture_1", "offset_1"]


def test_several_signatures_are_run_one_after_the_other_and_one_is_the_main_graph(tmp_path):
    assert signatures.to_run(two_signatures()) == list(KEYS)
    assert signatures.to_run(one_convolution()) == [""]
    path = tmp_path / "two.tflite"
    path.write_bytes(two_signatures())
    assert from_arguments.each_signature(str(path)) == [f"{path}:encode", f"{path}:decode"]
    assert from_arguments.each_signature(f"{path}:decode") == from_arguments.each_signature(str(path), "decode")


def test_a_file_whose_name_has_a_colon_is_a_file(tmp_path):
    path = tmp_path / "odd:name"
    path.write_bytes(one_convolution())
    assert from_arguments.split(str(path)) == (str(path), "")
    assert from_arguments.make_spec(str(path)).signature == ""


def test_a_signature_that_the_model_lacks_is_misuse_that_names_those_it_has(tmp_path):
    path = tmp_path / "two.tflite"
    path.write_bytes(two_signatures())
    with pytest.raises(Misuse, match="encode, decode"):
        from_arguments.make_spec(str(path), signature="prefill")
    with pytest.raises(Misuse, match="the model has no signatures"):
        signatures.entry(one_convolution(), "decode")


def test_graphs_that_a_loop_calls_are_reached_and_other_signatures_are_not():
    assert signatures.reached(loop(SHAPE, small_turn), 0) == {0, 1, 2}
    assert signatures.reached(model_of_signatures(), 1) == {1}


def test_a_damaged_file_is_a_sentence():
    content = two_signatures()
    for cut in (40, len(content) // 2):
        with pytest.raises(Misuse, match="damaged|cut off|ends at"):
            signatures.entry(content[:cut], "decode")


def test_free_sizes_are_the_arrays_or_those_of_size(tmp_path):
    path = tmp_path / "free.tflite"
    path.write_bytes(two_signatures(free=True))
    spec = from_arguments.make_spec(str(path), signature="decode", sizes=["picture=1x7x9x6"])
    tensors = inputs.of_model(path.read_bytes(), "decode")
    arrays = inputs.make(spec.inputs, tensors)
    assert [a.shape for a in arrays] == [OFFSET, (1, 7, 9, 6)]
    assert "picture 1×7×9×6" in inputs.describe(spec.inputs)
    folder = tmp_path / "arrays" / "decode"
    folder.mkdir(parents=True)
    np.save(folder / "picture.npy", arrays[1])
    np.save(folder / "000.npy", arrays[0])
    given = from_arguments.make_spec(str(path), signature="decode", arrays=str(tmp_path / "arrays"))
    assert [a.shape for a in inputs.make(given.inputs, tensors)] == [OFFSET, (1, 7, 9, 6)]
    np.save(folder / "000.npy", np.zeros((1, 1, 1, 4), np.float32))
    with pytest.raises(Misuse, match=r"\[1, 1, 1, 3\]"):
        inputs.make(given.inputs, tensors)


@pytest.mark.parametrize(
    ("size", "told"),
    [
        ("pictur=1x7x9x6", "picture [1, -1, -1, 6]"),
        ("picture=7x9x6", "4 dimensions"),
        ("picture=1x7x0x6", "NAME=1x64x48x3"),
        ("1x7x9x6", "NAME=1x64x48x3"),
        ("picture=1x7x9x7", "changes a side that is fixed"),
        ("picture=1x99999x99999x6", "is more than 2.0 GiB"),
        (f"picture={'9' * 5000}", "NAME=1x64x48x3"),
    ],
)
def test_a_size_that_fits_no_input_is_misuse(size, told, tmp_path):
    path = tmp_path / "free.tflite"
    path.write_bytes(two_signatures(free=True))
    with pytest.raises(Misuse) as caught:
        from_arguments.make_spec(str(path), signature="decode", sizes=[size])
    assert told in str(caught.value)


def test_a_size_goes_to_the_signatures_that_have_the_input(tmp_path):
    path = tmp_path / "free.tflite"
    path.write_bytes(two_signatures(free=True))
    words = [str(path), f"{path}:decode"]  # the main graph calls it picture_1
    sizes = ["picture=1x7x9x6"]
    assert from_arguments.sizes_of_each(words, sizes) == {words[0]: [], words[1]: sizes}
    with pytest.raises(Misuse, match="no model has such an input"):
        from_arguments.sizes_of_each(words, ["pictures=1x7x9x6"])


@pytest.mark.parametrize("key", ["a:b", "enc/step", "x" * 300, "a\x1b[31mb"])
def test_a_signature_may_have_any_name(key, tmp_path):
    path = tmp_path / "odd:model.tflite"
    path.write_bytes(with_signatures(_relu(), _relu(), (key, "other")))
    words = from_arguments.each_signature(str(path))
    assert [from_arguments.split(word) for word in words] == [(str(path), key), (str(path), "other")]
    spec = from_arguments.make_spec(str(path), signature=key)
    assert "\x1b" not in spec.label and spec.signature == key
    assert re.fullmatch(specs.RUN_ID, specs.new_run_id(spec.label))


def _relu():
    m = Model()
    m.output(m.unary("RELU", m.input((1, 4))))
    return m


def test_names_that_are_no_paths_are_no_models():
    for word in ("~nosuchuser/x", "x" * 300, "a\0b", f"{'x' * 300}:decode"):
        assert from_arguments.split(word) == (word, "")
        with pytest.raises(Misuse):
            models.find(word)


def test_two_words_for_a_signature_must_agree(tmp_path):
    path = tmp_path / "two.tflite"
    path.write_bytes(two_signatures())
    with pytest.raises(Misuse, match="--signature names another one"):
        from_arguments.each_signature(f"{path}:decode", "encode")
    with pytest.raises(Misuse, match="takes a whole model"):
        from_arguments.make_spec(f"{path}:decode")
    with pytest.raises(Misuse, match="there is no such file"):
        from_arguments.make_spec(f"{path}:")
    with pytest.raises(Misuse, match="two sizes"):
        inputs.parse_sizes(["x=1x2", "x=1x3"])


def test_one_signature_is_run_by_name_where_it_is_not_the_main_graph(tmp_path):
    tree = model_tree.unpack(two_signatures())
    tree.signatureDefs = tree.signatureDefs[1:]
    assert signatures.to_run(model_tree.pack(tree)) == ["decode"]
    tree.signatureDefs[0].subgraphIndex = 7
    with pytest.raises(Misuse, match="damaged|ends at"):
        inputs.of_model(model_tree.pack(tree), "decode")
