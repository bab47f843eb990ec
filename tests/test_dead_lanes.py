"""Lanes of the last slice beyond the channels hold zero: what an op leaves behind there (neighbours that a slice cut off,
infinity, NaN, numbers near the largest) never reaches a result, whatever op reads it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tflite

from host_tools.base import settings
from tests import cpu, parity
from tests.delegate import options
from tests.model_builder import Model, Value
from tests.vectors.case import constant
from tests.vectors.dilate import dilate, stablehlo_pad
from tests.vectors.hadamard_rotation import rotate
from tests.vectors.recurrent import Both, Layer, Svdf
from tests.vectors.segments import bucketize, segment_op

W = constant("dead_lanes/w", (8, 3, 3, 3))
B = constant("dead_lanes/b", (8,))
POISON = [np.inf, -np.inf, np.nan, 3e38, -3e38]
TARGETS = [
    ("opencl", ""),
    ("opencl", "adreno-640"),
    ("opencl", "mali-g76-buffers"),
    ("opencl", "generic"),
    ("gles", ""),
    ("gles", "adreno-640"),
    ("gles", "mali-g76-buffers"),
    ("gles", "generic-gles"),
]
QUICK_TARGETS = [("opencl", ""), ("opencl", "mali-g76-buffers"), ("gles", "adreno-640"), ("gles", "generic-gles")]

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


def _rows(m: Model, x: Value, count: int = 6) -> Value:
    """The first rows of all pixels, of three channels each."""
    return m.strided_slice(m.reshape(x, (-1, 3)), [0, 0], [count, 3], [1, 1])


def _op(
    name: str, shape: Callable, *more, kind: str = "", dtype: str = "float32", first: bool = True, **how
) -> Callable:
    """An op with x as its first operand, or as its last; `shape(x.shape)` is its result's."""

    def read(m: Model, x: Value) -> Value:
        inputs = [x, *more] if first else [*more, x]
        return m.op(name, inputs, shape(x.shape), kind, output={"dtype": dtype}, **how)

    return read


def _then_dense(read: Callable) -> Callable:
    """Whatever lies behind the result's last channel meets weights."""

    def dense(m: Model, x: Value) -> Value:
        y = read(m, x)
        c = y.shape[-1]
        return m.fully_connected(m.reshape(y, (-1, c)), constant("dead_lanes/dense", (4, c)))

    return dense


def _layer(layer: Layer | Both | Svdf) -> Callable:
    def read(m: Model, x: Value) -> Value:
        made = layer.build(m, m.reshape(_rows(m, x), layer.case().inputs[0]))
        return made[0] if isinstance(made, tuple) else made

    return read


def _same(shape):
    return shape


def _reduced(name: str) -> Callable:
    return _op(name, lambda s: s[:3], np.int32([3]), kind="ReducerOptions")


def _i32(*values) -> np.ndarray:
    return np.array(values, np.int32)


_SEQUENCE = "UNIDIRECTIONAL_SEQUENCE_"
# A reader for each of the other ops that take floats.
MORE = {
    **{name: _reduced(name) for name in ("SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN")},
    "ARG_MAX": _op("ARG_MAX", lambda s: s[:3], np.int32(3), kind="ArgMaxOptions", dtype="int32", OutputType=2),
    "ARG_MIN": _op("ARG_MIN", lambda s: s[:3], np.int32(3), kind="ArgMinOptions", dtype="int32", OutputType=2),
    "TOPK_V2": lambda m, x: m.several("TOPK_V2", [x, np.int32(3)], [m.value(x.shape), m.value(x.shape, "int32")])[0],
    "CUMSUM": _op("CUMSUM", _same, np.int32(3), kind="CumsumOptions", Reverse=True),
    "L2_NORMALIZATION": _op("L2_NORMALIZATION", _same, kind="L2NormOptions"),
    "LOG_SOFTMAX": _op("LOG_SOFTMAX", _same, kind="LogSoftmaxOptions"),
    "LOCAL_RESPONSE_NORMALIZATION": _op("LOCAL_RESPONSE_NORMALIZATION", _same, kind="LocalResponseNormalizationOptions",
                                        Radius=5, Bias=1.0, Alpha=1.0, Beta=0.5),
    "BATCH_MATMUL": lambda m, x: m.op("BATCH_MATMUL", [x, x], (*x.shape[:3], x.shape[2]), "BatchMatMulOptions", AdjY=True),
    "BATCH_MATMUL of rows": lambda m, x: m.op("BATCH_MATMUL", [x, x], (*x.shape[:2], 3, 3), "BatchMatMulOptions", AdjX=True),
    "FULLY_CONNECTED": lambda m, x: m.fully_connected(_rows(m, x), _rows(m, x)),
    "CONV_2D": lambda m, x: m.conv2d(x, m.reshape(_rows(m, x), (6, 1, 1, 3)), np.zeros(6, np.float32)),
    "DEPTHWISE_CONV_2D": lambda m, x: m.depthwise_conv2d(x, m.reshape(_rows(m, x), (1, 2, 3, 3)), np.zeros(3, np.float32)),
    "TRANSPOSE_CONV": lambda m, x: m.transpose_conv(x, m.reshape(_rows(m, x), (2, 1, 3, 3))),
    "TRANSPOSE_CONV of a pixel": lambda m, x: m.transpose_conv(x, W[:, :2, :2], B),
    "CONV_3D_TRANSPOSE": lambda m, x: m.op(
        "CONV_3D_TRANSPOSE", [_i32(1, *x.shape[:3], 4), constant("dead_lanes/t", (2, 2, 2, 4, 3)), m.reshape(x, (1, *x.shape))],
        (1, *x.shape[:3], 4), "Conv3DOptions", StrideD=1, StrideH=1, StrideW=1),
    "PRELU": _then_dense(lambda m, x: m.prelu(x, constant("dead_lanes/p", (1, 1, 3)))),
    "PACK": _then_dense(lambda m, x: m.op("PACK", [x, x], (*x.shape, 2), "PackOptions", ValuesCount=2, Axis=-1)),
    "UNPACK": _then_dense(lambda m, x: m.op("UNPACK", [x], [x.shape[:3]] * 3, "UnpackOptions", Num=3, Axis=3)[2]),
    "SPLIT": _then_dense(lambda m, x: m.op("SPLIT", [np.int32(3), x], [(*x.shape[:3], 1)] * 3, "SplitOptions", NumSplits=3)[2]),
    "SPLIT_V": _then_dense(lambda m, x: m.op("SPLIT_V", [x, _i32(1, 2), np.int32(3)], [(*x.shape[:3], n) for n in (1, 2)],
                                             "SplitVOptions", NumSplits=2)[1]),
    "TRANSPOSE": _then_dense(_op("TRANSPOSE", lambda s: (s[0], s[3], s[1], s[2]), _i32(0, 3, 1, 2))),
    "TILE": _then_dense(_op("TILE", lambda s: (*s[:3], 6), _i32(1, 1, 1, 2))),
    "REVERSE_V2": _then_dense(_op("REVERSE_V2", _same, _i32(3))),
    "REVERSE_SEQUENCE": _then_dense(_op("REVERSE_SEQUENCE", _same, _i32(3, 2), kind="ReverseSequenceOptions", SeqDim=3, BatchDim=0)),
    "MATRIX_DIAG": _then_dense(lambda m, x: m.op("MATRIX_DIAG", [m.reshape(x, (-1, 3))], (*m.reshape(x, (-1, 3)).shape, 3), "MatrixDiagOptions")),
    "BROADCAST_TO": _then_dense(lambda m, x: m.op("BROADCAST_TO", [x, _i32(2, *x.shape)], (2, *x.shape), version=2)),
    "PAD": _then_dense(_op("PAD", lambda s: (*s[:3], 6), _i32((0, 0), (0, 0), (0, 0), (1, 2)), kind="PadOptions")),
    "PADV2": _then_dense(_op("PADV2", lambda s: (*s[:3], 5), _i32((0, 0), (0, 0), (0, 0), (2, 0)), np.float32(2))),
    "DILATE": _then_dense(lambda m, x: dilate(m, x, _i32(1, 1, 1, 2))),
    "STABLEHLO_PAD": _then_dense(lambda m, x: stablehlo_pad(m, x, [(0, 0, 0)] * 3 + [(1, -1, 1)])),
    "MIRROR_PAD": _then_dense(_op("MIRROR_PAD", lambda s: (*s[:3], 6), _i32((0, 0), (0, 0), (0, 0), (1, 2)),
                                  kind="MirrorPadOptions", Mode=0)),
    "GATHER": _then_dense(_op("GATHER", lambda s: (*s[:3], 5), _i32(2, 0, 1, 2, 2), kind="GatherOptions", Axis=3)),
    "GATHER_ND": _then_dense(_op("GATHER_ND", lambda s: (2, *s[1:]), _i32((1,), (0,)))),
    "SCATTER_ND": _then_dense(lambda m, x: m.op("SCATTER_ND", [_i32((3,), (0,)), x, _i32(4, *x.shape[1:])], (4, *x.shape[1:]))),
    **{f"UNSORTED_SEGMENT_{how}": _then_dense(lambda m, x, how=how: segment_op(m, how, x, _i32(1, 0), 2)) for how in ("SUM", "PROD", "MAX", "MIN")},
    "SEGMENT_SUM": _then_dense(lambda m, x: m.op("SEGMENT_SUM", [x, _i32(0, 1)], x.shape, "SegmentSumOptions")),
    "BUCKETIZE": lambda m, x: bucketize(m, x, [-0.5, 0.5]),
    "DYNAMIC_UPDATE_SLICE": _then_dense(lambda m, x: m.op("DYNAMIC_UPDATE_SLICE", [
        m.op("TILE", [x, _i32(1, 1, 1, 2)], (*x.shape[:3], 6)), x, _i32(0, 0, 0, 1)], (*x.shape[:3], 6))),
    "SLICE": _then_dense(_op("SLICE", lambda s: (*s[:3], 2), _i32(0, 0, 0, 1), _i32(-1, -1, -1, 2))),
    "SPACE_TO_DEPTH": _then_dense(lambda m, x: m.op("SPACE_TO_DEPTH", [m.resize_bilinear(x, (4, 6))], (x.shape[0], 2, 3, 12),
                                                    "SpaceToDepthOptions", BlockSize=2)),
    "SPACE_TO_BATCH_ND": _then_dense(lambda m, x: m.op("SPACE_TO_BATCH_ND", [m.resize_bilinear(x, (4, 6)), _i32(2, 2),
                                                       _i32((0, 0), (0, 0))], (4 * x.shape[0], 2, 3, 3))),
    "BATCH_TO_SPACE_ND": _then_dense(_op("BATCH_TO_SPACE_ND", lambda s: (1, s[1], 2 * s[2], 3), _i32(1, 2), _i32((0, 0), (0, 0)))),
    "RESIZE_NEAREST_NEIGHBOR": _then_dense(_op("RESIZE_NEAREST_NEIGHBOR", lambda s: (s[0], 3, 4, 3), _i32(3, 4),
                                               kind="ResizeNearestNeighborOptions")),
    "MAX_POOL_2D": _then_dense(lambda m, x: m.max_pool2d(x, (2, 2))),
    "EXPAND_DIMS": _then_dense(_op("EXPAND_DIMS", lambda s: (*s[:3], 1, 3), np.int32(3))),
    "SQUEEZE": lambda m, x: m.op("SQUEEZE", [m.mean(x, (3,), keep_dims=True)], x.shape[:3], "SqueezeOptions", SqueezeDims=[3]),
    "EXP, RSQRT, DIV": _then_dense(lambda m, x: m.elementwise("DIV", m.elementwise("EXP", x), m.elementwise(
        "RSQRT", m.elementwise("ABS", m.add(x, np.float32(9)))), kind="DivOptions")),
    "RFFT2D, COMPLEX_ABS": lambda m, x: m.op("COMPLEX_ABS", [m.op("RFFT2D", [x, _i32(1, 4)], (*x.shape[:2], 1, 3), output={"dtype": "complex64"})],
                                             (*x.shape[:2], 1, 3)),
    **{part: lambda m, x, part=part: m.op(part, [m.op("RFFT2D", [x, _i32(1, 8)], (*x.shape[:2], 1, 5), output={"dtype": "complex64"})],
                                          (*x.shape[:2], 1, 5)) for part in ("REAL", "IMAG")},
    "aeq.hadamard_rotation": lambda m, x: rotate(m, m.reshape(x, (-1, 3)), 1),
    "LSTM": _layer(Layer("LSTM", "dead", batch=6, depth=3, units=5, norm=True)),
    "RNN": _layer(Layer("RNN", "dead", batch=6, depth=3, units=5)),
    _SEQUENCE + "LSTM": _layer(Layer(_SEQUENCE + "LSTM", "dead", batch=2, steps=3, depth=3, units=5, outputs=3)),
    _SEQUENCE + "RNN": _layer(Layer(_SEQUENCE + "RNN", "dead", batch=2, steps=3, depth=3, units=5, time_major=False)),
    **{f"BIDIRECTIONAL_SEQUENCE_{op}": _layer(Both("dead", *(
        Layer(_SEQUENCE + op, f"dead {i}", batch=2, steps=3, depth=3, units=5) for i in "fb"), merges=True)) for op in ("LSTM", "RNN")},
    "SVDF": _layer(Svdf("dead", batch=6, depth=3, units=3, rank=2, memory=3)),
}  # fmt: skip
# Ops that no reader is of, and why.
LEFT_OUT = {
    **dict.fromkeys(["REDUCE_ALL", "REDUCE_ANY", "ONE_HOT", "EMBEDDING_LOOKUP"], "of ints or bools, of which none is poison"),
    **dict.fromkeys(["RANGE", "FILL", "SHAPE", "RANK", "BROADCAST_ARGS", "DENSIFY"],
                    "of constants and shapes"),
    **dict.fromkeys(["Convolution2DTransposeBias", "Landmarks2TransformMatrix", "MaxPoolingWithArgmax2D", "MaxUnpooling2D", "LiteRtMaxUnpooling2D",
                     "Resampler", "TransformLandmarks", "TransformTensorBilinear"],
                    "the interpreter has no kernel to compare with; tests/vectors have channels that are no multiple of four"),
    "STABLEHLO_COMPOSITE": "becomes the ops of its subgraph",
    "IF": "becomes the ops of its subgraphs",
    "WHILE": "becomes what UNIDIRECTIONAL_SEQUENCE_LSTM does",
    **dict.fromkeys(["VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"], "inputs and outputs of a partition"),
    "STABLEHLO_REDUCE_WINDOW": "has a subgraph of its own; tests/vectors/reduce_window.py have channels that are no multiple of four",
    "STABLEHLO_SCATTER": "has a subgraph of its own; tests/vectors/scatter.py have channels that are no multiple of four",
    **dict.fromkeys(["TFLite_Detection_PostProcess", "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"],
                    "tests/vectors/detection.py have classes and boxes that are no multiple of four"),
}  # fmt: skip


def poisoned(cut: str) -> tuple[Model, object, np.ndarray]:
    """The model so far, its value of three channels, and an input with poison wherever that value takes nothing from."""
    shape, where, build = CUTS[cut]
    model = Model()
    feed = constant(f"dead_lanes/{cut}", shape)
    feed[where] = np.resize(np.float32(POISON), feed[where].shape)
    return model, build(model, model.input(shape)), feed


@pytest.mark.parametrize(
    ("cut", "backend", "target"),
    [  # in turn: each place has two of the cuts, each cut half of the places
        pytest.param(cut, *place, marks=[pytest.mark.slow] * ((i + j) % 2))
        for i, cut in enumerate(CUTS)
        for j, place in enumerate(TARGETS)
    ],
)
def test_what_was_cut_off_reaches_no_result(quadra, cut, backend, target):
    model, x, feed = poisoned(cut)
    model.output(*[read(model, x) for read in READERS.values()])
    expected = cpu.run(model.bytes(), [feed])
    assert all(np.isfinite(numbers).all() for numbers in expected), "the case itself is poisoned"
    quadra.run(model.bytes(), [feed], **options(target, backend)).check(expected)


@pytest.mark.parametrize(
    ("cut", "backend", "target"),
    [
        pytest.param(cut, *place, marks=[pytest.mark.slow] * (cut != "slice of more" or place not in QUICK_TARGETS))
        for cut in CUTS
        for place in TARGETS
    ],
)
def test_it_reaches_no_op(quadra, cut, backend, target):
    """A reader of every op that takes floats, in one model."""
    model, x, feed = poisoned(cut)
    model.output(*[read(model, x) for read in MORE.values()])
    expected = cpu.run(model.bytes(), [feed])
    assert all(np.isfinite(numbers).all() for numbers in expected), "the case itself is poisoned"
    quadra.run(model.bytes(), [feed], **options(target, backend)).check(expected, tolerance=2e-5)


def test_every_op_has_a_reader_or_a_reason_for_none():
    rows = (settings.ROOT / "delegate_native" / "ops" / "elementwise_list.cc").read_text()
    one_by_one = {op for op in parity.op_names() if f"kTfLiteBuiltin{_camel(op)}," in rows}
    model, x, _ = poisoned("depth to space")
    for read in [*READERS.values(), *MORE.values()]:
        read(model, x)
    read_by = {node.custom or _NAMES[node.code] for node in model.nodes}
    assert set(parity.op_names()) - read_by - one_by_one == set(LEFT_OUT)


_NAMES = {code: name for name, code in vars(tflite.BuiltinOperator).items() if name[0] != "_"}


def _camel(op: str) -> str:
    return "".join(part.capitalize() for part in op.split("_"))


@pytest.mark.parametrize(("backend", "target"), TARGETS)
def test_merged_steps_leave_zeros_too(quadra, backend, target):
    """A step after a kernel makes something of a zero: here 0 + 3e38 in each lane, which a sum would make infinite. No
    number is subnormal: some drivers take those for zero."""
    model = Model()
    x = model.input((1, 4, 5, 3))
    y = model.add(model.conv2d(x, W[:3, :1, :1] * 0, B[:3] * 0), np.full((1,), 3e38, np.float32))
    model.output(
        model.mul(model.mean(model.mul(y, np.full((1,), 0.3, np.float32)), (3,)), np.full((1,), 2e-38, np.float32))
    )
    feed = constant("dead_lanes/steps", (1, 4, 5, 3))
    expected = [np.full((1, 4, 5), 1.8, np.float32)]
    quadra.run(model.bytes(), [feed], **options(target, backend)).check(expected)
