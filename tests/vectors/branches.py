"""IF: two subgraphs, both of which are computed, and a condition that chooses between their results. Branches that take much
stay on the CPU, which computes one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.model_builder import Model
from tests.vectors.case import Case, Feed, constant

SHAPE = (2, 5, 6)
_W = constant("branches/w", (7, 6))


def branch(shapes: list, build: Callable, dtype: str = "float32") -> Callable[[], Model]:
    """A subgraph with inputs of these shapes."""

    def make() -> Model:
        m = Model()
        made = build(m, *[m.input(shape, dtype) for shape in shapes])
        m.output(*(made if isinstance(made, tuple) else (made,)))
        return m

    return make


def chosen(m: Model, condition, inputs, outputs, dtype: str = "float32"):
    made = [m.value(shape, dtype) for shape in outputs]
    return m.several("IF", [condition, *inputs], made, "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)


def _tanh(m, x):
    return m.unary("TANH", x)


def _scaled(m, x):
    return m.add(m.mul(x, np.float32(3)), np.full(SHAPE[-1:], 0.5, np.float32))


def _case(
    name, yes, no, reference, shapes=(SHAPE,), made=(SHAPE,), feeds=None, dtype="float32", **fields
) -> list[Case]:
    """With either condition."""
    subgraphs = tuple(branch(list(shapes), build, dtype) for build in (yes, no))

    def build(m, condition, *inputs):
        return chosen(m, condition, inputs, made, dtype)

    return [
        Case("IF", f"{name}_{('no', 'yes')[taken]}", [Feed((1,), taken, taken, dtype="bool"), *(feeds or shapes)], build,
             lambda condition, *inputs: reference(bool(condition[0]), *inputs), subgraphs=subgraphs, **fields)
        for taken in (0, 1)
    ]  # fmt: skip


def _dense(m, x):
    return m.fully_connected(x, _W, keep_num_dims=True)


def _padded(m, x):
    return m.op("PAD", [x, np.int32([[0, 0], [0, 0], [0, 1]])], (2, 5, 7), "PadOptions")


def _sums(m, x):
    return x_sum(m, x), m.unary("EXP", x)


def x_sum(m, x):
    return m.op("SUM", [x, np.int32([1, 2])], (2,), "ReducerOptions", KeepDims=False)


def _logs(m, x):
    return m.op("REDUCE_MAX", [x, np.int32([1, 2])], (2,), "ReducerOptions", KeepDims=False), m.unary("ABS", x)


def _root(m, x):
    """NaN of what is below 0: where it is not chosen, nobody sees it."""
    return m.unary("SQRT", x)


def _computed() -> Case:
    """The condition comes of a sum, as a scalar."""

    def build(m, x):
        total = m.op("SUM", [x, np.int32([0, 1, 2])], (), "ReducerOptions", KeepDims=False)
        (made,) = chosen(
            m, m.elementwise("GREATER", total, np.float32(1e3), to_bool=True), [m.unary("RELU", x)], [SHAPE]
        )
        return m.unary("NEG", made)

    return Case("IF", "computed_condition", [SHAPE], build, lambda x: -(np.maximum(x, 0) * 3 + 0.5),
                subgraphs=(branch([SHAPE], _tanh), branch([SHAPE], _scaled)))  # fmt: skip


def _nested() -> list[Case]:
    """A branch that has branches: subgraphs 3 and 4."""

    def inner(m, x):
        first = m.op("SLICE", [x, np.int32([0, 0, 0]), np.int32([1, 1, 1])], (1, 1, 1), "SliceOptions")
        condition = m.elementwise("LESS", first, np.float32(9), to_bool=True)
        made = [m.value(SHAPE)]
        return m.several("IF", [condition, x], made, "IfOptions", ThenSubgraphIndex=3, ElseSubgraphIndex=4)

    cases = _case("nested", inner, _tanh, lambda chosen, x: x * 3 + np.float32(0.5) if chosen else np.tanh(x))
    more = (branch([SHAPE], _scaled), branch([SHAPE], _tanh))
    return [Case(c.op, c.name, c.inputs, c.build, c.reference, subgraphs=(*c.subgraphs, *more)) for c in cases]


_IMAGE = (1, 64, 64, 32)


def _convolved(m, x):
    return m.conv2d(x, constant("branches/conv", (32, 3, 3, 32), -0.1, 0.1), constant("branches/bias", (32,)))


def _rejected() -> list[Case]:
    """These stay on the CPU."""
    return [
        *_case("large", _convolved, _tanh, lambda yes, x: np.tanh(x), shapes=(_IMAGE,), made=(_IMAGE,), place="cpu",
               reason="a branch takes 38 million steps")[:1],
        *_case("alike", lambda m, x: (m.unary("TANH", x), m.unary("EXP", x)), lambda m, x: (m.unary("ABS", x), m.unary("NEG", x)),
               lambda yes, x: (np.abs(x), -x), made=(SHAPE, SHAPE), place="cpu", reason="may be its output 0")[:1],
        *_case("unknown_input", lambda m, x, y: x, lambda m, x, y: y, lambda yes, x, y: y, shapes=(SHAPE, SHAPE), place="cpu",
               reason="2 tensors of a branch may be its output 0")[:1],
    ]  # fmt: skip


CASES = [
    *_case("elementwise", _tanh, _scaled, lambda yes, x: np.tanh(x) if yes else x * 3 + np.float32(0.5)),
    *_case("product", _dense, _padded, lambda yes, x: x @ _W.T if yes else np.pad(x, ((0, 0), (0, 0), (0, 1))), made=((2, 5, 7),)),
    *_case("handed_on", _tanh, lambda m, x: x, lambda yes, x: np.tanh(x) if yes else x),
    *_case("two_results", _sums, _logs, lambda yes, x: (x.sum((1, 2)), np.exp(x)) if yes else (x.max((1, 2)), np.abs(x)),
           made=((2,), SHAPE)),
    *_case("one_input_unread", lambda m, x, y: m.unary("TANH", y), lambda m, x, y: m.unary("NEG", x),
           lambda yes, x, y: np.tanh(y) if yes else -x, shapes=(SHAPE, SHAPE)),
    *_case("nan_of_the_other", _root, _scaled, lambda yes, x: np.sqrt(x) if yes else x * 3 + np.float32(0.5),
           feeds=[Feed(SHAPE, -2, -1)]),
    *_case("int32", lambda m, x: m.elementwise("ADD", x, np.int32(2**30), kind="AddOptions"), lambda m, x: m.elementwise("NEG", x),
           lambda yes, x: x + np.int32(2**30) if yes else -x, feeds=[Feed(SHAPE, -9, 9, dtype="int32")], dtype="int32"),
    *_case("int64", lambda m, x: m.elementwise("ADD", x, np.int64(1), kind="AddOptions"), lambda m, x: m.elementwise("NEG", x),
           lambda yes, x: x + 1 if yes else -x, feeds=[Feed(SHAPE, -(2**40), 2**40, (2**32 - 1,), "int64")], dtype="int64"),
    _computed(),
    *_nested(),
    *_rejected(),
]  # fmt: skip
