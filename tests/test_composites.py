"""STABLEHLO_COMPOSITE: the subgraph that it names runs in its place, as a part of the same partition. Attention is computed by
its name."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from tests import cpu
from tests.delegate import TOLERANCE, options
from tests.model_builder import LACKED, Model
from tests.runs import BACKENDS, PRECISIONS
from tests.test_fused import work
from tests.vectors.case import constant
from tests.vectors.composites import ATTENTION, SHAPE, attends, attention, composite, masked, not_attention, rms_norm
from tests.vectors.decoders import (
    CASES as DECODERS,
    ROPE,
    cached,
    multiplied,
    reads_cache,
    rope,
    turned,
)

on_both = pytest.mark.parametrize("backend", BACKENDS)


def check(quadra, raw: bytes, feeds: list, backend: str, on_gpu: list[bool]):
    outcome = quadra.run(raw, feeds, **options(backend=backend))
    assert [node["on"] == "gpu" for node in outcome.nodes] == on_gpu, (outcome.error, outcome.nodes)
    outcome.check(cpu.run(raw, feeds), everything_on_gpu=False)
    return outcome


@on_both
def test_it_is_inlined_as_often_as_it_is_used(quadra, backend):
    m = Model()
    x = m.unary("RELU", m.input(SHAPE))
    y = composite(m, [x, constant("scale", SHAPE[-1:])], SHAPE, 1)
    m.output(m.add(composite(m, [m.unary("TANH", y), m.input(SHAPE[-1:])], SHAPE, 1), x))
    feeds = [constant("composite/x", SHAPE), constant("composite/scale", SHAPE[-1:])]
    outcome = check(quadra, m.bytes(rms_norm()), feeds, backend, [True] * 5)
    assert {node["partition"] for node in outcome.nodes} == {0}
    assert {node["subgraph"] for node in outcome.nodes} == {0}, "the decomposition was compiled, too"


@on_both
def test_one_in_another_and_a_resize(quadra, backend):
    m, middle = Model(), Model()
    m.output(composite(m, [m.input(SHAPE), constant("scale", SHAPE[-1:])], SHAPE, 1, "outer"))
    x, scale = middle.input(SHAPE), middle.input(SHAPE[-1:])
    middle.output(middle.unary("TANH", composite(middle, [x, scale], SHAPE, 2)))
    raw = m.bytes(middle, rms_norm())
    rounds = [[constant(f"composite/{b}", (b, *SHAPE[1:]))] for b in (2, 4, 2)]
    outcome = quadra.run(raw, *rounds, **options(backend=backend))
    assert not outcome.error and [node["on"] for node in outcome.nodes] == ["gpu"], (outcome.error, outcome.nodes)
    for got, feeds in zip(outcome.outputs, rounds, strict=True):
        outcome.outputs = [got]
        outcome.check(cpu.run(raw, feeds))


@on_both
def test_sizes_in_it_are_folded(quadra, backend):
    m, inner = Model(), Model()
    m.output(m.unary("RELU", composite(m, [m.unary("TANH", m.input(SHAPE))], SHAPE, 1, "flat")))
    x = inner.input(SHAPE)
    sizes = inner.op("SHAPE", [x], (4,), "ShapeOptions", OutType=2, output={"dtype": "int32"})
    inner.output(inner.op("RESHAPE", [inner.reshape(x, (2, 90)), sizes], SHAPE))
    check(quadra, m.bytes(inner), [constant("composite/x", SHAPE)], backend, [True] * 3)


@on_both
def test_what_quadra_lacks_in_it_leaves_it_to_the_cpu_with_the_reason(quadra, backend):
    m, inner = Model(), Model()
    m.output(m.unary("RELU", composite(m, [m.input(SHAPE)], SHAPE, 1)))
    inner.output(inner.unary("TANH", inner.left_to_cpu(inner.input(SHAPE))))
    outcome = check(quadra, m.bytes(inner), [constant("composite/x", SHAPE)], backend, [False, True, False, True])
    assert f"node 0 ({LACKED}) of its decomposition" in outcome.nodes[0]["reason"], outcome.nodes


@on_both
def test_a_small_decomposition_of_one_on_the_cpu_stays_there_too(quadra, backend):
    """Each use of the composite would be a round trip to the GPU. It was one: the subgraph is in one piece."""
    m = Model()
    x = m.unary("RELU", m.input(SHAPE))
    m.output(composite(m, [x, constant("scale", SHAPE[-1:])], SHAPE, 1))
    feeds = [constant("composite/x", SHAPE)]
    outcome = quadra.run(m.bytes(rms_norm()), feeds, backend=backend, last_delegate_node_index="0")
    outcome.check(cpu.run(m.bytes(rms_norm()), feeds), everything_on_gpu=False)
    reasons = [node["reason"] for node in outcome.nodes if node["subgraph"] == 1]
    assert reasons and all(reasons), outcome.nodes
    assert any("too small" in reason for reason in reasons), reasons


@on_both
@pytest.mark.parametrize("inner_first", [False, True])
def test_what_only_runs_in_a_composite_makes_no_partition(quadra, inner_first, backend):
    """Also of one in another, whichever the file has first; and with a limit to the number of partitions."""
    outer_at, inner_at = (2, 1) if inner_first else (1, 2)
    m, middle = Model(), Model()
    y = composite(m, [m.input(SHAPE), constant("scale", SHAPE[-1:])], SHAPE, outer_at, "outer")
    m.output(m.unary("RELU", m.left_to_cpu(y)))
    x, scale = middle.input(SHAPE), middle.input(SHAPE[-1:])
    middle.output(middle.unary("TANH", composite(middle, [x, scale], SHAPE, inner_at)))
    raw = m.bytes(*((rms_norm(), middle) if inner_first else (middle, rms_norm())))
    feeds = [constant("composite/x", SHAPE)]
    for most in (0, 2):
        outcome = quadra.run(raw, feeds, **options(backend=backend, max_delegated_partitions=str(most)))
        outcome.check(cpu.run(raw, feeds), everything_on_gpu=False)
        assert [(node["subgraph"], node["on"]) for node in outcome.nodes] == [(0, "gpu"), (0, "cpu"), (0, "gpu")]


@on_both
def test_a_large_decomposition_of_one_on_the_cpu_is_on_the_gpu(quadra, backend):
    """And nowhere where both of its composites are on the GPU."""
    shape = (1, 60, 60, 32)
    m, inner = Model(), Model()
    m.output(composite(m, [m.left_to_cpu(composite(m, [m.input(shape)], shape, 1))], shape, 1))
    y = inner.input(shape)
    for layer in range(4):
        y = inner.conv2d(y, constant(f"large/{layer}", (32, 3, 3, 32), -0.1, 0.1), constant("large/b", (32,)))
    inner.output(y)
    raw, feeds = m.bytes(inner), [constant("composite/large", shape)]
    expected = cpu.run(raw, feeds)
    outcome = quadra.run(raw, feeds, **options(backend=backend))
    outcome.check(expected, everything_on_gpu=False)
    assert [(node["subgraph"], node["on"]) for node in outcome.nodes] == [(0, "gpu"), (0, "cpu"), (0, "gpu")]
    outcome = quadra.run(raw, feeds, backend=backend, first_delegate_node_index="1")
    outcome.check(expected, everything_on_gpu=False)
    on = [node["on"] for node in outcome.nodes if node["subgraph"] == 1]
    assert outcome.nodes[0]["on"] == "cpu" and on == ["cpu", "gpu", "gpu", "gpu"], outcome.nodes


@on_both
def test_a_decomposition_of_several_outputs_stays_on_the_cpu(quadra, backend):
    """Their order is not known."""
    m, inner = Model(), Model()
    parts = composite(m, [m.input(SHAPE)], [SHAPE, SHAPE], 1)
    m.output(*parts)
    x = inner.input(SHAPE)
    inner.output(inner.unary("TANH", x), inner.unary("RELU", x))
    outcome = check(quadra, m.bytes(inner), [constant("composite/x", SHAPE)], backend, [False, True, True])
    assert "whose order is not known" in outcome.nodes[0]["reason"], outcome.nodes


@on_both
def test_outputs_that_differ_in_size_are_told_apart(quadra, backend):
    """The decomposition makes them in another order than the node names them."""
    m, inner = Model(), Model()
    half, whole = (*SHAPE[:3], 3), SHAPE
    parts = composite(m, [m.input(SHAPE)], [half, whole], 1, "several")
    m.output(*parts)
    x = inner.input(SHAPE)
    y = inner.unary("TANH", x)
    part = inner.op("SLICE", [y, np.int32([0] * 4), np.int32(half)], half, "SliceOptions")
    inner.output(part, y)
    check(quadra, m.bytes(inner), [constant("composite/x", SHAPE)], backend, [True])


# Kernels of a phone's plan, but those that bring numbers into another shape.
BY_NAME = {
    "runtime_bmm": ["batch_matmul"],
    "cache_update": ["transpose", "update_in_place"],
    "sdpa_transposed": ["select", "attention_scores", "attention_values_group", "attention_tiles"],
}


def _of_decoders(names) -> list:
    return [case for case in DECODERS if case.name.startswith(tuple(names))]


@on_both
@pytest.mark.parametrize("case", _of_decoders(BY_NAME), ids=lambda case: case.id)
def test_a_decoders_composite_is_computed_by_its_name(quadra, case, backend):
    """Its decomposition reads the parameters, which the kernels do not."""
    outcome = quadra.run(case.model(), case.feeds(), **options(backend=backend))
    case.check(outcome, TOLERANCE["f32"])
    assert "is meant; its decomposition is not used" in outcome.nodes[0]["note"]
    plan = quadra.run(case.model(), **options("adreno-640", "null"))
    allowed = next(kernels for name, kernels in BY_NAME.items() if case.name.startswith(name))
    assert {kernel.removesuffix("_joined") for kernel in work(plan)} <= set(allowed), work(plan)


@on_both
@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (cached("ring", 2, 1, 9, 8, 5, is_ring_buffer=True), "it is a ring"),
        (cached("scaled", 2, 1, 9, 8, 5, scale_k=0.5), "attributes that are not known"),
        (cached("of_another_size", 2, 1, 9, 8, 5, cache_size=8), "do not fit its attributes"),
        (cached("without_a_size", 2, 1, 9, 8, 5, cache_size=-1), "cache_size is no place"),
        (cached("along_heads", 2, 1, 9, 8, 5, v_cache_ts_idx=1), "v_cache_ts_idx is 1"),
        (multiplied("scaled", (1, 2, 3, 8), (1, 2, 9, 8), scale=0.5), "attributes that are not known"),
        (multiplied("of_one_batch", (2, 2, 3, 8), (1, 2, 9, 8)), "do not fit each other"),
        (reads_cache("softer", 4, 2, 1, 37, 12, scale=0.5), "attributes that are not known"),
        (reads_cache("of_columns", 4, 2, 1, 37, 12, k_ts_idx=3), "or its attributes"),
        (reads_cache("of_rows", 4, 2, 1, 37, 12, v_ts_idx=2), "or its attributes"),
    ],
    ids=lambda value: getattr(value, "id", None),
)
def test_one_that_quadra_does_not_know_is_its_decomposition(quadra, case, reason, backend):
    outcome = quadra.run(case.model(), case.feeds(), **options(backend=backend))
    case.check(outcome, TOLERANCE["f32"])
    assert reason in outcome.nodes[0]["note"], outcome.nodes[0]


@on_both
def test_decompositions_share_what_they_both_compute(quadra, backend):
    """Angles of the same positions, in each layer for q and for k."""
    shape = (1, 5, 3, 16)
    m = Model()
    inputs = [m.input(shape), m.input(shape)]
    position = m.input((1, 5), "int32")
    m.output(*(composite(m, [x, position], shape, 1, "odml.rope", **ROPE) for x in inputs))
    feeds = [constant("rope/q", shape), constant("rope/k", shape), np.int32([[3, 4, 5, 6, 7]])]
    apart = options(backend=backend, self_check="1")  # a GPU's kernels would be joined
    outcome = quadra.run(m.bytes(rope(shape, 10000.0)), feeds, **apart)
    outcome.check([turned(x, feeds[2]).astype(np.float32) for x in feeds[:2]], TOLERANCE["f32"])
    assert sorted(kernel for kernel in work(outcome) if kernel in ("cos", "sin", "rope")) == [
        "cos",
        "rope",
        "rope",
        "sin",
    ]


@on_both
@pytest.mark.parametrize("subgraph", [0, 1, 7, -1])
def test_a_decomposition_that_is_none_is_a_verdict(quadra, subgraph, backend):
    """A part of itself, or not there. The interpreter's own kernel does not survive the former: nothing is run."""
    m, inner = Model(), Model()
    m.output(m.unary("RELU", composite(m, [m.unary("TANH", m.input(SHAPE))], SHAPE, 1)))
    inner.output(composite(inner, [inner.input(SHAPE)], SHAPE, subgraph))
    outcome = quadra.run(m.bytes(inner), **options(backend=backend))
    assert outcome.report, outcome.error
    assert [node["on"] for node in outcome.nodes] == ["gpu", "cpu", "gpu", "cpu"], outcome.nodes
    assert f"its decomposition, subgraph {subgraph}, is none" in outcome.nodes[1]["reason"], outcome.nodes


def run_by_xnnpack(raw: bytes, feeds: list) -> list:
    interpreter = Interpreter(model_content=raw, experimental_op_resolver_type=OpResolverType.AUTO)
    interpreter.allocate_tensors()
    for detail, feed in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(detail["index"], feed)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


@on_both
@pytest.mark.parametrize("shared", [1, 2, 4])
@pytest.mark.parametrize("rows", [1, 5])
def test_attention_is_what_its_name_means_as_xnnpack_has_it(quadra, rows, shared, backend):
    """Whatever its decomposition is. That is not compiled by itself either."""
    case = attends("", 1, rows, 9, 4, shared, 8, mask=masked((1, 1, rows, 9), -1e9), logit_cap=3.0)
    for precision in PRECISIONS:
        outcome = quadra.run(case.model(), case.feeds(), **options(backend=backend, precision=precision))
        outcome.check(run_by_xnnpack(case.model(), case.feeds()), TOLERANCE[precision])
        [node] = outcome.nodes
        assert node["note"] == f"computed as {ATTENTION} is meant; its decomposition is not used"


@on_both
@pytest.mark.parametrize(
    ("attributes", "shapes", "reason"),
    [
        ({"scale": 0.5, "dropout": 0.1}, [(1, 3, 4, 8), (1, 9, 2, 8)], "attributes other than"),
        ({"scale": 0.5, "logit_cap": 0.0}, [(1, 3, 4, 8), (1, 9, 2, 8)], "a logit_cap above 0"),
        ({"logit_cap": 2.0}, [(1, 3, 4, 8), (1, 9, 2, 8)], "its option scale is no number"),
        ({"scale": 0.5}, [(1, 3, 4, 8), (1, 9, 3, 8)], "the shapes of its inputs do not fit"),
        ({"scale": 0.5}, [(1, 3, 4, 8), (1, 9, 2, 8), (1, 1, 2, 9)], "the shapes of its inputs do not fit"),
    ],
)
def test_attention_that_quadra_does_not_know_is_computed_as_its_decomposition(
    quadra, attributes, shapes, reason, backend
):
    m, (q, k, *mask) = Model(), shapes
    shapes = [q, k, k, *mask]
    m.output(m.unary("RELU", composite(m, [m.input(shape) for shape in shapes], q, 1, ATTENTION, **attributes)))
    feeds = [constant(f"attention/{i}", shape) for i, shape in enumerate(shapes)]
    outcome = check(quadra, m.bytes(not_attention(*shapes)), feeds, backend, [True, True])
    note = outcome.nodes[0]["note"]
    assert note.startswith(f"computed as its decomposition, which need not be {ATTENTION}: ") and reason in note
    assert "note" not in outcome.nodes[1]


@on_both
def test_attention_from_the_cache_and_over_another_length(quadra, backend, tmp_path):
    case = attends("", 1, 3, 9, 4, 1, 8, mask=masked((1, 1, 3, 9)))
    q, *others = case.feeds()
    shorter = [q, others[0][:, :7], others[1][:, :7], np.ascontiguousarray(others[2][..., :7])]
    cached = []
    for _ in range(2):
        outcome = quadra.run(
            case.model(), case.feeds(), shorter, **options(backend=backend, serialization_dir=str(tmp_path))
        )
        assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
        for got, feeds in zip(outcome.outputs, (case.feeds(), shorter), strict=True):
            np.testing.assert_allclose(got[0], attention(*feeds, scale=8**-0.5), atol=1e-5)
        cached.append(outcome.report["partitions"][0]["cache"])
    assert "miss" in cached[0] and cached[1].startswith("hit"), cached
