"""Models that compute sizes from shapes (a batch, a height and width to upsample to): wholly on the GPU, and right after
every resize."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import TOLERANCE, Outcome, options
from tests.fences import fenced
from tests.model_builder import LACKED, Model, Value
from tests.runs import BACKENDS
from tests.vectors.case import constant
from tests.vectors.composites import composite
from tests.vectors.recurrent import LAYERS

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


def cropped(m: Model, x: Value) -> Value:
    """The middle half of rows and columns, and all channels from the third on."""
    b, h, w, c = x.shape
    rows, columns = (_entry(m, _shape_of(m, x), axis) for axis in (1, 2))
    halves = [_ints(m, "FLOOR_DIV", [n, np.int32(2)], (), "FloorDivOptions") for n in (rows, columns)]
    fourths = [_ints(m, "FLOOR_DIV", [n, np.int32(2)], (), "FloorDivOptions") for n in halves]
    begin = _pack(m, np.int32(0), *fourths, np.int32(2))
    size = _pack(m, _entry(m, _shape_of(m, x), 0), *halves, np.int32(c - 2))
    return _relu(m, m.op("SLICE", [_relu(m, x), begin, size], (b, h // 2, w // 2, c - 2), "SliceOptions"))


def placed(m: Model, x: Value) -> Value:
    """Each column plus its number: positions of a transformer."""
    w = x.shape[2]
    columns = _entry(m, _shape_of(m, x), 2)
    places = _ints(m, "RANGE", [np.int32(0), columns, np.int32(1)], (w,), "RangeOptions")
    column = m.op("RESHAPE", [m.op("CAST", [places], (w,), "CastOptions"), np.int32([-1, 1])], (w, 1))
    return m.add(_relu(m, x), column)


def largest(m: Model, x: Value) -> tuple[Value, Value]:
    """As many of the rows' largest as there are columns, and their places as one hot of all."""
    b, h, w, c = x.shape
    columns = _entry(m, _shape_of(m, x), 2)
    found = m.value((b, h, w, w)), m.value((b, h, w, w), "int32")
    m.several("TOPK_V2", [_relu(m, x), columns], found, "TopKV2Options")
    first = _ints(m, "REDUCE_MAX", [found[1], np.int32([2, 3])], (b, h), "ReducerOptions", KeepDims=False)
    depth = _ints(m, "ADD", [columns, np.int32(c)], (), "AddOptions")
    hot = m.op("ONE_HOT", [first, depth, np.float32(1), np.float32(-1)], (b, h, c + w), "OneHotOptions", Axis=-1)
    return found[0], hot


def in_parts(m: Model, x: Value) -> tuple[Value, Value]:
    """The first row, and the others."""
    b, h, w, c = x.shape
    others = _ints(m, "SUB", [_entry(m, _shape_of(m, x), 1), np.int32(1)], (), "SubOptions")
    parts = m.value((b, 1, w, c)), m.value((b, h - 1, w, c))
    m.several("SPLIT_V", [_relu(m, x), _pack(m, np.int32(1), others), np.int32(1)], parts, "SplitVOptions", NumSplits=2)
    return parts


def in_blocks(m: Model, x: Value) -> Value:
    """As a dilated convolution of any height and width begins and ends."""
    b, h, w, c = x.shape
    none = np.int32(0)
    ends = []
    for axis in (1, 2):
        n = _entry(m, _shape_of(m, x), axis)
        half = _ints(m, "FLOOR_DIV", [n, np.int32(2)], (), "FloorDivOptions")
        even = _ints(m, "MUL", [half, np.int32(2)], (), "MulOptions")
        ends += [none, _ints(m, "SUB", [n, even], (), "SubOptions")]
    border = _ints(m, "RESHAPE", [_pack(m, *ends), np.int32([2, 2])], (2, 2))
    shape = (4 * b, (h + 1) // 2, (w + 1) // 2, c)
    blocks = m.op("SPACE_TO_BATCH_ND", [_relu(m, x), np.int32([2, 2]), border], shape, "SpaceToBatchNDOptions")
    blocks = m.unary("TANH", blocks)
    return m.op("BATCH_TO_SPACE_ND", [blocks, np.int32([2, 2]), border], x.shape, "BatchToSpaceNDOptions")


def over_the_last_axis(m: Model, x: Value) -> Value:
    """An axis that is computed of the rank stays what it is."""
    last = _ints(m, "SUB", [_ints(m, "RANK", [x], (), "RankOptions"), np.int32(1)], (), "SubOptions")
    return m.op("SUM", [_relu(m, x), last], x.shape[:-1], "ReducerOptions", KeepDims=False)


def of_another_tensor(m: Model, x: Value) -> Value:
    """Only SHAPE and a neighbour read the tensor whose sizes count; between it and the reader something is on the CPU."""
    b, h, w, c = x.shape
    y = m.max_pool2d(m.add(_relu(m, x), np.float32(0.25)), (2, 1), (2, 1), "VALID")
    sizes = _pack(m, _entry(m, _shape_of(m, y), 0), np.int32(-1), _entry(m, _shape_of(m, y), 2))
    z = _through_cpu(m, m.unary("TANH", y))
    return _relu(m, m.op("RESHAPE", [z, sizes], (b, h // 2 * c, w)))


def only_by_its_size(m: Model, x: Value) -> Value:
    """What is computed here has the same shape always, but for the sizes of another tensor."""
    y = _relu(m, x)
    same = m.mean(_through_cpu(m, m.unary("TANH", m.mean(y, (0, 1, 2), True))), (3,), True)
    return m.mul(m.op("BROADCAST_TO", [same, _shape_of(m, y)], x.shape, version=2), np.float32(2))


def _through_cpu(m: Model, x: Value) -> Value:
    """The same numbers, from the CPU."""
    return m.op("BITCAST", [m.op("BITCAST", [x], x.shape, output={"dtype": "int32"})], x.shape)


BUILDERS = [flatten, upsample, dense_of_rank_4, several_readers, transposed_conv, transposed_conv_of_planes, scattered]
BUILDERS += [padded, cropped, placed, largest, in_parts, in_blocks, over_the_last_axis]
APART = [of_another_tensor, only_by_its_size]


def model(build, shape=(1, 3, 4, 6)) -> bytes:
    m = Model()
    made = build(m, m.input(shape))
    m.output(*made) if isinstance(made, tuple) else m.output(made)
    return m.bytes()


def feeds(*shapes) -> list[list[np.ndarray]]:
    return [[constant(f"sizes/{shape}", shape)] for shape in shapes]


@on_both
@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_sizes_that_follow_from_shapes_are_folded_and_follow_a_resize(quadra, build, backend):
    raw = model(build)
    outcome = quadra.run(raw, *rounds_for(build), **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    assert len({node["partition"] for node in outcome.nodes}) == 1
    check_rounds(outcome, build, rounds_for(build))


def rounds_for(build) -> list[list[np.ndarray]]:
    tall = (1, 3, 4, 6) if build is flatten else (2, 5, 3, 6)
    return feeds((1, 3, 4, 6), (3, 3, 4, 6), tall, (1, 3, 4, 6))


def check_rounds(outcome: Outcome, made, rounds: list[list[np.ndarray]], tolerance: float = TOLERANCE["f32"]) -> None:
    """made: the model; or what builds it, where the CPU gets one of each size, for its SLICE does not follow a resize."""
    assert not outcome.error, outcome.error
    for got, given in zip(outcome.outputs, rounds, strict=True):
        outcome.outputs = [got]
        raw = made if isinstance(made, bytes) else model(made, given[0].shape)
        outcome.check(cpu.run(raw, given), tolerance, everything_on_gpu=False)


def computes_on_gpu(outcome: Outcome) -> bool:
    """All that is not there to keep partitions apart, nor makes a constant of sizes alone, which is the CPU's where it reads it."""
    return all(
        node["op"] == "BITCAST" or node["reason"].startswith("its result is a constant")
        for node in outcome.nodes
        if node["on"] == "cpu"
    )


@on_both
@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("build", BUILDERS + APART, ids=lambda build: build.__name__)
def test_sizes_that_another_partition_makes_follow_a_resize(quadra, tmp_path, build, every, backend):
    """Also those that start from the cache."""
    raw = model(build) if build in APART else fenced(model(build), every)
    given = options(backend=backend, serialization_dir=str(tmp_path))
    for start in range(2):
        outcome = quadra.run(raw, *rounds_for(build), **given)
        assert computes_on_gpu(outcome), outcome.on_cpu()
        check_rounds(outcome, build, rounds_for(build))


@on_both
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("build", [dense_of_rank_4, several_readers, padded, of_another_tensor])
def test_sizes_reach_every_reader_on_the_cpu_and_on_the_gpu(quadra, build, most, backend):
    raw = fenced(model(build), 1)
    outcome = quadra.run(raw, *rounds_for(build), **options(backend=backend, max_delegated_partitions=str(most)))
    assert any(node["on"] == "gpu" for node in outcome.nodes)
    check_rounds(outcome, build, rounds_for(build))


@on_both
def test_an_axis_that_changes_with_a_size_is_an_error_and_comes_back(quadra, backend):
    m = Model()
    x = m.input((1, 3, 4, 6))
    m.output(m.op("SUM", [_relu(m, x), _entry(m, _shape_of(m, x), 0)], (1, 4, 6), "ReducerOptions", KeepDims=False))
    outcome = quadra.run(m.bytes(), *feeds((1, 3, 4, 6), (1, 5, 4, 6)), **options(backend=backend))
    assert not outcome.on_cpu()
    check_rounds(outcome, m.bytes(), feeds((1, 3, 4, 6), (1, 5, 4, 6)))
    outcome = quadra.run(m.bytes(), *feeds((1, 3, 4, 6), (2, 3, 4, 6)), **options(backend=backend))
    assert len(outcome.outputs) == 1 and "which its reader cannot follow" in outcome.error, outcome.error


@on_both
@pytest.mark.parametrize("signature", [(1, 80, -1), None], ids=["said", "not_said"])
def test_a_model_whose_file_has_another_length(quadra, backend, signature):
    """A convolution over time of any length, in two dimensions, as converters write it; the end is on the CPU."""
    m = Model()
    x = m.input((1, 80, 1), signature=signature)
    length = _entry(m, _shape_of(m, x), 2)
    y = m.op("RESHAPE", [x, _pack(m, np.int32(1), np.int32(80), length, np.int32(1))], (1, 80, 1, 1))
    y = m.conv2d(_relu(m, y), constant("length/w", (4, 3, 3, 1)), constant("length/b", (4,)))
    y = _through_cpu(m, y)
    rows = _pack(m, np.int32(80), _ints(m, "MUL", [length, np.int32(4)], (), "MulOptions"))
    m.output(_relu(m, m.op("RESHAPE", [y, rows], (80, 4))))
    rounds = feeds((1, 80, 20), (1, 80, 7), (1, 80, 1), (1, 80, 20))
    outcome = quadra.run(m.bytes(), *rounds, **options(backend=backend))
    assert computes_on_gpu(outcome), outcome.on_cpu()
    check_rounds(outcome, m.bytes(), rounds)


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
    y = _relu(m, x)
    y = m.op(LACKED, [y, y], ())
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
        x = m.unary("RELU", m.left_to_cpu(m.unary("RELU", x)))
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
@pytest.mark.parametrize("shape", [(0, 3, 2, 4, 5), (2, 3, 0, 4, 5), (0, 2, 3, 1, 4, 5), (2, 0, 3, 1, 4, 5)], ids=str)
def test_axes_before_the_batch_may_be_nothing(quadra, shape, backend):
    """Seen red: on OpenGL ES the process ended, by a division by 0."""
    m, some = Model(), tuple(n or 2 for n in shape)
    m.output(m.unary("RELU", m.input(some)))
    rounds = feeds(some, shape, some)
    outcome = quadra.run(m.bytes(), *rounds, **options(backend=backend))
    assert not outcome.error, outcome.error
    assert outcome.outputs[1][0].shape == shape
    outcome.check([np.maximum(rounds[2][0], 0)])


@on_both
def test_blocks_of_nothing(quadra, backend):
    m = Model()
    x = m.input((1, 4, 6, 3))
    m.output(m.op("SPACE_TO_DEPTH", [x], (1, 2, 3, 12), "SpaceToDepthOptions", BlockSize=2))
    outcome = quadra.run(m.bytes(), *feeds((1, 4, 6, 3), (1, 0, 6, 3)), **options(backend=backend))
    outcome.check([np.zeros((1, 0, 3, 12), np.float32)])


@on_both
def test_nothing_of_what_is_large(quadra, backend):
    """120 of it would be more than 2^31 numbers. Seen red, where sizes of nothing followed from 60 and 120 alone."""
    m = Model()
    x = m.op("TILE", [m.input((1, 1, 1, 4)), np.int32([1, 2200, 2200, 1])], (1, 2200, 2200, 4))
    m.output(m.max_pool2d(x, (1, 1), stride=(2200, 2200)))
    outcome = quadra.run(m.bytes(), *feeds((1, 1, 1, 4), (0, 1, 1, 4)), **options(backend=backend))
    outcome.check([np.zeros((0, 1, 1, 4), np.float32)])


@on_both
def test_what_nothing_has_no_result_of_is_an_error_and_the_next_size_is_right(quadra, backend):
    m = Model()
    m.output(m.mean(m.input((2, 3, 4, 6)), (0,)))
    outcome = quadra.run(m.bytes(), *feeds((2, 3, 4, 6), (0, 3, 4, 6)), **options(backend=backend))
    assert "an output would have numbers all the same" in outcome.error, outcome.error


@on_both
@pytest.mark.parametrize("build", [flatten, several_readers, of_another_tensor])
def test_sizes_of_nothing_reach_other_partitions(quadra, tmp_path, build, backend):
    raw = fenced(model(build), 1)
    rounds = feeds((1, 3, 4, 6), (0, 3, 4, 6), (2, 3, 4, 6), (0, 3, 4, 6), (1, 3, 4, 6))
    for _ in range(2):
        outcome = quadra.run(raw, *rounds, **options(backend=backend, serialization_dir=str(tmp_path)))
        assert computes_on_gpu(outcome), outcome.on_cpu()
        assert not outcome.error, outcome.error
        for nothing in (outcome.outputs[1][0], outcome.outputs[3][0]):
            assert nothing.shape == (0, *outcome.outputs[0][0].shape[1:])
        outcome.outputs = outcome.outputs[::2]
        check_rounds(outcome, build, rounds[::2])


def _flattened_behind_the_cpu(m: Model, y: Value) -> Value:
    """y's first axis is kept, by y's size; what is flattened has been on the CPU in between."""
    rows, *others = y.shape
    z = _through_cpu(m, m.unary("TANH", y))
    sizes = _pack(m, _entry(m, _shape_of(m, y), 0), np.int32(-1))
    return _relu(m, m.op("RESHAPE", [z, sizes], (rows, int(np.prod(others)))))


@on_both
def test_sizes_of_what_has_a_state_follow_a_resize(quadra, backend):
    """The layer is shape inference alone where its result's size is read: its state is another partition's."""
    layer = next(one for one in LAYERS if one.op == "UNIDIRECTIONAL_SEQUENCE_LSTM" and one.name == "all")
    m = Model()
    m.output(_flattened_behind_the_cpu(m, layer.build(m, m.input(layer.shape))))
    rounds = feeds(*((steps, *layer.shape[1:]) for steps in (layer.steps, 2, 9)))
    outcome = quadra.run(
        m.bytes(), *[one for given in rounds for one in (given, given, None)], **options(backend=backend)
    )
    assert computes_on_gpu(outcome) and not outcome.error, (outcome.on_cpu(), outcome.error)
    outputs = outcome.outputs
    for i, given in enumerate(rounds):
        for got, want in zip(outputs[2 * i : 2 * i + 2], cpu.rounds(m.bytes(), [given, given]), strict=True):
            outcome.outputs = [got]
            outcome.check(want, everything_on_gpu=False)


@on_both
def test_sizes_of_a_composite_follow_a_resize(quadra, backend):
    m, inner = Model(), Model()
    shape = (2, 3, 4, 6)
    m.output(_flattened_behind_the_cpu(m, composite(m, [_relu(m, m.input(shape))], shape, 1)))
    inner.output(inner.softmax(inner.input(shape)))
    rounds = feeds(shape, (5, 3, 4, 6), shape)
    outcome = quadra.run(m.bytes(inner), *rounds, **options(backend=backend))
    assert computes_on_gpu(outcome), outcome.on_cpu()
    check_rounds(outcome, m.bytes(inner), rounds)


@on_both
@pytest.mark.parametrize("precision", ["f32_f16", "f16"])
def test_sizes_from_elsewhere_in_half_precision_with_checked_programs(quadra, backend, precision):
    rounds = rounds_for(of_another_tensor)
    given = options(backend=backend, precision=precision, self_check="1")
    outcome = quadra.run(model(of_another_tensor), *rounds, **given)
    assert computes_on_gpu(outcome), outcome.on_cpu()
    check_rounds(outcome, of_another_tensor, rounds, TOLERANCE[precision])
