"""Convolution2DTransposeBias becomes TRANSPOSE_CONV for the CPU, with the same numbers; attention is what its name means."""

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from host_tools.base.errors import Misuse
from host_tools.places import reference_model
from tests.model_builder import Model
from tests.vectors import composites
from tests.vectors.transpose_conv_bias import transpose_conv_bias


def model_file(tmp_path, x_shape, w, b, stride, padding):
    m = Model()
    x = m.input(x_shape)
    m.output(m.unary("RELU", m.transpose_conv_bias(m.unary("RELU", x), w, b, stride, padding)))
    path = tmp_path / "model.tflite"
    path.write_bytes(m.bytes())
    return path


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("kernel", "stride"), [((2, 2), (2, 2)), ((3, 3), (2, 2)), ((4, 3), (3, 2))])
def test_the_rewritten_model_gives_the_right_numbers(tmp_path, padding, kernel, stride):
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, (1, 5, 4, 3)).astype(np.float32)
    w = rng.uniform(-1, 1, (2, *kernel, 3)).astype(np.float32)
    b = np.array([0.25, -0.5], np.float32)
    content, notes = reference_model.for_cpu(model_file(tmp_path, x.shape, w, b, stride, padding))
    assert notes == ["1 x Convolution2DTransposeBias given to the CPU as TRANSPOSE_CONV with bias"]
    assert not reference_model.custom_ops(content)
    interpreter = Interpreter(model_content=content)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    got = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
    np.testing.assert_allclose(got, np.maximum(transpose_conv_bias(x, w, b, stride, padding)[0], 0), atol=1e-5)


def test_a_model_without_such_ops_stays_as_it_is(tmp_path):
    m = Model()
    m.output(m.unary("RELU", m.input((1, 2))))
    path = tmp_path / "model.tflite"
    path.write_bytes(m.bytes())
    assert reference_model.for_cpu(path) == (m.bytes(), [])


def test_custom_ops_are_counted(tmp_path):
    w, b = np.zeros((2, 2, 2, 3), np.float32), np.zeros(2, np.float32)
    path = model_file(tmp_path, (1, 5, 4, 3), w, b, (2, 2), "SAME")
    assert reference_model.custom_ops(path.read_bytes()) == {"Convolution2DTransposeBias": 1}


@pytest.mark.parametrize("raw", [b"", b"\1\0\0\0", b"\7\0\0\0\2\0\0\0\2\0\0\0", b"\1\0\0\0\0\0\0\0\2\0\0\0"])
def test_damaged_options_are_a_sentence(tmp_path, raw):
    m = Model()
    w, b = np.zeros((2, 2, 2, 3), np.float32), np.zeros(2, np.float32)
    m.output(m.op("Convolution2DTransposeBias", [m.input((1, 5, 4, 3)), w, b], (1, 10, 8, 2), custom_options=raw))
    path = tmp_path / "model.tflite"
    path.write_bytes(m.bytes())
    with pytest.raises(Misuse, match="its options"):
        reference_model.for_cpu(path)


@pytest.mark.parametrize("size", [60, 200, 400, 700])
def test_a_model_that_was_cut_off_is_a_sentence(tmp_path, size):
    w, b = np.zeros((2, 2, 2, 3), np.float32), np.zeros(2, np.float32)
    path = model_file(tmp_path, (1, 5, 4, 3), w, b, (2, 2), "SAME")
    content = path.read_bytes()
    path.write_bytes(content[:size] + b"Convolution2DTransposeBias")
    with pytest.raises(Misuse, match="damaged"):
        reference_model.for_cpu(path)


@pytest.mark.parametrize(
    "case", [case for case in composites.CASES if "attention" in case.name], ids=lambda case: case.id
)
def test_the_cpu_computes_attention_as_its_name_says(tmp_path, case):
    path = tmp_path / "model.tflite"
    path.write_bytes(case.model())
    content, notes = reference_model.for_cpu(path)
    assert notes == ["1 x odml.scaled_dot_product_attention: the CPU computes what the name means"]
    kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    for detail, feed in zip(interpreter.get_input_details(), case.feeds(), strict=True):
        interpreter.set_tensor(detail["index"], feed)
    interpreter.invoke()
    got = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_allclose(got, case.expected()[0], atol=1e-5)


def test_attention_with_other_attributes_stays_as_it_is(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(composites.attends("", 1, 3, 9, 4, 1, 8, dropout=0.1).model())
    assert reference_model.for_cpu(path) == (path.read_bytes(), [])
