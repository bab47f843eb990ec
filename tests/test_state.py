"""Variable tensors: what an op leaves there is what it finds in the next run, whoever ran in between; resets, resizes and
nodes on the CPU see the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import TOLERANCE, Quadra, options
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.vectors.case import constant
from tests.vectors.recurrent import BOTH, LAYERS, SVDFS, Layer

on_both = pytest.mark.parametrize("backend", BACKENDS)
SEQUENCE = next(layer for layer in LAYERS if layer.op == "UNIDIRECTIONAL_SEQUENCE_LSTM" and layer.name == "all")


def rounds_of(layer: Layer, count: int = 3) -> list[list[np.ndarray]]:
    shapes = layer.case().inputs
    return [[constant(f"state/{layer.name}/{i}", shape, -2, 2) for shape in shapes] for i in range(count)]


def check_rounds(outcome, expected, tolerance=1e-5, **how) -> None:
    made = list(outcome.outputs)
    for outputs, want in zip(made, expected, strict=True):
        outcome.outputs = [outputs]
        outcome.check([np.asarray(one, np.float32) for one in want], tolerance, **how)


@on_both
@pytest.mark.parametrize("layer", [*LAYERS, *BOTH, *SVDFS], ids=lambda layer: f"{layer.op.lower()}-{layer.name}")
def test_state_is_carried_from_run_to_run(quadra: Quadra, layer, backend):
    rounds, state, expected = rounds_of(layer), layer.zeros(), []
    for inputs in rounds:
        results, state = layer.run(state, *inputs)
        expected.append(results)
    model = layer.case().model()
    check_rounds(quadra.run(model, *rounds, **options(backend=backend)), expected)
    for got, want in zip(cpu.rounds(model, rounds), expected, strict=True):
        np.testing.assert_allclose(got[0], want[0], atol=1e-5)


@on_both
@pytest.mark.parametrize("precision", ["f32_f16", "f16"])
def test_half_storage_keeps_a_state_over_many_runs(quadra: Quadra, backend, precision):
    rounds = rounds_of(SEQUENCE, 12)
    outcome = quadra.run(SEQUENCE.case().model(), *rounds, **options(backend=backend, precision=precision))
    check_rounds(outcome, cpu.rounds(SEQUENCE.case().model(), rounds), TOLERANCE[precision])


@on_both
def test_a_reset_gives_the_first_result_again(quadra: Quadra, backend):
    first, second, _ = rounds_of(SEQUENCE)
    outcome = quadra.run(SEQUENCE.case().model(), first, second, None, first, **options(backend=backend))
    assert not outcome.on_cpu() and not outcome.error
    (a,), (b,), (c,) = outcome.outputs
    assert np.array_equal(a, c) and not np.array_equal(a, b)


def _stack(between) -> bytes:
    """Two layers with `between(m, x)` between them."""
    m = Model()
    lower = Layer("LSTM", "lower", batch=2, depth=5, units=6)
    upper = Layer("UNIDIRECTIONAL_SEQUENCE_RNN", "upper", batch=1, depth=6, steps=2)
    x = lower.build(m, m.input(lower.shape))
    m.output(upper.build(m, m.reshape(between(m, x), upper.shape)))
    return m.bytes()


@on_both
@pytest.mark.parametrize("apart", [False, True], ids=["one_partition", "a_cpu_node_between"])
def test_each_partition_keeps_its_states(quadra: Quadra, backend, apart):
    model = _stack(lambda m, x: m.left_to_cpu(x) if apart else x)
    rounds = [[constant(f"state/stack/{i}", (2, 5), -2, 2)] for i in range(4)]
    outcome = quadra.run(model, *rounds, **options(backend=backend))
    check_rounds(outcome, cpu.rounds(model, rounds), everything_on_gpu=not apart)
    on_gpu = {node["op"] for node in outcome.nodes if node["on"] == "gpu"}
    assert on_gpu >= {"LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN"}


@on_both
def test_a_partition_of_unknown_sizes_keeps_its_state(quadra: Quadra, backend):
    """The CPU tells the input's size only while it runs."""
    layer = Layer("RNN", "behind_unknown")

    def build(m: Model):
        x = m.input((1, 10))
        size = m.input((2,), "int32")
        return layer.build(m, m.op("RESHAPE", [x, size], layer.shape, "ReshapeOptions"))

    m = Model()
    m.output(build(m))
    rounds = [
        [constant(f"state/unknown/{i}", (1, 10)), np.array(layer.shape, np.int32)] for i in range(3)
    ]  # fmt: skip
    outcome = quadra.run(m.bytes(), *rounds, **options(backend=backend))
    check_rounds(outcome, cpu.rounds(m.bytes(), rounds), everything_on_gpu=False)


def _with_state_read(m: Model, layer: Layer) -> None:
    states = []
    value = m.value

    def remember(shape, dtype="float32", **fields):
        made = value(shape, dtype, **fields)
        if made.variable:
            states.append(made)
        return made

    m.value = remember
    y = layer.build(m, m.input(layer.shape))
    m.output(y, m.add(states[0], constant("state/term", (layer.units,))))


@on_both
def test_a_variable_that_another_node_reads_stays_on_the_cpu(quadra: Quadra, backend):
    m = Model()
    _with_state_read(m, Layer("RNN", "read"))
    rounds = [[constant(f"state/read/{i}", (2, 5))] for i in range(3)]
    outcome = quadra.run(m.bytes(), *rounds, **options(backend=backend))
    check_rounds(outcome, cpu.rounds(m.bytes(), rounds), everything_on_gpu=False)
    assert [("used 2 times" in node["reason"]) for node in outcome.nodes] == [True, False]


@on_both
def test_a_batch_that_its_state_does_not_have_is_an_error(quadra: Quadra, backend):
    layer = Layer("LSTM", "resized")
    outcome = quadra.run(layer.case().model(), [np.zeros((3, 5), np.float32)], **options(backend=backend))
    assert "its state is of 2 batch items, its input of 3" in outcome.error
