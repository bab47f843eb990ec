"""Versions of ops that LiteRT's converter writes for a type of operands: one that Quadra does not know leaves the node to the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import options
from tests.model_builder import Model
from tests.vectors.case import Feed

SHAPE = (2, 3, 4, 6)
# By LiteRT's converter/tools/versioning/op_version.cc.
ROWS = [
    ("SIN", 2, "float16", ""),
    ("COS", 2, "float16", ""),
    ("GELU", 3, "float16", "GeluOptions"),
    ("SQRT", 2, "int8", ""),
    ("LOG_SOFTMAX", 2, "int8", "LogSoftmaxOptions"),
]


def grid(dtype: str) -> dict:
    return {"dtype": dtype, **({"scale": 1 / 16, "zero_point": -128} if dtype == "int8" else {})}


def model(op: str, version: int, dtype: str, options: str) -> bytes:
    m = Model()
    x = m.input(SHAPE, **grid(dtype))
    result = {**grid(dtype), **({"zero_point": 127} if op == "LOG_SOFTMAX" else {})}
    m.output(m.op(op, [x], SHAPE, options, version, output=result))
    return m.bytes()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(map(str, row[:3])))
def test_unary(quadra, row):
    raw, dtype = model(*row), row[2]
    feed = Feed(SHAPE, dtype="float32").make(f"versions/{row[0]}")
    feed = feed.astype(dtype) if dtype == "float16" else np.round(feed * 40).astype(np.int8)
    expected = cpu.run(raw, [feed])
    outcome = quadra.run(raw, [feed], **options(backend="gles"))
    if dtype == "float16":
        outcome.check(expected, 2e-3)
        return
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    assert np.abs(outcome.outputs[-1][0].astype(int) - expected[0].astype(int)).max() <= 1  # quantum


def test_parts_of_halfs(quadra):
    m = Model()
    x = m.input((2, 3, 6), "float16")
    m.output(
        *m.several("UNPACK", [x], [m.value((3, 6), "float16") for _ in range(2)], "UnpackOptions", 5, Num=2, Axis=0)
    )
    feed = Feed((2, 3, 6), dtype="float32").make("versions/unpack").astype(np.float16)
    quadra.run(m.bytes(), [feed], **options(backend="gles")).check([feed[0], feed[1]], 0)


def test_integers_of_16_bits_are_equal(quadra):
    m = Model()
    a, b = m.input(SHAPE, dtype="int16"), m.input(SHAPE, dtype="int16")
    m.output(m.op("EQUAL", [a, b], SHAPE, "EqualOptions", 5, output={"dtype": "bool"}))
    feeds = [np.arange(144, dtype=np.int16).reshape(SHAPE) % 5, np.arange(144, dtype=np.int16).reshape(SHAPE) % 7]
    quadra.run(m.bytes(), feeds, **options(backend="gles")).check([feeds[0] == feeds[1]], 0)


def test_floor_div_of_a_scale_stays_on_the_cpu(quadra):
    """Which divides the integers as they are."""
    m = Model()
    a, b = m.input(SHAPE, **grid("int8")), m.input(SHAPE, **grid("int8"))
    m.output(m.op("FLOOR_DIV", [a, b], SHAPE, "FloorDivOptions", 3, output=grid("int8")))
    feeds = [np.arange(144, dtype=np.int8).reshape(SHAPE), np.full(SHAPE, 7, np.int8)]
    outcome = quadra.run(m.bytes(), feeds, **options(backend="gles"))
    assert "plain integers" in outcome.on_cpu()[0]
    outcome.check(cpu.run(m.bytes(), feeds), 0, everything_on_gpu=False)
