"""Constants of int8, int4 and int2, with a scale for the tensor, a channel, or a block of a row. The reference is the
float model of the same numbers: the interpreter's own kernels round activations to 8 bits where they run such a node."""

from __future__ import annotations

import numpy as np

from tests.model_builder import Blocks, Model, Value, _activation, _padding
from tests.vectors.case import Case, Feed, generator
from tests.vectors.conv_2d import conv2d
from tests.vectors.depthwise_conv_2d import depthwise_conv2d
from tests.vectors.fully_connected import fully_connected

BITS = {"int8": 8, "int4": 4, "int2": 2}


class Integers:
    """Random integers and the floats that they stand for. `scales`: "tensor", "channel" (of `axis`) or the size of the
    blocks that a row is cut into. `tiny`: these are subnormal as halfs, one is 0, one below it. `zero` stands for 0.0."""

    def __init__(
        self, name: str, shape, dtype: str, scales: str | int = "channel", axis: int = 0, half=True, tiny=False, zero=0
    ) -> None:
        half_range, numbers = 2 ** (BITS[dtype] - 1), generator(name)
        self.stored = numbers.integers(-half_range, half_range, shape)
        self.dtype, self.axis, self.block, self.zero = dtype, axis, 0, zero
        if isinstance(scales, int):
            self.block = scales
            count = (shape[0], shape[1] // scales)
            self.scales = numbers.uniform(0.5, 1.5, count).astype(np.float16 if half else np.float32) / half_range
            if tiny:
                self.scales = (self.scales.astype(np.float32) * 2**-15).astype(np.float16)
                self.scales.flat[1:4:2] = 0, -self.scales.flat[3]
            wide = np.repeat(self.scales.astype(np.float32), scales, 1)
        else:
            count = shape[axis] if scales == "channel" else 1
            self.scales = numbers.uniform(0.5, 1.5, count).astype(np.float32) / half_range
            wide = self.scales.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        self.floats = ((self.stored - zero) * wide).astype(np.float32)

    def add(self, m: Model, zero_points: np.ndarray | None = None) -> Value:
        """The constant."""
        how = {"scale": self.scales, "scale_axis": self.axis, "zero_point": self.zero}
        if self.block:
            zeros = -1 if zero_points is None else m.const(zero_points).index
            how = {"blocks": Blocks(m.const(self.scales).index, self.block, zeros)}
        return m.value(self.stored.shape, self.dtype, data=self.stored.astype(np.int8), **how)


class Halfs:
    """Random floats of 16 bits, as `Integers` has integers."""

    block = 0

    def __init__(self, name: str, shape) -> None:
        self.stored = generator(name).uniform(-1, 1, shape).astype(np.float16)
        self.floats = self.stored.astype(np.float32)

    def add(self, m: Model) -> Value:
        return m.const_f16(self.stored)


def _dense(
    name, x, w, dtype, scales="channel", activation="NONE", keep_num_dims=False, half=True, version=12, bias=True,
    tiny=False, zero=0,
):  # fmt: skip
    weights = Integers(name, w, dtype, scales, half=half, tiny=tiny, zero=zero)
    b = generator(name + " bias").uniform(-1, 1, w[0]).astype(np.float32) if bias else None
    how = {"activation": activation, "keep_num_dims": keep_num_dims}

    def build(m, x):
        y = fully_connected(np.zeros(x.shape), weights.floats, b, **how)
        return m.op("FULLY_CONNECTED", [x, weights.add(m), b], y.shape, "FullyConnectedOptions", version,
                    FusedActivationFunction=_activation(activation), KeepNumDims=keep_num_dims)  # fmt: skip

    name = f"{dtype}_weights_{name}"
    return Case(
        "FULLY_CONNECTED", name, [x], build, lambda x: fully_connected(x, weights.floats, b, **how), on_cpu=False
    )


_WINDOW = {"Padding": _padding("SAME"), "StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}


def _conv(dtype, scales="channel"):
    weights = Integers(f"conv {dtype} {scales}", (6, 3, 2, 5), dtype, scales)
    return Case(
        "CONV_2D",
        f"{dtype}_weights_scale_of_{scales}",
        [(1, 4, 5, 5)],
        lambda m, x: m.op("CONV_2D", [x, weights.add(m)], (1, 4, 5, 6), "Conv2DOptions", 8, **_WINDOW),
        lambda x: conv2d(x, weights.floats, None),
        on_cpu=False,
    )


def _depthwise(dtype):
    weights = Integers(f"depthwise {dtype}", (1, 3, 2, 6), dtype, axis=3)
    return Case(
        "DEPTHWISE_CONV_2D",
        f"{dtype}_weights",
        [(1, 4, 5, 6)],
        lambda m, x: m.op(
            "DEPTHWISE_CONV_2D", [x, weights.add(m)], x.shape, "DepthwiseConv2DOptions", 6, DepthMultiplier=1, **_WINDOW
        ),
        lambda x: depthwise_conv2d(x, weights.floats, None),
        on_cpu=False,
    )


def _lookup(name, table, dtype, scales="channel", half=True, tiny=False, **given):
    rows = Integers(f"lookup {name}", table, dtype, scales, half=half, tiny=tiny)
    return Case(
        "EMBEDDING_LOOKUP",
        f"{dtype}_table_{name}",
        [Feed((5,), 0, table[0] - 1, dtype="int32")],
        lambda m, i: m.op("EMBEDDING_LOOKUP", [i, rows.add(m)], (5, *table[1:]), version=5 if rows.block else 4),
        lambda i: rows.floats[i],
        **given,
    )


def _dequantized(dtype, scales):
    table = Integers(f"dequantized {dtype}", (6, 8), dtype, scales)
    return Case(
        "DEQUANTIZE",
        f"{dtype}_constant_scale_of_{scales}",
        [(6, 8)],
        lambda m, x: m.add(x, m.op("DEQUANTIZE", [table.add(m)], x.shape, "DequantizeOptions", 6)),
        lambda x: x + table.floats,
        on_cpu=not table.block,
    )


def _zero_points(m, x):
    w = Integers("zero points", (4, 8), "int4", 8).add(m, np.ones((4, 1), np.int32))
    return m.op("FULLY_CONNECTED", [x, w, None], (2, 4), "FullyConnectedOptions", 12)


CASES = [
    _dense("of_a_tensor", (1, 64), (12, 64), "int8", "tensor", version=3),
    _dense("of_channels", (1, 64), (12, 64), "int8"),
    _dense("of_channels_three_rows", (3, 40), (37, 40), "int8", activation="RELU"),
    _dense("odd", (2, 9), (7, 9), "int8"),
    _dense("of_blocks", (1, 64), (12, 64), "int8", 32),
    _dense("of_a_tensor", (1, 64), (12, 64), "int4", "tensor", version=9),
    _dense("of_channels", (2, 64), (20, 64), "int4", activation="RELU6"),
    _dense("odd", (2, 9), (7, 9), "int4"),
    _dense("of_blocks", (1, 128), (33, 128), "int4", 32),
    _dense("of_blocks_rank_3", (2, 3, 64), (18, 64), "int4", 32, keep_num_dims=True),
    _dense("of_blocks_floats", (2, 64), (12, 64), "int4", 16, half=False, bias=False),
    _dense("of_small_blocks", (1, 24), (5, 24), "int4", 4),
    _dense("of_three_blocks_tiny_scales", (2, 96), (13, 96), "int4", 32, bias=False, tiny=True),
    _dense("of_many_rows", (33, 64), (12, 64), "int4", 32),
    # 64 KB: they stay integers for any number of rows.
    _dense("large_many_rows", (37, 256), (300, 256), "int8", activation="RELU"),
    _dense("large_zero_point", (9, 256), (300, 256), "int8", "tensor", zero=5, bias=False),
    _dense("large_many_rows", (21, 512), (260, 512), "int4"),
    _dense("large_many_rows_of_blocks", (22, 512), (260, 512), "int4", 32),
    _dense("large_many_rows_tiny_scales", (8, 512), (260, 512), "int4", 64, bias=False, tiny=True),
    _dense("large_many_rows_of_blocks", (11, 1024), (260, 1024), "int2", 32, version=14),
    _dense("of_a_tensor", (1, 64), (12, 64), "int2", "tensor", version=14),
    _dense("of_channels", (3, 64), (20, 64), "int2", version=14),
    _dense("odd", (2, 9), (7, 9), "int2", version=14),
    _dense("of_blocks", (1, 128), (17, 128), "int2", 32, version=14),
    _conv("int4"),
    _conv("int4", "tensor"),
    _conv("int2"),
    _depthwise("int4"),
    _lookup("of_a_tensor", (9, 16), "int8", "tensor"),
    _lookup("of_rows", (9, 16), "int8"),
    _lookup("of_odd_rows", (9, 7), "int8"),
    _lookup("of_a_tensor", (9, 16), "int4", "tensor"),
    _lookup("of_rows", (9, 6), "int4"),
    _lookup("of_blocks", (9, 64), "int4", 32),
    _lookup("of_three_blocks_tiny_scales", (9, 96), "int4", 32, tiny=True),
    _lookup("of_blocks_floats", (9, 32), "int4", 8, half=False, on_cpu=False),
    _lookup("of_rows", (9, 20), "int2"),
    _lookup("of_blocks", (9, 64), "int2", 16),
    _lookup("of_odd_rows", (9, 7), "int4", place="cpu", reason="whole bytes", on_cpu=False),
    _dequantized("int4", "channel"),
    _dequantized("int4", 4),
    _dequantized("int2", "tensor"),
    Case(
        "FULLY_CONNECTED",
        "int4_weights_with_zero_points",
        [(2, 8)],
        _zero_points,
        place="cpu",
        reason="zero points",
        on_cpu=False,
    ),
]
