"""The elementwise ops that are neither in `unary` nor `binary`: floats, ints and bools, every broadcast, values at
the ends of their domains."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.vectors.case import Case, Feed, constant, generator

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _floor_mod(a, b):
    return np.mod(a, b)


@dataclass(frozen=True)
class Op:
    """An op in numpy; `feeds` are the domains of its operands, with the elements it takes beside float32."""

    name: str
    function: Callable
    domains: tuple[tuple[float, float], ...] = ((-4, 4),)
    special: tuple[float, ...] = (0.0, -0.0, 1.0, -1.0)
    extremes: tuple[float, ...] = (np.inf, -np.inf, np.nan)
    ints: tuple[tuple[int, int], ...] = ()  # domains of int32 operands
    options: dict | None = None
    kind: str = ""
    to_bool: bool = False
    broadcasts: bool = True

    def build(self, m, *operands):
        return m.elementwise(self.name, *operands, kind=self.kind, to_bool=self.to_bool, **(self.options or {}))


def _f64(function):
    return lambda *x: function(*(np.asarray(v, np.float64) for v in x))


_PAIR = ((-4, 4), (-4, 4))
_INTS = ((-50, 50), (-50, 50))

UNARY = [
    Op("ABS", np.abs, ints=((-50, 50),), extremes=(np.inf, -np.inf, np.nan, -3e38, 1e-30)),
    Op("CEIL", np.ceil),
    Op("COS", _f64(np.cos), special=(0.0, 3.1415926, -1.5707963), extremes=(np.nan, np.inf, -np.inf)),
    Op("ELU", _f64(lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x)), extremes=(np.inf, -np.inf, -100.0)),
    Op("EXP", _f64(np.exp), ((-8, 4),), extremes=(np.inf, -np.inf, np.nan)),
    Op("FLOOR", np.floor),
    Op("GELU", _f64(lambda x: x * 0.5 * (1 + _erf(x / math.sqrt(2)))), kind="GeluOptions", options={"Approximate": False}, extremes=(np.inf, np.nan)),
    Op("LOG", _f64(np.log), ((0.01, 9),), special=(1.0, 0.5), extremes=(np.inf, 0.0, -1.0, np.nan)),
    Op("LEAKY_RELU", lambda x: np.where(x < 0, np.float32(0.2) * x, x), kind="LeakyReluOptions", options={"Alpha": 0.2}),
    Op("NEG", np.negative, ints=((-50, 50),)),
    Op("RELU_0_TO_1", lambda x: np.clip(x, 0, 1)),
    Op("ROUND", np.rint, special=(0.5, 1.5, 2.5, -0.5, -1.5)),
    Op("RSQRT", _f64(lambda x: 1 / np.sqrt(x)), ((0.01, 9),), special=(1.0, 4.0), extremes=(np.inf, 0.0, -1.0, np.nan)),
    Op("SIGN", np.sign, ints=((-2, 2),)),
    Op("SIN", _f64(np.sin), special=(0.0, 3.1415926, -1.5707963), extremes=(np.nan, np.inf, -np.inf)),
    Op("SQRT", _f64(np.sqrt), ((0, 9),), special=(0.0, 1.0, 4.0), extremes=(np.inf, -1.0, np.nan)),
    Op("SQUARE", np.square),
]  # fmt: skip
BINARY = [
    Op("SUB", np.subtract, _PAIR, ints=_INTS, kind="SubOptions"),
    Op("DIV", lambda a, b: np.trunc(a / b).astype(np.int32) if a.dtype == np.int32 else a / b, ((-4, 4), (0.5, 4)), ints=((-50, 50), (1, 9)), kind="DivOptions"),
    Op("MAXIMUM", lambda a, b: np.where(a > b, a, b), _PAIR, ints=_INTS),  # where one is NaN, the second
    Op("MINIMUM", lambda a, b: np.where(a < b, a, b), _PAIR, ints=_INTS),
    Op("POW", lambda a, b: np.power(a, b) if a.dtype == np.int32 else np.power(a.astype(np.float64), b), ((0.1, 4), (-3, 3)), ints=((-4, 4), (0, 7)), special=(1.0, 2.0), extremes=()),
    Op("SQUARED_DIFFERENCE", lambda a, b: np.square(a - b), _PAIR, ints=_INTS),
    Op("FLOOR_DIV", np.floor_divide, ((-9, 9), (0.5, 4)), ints=((-50, 50), (-9, -1)), special=(), extremes=()),
    Op("FLOOR_MOD", _floor_mod, ((-9, 9), (1, 4)), ints=((-50, 50), (-9, -1)), special=(), extremes=()),
    Op("ATAN2", _f64(np.arctan2), _PAIR, special=(1.0, -1.0), extremes=(), broadcasts=False),
    *(
        Op(name, function, _PAIR, ints=((-3, 3), (-3, 3)), to_bool=True)
        for name, function in (
            ("EQUAL", np.equal), ("NOT_EQUAL", np.not_equal), ("LESS", np.less),
            ("LESS_EQUAL", np.less_equal), ("GREATER", np.greater), ("GREATER_EQUAL", np.greater_equal),
        )
    ),
]  # fmt: skip
_FULL = (1, 4, 5, 6)


def _case(op: Op, name: str, feeds, **fields) -> Case:
    return Case(op.name, name, feeds, op.build, op.function, **fields)


def _feed(op: Op, index: int, shape, **fields) -> Feed:
    return Feed(shape, *op.domains[min(index, len(op.domains) - 1)], **fields)


def _unary(op: Op) -> list[Case]:
    cases = [
        _case(op, "rank_4_odd", [_feed(op, 0, (2, 3, 4, 5), special=op.special)]),
        _case(op, "scalar", [_feed(op, 0, ())]),
    ]
    if op.extremes:
        cases.append(_case(op, "extremes", [_feed(op, 0, (1, 3, 3, 5), special=op.extremes)], half=False))
    return cases


def _binary(op: Op) -> list[Case]:
    def pair(a, b, **fields):
        return [_feed(op, 0, a, **fields), _feed(op, 1, b)]

    table = constant(f"{op.name} table", (4, 5, 6), *op.domains[-1])
    channels = constant(f"{op.name} channels", (6,), *op.domains[0])
    half = op.name not in ("FLOOR_DIV", "FLOOR_MOD") and not op.to_bool  # a rounded operand is another whole number
    cases = [
        _case(op, "same_shape", pair(_FULL, _FULL, special=op.special), half=half),
        _case(op, "both_sides", pair((1, 4, 1, 7), (2, 1, 5, 1)), half=half),
        _case(op, "lower_rank_first", pair((6,), (3, 4, 5, 6)), half=half),
        _case(op, "scalars", pair((), ()), half=half),
        Case(op.name, "constant_second", pair(_FULL, ())[:1], lambda m, x: op.build(m, x, table), lambda x: op.function(x, table), half=half),
        Case(op.name, "constant_first", pair((), _FULL)[1:], lambda m, x: op.build(m, channels, x), lambda x: op.function(channels, x), half=half),
        Case(op.name, "constant_number", pair(_FULL, ())[:1], lambda m, x: op.build(m, x, np.float32(1.5)), lambda x: op.function(x, np.float32(1.5)), half=half),
        # A result of one operand that reaches both sides, and is merged into what made it.
        Case(op.name, "same_tensor", pair(_FULL, _FULL)[1:], lambda m, x: op.build(m, y := m.elementwise("ABS", x), y), lambda x: op.function(np.abs(x), np.abs(x)), half=half),
    ]  # fmt: skip
    if not half:  # comparisons with ties, quotients by powers of two
        cases.append(_case(op, "steps", [_feed(op, 0, _FULL, step=0.5), Feed(_FULL, 0.5, 1, step=0.5)]))
    if not op.broadcasts:
        return [case for case in cases if case.name in ("same_shape", "scalars", "same_tensor")]
    if op.extremes:
        cases.append(_case(op, "extremes", pair((1, 3, 3, 5), (1, 3, 3, 5), special=op.extremes), half=False))
    return cases


def _ints(op: Op) -> list[Case]:
    if not op.ints:
        return []
    shapes = [(2, 3, 4, 5), (4, 1)][: len(op.ints)]
    feeds = [Feed(shape, low, high, dtype="int32") for shape, (low, high) in zip(shapes, op.ints)]
    return [_case(op, "int32", feeds)]


def _select(op: str, name: str, condition, a, b, dtype="float32", **fields) -> Case:
    feeds = [Feed(condition, 0, 1, dtype="bool"), Feed(a, -9, 9, dtype=dtype), Feed(b, -9, 9, dtype=dtype)]

    def choose(c, x, y):
        if op == "SELECT" and c.ndim == 1 and x.ndim > 1:
            c = c.reshape(-1, *[1] * (x.ndim - 1))
        return np.where(c, x, y)

    return Case(op, name, feeds, lambda m, *x: m.elementwise(op, *x), choose, **fields)


def _cast(source: str, target: str, low=-9, high=9) -> Case:
    def reference(x):
        return (np.trunc(x) if np.dtype(target).kind in "iu" else x).astype(target)

    return Case("CAST", f"{source}_to_{target}", [Feed((2, 3, 4, 5), low, high, dtype=source)],
                lambda m, x: m.op("CAST", [x], x.shape, "CastOptions", output={"dtype": target}), reference,
                half=source != "float32")  # fmt: skip


_BEYOND = (np.inf, -np.inf, np.nan, 3e9, -3e9, 300.7, -300.7, 255.9, -0.9, 127.9, -128.9)


def _saturated(target: str) -> Case:
    """What an integer cannot hold becomes its nearest end, NaN the upper one."""
    least, most = np.iinfo(target).min, np.iinfo(target).max

    def reference(x):
        return np.where(x < most, np.maximum(np.trunc(x.astype(np.float64)), least), most).astype(target)

    return Case("CAST", f"float32_beyond_{target}", [Feed((2, 3, 4, 5), special=_BEYOND)],
                lambda m, x: m.op("CAST", [x], x.shape, "CastOptions", output={"dtype": target}), reference, half=False)  # fmt: skip


def _activated(name: str, function, activation: int, low: int, high: int) -> Case:
    """Arithmetic of ints with a fused activation."""
    feeds = [Feed((2, 3, 4, 5), -9, 9, dtype="int32"), Feed((5,), 1, 9, dtype="int32")]
    kind = f"{name.title()}Options"
    return Case(name, f"int32_activation_{activation}", feeds,
                lambda m, a, b: m.elementwise(name, a, b, kind=kind, FusedActivationFunction=activation),
                lambda a, b: np.clip(function(a, b), low, high))  # fmt: skip


def _logical(name: str, function) -> list[Case]:
    return [
        Case(name, "broadcast", [Feed((2, 3, 4, 5), 0, 1, dtype="bool"), Feed((4, 1), 0, 1, dtype="bool")],
             lambda m, a, b: m.elementwise(name, a, b), function),
        Case(name, "of_comparisons", [(1, 4, 5, 6), (1, 4, 5, 6)],
             lambda m, a, b: m.elementwise(name, m.elementwise("LESS", a, b, to_bool=True), m.elementwise("GREATER", a, np.float32(0.5), to_bool=True)),
             lambda a, b: function(a < b, a > 0.5), half=False),
    ]  # fmt: skip


def _bits(op: str, name: str, dtype: str, b, low: int, high: int, a=(2, 3, 4, 5)) -> Case:
    """Of an input of any number of the type, and either another of shape b, from low to high, or constants."""
    ends = np.iinfo(dtype)
    function = {"BITWISE_XOR": np.bitwise_xor, "RIGHT_SHIFT": _shifted}[op]
    feeds = [Feed(a, ends.min, ends.max, dtype=dtype)]
    if isinstance(b, tuple):
        feeds.append(Feed(b, low, high, special=(ends.min, ends.max)[: math.prod(b)], dtype=dtype))
        return Case(op, name, feeds, lambda m, x, y: m.elementwise(op, x, y), function)
    return Case(op, name, feeds, lambda m, x: m.elementwise(op, x, b), lambda x: function(x, b))


def _shifted(x: np.ndarray, by: np.ndarray) -> np.ndarray:
    """As the CPU: below 0 it shifts by nothing, from the type's width on by all bits but one."""
    return x >> np.clip(by, 0, np.iinfo(x.dtype).bits - 1).astype(x.dtype)


def _of_two_ints(op: str) -> list[Case]:
    types = {dtype: np.iinfo(dtype) for dtype in ("int32", "int16", "int8", "uint8")}

    def domain(dtype: str) -> tuple[int, int]:
        ends = types[dtype]
        return (ends.min, ends.max) if op == "BITWISE_XOR" else (max(ends.min, -3), ends.bits + 3)

    made = [_bits(op, dtype, dtype, (2, 3, 4, 5), *domain(dtype)) for dtype in types]
    made += [
        _bits(op, f"{dtype}_constants", dtype, np.array([ends.min, ends.max, 1, ends.bits, 0], dtype), 0, 0)
        for dtype, ends in types.items()
    ]
    return [
        *made,
        _bits(op, "broadcast", "int32", (3, 1, 5), *domain("int32"), a=(2, 1, 4, 5)),
        _bits(op, "rank_6", "int32", (2, 2, 1, 3, 2, 5), *domain("int32"), a=(2, 2, 1, 3, 2, 5)),
        _bits(op, "scalars", "int32", (), *domain("int32"), a=()),
    ]


def _xors() -> list[Case]:
    return [
        *_of_two_ints("BITWISE_XOR"),
        # Between nodes of ints, of which it may be a merged step.
        Case("BITWISE_XOR", "of_sums", [Feed((1, 4, 5, 6), -99, 99, dtype="int32")] * 2,
             lambda m, a, b: m.mul(m.elementwise("BITWISE_XOR", m.add(a, b), m.add(a, np.int32(7))), np.int32(3)),
             lambda a, b: ((a + b) ^ (a + 7)) * 3),
    ]  # fmt: skip


def _shifts() -> list[Case]:
    def of_sums(m, a, b):
        return m.mul(m.elementwise("RIGHT_SHIFT", m.add(a, b), m.add(a, np.int32(7))), np.int32(3))

    return [
        *_of_two_ints("RIGHT_SHIFT"),
        Case("RIGHT_SHIFT", "constant_first", [Feed((4, 10), -3, 40, dtype="int32")],
             lambda m, x: m.elementwise("RIGHT_SHIFT", np.int32([[-99]]), x), lambda x: _shifted(np.int32([[-99]]), x)),
        Case("RIGHT_SHIFT", "of_sums", [Feed((1, 4, 5, 6), -9, 40, dtype="int32")] * 2, of_sums,
             lambda a, b: _shifted(a + b, a + 7) * 3),
        # A cast's bytes: the type of its result, not of the numbers that it was made of.
        Case("RIGHT_SHIFT", "of_bytes_made_of_ints", [Feed((1, 4, 5, 6), -999, 999, dtype="int32"), Feed((1, 4, 5, 6), 0, 20, dtype="uint8")],
             lambda m, x, by: m.elementwise("RIGHT_SHIFT", m.op("CAST", [x], x.shape, "CastOptions", output={"dtype": "uint8"}), by),
             lambda x, by: _shifted(x.astype(np.uint8), by)),
    ]  # fmt: skip


def _quantized(dtype: str, scale: float, zero: int, name: str = "and_back", step: float = 0) -> Case:
    """To integers, and back to the floats that they stand for."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    how = {"scale": scale, "zero_point": zero}

    def build(m, x):
        q = m.op("QUANTIZE", [x], x.shape, "QuantizeOptions", output={"dtype": dtype, **how})
        return q, m.op("DEQUANTIZE", [q], x.shape, "DequantizeOptions", version=2)

    def reference(x):
        q = np.clip(np.rint(x / np.float32(scale)) + zero, low, high).astype(dtype)
        return q, (q.astype(np.float32) - zero) * np.float32(scale)

    feed = Feed((2, 3, 4, 5), -9, 9, step=step)
    return Case("QUANTIZE", f"{dtype}_{name}", [feed], build, reference, half=bool(step))


def _masked(m, x, y):
    """Where x is the smaller one its root, else 0: bools between float nodes, all on the GPU."""
    mask = m.op("CAST", [m.elementwise("LESS", x, y, to_bool=True)], x.shape, "CastOptions")
    return m.mul(mask, m.elementwise("SQRT", m.elementwise("ABS", x)))


# Eight bits from -1.7 to 1.7, in float32 as TFLite computes it: the last bit of the product with the inverse decides
# where a number half way between two steps goes.
_STEP = np.float32(3.4) / np.float32(255)
_LOW = -np.float32(128) * _STEP
_HALF_WAY = tuple((np.arange(255, dtype=np.float32) + np.float32(0.5)) * _STEP + _LOW)


def _onto_steps(x: np.ndarray) -> np.ndarray:
    at = (np.clip(x, _LOW, _LOW + 255 * _STEP) - _LOW) * (np.float32(1) / _STEP)
    return np.floor(at.astype(np.float64) + 0.5) * _STEP + _LOW


def _quotients(name: str, seed: str, least: float, most: float, count: int = 4000) -> Case:
    """Whole numbers times others, and their neighbours: where the quotient's last digit decides. As the CPU, which
    divides in float64."""
    chosen = generator(f"{name}/{seed}")
    b = np.exp(chosen.uniform(-3, 3, count)).astype(np.float32) * chosen.choice(np.float32([-1, 1]), count)
    whole = np.rint(np.exp(chosen.uniform(np.log(least), np.log(most), count)))
    a = (whole * b * chosen.choice([-1, 1], count)).astype(np.float32)
    a = np.where(chosen.random(count) < 0.4, a, np.nextafter(a, chosen.choice(np.float32([-np.inf, np.inf]), count)))
    a, b = np.append(a, np.float32([9.9, 6.6, -9.9, 7])), np.append(b, np.float32([3.3, 1.1, 3.3, -7]))

    def floored(a, b):
        return np.floor(a.astype(np.float64) / b) if name == "FLOOR_DIV" else _remainder(a, b)

    return Case(
        name, f"quotients_{seed}", [Feed(a.shape, 0, 0)],
        lambda m, x: m.elementwise(name, m.add(x, a), b), lambda x: floored(a, b), half=False,
    )  # fmt: skip


def _remainder(a, b):
    """fmod of floats, exact, moved to the sign of b as the CPU moves it."""
    r = np.fmod(a, b)
    return np.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)


def _narrow(op: str, name: str, *domains: tuple[float, float]) -> Case:
    """Operands so near to each other that all results are of one size: errors are relative to it. References are float64."""
    function = {**_FUNCTIONS, "LOGISTIC": lambda x: 1 / (1 + np.exp(-x)), "TANH": np.tanh}[op]
    kind = {"DIV": {"kind": "DivOptions"}, "GELU": {"kind": "GeluOptions", "Approximate": False}}.get(op, {})
    return Case(op, name, [Feed((1, 8, 8, 8), *domain) for domain in domains],
                lambda m, *x: m.elementwise(op, *x, **kind), _f64(function), half=False)  # fmt: skip


_FUNCTIONS = {op.name: op.function for op in (*UNARY, *BINARY)}
# What languages leave loose, where it is loosest.
_NARROW = [
    ("EXP", "largest", (88, 88.7)),
    ("EXP", "smallest", (-87.2, -86.5)),
    ("EXP", "near_zero", (-1e-3, 1e-3)),
    ("LOG", "near_one", (0.9995, 1.0005)),
    ("LOG", "largest", (1e38, 3e38)),
    ("LOG", "smallest", (1.2e-38, 1e-37)),
    ("LOGISTIC", "far_below", (-86, -85)),
    ("TANH", "below_one", (0.4, 0.6)),
    ("ELU", "near_zero", (-1e-3, -1e-4)),
    ("GELU", "far_below", (-5.5, -5)),
    ("SQRT", "largest", (1e38, 3e38)),
    ("SQRT", "smallest", (1.2e-38, 1e-37)),
    ("RSQRT", "largest", (1e38, 3e38)),
    ("RSQRT", "smallest", (1.2e-38, 1e-37)),
    ("DIV", "largest", (1e38, 3e38), (1e38, 3e38)),
    ("DIV", "smallest", (1.2e-38, 1e-37), (1.2e-38, 1e-37)),
    ("DIV", "by_large", (1, 2), (2e30, 4e30)),
    ("POW", "large", (1.5, 1.505), (200, 201)),
    ("POW", "small", (0.5, 0.503), (120, 120.5)),
    ("POW", "near_one", (0.99, 0.9901), (8000, 8001)),
    ("POW", "small_exponents", (1e30, 1e38), (-1e-3, 1e-3)),
    ("SIN", "small", (-1e-3, 1e-3)),
    ("ATAN2", "small", (-1e-3, 1e-3), (1, 2)),
]

# Where sine or cosine are 0, and large.
_QUARTERS = tuple(np.float32(np.pi / 2 * n) for n in (1, 2, 3, 100, -101, 1002, -2003, 6366))
_BASES = np.float32([0, 1, -1, 2, -2, 0.5, -0.5, 1.0000001, 1e30, -1e30, np.inf, -np.inf, np.nan, 1e-30]).reshape(-1, 1)
_EXPONENTS = np.float32([0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1e-3, 31, 127, -127, 1e9, -1e9, np.inf, -np.inf, np.nan])
_ENDS = (0.0, -0.0, 1.0, -1.0, 1e-30, 3e38, -3e38, np.inf, -np.inf, np.nan)
_LEAST = (1.1754944e-38, -1.1754944e-38, 2e-38, 1e-37, -5e-37, 0.0)
_NEAR = np.float32([[-3], [-1], [0.5], [1], [7], [-2e30], [1e30]])
_FAR = np.float32([np.inf, -np.inf, 1e30, -1e30, 3e38])

CASES = [
    *(case for op in UNARY for case in _unary(op) + _ints(op)),
    *(case for op in BINARY for case in _binary(op) + _ints(op)),
    Case("GELU", "tanh_form", [(1, 4, 5, 6)], lambda m, x: m.elementwise("GELU", x, kind="GeluOptions", Approximate=True),
         lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    Case("SUB", "relu6", [(1, 4, 5, 6), (6,)], lambda m, a, b: m.elementwise("SUB", a, b, kind="SubOptions", FusedActivationFunction=3),
         lambda a, b: np.clip(a - b, 0, 6)),
    Case("POW", "negative_base", [Feed((1, 3, 3, 5), -3, -1)], lambda m, x: m.elementwise("POW", x, np.array([2, 3, -1, 0, -2], np.float32)),
         lambda x: np.power(x.astype(np.float64), [2.0, 3.0, -1.0, 0.0, -2.0])),
    *(
        Case(name, "far_angles", [Feed((1, 8, 8, 8), -1e4, 1e4, special=_QUARTERS)],
             lambda m, x, name=name: m.elementwise(name, x), _f64(function), half=False)
        for name, function in (("SIN", np.sin), ("COS", np.cos))
    ),
    Case("ATAN2", "signs_and_ends", [Feed((5, 20), special=_ENDS * 10)] * 2,
         lambda m, y, x: m.elementwise("ATAN2", y, x), _f64(np.arctan2), half=False),
    Case("ATAN2", "least_normal_numbers", [Feed((5, 24), special=_LEAST * 20)] * 2,
         lambda m, y, x: m.elementwise("ATAN2", y, x), _f64(np.arctan2), half=False),
    # Every base with every exponent: one column, one row. On the CPU the root of infinity is 2^64.
    Case("POW", "signs_and_ends", [Feed((14, 1), 0, 0)], lambda m, x: m.elementwise("POW", m.add(x, _BASES), _EXPONENTS),
         lambda x: np.power(_BASES.astype(np.float64), _EXPONENTS.astype(np.float64)), on_cpu=False, half=False),
    *(_narrow(*row) for row in _NARROW),
    Case("FLOOR_DIV", "far_divisors", [Feed((7, 1), 0, 0)], lambda m, x: m.elementwise("FLOOR_DIV", m.add(x, _NEAR), _FAR),
         lambda x: np.floor(_NEAR.astype(np.float64) / _FAR), half=False),
    _quotients("FLOOR_DIV", "small", 1, 50),
    _quotients("FLOOR_DIV", "medium", 50, 5e3),
    _quotients("FLOOR_MOD", "small", 1, 50),
    _quotients("FLOOR_MOD", "medium", 50, 5e5),
    _quotients("FLOOR_MOD", "large", 1e6, 1e30),
    Case("ADD_N", "three", [(1, 4, 5, 6)] * 3, lambda m, *x: m.op("ADD_N", x, x[0].shape), lambda a, b, c: a + b + c),
    Case("ADD_N", "one_three_times", [(2, 3, 5)], lambda m, x: m.op("ADD_N", [x, x, x], x.shape), lambda x: 3 * x),
    Case("ADD", "int32", [Feed((2, 3, 4, 5), -9, 9, dtype="int32"), Feed((5,), -9, 9, dtype="int32")], lambda m, a, b: m.add(a, b), np.add),
    Case("MUL", "int32", [Feed((2, 3, 4, 5), -9, 9, dtype="int32"), Feed((5,), -9, 9, dtype="int32")], lambda m, a, b: m.mul(a, b), np.multiply),
    _activated("ADD", np.add, 1, 0, 99),
    _activated("SUB", np.subtract, 3, 0, 6),
    _activated("MUL", np.multiply, 2, -1, 1),
    _activated("DIV", lambda a, b: np.trunc(a / b).astype(np.int32), 1, 0, 99),
    *_logical("LOGICAL_AND", np.logical_and),
    *_logical("LOGICAL_OR", np.logical_or),
    Case("LOGICAL_NOT", "bools", [Feed((2, 3, 4, 5), 0, 1, dtype="bool")], lambda m, x: m.elementwise("LOGICAL_NOT", x), np.logical_not),
    *_xors(),
    *_shifts(),
    _select("SELECT", "same_shape", (1, 4, 5, 6), (1, 4, 5, 6), (1, 4, 5, 6)),
    _select("SELECT", "rows", (3,), (3, 4, 5), (3, 4, 5)),
    _select("SELECT", "rows_of_rank_5", (3,), (3, 2, 2, 4, 5), (3, 2, 2, 4, 5)),
    _select("SELECT", "rows_of_rank_6", (3,), (3, 2, 2, 1, 2, 5), (3, 2, 2, 1, 2, 5)),
    _select("SELECT", "int32", (2, 3, 5), (2, 3, 5), (2, 3, 5), dtype="int32"),
    _select("SELECT", "int16", (2, 3, 5), (2, 3, 5), (2, 3, 5), dtype="int16"),
    _select("SELECT_V2", "broadcast", (1, 4, 1, 6), (2, 4, 5, 6), (5, 1)),
    _select("SELECT_V2", "scalars", (), (1, 4, 5, 6), ()),
    _select("SELECT_V2", "bool", (1, 4, 5, 6), (1, 4, 5, 6), (6,), dtype="bool"),
    _cast("int32", "float32"), _cast("float32", "int32"), _cast("bool", "float32", 0, 1), _cast("float32", "bool", -1, 1),
    _cast("int32", "bool", -1, 1), _cast("int64", "int32"), _cast("int32", "int64"), _cast("uint8", "float32", 0, 255),
    _cast("int8", "int32", -128, 127), _cast("int32", "uint8", 0, 255), _cast("int32", "int8", -128, 127), _cast("float32", "uint8", 0, 255),
    _cast("int16", "float32", -32768, 32767), _cast("float32", "int16"), _cast("int16", "int32"), _cast("int32", "int16", -99999, 99999),
    *(_saturated(target) for target in ("int32", "uint8", "int8", "int16")),
    Case("CAST", "mask_of_a_comparison", [(1, 4, 5, 6)] * 2, _masked, lambda x, y: np.where(x < y, np.sqrt(np.abs(x)), 0), half=False),
    Case("FAKE_QUANT", "eight_bits", [Feed((1, 4, 5, 6), -3, 3)],
         lambda m, x: m.op("FAKE_QUANT", [x], x.shape, "FakeQuantOptions", Min=-1.0, Max=1.55, NumBits=8),
         lambda x: np.floor((np.clip(x, -1.0, 1.55) + 1.0) / 0.01 + 0.5) * 0.01 - 1.0),
    # NaN becomes the least number, as on the CPU.
    Case("FAKE_QUANT", "not_a_number", [Feed((3, 7), -3, 3, special=(np.nan, np.inf, -np.inf, np.nan))],
         lambda m, x: m.op("FAKE_QUANT", [x], x.shape, "FakeQuantOptions", Min=-1.0, Max=1.55, NumBits=8),
         lambda x: np.floor((np.fmin(np.fmax(x, -1.0), 1.55) + 1.0) / 0.01 + 0.5) * 0.01 - 1.0),
    Case("FAKE_QUANT", "half_way_between_steps", [Feed((1, 4, 8, 8), -1.7, 1.7, special=_HALF_WAY)],
         lambda m, x: m.op("FAKE_QUANT", [x], x.shape, "FakeQuantOptions", Min=-1.7, Max=1.7, NumBits=8), _onto_steps,
         half=False),
    *(_quantized(*kind) for kind in (("int8", 0.05, 3), ("uint8", 0.03, 120))),
    *(_quantized(*kind, "steps", 0.25) for kind in (("int8", 0.05, 3), ("uint8", 0.03, 120), ("int16", 0.0003, 0))),
]  # fmt: skip
