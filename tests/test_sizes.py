"""Models that compute sizes from shapes (a batch, a height and width to upsample to): wholly on the GPU, and right after
every resize."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import options
from tests.model_builder import Model, Value
from tests.runs import BACKENDS
from tests.vectors.case import constant

on_both = pytest.mark.parametrize("backend", BACKENDS)


def _shape_of(m: Model, x: Value, dtype: str = "int32") -> Value:
    return m.op(
        "SHAPE", [x], (len(x.shape),), "ShapeOptions", OutType=2 if dtype == "int32" else 4, output={"dtype": dtype}
    )


def _ints(m: Model, name: str, inputs, shape, kind: str = "", dtype: str = "int32", **how) -> Value:
    return m.op(name, inputs, shape, kind, output={"dtype": dtype}, **how)


def _entry(m: Model, sizes: Value, i: int) -> Value:
    """sizes[i]"""
    how = {"ShrinkAxisMask": 1, "BeginMask": 0, "EndMask": 0, "EllipsisMask": 0, "NewAxisMask": 0}
    bounds = [np.int32([i]), np.int32([i + 1]), np.int32([1])]
    return _ints(m, "STRIDED_SLICE", [sizes, *bounds], (), "StridedSliceOptions", sizes.dtype, **how)


def _pack(m: Model, *numbers) -> Value:
    return _ints(m, "PACK", list(numbers), (len(numbers),), "PackOptions", ValuesCount=len(numbers), Axis=0)


def _relu(m: Model, x: Value) -> Value:
    return m.unary("RELU", x)


def flatten(m: Model, x: Value) -> Value:
    """Keras' Flatten of any batch."""
    b, h, w, c = x.shape
    sizes = _pack(m, _entry(m, _shape_of(m, x), 0), np.int32(h * w * c))
    return _relu(m, m.op("RESHAPE", [_relu(m, x), sizes], (b, h * w * c)))


def upsample(m: Model, x: Value) -> Value:
    """Keras' UpSampling2D of any height and width."""
    b, h, w, c = x.shape
    how = {"BeginMask": 0, "EndMask": 0, "EllipsisMask": 0, "NewAxisMask": 0, "ShrinkAxisMask": 0}
    bounds = [np.int32([1]), np.int32([3]), np.int32([1])]
    plane = _ints(m, "STRIDED_SLICE", [_shape_of(m, x), *bounds], (2,), "StridedSliceOptions", **how)
    size = _ints(m, "MUL", [plane, np.int32([2, 3])], (2,), "MulOptions")
    return m.op("RESIZE_NEAREST_NEIGHBOR", [_relu(m, x), size], (b, 2 * h, 3 * w, c), "ResizeNearestNeighborOptions")


def dense_of_rank_4(m: Model, x: Value) -> Value:
    """Keras' Dense over the last axis: the others become one and come back."""
    b, h, w, c = x.shape
    sizes = _shape_of(m, x)
    free = _ints(m, "GATHER", [sizes, np.int32([0, 1, 2])], (3,), "GatherOptions", Axis=0, BatchDims=0)
    rows = _ints(m, "REDUCE_PROD", [free, np.int32([0])], (), "ReducerOptions", KeepDims=False)
    flat = m.op("RESHAPE", [x, _pack(m, rows, np.int32(c))], (b * h * w, c))
    y = m.fully_connected(flat, constant("dense", (5, c)))
    back = _ints(m, "CONCATENATION", [free, np.int32([5])], (4,), "ConcatenationOptions", Axis=0)
    return m.op("RESHAPE", [y, back], (b, h, w, 5))


def several_readers(m: Model, x: Value) -> Value:
    """A shape's int64, unpacked, cast, combined; sizes of BROADCAST_TO, FILL and TILE."""
    b, h, w, c = x.shape
    sizes = _ints(m, "CAST", [_shape_of(m, x, "int64")], (4,), "CastOptions")
    parts = [m.value((), "int32") for _ in range(4)]
    m.several("UNPACK", [sizes], parts, "UnpackOptions", Num=4, Axis=0)
    half = _ints(m, "FLOOR_DIV", [parts[1], np.int32(2)], (), "FloorDivOptions")
    twice = _ints(m, "ADD", [_ints(m, "SUB", [parts[1], half], (), "SubOptions"), half], (), "AddOptions")
    ones = m.op("FILL", [_pack(m, *parts[:1], twice, *parts[2:]), np.float32(0.5)], x.shape)
    rank = _ints(m, "RANK", [x], (), "RankOptions")
    counts = _pack(m, np.int32(1), np.int32(1), np.int32(1), _ints(m, "DIV", [rank, np.int32(2)], (), "DivOptions"))
    tiled = m.op("TILE", [m.add(x, ones), counts], (b, h, w, 2 * c))
    wide = _pack(m, *parts[:3], _ints(m, "MINIMUM", [np.int32(2 * c), np.int32(99)], (), "MaximumMinimumOptions"))
    row = m.op("BROADCAST_TO", [constant("row", (2 * c,)), wide], (b, h, w, 2 * c), version=2)
    return m.mul(tiled, row)


def _doubled(m: Model, x: Value, axes: int, channels: int) -> Value:
    """The sizes of x with `axes` of them twice as long, and `channels`."""
    sizes = [_entry(m, _shape_of(m, x), i) for i in range(axes + 1)]
    twice = [_ints(m, "MUL", [size, np.int32(2)], (), "MulOptions") for size in sizes[1:]]
    return _pack(m, sizes[0], *twice, np.int32(channels))


def transposed_conv(m: Model, x: Value) -> Value:
    """Keras' Conv2DTranspose of any batch, height and width."""
    b, h, w, c = x.shape
    how = {"Padding": 0, "StrideH": 2, "StrideW": 2}
    inputs = [_doubled(m, x, 2, 5), constant("transposed", (5, 3, 3, c)), x]
    return _relu(m, m.op("TRANSPOSE_CONV", inputs, (b, 2 * h, 2 * w, 5), "TransposeConvOptions", **how))


def transposed_conv_of_planes(m: Model, x: Value) -> Value:
    """Keras' Conv3DTranspose: x's width is depth, and its channels are rows of two pixels of one channel."""
    b, h, w, c = x.shape
    whole = _pack(m, *[_entry(m, _shape_of(m, x), i) for i in range(3)], np.int32(2), np.int32(c // 2))
    planes = m.op("RESHAPE", [x, whole], (b, h, w, 2, c // 2))
    how = {f"{word}{axis}{end}": n for word, end, n in (("Stride", "", 2), ("Dilation", "Factor", 1)) for axis in "DHW"}
    inputs = [_doubled(m, planes, 3, 4), constant("transposed planes", (3, 2, 3, 4, c // 2)), planes]
    return m.op("CONV_3D_TRANSPOSE", inputs, (b, 2 * h, 2 * w, 4, 4), "Conv3DOptions", Padding=0, **how)


def scattered(m: Model, x: Value) -> Value:
    """One of four parts, the others zero."""
    parts = _pack(m, np.int32(4), *[_entry(m, _shape_of(m, x), i) for i in range(4)])
    part = m.op("EXPAND_DIMS", [x, np.int32(0)], (1, *x.shape))
    return m.op("SCATTER_ND", [np.int32([[2]]), part, parts], (4, *x.shape))


def padded(m: Model, x: Value) -> Value:
    """To eight rows and columns, then mirrored by half of each, and by all channels but one."""
    b, h, w, c = x.shape
    rows, columns = (_entry(m, _shape_of(m, x), axis) for axis in (1, 2))
    none = np.int32([0, 0])
    ends = [_pack(m, np.int32(1), _ints(m, "SUB", [np.int32(7), n], (), "SubOptions")) for n in (rows, columns)]
    to_eight = _ints(m, "PACK", [none, *ends, none], (4, 2), "PackOptions", ValuesCount=4, Axis=0)
    square = m.op("PAD", [_relu(m, x), to_eight], (b, 8, 8, c), "PadOptions")
    halves = [_ints(m, "FLOOR_DIV", [n, np.int32(2)], (), "FloorDivOptions") for n in (rows, columns)]
    flat = _pack(m, *[np.int32(0)] * 2, halves[0], np.int32(0), np.int32(0), halves[1], *[np.int32(c - 1)] * 2)
    mirrored = _ints(m, "RESHAPE", [flat, np.int32([4, 2])], (4, 2))
    shape = (b, 8 + h // 2, 8 + w // 2, 3 * c - 2)
    return _relu(m, m.op("MIRROR_PAD", [square, mirrored], shape, "MirrorPadOptions", Mode=0))


BUILDERS = [flatten, upsample, dense_of_rank_4, several_readers, transposed_conv, transposed_conv_of_planes, scattered]
BUILDERS += [padded]


def model(build, shape=(1, 3, 4, 6)) -> bytes:
    m = Model()
    m.output(build(m, m.input(shape)))
    return m.bytes()


def feeds(*shapes) -> list[list[np.ndarray]]:
    return [[constant(f"sizes/{shape}", shape)] for shape in shapes]


@on_both
@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_sizes_that_follow_from_shapes_are_folded_and_follow_a_resize(quadra, build, backend):
    tall = (1, 3, 4, 6) if build is flatten else (2, 5, 3, 6)
    rounds = feeds((1, 3, 4, 6), (3, 3, 4, 6), tall, (1, 3, 4, 6))
    raw = model(build)
    outcome = quadra.run(raw, *rounds, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    assert len({node["partition"] for node in outcome.nodes}) == 1
    for got, given in zip(outcome.outputs, rounds, strict=True):
        outcome.outputs = [got]
        outcome.check(cpu.run(raw, given))


@on_both
def test_sizes_of_another_partition_hold_until_a_resize_which_is_an_error(quadra, backend):
    m = Model()
    x = m.input((1, 3, 4, 6))
    sizes = _shape_of(m, x)
    m.output(_relu(m, m.op("RESHAPE", [m.left_to_cpu(_relu(m, x)), sizes], x.shape)))
    outcome = quadra.run(m.bytes(), *feeds((1, 3, 4, 6)), **options(backend=backend))
    assert [node["op"] for node in outcome.nodes if node["on"] != "gpu"] == ["REVERSE_SEQUENCE"], outcome.nodes
    outcome.check(cpu.run(m.bytes(), *feeds((1, 3, 4, 6))), everything_on_gpu=False)
    outcome = quadra.run(m.bytes(), *feeds((1, 3, 4, 6), (2, 3, 4, 6)), **options(backend=backend))
    assert len(outcome.outputs) == 1 and "resize the model's inputs before" in outcome.error, outcome.error


@on_both
def test_sizes_that_the_model_gives_stay_on_the_cpu(quadra, backend):
    m = Model()
    x = m.input((2, 3, 5))
    m.output(_shape_of(m, x), _relu(m, x))
    outcome = quadra.run(m.bytes(), *feeds((2, 3, 5)), **options(backend=backend))
    assert "an output of the model" in outcome.nodes[0]["reason"] and outcome.nodes[1]["on"] == "gpu"
    outcome.check(cpu.run(m.bytes(), *feeds((2, 3, 5))), everything_on_gpu=False)


@on_both
def test_a_size_that_is_computed_of_numbers_is_no_size(quadra, backend):
    """Of the input's numbers, not of its shape."""
    m = Model()
    x, n = m.input((2, 3, 4)), m.input((1,), "int32")
    m.output(m.op("RESHAPE", [_relu(m, x), n], (24,)))
    outcome = quadra.run(m.bytes(), [constant("n", (2, 3, 4)), np.int32([24])], **options(backend=backend))
    assert "computed while the model runs" in outcome.nodes[1]["reason"], outcome.nodes
    outcome.check(cpu.run(m.bytes(), [constant("n", (2, 3, 4)), np.int32([24])]), everything_on_gpu=False)


@on_both
def test_a_file_without_sizes_is_right_behind_a_node_on_the_cpu(quadra, backend):
    """Such a file calls all its tensors scalars. Seen red: the run failed, for the rank was taken from the file."""
    m = Model()
    x = m.input((2, 3, 4))
    lengths = np.full(2, 2, np.int32)
    y = m.op("REVERSE_SEQUENCE", [_relu(m, x), lengths], (), "ReverseSequenceOptions", SeqDim=1, BatchDim=0)
    m.output(m.op("RELU", [y], ()))
    given = constant("no sizes", (2, 3, 4))
    outcome = quadra.run(m.bytes(), [given], **options(backend=backend))
    assert [node["on"] for node in outcome.nodes] == ["gpu", "cpu", "cpu"], outcome.nodes
    outcome.check(cpu.run(m.bytes(), [given]), everything_on_gpu=False)


def _branches(m: Model, x: Value) -> tuple[Value, ...]:
    """What a second stage does with its crops: none now and then."""
    y = m.unary("RELU", m.add(x, np.float32(0.5)))
    joined = m.op("CONCATENATION", [y, x], (*x.shape[:3], 12), "ConcatenationOptions", Axis=3)
    return m.max_pool2d(y, (2, 2)), m.mean(joined, (1, 2), True), m.softmax(y)


@on_both
@pytest.mark.parametrize("apart", [False, True], ids=["whole", "partitions"])
@pytest.mark.parametrize("kept", [False, True], ids=["cold", "kept"])
def test_a_resize_to_nothing_and_back(quadra, tmp_path, backend, apart, kept):
    m = Model()
    x = m.input((1, 4, 4, 6))
    if apart:  # an op that stays on the CPU, whatever the batch
        x = m.unary(
            "RELU",
            m.op(
                "REVERSE_SEQUENCE",
                [m.unary("RELU", x), np.int32([1] * 6)],
                x.shape,
                "ReverseSequenceOptions",
                SeqDim=1,
                BatchDim=3,
            ),
        )
    m.output(*_branches(m, x))
    given = options(backend=backend, **({"serialization_dir": str(tmp_path)} if kept else {}))
    rounds = feeds((1, 4, 4, 6), (0, 4, 4, 6), (2, 4, 4, 6), (0, 4, 4, 6), (1, 4, 4, 6))
    for _ in range(1 + kept):
        outcome = quadra.run(m.bytes(), *rounds, **given)
        assert not outcome.error, outcome.error
        for outputs, feed in zip(outcome.outputs, rounds, strict=True):
            outcome.outputs = [outputs]
            expected = (
                [np.zeros((0, *y.shape[1:]), np.float32) for y in outputs]
                if feed[0].size == 0
                else cpu.run(m.bytes(), feed)
            )
            outcome.check(expected, everything_on_gpu=not apart)


@on_both
def test_what_nothing_has_no_result_of_is_an_error_and_the_next_size_is_right(quadra, backend):
    m = Model()
    m.output(m.mean(m.input((2, 3, 4, 6)), (0,)))
    outcome = quadra.run(m.bytes(), *feeds((2, 3, 4, 6), (0, 3, 4, 6)), **options(backend=backend))
    assert "an output would have numbers all the same" in outcome.error, outcome.error
