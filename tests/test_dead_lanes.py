"""Lanes of the last slice beyond the channels hold zero: what an op leaves behind there (neighbours that a slice cut off,
infinity, NaN, numbers near the largest) never reaches a result, whatever op reads it."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import options
from tests.model_builder import Model
from tests.vectors.case import constant

W = constant("dead_lanes/w", (8, 3, 3, 3))
B = constant("dead_lanes/b", (8,))
POISON = [np.inf, -np.inf, np.nan, 3e38, -3e38]
TARGETS = [
    ("opencl", ""),
    ("opencl", "adreno-640"),
    ("opencl", "mali-g76"),
    ("opencl", "generic"),
    ("gles", ""),
    ("gles", "adreno-640"),
    ("gles", "mali-g76"),
    ("gles", "generic-gles"),
]

# How four channels become three whose fourth lane is what was cut off: input shape, where poison goes, the op.
CUTS = {
    "slice": ((2, 5, 6, 4), np.s_[..., 3], lambda m, x: m.strided_slice(x, [0] * 4, [2, 5, 6, 3], [1] * 4)),
    "slice of more": (
        (2, 5, 6, 9),
        np.s_[..., [0, 4, 5, 6, 7, 8]],
        lambda m, x: m.strided_slice(x, [0, 0, 0, 1], [2, 5, 6, 4], [1] * 4),
    ),
    "pixels of a reshape": (
        (2, 5, 9, 4),
        np.s_[..., 3],
        lambda m, x: m.strided_slice(m.reshape(x, (2, 5, 12, 3)), [0] * 4, [2, 5, 12, 3], [1, 1, 4, 1]),
    ),
    "depth to space": (
        (2, 5, 6, 12),
        np.s_[..., 3:],
        lambda m, x: m.strided_slice(m.depth_to_space(x, 2), [0] * 4, [2, 10, 12, 3], [1, 2, 2, 1]),
    ),
}
READERS = {
    "conv": lambda m, x: m.conv2d(x, W, B),
    "conv with stride": lambda m, x: m.conv2d(x, W, B, stride=(2, 2), activation="RELU"),
    "pointwise": lambda m, x: m.conv2d(x, W[:, :1, :1], B),
    "groups": lambda m, x: m.conv2d(m.concatenation(x, x), constant("dead_lanes/g", (4, 2, 2, 3)), B[:4]),
    "transposed conv": lambda m, x: m.transpose_conv(x, W, B),
    "conv of planes": lambda m, x: m.op(
        "CONV_3D",
        [m.reshape(x, (1, *x.shape)), constant("dead_lanes/z", (2, 2, 2, 3, 4))],
        (1, *x.shape[:3], 4),
        "Conv3DOptions",
        StrideD=1,
        StrideH=1,
        StrideW=1,
    ),
    "depthwise": lambda m, x: m.depthwise_conv2d(x, constant("dead_lanes/d", (1, 3, 3, 3)), B[:3]),
    "fully connected": lambda m, x: m.fully_connected(x, W[:, 0, 0], B, keep_num_dims=True),
    "mean of channels": lambda m, x: m.mean(x, (3,), keep_dims=True),
    "mean of all": lambda m, x: m.mean(x, (1, 2, 3)),
    "softmax": lambda m, x: m.softmax(x),
    "concatenation": lambda m, x: m.conv2d(m.concatenation(x, x, x), np.tile(W, 3), B),
    "merged steps": lambda m, x: m.conv2d(m.mul(m.add(x, x, activation="RELU"), constant("dead_lanes/k", (3,))), W, B),
    "pool": lambda m, x: m.mean(m.average_pool2d(x, (2, 2)), (3,)),
    "pool of squares": lambda m, x: m.mean(m.l2_pool2d(x, (2, 2)), (3,)),
    "resize": lambda m, x: m.conv2d(m.resize_bilinear(x, (7, 9)), W, B),
    "reshape": lambda m, x: m.fully_connected(m.reshape(x, (-1, 3)), W[:, 0, 0], B),
}


def poisoned(cut: str) -> tuple[Model, object, np.ndarray]:
    """The model so far, its value of three channels, and an input with poison wherever that value takes nothing from."""
    shape, where, build = CUTS[cut]
    model = Model()
    feed = constant(f"dead_lanes/{cut}", shape)
    feed[where] = np.resize(np.float32(POISON), feed[where].shape)
    return model, build(model, model.input(shape)), feed


@pytest.mark.parametrize(("backend", "target"), TARGETS)
@pytest.mark.parametrize("cut", CUTS)
def test_what_was_cut_off_reaches_no_result(quadra_for, cut, backend, target):
    model, x, feed = poisoned(cut)
    model.output(*[read(model, x) for read in READERS.values()])
    expected = cpu.run(model.bytes(), [feed])
    assert all(np.isfinite(numbers).all() for numbers in expected), "the case itself is poisoned"
    quadra_for(target).run(model.bytes(), [feed], **options(target, backend)).check(expected)


@pytest.mark.parametrize(("backend", "target"), TARGETS)
def test_merged_steps_leave_zeros_too(quadra_for, backend, target):
    """A step after a kernel makes something of a zero: here 0 + 3e38 in each lane, which a sum would make infinite."""
    model = Model()
    x = model.input((1, 4, 5, 3))
    y = model.add(model.conv2d(x, W[:3, :1, :1] * 0, B[:3] * 0), np.full((1,), 3e38, np.float32))
    model.output(
        model.mul(model.mean(model.mul(y, np.full((1,), 0.3, np.float32)), (3,)), np.full((1,), 1e-38, np.float32))
    )
    feed = constant("dead_lanes/steps", (1, 4, 5, 3))
    expected = [np.full((1, 4, 5), 0.9, np.float32)]
    quadra_for(target).run(model.bytes(), [feed], **options(target, backend)).check(expected)
