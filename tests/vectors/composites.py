"""STABLEHLO_COMPOSITE: one node for a subgraph of the model."""

from __future__ import annotations

import numpy as np
from flatbuffers import flexbuffers

from tests.model_builder import Model, Value
from tests.vectors.case import Case, constant

SHAPE = (2, 3, 5, 6)
_EPSILON = 1e-6


def composite(m: Model, inputs: list, shape, subgraph: int, name: str = "odml.rms_norm") -> Value:
    return m.op("STABLEHLO_COMPOSITE", inputs, shape, "StableHLOCompositeOptions", Name=name,
                DecompositionSubgraphIndex=subgraph, CompositeAttributes=bytes(flexbuffers.Dumps({"epsilon": _EPSILON})), Version=1)  # fmt: skip


def rms_norm() -> Model:
    """x * rsqrt(mean(x * x) + epsilon) * scale, over the last axis."""
    m = Model()
    x, scale = m.input(SHAPE), m.input(SHAPE[-1:])
    mean = m.op("MEAN", [m.mul(x, x), np.int32([3])], (*SHAPE[:3], 1), "ReducerOptions", KeepDims=True)
    m.output(m.mul(m.mul(x, m.elementwise("RSQRT", m.add(mean, np.float32(_EPSILON)))), scale))
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
]
