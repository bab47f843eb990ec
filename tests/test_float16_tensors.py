"""Tensors of float16 at the borders of partitions, beside tests/vectors/with_float16.py: with nodes on the CPU, in other sizes, from the
cache, through CompiledModel, in a replay."""

from __future__ import annotations

import numpy as np
import pytest

from host_tools.build import bazel
from host_tools.judge import judged
from host_tools.places import on_host
from host_tools.record import named_plans
from host_tools.replay import replay_session
from host_tools.replay.replay_session import Asked
from host_tools.request import from_arguments
from tests import cpu
from tests.compiled import Compiled, variables
from tests.delegate import options
from tests.model_builder import Model
from tests.runs import BACKENDS, PRECISIONS
from tests.vectors.case import Feed
from tests.vectors.with_float16 import HALF, SHAPE, makes_half, to_float, to_half

on_both = pytest.mark.parametrize("backend", BACKENDS)
STEP = 2.0**-10  # of a half near 1: what the CPU rounds each result to
SIZES = ((1, 7, 9, 6), (2, 1, 1, 6), SHAPE)


def model() -> bytes:
    """Halfs come in and go out, between two nodes each."""
    m = Model()
    x = m.input(SHAPE, HALF, name="x")
    sum_ = makes_half(m, "ADD", [x, to_half(m, m.input(SHAPE, name="y"))], options="AddOptions")
    moved = makes_half(m, "CONCATENATION", [sum_, x], (*SHAPE[:3], 12), "ConcatenationOptions", Axis=3)
    m.output(moved, m.unary("ABS", to_float(m, x)))
    return m.bytes()


def feeds(shape=SHAPE) -> list[np.ndarray]:
    return [Feed(shape, dtype=dtype).make(f"float16/{dtype}/{shape}") for dtype in (HALF, "float32")]


def check(outcome, everything_on_gpu: bool = True) -> None:
    outcome.check(cpu.run(model(), feeds()), 2 * STEP, everything_on_gpu)
    assert [output.dtype for output in outcome.outputs[-1]] == [np.float16, np.float32]


@on_both
@pytest.mark.parametrize("precision", PRECISIONS)
def test_inputs_and_outputs(quadra, backend, precision):
    check(quadra.run(model(), feeds(), **options(backend=backend, precision=precision)))


@on_both
@pytest.mark.parametrize(("first", "last"), [(1, 4), (2, 4), (3, 4), (0, 0), (0, 1), (1, 1), (2, 2)])
def test_beside_nodes_on_the_cpu(quadra, backend, first, last):
    parts = {"first_delegate_node_index": str(first), "last_delegate_node_index": str(last)}
    outcome = quadra.run(model(), feeds(), **options(backend=backend, **parts))
    check(outcome, everything_on_gpu=False)
    on = [node["on"] for node in outcome.nodes if node["op"] != "DELEGATE"]
    assert on == ["gpu" if first <= i <= last else "cpu" for i in range(5)]


@on_both
def test_in_other_sizes_and_from_the_cache(quadra, backend, tmp_path):
    rounds = [feeds(), *map(feeds, SIZES)]
    for word in ("miss", "hit"):
        outcome = quadra.run(model(), *rounds, **options(backend=backend, serialization_dir=str(tmp_path)))
        assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
        for got, fed in zip(outcome.outputs, rounds, strict=True):
            for mine, other in zip(got, cpu.run(model(), fed), strict=True):
                np.testing.assert_allclose(mine, other, atol=8 * STEP)
        check(outcome)
        assert word == "miss" or outcome.report["partitions"][0]["cache"]
    outcome = quadra.run(model(), feeds(), **options(backend=backend, serialization_dir=str(tmp_path)))
    check(outcome)
    assert outcome.report["partitions"][0]["cache"] == "hit"


@on_both
def test_through_compiled_model(backend):
    worker = Compiled(bazel.accelerator())
    try:
        outcome = worker.run(model(), feeds(), env=variables(backend))
    finally:
        worker.close()
    check(outcome)
    assert outcome.report["fully_accelerated"]


@on_both
def test_a_state_of_halfs_stays_on_the_cpu(quadra, backend):
    """No kernel of the CPU has one either."""
    m = Model()
    state = m.value((2, 4), HALF, variable=True, name="state")
    constants = [np.float32(np.eye(4, 3)), np.float32(np.eye(4)), np.zeros(4, np.float32)]
    m.output(m.op("RNN", [m.input((2, 3)), *constants, state], (2, 4), "RNNOptions", FusedActivationFunction=0))
    outcome = quadra.run(m.bytes(), **options(backend=backend))
    assert outcome.on_cpu() == [
        "0 RNN: input 'state' is float16; float32, or int8, uint8 and int16 with a scale, is supported"
    ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_is_judged_and_its_replay_gets_the_floats(library, tmp_path, monkeypatch, backend):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    path = tmp_path / "halfs.tflite"
    path.write_bytes(model())
    spec = from_arguments.make_spec(str(path), backend=backend, repetitions=1, options="small_partitions_allowed=1")
    folder = on_host.Host(library).run(spec)
    found = judged.judge(folder)
    assert found.ok and [output.dtype for output in found.comparison.outputs] == [HALF, "float32"]
    assert [output.allowed for output in found.comparison.outputs] == [1e-2, 1e-4]
    [outcome] = replay_session.replay(named_plans.find(str(folder.path)), Asked(), lambda stage: None)
    assert outcome.ok and all(row.against == "the run" and row.error.different == 0 for row in outcome.outputs)
