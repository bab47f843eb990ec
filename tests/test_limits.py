"""What devices limit: loops, groups of a dispatch, sizes of buffers, bindings. Results stay right, or the verdict says
what was needed, what the device allows and what helps."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from tests.delegate import TARGETS, TOLERANCE, Outcome, Quadra, options
from tests.model_builder import Model
from tests.runs import in_turn
from tests.vectors import all_cases
from tests.vectors.batch import batches
from tests.vectors.case import Case, Feed, constant
from tests.vectors.conv_2d import CUT_ROW, CUT_SMALL, CUTS, conv2d
from tests.vectors.products import top_k
from tests.vectors.recurrent import Layer
from tests.vectors.reduce import arg

BACKENDS = ["opencl", "gles"]


def _case(op: str, name: str, shape: tuple[int, ...] | Feed, build: Callable, reference: Callable) -> Case:
    return Case(op, name, [shape], build, reference)


def _windows(x, size: int, stride: int, of) -> np.ndarray:
    places = range(0, x.shape[1] - size + 1, stride)
    found = [[of(x[:, i : i + size, j : j + size].astype(np.float64), (1, 2)) for j in places] for i in places]
    return np.asarray(found).transpose(2, 0, 1, 3)


def _mean(name: str, shape, axes) -> Case:
    return _case(
        "MEAN", name, Feed(shape, 0, 2), lambda m, x: m.mean(x, axes), lambda x: x.astype(np.float64).mean(axis=axes)
    )


def _dense(name: str, inputs: int, outputs: int) -> Case:
    w, b = constant(name + "/w", (outputs, inputs)), constant(name + "/b", (outputs,))
    return _case(
        "FULLY_CONNECTED",
        name,
        (1, inputs),
        lambda m, x: m.fully_connected(x, w, b),
        lambda x: x.astype(np.float64) @ w.T.astype(np.float64) + b,
    )


def _softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


# The largest number comes last.
_RAMP = np.arange(300 * 300, dtype=np.float32).reshape(1, 300, 300, 1) / 1000


# One work-item that did all of it would loop more than 65535 times, where llvmpipe ends loops without a word.
# More steps than one kernel makes.
def _reduced(op: str, dtype: str) -> Case:
    """More numbers than a work-item may go through."""
    function = {"SUM": np.sum, "REDUCE_MAX": np.max, "REDUCE_MIN": np.min}[op]
    feed = Feed((2, 300001), 1, 9, dtype=dtype)
    return _case(
        op,
        f"{dtype}_300001",
        feed,
        lambda m, x: m.op(op, [x, np.int32([1])], (2,), "ReducerOptions", output={"dtype": dtype}),
        lambda x: function(x.astype(np.float64), axis=1).astype(x.dtype),
    )


SEQUENCES = [
    Layer("UNIDIRECTIONAL_SEQUENCE_LSTM", "steps_3500", steps=3500, units=17, outputs=3),
    Layer("UNIDIRECTIONAL_SEQUENCE_LSTM", "steps_3500_batch_major", steps=3500, units=17, outputs=6, time_major=False),
    Layer("UNIDIRECTIONAL_SEQUENCE_RNN", "steps_7000_batch_major", steps=7000, units=5, time_major=False),
]
LONG = [
    _mean("image_300x300", (1, 300, 300, 3), (1, 2)),
    _mean("width_of_100000", (1, 1, 100000, 2), (2,)),
    _mean("channels_300000", (2, 300000), (1,)),
    _mean("image_and_channels", (2, 40, 40, 203), (1, 2, 3)),
    _mean("batch_too", (3, 200, 200, 5), (0, 1, 2)),
    _case(
        "AVERAGE_POOL_2D",
        "whole_image_300x300",
        Feed((1, 300, 300, 3), 0, 2),
        lambda m, x: m.average_pool2d(x, (300, 300), (1, 1), "VALID"),
        lambda x: x.astype(np.float64).mean(axis=(1, 2), keepdims=True),
    ),
    _case(
        "AVERAGE_POOL_2D",
        "window_of_257x257",
        Feed((1, 300, 300, 2), 0, 2),
        lambda m, x: m.average_pool2d(x, (257, 257), (43, 43), "VALID"),
        lambda x: _windows(x, 257, 43, np.mean),
    ),
    _case(
        "MAX_POOL_2D",
        "window_of_257x257",
        Feed((1, 300, 300, 2), 0, 2),
        lambda m, x: m.max_pool2d(m.add(x, _RAMP), (257, 257), (43, 43), "VALID"),
        lambda x: _windows(x + _RAMP, 257, 43, np.max),
    ),
    *(_reduced(op, dtype) for op in ("SUM", "REDUCE_MAX", "REDUCE_MIN") for dtype in ("float32", "int32")),
    _dense("inputs_300000", 300000, 8),
    _case("SOFTMAX", "channels_300000", (1, 300000), lambda m, x: m.softmax(x), _softmax),
    _case("SOFTMAX", "many_pixels", (40, 40, 1400), lambda m, x: m.softmax(x), _softmax),
    arg("ARG_MAX", "channels_300000", (2, 300000), 1),
    arg("ARG_MIN", "channels_of_many_ties", Feed((3, 100001), step=0.25), 1),
    top_k("channels_300000", Feed((1, 300000), -1000, 1000), 8),
    _case("RESHAPE", "column_to_row", (300000, 1), lambda m, x: m.reshape(x, (1, 300000)), lambda x: x.reshape(1, -1)),
    _case("RESHAPE", "row_to_column", (1, 300000), lambda m, x: m.reshape(x, (300000, 1)), lambda x: x.reshape(-1, 1)),
    *(layer.case() for layer in SEQUENCES),
]
# More groups along an axis than OpenGL ES promises.
WIDE = [
    _dense("outputs_300000", 5, 300000),
    *(
        _case("RELU", name, shape, lambda m, x: m.unary("RELU", x), lambda x: np.maximum(x, 0))
        for name, shape in (
            ("long_row", (1, 3000000)),
            # The largest grid of one row, where places are quotients of floats, and a larger one.
            ("largest_flat_grid", (1, 2047, 2049, 1)),
            ("no_flat_grid", (1, 2048, 2049, 1)),
        )
    ),
]
ONE_PER_OP = list({case.op: case for case in all_cases() if case.place == "gpu" and case.half}.values())
TOGETHER = batches(ONE_PER_OP, key=lambda case: None)
_LONG_SUMS = 1e-4  # a sum of 90000 numbers one by one, as CPUs make it, rounds by more than 1e-5


def run(
    quadra: Quadra, case: Case, backend: str, target: str = "", precision: str = "f32", tolerance: float = 0.0
) -> Outcome:
    given = {**options("", backend, precision=precision), **({"target": target} if target else {})}
    outcome = quadra.run(case.model(), case.feeds(), **given)
    outcome.check(case.expected(), tolerance or TOLERANCE[precision], everything_on_gpu=False)
    return outcome


@pytest.mark.parametrize("target", ["", "adreno-640"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_halves_are_rounded_to_the_nearest(quadra, backend, target):
    """Not cut off: errors of one sign would add up from layer to layer."""
    case = Case("RELU", "halves", [Feed((1, 32, 32, 4), 1, 2)], lambda m, x: m.unary("RELU", x), lambda x: x)
    given = options(target, backend, precision="f32_f16")
    got = quadra.run(case.model(), case.feeds(), **given).outputs[-1][0]
    assert np.abs(got - case.feeds()[0]).max() <= 2**-11


def target_file(folder, **limits) -> str:
    path = folder / "target.json"
    path.write_text(json.dumps({"name": "small", "vendor": "generic", **limits}))
    return str(path)


@pytest.mark.parametrize(
    ("case", "backend", "target"),
    [
        *in_turn(LONG + WIDE, [("opencl", "")], 1),
        *in_turn(LONG + WIDE, [("gles", ""), ("gles", "generic-gles")], 1),  # what OpenGL ES promises
    ],
)
def test_large_tensor_is_right(quadra, case, backend, target):
    target = str(TARGETS / f"{target}.json") if target else ""
    assert not run(quadra, case, backend, target, tolerance=_LONG_SUMS).on_cpu()


@pytest.mark.parametrize(("case", "precision"), in_turn(TOGETHER, [("f32",), ("f16",)], 1))
def test_vector_is_right_within_what_opengl_es_promises(quadra, case, precision):
    assert not run(quadra, case, "gles", str(TARGETS / "generic-gles.json"), precision).on_cpu()


@pytest.mark.parametrize(
    ("case", "backend", "flat_group"), in_turn(TOGETHER, [("opencl", 0), ("gles", 0), ("gles", 4)], 1)
)
def test_grid_of_too_many_groups_is_dispatched_in_parts(quadra, tmp_path, case, backend, flat_group):
    more = {"flat_group": flat_group} if flat_group else {}
    target = target_file(tmp_path, api=backend, max_groups=[3, 2, 2], **more)
    assert not run(quadra, case, backend, target).on_cpu()


@pytest.mark.parametrize(("backend", "more"), [("opencl", {}), ("gles", {}), ("gles", {"flat_group": 4})])
def test_a_dispatch_of_too_much_work_is_cut_into_parts(quadra, tmp_path, backend, more):
    """By what the target's GPU does in a second; others keep their text. The bits are the same."""
    w = constant("work", (16, 3, 3, 32))
    case = Case(
        "CONV_2D",
        "work",
        [(1, 65, 63, 32)],
        lambda m, x: m.unary("TANH", m.conv2d(x, w)),
        lambda x: np.tanh(conv2d(x, w)),
    )
    outcomes = [
        run(quadra, case, backend, target_file(tmp_path, api=backend, **more, **rate))
        for rate in ({}, {"trips_per_second": 65536})
    ]
    whole, cut = ([one["kernel"] for one in outcome.report["partitions"][0]["dispatches"]] for outcome in outcomes)
    assert whole.count("conv2d") == 1 and cut.count("conv2d") >= 2, (whole, cut)
    assert [name for name in cut if name != "conv2d"] == [name for name in whole if name != "conv2d"]
    assert outcomes[0].outputs[0][0].tobytes() == outcomes[1].outputs[0][0].tobytes()


@pytest.mark.parametrize(("case", "backend"), in_turn(ONE_PER_OP, [("opencl",), ("gles",)], 1))
def test_small_buffers_and_groups_are_kept_to(quadra, tmp_path, case, backend):
    target = target_file(tmp_path, api=backend, max_buffer_bytes=8192, max_work_group_size=8, max_work_group=[4, 4, 2])
    run(quadra, case, backend, target)


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_too_large_for_a_buffer_are_cut_by_input_channels(quadra, tmp_path, backend):
    target = target_file(tmp_path, api=backend, max_buffer_bytes=16384)
    w = constant("cut", (32, 3, 3, 37))
    case = Case(
        "CONV_2D",
        "cut",
        [(1, 9, 8, 37)],
        lambda m, x: m.unary("RELU", m.conv2d(x, w)),
        lambda x: np.maximum(conv2d(x, w), 0),
    )
    assert not run(quadra, case, backend, target).on_cpu()


def test_weights_longer_than_a_row_of_texels_are_cut_by_output_channels(quadra, tmp_path):
    rows = {"max_image_buffer_width": CUT_ROW, "reads_buffers_as_images": True, "extensions": ["GL_EXT_texture_buffer"]}
    [case] = batches(CUTS)
    for precision, enough in (("f32", 1), ("f16", CUT_SMALL)):
        target = target_file(tmp_path, api="gles", enough_work_items=enough, **rows)
        outcome = run(quadra, case, "gles", target, precision)
        assert not outcome.on_cpu()
        kernels = [one["kernel"] for one in outcome.report["partitions"][0]["dispatches"]]
        assert kernels.count("conv2d") == 2 * 2 + 2 * 3, kernels


LIMITED = [
    ("buffer", {"max_buffer_bytes": 64}, ("bytes", "'small' allows 64", "helps")),
    ("storage blocks", {"max_storage_blocks": 1}, ("needs 2 storage blocks", "'small' allows 1", "help")),
]


@pytest.mark.parametrize(("what", "limits", "words"), LIMITED, ids=[row[0] for row in LIMITED])
def test_verdict_says_what_the_device_lacks(quadra, tmp_path, what, limits, words):
    case = Case("RELU", "limited", [(1, 4, 4, 8)], lambda m, x: m.unary("RELU", x), lambda x: np.maximum(x, 0))
    reasons = run(quadra, case, "gles", target_file(tmp_path, api="gles", **limits)).on_cpu()
    assert len(reasons) == 1 and all(word in reasons[0] for word in words), reasons


def test_operands_are_merged_only_as_far_as_bindings_go(quadra, tmp_path):
    """Four sums after a convolution: each is a tensor that its kernel would read too."""

    def build(m: Model, x, *others):
        y = m.conv2d(x, constant("merged", (8, 1, 1, 8)))
        for other in others:
            y = m.add(y, other)
        return m.unary("RELU", y)

    def reference(x, *others):
        return np.maximum(conv2d(x, constant("merged", (8, 1, 1, 8))) + sum(others), 0)

    case = Case("CONV_2D", "merged", [(1, 5, 6, 8)] * 5, build, reference)
    dispatches = {}
    for blocks in (4, 8):
        target = target_file(tmp_path, api="gles", max_storage_blocks=blocks, max_output_resources=blocks)
        outcome = run(quadra, case, "gles", target)
        assert not outcome.on_cpu()
        dispatches[blocks] = len(outcome.report["partitions"][0]["dispatches"])
    assert dispatches[8] < dispatches[4], dispatches
