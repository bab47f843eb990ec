"""Models with resource variables, as streaming models have them: VAR_HANDLE names one, READ_VARIABLE and ASSIGN_VARIABLE
move its numbers, and a subgraph that CALL_ONCE runs says what it holds at first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tests.model_builder import Model, Operand, Value


def handle(m: Model, name: str) -> Value:
    return m.op("VAR_HANDLE", [], (1,), "VarHandleOptions", output={"dtype": "resource"}, SharedName=name)


def read(m: Model, of: Value, shape: Sequence[int], dtype: str = "float32", **fields) -> Value:
    return m.op("READ_VARIABLE", [of], shape, "ReadVariableOptions", output={"dtype": dtype, **fields})


def assign(m: Model, of: Value, value: Operand) -> None:
    m.several("ASSIGN_VARIABLE", [of, value], [], "AssignVariableOptions")


def initialiser(values: Mapping[str, np.ndarray], **fields) -> Model:
    """The subgraph that gives variables their first numbers. fields: of the constants."""
    m = Model()
    for name, value in values.items():
        assign(m, handle(m, name), m.const(value, **fields))
    return m


def call_once(m: Model, subgraph: int = 1) -> None:
    m.several("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=subgraph)


def started(first: Mapping[str, np.ndarray], build: Callable[[Model], None], **fields) -> bytes:
    """A model that begins with these numbers."""
    m = Model()
    call_once(m)
    build(m)
    return m.bytes(initialiser(first, **fields))


STATE = (1, 6)
FIRST = np.float32([[0.5, -1, 2, 0, 3, -0.25]])


def smoothed(m: Model, between: Callable[[Model, Value], Value] = lambda m, x: x) -> None:
    """s = s * 0.9 + between(x * s) * 0.3 + x, y = tanh(s)."""
    x, at = m.input(STATE), handle(m, "s")
    old = read(m, at, STATE)
    new = m.add(m.mul(old, np.float32([0.9])), m.mul(between(m, m.mul(x, old)), np.float32([0.3])))
    new = m.add(new, x)
    assign(m, at, new)
    m.output(m.unary("TANH", new))


FRAMES, CHANNELS = 7, 8


def streaming(m: Model) -> None:
    """A convolution over the last frames, which are kept, and a smoothed loudness."""
    generator = np.random.default_rng(5)
    x = m.input((1, 1, 1, CHANNELS))
    frames = handle(m, "frames")
    before = read(m, frames, (1, FRAMES - 1, 1, CHANNELS))
    window = m.concatenation(before, x, axis=1)
    kept = m.strided_slice(window, [0, 1, 0, 0], [1, FRAMES, 1, CHANNELS], [1, 1, 1, 1])
    assign(m, frames, kept)
    weights = generator.normal(0, 0.2, (CHANNELS, FRAMES, 1, CHANNELS)).astype(np.float32)
    y = m.conv2d(window, weights, np.zeros(CHANNELS, np.float32), padding="VALID", activation="RELU")
    loudness = handle(m, "loudness")
    old = read(m, loudness, (1, 1))
    now = m.add(m.mul(old, np.float32([0.8])), m.reshape(m.mean(m.mul(x, x), [1, 2, 3]), (1, 1)))
    assign(m, loudness, now)
    m.output(y, now)


STREAMING = {
    "frames": np.zeros((1, FRAMES - 1, 1, CHANNELS), np.float32),
    "loudness": np.float32([[0.5]]),
}


def difference(m: Model) -> None:
    """y = x - the x before: what is assigned is an input, and depends on nothing that is read."""
    x, at = m.input(STATE), handle(m, "before")
    old = read(m, at, STATE)
    m.output(m.elementwise("SUB", x, old, kind="SubOptions"))
    assign(m, at, x)


def assigned_twice(m: Model) -> None:
    """Reads before, between and after two assignments, and swaps two variables."""
    x, a, b = m.input(STATE), handle(m, "a"), handle(m, "b")
    one, two = read(m, a, STATE), read(m, b, STATE)
    assign(m, a, m.add(x, two))
    between = read(m, handle(m, "a"), STATE)
    assign(m, a, two)
    assign(m, b, one)
    m.output(m.mul(between, np.float32([0.5])), m.add(read(m, a, STATE), one), read(m, b, STATE))


CACHE, ROW = (1, 16, 2, 8), (1, 1, 2, 8)


def cached_rows(m: Model) -> None:
    """A row goes into a cache, whose rows are added."""
    row, place, at = m.input(ROW), m.input((4,), "int32"), handle(m, "rows")
    new = m.op("DYNAMIC_UPDATE_SLICE", [read(m, at, CACHE), row, place], CACHE)
    assign(m, at, new)
    m.output(m.op("SUM", [new, np.int32([1])], (1, 2, 8), "ReducerOptions"))
