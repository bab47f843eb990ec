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


def composite(m: Model, inputs: list, shape, subgraph: int, name: str = "odml.rms_norm", **attributes) -> Value:
    given = (attributes or {"epsilon": _EPSILON}).items()
    narrow = {name: float(np.float32(value)) if isinstance(value, float) else value for name, value in given}
    raw = bytes(flexbuffers.Dumps(narrow))  # XNNPACK reads no doubles
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


GROUP_NORM = "odml.group_norm"


def group_norm(x: np.ndarray, groups: int, epsilon: float = 1e-5) -> np.ndarray:
    """Of [b, ..., c], over all axes between and the channels of a group; groups of 0: over the channels alone."""
    shape = (*x.shape[:-1], 1, x.shape[-1]) if groups == 0 else (x.shape[0], -1, groups, x.shape[-1] // groups)
    y = x.astype(np.float64).reshape(shape)
    axes = (-1,) if groups == 0 else (1, 3)
    y = y - y.mean(axes, keepdims=True)
    return (y / np.sqrt((y * y).mean(axes, keepdims=True) + epsilon)).reshape(x.shape)


def decomposed_group_norm(shape, groups: int, operands: int) -> Model:
    """Each group as a row, whose numbers are normalized; then factors and terms of channels."""
    m = Model()
    x, *others = [m.input(shape), *(m.input(shape[-1:]) for _ in range(operands))]
    b, c, pixels = shape[0], shape[-1], int(np.prod(shape[1:-1]))
    y, size = x, c if groups == 0 else c // groups
    if groups:
        y = m.reshape(y, (b, pixels, groups, size))
        y = m.op("TRANSPOSE", [y, np.int32([0, 2, 1, 3])], (b, groups, pixels, size), "TransposeOptions")
        y = m.reshape(y, (b, groups, pixels * size))
    centered = m.elementwise("SUB", y, m.mean(y, (-1,), True), kind="SubOptions")
    variance = m.mean(m.mul(centered, centered), (-1,), True)
    y = m.mul(centered, m.elementwise("RSQRT", m.add(variance, np.float32(1e-5))))
    if groups:
        y = m.reshape(y, (b, groups, pixels, size))
        y = m.op("TRANSPOSE", [y, np.int32([0, 2, 1, 3])], (b, pixels, groups, size), "TransposeOptions")
        y = m.reshape(y, shape)
    for name, other in zip(("MUL", "ADD"), others, strict=False):
        y = m.elementwise(name, y, other, kind=f"{name.capitalize()}Options")
    m.output(y)
    return m


def _group_norm(name: str, shape, groups: int, most: float = 2.0, operands: int = 2, **attributes) -> Case:
    """groups of 0: LayerNorm, which has the same name."""
    gamma, beta = constant("group_norm/gamma", shape[-1:], 0.5, 1.5), constant("group_norm/beta", shape[-1:])
    given = {"epsilon": 1e-5, **attributes}

    def reference(x):
        y = group_norm(x, groups)
        return y * gamma + beta if operands == 2 else y * gamma if operands == 1 else y

    return Case(
        "STABLEHLO_COMPOSITE",
        f"group_norm_{name}",
        [Feed(shape, -most, most)],
        lambda m, x: composite(m, [x, gamma, beta][: 1 + operands], shape, 1, GROUP_NORM, **given),
        reference,
        subgraphs=(lambda: decomposed_group_norm(shape, groups, operands),),
    )


_OF_LITERT_TORCH = {"reduction_axes": 3, "channel_axis": 3}  # generative/layers/normalization.py
_ALL_AXES = {"_TENSOR_V1_reduction_axes": {"TENSOR_DATA": [1, 2, 3]}, "sub_type": 0}  # as ML Drift reads it

_PAST = np.where(np.arange(9) < 6, 0.0, -1e9).astype(np.float32)
_CAUSAL = np.where(np.tri(5, 9, 4), 0.0, -3.4e38).astype(np.float32)


def _causal(rows: int, places: int, hides: float, empty: int = 0) -> np.ndarray:
    """The last row sees all but the first `empty` places, none of a tile's perhaps; each row sees its own place."""
    own = places - rows + np.arange(rows)[:, None]
    sees = np.tri(rows, places, places - rows) * (np.arange(places) >= np.minimum(empty, own))
    return np.where(sees, 0.0, hides).astype(np.float32).reshape(1, 1, rows, places)


_LOWEST = float(np.finfo(np.float32).min)
_SECOND_ROW_SEES_NOTHING = _causal(17, 70, -3.4e38)
_SECOND_ROW_SEES_NOTHING[:, :, 1] = _LOWEST

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
    _group_norm("of_slices", (2, 5, 7, 12), 3, num_groups=3, **_OF_LITERT_TORCH),
    _group_norm("of_halves_of_slices", (1, 4, 5, 10), 5, num_groups=5, **_ALL_AXES),
    _group_norm("across_slices", (2, 3, 5, 21), 7, num_groups=7, **_OF_LITERT_TORCH),
    _group_norm("of_ten", (1, 9, 8, 20), 2, most=900, num_groups=2, **_ALL_AXES),
    _group_norm("of_one", (2, 4, 3, 6), 1, operands=1, num_groups=1, sub_type=0),
    _group_norm("of_rows", (3, 9, 8), 2, operands=0, num_groups=2, sub_type=0, channel_axis=2),
    _group_norm("of_numbers", (1, 70, 3, 5), 5, num_groups=5, sub_type=0),
    _group_norm("of_rank_5", (2, 3, 4, 5, 12), 3, num_groups=3, sub_type=0, channel_axis=4),
    _group_norm("of_rank_5_across_slices", (1, 5, 2, 3, 10), 5, most=900, operands=0, num_groups=5, sub_type=0),
    _group_norm("that_is_layer_norm", (2, 3, 5, 6), 0),
    _group_norm("that_says_layer_norm", (2, 5, 7), 0, sub_type=1, channel_axis=-1, num_groups=1),
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
    # Many rows, which take tiles.
    attends("tiles_of_64", 1, 17, 70, 1, 1, 64, mask=_causal(17, 70, -3.4e38)),
    attends("tiles_of_80", 2, 7, 33, 6, 2, 80, mask=masked((2, 1, 7, 33), -1e9)),
    attends("tiles_of_96_capped", 1, 19, 101, 2, 2, 96, mask=_causal(19, 101, -np.inf, 97), logit_cap=2.0),
    attends("tiles_of_128", 1, 9, 131, 4, 2, 128, mask=_causal(9, 131, -3e38, 130)),
    attends("tiles_of_256", 1, 5, 67, 4, 1, 256, mask=_causal(5, 67, -1e5)),
    attends("tiles_of_other_values", 1, 20, 18, 1, 1, 6, 132),
    attends("tiles_of_few_places", 2, 16, 5, 2, 2, 12, mask=constant("attention/row", (1, 2, 1, 5), -3, 3)),
    attends("tiles_of_steep_scores", 1, 33, 150, 1, 1, 32, scale=4.0),
    attends("tiles_a_row_of_which_sees_nothing", 1, 17, 70, 1, 1, 16, mask=_SECOND_ROW_SEES_NOTHING),
    attends("tiles_mask_of_one_column", 1, 16, 37, 1, 1, 8, mask=constant("attention/tall", (1, 1, 16, 1))),
    attends("mask_of_one_column", 1, 2, 6, 4, 2, 8, mask=constant("attention/column", (1, 1, 2, 1))),
]
