"""Quantised models run on the GPU as the floats that their integers stand for: within one quantum of the interpreter's
reference kernels, and exactly where an op only moves numbers."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from tests import cpu
from tests.delegate import options
from tests.model_builder import Model
from tests.quantized import BUILDERS, KINDS, model
from tests.runs import BACKENDS
from tests.vectors.case import generator

on_both = pytest.mark.parametrize("backend", BACKENDS)
_KINDS = pytest.mark.parametrize(
    "kind", KINDS, ids=lambda kind: kind.dtype + ("_per_channel" if kind.per_channel else "")
)
# Where the interpreter computes in floats or moves numbers, the integers are the same.
_EXACT = {"MAXIMUM", "MINIMUM", "MAX_POOL_2D", "PAD", "RESHAPE", "TRANSPOSE", "STRIDED_SLICE", "SLICE", "GATHER",
          "MIRROR_PAD", "RESIZE_NEAREST_NEIGHBOR", "SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "EXPAND_DIMS", "SPLIT", "UNPACK",
          "REDUCE_MAX", "GREATER", "ARG_MAX"}  # fmt: skip


def feeds_of(raw: bytes, name: str) -> list[np.ndarray]:
    feeds = []
    for i, detail in enumerate(Interpreter(model_content=raw).get_input_details()):
        numbers = generator(f"quantized/{name}/{i}")
        if detail["dtype"] == np.float32:
            feeds.append(numbers.uniform(-1.5, 1.5, detail["shape"]).astype(np.float32))
        else:
            ends = np.iinfo(detail["dtype"])
            feeds.append(numbers.integers(ends.min, ends.max, detail["shape"], detail["dtype"], endpoint=True))
    return feeds


def with_fast_kernels(raw: bytes, feeds: list[np.ndarray]) -> list[np.ndarray]:
    """Of the interpreter's kernels; its reference of SUM adds int8 of several outputs together."""
    interpreter = Interpreter(
        model_content=raw, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    )
    interpreter.allocate_tensors()
    for detail, feed in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(detail["index"], feed)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def quanta(raw: bytes, got: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The largest difference, in steps of the output's grid."""
    details = Interpreter(model_content=raw).get_output_details()
    differences = [
        np.abs(a.astype(np.float64) - b.astype(np.float64)).max() for a, b in zip(got, expected, strict=True)
    ]
    scale = [2 / 255 if detail["dtype"] == np.float32 else 1 for detail in details]
    return max(difference / step for difference, step in zip(differences, scale, strict=True))


@on_both
@_KINDS
@pytest.mark.parametrize("name", BUILDERS)
def test_every_op_with_an_integer_form(quadra, name, kind, backend):
    raw = model(name, kind)
    try:
        feeds = feeds_of(raw, name)
        expected = with_fast_kernels(raw, feeds) if (name, kind.dtype) == ("SUM", "int8") else cpu.run(raw, feeds)
    except (RuntimeError, ValueError) as refusal:
        pytest.skip(f"the interpreter refuses it: {str(refusal).strip().splitlines()[0]}")
    outcome = quadra.run(raw, feeds, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    worst = quanta(raw, outcome.outputs[0], expected)
    assert worst <= (0 if name in _EXACT else 1.001), f"{worst} quanta"


@on_both
def test_weights_without_activations(quadra, backend):
    """Dynamic range: int8 weights, float everything else. The interpreter rounds the activations, Quadra does not."""
    m = Model()
    w = generator("dynamic").integers(-127, 128, (6, 3, 3, 5)).astype(np.int8)
    scales = np.linspace(0.001, 0.01, 6).astype(np.float32)
    x = m.input((1, 6, 7, 5))
    m.output(m.conv2d(x, m.const(w, scale=scales), np.zeros(6, np.float32)))
    floats = Model()
    y = floats.input((1, 6, 7, 5))
    floats.output(floats.conv2d(y, w * scales[:, None, None, None], np.zeros(6, np.float32)))
    feeds = [generator("dynamic x").uniform(-1, 1, (1, 6, 7, 5)).astype(np.float32)]
    quadra.run(m.bytes(), feeds, **options(backend=backend)).check(cpu.run(floats.bytes(), feeds))


@on_both
def test_a_recurrent_layer_with_weights_of_integers(quadra, backend):
    """And a state of floats."""
    w, r = (generator(f"rnn {n}").integers(-127, 128, (4, n)).astype(np.int8) for n in (5, 4))

    def model_with(wrapped) -> bytes:
        m = Model()
        tables = [wrapped(m, w), wrapped(m, r), np.zeros(4, np.float32)]
        state = m.value((2, 4), variable=True)
        m.output(m.op("RNN", [m.input((2, 5)), *tables, state], (2, 4), "RNNOptions", FusedActivationFunction=4))
        return m.bytes()

    raw = model_with(lambda m, integers: m.const(integers, scale=0.005))
    floats = model_with(lambda m, integers: integers * np.float32(0.005))
    feeds = [generator("rnn x").uniform(-1, 1, (2, 5)).astype(np.float32)]
    quadra.run(raw, feeds, **options(backend=backend)).check(cpu.run(floats, feeds))


@on_both
def test_they_can_be_forbidden(quadra, backend):
    raw = model("CONV_2D", KINDS[0])
    feeds = feeds_of(raw, "CONV_2D")
    outcome = quadra.run(raw, feeds, **options(backend=backend, quantized_models_allowed="0"))
    assert "quantized_models_allowed is 0" in outcome.nodes[0]["reason"], outcome.nodes
    outcome.check(cpu.run(raw, feeds), everything_on_gpu=False)
