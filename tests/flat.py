"""Writes TFLite FlatBuffers tables by name, on top of the `tflite` package's generated functions."""

from __future__ import annotations

from collections.abc import Iterable

import flatbuffers
import numpy as np
import tflite
from ai_edge_litert import schema_py_generated as newer


def table(builder: flatbuffers.Builder, kind: str, **fields) -> int:
    """Writes one table of the schema; fields that are None are left out. Offsets must exist already."""
    schema = tflite if hasattr(tflite, f"{kind}Start") else newer
    getattr(schema, f"{kind}Start")(builder)
    for name, value in fields.items():
        if value is not None:
            getattr(schema, f"{kind}Add{name}")(builder, value)
    return getattr(schema, f"{kind}End")(builder)


def ints(builder: flatbuffers.Builder, values: Iterable[int]) -> int:
    return builder.CreateNumpyVector(np.asarray(list(values), np.int32))


def offsets(builder: flatbuffers.Builder, values: list[int]) -> int:
    builder.StartVector(4, len(values), 4)
    for value in reversed(values):
        builder.PrependUOffsetTRelative(value)
    return builder.EndVector()


def data(builder: flatbuffers.Builder, array: np.ndarray) -> int:
    """Constant data, aligned to 16 bytes as the format wants it."""
    raw = np.ascontiguousarray(array).tobytes()
    builder.StartVector(1, len(raw), 16)
    builder.head = builder.head - len(raw)
    builder.Bytes[builder.head : builder.head + len(raw)] = raw
    return builder.EndVector()
