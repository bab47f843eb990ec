"""Random models for hostile numbers (`tests.hostile_graphs`): the ops of the random graphs, the same of int64, and those whose
operands the random graphs keep in a domain, with any."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import tflite
from hypothesis import strategies as st

from tests import random_graphs
from tests.random_graphs import Builder, Graph
from tests.random_ops import FAMILIES, Kind, i32, image_shape

# A convolution's groups that share four channels meet with weights of 0, which make NaN of what is not finite.
GROUPED = "CONV_2D in groups"
# Sums: the order of their terms is no kernel's promise, nor which of two infinities a partial sum meets first.
LAYERS = frozenset(
    [
        "LSTM",
        "RNN",
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "UNIDIRECTIONAL_SEQUENCE_RNN",
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        "BIDIRECTIONAL_SEQUENCE_RNN",
        "SVDF",
    ]
)  # the CPU's vectors of a step make numbers of NaN
SUMS = (
    LAYERS
    | {GROUPED}
    | frozenset(
        [
            "CONV_2D",
            "DEPTHWISE_CONV_2D",
            "TRANSPOSE_CONV",
            "CONV_3D",
            "CONV_3D_TRANSPOSE",
            "FULLY_CONNECTED",
            "BATCH_MATMUL",
            "AVERAGE_POOL_2D",
            "L2_POOL_2D",
            "RESIZE_BILINEAR",
            "SOFTMAX",
            "LOG_SOFTMAX",
            "L2_NORMALIZATION",
            "LOCAL_RESPONSE_NORMALIZATION",
            "MEAN",
            "SUM",
            "REDUCE_PROD",
            "CUMSUM",
            "ADD_N",
            "SCATTER_ND",
            "RFFT2D",
            "UNSORTED_SEGMENT_SUM",
            "aeq.hadamard_rotation",
        ]
    )
)
_MOVED = [
    "PAD",
    "PADV2",
    "MIRROR_PAD",
    "DILATE",
    "STABLEHLO_PAD",
    "CONCATENATION",
    "PACK",
    "SLICE",
    "SPLIT",
    "SPLIT_V",
    "UNPACK",
    "RESHAPE",
    "EXPAND_DIMS",
    "SQUEEZE",
    "TRANSPOSE",
    "REVERSE_V2",
    "REVERSE_SEQUENCE",
    "MATRIX_DIAG",
    "TILE",
    "BROADCAST_TO",
    "GATHER",
    "GATHER_ND",
    "DYNAMIC_UPDATE_SLICE",
    "SHAPE",
    "RANK",
    "ZEROS_LIKE",
    "SPACE_TO_DEPTH",
    "SPACE_TO_BATCH_ND",
    "BATCH_TO_SPACE_ND",
]
_COMPARISONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
# The CPU divides ints by -1, which the least one does not survive.
DIVIDE = frozenset({"DIV", "FLOOR_DIV", "FLOOR_MOD"})
# NaN among what is compared: the CPU's kernels differ among themselves, by the order in which they compare.
COMPARE = frozenset({"MAX_POOL_2D", "TOPK_V2", "REDUCE_MAX", "REDUCE_MIN", "ARG_MAX", "ARG_MIN"})
# Compilers of OpenGL ES take it for 0, which of infinity it is not.
ITSELF = "SUB of itself"
# The CPU's kernel adds to a window's sum and takes from it: what has been infinite or large stays in it. And its transform is a fast one, where NaN reaches other numbers.
TAME = frozenset({"LOCAL_RESPONSE_NORMALIZATION", ITSELF, "RFFT2D"})
# Beyond, OpenGL ES promises nothing, and PoCL's sine of four numbers spoils small ones beside a large one.
ANGLES, MOST_ANGLE = frozenset({"SIN", "COS"}), 12867
# Its places are rounded: what is next to them has a weight of 1e-8, or none.
BETWEEN = frozenset({"RESIZE_BILINEAR"})
# Of numbers below the least normal one GPUs make what they like.
NORMAL = frozenset({"LOG", "POW"})
# Its largest numbers are infinite (docs/numbers.md).
SWISH, MOST_OF_SWISH = frozenset({"HARD_SWISH"}), 6e37
# On the GPU a positive number is multiplied, too: by 0, of which an infinite slope makes NaN.
SLOPES = frozenset({"PRELU"})
# The CPU takes the first operand's size, whatever the second one's is, or keeps the result's.
NEVER_RESIZED = frozenset({"ATAN2", "aeq.hadamard_rotation"})
# The CPU's kernels read what is not there; docs/numbers.md has STABLEHLO_PAD's.
NEVER_EMPTY = frozenset(
    {"RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR", "REVERSE_V2", "REVERSE_SEQUENCE", "DILATE", "STABLEHLO_PAD"}
)
NAMES = {code: name for name, code in vars(tflite.BuiltinOperator).items() if name[0] != "_"}


@dataclass(frozen=True)
class Hostile:
    """What is fed to an input. `bounded`: places, sizes and the like, whose numbers stay within `low` and `high`."""

    low: float
    high: float
    coarse: bool
    bounded: bool

    def make(self, generator: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        if dtype != "float32":
            return generator.integers(int(self.low), int(self.high), shape, endpoint=True).astype(dtype)
        array = generator.uniform(self.low, self.high, shape)
        return (np.round(array * 4) / 4 + 0.0 if self.coarse else array).astype(np.float32)


_SPECIAL_INTS = {
    "int32": (-(2**31), 2**31 - 1, 2**24 + 1, -(2**24) - 1, -1, 0, 1, 65536),
    "int64": (-(2**63), 2**63 - 1, 2**31, 2**31 - 1, -(2**31), -(2**31) - 1, 2**32, -(2**32), 2**32 + 5, 2**40,
              -(2**40) - 3, 2**53 + 1, 2**24 + 1, 2**62 + 2**38 + 1, -1, 0, 1, 2**32 - 1),
}  # fmt: skip
_FLOATS = (
    np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-40, 1.1754944e-38, 1e30, -1e30, 3e38, -3e38, 65504.0, 65520.0, -65519.0,
    2147483648.0, -2147483904.0, 9.223372e18, 16777217.0, 88.8, -104.0,
)  # fmt: skip
# In sums of sums partial sums of these would overflow, or not, by their order.
_FLOATS_OF_SUMS = tuple(n for n in _FLOATS if abs(n) not in (3e38,))


def specials(dtype: str, ops: frozenset[str]) -> np.ndarray:
    """Those that models of these ops are fed."""
    if dtype != "float32":  # powers beyond an int are what the CPU's processor makes of them
        numbers = np.array(() if "POW" in ops and dtype == "int32" else _SPECIAL_INTS.get(dtype, ()), dtype)
        return numbers[(numbers != -(2**31)) & (numbers != 0)] if ops & DIVIDE and dtype == "int32" else numbers
    numbers = np.array(_FLOATS_OF_SUMS if ops & SUMS else _FLOATS, dtype)
    if ops & COMPARE:
        numbers = numbers[~np.isnan(numbers)]
    if ops & {*LAYERS, *BETWEEN, GROUPED}:
        numbers = numbers[np.isfinite(numbers)]
    if ops & NORMAL:
        numbers = numbers[(numbers == 0) | ~(np.abs(numbers) < 1e-37)]
    if "POW" in ops:  # on OpenGL ES the base is 0 without a sign
        numbers = numbers[(numbers != 0) | ~np.signbit(numbers)]
    if ops & ANGLES:
        numbers = numbers[~(np.abs(numbers) > MOST_ANGLE)]
    if ops & SWISH:
        numbers = numbers[~(np.abs(numbers) > MOST_OF_SWISH) | np.isinf(numbers)]
    return numbers[np.abs(numbers) < 1] if ops & TAME else numbers


class HostileBuilder(Builder):
    """Its inputs take any number, unless they are places; its constants have some hostile numbers, too."""

    slopes = False  # of a PRELU are made

    def step(self, kind: Kind) -> None:
        self.slopes = bool(SLOPES & {kind.name})
        super().step(kind)

    def weights(self, shape, low=-1.0, high=1.0):
        return self.const(shape, low, high) if self.slopes else super().weights(shape, low, high)

    def input(self, shape, dtype="float32", low=None, high=None, coarse=None):
        value = self.model.input(shape, dtype)
        least, most = {"float32": (-2, 2), "bool": (0, 1)}.get(dtype, (-9, 9))
        coarse = self.draw(st.booleans()) if coarse is None else coarse
        bounded = dtype in ("int32", "int64") and low is not None
        self.sources.append(Hostile(least if low is None else low, most if high is None else high, coarse, bounded))
        if coarse or dtype != "float32":
            self.exact.add(value.index)
        self.values.append(value)
        return value

    def const(self, shape, low=-1.0, high=1.0, dtype="float32", coarse=False):
        if dtype not in ("float32", "int64") or low >= 0 or self.slopes or self.draw(st.integers(0, 3)):
            return super().const(shape, low, high, dtype, coarse)
        array = self.generator.uniform(low, high, shape)
        array = (np.round(array * 4) / 4 if coarse else array).astype(dtype)
        chosen = self.draw(
            st.sampled_from(specials(dtype, SUMS | COMPARE | {"POW"} if dtype == "float32" else frozenset()).tolist())
        )
        if array.size:
            array.reshape(-1)[self.draw(st.integers(0, array.size - 1))] = chosen
        value = self.model.const(array)
        if coarse or dtype == "int64":
            self.exact.add(value.index)
        return value

    def free(self, x, shape=None):
        """Another operand: one of the values that have x's type and shape, or a new input or constant."""
        shape = x.shape if shape is None else shape
        same = [v for v in self.fitting(x.dtype) if v.shape == shape and v.index != x.index]
        how = self.draw(st.sampled_from(["same", "input", "input", "const", "row", "number"]))
        if how == "same" and same:
            return self.draw(st.sampled_from(same))
        if how in ("row", "number") and len(shape) <= 4:
            shape = shape[-1:] if how == "row" else ()
        return self.const(shape, dtype=x.dtype) if how == "const" else self.input(shape, x.dtype)


# Kinds


def _any_two(name: str, options: str = "", dtypes=("float32",), to_bool: bool = False) -> Kind:
    def build(b, x):
        y = b.free(x)
        a, c = (x, y) if b.draw(st.booleans()) else (y, x)
        return b.elementwise(name, a, c, kind=options, to_bool=to_bool, exact=to_bool or "keeps")

    return Kind(name, build, dtypes, ranks=(0, 4))


def _any_one(name: str, dtypes=("float32",)) -> Kind:
    return Kind(name, lambda b, x: b.elementwise(name, x, exact="keeps"), dtypes)


def _cast(b, x):
    others = ("float32", "int32", "bool", "int64", "int64")
    to = b.draw(st.sampled_from([dtype for dtype in others if dtype != x.dtype]))
    return b.op("CAST", [x], x.shape, "CastOptions", dtype=to, exact=x.dtype != "float32" or x.index in b.exact)


def _select(b, x):
    y = b.free(x) if len(x.shape) <= 4 else b.input(x.shape, x.dtype)
    chosen = b.condition(x.shape, any_shape=len(x.shape) <= 4)
    shape = np.broadcast_shapes(x.shape, y.shape, chosen.shape)
    if len(shape) != len(x.shape):
        return None
    either = (x, y) if b.draw(st.booleans()) else (y, x)
    return b.op("SELECT_V2", [chosen, *either], shape, dtype=x.dtype, exact="keeps")


def _gather64(b, x):
    """By places of 64 bits."""
    axis = b.draw(st.integers(0, len(x.shape) - 1))
    at = b.input((b.draw(st.integers(1, 5)),), "int64", low=0, high=x.shape[axis] - 1)
    shape = (*x.shape[:axis], *at.shape, *x.shape[axis + 1 :])
    return b.move("GATHER", [x, at], shape, "GatherOptions", Axis=axis, BatchDims=0)


def _clipped_places(b, x):
    """Places that a MINIMUM and a MAXIMUM make of any number."""
    if x.dtype != "int64":
        return None
    rows = b.draw(st.integers(1, 7))
    at = b.elementwise("MINIMUM", x, np.int64(rows - 1), exact=True)
    at = b.elementwise("MAXIMUM", at, np.int64(0), exact=True)
    table = b.input((rows, b.draw(st.integers(1, 5))))
    return b.op("GATHER", [table, at], (*x.shape, table.shape[1]), "GatherOptions", Axis=0, exact=True)


def _one_hot(b, x):
    depth = b.draw(st.integers(1, 6))
    dtype = b.draw(st.sampled_from(["float32", "int32", "int64"]))
    on, off = b.input((), dtype), np.array(b.draw(st.sampled_from([0, -3])), dtype)
    return b.op(
        "ONE_HOT", [x, i32(depth), on, off], (*x.shape, depth), "OneHotOptions", dtype=dtype, exact=True, Axis=-1
    )


def _remainder(b, x):
    return b.elementwise("FLOOR_MOD", x, np.int64(b.draw(st.sampled_from([1, 2, 7, 1000, 32767]))), exact=True)


def _reduced(b, x):
    name = b.draw(st.sampled_from(["SUM", "SUM", "REDUCE_MAX", "REDUCE_MIN"]))
    axes = sorted(b.draw(st.sets(st.integers(0, len(x.shape) - 1), min_size=1)))
    shape = [n for axis, n in enumerate(x.shape) if axis not in axes]
    return b.op(name, [x, i32(axes)], shape, "ReducerOptions", dtype=x.dtype, exact=True, KeepDims=False)


def _cumsum(b, x):
    axis, exclusive, reverse = b.draw(st.tuples(st.integers(0, len(x.shape) - 1), st.booleans(), st.booleans()))
    how = {"Exclusive": exclusive, "Reverse": reverse}
    return b.op("CUMSUM", [x, i32(axis)], x.shape, "CumsumOptions", dtype=x.dtype, exact=True, **how)


def _slice(b, x):
    begin, end, strides = [], [], []
    for n in x.shape:
        low = b.draw(st.integers(0, n - 1))
        high = b.draw(st.integers(low + 1, n))
        step = b.draw(st.sampled_from([1, 1, 2, -1, -2]))
        begin.append(low if step > 0 else high - 1)
        end.append(high if step > 0 else low - 1 if low else -n - 1)
        strides.append(step)
    shape = [len(range(*slice(a, c, s).indices(n))) for a, c, s, n in zip(begin, end, strides, x.shape)]
    masks = dict.fromkeys(("BeginMask", "EndMask", "EllipsisMask", "NewAxisMask", "ShrinkAxisMask"), 0)
    return b.move("STRIDED_SLICE", [x, i32(begin), i32(end), i32(strides)], shape, "StridedSliceOptions", **masks)


def _fill(b, x):
    number = b.input((), x.dtype)
    shape = tuple(b.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    return b.move("FILL", [i32(shape), number], shape, "FillOptions")


_NUMBERS64 = ("int64", "int64", "int64", "int32", "float32")
_ALL = {kind.name: kind for kinds in FAMILIES.values() for kind in kinds}
RAW = [
    *[_any_two(name, options) for name, options in (("DIV", "DivOptions"), ("POW", ""), ("ATAN2", ""), ("FLOOR_MOD", ""),
        ("FLOOR_DIV", ""), ("MAXIMUM", ""), ("MINIMUM", ""), ("ADD", "AddOptions"), ("MUL", "MulOptions"),
        ("SQUARED_DIFFERENCE", ""))],
    *[_any_two(name, dtypes=("float32", "int32"), to_bool=True) for name in _COMPARISONS],
    *[_any_two(name, dtypes=("int32",)) for name in ("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")],
    *[_any_two(name, options, dtypes=("int32",)) for name, options in (("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions"))],
    *[_any_one(name) for name in ("EXP", "LOG", "SQRT", "RSQRT", "SIN", "COS", "CEIL", "FLOOR", "ROUND", "SIGN", "ABS", "NEG")],
    Kind("CAST", _cast, ("float32", "int32", "bool", "int64")),
    Kind("SELECT_V2", _select, ("float32", "int32")),
]  # fmt: skip
WIDE = [
    *[replace(_ALL[name], dtypes=_NUMBERS64, special=()) for name in _MOVED],
    *[_any_two(name, dtypes=_NUMBERS64, to_bool=True) for name in _COMPARISONS * 2],
    *[_any_two(name, dtypes=("int64", "int64", "int32")) for name in ("MAXIMUM", "MINIMUM") * 4],
    *[Kind("CAST", _cast, ("int64", "int64", "float32", "int32", "bool"))] * 6,
    *[Kind("SELECT_V2", _select, ("int64", "int64", "int32"))] * 4,
    Kind("GATHER", _gather64, _NUMBERS64, ranks=(1, 5)),
    Kind("GATHER", _clipped_places, ("int64",), ranks=(1, 3)),
    Kind("ONE_HOT", _one_hot, ("int64", "int32"), ranks=(0, 3)),
    *[Kind("STRIDED_SLICE", _slice, _NUMBERS64, ranks=(1, 4))] * 2,
    Kind("FILL", _fill, _NUMBERS64),
    _ALL["LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT"],
    *[_any_two(name, options, dtypes=("int64",)) for name, options in (("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions"))],
    *[Kind(name, build, ("int64",), ranks=(1, 4)) for name, build in (("SUM", _reduced), ("CUMSUM", _cumsum))],
    Kind("FLOOR_MOD", _remainder, ("int64",)),
    _any_one("NEG", ("int64",)),
    # Nothing of them is on the GPU in int64: they cut graphs into partitions.
    *[replace(_ALL[name], dtypes=("int64", "int32"), special=()) for name in ("ARG_MAX, ARG_MIN", "TOPK_V2")],
    _any_one("ABS", ("int64", "int32")),
]  # fmt: skip


# Models


@dataclass
class Case:
    """A model of these ops. `alone`: of one, and what makes its operands."""

    graph: Graph
    family: str
    alone: bool
    ops: frozenset[str]

    @property
    def sums(self) -> bool:
        """It adds up numbers, in some order."""
        return bool(self.ops & SUMS)

    def __repr__(self) -> str:
        return repr(self.graph)


def _finished(b: HostileBuilder, family: str) -> Case:
    return Case(b.finish(), family, b.alone, frozenset(name(b.model, node) for node in b.model.nodes))


def name(model, node) -> str:
    """The op's, or one of those that are not ops."""
    op = NAMES[node.code]
    if len(set(node.inputs)) < len(node.inputs) and op in ("SUB", "SQUARED_DIFFERENCE"):
        return ITSELF
    if op != "CONV_2D":
        return node.custom or op
    source, weights = (model.values[index].shape for index in node.inputs[:2])
    return GROUPED if source[-1] != weights[-1] else op


@st.composite
def cases(draw, only: str = "") -> Case:
    """A model of one op (of a family, or of any operands), a graph, or either of int64."""
    family = only or draw(
        st.sampled_from([*FAMILIES, *["raw"] * 6, *["wide"] * 8, *["graph"] * 8, *["wide graph"] * 8])
    )
    if family == "graph":
        return _graph(draw, family)
    if family == "wide graph":
        b = HostileBuilder(draw)
        first = draw(random_graphs.shape_of(0, 4))
        for _ in range(draw(st.integers(1, 3))):
            b.input(
                draw(st.sampled_from([first, first[-1:]])),
                draw(st.sampled_from(["int64", "int64", "int64", "int32", "float32"])),
            )
        for _ in range(draw(st.integers(2, 10))):
            b.step(draw(st.sampled_from(WIDE)))
        return _finished(b, family)
    b = HostileBuilder(draw, alone=True)
    kind = draw(st.sampled_from({"raw": RAW, "wide": WIDE}.get(family) or FAMILIES[family]))
    if kind.name in ("DEPTH_TO_SPACE", "BATCH_TO_SPACE_ND") and family != "wide":
        shape, blocks = draw(image_shape()), draw(st.sampled_from([4, 6, 8, 9, 12, 16, 18]))
        b.input((*shape[:3], blocks) if kind.name == "DEPTH_TO_SPACE" else (blocks, *shape[1:3], min(shape[3], 9)))
    b.step(kind)
    return _finished(b, family)


def _graph(draw, family: str) -> Case:
    # Beside others the CPU's layers with a state read and write what is not theirs.
    everything = sorted({*FAMILIES} - {"state"})
    steps = ["unary", "arithmetic", "unary", "arithmetic", "logic"]
    moves = ["border", "join", "part", "shape", "order", "block", "lookup", "logic"]
    families = draw(
        st.sampled_from([everything, [*everything, *steps * 3], [*steps, "join", "reduction"], moves, steps])
    )
    b = HostileBuilder(draw)
    first = draw(image_shape(2, 6))
    b.input(first)
    for _ in range(draw(st.integers(0, 2))):
        b.input(draw(st.one_of(st.just(first), st.just((first[3],)), random_graphs.shape_of(0, 5))))
    for _ in range(draw(st.integers(2, 7))):
        b.step(draw(st.sampled_from(FAMILIES[draw(st.sampled_from(families))])))
    return _finished(b, family)
