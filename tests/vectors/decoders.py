"""Composites of LLM decoders, with the names and attributes that litert-torch writes (generative/export_hf/experimental/composites;
embedding_lookup: _convert/fx_passes/build_aten_composite_pass.py) and its decompositions, which are right."""

from __future__ import annotations

import numpy as np

from tests.model_builder import Model, Value
from tests.vectors.case import Case, Feed, constant
from tests.vectors.composites import composite

_INT32 = {"dtype": "int32"}
PARAM = Feed((1, 1, 1, 7), 0, 9, dtype="int32")


def _nothing(m: Model, param: Value) -> Value:
    """0, as a sum of the parameters: so the decomposition reads them."""
    total = m.op("SUM", [param, np.int32([0, 1, 2, 3])], (1, 1, 1, 1), "ReducerOptions", output=_INT32, KeepDims=True)
    zero = m.op("MUL", [total, np.int32(0)], (1, 1, 1, 1), "MulOptions", output=_INT32)
    return m.op("CAST", [zero], (1, 1, 1, 1), "CastOptions")


def _product(m: Model, a: Value, b: Value) -> Value:
    """Of rows and rows."""
    return m.op("BATCH_MATMUL", [a, b], (*a.shape[:3], b.shape[2]), "BatchMatMulOptions", AdjY=True)


def _transposed(m: Model, x: Value) -> Value:
    b, h, rows, columns = x.shape
    return m.op("TRANSPOSE", [x, np.int32([0, 1, 3, 2])], (b, h, columns, rows), "TransposeOptions")


# odml.runtime_bmm


def runtime_bmm(a, b) -> Model:
    m = Model()
    x, y, param = m.input(a), m.input(b), m.input(PARAM.shape, "int32")
    m.output(m.add(_product(m, x, y), _nothing(m, param)))
    return m


def multiplied(name: str, a, b, **attributes) -> Case:
    given = {"is_global": False, "is_src": False, "rhs_cache_update": True, **attributes}
    return Case(
        "STABLEHLO_COMPOSITE",
        f"runtime_bmm_{name}",
        [a, b, PARAM],
        lambda m, *x: composite(m, list(x), (*a[:3], b[2]), 1, "odml.runtime_bmm", **given),
        lambda x, y, _: np.einsum("abcd,abed->abce", x.astype(np.float64), y),
        subgraphs=(lambda: runtime_bmm(a, b),),
    )


# odml.cache_update


def cache_shapes(heads: int, tokens: int, size: int, depth: int, times: tuple[int, int, int, int]) -> list[tuple]:
    """Of new keys and values, and the caches. `times`: along which axis the tokens of k's cache, v's, and k and v lie."""

    def shape(n: int, time: int) -> tuple[int, int, int, int]:
        return (1, heads, n, depth) if time == 2 else (1, heads, depth, n)

    k_cache, v_cache, k, v = times
    return [shape(tokens, k), shape(tokens, v), shape(size, k_cache), shape(size, v_cache)]


def cache_update(shapes, turns: tuple[bool, bool]) -> Model:
    m = Model()
    parts = [m.input(shape) for shape in shapes[:2]]
    param = m.input(PARAM.shape, "int32")
    wholes = [m.input(shape) for shape in shapes[2:]]
    starts = [m.input((4,), "int32") for _ in wholes]
    nothing = _nothing(m, param)
    for part, whole, start, turned in zip(parts, wholes, starts, turns, strict=True):
        new = m.add(_transposed(m, part) if turned else part, nothing)
        m.output(m.op("DYNAMIC_UPDATE_SLICE", [whole, new, start], whole.shape))
    return m


def written(whole: np.ndarray, part: np.ndarray, start: np.ndarray) -> np.ndarray:
    made = whole.copy()
    begins = [max(0, min(int(at), n - size)) for at, n, size in zip(start, whole.shape, part.shape, strict=True)]
    made[tuple(slice(begin, begin + size) for begin, size in zip(begins, part.shape, strict=True))] = part
    return made


_USUAL = (2, 3, 2, 2)
_TIMES = ("k_cache_ts_idx", "v_cache_ts_idx", "k_update_ts_idx", "v_update_ts_idx")


def cached(name: str, heads: int, tokens: int, size: int, depth: int, at: int, times=_USUAL, **attributes) -> Case:
    shapes = cache_shapes(heads, tokens, size, depth, times)
    turns = times[0] != times[2], times[1] != times[3]
    given = {
        "kv_cache_batch_size": heads,
        "cache_size": size,
        "head_size": depth,
        "is_ring_buffer": False,
        **attributes,
    }
    given |= dict(zip(_TIMES, times, strict=True)) if times != _USUAL else {}
    starts = [np.int32([0, 0, *((at, 0) if time == 2 else (0, at))]) for time in times[:2]]

    def reference(k, v, _, k_cache, v_cache):
        new = [x.swapaxes(2, 3) if turned else x for x, turned in zip((k, v), turns, strict=True)]
        return tuple(written(*one) for one in zip((k_cache, v_cache), new, starts, strict=True))

    def build(m, k, v, param, *caches):
        return tuple(composite(m, [k, v, param, *caches, *starts], shapes[2:], 1, "odml.cache_update", **given))

    return Case(
        "STABLEHLO_COMPOSITE",
        f"cache_update_{name}",
        [*shapes[:2], PARAM, *shapes[2:]],
        build,
        reference,
        subgraphs=(lambda: cache_update(shapes, turns),),
    )


# odml.sdpa_transposed


def sdpa_transposed(q, k, v, places: int, cap: float) -> Model:
    """q's heads that share one of k and v are rows of it."""
    m = Model()
    x, y, z, mask = m.input(q), m.input(k), m.input(v), m.input((1, 1, q[2], places), "bool")
    param = m.input(PARAM.shape, "int32")
    shared = q[1] // k[1]
    rows = (1, k[1], shared * q[2], q[3])
    mask = m.op("CONCATENATION", [mask] * shared, (1, 1, rows[2], places), "ConcatenationOptions", output={"dtype": "bool"},
                Axis=2)  # fmt: skip
    scores = m.add(_product(m, m.reshape(x, rows), y), _nothing(m, param))
    if cap:
        bounded = m.unary("TANH", m.elementwise("DIV", scores, np.float32(cap), kind="DivOptions"))
        scores = m.mul(bounded, np.float32(cap))
    scores = m.op("SELECT_V2", [mask, scores, np.float32(-10000)], scores.shape)
    weights = m.op("SOFTMAX", [scores], scores.shape, "SoftmaxOptions", Beta=1.0)
    columns = z if v[3] == places else _transposed(m, z)
    m.output(m.reshape(m.add(_product(m, weights, columns), _nothing(m, param)), q))
    return m


def reads_cache(name: str, heads: int, groups: int, rows: int, places: int, depth: int, v_axis=3, **attributes) -> Case:
    q, k = (1, heads, rows, depth), (1, groups, places, depth)
    v = (1, groups, depth, places) if v_axis == 3 else k
    mask = np.tri(rows, places, places - rows - 3, dtype=bool).reshape(1, 1, rows, places)
    given = {"k_ts_idx": 2, "v_ts_idx": v_axis, "is_causal": True, "from_cache_update": True, **attributes}
    cap = attributes.get("softcap", 0.0)

    def reference(q, k, v, _):
        v = v.swapaxes(2, 3) if v_axis == 3 else v
        k, v = (np.repeat(x.astype(np.float64), heads // groups, 1) for x in (k, v))
        scores = q.astype(np.float64) @ k.swapaxes(2, 3)
        scores = np.where(mask, cap * np.tanh(scores / cap) if cap else scores, -10000)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v

    return Case(
        "STABLEHLO_COMPOSITE",
        f"sdpa_transposed_{name}",
        [q, k, v, PARAM],
        lambda m, q, k, v, param: composite(m, [q, k, v, mask, param], q.shape, 1, "odml.sdpa_transposed", **given),
        reference,
        subgraphs=(lambda: sdpa_transposed(q, k, v, places, cap),),
    )


# odml.rope, odml.swiglu, odml.embedding_lookup: their decompositions are as fast as kernels would be


def rope(shape, base: float) -> Model:
    """Of [b, t, n, h], at positions of int32: the angles are its own."""
    m = Model()
    x, position = m.input(shape), m.input((1, shape[1]), "int32")
    half = shape[3] // 2
    inverse = (base ** (-np.arange(half, dtype=np.float64) / half)).astype(np.float32).reshape(1, 1, half)
    places = m.reshape(m.op("CAST", [position], position.shape, "CastOptions"), (1, shape[1], 1))
    angles = m.mul(places, inverse)
    cosines, sines = (
        m.reshape(
            m.elementwise(op, angles, kind=f"{op.capitalize()}Options" if op == "COS" else ""), (1, shape[1], 1, half)
        )
        for op in ("COS", "SIN")
    )
    begins = [np.int32([0, 0, 0, at]) for at in (0, half)]
    size = (*shape[:3], half)
    a, b = (m.op("SLICE", [x, begin, np.int32(size)], size, "SliceOptions") for begin in begins)
    first = m.elementwise("SUB", m.mul(a, cosines), m.mul(b, sines), kind="SubOptions")
    m.output(m.concatenation(first, m.add(m.mul(b, cosines), m.mul(a, sines)), axis=3))
    return m


ROPE = {"min_timescale": 1.0, "max_timescale": 10000.0, "proportion": 1.0}


def turned(x: np.ndarray, position: np.ndarray, base: float = 10000.0) -> np.ndarray:
    half = x.shape[3] // 2
    angles = position[0][:, None] * base ** (-np.arange(half) / half)
    cosines, sines = np.cos(angles)[None, :, None], np.sin(angles)[None, :, None]
    a, b = x[..., :half].astype(np.float64), x[..., half:].astype(np.float64)
    return np.concatenate([a * cosines - b * sines, b * cosines + a * sines], -1)


def swiglu(shape) -> Model:
    m = Model()
    x = m.input(shape)
    gate, up = m.op("SPLIT", [np.int32(2), x], [(*shape[:2], shape[2] // 2)] * 2, "SplitOptions", NumSplits=2)
    m.output(m.mul(m.mul(gate, m.unary("LOGISTIC", gate)), up))
    return m


def _silu_times(x):
    gate, up = np.split(x.astype(np.float64), 2, -1)
    return gate / (1 + np.exp(-gate)) * up


_TABLE = constant("decoders/table", (11, 12))


def embedding_lookup() -> Model:
    m = Model()
    rows, table = m.input((5,), "int32"), m.input(_TABLE.shape)
    m.output(m.op("GATHER", [table, rows], (5, 12), "GatherOptions", Axis=0))
    return m


CASES = [
    multiplied("of_keys", (1, 2, 3, 8), (1, 2, 9, 8)),
    multiplied("of_values", (1, 3, 1, 10), (1, 3, 7, 10), is_src=True, is_global=True),
    cached("of_one_token", 2, 1, 9, 8, at=5),
    cached("of_tokens", 3, 4, 11, 6, at=2),
    cached("beyond_the_end", 1, 2, 6, 5, at=5),
    cached("of_turned_keys", 2, 3, 8, 4, at=1, times=(3, 3, 2, 3)),
    cached("of_rows", 2, 1, 7, 8, at=6, times=(2, 2, 2, 2)),
    reads_cache("one_token", 4, 2, 1, 37, 12),
    reads_cache("own_heads", 3, 3, 1, 20, 8, v_axis=2),
    reads_cache("many_tokens", 4, 1, 7, 30, 8, is_causal=False),
    reads_cache("capped", 6, 2, 5, 19, 16, softcap=3.0),
    Case(
        "STABLEHLO_COMPOSITE",
        "rope",
        [(1, 5, 3, 16), Feed((1, 5), 0, 900, dtype="int32")],
        lambda m, x, position: composite(m, [x, position], x.shape, 1, "odml.rope", **ROPE),
        turned,
        subgraphs=(lambda: rope((1, 5, 3, 16), 10000.0),),
    ),
    Case(
        "STABLEHLO_COMPOSITE",
        "swiglu",
        [(1, 5, 24)],
        lambda m, x: composite(m, [x], (1, 5, 12), 1, "odml.swiglu", gate_size=12),
        _silu_times,
        subgraphs=(lambda: swiglu((1, 5, 24)),),
    ),
    Case(
        "STABLEHLO_COMPOSITE",
        "embedding_lookup",
        [Feed((5,), 0, 10, dtype="int32")],
        lambda m, rows: composite(m, [rows, _TABLE], (5, 12), 1, "odml.embedding_lookup", epsilon=0.0),
        lambda rows: _TABLE[rows],
        subgraphs=(embedding_lookup,),
    ),
]
