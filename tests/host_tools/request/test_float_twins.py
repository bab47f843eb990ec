"""The float twin of a quantised model computes what that stands for, and is found by the bench."""

import errno
import os
from unittest.mock import Mock

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from host_tools.base.errors import FolderNotWritable, Misuse
from host_tools.request import float_twins, model_facts, model_tree, models
from tests import quantized
from tests.bad_models import BAD_MODELS
from tests.model_builder import Model
from tests.vectors.integer_weights import Integers

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


def on_cpu(raw, *given):
    made = Interpreter(
        model_content=raw, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    )
    made.allocate_tensors()
    for detail, array in zip(made.get_input_details(), given, strict=True):
        made.set_tensor(detail["index"], array)
    made.invoke()
    return [made.get_tensor(detail["index"]).copy() for detail in made.get_output_details()]


@pytest.mark.parametrize(
    ("dtype", "scales"), [("int8", "channel"), ("int8", "tensor"), ("int4", 32), ("int4", "tensor"), ("int2", 64)]
)
def test_with_float_weights_activations_are_not_rounded(dtype, scales):
    weights = Integers(f"floats {dtype}", (16, 64), dtype, scales)
    m = Model()
    x = m.input((3, 64))
    stored = weights.add(m)
    for _ in range(2):
        m.output(m.op("FULLY_CONNECTED", [x, stored, None], (3, 16), "FullyConnectedOptions", 12))
    raw = m.bytes()
    given = np.random.default_rng(5).uniform(-1, 1, (3, 64)).astype(np.float32)
    right = given @ weights.floats.T
    content, nodes = float_twins.with_float_weights(raw)
    assert nodes == [(0, 0), (0, 1)] and model_facts.is_quantised(content) is False
    for got in on_cpu(content, given):
        np.testing.assert_allclose(got, right, atol=1e-5 * np.abs(right).max())
    tree = model_tree.unpack(raw)
    tree.subgraphs.append(tree.subgraphs[0])
    more, nodes = float_twins.with_float_weights(model_tree.pack(tree))
    assert nodes == [(0, 0), (0, 1), (1, 0), (1, 1)] and len(more) < len(content) + 4 * weights.stored.size, (
        "signatures share them"
    )


def test_a_table_that_is_looked_up_stays_as_it_is_where_it_is_also_a_weight():
    weights = Integers("tied", (16, 64), "int8")
    m = Model()
    ids, x, table = m.input((2,), "int32"), m.input((1, 64)), weights.add(m)
    m.output(m.op("EMBEDDING_LOOKUP", [ids, table], (2, 64), version=3))
    m.output(m.op("FULLY_CONNECTED", [x, table, None], (1, 16), "FullyConnectedOptions", 12))
    raw, given = m.bytes(), np.linspace(-1, 1, 64, dtype=np.float32).reshape(1, 64)
    chosen = np.array([3, 11], np.int32)
    content, _ = float_twins.with_float_weights(raw)
    assert np.array_equal(on_cpu(raw, chosen, given)[0], on_cpu(content, chosen, given)[0])
    np.testing.assert_allclose(on_cpu(content, chosen, given)[1], given @ weights.floats.T, rtol=1e-4)


def test_a_model_without_integer_weights_of_float_nodes_has_no_others():
    m = Model()
    m.output(m.fully_connected(m.input((1, 4)), np.ones((2, 4), np.float32)))
    assert float_twins.with_float_weights(m.bytes()) is None
    for kind in quantized.KINDS:
        raw = quantized.model("CONV_2D", kind)
        assert float_twins.with_float_weights(raw) is None and model_facts.is_quantised(raw)


def test_constants_behind_the_tree_of_a_file_are_read(tmp_path):
    """As converters write those of large models: a buffer has an offset and a size."""
    m = Model()
    m.output(m.add(m.input((1, 8)), np.arange(8, dtype=np.float32)))
    tree = model_tree.unpack(m.bytes())
    data = next(buffer.data for buffer in tree.buffers if buffer.data)

    def moved(offset):
        for buffer in tree.buffers:
            if buffer.data or buffer.size:
                buffer.data, buffer.offset, buffer.size = None, offset, len(data)
        return model_tree.pack(tree)

    raw = moved(-len(moved(64)) % 16 + len(moved(64)))
    raw = raw + b"\0" * (-len(raw) % 16) + data
    zero = np.zeros((1, 8), np.float32)
    assert np.array_equal(on_cpu(raw, zero)[0][0], np.arange(8)), "the test's own file"
    assert np.array_equal(on_cpu(model_tree.pack(model_tree.unpack(raw)), zero)[0][0], np.arange(8))


def _blocks_with_scales_of_ints():
    shape, build = BAD_MODELS["blocks_with_scales_of_ints"]
    m = Model()
    m.output(build(m, m.input(shape)))
    return m.bytes()


def test_there_is_a_twin_of_what_is_quantised_only(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_DOWNLOADS_DIR", str(tmp_path / "downloads"))
    plain, odd = Model(), tmp_path / "narrow.tflite"
    x = plain.input((1, 2, 2, 4))
    plain.output(plain.add(x, x))
    (tmp_path / "plain.tflite").write_bytes(plain.bytes())
    odd.write_bytes(_blocks_with_scales_of_ints())
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
