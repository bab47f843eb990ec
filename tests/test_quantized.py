"""Quantised models run on the GPU as the floats that their integers stand for: within one quantum of the interpreter's
reference kernels, and exactly where an op only moves numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from hypothesis import HealthCheck, given, reject, settings

from tests import cpu, random_quantized
from tests.delegate import options
from tests.model_builder import Model, _activation
from tests.quantized import BUILDERS, KINDS, model
from tests.random_quantized import Graph
from tests.runs import BACKENDS
from tests.vectors.case import constant, generator

on_both = pytest.mark.parametrize("backend", BACKENDS)
_KINDS = pytest.mark.parametrize(
    "kind", KINDS, ids=lambda kind: kind.dtype + ("_per_channel" if kind.per_channel else "")
)
# Where the interpreter computes in floats or moves numbers, the integers are the same.
_EXACT = {"MAXIMUM", "MINIMUM", "MAX_POOL_2D", "PAD", "RESHAPE", "TRANSPOSE", "STRIDED_SLICE", "SLICE", "GATHER",
          "MIRROR_PAD", "RESIZE_NEAREST_NEIGHBOR", "SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "EXPAND_DIMS", "SPLIT", "UNPACK",
          "REDUCE_MAX", "GREATER", "ARG_MAX"}  # fmt: skip
# Of 16 bits: the interpreter's tables are two quanta off, and its bilinear weights have ten bits.
_INEXACT = {"TANH": 2, "LOGISTIC": 2, "SOFTMAX": 2, "RESIZE_BILINEAR": 128}


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
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    return _run(Interpreter(model_content=raw, experimental_op_resolver_type=resolver), feeds)


def _run(interpreter: Interpreter, feeds: list[np.ndarray]) -> list[np.ndarray]:
    interpreter.allocate_tensors()
    for detail, feed in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(detail["index"], feed)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def by_xnnpack(raw: bytes, feeds: list[np.ndarray]) -> list[np.ndarray]:
    return _run(Interpreter(model_content=raw), feeds)


def quanta(raw: bytes, got: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The largest difference, in steps of the output's grid."""
    details = Interpreter(model_content=raw).get_output_details()
    differences = [
        np.abs(a.astype(np.float64) - b.astype(np.float64)).max() for a, b in zip(got, expected, strict=True)
    ]
    scale = [2 / 255 if detail["dtype"] == np.float32 else 1 for detail in details]
    return max(difference / step for difference, step in zip(differences, scale, strict=True))


def check_random_op(quadra, graph: Graph, **given: str) -> None:
    """Within one quantum of the interpreter's kernels, and equal where numbers only move. Where its reference kernel and
    its fast one differ, either is right: the reference of SUM adds up the outputs."""
    raw, feeds = graph.model.bytes(), graph.feeds()
    expected = [_interpreted(kernels, raw, feeds) for kernels in (cpu.run, with_fast_kernels)]
    worst = min(quanta(raw, _made(quadra, raw, feeds, given), outputs) for outputs in expected)
    assert worst <= (0 if graph.exact else 1.001), f"{worst} quanta"


def check_random_graph(quadra, graph: Graph, **given: str) -> None:
    """One op may round to the neighbour of what the interpreter makes, and the next ops magnify that. How much, the
    interpreter's own kernels show where all inputs are a quantum further: a graph may differ by as much, by half as much
    again as XNNPACK does, and by the quantum of its last op."""
    raw, feeds = graph.model.bytes(), graph.feeds()
    expected = _interpreted(with_fast_kernels, raw, feeds)
    signs = np.random.default_rng(graph.seed)
    steps = [np.ones, lambda shape: -np.ones(shape), lambda shape: signs.choice([-1, 1], shape)]
    answers = [with_fast_kernels(raw, graph.near(feeds, step)) for step in steps]
    made, xnnpack = _made(quadra, raw, feeds, given), by_xnnpack(raw, feeds)
    for i, want in enumerate(expected):
        worst, theirs, *moved = (_apart(one[i], want) for one in (made, xnnpack, *answers))
        for measure in (np.max, np.mean):
            most = max(map(measure, moved)) + 1.5 * measure(theirs) + 1
            assert measure(worst) <= most, f"output {i}: {measure.__name__} {measure(worst)} quanta, allowed are {most}"


def _interpreted(kernels, raw: bytes, feeds: list[np.ndarray]) -> list[np.ndarray]:
    try:
        return kernels(raw, feeds)
    except (RuntimeError, ValueError):
        reject()  # the interpreter has no kernel for it


def _made(quadra, raw: bytes, feeds: list[np.ndarray], given: dict[str, str]) -> list[np.ndarray]:
    outcome = quadra.run(raw, feeds, **given)
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    return outcome.outputs[0]


def _apart(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return np.abs(got.astype(int) - expected.astype(int))


_RANDOM = settings(max_examples=settings.default.max_examples, suppress_health_check=list(HealthCheck))


@on_both
def test_random_ops_are_within_a_quantum(quadra, backend):
    @_RANDOM
    @given(random_quantized.single_ops())
    def examples(graph):
        check_random_op(quadra, graph, **options(backend=backend))

    examples()


@on_both
def test_random_graphs_are_as_near_as_the_interpreters_own_kernels(quadra, backend):
    @_RANDOM
    @given(random_quantized.graphs())
    def examples(graph):
        check_random_graph(quadra, graph, **options(backend=backend))

    examples()


@on_both
@_KINDS
@pytest.mark.parametrize("name", BUILDERS)
def test_every_op_with_an_integer_form(quadra, name, kind, backend):
    raw = model(name, kind)
    try:
        feeds = feeds_of(raw, name)
        expected = (with_fast_kernels if name == "SUM" and kind.dtype != "uint8" else cpu.run)(raw, feeds)
    except (RuntimeError, ValueError) as refusal:
        pytest.skip(f"the interpreter refuses it: {str(refusal).strip().splitlines()[0]}")
    outcome = quadra.run(raw, feeds, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    worst = quanta(raw, outcome.outputs[0], expected)
    most = _INEXACT.get(name, 1) if kind.dtype == "int16" else 1
    assert worst <= (0 if name in _EXACT else most + 0.001), f"{worst} quanta"


@on_both
@pytest.mark.parametrize("precision", ["f32_f16", "f16"])
@pytest.mark.parametrize(
    "name", ["CONV_2D", "FULLY_CONNECTED", "ADD", "AVERAGE_POOL_2D", "MAX_POOL_2D", "RESHAPE", "CONCATENATION"]
)
def test_integers_of_16_bits_stay_whole_in_half_precision(quadra, name, precision, backend):
    """Half has 2048 whole numbers: such tensors stay in float32."""
    raw = model(name, next(kind for kind in KINDS if kind.dtype == "int16"))
    feeds = feeds_of(raw, name)
    outcome = quadra.run(raw, feeds, **options(backend=backend, precision=precision))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    worst = quanta(raw, outcome.outputs[0], cpu.run(raw, feeds))
    assert worst <= (0 if name in _EXACT else 1.001), f"{worst} quanta"


@on_both
def test_an_inputs_integers_are_floats_where_they_arrive(quadra, backend):
    """In one kernel, also where a converter turned uint8 into int8: the same numbers, around another zero."""
    m = Model()
    x = m.input((1, 6, 7, 3), dtype="uint8", scale=4 / 255, zero_point=127)
    signed = {"dtype": "int8", "scale": 4 / 255, "zero_point": -1}
    y = m.op("QUANTIZE", [x], x.shape, "QuantizeOptions", 1, output=signed)
    output = {"dtype": "int8", "scale": 1 / 128, "zero_point": 0}
    m.output(m.op("TANH", [y], x.shape, version=2, output=output))
    feeds = [generator("arrive x").integers(0, 256, (1, 6, 7, 3)).astype(np.uint8)]
    outcome = quadra.run(m.bytes(), feeds, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    assert quanta(m.bytes(), outcome.outputs[0], cpu.run(m.bytes(), feeds)) <= 1.001
    kernels = [dispatch["kernel"] for dispatch in outcome.report["partitions"][0]["dispatches"]]
    assert kernels[0] == "dequantize" and "to_slices" not in kernels and kernels.count("dequantize") == 1, kernels
    assert kernels[-1] == "quantize" and "from_slices" not in kernels and kernels.count("quantize") == 1, kernels


@on_both
@pytest.mark.parametrize("op", ["EQUAL", "LESS", "GREATER_EQUAL"])
def test_integers_compare_with_constants_as_integers(quadra, op, backend):
    """Also of a scale that no short float is: both sides lie on one grid."""
    m, grid = Model(), {"scale": 0.1, "zero_point": 3}
    x = m.input((1, 4, 4, 4), dtype="int8", **grid)
    stored = np.arange(-32, 32, dtype=np.int8).reshape(1, 4, 4, 4)
    options_of = {"EQUAL": "EqualOptions", "LESS": "LessOptions", "GREATER_EQUAL": "GreaterEqualOptions"}[op]
    m.output(m.op(op, [x, m.const(stored, **grid)], x.shape, options_of, 2, output={"dtype": "bool"}))
    feeds = [(stored + generator("compare").integers(-1, 2, stored.shape)).astype(np.int8)]
    outcome = quadra.run(m.bytes(), feeds, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    assert np.array_equal(outcome.outputs[0][0], cpu.run(m.bytes(), feeds)[0])


@on_both
def test_floats_are_whole_steps(quadra, backend):
    """Of a scale that 3 * 2^22 times makes no float: rounding takes three quarters of a step from such a product."""
    scale = np.float32(1.1 / 209)
    assert abs(float(np.float32(12582912 * scale)) - 12582912 * float(scale)) > 0.7 * scale
    m = Model()
    x = m.input((1, 5, 6, 16))
    w = generator("steps").integers(-127, 128, (16, 1, 1, 16)).astype(np.int8)
    grid = {"dtype": "int8", "scale": float(scale), "zero_point": 3}
    y = m.op("QUANTIZE", [x], x.shape, "QuantizeOptions", 1, output=grid)
    sizes = dict.fromkeys(("StrideH", "StrideW", "DilationHFactor", "DilationWFactor"), 1)
    w = m.const(w, scale=np.full(16, 0.003, np.float32))
    y = m.op("CONV_2D", [y, w], x.shape, "Conv2DOptions", 3, output=grid, Padding=0, **sizes)
    m.output(m.op("DEQUANTIZE", [y], x.shape, version=2))
    feeds = [generator("steps x").uniform(-0.6, 0.6, x.shape).astype(np.float32)]
    outcome = quadra.run(m.bytes(), feeds, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    steps = outcome.outputs[0] / scale
    assert len(np.unique(np.rint(steps))) > 100 and np.abs(steps - np.rint(steps)).max() < 1e-4


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


@dataclass(frozen=True)
class IntegerLstm:
    """A layer of int8 with cells of int16."""

    op: str = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    batch_major: bool = False
    cifg: bool = False
    outputs: int = 0  # of a projection
    cell_clip: float = 0.0
    cell_bits: int = 12  # of the fraction
    hidden: dict = field(default_factory=dict)  # where its grid is not that of the state
    activation: str = "TANH"
    peephole: bool = False
    norm: bool = False

    def int16(self, m: Model, name: str, units: int = 10):
        """One number for each cell."""
        return m.const(np.round(constant(f"lstm/{name}", (units,)) * 32767).astype(np.int16), scale=1.2 / 32767)

    def bytes(self, batch: int = 2, steps: int = 9, depth: int = 7, units: int = 10) -> bytes:
        m, single = Model(), self.op == "LSTM"
        shape = (batch, depth) if single else (batch, steps, depth) if self.batch_major else (steps, batch, depth)
        x = m.input(shape, dtype="int8", scale=4 / 255, zero_point=3)
        width, gates = self.outputs or units, "fco" if self.cifg else "ifco"

        def weights(name, rows, columns):
            most = 1.5 / np.sqrt(columns)
            return m.const(np.round(constant(f"lstm/{name}", (rows, columns)) * 127).astype(np.int8), scale=most / 127)

        def bias(name, rows, scale):
            return m.const(np.round(constant(f"lstm/{name}", (rows,)) * 0.5 / scale).astype(np.int32), scale=scale)

        w = {gate: weights("w" + gate, units, depth) for gate in gates}
        r = {gate: weights("r" + gate, units, width) for gate in gates}
        b = {gate: bias("b" + gate, units, x.scale * w[gate].scale) for gate in gates}
        norms = {gate: self.int16(m, "n" + gate) for gate in gates} if self.norm else {}
        if self.norm:
            b = {gate: bias("b" + gate, units, norms[gate].scale / 1024) for gate in gates}
        state = {"dtype": "int8", "scale": 1.2 / 128, "zero_point": -5}
        hidden = {**state, **({"scale": 1 / 128, "zero_point": 2} if self.outputs else {}), **self.hidden}
        projection = weights("projection", width, units) if self.outputs else None
        projection_bias = bias("projection bias", width, hidden["scale"] * projection.scale) if projection else None
        peepholes = [self.int16(m, "p" + gate) if self.peephole and gate in gates else None for gate in "ifo"]
        cells = {"dtype": "int16", "scale": 2.0**-self.cell_bits, "zero_point": 0}
        inputs = [x, *(w.get(gate) for gate in "ifco"), *(r.get(gate) for gate in "ifco"), *peepholes,
                  *(b.get(gate) for gate in "ifco"), projection, projection_bias,
                  m.value((batch, width), variable=True, **state), m.value((batch, units), variable=True, **cells),
                  *(norms.get(gate) for gate in "ifco")]  # fmt: skip
        sums = [
            {"dtype": "int16", "scale": 6 / 32767 / (i + 1), "zero_point": 0} if self.norm else {"dtype": "float32"}
            for i in range(4)
        ]
        inner = [m.value((0,), **grid) for grid in [*sums, hidden]]
        order = {} if single else {"TimeMajor": not self.batch_major}
        kind = "LSTMOptions" if single else "UnidirectionalSequenceLSTMOptions"
        m.output(m.op(self.op, inputs, (*shape[:-1], width), kind, 3 if single else 2, state, intermediates=inner,
                      FusedActivationFunction=_activation(self.activation), CellClip=self.cell_clip, **order))  # fmt: skip
        return m.bytes()


INTEGER_LSTMS = {
    "sequence": IntegerLstm(),
    "batch_major": IntegerLstm(batch_major=True),
    "no_input_gate": IntegerLstm(cifg=True),
    "projection": IntegerLstm(outputs=5),
    "clip_and_coarse_cells": IntegerLstm(cell_clip=0.7, cell_bits=9),
    "one_step": IntegerLstm("LSTM"),
    "peepholes": IntegerLstm(peephole=True),
    "no_input_gate_and_peepholes": IntegerLstm(cifg=True, peephole=True, batch_major=True),
    "norms": IntegerLstm(norm=True),
    # With peepholes and a projection together the CPU is 16 quanta from the layer's formulas.
    "no_input_gate_norms_and_peepholes": IntegerLstm(cifg=True, norm=True, peephole=True),
    "one_step_with_norms_and_projection": IntegerLstm("LSTM", norm=True, outputs=9),
}


@on_both
@pytest.mark.parametrize("name", INTEGER_LSTMS)
def test_a_recurrent_layer_of_integers(quadra, name, backend):
    """Three runs: the state, which stays between them, is of int8 and int16."""
    raw = INTEGER_LSTMS[name].bytes()
    interpreter = Interpreter(model_content=raw, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    rounds = [feeds_of(raw, f"{name} {number}") for number in range(3)]
    expected = [_run(interpreter, feeds) for feeds in rounds]
    outcome = quadra.run(raw, *rounds, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    assert len({want[0].tobytes() for want in expected}) == 3 and expected[2][0].std() > 15
    apart = np.array([_apart(got[0], want[0]) for got, want in zip(outcome.outputs, expected, strict=True)])
    # The CPU's norms have 1024 steps to a standard deviation.
    most, mean = (2, 0.15) if INTEGER_LSTMS[name].norm else (1, 0.05)
    assert apart.max() <= most and apart.mean() < mean, (apart.max(), apart.mean())


@on_both
@pytest.mark.parametrize(("rank", "coarser"), [(1, 1), (2, 1), (1, 16)])
def test_filters_over_time_of_integers(quadra, rank, coarser, backend):
    """Three runs: the state is of int16. The scale that the file gives the bias (coarser) is not read by the CPU."""
    batch, depth, units, memory = 2, 9, 4, 5
    m = Model()
    x = m.input((batch, depth), dtype="int8", scale=4 / 255, zero_point=-7)
    w = np.round(constant("svdf features", (units * rank, depth)) * 127).astype(np.int8)
    most = np.iinfo(np.int16).max
    t = np.round(constant("svdf time", (units * rank, memory)) * most).astype(np.int16)
    wide = {"dtype": "int16", "scale": 6 / most, "zero_point": 0}
    bias_scale = wide["scale"] / most
    bias = np.round(constant("svdf bias", (units,)) / bias_scale).astype(np.int32)
    state = m.value((batch, units * rank * memory), variable=True, **wide)
    inputs = [x, m.const(w, scale=1 / 127), m.const(t, scale=1 / most)]
    inputs += [m.const(bias, scale=bias_scale * coarser), state]
    grid = {"dtype": "int8", "scale": 12 / 255, "zero_point": -60}
    m.output(m.op("SVDF", inputs, (batch, units), "SVDFOptions", 3, grid, Rank=rank, FusedActivationFunction=1))
    raw = m.bytes()
    interpreter = Interpreter(model_content=raw, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    rounds = [feeds_of(raw, f"svdf {number}") for number in range(3)]
    expected = [_run(interpreter, feeds) for feeds in rounds]
    outcome = quadra.run(raw, *rounds, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    apart = np.array([_apart(got[0], want[0]) for got, want in zip(outcome.outputs, expected, strict=True)])
    assert expected[2][0].std() > 10 and apart.max() <= 1 and apart.mean() < 0.05, (apart.max(), apart.mean())


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (IntegerLstm(hidden={"scale": 1 / 128}), "its results have another scale than its state"),
        (IntegerLstm(activation="RELU"), "one direction, tanh"),
    ],
    ids=["scales", "activation"],
)
def test_a_recurrent_layer_of_other_integers_is_left_to_the_cpu(quadra, layer, reason):
    raw = layer.bytes()
    feeds = feeds_of(raw, "left")
    outcome = quadra.run(raw, feeds, **options())
    assert reason in outcome.nodes[0]["reason"], outcome.nodes
    outcome.check(cpu.run(raw, feeds), everything_on_gpu=False)


@on_both
def test_filters_over_time_with_weights_of_integers(quadra, backend):
    w, t = (generator(f"svdf {n}").integers(-127, 128, (6, n)).astype(np.int8) for n in (5, 4))

    def model_with(wrapped) -> bytes:
        m = Model()
        state = m.value((2, 24), variable=True)
        m.output(
            m.op("SVDF", [m.input((2, 5)), wrapped(m, w), wrapped(m, t), None, state], (2, 3), "SVDFOptions", Rank=2)
        )
        return m.bytes()

    raw = model_with(lambda m, integers: m.const(integers, scale=0.005))
    floats = model_with(lambda m, integers: integers * np.float32(0.005))
    feeds = [generator("svdf x").uniform(-1, 1, (2, 5)).astype(np.float32)]
    quadra.run(raw, feeds, **options(backend=backend)).check(cpu.run(floats, feeds))


def _with_weights(op: str, weights) -> tuple[bytes, list[np.ndarray]]:
    """A model of one op whose weights are what `weights` makes of a matrix of integers, and its inputs."""
    m = Model()
    numbers = generator(f"uint8 {op}")

    def make(*shape):
        return weights(m, numbers.integers(-127, 128, shape).astype(np.int8))

    x = numbers.uniform(-1, 1, (1, 4, 4, 8) if op == "CONV_2D" else (2, 8)).astype(np.float32)
    if op == "EMBEDDING_LOOKUP":
        ids = np.array([1, 0, 3], np.int32)
        m.output(m.op(op, [m.input(ids.shape, dtype="int32"), make(5, 8)], (3, 8)))
        return m.bytes(), [ids]
    source = m.input(x.shape)
    if op == "CONV_2D":
        m.output(m.conv2d(source, make(5, 1, 1, 8), np.zeros(5, np.float32)))
    elif op == "FULLY_CONNECTED":
        m.output(m.fully_connected(source, make(5, 8), np.zeros(5, np.float32)))
    elif op == "RNN":
        state = m.value((2, 6), variable=True)
        given = [source, make(6, 8), make(6, 6), np.zeros(6, np.float32), state]
        m.output(m.op(op, given, (2, 6), "RNNOptions", FusedActivationFunction=4))
    else:
        state = m.value((2, 24), variable=True)
        m.output(m.op(op, [source, make(6, 8), make(6, 4), None, state], (2, 3), "SVDFOptions", Rank=2))
    return m.bytes(), [x]


@on_both
@pytest.mark.parametrize("op", ["CONV_2D", "FULLY_CONNECTED", "RNN", "SVDF", "EMBEDDING_LOOKUP"])
def test_weights_of_uint8_for_floats_are_those_of_int8(quadra, op, backend):
    """As the first hybrid models have them; the CPU's kernels read the bytes so."""
    raw, feeds = _with_weights(op, lambda m, integers: m.const(integers.view(np.uint8), scale=0.005))
    floats, _ = _with_weights(op, lambda m, integers: integers * np.float32(0.005))
    quadra.run(raw, feeds, **options(backend=backend)).check(cpu.run(floats, feeds))


@on_both
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("op", ["CONV_2D", "FULLY_CONNECTED", "EMBEDDING_LOOKUP"])
def test_computed_weights_of_integers_for_floats(quadra, op, dtype, backend):
    """Of int8 they are on the GPU, as the floats that they stand for. Those of uint8 stay on the CPU, which reads them
    as int8."""
    m = Model()
    w = m.input((5, 2, 2, 8) if op == "CONV_2D" else (5, 8), dtype=dtype, scale=0.005)
    numbers = generator(f"computed weights {op}")
    x = numbers.uniform(-1, 1, (1, 4, 4, 8)).astype(np.float32)
    if op == "EMBEDDING_LOOKUP":
        x = np.array([1, 0, 3], np.int32)
        m.output(m.op(op, [m.input(x.shape, dtype="int32"), w], (3, 8)))
    elif op == "FULLY_CONNECTED":
        m.output(m.fully_connected(m.input(x.shape), w))
    else:
        m.output(m.conv2d(m.input(x.shape), w, np.zeros(5, np.float32)))
    integers = numbers.integers(-127, 128, w.shape).astype(np.int8)
    feeds = [integers.view(dtype), x]
    outcome = quadra.run(m.bytes(), feeds, **options(backend=backend))
    if dtype == "uint8":
        assert "are uint8 for floats" in outcome.nodes[0]["reason"], outcome.nodes
    expected = cpu.run(m.bytes(), feeds)
    assert not outcome.error and (dtype == "uint8" or not outcome.on_cpu()), (outcome.error, outcome.nodes)
    # The CPU rounds x to 8 bits, too.
    np.testing.assert_allclose(outcome.outputs[0][0], expected[0], rtol=0, atol=0.01 * np.ptp(expected[0]))


@on_both
def test_they_can_be_forbidden(quadra, backend):
    raw = model("CONV_2D", KINDS[0])
    feeds = feeds_of(raw, "CONV_2D")
    outcome = quadra.run(raw, feeds, **options(backend=backend, quantized_models_allowed="0"))
    assert "quantized_models_allowed is 0" in outcome.nodes[0]["reason"], outcome.nodes
    outcome.check(cpu.run(raw, feeds), everything_on_gpu=False)


@pytest.mark.parametrize("allowed", ["1", "0"])
def test_a_type_that_stays_on_the_cpu_is_told_with_all_that_do_not(quadra, allowed):
    m = Model()
    x = m.input((1, 4, 4, 4), "int64")
    made = {"dtype": "int64"}
    m.output(m.op("REDUCE_PROD", [x, np.int32([1])], (1, 4, 4), "ReducerOptions", output=made, KeepDims=False))
    outcome = quadra.run(m.bytes(), **options(backend="opencl", quantized_models_allowed=allowed))
    integers = ", or int8, uint8 and int16 with a scale," if allowed == "1" else ""
    assert f"'{x.name}' is int64; float32 or int32{integers} is supported" in outcome.nodes[0]["reason"], outcome.nodes


@on_both
def test_a_diagonal_of_quantized_numbers_stays_on_the_cpu(quadra, backend):
    """Off the diagonal are integers of 0 there, which are 0.0 for a zero point of 0 alone."""
    grid = {"dtype": "int8", "scale": 0.5, "zero_point": 3}
    m = Model()
    m.output(m.op("MATRIX_DIAG", [m.input((3, 5), **grid)], (3, 5, 5), "MatrixDiagOptions", output=grid))
    raw, fed = m.bytes(), [np.arange(15, dtype=np.int8).reshape(3, 5)]
    outcome = quadra.run(raw, fed, **options(backend=backend))
    outcome.check(cpu.run(raw, fed), everything_on_gpu=False)
    assert "whatever the zero point is" in outcome.nodes[0]["reason"], outcome.nodes
