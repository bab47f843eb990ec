"""Nodes that are one dispatch on the GPU: norms and rotary embeddings; two or three of an attention (tests/vectors/fused.py has
the numbers). By composites' names, too."""

from __future__ import annotations

import numpy as np
import pytest

from tests.delegate import TOLERANCE, options
from tests.model_builder import Model
from tests.runs import BACKENDS, PRECISIONS
from tests.vectors.case import constant
from tests.vectors.channels_first import CASES as CHANNELS_FIRST
from tests.vectors.composites import (
    CASES as COMPOSITES,
    GROUP_NORM,
    SHAPE,
    composite,
    decomposed_group_norm,
    group_norm,
    rms_norm,
)
from tests.vectors.fused import CASES, layer_norm
from tests.vectors.reductions import softmax

BY_NAME = [case for case in COMPOSITES if case.name.startswith("group_norm_")]
# Kernels that carry numbers in and out, and bring them into another shape.
_MOVES = {"to_slices", "from_slices", "reshape", "concat", "copy"}


def kernels(outcome) -> list[str]:
    [partition] = outcome.report["partitions"]
    return [dispatch["kernel"] for dispatch in partition["dispatches"]]


def work(outcome) -> list[str]:
    return [kernel for kernel in kernels(outcome) if kernel not in _MOVES]


def _of(op: str) -> list:
    return [case for case in CASES if case.op == op]


@pytest.mark.parametrize("target", ["", "mali-g76", "adreno-740-gles"])
@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize("case", _of("norm") + _of("rope"), ids=lambda case: case.id)
def test_it_is_one_dispatch(quadra, case, precision, target):
    outcome = quadra.run(case.model(), **options(target, "null", precision=precision))
    [kernel] = work(outcome)
    assert kernel.split("_")[0] == case.op
    [dispatch] = [one for one in outcome.report["partitions"][0]["dispatches"] if one["kernel"] == kernel]
    apart = {node["index"] for node in outcome.nodes if node["op"] in ("RESHAPE", "CONCATENATION")}
    assert set(dispatch["nodes"]) >= {node["index"] for node in outcome.nodes} - apart


@pytest.mark.parametrize("target", ["", "mali-g76", "adreno-740-gles"])
@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize("case", _of("group_norm"), ids=lambda case: case.id)
def test_a_norm_over_pixels_is_one_dispatch(quadra, case, precision, target):
    outcome = quadra.run(case.model(), **options(target, "null", precision=precision))
    assert set(work(outcome)) - {"mul", "add"} == {"group_norm"}, work(outcome)


@pytest.mark.parametrize("target", ["", "mali-g76", "adreno-740-gles"])
@pytest.mark.parametrize("case", CHANNELS_FIRST, ids=lambda case: case.id)
def test_channels_that_came_first_need_no_transpose(quadra, case, target):
    """Not one of a PyTorch model's, between convolutions."""
    outcome = quadra.run(case.model(), **options(target, "null"))
    done = work(outcome)
    transposes = sum(kernel.startswith(("transpose", "rearrange")) for kernel in done)
    assert transposes == ("one_transpose" in case.name), done
    if "norm" in case.name:
        assert set(done) - {"mul", "add"} == {"group_norm"}, done
    if case.name == "pixels_in_a_row":
        assert "reshape" not in kernels(outcome), done


@pytest.mark.parametrize("case", _of("silu"), ids=lambda case: case.id)
def test_silu_is_a_step_of_what_makes_its_operand(quadra, case):
    """And one dispatch where that is an input."""
    [kernel] = work(quadra.run(case.model(), **options("adreno-640", "null")))
    assert kernel.startswith("conv2d" if case.name == "of_a_product" else "silu")


@pytest.mark.parametrize("case", _of("attention"), ids=lambda case: case.id)
def test_attention_reads_what_it_is_given_as_it_lies(quadra, case):
    on_gpu = quadra.run(case.model(), **options("adreno-640", "null"))
    if case.name.startswith("tiles_"):
        assert work(on_gpu)[-1] == "attention_tiles" and set(work(on_gpu)[:-1]) <= {"mul"}
        return
    assert work(on_gpu)[-2:] == ["attention_scores", "attention_values_group"]
    assert set(work(on_gpu)[:-2]) <= {"mul"}  # a factor before a reshape
    on_cpu = quadra.run(case.model(), **options("cpu-avx512", "null"))
    assert work(on_cpu)[-3:] == ["attention_scores", "softmax", "attention_values"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_composite_is_one_dispatch_in_every_precision(quadra, backend):
    m = Model()
    m.output(composite(m, [m.input(SHAPE), constant("scale", SHAPE[-1:], 0.5, 1.5)], SHAPE, 1))
    x = 300 * constant("fused/composite", SHAPE)
    squares = np.mean(x.astype(np.float64) ** 2, -1, keepdims=True)
    expected = [x / np.sqrt(squares + 1e-6) * constant("scale", SHAPE[-1:], 0.5, 1.5)]
    for precision in PRECISIONS:
        outcome = quadra.run(m.bytes(rms_norm()), [x], **options(backend=backend, precision=precision))
        outcome.check(expected, TOLERANCE[precision])
        assert work(outcome) == ["norm"]
        assert "computed as odml.rms_norm is meant" in outcome.nodes[0]["note"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("attributes", "shape", "reason"),
    [
        ({"epsilon": 1e-6, "axis": 1.0}, SHAPE[-1:], "attributes other than"),
        ({"scale": 1e-6}, SHAPE[-1:], "its option epsilon is no number"),
        ({"epsilon": 1e-6}, (5, 6), "the shapes of its inputs do not fit"),
    ],
)
def test_a_norm_that_quadra_does_not_know_is_its_decomposition(quadra, attributes, shape, reason, backend):
    m, inner = Model(), Model()
    m.output(composite(m, [m.input(SHAPE), constant("scale", shape)], SHAPE, 1, **attributes))
    inner.output(inner.mul(inner.input(SHAPE), inner.input(shape)))
    x = constant("fused/composite", SHAPE)
    outcome = quadra.run(m.bytes(inner), [x], **options(backend=backend))
    outcome.check([x * constant("scale", shape)])
    assert reason in outcome.nodes[0]["note"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", BY_NAME, ids=lambda case: case.id)
def test_a_norm_of_groups_is_one_dispatch_by_its_name(quadra, case, backend):
    outcome = quadra.run(case.model(), case.feeds(), **options(backend=backend))
    case.check(outcome, TOLERANCE["f32"])
    assert work(outcome) == ["norm" if "layer_norm" in case.name else "group_norm"]
    assert f"computed as {GROUP_NORM} is meant" in outcome.nodes[0]["note"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("precision", ["f32_f16", "f16"])
@pytest.mark.parametrize("mean", [0.0, 40.0])
def test_a_norm_of_groups_adds_floats_in_half_precision(quadra, mean, precision, backend):
    """Squares of 5000 are beyond half; and means are no halfs, or what is left of numbers near them would be none."""
    shape = (1, 12, 11, 20)
    m = Model()
    m.output(composite(m, [m.input(shape)], shape, 1, GROUP_NORM, epsilon=1e-5, num_groups=2, sub_type=0))
    x = constant("fused/half", shape) + np.float32(mean) if mean else 5000 * constant("fused/half", shape)
    outcome = quadra.run(
        m.bytes(decomposed_group_norm(shape, 2, 0)), [x], **options(backend=backend, precision=precision)
    )
    outcome.check([group_norm(x, 2).astype(np.float32)], 2e-2 if mean else TOLERANCE[precision])


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"epsilon": 1e-5, "num_groups": 2, "channel_axis": 1}, "channels are not the last axis"),
        ({"epsilon": 1e-5, "num_groups": 2}, "whether it is LayerNorm or GroupNorm"),
        ({"epsilon": 1e-5, "num_groups": 2, "channel_axis": 3}, "whether it is LayerNorm or GroupNorm"),
        ({"epsilon": 1e-5, "num_groups": 2, "sub_type": 1}, "whether it is LayerNorm or GroupNorm"),
        (
            {"epsilon": 1e-5, "num_groups": 2, "sub_type": 0, "reduction_axes": 3},
            "whether it is LayerNorm or GroupNorm",
        ),
        ({"epsilon": 1e-5, "num_groups": 2, "sub_type": 0, "reduction_axes": 2}, "other axes than the last"),
        ({"epsilon": 1e-5, "num_groups": 5, "sub_type": 0}, "groups of such an input"),
        ({"epsilon": 1e-5, "num_groups": 0, "sub_type": 0}, "num_groups is no size"),
        ({"epsilon": 1e-5, "sub_type": 0}, "whether it is LayerNorm or GroupNorm"),
        ({"eps": 1e-5, "num_groups": 2}, "its option epsilon is no number"),
        ({"epsilon": -1.0}, "an epsilon below 0"),
        ({"epsilon": 1e-5, "momentum": 0.1}, "attributes that are not known"),
        ({"epsilon": 1e-5, "num_groups": 2, "_TENSOR_V1_reduction_axes": [1, 2, 3]}, "is no map"),
    ],
)
def test_a_norm_of_groups_that_says_not_which_is_its_decomposition(quadra, attributes, reason):
    m = Model()
    m.output(composite(m, [m.input(SHAPE)], SHAPE, 1, GROUP_NORM, **attributes))
    x = constant("fused/composite", SHAPE)
    outcome = quadra.run(m.bytes(decomposed_group_norm(SHAPE, 3, 0)), [x], **options())
    outcome.check([group_norm(x, 3).astype(np.float32)])
    assert reason in outcome.nodes[0]["note"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("axis", "by_name"), [(-1.0, True), (3.0, True), (2.0, False)])
def test_softmax_is_computed_by_its_name_along_the_last_axis(quadra, axis, by_name, backend):
    m, inner = Model(), Model()
    m.output(composite(m, [m.input(SHAPE)], SHAPE, 1, "odml.softmax", axis=axis))
    inner.output(inner.unary("TANH", inner.input(SHAPE)))  # another function
    x = 9 * constant("fused/softmax", SHAPE)
    outcome = quadra.run(m.bytes(inner), [x], **options(backend=backend))
    outcome.check([softmax(x) if by_name else np.tanh(x)])
    assert work(outcome) == ["softmax" if by_name else "tanh"]
    assert by_name or "an axis, which is the last one" in outcome.nodes[0]["note"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_parts_of_a_norm_that_others_read_are_there_too(quadra, backend):
    shape = (1, 5, 12)
    m = Model()
    x = m.input(shape)
    y = layer_norm(m, x, 1e-5)
    centered = m.elementwise("SUB", x, m.mean(x, (-1,), True), kind="SubOptions")
    m.output(y, m.unary("TANH", m.mul(y, centered)), m.mean(m.mul(centered, centered), (-1,), True))
    outcome = quadra.run(m.bytes(), [constant("fused/parts", shape)], **options(backend=backend))
    x = constant("fused/parts", shape).astype(np.float64)
    c = x - x.mean(-1, keepdims=True)
    v = (c * c).mean(-1, keepdims=True)
    y = c / np.sqrt(v + 1e-5)
    outcome.check([y.astype(np.float32), np.tanh(y * c).astype(np.float32), v.astype(np.float32)])
    assert "norm" in work(outcome)
