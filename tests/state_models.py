"""Models whose input and output are a state: caches that DYNAMIC_UPDATE_SLICE writes a part of, as decoders have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.model_builder import Model, Value

CACHE, PART = (1, 16, 2, 8), (1, 1, 2, 8)


def updated(m: Model, cache: Value, part: Value, at: Value) -> Value:
    return m.op("DYNAMIC_UPDATE_SLICE", [cache, part, at], cache.shape, output={"dtype": cache.dtype})


def one_cache(
    reads: Callable[[Model, Value, Value], Sequence[Value]] = lambda m, old, new: (),
    updates: int = 1,
    cache: Sequence[int] = CACHE,
    part: Sequence[int] = PART,
    dtype: str = "float32",
    m: Model | None = None,
    signature: Sequence[int] | None = None,
) -> Model:
    """Inputs: the cache, and for each update a part and where it goes. Outputs: the new cache, and what `reads` makes of
    the old and the new one."""
    m = m or Model()
    old = new = m.input(cache, dtype, signature=signature)
    for _ in range(updates):
        new = updated(m, new, m.input(part, dtype), m.input((len(cache),), "int32"))
    m.output(new, *reads(m, old, new))
    return m


def transposed(m: Model, old: Value, new: Value) -> Sequence[Value]:
    """Heads before rows, as attention wants keys."""
    b, rows, heads, c = new.shape
    return [m.op("TRANSPOSE", [new, np.int32([0, 2, 1, 3])], (b, heads, rows, c), "TransposeOptions")]


def product(m: Model, old: Value, new: Value) -> Sequence[Value]:
    """Of constant rows and each head's columns, with the cache as the second operand."""
    b, h, _, c = new.shape
    rows = np.linspace(-1, 1, b * h * 3 * c, dtype=np.float32).reshape(b, h, 3, c)
    return [m.op("BATCH_MATMUL", [rows, new], (b, h, 3, new.shape[2]), "BatchMatMulOptions", AdjY=True)]


def both(m: Model, old: Value, new: Value) -> Sequence[Value]:
    """Of the new cache and the old one."""
    return [m.add(old, new), m.mul(new, np.float32([2.0])), *transposed(m, old, new)]
