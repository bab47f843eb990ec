"""The float twin of a quantised model computes what that stands for, and is found by the bench."""

import errno
import os
from unittest.mock import Mock

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from host_tools.base.errors import FolderNotWritable, Misuse
from host_tools.request import float_twins, models
from tests import quantized
from tests.model_builder import Model

# A step may turn the answer, or is what it shows; the interpreter's reference of SUM adds up the outputs.
_ELSEWHERE = ("GREATER", "ARG_MAX", "QUANTIZE and back", "SUM")
CATALOGUE = ("mobilenet_v1_0.25_128_quant", "keras_lstm_mnist_ptq", "tf2_mobilenet_v2_1.0_224_ptq")


def floats_of(raw, feeds=None):
    """(inputs, outputs, one step of each output's grid), as the floats that they stand for."""
    made = Interpreter(model_content=raw, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    made.allocate_tensors()
    random, given = np.random.default_rng(7), []
    for index, detail in enumerate(made.get_input_details()):
        scale, zero = detail["quantization"]
        if feeds is not None:
            values = feeds[index]
        elif detail["dtype"] in (np.int8, np.uint8):
            info = np.iinfo(detail["dtype"])
            values = random.integers(info.min, info.max + 1, detail["shape"]).astype(detail["dtype"])
        else:
            values = random.uniform(-1, 1, detail["shape"]).astype(detail["dtype"])
        made.set_tensor(detail["index"], values)
        given.append(((values - np.float32(zero)) * np.float32(scale)).astype(np.float32) if scale else values)
    made.invoke()
    outputs, steps = [], []
    for detail in made.get_output_details():
        scale, zero = detail["quantization"]
        values = made.get_tensor(detail["index"]).astype(np.float64)
        outputs.append((values - zero) * scale if scale else values)
        steps.append(scale or 1e-6)
    return given, outputs, steps


def test_each_op_computes_in_floats_what_its_integers_stand_for():
    compared = 0
    for kind in quantized.KINDS:
        for name in quantized.BUILDERS:
            raw = quantized.model(name, kind)
            if "int4" in name or "int2" in name:
                with pytest.raises(ValueError, match="is quantised, of type"):
                    float_twins.twin(raw)
                continue
            if name in _ELSEWHERE:
                continue
            try:
                given, expected, steps = floats_of(raw)
            except (RuntimeError, ValueError):  # the interpreter has no such kernel
                continue
            _, found, _ = floats_of(float_twins.twin(raw), given)
            for got, want, step in zip(found, expected, steps, strict=True):
                low, high = want.min(), want.max()  # beyond the grid's ends the integers are cut off
                assert np.abs(np.clip(got, low, high) - want).max() <= 3.01 * step, (name, kind)
            compared += 1
    assert compared > 90


def test_there_is_a_twin_of_what_is_quantised_only(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_DOWNLOADS_DIR", str(tmp_path / "downloads"))
    plain, odd = Model(), tmp_path / "narrow.tflite"
    x = plain.input((1, 2, 2, 4))
    plain.output(plain.add(x, x))
    (tmp_path / "plain.tflite").write_bytes(plain.bytes())
    odd.write_bytes(quantized.model("FULLY_CONNECTED int4", quantized.KINDS[0]))
    small = tmp_path / "small.tflite"
    small.write_bytes(quantized.model("CONV_2D", quantized.KINDS[0]))
    assert float_twins.make(str(tmp_path / "plain.tflite")) is None
    with pytest.raises(Misuse, match="make a float twin of .*narrow.tflite: ValueError"):
        float_twins.make(str(odd))
    assert models.float_twin(str(small)) == ""
    for ended in (KeyboardInterrupt(), OSError(errno.ENOSPC, "full")):  # in the middle of writing: no part stays
        with monkeypatch.context() as patch, pytest.raises((KeyboardInterrupt, FolderNotWritable)) as raised:
            patch.setattr(os, "replace", Mock(side_effect=ended))
            float_twins.make(str(small))
        assert models.float_twin(str(small)) == "" and not list(
            models.made_twin(models.find(str(small))).parent.iterdir()
        )
    assert "QUADRA_DOWNLOADS_DIR" in raised.value.do_next
    path = float_twins.make(str(small))
    assert models.float_twin(str(small)) == str(path) and path.name == "small_float.tflite"
    small.write_bytes(quantized.model("CONV_2D", quantized.KINDS[1]))  # another model now
    assert models.float_twin(str(small)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_real_models_have_twins_that_are_close(name, model_path):
    raw = model_path(name).read_bytes()
    given, expected, _ = floats_of(raw)
    _, found, _ = floats_of(float_twins.twin(raw), given)
    for got, want in zip(found, expected, strict=True):
        assert np.abs(got - want).max() < 0.1 * np.ptp(want)
