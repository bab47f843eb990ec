"""Convolutions of 3 x 3 pixels by Winograd's algorithm (ops/winograd.h): right in every precision, and taken where the target says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests import cpu
from tests.delegate import TARGETS, TOLERANCE, options
from tests.model_builder import Model
from tests.test_dead_lanes import READERS, poisoned
from tests.vectors.batch import batches
from tests.vectors.case import constant
from tests.vectors.conv_2d import CUT_ROW, WINOGRAD, conv2d

_WAY = ["winograd_source", "winograd_products", "winograd_result"]
_IO = {"to_slices", "from_slices"}


@pytest.fixture
def phone(tmp_path):
    """phone(backend, target, precision, facts): options with a target that takes Winograd's algorithm for every convolution."""

    def write(backend: str, target: str, precision: str, **facts) -> dict[str, str]:
        given = json.loads((TARGETS / f"{target}.json").read_text())
        path = tmp_path / "target.json"
        path.write_text(json.dumps({**given, "winograd_channels": 1, "winograd_tiles": 1, **facts}))
        return {**options("", backend, precision=precision), "target": str(path)}

    return write


def kernels(outcome) -> list[str]:
    """Of all dispatches that compute."""
    [partition] = outcome.report["partitions"]
    return [one["kernel"].removesuffix("_split") for one in partition["dispatches"] if one["kernel"] not in _IO]


_QUICK = [
    ("opencl", "cpu-avx512", "f32"),
    ("opencl", "mali-g76-buffers", "f16"),
    ("gles", "adreno-740-gles", "f32"),
    ("gles", "mali-g610-gles", "f32_f16"),
]
_SLOW = [
    ("opencl", target, precision)
    for target in ("cpu-avx512", "cpu-avx2", "adreno-640", "mali-g76-buffers", "generic", "large-tiles")
    for precision in ("f32", "f32_f16", "f16")
] + [
    ("gles", f"{target}-gles", precision)
    for target in ("adreno-630", "adreno-740", "mali-g76", "mali-g610", "generic", "large-tiles")
    for precision in ("f32", "f32_f16", "f16")
]


@pytest.mark.parametrize(
    ("backend", "target", "precision"),
    _QUICK + [pytest.param(*run, marks=pytest.mark.slow) for run in _SLOW if run not in _QUICK],
)
def test_convolutions_are_right_by_winograds_way(quadra, phone, backend, target, precision):
    [case] = batches(WINOGRAD, most=len(WINOGRAD))
    outcome = quadra.run(case.model(), case.feeds(), **phone(backend, target, precision))
    case.check(outcome, TOLERANCE[precision])
    assert kernels(outcome) == _WAY * len(WINOGRAD)


@pytest.mark.parametrize(
    ("backend", "target", "precision"),
    [pytest.param(*run, marks=[pytest.mark.slow] * (run not in _QUICK[1:3])) for run in dict.fromkeys(_QUICK + _SLOW)],
)
def test_random_sizes_are_right(quadra, phone, backend, target, precision):
    how = phone(backend, target, precision)

    @settings(max_examples=8, suppress_health_check=list(HealthCheck))
    @given(
        st.integers(1, 3),
        st.integers(3, 18),
        st.integers(3, 18),
        st.integers(1, 40),
        st.integers(1, 40),
        st.sampled_from(["SAME", "VALID"]),
    )
    def examples(batch, h, w, in_c, out_c, padding):
        x = constant("winograd/x", (batch, h, w, in_c))
        weights, bias = constant("winograd/w", (out_c, 3, 3, in_c)), constant("winograd/b", (out_c,))
        m = Model()
        m.output(m.conv2d(m.input(x.shape), weights, bias, padding=padding))
        outcome = quadra.run(m.bytes(), [x], **how)
        outcome.check([conv2d(x, weights, bias, padding=padding)], TOLERANCE[precision], least_range=1.0)
        assert kernels(outcome) == _WAY

    examples()


@pytest.mark.parametrize(("backend", "target"), [("opencl", "mali-g76-buffers"), ("gles", "generic-gles")])
def test_lanes_beyond_the_channels_reach_no_result(quadra, phone, backend, target):
    model, x, feed = poisoned("slice of more")
    model.output(*[READERS[name](model, x) for name in ("conv", "concatenation", "merged steps", "resize")])
    outcome = quadra.run(model.bytes(), [feed], **phone(backend, target, "f32"))
    outcome.check(cpu.run(model.bytes(), [feed]))
    assert {*_WAY} <= {*kernels(outcome)}


def test_weights_longer_than_a_row_are_cut(quadra, phone):
    """Each part has its own outputs of all 36 matrices."""
    x, weights = constant("winograd/x", (1, 17, 15, 6)), constant("winograd/w", (22, 3, 3, 6))
    m = Model()
    m.output(m.conv2d(m.input(x.shape), weights, None))
    row = {"max_image_buffer_width": 5 * CUT_ROW, "reads_buffers_as_images": True}
    outcome = quadra.run(m.bytes(), [x], **phone("gles", "large-tiles-gles", "f32", **row))
    outcome.check([conv2d(x, weights)], TOLERANCE["f32"])
    assert kernels(outcome) == [_WAY[0], _WAY[1], _WAY[1], _WAY[1], _WAY[2]]


def _chosen(quadra, size, channels, outputs, facts, kernel=(3, 3), **how) -> bool:
    m = Model()
    weights = np.zeros((outputs, *kernel, how.pop("group", channels)), np.float32)
    m.output(m.conv2d(m.input((1, *size, channels)), weights, None, **how))
    outcome = quadra.run(m.bytes(), **facts)
    assert not outcome.error, outcome.error
    return "winograd_products" in kernels(outcome)


@pytest.mark.parametrize(
    ("target", "least", "side"),
    [("adreno-740-gles", 128, 45), ("mali-g610-gles", 64, 21), ("generic", 64, 21), ("cpu-avx512", 64, 5)],
)
def test_a_target_takes_it_from_so_many_channels_and_tiles(quadra, target, least, side):
    """`side`: 4 more than a multiple of 4 are tiles more; one row less has too few."""
    null = options(target, "null", precision="f32")
    small = side - 4
    assert _chosen(quadra, (side, side), least, least, null)
    assert not _chosen(quadra, (small, small), least, least, null)
    assert not _chosen(quadra, (side, side), least - 1, least, null)
    assert not _chosen(quadra, (side, side), least, least - 1, null)
    assert not _chosen(quadra, (side, side), least, least, {**null, "is_precision_loss_allowed": "0"})


def test_other_convolutions_do_not_take_it(quadra, phone):
    usual = phone("null", "mali-g76-buffers", "f32")
    assert _chosen(quadra, (12, 12), 8, 8, usual)
    for how in (
        {"stride": (2, 1)},
        {"dilation": (1, 2)},
        {"kernel": (3, 1)},
        {"kernel": (5, 3)},
        {"group": 4},
    ):
        assert not _chosen(quadra, (12, 12), 8, 8, usual, **how), how
    few_bytes = phone("null", "mali-g76-buffers", "f32", max_buffer_bytes=36 * 9 * 2 * 16 - 1)
    assert not _chosen(quadra, (12, 12), 8, 8, few_bytes), "tiles that fit no buffer"
