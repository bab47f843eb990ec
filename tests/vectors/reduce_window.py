"""STABLEHLO_REDUCE_WINDOW: sums, products, largest and least numbers of windows along any axes."""

from __future__ import annotations

import itertools

import numpy as np

from tests.model_builder import Model, Operand, Value
from tests.vectors.case import Case, Feed

OPS = {"ADD": np.add, "MUL": np.multiply, "MAXIMUM": np.maximum, "MINIMUM": np.minimum}
_OPTIONS = {"ADD": "AddOptions", "MUL": "MulOptions"}
FIRST = {"ADD": 0, "MUL": 1, "MAXIMUM": -np.inf, "MINIMUM": np.inf}


def body(op: str, dtype: str = "float32", **options) -> Model:
    """The computation: one node."""
    m = Model()
    pair = [m.input((), dtype), m.input((), dtype)]
    m.output(m.op(op, pair, (), _OPTIONS.get(op, ""), output={"dtype": dtype}, **options))
    return m


def axes(rank: int, numbers: dict[int, int] | None, usual: int) -> list[int]:
    """A number for each axis: those given, by axis, and the usual one elsewhere."""
    return [(numbers or {}).get(axis, usual) for axis in range(rank)]


class Windows:
    """By axis: `size`, `stride`, `dilation` and `pads` (before, after); where none is given, the window is one number."""

    def __init__(self, shape, size, stride=None, dilation=None, pads=None, base=None) -> None:
        rank = len(shape)
        self.shape = tuple(shape)
        self.size, self.stride = axes(rank, size, 1), axes(rank, stride, 1)
        self.dilation, self.base = axes(rank, dilation, 1), axes(rank, base, 1)
        self.pads = [(pads or {}).get(axis, (0, 0)) for axis in range(rank)]

    def places(self) -> tuple[int, ...]:
        """The result's sizes."""
        spans = [(size - 1) * step + 1 for size, step in zip(self.size, self.dilation, strict=True)]
        rooms = [n + sum(pads) - span for n, pads, span in zip(self.shape, self.pads, spans, strict=True)]
        return tuple(room // step + 1 for room, step in zip(rooms, self.stride, strict=True))

    def node(self, m: Model, x: Value, first: Operand, subgraph: int = 1, **output) -> Value:
        lists = {
            "WindowDimensions": self.size,
            "WindowStrides": self.stride,
            "BaseDilations": self.base,
            "WindowDilations": self.dilation,
            "Padding": list(itertools.chain(*self.pads)),
        }
        return m.op(
            "STABLEHLO_REDUCE_WINDOW",
            [x, first],
            self.places(),
            "StablehloReduceWindowOptions",
            **{name: np.int64(numbers) for name, numbers in lists.items()},
            BodySubgraphIndex=subgraph,
            output={"dtype": x.dtype, **output},
        )

    def reduced(self, x: np.ndarray, op: str, first: float) -> np.ndarray:
        """As the StableHLO specification has it, from the first cell of a window to its last."""
        crops = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, self.pads, strict=True))
        padded = np.pad(x[crops], [(max(a, 0), max(b, 0)) for a, b in self.pads], constant_values=first)
        made = np.full(self.places(), first, x.dtype)
        for cell in np.ndindex(*self.size):
            begins = [n * step for n, step in zip(cell, self.dilation, strict=True)]
            taken = zip(begins, self.stride, made.shape, strict=True)
            made = OPS[op](made, padded[tuple(slice(b, b + (n - 1) * s + 1, s) for b, s, n in taken)])
        return made.astype(x.dtype)


def first_of(op: str, dtype: str) -> np.ndarray:
    """What the computation leaves as it is."""
    ends = {"MAXIMUM": "min", "MINIMUM": "max"}
    whole = dtype != "float32"
    return np.array(getattr(np.iinfo(dtype), ends[op]) if whole and op in ends else FIRST[op], dtype)


def _case(name: str, op: str, feed: Feed, size, first: float | None = None, half=True, **how) -> Case:
    windows = Windows(feed.shape, size, **how)
    begin = first_of(op, feed.dtype) if first is None else np.array(first, feed.dtype)
    return Case(
        "STABLEHLO_REDUCE_WINDOW",
        name,
        [feed],
        lambda m, x: windows.node(m, x, begin),
        lambda x: windows.reduced(x, op, begin[()]),
        half=half,
        subgraphs=(lambda: body(op, feed.dtype),),
    )


def _ints(*shape: int) -> Feed:
    return Feed(shape, -9, 9, dtype="int32")


def _floats(*shape: int) -> Feed:
    """Half holds them exactly."""
    return Feed(shape, -4, 4, step=0.25)


def _pair(*sides: int) -> dict[int, tuple[int, int]]:
    return {axis: (n, n) for axis, n in enumerate(sides) if n}


CASES = [
    _case("average_pool_of_torch", "ADD", _floats(1, 9, 7, 6), {1: 3, 2: 3}, stride={1: 2, 2: 2}, pads=_pair(0, 1, 1)),
    _case("channels_first", "MAXIMUM", _floats(2, 6, 9, 7), {2: 2, 3: 2}, dilation={2: 2, 3: 2}),
    _case("channels_alone", "ADD", _floats(3, 4, 5, 11), {3: 3}, stride={3: 2}, pads={3: (1, 3)}),
    _case("products", "MUL", Feed((2, 9, 6), 0.5, 1.5), {1: 4}, pads={1: (3, 0)}),
    _case("products_of_channels", "MUL", Feed((4, 10), 0.5, 1.5), {1: 3}),
    _case("least", "MINIMUM", _floats(1, 8, 8, 5), {1: 3, 2: 2}, stride={2: 3}, pads={1: (2, 1), 2: (0, 2)}),
    _case("batches", "MAXIMUM", _floats(7, 3, 3, 5), {0: 3}, stride={0: 2}, pads={0: (1, 1)}),
    _case("rank_5", "ADD", _floats(1, 2, 8, 4, 6), {2: 3}, pads={2: (1, 1)}),
    _case("rank_6", "MAXIMUM", _floats(4, 3, 2, 3, 2, 5), {0: 2, 1: 2, 2: 2, 4: 2, 5: 2}),
    _case("vector", "ADD", _floats(13), {0: 4}, stride={0: 3}),
    _case("up_to_each_place", "MAXIMUM", _floats(3, 17), {1: 17}, pads={1: (16, 0)}),
    _case("cropped", "ADD", _floats(1, 9, 9, 5), {1: 2, 2: 2}, pads={1: (-2, -1), 2: (-1, 3)}),
    _case("strides_alone", "ADD", _floats(1, 9, 9, 5), {}, stride={1: 2, 3: 2}),
    _case("window_of_padding_alone", "MAXIMUM", _floats(1, 3, 4, 5), {1: 2}, first=-1.5, stride={1: 3}, pads={1: (3, 3)}),
    _case("first_of_its_own", "MINIMUM", _floats(2, 6, 9), {1: 3, 2: 2}, first=-0.5, pads={1: (1, 1), 2: (1, 0)}),
    _case("not_finite", "MAXIMUM", Feed((1, 6, 7, 9), special=(np.inf, -np.inf, -np.inf)), {1: 3, 2: 3}, pads=_pair(0, 1, 1), half=False),
    _case("sums_of_int32", "ADD", _ints(1, 7, 6, 5), {1: 3, 2: 2, 3: 2}, pads=_pair(0, 1, 0, 1)),
    _case("largest_of_int32", "MAXIMUM", _ints(5, 9), {0: 2, 1: 3}, pads={0: (1, 0), 1: (1, 1)}),
    _case("products_of_int32", "MUL", _ints(1, 6, 5, 3), {1: 2, 2: 2}),
]  # fmt: skip
