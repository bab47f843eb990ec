"""Tensors of one number: a scalar's shape is [], and what is made of one has the shape that the CPU's kernels give it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tests import cpu
from tests.delegate import options
from tests.model_builder import Model, Value
from tests.runs import BACKENDS
from tests.vectors.case import constant

PAIRS = [
    ((), ()),
    ((), (1,)),
    ((1,), ()),
    ((1, 1), ()),
    ((), (1, 1, 1)),
    ((), (2, 3)),
    ((2, 3), ()),
    ((1, 1, 1, 1, 1), ()),
]
ONES = [(), (1,), (1, 1), (1, 1, 1, 1)]
Make = Callable[[Model], Sequence[Value]]


def binary(name: str, kind: str = "", dtype: str = "float32", to_bool: bool = False) -> Make:
    def make(m: Model) -> list[Value]:
        return [m.elementwise(name, m.input(a, dtype), m.input(b, dtype), kind=kind, to_bool=to_bool) for a, b in PAIRS]

    return make


def unary(name: str, dtype: str = "float32", to: str = "", kind: str = "") -> Make:
    def make(m: Model) -> list[Value]:
        return [m.op(name, [m.input(s, dtype)], s, kind, output={"dtype": to or dtype}) for s in ONES]

    return make


def select_v2(m: Model) -> list[Value]:
    """Also a declared shape that none of the operands has: it stays where all have one number."""
    made = []
    for condition in [(), (1,), (1, 1)]:
        for yes, no in [*PAIRS, ((1,), (1, 1)), ((2, 3), (3,))]:
            inputs = [m.input(condition, "bool"), m.input(yes), m.input(no)]
            natural = np.broadcast_shapes(condition, yes, no)
            shapes = [natural] if np.prod(natural) > 1 else ONES
            made += [m.op("SELECT_V2", inputs, shape) for shape in shapes]
    return made


def select(m: Model) -> list[Value]:
    made = []
    for condition, yes, no in [((), (), ()), ((1,), (), ()), ((1,), (1,), ()), ((), (1,), (1,)), ((), (2, 3), (2, 3))]:
        inputs = [m.input(condition, "bool"), m.input(yes), m.input(no)]
        made += [m.op("SELECT", inputs, shape) for shape in ([yes] if np.prod(yes) > 1 else ONES)]
    return made


def reductions(name: str, dtype: str = "float32") -> Make:
    def make(m: Model) -> list[Value]:
        made = []
        for shape, axes in [((5,), [0]), ((2, 3), [0, 1]), ((2, 1, 3), [0, 1, 2]), ((1, 1), [0, 1]), ((1,), [-1])]:
            for keep in (False, True):
                result = tuple(1 for _ in shape) if keep else ()
                inputs = [m.input(shape, dtype), np.int32(axes)]
                made.append(m.op(name, inputs, result, "ReducerOptions", KeepDims=keep, output={"dtype": dtype}))
            inputs = [m.input(shape, dtype), np.int32(axes[0])]
            made.append(m.op(name, inputs, np.delete(shape, axes[0]), "ReducerOptions", output={"dtype": dtype}))
        return made

    return make


def arg_max(m: Model) -> list[Value]:
    how = {"options_kind": "ArgMaxOptions", "output": {"dtype": "int32"}, "OutputType": 2}
    return [m.op("ARG_MAX", [m.input((5,)), np.int32(axis)], (), **how) for axis in (0, [0], -1)]


def gather(m: Model) -> list[Value]:
    made = []
    for shape, index in [((5,), ()), ((5,), (1,)), ((5,), (1, 1)), ((5, 3), ()), ((5, 1), ()), ((1,), ())]:
        inputs = [m.input(shape), m.const(np.zeros(index, np.int32))]
        made.append(m.op("GATHER", inputs, (*index, *shape[1:]), "GatherOptions", Axis=0, BatchDims=0))
    made.append(m.op("GATHER_ND", [m.input((5,)), np.int32([3])], (), "GatherNdOptions"))
    made.append(m.op("GATHER_ND", [m.input((5, 2)), np.int32([[3, 1]])], (1,), "GatherNdOptions"))
    made.append(m.op("ONE_HOT", [np.int32(2), np.int32(4), m.input(()), m.input(())], (4,), "OneHotOptions", Axis=-1))
    return made


def reshapes(m: Model) -> list[Value]:
    made = []
    for one in ONES:
        made += [m.op("RESHAPE", [m.input(one), m.const(np.int32(to).reshape(-1))], to) for to in ONES]
        squeezed = m.op("SQUEEZE", [m.input(one)], (), "SqueezeOptions", SqueezeDims=list(range(len(one))))
        made += [squeezed, m.op("SQUEEZE", [m.input(one)], (), "SqueezeOptions")]
        if len(one) < 4:
            made.append(m.op("EXPAND_DIMS", [m.input(one), np.int32(0)], (1, *one)))
            made.append(m.op("EXPAND_DIMS", [m.input(one), np.int32([-1])], (*one, 1)))
    return made


def packs(m: Model) -> list[Value]:
    made = [
        m.op("PACK", [m.input(()) for _ in range(n)], (n,), "PackOptions", ValuesCount=n, Axis=0) for n in (1, 2, 5)
    ]
    for shape in [(1,), (3,), (3, 1)]:
        parts = [m.value(shape[1:]) for _ in range(shape[0])]
        made += m.several("UNPACK", [m.input(shape)], parts, "UnpackOptions", Num=shape[0], Axis=0)
    return made


def slices(m: Model) -> list[Value]:
    made = [m.strided_slice(m.input((5,)), [2], [3], [1], shrink_axis_mask=1)]
    made.append(m.strided_slice(m.input((5, 1)), [2, 0], [3, 1], [1, 1], shrink_axis_mask=3))
    made.append(m.strided_slice(m.input((5,)), [2], [3], [1]))
    made.append(m.op("SLICE", [m.input((5,)), np.int32([4]), np.int32([1])], (1,), "SliceOptions"))
    return made


def spread(m: Model) -> list[Value]:
    made = [m.op("BROADCAST_TO", [m.input(()), np.int32(to)], tuple(to), version=2) for to in ([1], [2, 3], [1, 1])]
    made += [m.op("FILL", [np.int32(to), m.input(())], tuple(to), "FillOptions") for to in ([1], [2, 3])]
    made.append(m.op("TILE", [m.input((1,)), np.int32([1])], (1,), "TileOptions"))
    made.append(m.op("ADD_N", [m.input(()), m.input(())], (), "AddNOptions"))
    return made


CASES: dict[str, Make] = {
    **{
        name: binary(name, kind) for name, kind in (("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions"))
    },
    **{name: binary(name) for name in ("SQUARED_DIFFERENCE", "POW", "FLOOR_DIV", "MAXIMUM", "MINIMUM", "FLOOR_MOD")},
    "DIV": binary("DIV", "DivOptions"),
    "ADD_int": binary("ADD", "AddOptions", "int32"),
    **{name: binary(name, to_bool=True) for name in ("GREATER", "LESS_EQUAL", "EQUAL", "NOT_EQUAL")},
    "LOGICAL_AND": binary("LOGICAL_AND", dtype="bool"),
    **{name: unary(name) for name in ("RELU", "TANH", "EXP", "ABS", "NEG", "SQUARE", "FLOOR", "SQRT", "ZEROS_LIKE")},
    "LOGICAL_NOT": unary("LOGICAL_NOT", "bool"),
    "CAST": unary("CAST", "int32", "float32", "CastOptions"),
    "SELECT_V2": select_v2,
    "SELECT": select,
    **{name: reductions(name) for name in ("SUM", "MEAN", "REDUCE_MAX", "REDUCE_PROD")},
    "REDUCE_ANY": reductions("REDUCE_ANY", "bool"),
    "ARG_MAX": arg_max,
    "GATHER": gather,
    "RESHAPE": reshapes,
    "PACK": packs,
    "STRIDED_SLICE": slices,
    "BROADCAST_TO": spread,
}


def numbers(value: Value) -> np.ndarray:
    made = constant(f"scalars/{value.name}", value.shape, 0.5, 2)
    return (made > 1 if value.dtype == "bool" else made).astype(value.dtype).reshape(value.shape)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_shapes_are_the_cpus(quadra, backend, name):
    m = Model()
    m.output(*CASES[name](m))
    feeds = [numbers(value) for value in m.inputs]
    expected = cpu.run(m.bytes(), feeds)
    outcome = quadra.run(m.bytes(), feeds, **options(backend=backend))
    assert not outcome.error, outcome.error
    for node, made, want in zip(m.outputs, outcome.outputs[-1], expected, strict=True):
        operands = [m.values[i].shape for n in m.nodes if node.index in n.outputs for i in n.inputs if i >= 0]
        assert made.shape == want.shape, f"of {operands}, declared {node.shape}"
    outcome.check(expected)
