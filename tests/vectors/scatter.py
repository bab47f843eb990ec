"""STABLEHLO_SCATTER: windows of updates at computed places of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.model_builder import Model, Value
from tests.vectors.case import Case, Feed

_BODIES: dict[str, Callable] = {
    "": lambda old, new: new,
    "STABLEHLO_ADD": lambda old, new: old + new,
    "STABLEHLO_MULTIPLY": lambda old, new: old * new,
    "STABLEHLO_MAXIMUM": np.maximum,
    "STABLEHLO_MINIMUM": np.minimum,
}


def body(op: str, dtype: str = "float32") -> Model:
    """The computation: of what was there and an update; without an op the update itself."""
    m = Model()
    old, new = m.input((), dtype), m.input((), dtype)
    m.output(m.op(op, [old, new], (), output={"dtype": dtype}) if op else new)
    return m


def scatter_op(m: Model, values: Sequence[Value], windows, inserted, operand, along, subgraph=1, **fields) -> Value:
    return m.op(
        "STABLEHLO_SCATTER",
        values,
        values[0].shape,
        "StablehloScatterOptions",
        UpdateWindowDims=np.int64(windows),
        InsertedWindowDims=np.int64(inserted),
        ScatterDimsToOperandDims=np.int64(operand),
        IndexVectorDim=along,
        UpdateComputationSubgraphIndex=subgraph,
        output={"dtype": values[0].dtype, **fields},
    )


def scatter(x, indices, updates, windows, inserted, operand, along, body=""):
    """As the StableHLO specification has it, updates in their order; what lies outside is left out."""
    made = x.copy()
    vectors = [axis for axis in range(updates.ndim) if axis not in windows]
    indices = indices if along < indices.ndim else indices[..., None]
    for place in np.ndindex(updates.shape):
        at = [0] * x.ndim
        for axis, start in zip(operand, indices[tuple(place[axis] for axis in vectors)], strict=True):
            at[axis] = int(start)
        inner = (axis for axis in range(x.ndim) if axis not in inserted)
        for axis, window in zip(inner, windows, strict=True):
            at[axis] += place[window]
        if all(0 <= n < most for n, most in zip(at, x.shape, strict=True)):
            made[tuple(at)] = _BODIES[body](made[tuple(at)], updates[place])
    return made


def _case(name, x, indices, updates, windows, inserted, operand, along, op="", least=0, most=None, dtype="float32",
          index="int32", **fields) -> Case:  # fmt: skip
    how = (windows, inserted, operand, along)
    last = x[operand[0]] - 1 if most is None else most
    feeds = [Feed(x, -2, 2, dtype=dtype), Feed(indices, least, last, dtype=index), Feed(updates, -2, 2, dtype=dtype)]
    return Case("STABLEHLO_SCATTER", name, feeds, lambda m, *v: scatter_op(m, v, *how), lambda *v: scatter(*v, *how, op),
                subgraphs=(lambda: body(op, dtype),), **fields)  # fmt: skip


CASES = [
    _case("rows", (6, 5), (3, 1), (3, 5), (1,), (0,), (0,), 1),
    _case("numbers_of_rows", (4, 7), (4, 2, 2), (4, 2), (), (0, 1), (0, 1), 2, most=3),
    _case("rows_twice", (4, 6), (9, 1), (9, 6), (1,), (0,), (0,), 1),
    _case("that_add", (6, 5), (9, 1), (9, 5), (1,), (0,), (0,), 1, "STABLEHLO_ADD"),
    _case("that_add_int32", (6, 5), (9, 1), (9, 5), (1,), (0,), (0,), 1, "STABLEHLO_ADD", dtype="int32"),
    # The CPU looks for the length of an axis that is not there.
    _case("places_alone", (6, 5), (4,), (4, 5), (1,), (0,), (0,), 1, "STABLEHLO_MULTIPLY", on_cpu=False),
    _case("that_multiply", (6, 5), (4, 1), (4, 5), (1,), (0,), (0,), 1, "STABLEHLO_MULTIPLY"),
    _case("maximum_of_numbers", (3, 6), (8, 2), (8,), (), (0, 1), (1, 0), 1, "STABLEHLO_MAXIMUM", most=2),
    _case("minimum_int32", (7, 3), (5, 1), (5, 3), (1,), (0,), (0,), 1, "STABLEHLO_MINIMUM", dtype="int32"),
    _case("put_int8", (7, 3), (5, 1), (5, 3), (1,), (0,), (0,), 1, dtype="int8"),
    _case("along_the_second_axis", (2, 6, 5), (3, 1), (2, 3, 5), (0, 2), (1,), (1,), 1),
    _case("along_channels", (3, 9), (4, 1), (3, 4), (0,), (1,), (1,), 1, "STABLEHLO_ADD"),
    _case("windows_first", (5, 9), (2, 1), (3, 2, 9), (0, 2), (), (0,), 1, "STABLEHLO_ADD", most=2),
    _case("one_window_from_a_place_on", (5, 4, 9), (2,), (2, 4, 3), (0, 1, 2), (), (0, 2), 0, most=3),
    _case("partly_outside", (5, 9), (2, 2), (2, 3, 4), (1, 2), (), (0, 1), 1, least=-3, most=8),
    _case("int64_places", (2, 3, 4, 5), (4, 2), (4, 4, 5), (1, 2), (0, 1), (0, 1), 1, index="int64", most=1),
]  # fmt: skip
