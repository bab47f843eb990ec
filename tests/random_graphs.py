"""Hypothesis strategies that make models: single ops with random parameters, and graphs of several ops with
branches, residuals, constants, several outputs and outputs that are used inside. The ops are in `random_ops`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from tests import random_layers, random_moves  # noqa: F401 - they register their ops
from tests.model_builder import Model, Value
from tests.random_ops import EXTREMES, FAMILIES, MOST, Kind, i32, image_shape, reshaped, shape_of

_STEPS = ["unary", "arithmetic", "unary", "arithmetic", "logic"]  # what is merged into other kernels
_MOVES = ["border", "join", "part", "shape", "order", "block", "lookup", "logic"]


@dataclass(frozen=True)
class Source:
    """What is fed to an input: ints, bools, or floats; coarse ones are quarters, the same number in every precision."""

    low: float
    high: float
    coarse: bool
    special: tuple[float, ...]

    def make(self, generator: np.random.Generator, value: Value, special: bool) -> np.ndarray:
        if value.dtype != "float32":
            return generator.integers(int(self.low), int(self.high), value.shape, endpoint=True).astype(value.dtype)
        array = generator.uniform(self.low, self.high, value.shape)
        array = (np.round(array * 4) / 4 if self.coarse else array).astype(np.float32)
        if special and self.special:
            array.reshape(-1)[generator.permutation(array.size)[: len(self.special)]] = self.special[: array.size]
        return array


@dataclass
class Graph:
    """A finished model with its inputs; prints as the list of its nodes. `exact`: every output is the same number in
    float32, however it is computed."""

    model: Model
    seed: int
    sources: list[Source]
    trace: list[str]
    exact: bool

    def rounds(self, special: bool = True) -> list[list[np.ndarray]]:
        """What is fed, run after run: several times where the model keeps a state."""
        return [self.feeds(special, i) for i in range(3 if any(v.variable for v in self.model.values) else 1)]

    def feeds(self, special: bool = True, turn: int = 0) -> list[np.ndarray]:
        generator = np.random.default_rng([self.seed, turn])
        return [source.make(generator, value, special) for source, value in zip(self.sources, self.model.inputs)]

    def __repr__(self) -> str:
        inputs = [f"t{v.index} = input {v.shape} {v.dtype} {s}" for v, s in zip(self.model.inputs, self.sources)]
        outputs = f"outputs {[f't{value.index}' for value in self.model.outputs]} seed {self.seed}"
        return "\n".join(["Graph:", *inputs, *self.trace, outputs])


@dataclass
class Builder:
    """Adds random nodes to a model; operands come from the values made so far. `alone`: the model is one op."""

    draw: object
    alone: bool = False
    special: tuple[float, ...] = ()
    model: Model = field(default_factory=Model)
    values: list[Value] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    exact: set[int] = field(default_factory=set)  # values of the same number in every precision
    trace: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.generator = np.random.default_rng(self.draw(st.integers(0, 999)))

    # Values

    def input(self, shape, dtype="float32", low=None, high=None, coarse=None) -> Value:
        value = self.model.input(shape, dtype)
        span = {"float32": (-2, 2), "int32": (-9, 9), "bool": (0, 1)}[dtype]
        coarse = self.draw(st.booleans()) if coarse is None else coarse
        self.sources.append(
            Source(span[0] if low is None else low, span[1] if high is None else high, coarse, self.special)
        )
        if coarse or dtype != "float32":
            self.exact.add(value.index)
        self.values.append(value)
        return value

    def const(self, shape, low=-1.0, high=1.0, dtype="float32", coarse=False) -> Value:
        if dtype != "float32":
            value = self.model.const(self.generator.integers(int(low), int(high), shape, endpoint=True).astype(dtype))
            self.exact.add(value.index)
            return value
        array = self.generator.uniform(low, high, shape)
        array = (np.round(array * 4) / 4 if coarse else array).astype(np.float32)
        half = self.draw(st.sampled_from([False, False, True]))
        value = self.model.const_f16(array) if half else self.model.const(array)
        if coarse:
            self.exact.add(value.index)
        return value

    def weights(self, shape, low=-1.0, high=1.0) -> Value:
        """Weights that the model gets as an input."""
        return self.input(shape, low=low, high=high, coarse=False)

    def some(self, constant) -> object:
        """Makes constants or inputs."""
        return self.const if self.draw(constant) else self.input

    def condition(self, shape, any_shape: bool = False) -> Value:
        fitting = [v for v in self.fitting("bool") if v.shape == shape]
        if fitting and self.draw(st.booleans()):
            return self.draw(st.sampled_from(fitting))
        if any_shape:
            cut = self.draw(st.integers(0, len(shape)))
            shape = tuple(n if self.draw(st.booleans()) else 1 for n in shape[cut:])
        return self.input(shape, "bool")

    def fitting(self, dtype: str, exact: bool = False) -> list[Value]:
        return [
            v for v in self.values if v.dtype == dtype and (not exact or dtype != "float32" or v.index in self.exact)
        ]

    def pick(self, kind: Kind) -> Value:
        """A value that the kind takes; made by a reshape or as a new input where there is none."""
        least, most = kind.ranks if kind.rank is None else (kind.rank, kind.rank)
        dtypes = [dtype for dtype in kind.dtypes if self.fitting(dtype, kind.exact)] or list(kind.dtypes)
        dtype = self.draw(st.sampled_from(dtypes))
        of_type = self.fitting(dtype, kind.exact)
        fitting = [v for v in of_type if least <= len(v.shape) <= most]
        if fitting:
            return self.draw(st.sampled_from(fitting))
        if of_type := [v for v in of_type if np.prod(v.shape) <= MOST]:
            value = self.draw(st.sampled_from(of_type))
            shape = self.draw(reshaped(value.shape, self.draw(st.integers(max(least, 1), most))))
            return self.move("RESHAPE", [value, i32(shape)], shape, "ReshapeOptions")
        return self.input(self.draw(shape_of(least, most)), dtype, coarse=kind.exact or None)

    # Nodes

    def add(self, method: str, *arguments, exact=False, **attributes) -> Value:
        """A method of Model, of floats."""
        return self.made(getattr(self.model, method)(*arguments, **attributes), method, arguments, attributes, exact)

    def elementwise(self, name: str, *operands, exact=False, **options) -> Value:
        value = self.model.elementwise(name, *operands, **options)
        return self.made(value, name, operands, options, exact)

    def op(self, name: str, inputs, shape, kind: str = "", dtype="float32", exact=False, version=1, **options):
        """Any node; None where a result would be too big."""
        several = isinstance(shape, list) and len(shape) > 0 and isinstance(shape[0], tuple)
        if max(np.prod(one) for one in (shape if several else [shape])) > MOST:
            return None
        shape = shape if several else tuple(shape)
        made = self.model.op(name, inputs, shape, kind, version=version, output={"dtype": dtype}, **options)
        return self.made(made, name, inputs, options, exact)

    def move(self, name: str, inputs, shape, kind: str = "", **options):
        """A node whose results are numbers of its operands."""
        dtype = next(value.dtype for value in inputs if isinstance(value, Value))
        return self.op(name, inputs, shape, kind, dtype=dtype, exact="keeps", **options)

    def made(self, made, name, operands, attributes, exact=False):
        shown = [f"t{a.index}{a.shape}" if isinstance(a, Value) else repr(a) for a in operands]
        shown += [f"{key}={what!r}" for key, what in attributes.items()]
        if exact == "keeps":
            exact = all(a.index in self.exact for a in operands if isinstance(a, Value))
        for value in [made] if isinstance(made, Value) else made:
            self.trace.append(f"t{value.index}{value.shape} {value.dtype} = {name}({', '.join(shown)})")
            self.values.append(value)
            if exact or value.dtype == "bool":
                self.exact.add(value.index)
        return made

    def step(self, kind: Kind) -> None:
        nodes, values = len(self.model.nodes), len(self.values)
        if kind.build(self, self.pick(kind)) is None:  # the op does not fit this value: what was made for it goes
            del self.model.nodes[nodes:]
            self.values[values:] = [value for value in self.values[values:] if value in self.model.inputs]
            self.elementwise("ABS", self.pick(Kind("ABS", kind.build, ("float32", "int32"))), exact="keeps")

    def finish(self) -> Graph:
        used = {index for node in self.model.nodes for index in node.inputs}
        made = [v for v in self.values if v not in self.model.inputs]
        ends = [v for v in made if v.index not in used]
        inner = [v for v in made if v.index in used]
        if inner and self.draw(st.booleans()):
            ends.append(self.draw(st.sampled_from(inner)))
        self.model.output(*ends)
        exact = all(v.index in self.exact for v in ends)
        return Graph(self.model, self.draw(st.integers(0, 999)), self.sources, self.trace, exact)


@st.composite
def single_ops(draw, family: str) -> Graph:
    """One op of a family (and what carries its constants), with inputs of any rank and element that it takes."""
    kind = draw(st.sampled_from(FAMILIES[family]))
    b = Builder(draw, alone=True, special=draw(st.sampled_from([(), (), kind.special])))
    if kind.name in ("DEPTH_TO_SPACE", "BATCH_TO_SPACE_ND"):
        shape, blocks = draw(image_shape()), draw(st.sampled_from([4, 6, 8, 9, 12, 16, 18]))
        b.input((*shape[:3], blocks) if kind.name == "DEPTH_TO_SPACE" else (blocks, *shape[1:3], min(shape[3], 9)))
    b.step(kind)
    return b.finish()


@st.composite
def graphs(draw, most_nodes: int = 10) -> Graph:
    """A graph of several ops on one to three inputs, mostly images; some of them only move numbers, and some are mostly
    elementwise."""
    everything = sorted(FAMILIES)
    families = draw(st.sampled_from([everything, [*everything, *_STEPS * 3], [*_STEPS, "join", "reduction"], _MOVES]))
    b = Builder(draw, special=draw(st.sampled_from([(), EXTREMES])) if families is _MOVES else ())
    first = draw(image_shape(2))
    b.input(first)
    for _ in range(draw(st.integers(0, 2))):
        b.input(draw(st.one_of(st.just(first), st.just((first[3],)), shape_of(0, 6))))
    for _ in range(draw(st.integers(2, most_nodes))):
        kinds = FAMILIES[draw(st.sampled_from(families))]
        # The CPU's ADD_N has a mind of its own about infinities.
        b.step(draw(st.sampled_from([kind for kind in kinds if kind.name != "ADD_N" or not b.special])))
    return b.finish()
