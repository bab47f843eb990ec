"""Numbers of 64 bits, among them many beyond 32: what moves them, compares, casts and counts by them."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed
from tests.vectors.dilate import dilate, padded, spread, stablehlo_pad

_LEAST, _MOST = -(2**63), 2**63 - 1
_SPECIAL = (
    2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32, 2**32 + 5, -(2**32), -1, 0, 1, 2**40, -(2**40) - 3, _MOST, _LEAST,
)  # fmt: skip
_BEYOND = np.int64([2**40 + 7, -(2**33), 5])


def _wide(shape, low=-(2**40), high=2**40, special=_SPECIAL) -> Feed:
    return Feed(shape, low, high, special, "int64")


_X, _Y = _wide((2, 3, 7)), _wide((2, 3, 7), -3, 3)
_ROW = _wide((37,))
_PLACES = Feed((2, 5), 0, 6, dtype="int64")


def _case(name: str, feeds, build, reference, half=True) -> Case:
    return Case("int64", name, feeds, build, reference, half=half)


def _op(m, name, inputs, shape, kind="", dtype="int64", **how):
    return m.op(name, inputs, shape, kind, output={"dtype": dtype}, **how)


def _reshape(m, x, shape):
    return _op(m, "RESHAPE", [x, np.int32(shape)], shape, "ReshapeOptions")


def _transposed(m, x):
    b, h, c = x.shape
    return _op(m, "TRANSPOSE", [x, np.int32([2, 0, 1])], (c, b, h), "TransposeOptions")


def _concat(m, *parts, shape):
    return _op(m, "CONCATENATION", list(parts), shape, "ConcatenationOptions", Axis=-1)


def _cast(m, x, dtype):
    return _op(m, "CAST", [x], x.shape, "CastOptions", dtype)


def _moves() -> list[Case]:
    narrow = Feed((2, 3, 2), -9, 9, dtype="int32")
    beyond = np.broadcast_to(_BEYOND, (2, 3, 3)).copy()
    return [
        _case("reshape", [_X], lambda m, x: _reshape(m, x, (6, 7)), lambda x: x.reshape(6, 7)),
        _case("transpose", [_X], _transposed, lambda x: x.transpose(2, 0, 1)),
        _case(
            "transpose_rank_5", [_wide((2, 2, 3, 2, 3))],
            lambda m, x: _op(m, "TRANSPOSE", [x, np.int32([4, 0, 2, 1, 3])], (3, 2, 3, 2, 2), "TransposeOptions"),
            lambda x: x.transpose(4, 0, 2, 1, 3),
        ),
        # Numbers of two words beside such of one, and constants of either kind.
        _case(
            "concat", [_X, narrow],
            lambda m, x, y: _concat(m, x, _cast(m, y, "int64"), beyond, np.int64(np.ones((2, 3, 1))), shape=(2, 3, 13)),
            lambda x, y: np.concatenate([x, y.astype(np.int64), beyond, np.ones((2, 3, 1), np.int64)], -1),
        ),
        _case(
            "gather", [_X, _PLACES],
            lambda m, x, at: _op(m, "GATHER", [x, at], (2, 3, 2, 5), "GatherOptions", Axis=2),
            lambda x, at: np.take(x, at, 2),
        ),
        _case(
            "reverse_sequence", [_X, _wide((7,), 0, 3, (-(2**40), -1))],
            lambda m, x, n: _op(m, "REVERSE_SEQUENCE", [x, n], (2, 3, 7), "ReverseSequenceOptions", SeqDim=1, BatchDim=2),
            _turned,
        ),
        _case(
            "matrix_diag", [_X],
            lambda m, x: _op(m, "MATRIX_DIAG", [x], (2, 3, 7, 7), "MatrixDiagOptions"),
            lambda x: x[..., None] * np.eye(7, dtype=np.int64),
        ),
        _case(
            "gather_nd", [_X, Feed((4, 2), 0, 1, dtype="int64")],
            lambda m, x, at: _op(m, "GATHER_ND", [x, at], (4, 7), "GatherNdOptions"),
            lambda x, at: x[at[:, 0], at[:, 1]],
        ),
        _case(
            "strided_slice", [_X],
            lambda m, x: _op(
                m, "STRIDED_SLICE", [x, np.int32([0, 0, 6]), np.int32([2, 2, 0]), np.int32([1, 1, -2])], (2, 2, 3),
                "StridedSliceOptions", BeginMask=0, EndMask=0, EllipsisMask=0, NewAxisMask=0, ShrinkAxisMask=0),
            lambda x: x[:, :2, 6:0:-2],
        ),
        _case(
            "pad", [_X],
            lambda m, x: _op(m, "PADV2", [x, np.int32([[0, 0], [1, 0], [1, 2]]), np.int64([-3])], (2, 4, 10), "PadV2Options"),
            lambda x: np.pad(x, [(0, 0), (1, 0), (1, 2)], constant_values=-3),
        ),
        _case(
            "dilate", [_X], lambda m, x: dilate(m, x, np.int32([1, 2, 3]), -3), lambda x: spread(x, [1, 2, 3], -3),
        ),
        _case(
            "stablehlo_pad", [_X],
            lambda m, x: stablehlo_pad(m, x, [(0, 0, 0), (1, 0, 1), (-1, 2, 0)], -3),
            lambda x: padded(x, [(0, 0, 0), (1, 0, 1), (-1, 2, 0)], -3),
        ),
        _case(
            "pack_scalars", [_wide(()), _wide((), -5, 5)],
            lambda m, a, b: _op(m, "PACK", [a, b], (2,), "PackOptions", ValuesCount=2, Axis=0),
            lambda a, b: np.stack([a, b]),
        ),
        _case("expand_scalar", [_wide(())], lambda m, x: _op(m, "EXPAND_DIMS", [x, np.int32(0)], (1,), "ExpandDimsOptions"),
              lambda x: x.reshape(1)),
        _case(
            "tile_and_fill", [_ROW, _wide(())],
            lambda m, x, n: (_op(m, "TILE", [x, np.int32([2])], (74,), "TileOptions"),
                             _op(m, "FILL", [np.int32([3, 5]), n], (3, 5), "FillOptions")),
            lambda x, n: (np.tile(x, 2), np.full((3, 5), n)),
        ),
        _case(
            "select", [_X, _Y, Feed((2, 3, 7), 0, 1, dtype="bool")],
            lambda m, x, y, chosen: m.elementwise("SELECT_V2", chosen, x, y),
            lambda x, y, chosen: np.where(chosen, x, y),
        ),
        _case(
            "one_hot_values", [Feed((3,), -1, 4, dtype="int64"), _wide(())],
            lambda m, at, on: _op(m, "ONE_HOT", [at, np.int32(4), on, np.int64(-1)], (3, 4), "OneHotOptions", Axis=-1),
            lambda at, on: np.where(at[:, None] == np.arange(4), on, -1),
        ),
        _case(
            "update", [_X, _wide((1, 2, 7)), Feed((3,), 0, 2, dtype="int64")],
            lambda m, x, y, at: _op(m, "DYNAMIC_UPDATE_SLICE", [x, y, at], (2, 3, 7)), _updated,
        ),
        # The one input as numbers and as places.
        _case(
            "places_that_stay", [Feed((5,), 0, 6, dtype="int64"), Feed((7, 4))],
            lambda m, at, table: (_reshape(m, at, (5, 1)), m.op("GATHER", [table, at], (5, 4), "GatherOptions", Axis=0)),
            lambda at, table: (at.reshape(5, 1), table[at]),
        ),
    ]  # fmt: skip


def _turned(x, lengths):
    x = x.copy()
    for i, n in enumerate(np.maximum(lengths, 0)):
        x[:, :n, i] = x[:, :n, i][:, ::-1].copy()
    return x


def _updated(x, y, at):
    x = x.copy()
    b, h, c = (min(max(int(n), 0), most - size) for n, most, size in zip(at, x.shape, y.shape))
    x[b : b + 1, h : h + 2, c : c + 7] = y
    return x


def _comparisons() -> list[Case]:
    kinds = {
        "EQUAL": np.equal, "NOT_EQUAL": np.not_equal, "LESS": np.less, "LESS_EQUAL": np.less_equal,
        "GREATER": np.greater, "GREATER_EQUAL": np.greater_equal,
    }  # fmt: skip
    ends = np.int64([2**31 - 1, -(2**31), 0])
    made = []
    for name, reference in kinds.items():

        def two(m, x, y, name=name):
            return m.elementwise(name, x, y, to_bool=True)

        for label, against in (("constant", np.int64(5)), ("ends", ends), ("beyond", _BEYOND)):

            def one(m, x, name=name, against=against):
                return m.elementwise(name, x, against, to_bool=True)

            feed = Feed((11, 3), -(2**33), 2**40, (*_SPECIAL, 5, 2**40 + 7), "int64")
            made.append(_case(f"{name.lower()}_{label}", [feed], one, lambda x, f=reference, c=against: f(x, c)))
        feeds = [_wide((41,), -(2**33), 2**33), _wide((41,), -2, 2)]
        made.append(_case(f"{name.lower()}_computed", feeds, two, reference))
    return made


def _ordered() -> list[Case]:
    feeds = [_wide((41,), -(2**33), 2**33), _wide((41,), -2, 2)]

    def clipped(m, at, table):
        at = m.elementwise("MAXIMUM", m.elementwise("MINIMUM", at, np.int64(6)), np.int64(0))
        return m.op("GATHER", [table, at], (9, 4), "GatherOptions", Axis=0)

    return [
        _case("maximum", feeds, lambda m, x, y: m.elementwise("MAXIMUM", x, y), np.maximum),
        _case("minimum_constant", feeds[:1], lambda m, x: m.elementwise("MINIMUM", x, np.int64(9)), lambda x: np.minimum(x, 9)),
        _case("clipped_places", [_wide((9,), -9, 9), Feed((7, 4))], clipped, lambda at, table: table[np.clip(at, 0, 6)]),
        # The CPU looks at the lower words alone: 2^32 is the place 0 there.
        Case("int64", "one_hot_beyond", [_wide((9,), -1, 4)],
             lambda m, at: m.op("ONE_HOT", [at, np.int32(4), np.float32(2), np.float32(0)], (9, 4), "OneHotOptions", Axis=-1),
             lambda at: np.float32(2) * (at[:, None] == np.arange(4)), on_cpu=False),
    ]  # fmt: skip


def _nearest(x: np.ndarray) -> np.ndarray:
    """The CPU has the nearest end for what is beyond int64, and the upper one for NaN."""
    inside = np.abs(x) < 2.0**63
    ends = np.where(x <= -(2.0**63), _LEAST, _MOST)
    return np.where(inside, np.where(inside, x, 0).astype(np.int64), ends)


def _casts() -> list[Case]:
    floats = Feed(
        (43,), -2e12, 2e12, (0.5, -0.5, -1.5, 2.0**31, -(2.0**31), 3e9, -3e9, 4294967296.0, 1e18, -1e15, 2147483520.0)
    )
    made = [
        _case(
            f"cast_to_{dtype}",
            [_ROW],
            lambda m, x, d=dtype: _cast(m, x, d),
            lambda x, d=dtype: x.astype(d),
            dtype != "float32",
        )
        for dtype in ("float32", "int32", "bool", "uint8", "int8")
    ]
    return [
        *made,
        # A time stamp, and numbers whose words say little of them.
        _case("cast_scalar", [_wide((), 1_700_000_000_000, 1_800_000_000_000, ())],
              lambda m, x: _cast(m, x, "float32"), lambda x: x.astype(np.float32), half=False),
        _case("cast_near_0", [_wide((9,), -4, 4, ())], lambda m, x: _cast(m, x, "float32"), lambda x: x.astype(np.float32)),
        _case("cast_of_floats", [floats], lambda m, x: _cast(m, x, "int64"), lambda x: x.astype(np.int64), half=False),
        _case("cast_of_floats_beyond", [Feed((17,), -9, 9, (np.inf, -np.inf, np.nan, 2.0**63, -(2.0**63), 1e30, -1e30, 9.2233715e18, -9.3e18))],
              lambda m, x: _cast(m, x, "int64"), _nearest, half=False),
        _case("cast_twice", [_ROW], lambda m, x: _cast(m, _cast(m, x, "int32"), "int64"), lambda x: x.astype(np.int32).astype(np.int64)),
        _case("cast_sums", [_ROW], lambda m, x: m.add(_cast(m, x, "float32"), np.float32(1)), lambda x: x.astype(np.float32) + 1, half=False),
    ]  # fmt: skip


def _whole(shape, special=_SPECIAL) -> Feed:
    """Numbers of any bits."""
    return _wide(shape, -(2**63), 2**63 - 1, special)


_A, _B = _whole((2, 3, 7)), _whole((2, 3, 7), _SPECIAL[::-1])


def _arithmetic() -> list[Case]:
    kinds = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply}
    made = []
    for name, reference in kinds.items():
        options = f"{name.title()}Options"

        def two(m, x, y, name=name, options=options):
            return m.elementwise(name, x, y, kind=options)

        made.append(_case(f"{name.lower()}_computed", [_A, _B], two, reference))
        made.append(_case(f"{name.lower()}_row", [_A, _whole((7,), (-1, 2**32 - 1))], two, reference))
        made.append(
            _case(
                f"{name.lower()}_scalar",
                [_A, _whole((), ())],
                lambda m, x, y, f=two: f(m, y, x),
                lambda x, y, f=reference: f(y, x),
            )
        )
        for label, number in (
            ("one", np.int64(1)),
            ("least", np.int64(-1)),
            ("beyond", np.int64(2**32 + 3)),
            ("row", np.int64([1, -2, 2**40, 0, 65536, -(2**31), 7])),
        ):
            made.append(
                _case(
                    f"{name.lower()}_{label}_constant",
                    [_A],
                    lambda m, x, c=number, f=two: f(m, x, c),
                    lambda x, c=number, f=reference: f(x, c),
                )
            )
        narrow = Feed((2, 3, 7), -(2**31), 2**31 - 1, (-(2**31), 2**31 - 1, 65536, -65536), "int32")
        made.append(
            _case(
                f"{name.lower()}_of_narrow",
                [narrow, narrow],
                lambda m, x, y, f=two: f(m, _cast(m, x, "int64"), _cast(m, y, "int64")),
                lambda x, y, f=reference: f(x.astype(np.int64), y.astype(np.int64)),
            )
        )
    mods = [
        _case(
            f"floor_mod_{n}",
            [_A],
            lambda m, x, n=n: m.elementwise("FLOOR_MOD", x, np.int64(n)),
            lambda x, n=n: np.mod(x, n),
        )
        for n in (1, 2, 7, 10000, 32767)
    ]
    return [
        *made, *mods,
        _case("neg", [_A], lambda m, x: m.elementwise("NEG", x), np.negative),
        _case("neg_scalar", [_whole((), ())], lambda m, x: m.elementwise("NEG", x), np.negative),
        _case("add_rank_5", [_whole((2, 2, 3, 2, 3)), _whole((2, 1, 2, 1))], lambda m, x, y: m.elementwise("ADD", x, y, kind="AddOptions"), np.add),
    ]  # fmt: skip


def _reduced(name, shape, axes, reference, keep=False, special=_SPECIAL, low=-(2**63), high=2**63 - 1) -> Case:
    made = np.zeros(shape).sum(axes, keepdims=keep).shape
    label = f"{name.lower()}_{len(shape)}d_{'_'.join(str(axis) for axis in axes)}{'_near' if high == 3 else ''}"
    return _case(
        label, [_wide(shape, low, high, special)],
        lambda m, x: _op(m, name, [x, np.int32(axes)], made, "ReducerOptions", KeepDims=keep),
        lambda x: reference(x, axis=axes, keepdims=keep),
    )  # fmt: skip


def _summed(shape, axis, exclusive=False, reverse=False) -> Case:
    def reference(x):
        x = np.flip(x, axis) if reverse else x
        made = np.cumsum(x, axis) - (x if exclusive else 0)
        return np.flip(made, axis) if reverse else made

    label = (
        f"cumsum_{'x'.join(map(str, shape))}_{axis}{'_exclusive' if exclusive else ''}{'_reverse' if reverse else ''}"
    )
    return _case(
        label, [_whole(shape)],
        lambda m, x: _op(m, "CUMSUM", [x, np.int32(axis)], shape, "CumsumOptions", Exclusive=exclusive, Reverse=reverse),
        reference,
    )  # fmt: skip


def _sums() -> list[Case]:
    made = []
    for name, reference in (("SUM", np.sum), ("REDUCE_MAX", np.max), ("REDUCE_MIN", np.min)):
        for shape, axes, keep in (
            ((2, 3, 7), (2,), False), ((2, 3, 7), (1,), True), ((37,), (0,), False), ((3, 2, 5, 6), (0, 2), False), ((2, 3, 2, 3, 2), (1, 4), True)
        ):  # fmt: skip
            made.append(_reduced(name, shape, axes, reference, keep))
        # Many with one upper word.
        made.append(_reduced(name, (3, 41), (1,), reference, special=(), low=-3, high=3))
    return [
        *made,
        _reduced("SUM", (2, 300), (1,), np.sum, special=(-1,) * 200, low=2**63 - 9),
        _summed((2, 3, 7), 2), _summed((2, 3, 7), 1, True), _summed((37,), 0, False, True), _summed((3, 2, 5, 6), 0, True, True),
        _summed((2, 5, 6), 2, True), _summed((2, 3, 300), 2),
    ]  # fmt: skip


def _positions(m, ids, table):
    """Of the ids that are no padding, as RoBERTa counts them."""
    mask = _cast(m, m.elementwise("NOT_EQUAL", ids, np.int64(1), to_bool=True), "int64")
    count = _op(m, "CUMSUM", [mask, np.int32(1)], ids.shape, "CumsumOptions", Exclusive=False, Reverse=False)
    at = m.elementwise("ADD", m.elementwise("MUL", count, mask, kind="MulOptions"), np.int64(1), kind="AddOptions")
    return at, m.op("GATHER", [table, at], (*ids.shape, 3), "GatherOptions", Axis=0)


def _positions_of(ids, table):
    mask = (ids != 1).astype(np.int64)
    at = np.cumsum(mask, 1) * mask + 1
    return at, table[at]


def _lengths(m, x):
    """How many numbers of a row are positive, and their share."""
    found = _cast(m, m.elementwise("GREATER", x, np.float32(0), to_bool=True), "int64")
    count = _op(m, "SUM", [found, np.int32([1])], (x.shape[0], 1), "ReducerOptions", KeepDims=True)
    last = m.elementwise("MAXIMUM", m.elementwise("SUB", count, np.int64(1), kind="SubOptions"), np.int64(0))
    return last, m.elementwise("DIV", _cast(m, count, "float32"), np.float32(x.shape[1]), kind="DivOptions")


def _lengths_of(x):
    count = (x > 0).sum(1, keepdims=True)
    return np.maximum(count - 1, 0), count.astype(np.float32) / np.float32(x.shape[1])


def _chains() -> list[Case]:
    ids = Feed((2, 9), 0, 5, (1, 1, 1), "int64")

    def moved(m, x, y):
        far = m.elementwise("SUB", x, m.elementwise("MUL", y, np.int64(3), kind="MulOptions"), kind="SubOptions")
        far = _transposed(m, far)
        return (
            m.elementwise("LESS", far, np.int64(2**40), to_bool=True),
            _cast(m, far, "float32"),
            _cast(m, far, "int32"),
        )

    def moved_of(x, y):
        far = (x - y * 3).transpose(2, 0, 1)
        return far < 2**40, far.astype(np.float32), far.astype(np.int32)

    def place(m, x, table):
        at = m.elementwise("FLOOR_MOD", m.elementwise("ADD", x, np.int64(2**40), kind="AddOptions"), np.int64(7))
        return m.op("GATHER", [table, at], (9, 4), "GatherOptions", Axis=0)

    def clipped(m, x, table):
        at = m.elementwise("ADD", x, np.int64(-3), kind="AddOptions")
        at = m.elementwise("MAXIMUM", m.elementwise("MINIMUM", at, np.int64(6)), np.int64(0))
        return m.op("GATHER", [table, at], (9, 4), "GatherOptions", Axis=0)

    rows, table = _whole((9,)), Feed((7, 4))
    return [
        _case("positions", [ids, Feed((11, 3))], _positions, _positions_of),
        _case("lengths", [Feed((3, 8))], _lengths, _lengths_of),
        _case("moved_sums", [_X, _wide((2, 3, 7), -(2**33), 2**33)], moved, moved_of, half=False),
        _case("places_of_remainders", [_wide((9,)), table], place, lambda x, table: table[np.mod(x + 2**40, 7)]),
        _case("places_of_sums", [rows, table], clipped, lambda x, table: table[np.clip(x - 3, 0, 6)]),
    ]  # fmt: skip


CASES = [*_moves(), *_comparisons(), *_ordered(), *_casts(), *_arithmetic(), *_sums(), *_chains()]
