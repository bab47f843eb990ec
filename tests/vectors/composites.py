"""STABLEHLO_COMPOSITE: one node for a subgraph of the model. Attention's subgraph here is another function than its name
says, as litert-torch 0.10 writes it for one head of keys and values: what counts is the name."""

from __future__ import annotations

import numpy as np
from flatbuffers import flexbuffers

from tests.model_builder import Model, Value
from tests.vectors.case import Case, Feed, constant

SHAPE = (2, 3, 5, 6)
_EPSILON = 1e-6


ATTENTION = "odml.scaled_dot_product_attention"


def composite(m: Model, inputs: list, shape, subgraph: int, name: str = "odml.rms_norm", **attributes: float) -> Value:
    as_floats = {name: float(np.float32(number)) for name, number in (attributes or {"epsilon": _EPSILON}).items()}
    raw = bytes(flexbuffers.Dumps(as_floats))  # XNNPACK reads no doubles
    return m.op("STABLEHLO_COMPOSITE", inputs, shape, "StableHLOCompositeOptions", Name=name,
                DecompositionSubgraphIndex=subgraph, CompositeAttributes=raw, Version=1)  # fmt: skip


def rms_norm() -> Model:
    """x * rsqrt(mean(x * x) + epsilon) * scale, over the last axis."""
    m = Model()
    x, scale = m.input(SHAPE), m.input(SHAPE[-1:])
    mean = m.op("MEAN", [m.mul(x, x), np.int32([3])], (*SHAPE[:3], 1), "ReducerOptions", KeepDims=True)
    m.output(m.mul(m.mul(x, m.elementwise("RSQRT", m.add(mean, np.float32(_EPSILON)))), scale))
    return m


def not_attention(*shapes) -> Model:
    """The sum of all inputs' largest numbers and q, or of as much of them as is wanted."""
    m = Model()
    q, *others = [m.input(shape) for shape in shapes]
    for other in others:
        axes = np.int32(range(4))
        q = m.add(q, m.op("REDUCE_MAX", [other, axes], (1, 1, 1, 1), "ReducerOptions", KeepDims=True))
    m.output(q)
    return m


def attention(q, k, v, mask=0.0, *, scale: float, logit_cap: float = 0.0) -> np.ndarray:
    """q [b, t, n, h], k [b, s, m, h], v [b, s, m, d], mask [b or 1, n or 1, t or 1, s]: in float64."""
    shared = q.shape[2] // k.shape[2]
    k, v = (np.repeat(x.astype(np.float64), shared, 2) for x in (k, v))
    products = scale * np.einsum("btnh,bsnh->bnts", q.astype(np.float64), k)
    if logit_cap:
        products = logit_cap * np.tanh(products / logit_cap)
    products = products + mask
    weights = np.exp(products - products.max(-1, keepdims=True))
    return np.einsum("bnts,bsnd->btnd", weights / weights.sum(-1, keepdims=True), v)


def masked(shape, most: float = -3e38) -> Feed:
    """Rows of zeros, with some places that do not count."""
    return Feed(shape, 0.0, 0.0, special=(most,) * (int(np.prod(shape)) // 3))


def attends(name: str, b: int, t: int, s: int, n: int, m: int, h: int, d: int = 0, mask=None, **attributes) -> Case:
    """mask: its feed, or an array that is a constant of the model."""
    attributes = {"scale": h**-0.5, **attributes}
    shapes = [(b, t, n, h), (b, s, m, h), (b, s, m, d or h)]
    masks = [] if mask is None else [mask]
    is_constant = isinstance(mask, np.ndarray)

    def build(model, *inputs):
        all_inputs = [*inputs, *masks] if is_constant else list(inputs)
        return composite(model, all_inputs, (b, t, n, d or h), 1, ATTENTION, **attributes)

    return Case(
        "STABLEHLO_COMPOSITE",
        f"attention_{name}",
        [*shapes, *([] if is_constant else masks)],
        build,
        lambda *arrays: attention(*arrays, *(masks if is_constant else []), **attributes),
        on_cpu=False,
        subgraphs=(lambda: not_attention(*shapes, *([mask.shape] if masks else [])),),
    )


_PAST = np.where(np.arange(9) < 6, 0.0, -1e9).astype(np.float32)
_CAUSAL = np.where(np.tri(5, 9, 4), 0.0, -3.4e38).astype(np.float32)

_LAST = (1, 2, 3, 3)


def _last_of_all() -> Model:
    """The end of x, from a place that follows from its shape."""
    m = Model()
    x = m.input(SHAPE)
    sizes = m.op("SHAPE", [x], (4,), "ShapeOptions", OutType=2, output={"dtype": "int32"})
    begin = m.op("SUB", [sizes, np.int32(_LAST)], (4,), "SubOptions", output={"dtype": "int32"})
    m.output(m.op("SLICE", [x, begin, np.int32([-1] * 4)], _LAST, "SliceOptions"))
    return m


_SCALE = constant("composite/scale", SHAPE[-1:])

CASES = [
    Case(
        "STABLEHLO_COMPOSITE",
        "rms_norm",
        [SHAPE],
        lambda m, x: composite(m, [x, _SCALE], SHAPE, 1),
        lambda x: x / np.sqrt(np.mean(x.astype(np.float64) ** 2, -1, keepdims=True) + _EPSILON) * _SCALE,
        subgraphs=(rms_norm,),
    ),
    Case(
        "STABLEHLO_COMPOSITE",
        "slices_from_where_its_shape_says",
        [SHAPE],
        lambda m, x: composite(m, [x], _LAST, 1, "last"),
        lambda x: x[1:, 1:, 2:, 3:],
        subgraphs=(_last_of_all,),
    ),
    attends("one_shared_head_decode", 1, 1, 9, 4, 1, 6, mask=_PAST.reshape(1, 1, 1, 9)),
    attends("one_shared_head_prefill", 1, 5, 9, 3, 1, 8, mask=masked((1, 1, 5, 9))),
    attends("groups_decode", 2, 1, 7, 6, 2, 10, mask=masked((2, 1, 1, 7)), scale=0.7),
    attends("groups_prefill", 1, 5, 9, 4, 2, 12, mask=_CAUSAL.reshape(1, 1, 5, 9), logit_cap=1.5),
    attends("groups_without_mask", 2, 3, 11, 6, 3, 4, 7),
    attends("own_heads_decode", 1, 1, 9, 3, 3, 8, mask=masked((1, 1, 1, 9), -1e4), logit_cap=50.0),
    attends("own_heads_prefill", 2, 4, 6, 3, 3, 5, mask=masked((1, 3, 4, 6))),
    attends("mask_of_a_row", 1, 4, 9, 6, 2, 8, mask=masked((1, 1, 1, 9))),
    attends("mask_of_each_head", 1, 4, 6, 6, 2, 8, mask=masked((1, 6, 4, 6))),
    attends("mask_of_each_head_decode", 1, 1, 6, 4, 1, 8, mask=masked((1, 4, 1, 6))),
    attends("mask_of_one_column", 1, 2, 6, 4, 2, 8, mask=constant("attention/column", (1, 1, 2, 1))),
]
